# SPDX-License-Identifier: BSD-3-Clause
"""Accuracies of several methods as bars."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from bagshift.plotting._style import BLUE, GREY, INK, LIGHT, plain_axes


def plot_accuracies(
    accuracies: Mapping[str, float],
    ax: Axes,
    *,
    highlight: str | None = None,
    chance: float | None = 0.5,
) -> Axes:
    """Draw one horizontal bar per method, the first on top.

    Parameters
    ----------
    accuracies : mapping of str to float
        Accuracy in [0, 1] by method.
    ax : Axes
        Where to draw.
    highlight : str, optional
        The method to set off by colour.
    chance : float, optional
        Accuracy of guessing, drawn as a line; default 0.5.

    Returns
    -------
    Axes
    """
    names = list(accuracies)
    values = [accuracies[name] for name in names]
    colours = [BLUE if name == highlight else LIGHT for name in names]
    ax.barh(names, values, color=colours, height=0.62)
    ax.set_ylim(len(names) - 0.45, -0.75)
    for row, value in enumerate(values):
        ax.text(value + 0.012, row, f"{value:.3f}", va="center", color=INK)
    if chance is not None:
        ax.axvline(chance, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.text(chance + 0.012, -0.52, "guessing", va="center", fontsize="small", color=GREY)
    ax.set_xlim(0.0, 1.12)
    ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
    plain_axes(ax)
    ax.tick_params(axis="y", length=0)
    return ax
