# SPDX-License-Identifier: BSD-3-Clause
"""Statistics against numbers worked out by hand, and against the libraries."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bagshift.experiments._resampling import resampled_means
from bagshift.experiments.comparison import (
    accuracies,
    faults,
    gap_closed,
    holm,
    mean_accuracies,
    paired_differences,
    tasks_with_gap,
)
from bagshift.experiments.ranking import critical_difference, rank_methods
from league_cells import CEILING, FLOOR, OURS, STRENGTHS, a_cell, cells_of, many_cells

NAN = math.nan
SMALL = {
    "one": {"low": [0.5, 0.5], "high": [0.9, 0.9], "a": [0.6, 0.8], "b": [0.6, 0.7]},
    "two": {"low": [0.6, 0.6], "high": [0.8, 0.8], "a": [0.8, 0.8], "b": [0.5, 0.7]},
    "flat": {"low": [0.8, 0.8], "high": [0.85, 0.85], "a": [0.81, 0.83], "b": [0.82, 0.82]},
}


def small() -> dict[str, dict[str, dict[int, float]]]:
    return accuracies(cells_of(SMALL))


def test_accuracies_are_those_of_the_cells() -> None:
    values = small()
    assert list(values) == ["flat", "one", "two"]
    assert values["one"]["a"] == {0: 0.6, 1: 0.8}
    in_sample = accuracies(cells_of(SMALL), "in_sample")
    assert in_sample["one"]["a"] == pytest.approx({0: 0.61, 1: 0.81})


def test_settings_are_not_mixed() -> None:
    cells = [a_cell("one", "a", 0, 0.5), a_cell("one", "a", 0, 0.5, bag_size=32)]
    with pytest.raises(ValueError, match="2 bag settings"):
        accuracies(cells)


def test_mean_accuracy() -> None:
    means = mean_accuracies(small(), "b")
    assert {task: part.value for task, part in means.items()} == pytest.approx(
        {"flat": 0.82, "one": 0.65, "two": 0.6}
    )
    # Two draws: a quarter of the resamples holds the first only, a quarter the second.
    assert means["two"].estimate().low == pytest.approx(0.5)
    assert means["two"].estimate().high == pytest.approx(0.7)


def test_interval_is_scipys() -> None:
    values = np.random.default_rng(0).normal(0.8, 0.02, 10)
    means, resampled = resampled_means(values, "task")
    assert resampled is not None
    reference = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=50_000, rng=0
    ).confidence_interval
    assert means == pytest.approx(values.mean())
    np.testing.assert_allclose(np.percentile(resampled, [2.5, 97.5]), reference, atol=5e-4)


def test_columns_are_resampled_together() -> None:
    values = np.random.default_rng(0).normal(size=(7, 2))
    _, both = resampled_means(values, "task")
    _, first = resampled_means(values[:, 0], "task")
    _, other = resampled_means(values[:, 0], "another task")
    assert both is not None
    np.testing.assert_allclose(both[:, 0], first)
    assert np.abs(np.corrcoef(first, other)[0, 1]) < 0.05


def test_one_draw_has_no_interval() -> None:
    (part,) = mean_accuracies(accuracies([a_cell("one", "a", 3, 0.75)]), "a").values()
    assert part.estimate().value == 0.75
    assert math.isnan(part.estimate().low)


def test_gap_closed_by_hand() -> None:
    closed = gap_closed(small(), "a", floor="low", ceiling="high")
    assert closed.by_task["flat"] is None, "a gap of exactly five points is not above five"
    assert closed.by_task["one"].value == pytest.approx(0.5)
    assert (closed.by_task["one"].low, closed.by_task["one"].high) == pytest.approx((0.25, 0.75))
    assert closed.by_task["two"].value == pytest.approx(1.0)
    assert closed.n_tasks == 2
    assert closed.mean.value == pytest.approx(0.75)
    # Only task "one" varies, by a quarter to either side, so the mean by half of it.
    assert (closed.mean.low, closed.mean.high) == pytest.approx((0.625, 0.875))


def test_gap_closed_by_floor_and_ceiling_themselves() -> None:
    values = accuracies([cell for cell in many_cells() if cell.bag_size == 8])
    for method, expected in ((FLOOR, 0.0), (CEILING, 1.0)):
        closed = gap_closed(values, method, floor=FLOOR, ceiling=CEILING)
        assert closed.mean.value == pytest.approx(expected)
        assert closed.mean.low == pytest.approx(expected)
        assert closed.n_tasks == len(tasks_with_gap(values, floor=FLOOR, ceiling=CEILING)) == 5


def test_gap_closed_is_on_common_draws() -> None:
    cells = cells_of(SMALL)
    # A third draw that the method does not have must not move floor and ceiling.
    cells += [a_cell("one", "low", 2, 0.1), a_cell("one", "high", 2, 1.0)]
    closed = gap_closed(accuracies(cells), "a", floor="low", ceiling="high")
    assert closed.by_task["one"].value == pytest.approx(0.5)


def test_gap_closed_without_cells() -> None:
    closed = gap_closed(small(), "missing", floor="low", ceiling="high")
    assert closed.by_task == {}
    assert closed.n_tasks == 0
    assert math.isnan(closed.mean.value)


def test_paired_differences_by_hand() -> None:
    first, second = paired_differences(small(), ["a", "b", "low"], "b")
    assert (first.method, second.method) == ("a", "low")
    # Per task: 0.05, 0.2, 0.
    assert first.difference.value == pytest.approx(0.25 / 3)
    assert (first.wins, first.ties, first.losses, first.n_tasks) == (2, 1, 0, 3)
    assert first.p_value == pytest.approx(0.5), "two pairs of one sign: 2 / 2 ** 2"
    assert (second.wins, second.ties, second.losses) == (0, 1, 2)
    assert first.n_left_out == 0


def test_paired_differences_use_what_both_have() -> None:
    values = accuracies(
        cells_of({"one": {"a": [0.5, 0.7, 0.9], "b": [NAN, 0.6, 0.7]}, "two": {"a": [0.4]}})
    )
    (only,) = paired_differences(values, ["a"], "b")
    assert only.difference.value == pytest.approx(0.15)
    assert only.n_tasks == 1
    assert only.n_left_out == 2
    (none,) = paired_differences(values, ["missing"], "b")
    assert none.n_tasks == 0
    assert math.isnan(none.p_value)


def test_signed_rank_test_is_scipys() -> None:
    values = accuracies([cell for cell in many_cells(12, 3) if cell.bag_size == 8])
    methods = [method for method in STRENGTHS if method not in (OURS, CEILING)]
    found = paired_differences(values, methods, OURS)
    for pair in found:
        both = [t for t in values if pair.method in values[t]]
        means = [
            np.mean(
                [values[t][pair.method][d] - values[t][OURS][d] for d in values[t][pair.method]]
            )
            for t in both
        ]
        assert pair.p_value == pytest.approx(stats.wilcoxon(means).pvalue)
        assert pair.difference.value == pytest.approx(np.mean(means))
        assert pair.difference.low < pair.difference.value < pair.difference.high
    adjusted = multipletests([pair.p_value for pair in found], method="holm")[1]
    np.testing.assert_allclose([pair.p_adjusted for pair in found], adjusted)


def test_holm() -> None:
    assert holm([0.01, NAN, 0.04, 0.03]) == pytest.approx([0.03, NAN, 0.06, 0.06], nan_ok=True)
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_ranks_by_hand() -> None:
    ranking = rank_methods(small(), ["low", "a", "b"])
    # flat: a .82 and b .82 tie; one: a, b, low; two: a first, low and b tie.
    assert ranking.ranks == pytest.approx({"a": 3.5 / 3, "b": 6 / 3, "low": 8.5 / 3})
    assert list(ranking.ranks) == ["a", "b", "low"]
    assert ranking.tasks == ("flat", "one", "two")
    scores = [[0.8, 0.5, 0.6], [0.82, 0.7, 0.8], [0.82, 0.65, 0.6]]
    assert ranking.friedman_p == pytest.approx(stats.friedmanchisquare(*scores).pvalue)


def test_critical_difference_of_the_book() -> None:
    # Demsar 2006, table 5: q = 2.569 for four methods; section 3.2.3 has 14 tasks.
    assert critical_difference(4, 14) == pytest.approx(
        2.569 * math.sqrt(4 * 5 / (6 * 14)), rel=1e-3
    )
    assert math.isnan(critical_difference(1, 14))


def test_groups_are_those_within_the_critical_difference() -> None:
    values = accuracies([cell for cell in many_cells(12, 3) if cell.bag_size == 8])
    ranking = rank_methods(values, STRENGTHS)
    for (one, other), p_value in ranking.p_values.items():
        apart = abs(ranking.ranks[one] - ranking.ranks[other]) > ranking.critical_difference
        assert apart == (p_value < 0.05)
        together = any({one, other} <= set(group) for group in ranking.groups)
        assert together != apart
    assert len(ranking.groups) >= 2
    for group in ranking.groups:
        assert not [other for other in ranking.groups if set(group) < set(other)]


def test_method_with_holes_is_left_out_of_ranks() -> None:
    cells = [cell for cell in many_cells(12, 3) if cell.bag_size == 8]
    ranking = rank_methods(accuracies(cells), STRENGTHS)
    assert ranking.methods_left_out == ("LWE",)
    assert ranking.tasks_left_out == ()
    # One failed draw costs this draw in all methods that remain.
    assert ranking.n_draws_left_out == len(ranking.ranks) - 1


def test_task_with_holes_is_left_out_of_ranks() -> None:
    cells = cells_of({**SMALL, "begun": {"a": [0.9]}})
    ranking = rank_methods(accuracies(cells), ["a", "b", "low"])
    assert ranking.methods_left_out == ()
    assert ranking.tasks_left_out == ("begun",)
    assert ranking.ranks == rank_methods(small(), ["a", "b", "low"]).ranks


@pytest.mark.parametrize("methods", [[], ["a"], ["missing"]])
def test_too_little_to_rank(methods: list[str]) -> None:
    ranking = rank_methods(small(), methods)
    assert ranking.groups == ()
    assert math.isnan(ranking.critical_difference)
    assert math.isnan(ranking.friedman_p)
    assert list(ranking.ranks) == [m for m in methods if m == "a"]


def test_equal_methods() -> None:
    same = {"x": [0.7], "y": [0.7], "z": [0.7]}
    values = accuracies(cells_of({"one": same, "two": same}))
    ranking = rank_methods(values, "xyz")
    assert set(ranking.ranks.values()) == {2.0}
    assert ranking.friedman_p == 1.0
    assert ranking.groups == (("x", "y", "z"),)
    assert [pair.p_value for pair in paired_differences(values, "xy", "z")] == [1.0, 1.0]


def everything(cells: list, ours: str = OURS) -> list[object]:
    values = accuracies(cells)
    methods = sorted(set(STRENGTHS) - {OURS, CEILING})
    closed = [gap_closed(values, m, floor=FLOOR, ceiling=CEILING) for m in [*methods, ours]]
    ranking = rank_methods(values, [*methods, ours])
    return [
        repr([(c.mean, sorted(c.by_task.items())) for c in closed]),
        repr([replace(d, reference="") for d in paired_differences(values, methods, ours)]),
        sorted(round(rank, 9) for rank in ranking.ranks.values()),
        ranking.friedman_p,
    ]


def test_order_of_cells_and_names_make_no_difference() -> None:
    cells = [cell for cell in many_cells() if cell.bag_size == 8]
    expected = everything(cells)
    shuffled = random.Random(0).sample(cells, len(cells))
    assert everything(shuffled) == expected
    renamed = [replace(c, method="ours") if c.method == OURS else c for c in cells]
    found = everything(renamed, "ours")
    assert found[:3] == expected[:3]
    assert found[3] == pytest.approx(expected[3])


def test_faults_are_grouped() -> None:
    cells = [*many_cells(), a_cell("task 01", "MeanMap", 9)]
    assert [(f.method, f.status, f.tasks, f.n_cells) for f in faults(cells)] == [
        ("BagCSI", "failed", ("task 03",), 2),
        ("LWE", "impossible", ("task 02", "task 05"), 16),
        ("MeanMap", "failed", ("task 01",), 1),
    ]
    assert "not a number" in faults(cells)[2].reason
