# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts on cells made up so that the answer is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import ttest_rel

from bagshift.experiments.paper import claims
from bagshift.experiments.paper.claims import Along, Evidence
from bagshift.experiments.paper.statistics import interval
from bagshift.experiments.paper.verdicts import Claim, Finding, State
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
    assert claims.is_better(evidence, "task", SIZES, "a", "b").state == "yes"
    assert claims.is_better(evidence, "task", SIZES, "b", "a").state == "no"
    assert claims.is_about_equal(evidence, "task", 2, "a", "b").state == "yes"
    assert claims.is_about_equal(evidence, "task", 16, "a", "b").state == "no"
    assert claims.gap_grows(evidence, "task", SIZES, "a", "b").state == "yes"
    assert claims.falls_with_size(evidence, "task", SIZES, "b").state == "yes"
    assert claims.falls_with_size(evidence, "task", SIZES, "a").state == "open"


def test_intervals_are_those_of_the_paired_t_test() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 8))
    found = interval(first - second)
    expected = ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_one_draw_has_no_interval_and_proves_nothing() -> None:
    found = interval([0.3])
    assert not found.is_above_zero
    assert str(found) == "+30.00"
    assert np.isnan(found.estimate.low)


def test_slopes_are_those_of_a_fitted_line() -> None:
    values = np.random.default_rng(1).normal(size=(3, 5))
    expected = [np.polyfit(np.arange(5), row, 1)[0] for row in values]
    np.testing.assert_allclose(claims.slopes(values), expected)


def test_draws_that_are_all_equal_prove_nothing() -> None:
    found = interval([0.025, 0.025])
    assert not found.is_above_zero
    same = Evidence(results({"a": [[0.9], [0.9]], "b": [[0.8], [0.8]]}), "in_sample")
    assert claims.is_better(same, "task", [2], "a", "b").state == "open"


def along(curves: Sequence[Sequence[float]]) -> tuple[Evidence, Along]:
    names = [f"step {i}" for i in range(len(curves[0]))]
    values = {name: [[curve[i]] for curve in curves] for i, name in enumerate(names)}
    return Evidence(results(values), "in_sample"), Along("task", 2, names, names)


def test_slowly_up_and_sharply_down() -> None:
    shape = np.array([0.80, 0.81, 0.82, 0.83, 0.70, 0.69])
    noise = np.array([0.0, 0.001, 0.002, 0.001, 0.0, 0.001])
    evidence, path = along([shape, shape + 0.02 + noise, shape - 0.01])
    assert claims.rises(evidence, path).state == "yes"
    assert claims.falls_sharply(evidence, path).state == "yes"
    back = [curve[::-1] for curve in (shape, shape + 0.02 + noise, shape - 0.01)]
    evidence, path = along(back)
    assert claims.falls_sharply(evidence, path).state == "no"


def test_the_top_is_not_chosen_by_the_draw_that_is_compared_with_it() -> None:
    evidence, path = along([[0.5, 0.9, 0.5], [0.5, 0.5, 0.9]])
    found = claims.rises(evidence, path)
    assert "rise +0.00" in found.numbers
    assert found.state == "open"


def test_agreement_with_every_machine_named() -> None:
    evidence = Evidence(results({"one": [[0.99]], "two": [[0.9]]}), "in_sample")
    assert claims.agree(evidence, "task", 2, {"1": "one"}, {"2": "two"}, 0.95).state == "yes"
    assert claims.agree(evidence, "task", 2, {"1": "one", "2": "two"}, {}, 0.95).state == "no"
    assert claims.agree(evidence, "task", 2, {"3": "three"}, {}, 0.95).state == "nothing"


@pytest.mark.parametrize(
    ("in_sample", "fresh", "verdict", "ours"),
    [
        ("yes", "yes", "reproduced", "holds"),
        ("yes", "no", "only under its protocol", "holds in-sample only"),
        ("yes", "open", "only under its protocol", "holds in-sample only"),
        ("yes", "nothing", "in-sample; fresh rows not run", "in-sample; fresh rows not run"),
        ("no", "yes", "only on fresh rows", "only on fresh rows"),
        ("open", "open", "not reproduced: undecided", "undecided"),
        ("open", "no", "not reproduced: contradicted", "contradicted"),
        ("no", "nothing", "not reproduced: contradicted", "contradicted"),
        ("open", "nothing", "not reproduced: undecided", "undecided"),
        ("nothing", "yes", "not run", "not run"),
    ],
)
def test_verdicts(in_sample: State, fresh: State, verdict: str, ours: str) -> None:
    findings = Finding(in_sample, ""), Finding(fresh, "")
    assert Claim("", "", *findings).verdict == verdict
    assert Claim("", "", *findings, is_ours=True).verdict == ours


def test_nothing_is_judged_without_cells() -> None:
    found = claims.is_better(Evidence(GROWING, "fresh"), "other", SIZES, "a", "b")
    assert found.state == "nothing"
