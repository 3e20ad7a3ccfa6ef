# SPDX-License-Identifier: BSD-3-Clause
"""The sections of a page, one by one."""

from __future__ import annotations

import platform
from importlib.metadata import version as version_of
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.special import expit

from bagshift.bags import Bags
from bagshift.exceptions import plural
from bagshift.inspection import (
    AccuracyEstimate,
    BagReport,
    Intervals,
    PrivacyReport,
    TransferReport,
)
from bagshift.inspection._bag_text import loss_facts, spread_facts
from bagshift.inspection._privacy_text import privacy_parts
from bagshift.metrics import constant_share_error
from bagshift.plotting import (
    BagShareDisplay,
    DomainBoundaryDisplay,
    LabelFreeAccuracyDisplay,
    TransferPathDisplay,
)
from bagshift.plotting._axes import name_axes, round_range
from bagshift.plotting._style import BLUE, GREY, plain_axes
from bagshift.report._charts import draw
from bagshift.report.sections import Chart, Facts, Section, Table

Floats = NDArray[np.float64]

_SHARES_TITLE = "Shares of the bags"
ACCURACY_TITLE = "How good single predictions are"
# Of more bags the table of all of them holds those with the largest errors.
MOST_BAGS = 20_000
_WORST = 15
_GROUPS = 10


def version() -> str:
    """Return the version of this library."""
    return version_of("bagshift")


def read_section(
    model: Any,
    X: Any,
    bags: Bags,
    source: tuple[Any, ...] | None,
    read: Facts,
    settings: Facts,
) -> Section:
    """Say what was read, and what was fitted."""
    sizes = bags.rows_per_bag
    facts = [
        ("target", f"{plural(len(bags), 'row')}, {np.shape(X)[1]:,} features"),
        ("bags", f"{bags.n_bags:,}, of {_range(sizes)}"),
        ("positive class", str(bags.positive if bags.positive is not None else model.classes_[1])),
    ]
    if source is not None:
        facts.append(("history", plural(np.shape(source[0])[0], "labelled row")))
    machine = [("machine", type(model).__name__)]
    machine += [
        (name, f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in model.get_params(deep=False).items()
        if name in ("kernel", "gamma", "C_source", "C_target", "coupling")
    ]
    return Section("read", "What was read and fitted", facts=[*facts, *read, *machine, *settings])


def _range(sizes: NDArray[np.int64]) -> str:
    if sizes.min() == sizes.max():
        return f"{plural(int(sizes.min()), 'row')} each"
    return f"{sizes.min():,} to {sizes.max():,} rows"


def shares_section(model: Any, X: Any, bags: Bags, intervals: Intervals | None = None) -> Section:
    """Compare given with predicted shares."""
    column = int(bags.positive is None or model.classes_[1] == bags.positive)
    if hasattr(model, "predict_proba"):
        predictions = np.asarray(model.predict_proba(X)[:, column], dtype=float)
    else:
        predictions = (model.predict(X) == model.classes_[column]).astype(float)
    shares = bags.bag_means(predictions)
    error = float(np.average(np.abs(shares - bags.clipped_shares), weights=bags.rows_per_bag))
    constant = constant_share_error(bags)
    words = (
        f"On average a predicted share is {error:.3f} from the given one; the overall share "
        f"alone, given to every bag, would be {constant:.3f} off. These bags were "
        "fitted on, unless other rows were read here than at the fit. A good fit to shares is no "
        "proof of good predictions for single rows: two rows of a bag that change places change "
        "no share."
    )
    # What is predicted of a bag of one row is a prediction of that row.
    shown: NDArray[np.int64] = np.flatnonzero(bags.rows_per_bag > 1)
    paragraphs = [words]
    if n_hidden := bags.n_bags - len(shown):
        alone = plural(n_hidden, "bag")
        paragraphs.append(f"Left out here, since shares would be single rows: {alone} of one row.")
    if not len(shown):
        return Section("shares", _SHARES_TITLE, paragraphs)
    if intervals is not None:
        low, high = intervals.low[shown], intervals.high[shown]
        intervals = Intervals(intervals.estimate[shown], low, high, intervals.level)
    given, shares, sizes = bags.positive_shares[shown], shares[shown], bags.rows_per_bag[shown]
    display = BagShareDisplay(bags.clipped_shares[shown], shares, sizes=sizes, intervals=intervals)
    by_bag = pl.DataFrame(
        {
            "bag": [str(bags.ids[place]) for place in shown],
            "rows": sizes,
            "given share": given,
            "predicted share": shares,
            "error": shares - given,
        }
    )
    if intervals is not None:
        by_bag = by_bag.with_columns(
            pl.Series("from", intervals.low), pl.Series("to", intervals.high)
        )
    worst_first = by_bag.sort(pl.col("error").abs(), descending=True)
    chart = Chart(
        caption="Given and predicted shares of the bags; on the line they agree."
        + (
            f" Lines are {100 * intervals.level:g} % intervals by the bootstrap over bags."
            if intervals is not None
            else ""
        ),
        alternative=f"Predicted against given shares of {plural(len(shown), 'bag')}; they are "
        f"{display.error:.3f} apart on average.",
        svg=draw(_shares_plot(display), (4.6, 4.4)),
        data=worst_first.head(MOST_BAGS),
        file_name="shares",
    )
    title = "Bags with the largest errors"
    if len(shown) <= _WORST:
        title = "Bags, largest error first"
    return Section(
        "shares",
        _SHARES_TITLE,
        paragraphs,
        charts=[chart],
        tables=[Table(title, worst_first.head(_WORST), "worst-bags", worst_first.head(MOST_BAGS))],
    )


def _shares_plot(display: BagShareDisplay) -> Any:
    def plot(ax: Axes) -> None:
        if len(display.given) <= 2000:
            display.plot(ax)
            ax.set_title("")
            return
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        _cells(ax, np.column_stack([display.given, display.predicted]), BLUE)
        ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")
        ax.set(xlabel="given share of the bag", ylabel="predicted share of the bag")
        plain_axes(ax)

    return plot


def bags_section(report: BagReport) -> Section:
    """Say what the bags can teach."""
    return Section(
        "bags",
        "What these bags can teach",
        facts=[*spread_facts(report), *loss_facts(report)],
    )


def domains_section(model: Any, X: Any, source: tuple[Any, ...] | None) -> Section:
    """Draw both domains, as densities, so that no single row can be read off."""
    display = DomainBoundaryDisplay.located(model, X, source=source)
    parts = [("target", display.target, BLUE)]
    if display.source is not None:
        parts.insert(0, ("history", display.source, GREY))
    cells: list[pl.DataFrame] = []

    def plot(ax: Axes) -> None:
        for name, places, colour in parts:
            found = _cells(ax, places, colour, least=3)
            cells.append(found.with_columns(pl.lit(name).alias("domain")))
        display.draw_boundary(ax)
        name_axes(ax, *display.axis_names)
        plain_axes(ax)

    svg = draw(plot, (5.2, 4.2))
    both = "the history (grey) and the target (blue)" if source is not None else "the target"
    chart = Chart(
        caption=f"Where rows of {both} lie, and the boundary. Cells with fewer than three rows "
        "are left out; at most 2,000 rows of each domain are counted.",
        alternative=f"A map of {both} with the boundary of the machine.",
        svg=svg,
        data=pl.concat(cells),
        file_name="map",
    )
    words = []
    if display.net is None:
        words.append(
            "More than two columns have no plane on which the boundary is a line, but one: to the "
            "right is the score of the machine, upwards the main direction of what it leaves of "
            "the columns."
        )
    return Section("domains", "Both domains on a map", words, charts=[chart])


def _cells(ax: Axes, places: Floats, colour: str, *, least: int = 1) -> pl.DataFrame:
    """Draw how many points lie in each cell, the fuller the darker; return the numbers."""
    size = int(np.clip(np.sqrt(len(places) / 4.0), 6, 36))
    # Cells that began at the outermost rows would tell where these lie.
    extent = (*round_range(places[:, 0]), *round_range(places[:, 1]))
    drawn = ax.hexbin(
        places[:, 0], places[:, 1], gridsize=size, extent=extent, mincnt=least, linewidths=0
    )
    counts = np.asarray(drawn.get_array(), dtype=float)
    drawn.set_array(None)
    drawn.set_facecolor(colour)
    drawn.set_edgecolor("none")
    if len(counts):
        drawn.set_alpha(list(0.15 + 0.75 * np.sqrt(counts / counts.max())))
    offsets = np.asarray(drawn.get_offsets(), dtype=float).reshape(-1, 2)
    return pl.DataFrame(
        {"horizontal": offsets[:, 0], "vertical": offsets[:, 1], "rows": counts.astype(int)}
    )


def transfer_section(report: TransferReport, note: str) -> Section:
    """Say whether the history helped."""
    sentences = {
        "helps": "The history helps: held-out bags speak for it.",
        "hurts": "The history hurts: held-out bags speak against it (negative transfer).",
        "no difference": "Held-out bags show no difference with and without the history.",
    }
    verdict = sentences[report.verdict]
    vote = report.vote
    points = [("target only", report.target_only), ("source only", report.source_only)]
    points[1:1] = [(f"{point.coupling:g}", point) for point in report.path]
    frame = pl.DataFrame(
        {
            "coupling": [name for name, _ in points],
            report.criterion: [point.score for _, point in points],
            "mean vote": [point.vote.estimate for _, point in points],
            "from": [point.vote.low for _, point in points],
            "to": [point.vote.high for _, point in points],
        }
    )
    chart = Chart(
        caption="Votes of held-out bags for each strength of the coupling, against none; above "
        f"zero they are for the history. Bars are {100 * report.level:g} % intervals.",
        alternative=f"{verdict} The mean vote at the coupling used is {vote.estimate:.2f}, "
        f"between {vote.low:.2f} and {vote.high:.2f}.",
        svg=draw(lambda ax: TransferPathDisplay(report).plot(ax), (5.2, 3.8)),
        data=frame,
        file_name="coupling",
    )
    facts = [
        ("verdict", report.verdict),
        ("mean vote", f"{vote.estimate:+.3f}, from {vote.low:+.3f} to {vote.high:+.3f}"),
        ("best coupling", f"{report.best_coupling:g}, chosen by these bags"),
    ]
    if report.distance is not None:
        far = report.distance.proxy_a_distance
        facts.append(
            ("distance", f"{far:.2f} by proxy A-distance; 0: domains alike, 2: far apart")
        )
    paragraphs = [verdict, *([note] if note else [])]
    return Section(
        "history",
        "Did the history help?",
        paragraphs,
        facts,
        charts=[chart],
        tables=[Table("Held-out bags along the coupling", frame, "coupling")],
    )


def accuracy_section(estimate: AccuracyEstimate, note: str) -> Section:
    """Say how good predictions are, without labels."""
    names = (
        "accuracy",
        "sensitivity",
        "specificity",
        "positive_predictive_value",
        "negative_predictive_value",
        "auc",
    )
    shown: dict[str, list[Any]] = {"figure": [name.replace("_", " ") for name in names]}
    columns = dict(shown)
    ways = {"count posterior": estimate.count_posterior, "Goodman": estimate.goodman}
    for way, figures in ways.items():
        found = [getattr(figures, name) for name in names]
        for end in ("estimate", "low", "high"):
            values = [getattr(part, end) for part in found]
            columns[f"{way}, {end}"] = [None if np.isnan(value) else value for value in values]
        shown[way] = columns[f"{way}, estimate"]
        shown[f"{way}, interval"] = [
            None if np.isnan(part.low) else f"{part.low:.3f} to {part.high:.3f}" for part in found
        ]
    accuracy = estimate.accuracy
    if estimate.can_tell:
        verdict = (
            f"Of fresh rows about {accuracy.estimate:.1%} are predicted right, between "
            f"{accuracy.low:.1%} and {accuracy.high:.1%}; calling every row the more frequent "
            f"class would be right for {estimate.chance:.1%}."
        )
    else:
        verdict = (
            f"Cannot tell: {plural(estimate.n_bags, 'bag')} say too little to know these "
            f"predictions from guesses, which are right for {estimate.chance:.1%}."
        )
    frame = pl.DataFrame(columns)
    chart = Chart(
        caption=f"Estimates from held-out bags, and their {100 * estimate.level:g} % intervals.",
        alternative=verdict,
        svg=draw(lambda ax: LabelFreeAccuracyDisplay(estimate).plot(ax), (5.2, 4.2)),
        data=frame,
        file_name="accuracy",
    )
    paragraphs = [
        verdict,
        "No label was used: every bag was predicted by machines that had not seen its number, and "
        "the numbers judge them.",
    ]
    return Section(
        "accuracy",
        ACCURACY_TITLE,
        [*paragraphs, *([note] if note else [])],
        [("assumed" if not i else "", words) for i, words in enumerate(estimate.assumptions)],
        charts=[chart],
        tables=[Table("Accuracy without labels", pl.DataFrame(shown), "accuracy", frame)],
    )


def calibration_section(model: Any, bags: Bags, estimate: AccuracyEstimate, note: str) -> Section:
    """Compare predicted with given shares of held-out bags, in groups of bags."""
    sign = 1.0 if bags.positive is None or model.classes_[1] == bags.positive else -1.0
    scores = sign * estimate.scores
    by_chance = hasattr(model, "predict_proba")
    said = expit(scores) if by_chance else (scores > 0).astype(float)
    inside = ~np.isnan(scores) & (bags.bag_index >= 0)
    n_rows = np.bincount(bags.bag_index[inside], minlength=bags.n_bags)
    sums = np.bincount(bags.bag_index[inside], said[inside], minlength=bags.n_bags)
    held = n_rows > 0
    predicted, given = sums[held] / n_rows[held], bags.clipped_shares[held]
    order = np.argsort(predicted, kind="stable")
    groups = np.array_split(order, min(_GROUPS, max(len(order) // 3, 1)))
    rows = []
    for group in groups:
        spread = float(given[group].std(ddof=1)) if len(group) > 1 else float("nan")
        rows.append(
            {
                "bags": len(group),
                "predicted share": float(predicted[group].mean()),
                "given share": float(given[group].mean()),
                "standard error": spread / np.sqrt(len(group)),
            }
        )
    frame = pl.DataFrame(rows)
    x, y, error = (frame[name].to_numpy() for name in frame.columns[1:])

    def plot(ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.errorbar(x, y, 2 * np.nan_to_num(error), color=BLUE, fmt="o", linewidth=1.2)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set(xlabel="predicted share of held-out bags", ylabel="given share")
        plain_axes(ax)

    off = float(np.average(np.abs(x - y), weights=frame["bags"].to_numpy()))
    words = (
        f"In groups of bags with like predictions, given shares are {off:.3f} off the predicted "
        "ones on average."
    )
    chart = Chart(
        caption="Groups of held-out bags: mean predicted and mean given share, with two standard "
        "errors.",
        alternative=words,
        svg=draw(plot, (4.4, 4.2)),
        data=frame,
        file_name="calibration",
    )
    temperature = estimate.temperature
    facts = [
        (
            "temperature",
            f"{temperature.estimate:.2f}, from {temperature.low:.2f} to {temperature.high:.2f}: 1 "
            "where chances are right, below 1 where they are too bold",
        )
    ]
    return Section(
        "calibration",
        "Are the chances right?",
        [words, *([note] if note else [])],
        facts if by_chance else (),
        charts=[chart],
    )


def privacy_section(report: PrivacyReport) -> Section:
    """Say what the shares disclose."""
    facts: list[tuple[str, str]] = []
    for heading, found in privacy_parts(report):
        facts += [(f"{heading}: {name}" if name else "", value) for name, value in found]
    words = "Aggregation alone is no differential privacy: shares say something of each member."
    return Section("privacy", "What the shares disclose", [words], facts)


def rows_section(rows: Table) -> Section:
    """Show predictions of single rows."""
    words = "Asked for by name: this table holds data of single rows. Share the page accordingly."
    return Section("rows", "Predictions of rows", [words], tables=[rows])


def citing_section() -> Section:
    """Say how to cite, and what was run."""
    packages = ("bagshift", "numpy", "scipy", "scikit-learn")
    return Section(
        "citing",
        "How to cite, and versions",
        [
            f"The bagshift developers. bagshift, version {version()}.",
            "The coupling of history and shares: Ni Tongguang, Wang Shitong, Ying Wenhao, et al. "
            "Transfer group probabilities based learning machine. Acta Electronica Sinica 41(11), "
            "2207–2215, 2013.",
        ],
        [
            *((name, version_of(name)) for name in packages),
            ("Python", platform.python_version()),
        ],
    )
