# SPDX-License-Identifier: BSD-3-Clause
"""Accuracies per task between floor and ceiling, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from bagshift.plotting._style import BLUE, GREY, INK, LIGHT, ORANGE, plain_axes

# Value, low end, high end; ends may be NaN.
Range = tuple[float, float, float]
# Told apart by form as well as by colour.
STYLES = (("o", BLUE), ("s", ORANGE), ("D", INK))
SPREAD = 0.17


def plot_accuracy_ranges(
    ranges: Mapping[str, Mapping[str, Range]],
    ax: Axes,
    *,
    floor: str,
    ceiling: str,
    highlight: Sequence[str] = (),
) -> Axes:
    """Draw one row per task, the first on top: a band from floor to ceiling, methods as points.

    Parameters
    ----------
    ranges : mapping of str to mapping of str to (value, low, high)
        By task and method.
    ax : Axes
        Where to draw.
    floor, ceiling : str
        Methods at the ends of the band; a task may lack them.
    highlight : sequence of str
        Up to three methods to draw in colours and with their intervals; others are small dots.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When more than three methods are to be highlighted.
    """
    if len(highlight) > len(STYLES):
        raise ValueError(f"highlight names {len(highlight)} methods; three can be told apart.")
    _draw_bands(ax, ranges, floor, ceiling)
    others = [
        (values[0], row)
        for row, methods in enumerate(ranges.values())
        for name, values in methods.items()
        if name not in (floor, ceiling, *highlight)
    ]
    if others:
        ax.plot(*np.transpose(others), "o", color=GREY, markersize=3, label="other methods",
                alpha=0.8, markeredgewidth=0)  # fmt: skip
    for position, name in enumerate(highlight):
        offset = SPREAD * (position - (len(highlight) - 1) / 2)
        _draw_method(ax, ranges, name, offset, *STYLES[position])
    # A dollar in a name does not begin a formula.
    ax.set_yticks(range(len(ranges)), list(ranges), parse_math=False)
    ax.set_ylim(len(ranges) - 0.5, -0.5)
    ax.set_xlabel("accuracy on fresh rows", color=INK)
    ax.grid(axis="x", color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)
    plain_axes(ax)
    ax.tick_params(axis="y", length=0)
    if ax.get_legend_handles_labels()[0]:
        legend = ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=6, frameon=False,
                           fontsize=9, handletextpad=0.4, columnspacing=1.4)  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
    return ax


def _draw_bands(
    ax: Axes, ranges: Mapping[str, Mapping[str, Range]], floor: str, ceiling: str
) -> None:
    both = [
        (row, methods[floor][0], methods[ceiling][0])
        for row, methods in enumerate(ranges.values())
        if floor in methods and ceiling in methods
    ]
    for row, low, high in both:
        ax.plot([low, high], [row, row], color=LIGHT, linewidth=9, solid_capstyle="butt", zorder=1)
    for name, role in ((floor, "floor"), (ceiling, "ceiling")):
        found = [(m[name][0], row) for row, m in enumerate(ranges.values()) if name in m]
        if found:
            width = 1.2 if role == "floor" else 2.4
            ax.plot(*np.transpose(found), "|", color=INK, markersize=11, markeredgewidth=width,
                    label=f"{role} ({name})" if name != role else role)  # fmt: skip


def _draw_method(
    ax: Axes,
    ranges: Mapping[str, Mapping[str, Range]],
    name: str,
    offset: float,
    marker: str,
    colour: str,
) -> None:
    rows = [row for row, methods in enumerate(ranges.values()) if name in methods]
    if not rows:
        return
    values, low, high = np.transpose([m[name] for m in ranges.values() if name in m])
    heights = np.array(rows) + offset
    ax.hlines(heights, low, high, color=colour, linewidth=1.4, zorder=3)
    ax.plot(values, heights, marker, color=colour, markersize=4.5, label=name, zorder=4)
