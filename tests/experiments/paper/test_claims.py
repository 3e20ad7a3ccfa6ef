# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on cells made up so that the answer is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import ttest_rel

from bagshift.experiments.paper import claims
from bagshift.experiments.paper.claims import Claim, Evidence, Finding
from bagshift.experiments.paper.statistics import interval
from paper_cells import SIZES, results

GROWING = results(
    {
        "a": [[0.90, 0.90, 0.91, 0.91], [0.92, 0.91, 0.91, 0.92], [0.91, 0.92, 0.92, 0.91]],
        "b": [[0.90, 0.88, 0.86, 0.84], [0.92, 0.89, 0.87, 0.86], [0.91, 0.90, 0.87, 0.84]],
    }
)


@pytest.mark.parametrize("where", ["in_sample", "fresh"])
def test_a_gap_that_grows(where: str) -> None:
    evidence = Evidence(GROWING, where)  # type: ignore[arg-type]
    assert claims.is_better(evidence, "task", SIZES, "a", "b").holds
    assert not claims.is_better(evidence, "task", SIZES, "b", "a").holds
    assert claims.is_about_equal(evidence, "task", 2, "a", "b").holds
    assert not claims.is_about_equal(evidence, "task", 16, "a", "b").holds
    assert claims.gap_grows(evidence, "task", SIZES, "a", "b").holds
    assert claims.falls_with_size(evidence, "task", SIZES, "b").holds
    assert not claims.falls_with_size(evidence, "task", SIZES, "a").holds


def test_intervals_are_those_of_the_paired_t_test() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 8))
    found = interval(first - second)
    expected = ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_one_draw_has_no_interval_and_proves_nothing() -> None:
    found = interval([0.3])
    assert not found.is_above_zero
    assert str(found) == "+30.0"
    assert np.isnan(found.estimate.low)


def test_slopes_are_those_of_a_fitted_line() -> None:
    values = np.random.default_rng(1).normal(size=(3, 5))
    expected = [np.polyfit(np.arange(5), row, 1)[0] for row in values]
    np.testing.assert_allclose(claims.slopes(values), expected)


def along(curves: Sequence[Sequence[float]]) -> tuple[Evidence, list[str]]:
    names = [f"step {i}" for i in range(len(curves[0]))]
    values = {name: [[curve[i]] for curve in curves] for i, name in enumerate(names)}
    return Evidence(results(values), "in_sample"), names


def test_slowly_up_and_sharply_down() -> None:
    shape = np.array([0.80, 0.81, 0.82, 0.83, 0.70, 0.69])
    evidence, names = along([shape, shape + 0.02, shape - 0.01])
    assert claims.rises_then_falls(evidence, "task", 2, names, names).holds
    evidence, names = along([shape[::-1], shape[::-1] + 0.02, shape[::-1] - 0.01])
    assert not claims.rises_then_falls(evidence, "task", 2, names, names).holds


def test_the_top_is_not_chosen_by_the_draw_that_is_compared_with_it() -> None:
    evidence, names = along([[0.5, 0.9, 0.5], [0.5, 0.5, 0.9]])
    found = claims.rises_then_falls(evidence, "task", 2, names, names)
    assert "rise +0.0" in found.numbers


def test_agreement_with_every_machine_named() -> None:
    evidence = Evidence(results({"one": [[0.99]], "two": [[0.9]]}), "in_sample")
    assert claims.agree(evidence, "task", 2, {"1": "one"}, {"2": "two"}, 0.95).holds
    assert not claims.agree(evidence, "task", 2, {"1": "one", "2": "two"}, {}, 0.95).holds
    assert claims.agree(evidence, "task", 2, {"3": "three"}, {}, 0.95).holds is None


@pytest.mark.parametrize(
    ("in_sample", "fresh", "verdict"),
    [
        (True, True, "reproduced"),
        (True, False, "only under its protocol"),
        (False, True, "only on fresh rows"),
        (False, False, "not reproduced"),
        (None, True, "not run"),
    ],
)
def test_verdicts(in_sample: bool | None, fresh: bool, verdict: str) -> None:
    assert Claim("", "", Finding(in_sample, ""), Finding(fresh, "")).verdict == verdict


@pytest.mark.parametrize(
    ("in_sample", "fresh", "verdict"),
    [
        (True, True, "holds"),
        (True, False, "holds in-sample only"),
        (False, False, "does not hold"),
    ],
)
def test_what_the_paper_does_not_say_is_not_reproduced(
    in_sample: bool, fresh: bool, verdict: str
) -> None:
    found = Claim("", "", Finding(in_sample, ""), Finding(fresh, ""), is_ours=True)
    assert found.verdict == verdict


def test_nothing_is_judged_without_cells() -> None:
    found = claims.is_better(Evidence(GROWING, "fresh"), "other", SIZES, "a", "b")
    assert found.holds is None
