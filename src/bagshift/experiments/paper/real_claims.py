# SPDX-License-Identifier: BSD-3-Clause
"""The claims of the paper that can be looked at on real data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import rankdata

from bagshift.experiments.paper.choosing import IC_SVM, SVM, TGPLM_NAME
from bagshift.experiments.paper.claims import Claim, Evidence, Finding, is_better, slopes
from bagshift.experiments.paper.statistics import interval

TSVM_NAME = "TSVM"

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
    known = {name: mean for name, mean in means.items() if not np.isnan(mean)}
    if not known:
        return Finding(None, "")
    rival = max(known, key=lambda name: known[name])
    found = interval(over_tasks(best) - others[rival])
    if np.isnan(found.mean):
        return Finding(None, "")
    return Finding(found.is_above_zero, f"{best} − {rival} (next best) {found}")


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
        return Finding(None, "")
    ranks = rankdata(-means, axis=1).mean(axis=0)
    rank = float(ranks[list(methods).index(method)])
    gaps = [
        evidence.of(task, bag_size, method) - evidence.of(task, bag_size, SVM) for task in tasks
    ]
    gap = interval(np.mean(gaps, axis=0))
    holds = rank > (len(methods) + 1) / 2
    return Finding(
        holds,
        f"mean rank {rank:.1f} of {len(methods)} over {len(tasks)} sets; {method} − SVM {gap}",
    )


def falls_along(evidence: Evidence, tasks: Sequence[str], bag_size: int, method: str) -> Finding:
    """Judge whether the accuracy of a method falls from task to task.

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
    if np.isnan(slope.mean):
        return Finding(None, "")
    means = ", ".join(f"{100 * value:.1f}" for value in values.mean(axis=0))
    return Finding(slope.is_below_zero, f"{means}; per step {slope}")
