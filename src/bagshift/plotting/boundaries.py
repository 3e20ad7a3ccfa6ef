# SPDX-License-Identifier: BSD-3-Clause
"""Where machines in the plane draw the line, over the points of both domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from bagshift.plotting._style import BLUE, GREY, INK, ORANGE, plain_axes

STEPS = 200
MARGIN = 0.6
LINES: tuple[tuple[str, Any], ...] = ((GREY, (0, (4, 2))), (ORANGE, (0, (1, 1))), (BLUE, "solid"))


def plot_boundaries(
    X_source: ArrayLike,
    y_source: ArrayLike,
    X_target: ArrayLike,
    y_target: ArrayLike,
    machines: Mapping[str, Any],
    ax: Axes,
) -> Axes:
    """Draw the points of two domains and the boundaries of up to three machines.

    Parameters
    ----------
    X_source, y_source : array-like of shape (n_source, 2), (n_source,)
        Points of the source, small and grey; crosses for positive labels, circles for others.
    X_target, y_target : array-like of shape (n_target, 2), (n_target,)
        Points of the target, larger and black.
    machines : mapping of str to fitted classifier
        By name; the boundary is where ``decision_function`` is zero. The last stands out.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When there are more machines than can be told apart.
    """
    if len(machines) > len(LINES):
        raise ValueError(
            f"At most {len(LINES)} boundaries can be told apart, not {len(machines)}."
        )
    source, target = np.asarray(X_source, float), np.asarray(X_target, float)
    _points(source, np.asarray(y_source), ax, colour=GREY, size=14)
    _points(target, np.asarray(y_target), ax, colour=INK, size=30)
    horizontal, vertical = _square(np.concatenate([source, target]))
    places = np.column_stack([horizontal.ravel(), vertical.ravel()])
    for machine, (colour, style) in zip(machines.values(), LINES[-len(machines) :], strict=True):
        scores = np.asarray(machine.decision_function(places)).reshape(horizontal.shape)
        if scores.min() < 0 < scores.max():
            ax.contour(
                horizontal,
                vertical,
                scores,
                [0.0],
                colors=colour,
                linestyles=[style],
                linewidths=2,
            )
    ax.set_aspect("equal")
    plain_axes(ax)
    ax.legend(
        handles=_handles(list(machines)),
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.05),
        ncols=len(machines) + 2,
        columnspacing=1.2,
    )
    return ax


def _points(
    X: NDArray[np.float64], labels: NDArray[Any], ax: Axes, *, colour: str, size: float
) -> None:
    positive = labels > 0
    ax.scatter(X[positive, 0], X[positive, 1], s=size, color=colour, marker="x", linewidth=1.1)
    ax.scatter(
        X[~positive, 0],
        X[~positive, 1],
        s=size,
        facecolor="none",
        edgecolor=colour,
        marker="o",
        linewidth=0.9,
    )


def _square(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a fine net over all points."""
    low, high = points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN
    across, along = (np.linspace(a, b, STEPS) for a, b in zip(low, high, strict=True))
    horizontal, vertical = np.meshgrid(across, along)
    return horizontal, vertical


def _handles(names: list[str]) -> list[Line2D]:
    lines = [
        Line2D([], [], color=colour, linestyle=style, linewidth=2, label=name)
        for name, (colour, style) in zip(names, LINES[-len(names) :], strict=True)
    ]
    kinds = [("source", GREY, 4.0), ("target", INK, 6.0)]
    dots = [
        Line2D([], [], color=colour, marker="x", markersize=size, linestyle="", label=name)
        for name, colour, size in kinds
    ]
    return lines + dots
