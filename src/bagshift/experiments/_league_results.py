# SPDX-License-Identifier: BSD-3-Clause
"""All figures of one bag setting, computed once for tables and pictures."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bagshift.experiments._page_values import Estimate
from bagshift.experiments._resampling import Resampled, mean_over_tasks
from bagshift.experiments.cells import Cell
from bagshift.experiments.comparison import (
    Accuracies,
    Fault,
    GapClosed,
    PairedDifference,
    accuracies,
    faults,
    gap_closed,
    mean_accuracies,
    paired_differences,
    tasks_with_gap,
)
from bagshift.experiments.ranking import Ranking, rank_methods

# In the order in which they are shown.
BAG_KINDS = ("random", "clustered", "feature", "skewed", "natural")


@dataclass(frozen=True)
class Roles:
    """Which methods the others are measured against.

    Attributes
    ----------
    floor, ceiling : str
        The supervised machines on source and on target labels.
    reference : str
        The method that all are compared with.
    """

    floor: str
    ceiling: str
    reference: str


@dataclass(frozen=True)
class MethodOnTask:
    """A method on one task.

    Attributes
    ----------
    n_draws, n_failed, n_impossible : int
        Draws with a result, with an error, and where it cannot be used.
    fresh, in_sample : Estimate
        Mean accuracies over draws; NaN without any.
    """

    n_draws: int
    n_failed: int
    n_impossible: int
    fresh: Estimate
    in_sample: Estimate


@dataclass(frozen=True)
class MethodResults:
    """A method over all tasks of a setting.

    Attributes
    ----------
    tasks : dict of str to MethodOnTask
        By task, also where there is no result.
    fresh, in_sample : Estimate
        Mean accuracies over the tasks that are done.
    closed : GapClosed
        Gap closed.
    seconds : float
        Median CPU seconds per cell; NaN without any.
    n_tasks : int
        On how many of the tasks that count it has a result.
    """

    tasks: dict[str, MethodOnTask]
    fresh: Estimate
    in_sample: Estimate
    closed: GapClosed
    seconds: float
    n_tasks: int


@dataclass(frozen=True)
class SettingResults:
    """All figures of one bag setting.

    Attributes
    ----------
    bags : str
        How the bags were made.
    bag_size : int
        Rows per bag; 0 for natural bags.
    roles : Roles
        Floor, ceiling and reference.
    methods : dict of str to MethodResults
        In the order asked for.
    tasks : tuple of str
        Those with a wide gap between floor and ceiling first.
    aside : tuple of str
        Tasks that are shown and enter no mean, rank or test.
    wide : tuple of str
        The tasks with a wide gap.
    ranking : Ranking
        Of all methods but the ceiling.
    paired : dict of str to PairedDifference
        Against the reference, by method.
    faults : list of Fault
        What has no result.
    """

    bags: str
    bag_size: int
    roles: Roles
    methods: dict[str, MethodResults]
    tasks: tuple[str, ...]
    aside: tuple[str, ...]
    wide: tuple[str, ...]
    ranking: Ranking
    paired: dict[str, PairedDifference]
    faults: list[Fault]

    @property
    def name(self) -> str:
        """For names of files."""
        return f"{self.bags}-{self.bag_size}" if self.bag_size else self.bags

    @property
    def contenders(self) -> list[str]:
        """All methods but floor and ceiling."""
        return [m for m in self.methods if m not in (self.roles.floor, self.roles.ceiling)]

    def best_first(self) -> list[str]:
        """Return all methods by mean gap closed; where there is none, by fresh accuracy."""

        def merit(name: str) -> tuple[float, float]:
            results = self.methods[name]
            values = (results.closed.mean.value, results.fresh.value)
            closed, fresh = (-math.inf if math.isnan(value) else value for value in values)
            return -closed, -fresh

        return sorted(self.methods, key=merit)


def results_by_setting(
    cells: Iterable[Cell],
    methods_order: Sequence[str],
    roles: Roles,
    aside: Collection[str] = (),
) -> list[SettingResults]:
    """Compute everything, one bag setting after the other.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of any settings; the last of each key counts.
    methods_order : sequence of str
        Methods in the order to show them in; others follow by name.
    roles : Roles
        Floor, ceiling and reference.
    aside : collection of str, optional
        Tasks that are shown and enter no mean, rank or test.

    Returns
    -------
    list of SettingResults
        Random bags first, small bags first.
    """
    groups: dict[tuple[str, int], list[Cell]] = defaultdict(list)
    for cell in {cell.key: cell for cell in cells}.values():
        groups[cell.bags, cell.bag_size].append(cell)
    places = {kind: place for place, kind in enumerate(BAG_KINDS)}
    keys = sorted(groups, key=lambda key: (places.get(key[0], len(places)), key))
    return [_setting_results(key, groups[key], methods_order, roles, aside) for key in keys]


def _setting_results(
    key: tuple[str, int],
    cells: list[Cell],
    methods_order: Sequence[str],
    roles: Roles,
    aside: Collection[str],
) -> SettingResults:
    present = {cell.method for cell in cells}
    methods = [m for m in dict.fromkeys([*methods_order, *sorted(present)]) if m in present]
    everything = accuracies(cells)
    fresh = {task: of_task for task, of_task in everything.items() if task not in aside}
    wide = tasks_with_gap(fresh, floor=roles.floor, ceiling=roles.ceiling)
    tasks = sorted({cell.task for cell in cells}, key=lambda task: (task not in wide, task))
    contenders = [method for method in methods if method != roles.ceiling]
    cells_of = defaultdict(list)
    for cell in cells:
        cells_of[cell.method].append(cell)
    pairs = paired_differences(fresh, contenders, roles.reference)
    return SettingResults(
        bags=key[0],
        bag_size=key[1],
        roles=roles,
        methods={
            m: _method_results(cells_of[m], _closed(everything, fresh, m, roles), aside)
            for m in methods
        },
        tasks=tuple(tasks),
        aside=tuple(task for task in tasks if task in aside),
        wide=tuple(wide),
        ranking=rank_methods(fresh, contenders),
        paired={pair.method: pair for pair in pairs},
        faults=faults(cells),
    )


def _closed(everything: Accuracies, counted: Accuracies, method: str, roles: Roles) -> GapClosed:
    """Return the gap closed on all tasks, its mean over those that count."""
    of_all, of_counted = (
        gap_closed(values, method, floor=roles.floor, ceiling=roles.ceiling)
        for values in (everything, counted)
    )
    return replace(of_counted, by_task=of_all.by_task)


def _counted(means: dict[str, Resampled], aside: Collection[str]) -> Estimate:
    return mean_over_tasks([mean for task, mean in means.items() if task not in aside]).estimate()


def _method_results(cells: list[Cell], closed: GapClosed, aside: Collection[str]) -> MethodResults:
    """Return the results of one method from its cells."""
    method = cells[0].method
    fresh = mean_accuracies(accuracies(cells), method)
    in_sample = mean_accuracies(accuracies(cells, "in_sample"), method)
    counts = Counter((cell.task, cell.status) for cell in cells)
    seconds = [cell.seconds for cell in cells if cell.status == "done"]
    nothing = Estimate(math.nan)
    return MethodResults(
        tasks={
            task: MethodOnTask(
                n_draws=counts[task, "done"],
                n_failed=counts[task, "failed"],
                n_impossible=counts[task, "impossible"],
                fresh=fresh[task].estimate() if task in fresh else nothing,
                in_sample=in_sample[task].estimate() if task in in_sample else nothing,
            )
            for task in sorted({cell.task for cell in cells})
        },
        fresh=_counted(fresh, aside),
        in_sample=_counted(in_sample, aside),
        closed=closed,
        seconds=float(np.median(seconds)) if seconds else math.nan,
        n_tasks=len(fresh.keys() - set(aside)),
    )
