# SPDX-License-Identifier: BSD-3-Clause
"""Average ranks on a line, with bars that join what the tasks do not tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from bagshift.plotting._style import BLUE, GREY, INK

# Heights in rows of labels.
BAR_STEP = 0.5
LABEL_GAP = 0.02


def plot_critical_differences(
    ranks: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    ax: Axes,
    *,
    critical_difference: float | None = None,
    highlight: str | None = None,
) -> Axes:
    """Draw average ranks, the best on the left; bars join methods that are not told apart.

    Parameters
    ----------
    ranks : mapping of str to float
        Average rank by method, 1 the best.
    groups : sequence of sequences of str
        Methods that are not told apart.
    ax : Axes
        Where to draw; about a quarter of an inch in height for every two methods.
    critical_difference : float, optional
        By how much ranks must differ, drawn to scale above the line; NaN is none.
    highlight : str, optional
        The method to set off by colour.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When there are no ranks, or a group names a method that has none.
    """
    unknown = [name for group in groups for name in group if name not in ranks]
    if not ranks or unknown:
        raise ValueError(
            f"ranks has no {unknown[0]!r}; each method of groups needs one."
            if unknown
            else "ranks is empty; give at least one method."
        )
    names = sorted(ranks, key=lambda name: ranks[name])
    low, high = math.floor(min(ranks.values())), math.ceil(max(ranks.values()))
    high = max(high, low + 1)
    _draw_line(ax, low, high)
    bottom = _draw_groups(ax, [[ranks[name] for name in group] for group in groups])
    n_left = (len(names) + 1) // 2
    margin = LABEL_GAP * (high - low)
    for row, name in enumerate(names[:n_left]):
        _draw_label(ax, name, ranks[name], bottom - row, low - margin, "right", highlight)
    for row, name in enumerate(reversed(names[n_left:])):
        _draw_label(ax, name, ranks[name], bottom - row, high + margin, "left", highlight)
    top = 1.0
    if critical_difference is not None and not math.isnan(critical_difference):
        top = 2.2
        _draw_scale(ax, low, high, critical_difference)
    ax.set(xlim=(low - margin, high + margin), ylim=(bottom - n_left + 0.5, top))
    ax.set_axis_off()
    return ax


def _draw_line(ax: Axes, low: int, high: int) -> None:
    ax.plot([low, high], [0, 0], color=INK, linewidth=1.0, zorder=1)
    step = max(1, round((high - low) / 12))
    for rank in range(low, high + 1):
        is_named = (rank - low) % step == 0
        ax.plot([rank, rank], [0, 0.22 if is_named else 0.12], color=INK, linewidth=0.8)
        if is_named:
            ax.text(rank, 0.36, f"{rank}", ha="center", va="bottom", color=INK, fontsize=9)


def _draw_groups(ax: Axes, groups: Sequence[Sequence[float]]) -> float:
    """Draw each bar on the highest level that is free there; return the height below all."""
    ends_of_levels: list[float] = []
    for first, last in sorted((min(group), max(group)) for group in groups):
        free = [i for i, end in enumerate(ends_of_levels) if end < first]
        level = free[0] if free else len(ends_of_levels)
        ends_of_levels[level : level + 1] = [last]
        height = -BAR_STEP * (level + 1)
        ax.plot([first, last], [height, height], color=INK, linewidth=3.0, solid_capstyle="round")
    return -BAR_STEP * len(ends_of_levels) - 1.0


def _draw_label(
    ax: Axes, name: str, rank: float, height: float, end: float, side: str, highlight: str | None
) -> None:
    is_set_off = name == highlight
    colour = BLUE if is_set_off else INK
    ax.plot(
        [rank, rank, end],
        [0, height, height],
        color=BLUE if is_set_off else GREY,
        linewidth=1.4 if is_set_off else 0.7,
        zorder=0,
    )
    ax.plot([rank], [0], "o", color=colour, markersize=4.5, zorder=3)
    text = f"{name}  {rank:.1f} " if side == "right" else f" {rank:.1f}  {name}"
    weight = "bold" if is_set_off else "normal"
    # A dollar in a name does not begin a formula.
    ax.text(end, height, text, ha=side, va="center", color=colour, weight=weight, fontsize=9,
            parse_math=False)  # fmt: skip


def _draw_scale(ax: Axes, low: int, high: int, difference: float) -> None:
    """Draw the critical difference to scale; if it is longer than the line, only name it."""
    text = f"critical difference {difference:.2f}"
    if difference > high - low:
        ax.text(low, 1.6, f"{text}: longer than this line", va="center", color=INK, fontsize=9)
        return
    ax.plot([low, low + difference], [1.6, 1.6], color=INK, linewidth=1.2)
    for end in (low, low + difference):
        ax.plot([end, end], [1.45, 1.75], color=INK, linewidth=1.2)
    margin = LABEL_GAP * (high - low)
    ax.text(low + difference + margin / 2, 1.6, text, va="center", color=INK, fontsize=9)
