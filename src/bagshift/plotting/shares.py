# SPDX-License-Identifier: BSD-3-Clause
"""Predicted against given shares."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from bagshift.plotting._style import BLUE, GREY, plain_axes

LARGEST = 160.0
MOST_LARGE = 50
SMALLEST = 20.0


def plot_shares(
    given: ArrayLike, predicted: ArrayLike, ax: Axes, *, sizes: ArrayLike | None = None
) -> Axes:
    """Draw one point per bag; on the diagonal the two shares agree.

    Parameters
    ----------
    given, predicted : array-like of shape (n_bags,)
        Shares of positives.
    ax : Axes
        Where to draw.
    sizes : array-like of shape (n_bags,), optional
        Bag sizes; areas of the points grow with them.

    Returns
    -------
    Axes
    """
    given, predicted = np.asarray(given, float), np.asarray(predicted, float)
    points = np.column_stack([given, predicted])
    distinct, bag_of, times = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    weight = times.astype(float)
    if sizes is not None:
        weight = np.bincount(bag_of.ravel(), weights=np.asarray(sizes, float))
    # Of many points the largest are smaller, so that they stay apart.
    largest = SMALLEST + (LARGEST - SMALLEST) * min(1.0, MOST_LARGE / max(len(distinct), 1))
    area = SMALLEST + (largest - SMALLEST) * weight / max(weight.max(), 1e-12)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    ax.scatter(
        distinct[:, 0], distinct[:, 1], s=area, color=BLUE, alpha=0.75, linewidth=0, zorder=2
    )
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    plain_axes(ax)
    return ax
