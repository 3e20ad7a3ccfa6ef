# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a league show the numbers they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from bagshift.plotting import (
    plot_accuracy_ranges,
    plot_critical_differences,
    plot_gap_closed,
)

RANKS = {"second": 1.9, "first": 1.4, "fourth": 3.6, "third": 3.1}
NAN = math.nan


@pytest.fixture
def ax() -> Axes:
    figure = Figure(figsize=(5, 3), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


def texts(ax: Axes) -> list[str]:
    return [text.get_text().strip() for text in ax.texts]


def bars(ax: Axes) -> list[tuple[list[float], float]]:
    return [
        (list(line.get_xdata()), line.get_ydata()[0])
        for line in ax.lines
        if line.get_linewidth() == 3.0
    ]


def test_ranks_and_bars(ax: Axes) -> None:
    groups = [("first", "second"), ("second", "third"), ("third", "fourth")]
    assert plot_critical_differences(RANKS, groups, ax, critical_difference=1.2) is ax
    assert {"first  1.4", "second  1.9", "3.1  third", "3.6  fourth"} <= set(texts(ax))
    assert "critical difference 1.20" in texts(ax)
    points = sorted(line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o")
    assert points == [1.4, 1.9, 3.1, 3.6]
    (first, second, third) = bars(ax)
    assert [ends for ends, _ in (first, second, third)] == [[1.4, 1.9], [1.9, 3.1], [3.1, 3.6]]
    # Bars that touch lie on different levels, others share one.
    assert first[1] == third[1] != second[1]
    ax.figure.canvas.draw()


def test_labels_do_not_cross(ax: Axes) -> None:
    plot_critical_differences(RANKS, [], ax)
    height = {text.get_text().split()[0]: text.get_position()[1] for text in ax.texts}
    assert height["first"] > height["second"]
    assert height["3.6"] > height["3.1"]


@pytest.mark.parametrize("difference", [None, NAN, 50.0])
def test_no_scale_to_draw(ax: Axes, difference: float | None) -> None:
    plot_critical_differences({"only": 1.0}, [], ax, critical_difference=difference)
    assert [t for t in texts(ax) if "longer" in t] == (
        ["critical difference 50.00: longer than this line"] if difference == 50.0 else []
    )
    ax.figure.canvas.draw()


def test_highlighted_rank(ax: Axes) -> None:
    plot_critical_differences(RANKS, [], ax, highlight="third")
    assert [t.get_text().strip() for t in ax.texts if t.get_weight() == "bold"] == ["3.1  third"]


@pytest.mark.parametrize(
    ("ranks", "groups", "message"),
    [({}, [], "ranks is empty"), (RANKS, [("first", "x")], "ranks has no 'x'")],
)
def test_wrong_ranks(ax: Axes, ranks: dict[str, float], groups: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_critical_differences(ranks, groups, ax)


def test_gap_closed(ax: Axes) -> None:
    closed = [[0.9, -0.25, NAN], [-0.001, NAN, NAN]]
    points = [[NAN, NAN, 1.25], [NAN, NAN, -0.5]]
    assert plot_gap_closed(closed, ["a", "b"], ["x", "y", "z"], ax, points=points) is ax
    assert texts(ax) == ["0.90", "−0.25", "+1.2", "0.00", "×", "−0.5"]
    assert ax.texts[0].get_color() == "white"
    np.testing.assert_array_equal(ax.images[0].get_array().mask, np.isnan(closed))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y", "z"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert len(ax.patches) == 2
    ax.figure.canvas.draw()


def test_gap_closed_of_another_shape(ax: Axes) -> None:
    with pytest.raises(ValueError, match="2 methods and a column for each of 1 tasks"):
        plot_gap_closed([[0.5]], ["a", "b"], ["x"], ax)


def test_ranges(ax: Axes) -> None:
    ranges = {
        "x": {"low": (0.5, 0.4, 0.6), "high": (0.9, NAN, NAN), "a": (0.7, 0.65, 0.75)},
        "y": {"low": (0.6, 0.5, 0.7), "b": (0.65, 0.6, 0.7)},
    }
    plot_accuracy_ranges(ranges, ax, floor="low", ceiling="high", highlight=["a"])
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines["a"].get_xdata()) == [0.7]
    assert list(lines["other methods"].get_xdata()) == [0.65]
    assert list(lines["other methods"].get_ydata()) == [1]
    assert list(lines["floor (low)"].get_xdata()) == [0.5, 0.6]
    assert list(lines["ceiling (high)"].get_xdata()) == [0.9]
    (interval,) = ax.collections
    np.testing.assert_allclose(interval.get_segments()[0], [[0.65, 0.0], [0.75, 0.0]])
    bands = [line for line in ax.lines if line.get_linewidth() == 9]
    assert [list(line.get_xdata()) for line in bands] == [[0.5, 0.9]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "y"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first task on top"
    ax.figure.canvas.draw()


def test_ranges_of_nothing(ax: Axes) -> None:
    plot_accuracy_ranges({"x": {}}, ax, floor="low", ceiling="high", highlight=["a"])
    ax.figure.canvas.draw()


def test_too_many_to_highlight(ax: Axes) -> None:
    with pytest.raises(ValueError, match="highlight names 4"):
        plot_accuracy_ranges({}, ax, floor="low", ceiling="high", highlight="abcd")


@pytest.mark.parametrize("name", ["$x$", "$a^{$", "a $ b", r"\$1", "$\\nothing$"])
def test_a_dollar_in_a_name_is_a_dollar(ax: Axes, name: str) -> None:
    other = f"{name} too"
    plot_critical_differences({name: 1.2, other: 2.0}, [], ax)
    ranges = {name: {name: (0.5, 0.4, 0.6), "a": (0.7, 0.6, 0.8), other: (0.9, NAN, NAN)}}
    axes = ax.figure.subplots(2)
    plot_accuracy_ranges(ranges, axes[0], floor=name, ceiling=other, highlight=["a"])
    plot_gap_closed([[0.5]], [name], [name], axes[1])
    ax.figure.canvas.draw()
    drawn = [text for text in ax.figure.findobj(Text) if name in text.get_text()]
    assert len(drawn) >= 7
    assert not any(text.get_parse_math() for text in drawn)
