# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of the cells of one bag setting: gap closed, paired differences, what is missing.

All figures stand on draws that everything compared in them has. Intervals are percentile
bootstrap intervals over draws, resampled in each task; means over tasks are plain means, so the
tasks themselves are taken as given and not as a sample. What is done with tasks as a sample is in
:mod:`bagshift.experiments.ranking` and in the signed-rank test below.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import wilcoxon

from bagshift.experiments._page_values import Estimate
from bagshift.experiments._resampling import (
    Floats,
    Resampled,
    mean_over_tasks,
    resampled_means,
)
from bagshift.experiments.cells import Cell

# Accuracies by task, method, draw.
Accuracies = Mapping[str, Mapping[str, Mapping[int, float]]]

SMALLEST_GAP = 0.05
# Means are compared to so many decimals: the order of a sum makes no winner.
DECIMALS = 12


@dataclass(frozen=True)
class GapClosed:
    """How much of the gap between floor and ceiling a method closes.

    Attributes
    ----------
    by_task : dict of str to Estimate or None
        None where the gap is not above five points; tasks without a common draw are not in it.
    mean : Estimate
        Plain mean over the tasks with a gap; NaN without any.
    n_tasks : int
        How many these are.
    """

    by_task: dict[str, Estimate | None]
    mean: Estimate
    n_tasks: int


@dataclass(frozen=True)
class PairedDifference:
    """A method less a reference on the same draws.

    Attributes
    ----------
    method, reference : str
        What is compared.
    difference : Estimate
        Mean over tasks of the mean differences in fresh accuracy.
    n_tasks : int
        Tasks with a common draw.
    wins, ties, losses : int
        Tasks on which the method's mean is above, equal to, below that of the reference.
    p_value : float
        Of Wilcoxon's signed-rank test over tasks, two-sided; NaN without tasks.
    p_adjusted : float
        The same after Holm's correction for all methods compared.
    n_left_out : int
        Draws that only one of the two has.
    """

    method: str
    reference: str
    difference: Estimate
    n_tasks: int
    wins: int
    ties: int
    losses: int
    p_value: float
    p_adjusted: float
    n_left_out: int


@dataclass(frozen=True)
class Fault:
    """Cells without a result, for one reason.

    Attributes
    ----------
    method : str
        The method.
    status : {"impossible", "failed"}
        Whether it cannot be used there, or was used in vain.
    reason : str
        As the cells say it.
    tasks : tuple of str
        On which tasks.
    n_cells : int
        How many cells.
    """

    method: str
    status: Literal["impossible", "failed"]
    reason: str
    tasks: tuple[str, ...]
    n_cells: int


def accuracies(
    cells: Iterable[Cell], rows: Literal["fresh", "in_sample"] = "fresh"
) -> dict[str, dict[str, dict[int, float]]]:
    """Return the accuracies of the cells that are done.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of one bag setting.
    rows : {"fresh", "in_sample"}
        On which rows.

    Returns
    -------
    dict
        By task, then by method, then by draw.

    Raises
    ------
    ValueError
        When the cells are of several bag settings.
    """
    found: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    settings = set()
    for cell in cells:
        settings.add((cell.bags, cell.bag_size))
        value = getattr(cell, rows)
        if cell.status == "done" and not math.isnan(value):
            found[cell.task][cell.method][cell.draw] = value
    if len(settings) > 1:
        raise ValueError(
            f"cells are of {len(settings)} bag settings; compare those of one at a time."
        )
    return {task: dict(found[task]) for task in sorted(found)}


def mean_accuracies(values: Accuracies, method: str) -> dict[str, Resampled]:
    """Return the mean accuracy of a method over its draws.

    Parameters
    ----------
    values : Accuracies
        As :func:`accuracies` returns them.
    method : str
        The method.

    Returns
    -------
    dict of str to Resampled
        By task, of those on which the method is done.
    """
    means = {}
    for task, by_method in values.items():
        if method in by_method:
            table = common_draws(by_method, [method])
            mean, resampled = resampled_means(table[:, 0], task)
            means[task] = Resampled(float(mean), resampled)
    return means


def common_draws(by_method: Mapping[str, Mapping[int, float]], methods: Sequence[str]) -> Floats:
    """Return the accuracies on the draws that all methods have.

    Parameters
    ----------
    by_method : mapping
        Accuracies on one task by method and draw.
    methods : sequence of str
        The columns.

    Returns
    -------
    ndarray of shape (n_draws, n_methods)
        Draws ascending.
    """
    of_each = [by_method.get(method, {}) for method in methods]
    draws = sorted(set.intersection(*(set(draws) for draws in of_each)))
    return np.array([[draws_of[d] for draws_of in of_each] for d in draws]).reshape(
        -1, len(methods)
    )


def tasks_with_gap(values: Accuracies, *, floor: str, ceiling: str) -> list[str]:
    """Return the tasks on which the ceiling is more than five points above the floor.

    Parameters
    ----------
    values : Accuracies
        Fresh accuracies.
    floor, ceiling : str
        Names of the methods.

    Returns
    -------
    list of str
    """
    found = []
    for task, by_method in values.items():
        table = common_draws(by_method, [floor, ceiling])
        if len(table) and _gap(table[:, 0], table[:, 1]) > SMALLEST_GAP:
            found.append(task)
    return found


def _gap(floor: Floats, ceiling: Floats) -> float:
    return round(float(ceiling.mean() - floor.mean()), DECIMALS)


def gap_closed(values: Accuracies, method: str, *, floor: str, ceiling: str) -> GapClosed:
    """Return how much of the gap a method closes, per task and on the mean.

    (mean of the method - mean of the floor) / (mean of the ceiling - mean of the floor), each over
    the draws that all three have. It is 0 at the floor and 1 at the ceiling.

    Parameters
    ----------
    values : Accuracies
        Fresh accuracies.
    method : str
        The method.
    floor, ceiling : str
        Names of the methods that it is measured against.

    Returns
    -------
    GapClosed
    """
    wide = set(tasks_with_gap(values, floor=floor, ceiling=ceiling))
    parts: dict[str, Resampled | None] = {}
    for task, by_method in values.items():
        table = common_draws(by_method, [floor, method, ceiling])
        if len(table):
            is_wide = task in wide and _gap(table[:, 0], table[:, 2]) > SMALLEST_GAP
            parts[task] = _closed(table, task) if is_wide else None
    found = [part for part in parts.values() if part]
    return GapClosed(
        by_task={t: part.estimate() if part else None for t, part in parts.items()},
        mean=mean_over_tasks(found).estimate(),
        n_tasks=len(found),
    )


def _closed(table: Floats, task: str) -> Resampled:
    means, resampled = resampled_means(table, task)
    value = float((means[1] - means[0]) / (means[2] - means[0]))
    if resampled is None:
        return Resampled(value, None)
    floor, own, ceiling = resampled.T
    # A few resamples may have no gap at all; they end far out, not at infinity.
    return Resampled(value, (own - floor) / np.maximum(ceiling - floor, 1e-6))


def paired_differences(
    values: Accuracies, methods: Iterable[str], reference: str
) -> list[PairedDifference]:
    """Compare methods with a reference, each on the draws that both have.

    Parameters
    ----------
    values : Accuracies
        Fresh accuracies.
    methods : iterable of str
        Methods; the reference among them is passed over.
    reference : str
        The method that they are compared with.

    Returns
    -------
    list of PairedDifference
        In the order of the methods.
    """
    methods = [method for method in methods if method != reference]
    parts = [_differences(values, method, reference) for method in methods]
    p_values = [_signed_rank_p([part.value for part in found]) for found, _ in parts]
    return [
        _paired_difference(method, reference, found, n_left_out, p_value, p_adjusted)
        for method, (found, n_left_out), p_value, p_adjusted in zip(
            methods, parts, p_values, holm(p_values), strict=True
        )
    ]


def _differences(values: Accuracies, method: str, reference: str) -> tuple[list[Resampled], int]:
    """Return the difference on each task, and how many draws are of one of the two only."""
    found, n_left_out = [], 0
    for task, by_method in values.items():
        table = common_draws(by_method, [method, reference])
        n_left_out += sum(len(by_method.get(m, ())) - len(table) for m in (method, reference))
        if len(table):
            mean, resampled = resampled_means(table[:, 0] - table[:, 1], task)
            found.append(Resampled(round(float(mean), DECIMALS), resampled))
    return found, n_left_out


def _paired_difference(
    method: str,
    reference: str,
    parts: list[Resampled],
    n_left_out: int,
    p_value: float,
    p_adjusted: float,
) -> PairedDifference:
    signs = np.sign([part.value for part in parts])
    return PairedDifference(
        method=method,
        reference=reference,
        difference=mean_over_tasks(parts).estimate(),
        n_tasks=len(parts),
        wins=int((signs > 0).sum()),
        ties=int((signs == 0).sum()),
        losses=int((signs < 0).sum()),
        p_value=p_value,
        p_adjusted=p_adjusted,
        n_left_out=n_left_out,
    )


def _signed_rank_p(differences: list[float]) -> float:
    """Return the p-value of Wilcoxon's test; equal pairs say nothing and are dropped."""
    if not differences:
        return math.nan
    unequal = [value for value in differences if value]
    return float(wilcoxon(unequal).pvalue) if unequal else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values after Holm's step-down correction.

    Parameters
    ----------
    p_values : sequence of float
        One for each comparison; NaN is none.

    Returns
    -------
    list of float
        In the same order.
    """
    given = np.asarray(p_values, float)
    order = np.argsort(given, kind="stable")[: np.count_nonzero(~np.isnan(given))]
    steps = given[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(len(given), math.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in adjusted]


def faults(cells: Iterable[Cell]) -> list[Fault]:
    """Return what has no result and why, sorted by method, status and reason.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of any settings.

    Returns
    -------
    list of Fault
    """
    groups: dict[tuple[str, Literal["impossible", "failed"], str], list[str]] = defaultdict(list)
    for cell in cells:
        if cell.status != "done":
            groups[cell.method, cell.status, cell.reason].append(cell.task)
        elif math.isnan(cell.fresh):
            groups[cell.method, "failed", "Its accuracy is not a number."].append(cell.task)
    return [
        Fault(method, status, reason, tuple(sorted(set(tasks))), len(tasks))
        for (method, status, reason), tasks in sorted(groups.items())
    ]
