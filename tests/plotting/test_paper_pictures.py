# SPDX-License-Identifier: BSD-3-Clause
"""Boundaries in the plane, and accuracy along a parameter."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.svm import SVC

from bagshift.plotting import plot_boundaries, plot_sensitivity


@pytest.fixture
def figure() -> Figure:
    made = Figure()
    FigureCanvasAgg(made)
    return made


def points() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = np.tile([1, -1], 20)
    return random.normal(size=(40, 2)) + 1.5 * labels[:, np.newaxis], labels


def test_a_boundary_is_where_scores_are_zero(figure: Figure) -> None:
    X, y = points()
    machine = SVC(gamma=0.2).fit(X, y)
    ax = plot_boundaries(X, y, X + 0.3, y, {"SVM": machine}, figure.subplots())
    (contour,) = (c for c in ax.collections if type(c).__name__ == "QuadContourSet")
    places = np.concatenate([path.vertices for path in contour.get_paths()])
    assert np.abs(machine.decision_function(places)).max() < 0.02
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SVM", "source", "target"]
    figure.canvas.draw()


def test_a_machine_that_says_the_same_everywhere_has_no_boundary(figure: Figure) -> None:
    class Constant:
        def decision_function(self, X: np.ndarray) -> np.ndarray:
            return np.ones(len(X))

    X, y = points()
    ax = plot_boundaries(X, y, X, y, {"constant": Constant()}, figure.subplots())
    assert not [c for c in ax.collections if type(c).__name__ == "QuadContourSet"]


def test_more_boundaries_than_can_be_told_apart(figure: Figure) -> None:
    X, y = points()
    with pytest.raises(ValueError, match="At most 3"):
        plot_boundaries(X, y, X, y, dict.fromkeys("abcd"), figure.subplots())


def test_lines_and_their_dashed_companions(figure: Figure) -> None:
    values = [0.25, 1.0, 4.0]
    ax = plot_sensitivity(
        values,
        {"a": [0.5, 0.6, 0.7], "b": [0.9, 0.8, 0.7]},
        figure.subplots(),
        dashed={"a": [0.4, 0.5, 0.6]},
    )
    assert [line.get_ydata().tolist() for line in ax.lines] == [
        [0.5, 0.6, 0.7],
        [0.4, 0.5, 0.6],
        [0.9, 0.8, 0.7],
    ]
    assert ax.lines[0].get_color() == ax.lines[1].get_color() != ax.lines[2].get_color()
    assert ax.get_xscale() == "log"
    figure.canvas.draw()


def test_values_that_are_no_powers_are_marked(figure: Figure) -> None:
    ax = plot_sensitivity(
        [10, 20, 40], {"a": [0.5, 0.6, 0.7]}, figure.subplots(), logarithmic=False
    )
    assert ax.get_xticks().tolist() == [10, 20, 40]
