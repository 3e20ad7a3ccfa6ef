# SPDX-License-Identifier: BSD-3-Clause
"""Sections on what a page is about: rows, shares, bags, both domains."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._guesses import positive_class, positiveness
from bagshift.exceptions import plural
from bagshift.inspection import BagReport, Intervals
from bagshift.inspection._bag_text import loss_facts, spread_facts
from bagshift.metrics import constant_share_error
from bagshift.plotting import BagShareDisplay, DomainBoundaryDisplay
from bagshift.plotting._axes import name_axes, round_range
from bagshift.plotting._style import BLUE, GREY, plain_axes
from bagshift.report._charts import draw
from bagshift.report.sections import Chart, Facts, Section, Table

Floats = NDArray[np.float64]

_SHARES_TITLE = "Shares of the bags"
# Of more bags the table of all of them holds those with the largest errors.
MOST_BAGS = 20_000
_WORST = 15


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
        ("positive class", str(positive_class(model, bags))),
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
    shares = bags.bag_means(positiveness(model, X, bags))
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
