# SPDX-License-Identifier: BSD-3-Clause
"""Small grey images in a row, each with a line of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from bagshift.plotting._style import INK, ORANGE

GAP = 2


def plot_images(
    images: ArrayLike,
    captions: Sequence[str],
    ax: Axes,
    *,
    marked: Sequence[bool] | None = None,
) -> Axes:
    """Draw square images side by side.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
        Grey values in [0, 1], row by row; n_pixels is a square number.
    captions : sequence of str
        One below each image.
    ax : Axes
        Where to draw.
    marked : sequence of bool, optional
        Images whose caption is to stand out, such as wrong predictions.

    Returns
    -------
    Axes
    """
    grey = np.asarray(images, float)
    side = int(np.sqrt(grey.shape[1]))
    step = side + GAP
    strip = np.full((side, len(grey) * step - GAP), np.nan)
    for position, image in enumerate(grey):
        strip[:, position * step : position * step + side] = image.reshape(side, side)
    ax.imshow(strip, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    for position, caption in enumerate(captions):
        stands_out = marked is not None and marked[position]
        ax.text(
            position * step + (side - 1) / 2,
            side + 0.4,
            caption,
            ha="center",
            va="top",
            color=ORANGE if stands_out else INK,
            weight="bold" if stands_out else "normal",
        )
    ax.set_axis_off()
    return ax
