# SPDX-License-Identifier: BSD-3-Clause
"""The claims of the paper that can be looked at on real data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from bagshift.experiments.paper.choosing import IC_SVM, SVM, TGPLM_NAME
from bagshift.experiments.paper.claims import Evidence, is_better, signed, slopes
from bagshift.experiments.paper.statistics import interval
from bagshift.experiments.paper.verdicts import NOTHING, Claim, Finding

TSVM_NAME = "TSVM"
LARGEST_STEP_UP = 0.01

Judge = Callable[[Evidence], Finding]


def claims_of_methods(
    in_sample: Evidence,
    fresh: Evidence,
    tasks: Sequence[str],
    bag_size: int,
    methods: Sequence[str],
) -> list[Claim]:
    """Check what the paper says of its six methods.

    Parameters
    ----------
    in_sample, fresh : Evidence
        Cells with chosen parameters, on either kind of rows.
    tasks : sequence of str
        All tasks of the part.
    bag_size : int
        Of the cells.
    methods : sequence of str
        The six of the paper.

    Returns
    -------
    list of Claim
        TGPLM against IC-SVM is not one of the paper's, but belongs beside them.
    """

    def claim(statement: str, data: str, judge: Judge) -> Claim:
        return Claim(statement, data, judge(in_sample), judge(fresh))

    best = [
        claim(
            "TGPLM is the best of six",
            task,
            lambda evidence, task=task: is_best(  # type: ignore[misc]
                evidence, [task], bag_size, TGPLM_NAME, methods
            ),
        )
        for task in tasks
    ]
    return [
        claim(
            "TGPLM is the best of six",
            "mean of all",
            lambda evidence: is_best(evidence, tasks, bag_size, TGPLM_NAME, methods),
        ),
        *best,
        claim(
            "TSVM is generally not good",
            "mean of all",
            lambda evidence: is_not_good(evidence, tasks, bag_size, TSVM_NAME, methods),
        ),
        *(
            Claim(
                "not in the paper: TGPLM is better than IC-SVM",
                task,
                *(
                    is_better(evidence, task, [bag_size], TGPLM_NAME, IC_SVM)
                    for evidence in (in_sample, fresh)
                ),
                is_ours=True,
            )
            for task in tasks
        ),
    ]


def claims_of_faces(
    in_sample: Evidence,
    fresh: Evidence,
    tasks: Sequence[str],
    bag_size: int,
    methods: Sequence[str],
) -> list[Claim]:
    """Check that accuracies fall with the rotation.

    Parameters
    ----------
    in_sample, fresh : Evidence
        Cells with chosen parameters, on either kind of rows.
    tasks : sequence of str
        By rising angle.
    bag_size : int
        Of the cells.
    methods : sequence of str
        All methods.

    Returns
    -------
    list of Claim
    """
    return [
        Claim(
            "accuracy falls with the rotation of the faces",
            method,
            falls_along(in_sample, tasks, bag_size, method),
            falls_along(fresh, tasks, bag_size, method),
        )
        for method in methods
    ]


def is_best(
    evidence: Evidence, tasks: Sequence[str], bag_size: int, best: str, methods: Sequence[str]
) -> Finding:
    """Judge whether a method is better than the next best of some, in the mean over tasks.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    tasks : sequence of str
        Of the cells.
    bag_size : int
        Of the cells.
    best : str
        The method.
    methods : sequence of str
        All methods.

    Returns
    -------
    Finding
    """

    def over_tasks(method: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        values = [evidence.of(task, bag_size, method) for task in tasks]
        mean: np.ndarray[tuple[int], np.dtype[np.float64]] = np.mean(values, axis=0)
        return mean

    others = {name: over_tasks(name) for name in methods if name != best}
    means = {name: interval(values).mean for name, values in others.items()}
    if any(np.isnan(mean) for mean in means.values()):
        return NOTHING  # without a result of each, none is the best of all
    rival = max(means, key=lambda name: means[name])
    found = interval(over_tasks(best) - others[rival])
    return signed(found, f"{best} − {rival}, the best of the others, {found}")


def is_not_good(
    evidence: Evidence, tasks: Sequence[str], bag_size: int, method: str, methods: Sequence[str]
) -> Finding:
    """Judge whether a method is in the worse half of some, by its mean rank over tasks.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    tasks : sequence of str
        Of the cells.
    bag_size : int
        Of the cells.
    method : str
        The method.
    methods : sequence of str
        All methods.

    Returns
    -------
    Finding
    """
    means = np.array(
        [[interval(evidence.of(task, bag_size, name)).mean for name in methods] for task in tasks]
    )
    if np.isnan(means).any():
        return NOTHING
    ranks = rankdata(-means, axis=1).mean(axis=0)
    rank = float(ranks[list(methods).index(method)])
    gaps = [
        evidence.of(task, bag_size, method) - evidence.of(task, bag_size, SVM) for task in tasks
    ]
    gap = interval(np.mean(gaps, axis=0))
    holds = rank > (len(methods) + 1) / 2
    return Finding(
        "yes" if holds else "no",
        f"mean rank {rank:.1f} of {len(methods)} over {len(tasks)} sets; {method} − SVM {gap}",
    )


def falls_along(evidence: Evidence, tasks: Sequence[str], bag_size: int, method: str) -> Finding:
    """Judge whether the accuracy of a method falls from task to task.

    Its slope is to be below zero, and no step of the means up by more than a point.

    Parameters
    ----------
    evidence : Evidence
        The cells.
    tasks : sequence of str
        In their order.
    bag_size : int
        Of the cells.
    method : str
        The method.

    Returns
    -------
    Finding
    """
    values = np.column_stack([evidence.of(task, bag_size, method) for task in tasks])
    slope = interval(slopes(values))
    means = values.mean(axis=0)
    written = ", ".join(f"{100 * value:.1f}" for value in means)
    found = signed(slope, f"{written}; per step {slope}", claimed=-1)
    has_risen = found.state == "yes" and np.diff(means).max() > LARGEST_STEP_UP
    return replace(found, state="open") if has_risen else found
