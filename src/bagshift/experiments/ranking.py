# SPDX-License-Identifier: BSD-3-Clause
"""Average ranks of methods over tasks, and which of them the tasks do not tell apart.

Ranks, Friedman's test and Nemenyi's critical difference as in [1]_: each task ranks the methods by
mean fresh accuracy, 1 the best and ties averaged.

References
----------
.. [1] J. Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of
   Machine Learning Research 7 (2006), 1-30.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from bagshift.experiments._resampling import Floats
from bagshift.experiments.comparison import DECIMALS, Accuracies, common_draws

LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """Methods by average rank over the tasks that all of them have.

    Attributes
    ----------
    ranks : dict of str to float
        Average rank by method, the best first.
    tasks : tuple of str
        The tasks.
    friedman_p : float
        Of Friedman's test that all methods are equal; NaN with fewer than three methods or two
        tasks.
    critical_difference : float
        By how much two average ranks must differ to be told apart (Nemenyi, at 5 %); NaN with
        fewer than two methods or tasks.
    p_values : dict of tuple to float
        Of Nemenyi's test by pair of methods.
    groups : tuple of tuples of str
        The largest groups that are not told apart, of two methods at least; empty without a test.
    methods_left_out, tasks_left_out : tuple of str
        What was not compared, because not every method has every task.
    n_draws_left_out : int
        Draws of the methods on the tasks compared that not all of them have.
    """

    ranks: dict[str, float]
    tasks: tuple[str, ...]
    friedman_p: float
    critical_difference: float
    p_values: dict[tuple[str, str], float]
    groups: tuple[tuple[str, ...], ...]
    methods_left_out: tuple[str, ...]
    tasks_left_out: tuple[str, ...]
    n_draws_left_out: int


def rank_methods(values: Accuracies, methods: Iterable[str]) -> Ranking:
    """Rank methods over tasks.

    Where not every method has every task, the method or the task with the largest share of holes
    is left out, again and again, until there is none: one task that few methods could do costs
    itself, and a method that can do few tasks costs itself.

    Parameters
    ----------
    values : Accuracies
        Fresh accuracies.
    methods : iterable of str
        The methods to rank.

    Returns
    -------
    Ranking
    """
    wanted = sorted(set(methods))
    names, tasks = _complete(values, wanted)
    tables = [common_draws(values[task], names) for task in tasks]
    means = np.array([table.mean(axis=0) for table in tables]).reshape(len(tasks), len(names))
    # The best is to get rank 1.
    scores = -means.round(DECIMALS)
    ranks = rankdata(scores, axis=1).mean(axis=0) if len(tasks) else np.full(len(names), math.nan)
    order = np.lexsort((np.arange(len(names)), ranks))
    sorted_names = [names[i] for i in order]
    p_values = _nemenyi(scores[:, order])
    return Ranking(
        ranks={names[i]: float(ranks[i]) for i in order},
        tasks=tuple(tasks),
        friedman_p=_friedman(scores),
        critical_difference=critical_difference(len(names), len(tasks)),
        p_values=_by_pair(sorted_names, p_values),
        groups=_groups(sorted_names, p_values),
        methods_left_out=tuple(name for name in wanted if name not in names),
        tasks_left_out=tuple(task for task in values if task not in tasks),
        n_draws_left_out=sum(
            len(values[task][name]) - len(table)
            for task, table in zip(tasks, tables, strict=True)
            for name in names
        ),
    )


def _complete(values: Accuracies, methods: list[str]) -> tuple[list[str], list[str]]:
    """Return methods and tasks of which each method has each task."""
    tasks = [task for task in values if any(method in values[task] for method in methods)]
    methods = [method for method in methods if any(method in values[task] for task in tasks)]
    while True:
        holes = np.array([[m not in values[t] for t in tasks] for m in methods], bool)
        holes = holes.reshape(len(methods), len(tasks))
        if not holes.any():
            break
        by_method, by_task = holes.mean(axis=1), holes.mean(axis=0)
        if by_method.max() > by_task.max():
            del methods[int(by_method.argmax())]
        else:
            del tasks[int(by_task.argmax())]
    return methods, [task for task in tasks if len(common_draws(values[task], methods))]


def _friedman(scores: Floats) -> float:
    n_tasks, n_methods = scores.shape
    if n_methods < 3 or n_tasks < 2:
        return math.nan
    if (np.ptp(scores, axis=1) == 0).all():
        return 1.0  # all equal everywhere; the statistic would be 0 / 0
    return float(friedmanchisquare(*scores.T).pvalue)


def critical_difference(n_methods: int, n_tasks: int, level: float = LEVEL) -> float:
    """Return by how much average ranks must differ in Nemenyi's test.

    Parameters
    ----------
    n_methods, n_tasks : int
        How many are compared, and over how many tasks.
    level : float
        Probability that equal methods are told apart.

    Returns
    -------
    float
        NaN with fewer than two methods or tasks.

    Examples
    --------
    >>> round(critical_difference(5, 30), 2)
    1.11
    """
    if n_methods < 2 or n_tasks < 2:
        return math.nan
    quantile = studentized_range.isf(level, n_methods, np.inf) / math.sqrt(2)
    return float(quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_tasks)))


def _nemenyi(scores: Floats) -> Floats | None:
    """Return p-values by pair; None with fewer than two methods or tasks."""
    if min(scores.shape) < 2:
        return None
    # It brings pandas and two plotting libraries along, so not before it is needed.
    from scikit_posthocs import posthoc_nemenyi_friedman  # type: ignore[import-untyped]

    return np.asarray(posthoc_nemenyi_friedman(scores), float)


def _by_pair(names: list[str], p_values: Floats | None) -> dict[tuple[str, str], float]:
    if p_values is None:
        return {}
    return {
        (one, other): float(p_values[i, j])
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    }


def _groups(names: list[str], p_values: Floats | None) -> tuple[tuple[str, ...], ...]:
    """Return the longest runs of methods, sorted by rank, whose ends are not told apart."""
    if p_values is None:
        return ()
    groups: list[tuple[str, ...]] = []
    furthest = 0
    for first in range(len(names)):
        last = int(np.flatnonzero(p_values[first] >= LEVEL).max(initial=first))
        if last > max(first, furthest):
            groups.append(tuple(names[first : last + 1]))
            furthest = last
    return tuple(groups)
