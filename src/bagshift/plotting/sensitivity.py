# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy along a parameter, one line per method or setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from bagshift.plotting._style import BLUE, GREY, INK, ORANGE, plain_axes

COLOURS = (GREY, ORANGE, BLUE, INK)
MARKERS = ("o", "s", "^", "D", "v", "P")


def plot_sensitivity(
    values: Sequence[float],
    accuracies: Mapping[str, ArrayLike],
    ax: Axes,
    *,
    logarithmic: bool = True,
    dashed: Mapping[str, ArrayLike] | None = None,
) -> Axes:
    """Draw accuracies over the values of a parameter, with names at the ends of the lines.

    Parameters
    ----------
    values : sequence of float
        Values of the parameter, rising.
    accuracies : mapping of str to array-like of shape (n_values,)
        One line each.
    ax : Axes
        Where to draw.
    logarithmic : bool, default=True
        Whether the values are shown by their power of two.
    dashed : mapping of str to array-like of shape (n_values,), optional
        More lines by the names of the first ones, in the same colours but dashed.

    Returns
    -------
    Axes
    """
    colours = COLOURS if len(accuracies) > 1 else (BLUE,)
    for number, (name, line) in enumerate(accuracies.items()):
        look: dict[str, Any] = {
            "color": colours[number % len(colours)],
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 4.5,
            "linewidth": 1.6,
        }
        ax.plot(values, np.asarray(line, float), label=name, **look)
        if dashed is not None and name in dashed:
            look["markerfacecolor"] = "white"
            ax.plot(values, np.asarray(dashed[name], float), linestyle=(0, (4, 2)), **look)
    if logarithmic:
        ax.set_xscale("log", base=2)
    else:
        ax.set_xticks(list(values))
    ax.set_ylabel("accuracy", color=INK)
    ax.margins(y=0.12)
    ax.legend(frameon=False, fontsize="small")
    plain_axes(ax)
    return ax
