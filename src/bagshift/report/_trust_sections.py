# SPDX-License-Identifier: BSD-3-Clause
"""Sections on how far an answer can be trusted, and what it gives away."""

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
from bagshift.estimators._base import is_flipped
from bagshift.exceptions import plural
from bagshift.inspection import AccuracyEstimate, PrivacyReport, TransferReport
from bagshift.inspection._privacy_text import privacy_parts
from bagshift.plotting import LabelFreeAccuracyDisplay, TransferPathDisplay
from bagshift.plotting._style import BLUE, GREY, plain_axes
from bagshift.report._charts import draw
from bagshift.report.sections import Chart, Section, Table

Floats = NDArray[np.float64]

ACCURACY_TITLE = "How good single predictions are"
_GROUPS = 10


def version() -> str:
    """Return the version of this library."""
    return version_of("bagshift")


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
    scores = -estimate.scores if is_flipped(model, bags) else estimate.scores
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
