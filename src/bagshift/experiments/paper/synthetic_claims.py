# SPDX-License-Identifier: BSD-3-Clause
"""The claims of the paper that can be looked at on the Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bagshift.experiments.paper.choosing import IC_SVM, SVM, TGPLM_NAME
from bagshift.experiments.paper.claims import (
    ABOUT_COUPLING,
    ALMOST,
    THE_SAME,
    Along,
    Evidence,
    agree,
    falls_with_size,
    gap_grows,
    is_about_equal,
    is_better,
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
from bagshift.experiments.paper.statistics import Results, Where
from bagshift.experiments.paper.verdicts import Claim, Finding

Judge = Callable[[Evidence, str], Finding]
ROWS: tuple[Where, ...] = ("in_sample", "fresh")


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
        Claim(
            statement,
            f"{shift}, K = {size}",
            *(judge(Evidence(paths, where), _path(task, size)) for where in ROWS),
        )
        for statement, judge in ABOUT_COUPLING.items()
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


def _path(task: str, bag_size: int) -> Along:
    return Along(
        task,
        bag_size,
        [path_method(coupling) for coupling in COUPLINGS],
        [f"λ = {coupling:g}" for coupling in COUPLINGS],
    )


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
            # At the least cost IC-SVM gives nearly all rows one label, so its numbers are shown
            # and not judged by.
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
