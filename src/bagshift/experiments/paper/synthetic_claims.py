# SPDX-License-Identifier: BSD-3-Clause
"""The claims of the paper that can be looked at on the Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bagshift.experiments.paper.choosing import IC_SVM, SVM, TGPLM_NAME
from bagshift.experiments.paper.claims import (
    Claim,
    Evidence,
    Finding,
    agree,
    falls_with_size,
    gap_grows,
    is_about_equal,
    is_better,
    rises_then_falls,
)
from bagshift.experiments.paper.gaussians import (
    BAG_SIZES,
    COUPLINGS,
    LIMIT_BAG_SIZE,
    LIMIT_COSTS,
    PATH_BAG_SIZES,
    TASKS,
    TWINS,
    path_method,
    twin_method,
)
from bagshift.experiments.paper.statistics import Results

# What share of the labels is "the same hyperplane", and "almost only" the target's.
THE_SAME, ALMOST = 0.99, 0.95

Judge = Callable[[Evidence, str], Finding]


def synthetic_claims(
    in_sample: Evidence, fresh: Evidence, paths: Results, twins: Results
) -> list[Claim]:
    """Check the paper's claims one by one.

    Parameters
    ----------
    in_sample, fresh : Evidence
        Cells with chosen parameters, on either kind of rows.
    paths : Results
        TGPLM along the coupling.
    twins : Results
        Agreements with other machines.

    Returns
    -------
    list of Claim
    """
    chosen = [
        _claim(statement, shift, judge, task, in_sample, fresh)
        for statement, judge in _about_chosen()
        for task, shift in TASKS.items()
    ]
    along = [
        _claim(
            "accuracy rises slowly with the coupling, then falls sharply",
            f"{shift}, K = {size}",
            lambda evidence, task, size=size: rises_then_falls(  # type: ignore[misc]
                evidence,
                task,
                size,
                [path_method(coupling) for coupling in COUPLINGS],
                [f"λ = {coupling:g}" for coupling in COUPLINGS],
            ),
            task,
            Evidence(paths, "in_sample"),
            Evidence(paths, "fresh"),
        )
        for task, shift in TASKS.items()
        for size in PATH_BAG_SIZES
    ]
    limits = [
        _claim(
            statement, shift, judge, task, Evidence(twins, "in_sample"), Evidence(twins, "fresh")
        )
        for statement, judge in _about_limits()
        for task, shift in TASKS.items()
    ]
    return [*chosen, *along, *limits]


def _claim(
    statement: str, data: str, judge: Judge, task: str, in_sample: Evidence, fresh: Evidence
) -> Claim:
    return Claim(statement, data, judge(in_sample, task), judge(fresh, task))


def _about_chosen() -> list[tuple[str, Judge]]:
    return [
        (
            "TGPLM is better than IC-SVM",
            lambda evidence, task: is_better(evidence, task, BAG_SIZES, TGPLM_NAME, IC_SVM),
        ),
        (
            "IC-SVM is better than SVM",
            lambda evidence, task: is_better(evidence, task, BAG_SIZES, IC_SVM, SVM),
        ),
        (
            "TGPLM and IC-SVM are about equal at K = 2",
            lambda evidence, task: is_about_equal(evidence, task, 2, TGPLM_NAME, IC_SVM),
        ),
        (
            "the gap between TGPLM and IC-SVM grows with K",
            lambda evidence, task: gap_grows(evidence, task, BAG_SIZES, TGPLM_NAME, IC_SVM),
        ),
        (
            "accuracy of TGPLM falls as K grows",
            lambda evidence, task: falls_with_size(evidence, task, BAG_SIZES, TGPLM_NAME),
        ),
        (
            "accuracy of IC-SVM falls as K grows",
            lambda evidence, task: falls_with_size(evidence, task, BAG_SIZES, IC_SVM),
        ),
    ]


def _about_limits() -> list[tuple[str, Judge]]:
    large, small = COUPLINGS[-1], COUPLINGS[0]
    svm, pooled, ic_svm = TWINS

    def names(coupling: float, twin: str, costs: Sequence[float] = LIMIT_COSTS) -> dict[str, str]:
        return {
            f"{twin} (C_target = {cost:g})": twin_method(coupling, twin, cost) for cost in costs
        }

    return [
        (
            "at a very large coupling the hyperplanes of TGPLM and SVM become the same",
            lambda evidence, task: agree(
                evidence,
                task,
                LIMIT_BAG_SIZE,
                names(large, svm),
                names(large, pooled),
                THE_SAME,
            ),
        ),
        (
            "at a small coupling TGPLM uses almost only the target (IC-SVM)",
            # At the least cost the target has no say at all, whatever the coupling.
            lambda evidence, task: agree(
                evidence,
                task,
                LIMIT_BAG_SIZE,
                names(small, ic_svm, LIMIT_COSTS[1:]),
                names(small, ic_svm, LIMIT_COSTS[:1]) | names(small, svm, LIMIT_COSTS[1:]),
                ALMOST,
            ),
        ),
    ]
