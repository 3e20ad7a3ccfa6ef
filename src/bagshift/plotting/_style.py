# SPDX-License-Identifier: BSD-3-Clause
"""Colours and lines shared by all pictures; readable in print and with red-green blindness."""

from __future__ import annotations

from matplotlib.axes import Axes

BLUE = "#2166ac"
ORANGE = "#d6604d"
GREY = "#8c8c8c"
LIGHT = "#d9d9d9"
INK = "#262626"


def plain_axes(ax: Axes) -> None:
    """Leave only the lines that carry information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, length=3, color=GREY)
