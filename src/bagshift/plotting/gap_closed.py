# SPDX-License-Identifier: BSD-3-Clause
"""How much of the gap each method closes on each task, as numbers on colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from bagshift.plotting._style import BLUE, INK, ORANGE

NO_GAP = "#ececec"
DARK = 0.6
NOTHING = "×"


def plot_gap_closed(
    closed: ArrayLike,
    methods: Sequence[str],
    tasks: Sequence[str],
    ax: Axes,
    *,
    points: ArrayLike | None = None,
) -> Axes:
    """Draw one row per method, one column per task: blue above the floor, red below it.

    Parameters
    ----------
    closed : array-like of shape (n_methods, n_tasks)
        Share of the gap closed: 0 at the floor, 1 at the ceiling; NaN where there is none.
    methods, tasks : sequence of str
        Names of rows and columns.
    ax : Axes
        Where to draw.
    points : array-like of shape (n_methods, n_tasks), optional
        What to show, on grey and with a sign, where `closed` is NaN: by how many points of
        accuracy a method is above the floor; NaN where nothing is known, which leaves a cross.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When the shapes do not fit the names.
    """
    closed = np.asarray(closed, float)
    points = np.full_like(closed, np.nan) if points is None else np.asarray(points, float)
    if not closed.shape == points.shape == (len(methods), len(tasks)):
        raise ValueError(
            f"closed and points are of shapes {closed.shape} and {points.shape}; they need a row "
            f"for each of {len(methods)} methods and a column for each of {len(tasks)} tasks."
        )
    colours = LinearSegmentedColormap.from_list("gap", [ORANGE, "white", BLUE])
    ax.imshow(closed, cmap=colours, vmin=-1.0, vmax=1.0, aspect="auto")
    for row, column in np.ndindex(closed.shape):
        _draw_value(ax, row, column, float(closed[row, column]), float(points[row, column]))
    _name_sides(ax, methods, tasks)
    return ax


def _draw_value(ax: Axes, row: int, column: int, closed: float, points: float) -> None:
    colour, text = INK, NOTHING
    if not np.isnan(closed):
        colour = "white" if abs(closed) > DARK else INK
        text = _signed(f"{closed:.2f}")
    elif not np.isnan(points):
        corner = (column - 0.5, row - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, facecolor=NO_GAP, linewidth=0))
        text = _signed(f"{points:+.1f}")
    ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=7.5)


def _signed(text: str) -> str:
    """Return a number with a true minus, and a rounded nothing without a sign."""
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def _name_sides(ax: Axes, methods: Sequence[str], tasks: Sequence[str]) -> None:
    # A dollar in a name does not begin a formula.
    ax.set_xticks(range(len(tasks)), tasks, rotation=45, ha="left", rotation_mode="anchor",
                  parse_math=False)  # fmt: skip
    ax.set_yticks(range(len(methods)), methods, parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, colors=INK, labelsize=8.5)
    ax.spines[:].set_visible(False)
    # White lines between the cells.
    ax.set_xticks(np.arange(1, len(tasks)) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, len(methods)) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.2)
    ax.tick_params(which="minor", length=0)
