# SPDX-License-Identifier: BSD-3-Clause
"""Axes to draw into: those that are given, or new ones; their names and ranges."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray


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


def name_axes(ax: Axes, horizontal: str, vertical: str) -> None:
    """Name both axes by words of the user, which are no formulas whatever signs they hold.

    Parameters
    ----------
    ax : Axes
    horizontal, vertical : str
    """
    ax.set(xlabel=horizontal, ylabel=vertical)
    # "$" is a sign of money in names of columns; Matplotlib would read a formula, or refuse it.
    ax.xaxis.label.set_parse_math(False)
    ax.yaxis.label.set_parse_math(False)


def round_range(values: NDArray[np.float64], margin: float = 0.0) -> tuple[float, float]:
    """Return round ends of a range that holds all values.

    The ends of a picture are then no values of the two outermost rows.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
    margin : float, default=0.0
        Part of the range to leave free on both sides.

    Returns
    -------
    low, high : float
    """
    low, high = float(values.min()), float(values.max())
    width = high - low or abs(low) or 1.0
    if low == high:
        low, high = low - width, high + width
    step = 10.0 ** math.floor(math.log10(width)) / 5.0
    low = math.floor((low - margin * width) / step) * step
    high = math.ceil((high + margin * width) / step) * step
    return low, high
