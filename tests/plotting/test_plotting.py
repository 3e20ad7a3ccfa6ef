# SPDX-License-Identifier: BSD-3-Clause
"""Pictures show the numbers they are given and leave Matplotlib's global state alone."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bagshift.plotting import plot_accuracies, plot_images, plot_shares


@pytest.fixture
def ax() -> Axes:
    figure = Figure(figsize=(4, 3), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_bars(ax: Axes) -> None:
    assert plot_accuracies({"first": 0.25, "second": 0.875}, ax, highlight="second") is ax
    assert [bar.get_width() for bar in ax.patches] == [0.25, 0.875]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first", "second"]
    assert {"0.250", "0.875", "guessing"} <= set(texts(ax))
    first, second = (bar.get_facecolor() for bar in ax.patches)
    assert first != second
    ax.figure.canvas.draw()


def test_equal_bags_share_a_larger_point(ax: Axes) -> None:
    plot_shares([0.5, 0.5, 0.25], [0.5, 0.5, 0.75], ax)
    (points,) = ax.collections
    np.testing.assert_allclose(points.get_offsets(), [[0.25, 0.75], [0.5, 0.5]])
    small, large = points.get_sizes()
    assert small < large
    ax.figure.canvas.draw()


def test_size_of_bags(ax: Axes) -> None:
    plot_shares([0.0, 1.0], [0.0, 1.0], ax, sizes=[100, 10])
    large, small = ax.collections[0].get_sizes()
    assert large > small


def test_many_points_are_smaller(ax: Axes) -> None:
    for n_bags in (10, 500):
        plot_shares(np.linspace(0, 1, n_bags), np.linspace(0, 1, n_bags), ax)
    few, many = (points.get_sizes().max() for points in ax.collections)
    assert many < few / 3


def test_images_and_captions(ax: Axes) -> None:
    plot_images(np.eye(4).repeat(4, axis=1), ["a", "b", "c", "d"], ax, marked=[0, 0, 1, 0])
    assert texts(ax) == ["a", "b", "c", "d"]
    assert [text.get_weight() for text in ax.texts] == ["normal", "normal", "bold", "normal"]
    ax.figure.canvas.draw()


def test_no_global_state() -> None:
    code = (
        "import sys, matplotlib\n"
        "before = dict(matplotlib.rcParams)\n"
        "import bagshift.plotting\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert dict(matplotlib.rcParams) == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
