# SPDX-License-Identifier: BSD-3-Clause
"""Axes to draw into: those that are given, or new ones."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def axes_and_figure(ax: Axes | None, size: tuple[float, float]) -> tuple[Axes, Figure]:
    """Return the axes to draw into and their figure.

    Parameters
    ----------
    ax : Axes or None
        New ones of a new figure of pyplot, as scikit-learn's displays have them, when None.
    size : tuple of float
        Width and height of a new figure in inches.

    Returns
    -------
    ax : Axes
    figure : Figure
    """
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    figure = ax.get_figure(root=True)
    assert figure is not None
    return ax, figure
