# SPDX-License-Identifier: BSD-3-Clause
"""The league: every method on every task, by one protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bagshift.exceptions import TableError, name_some
from bagshift.experiments.draws import LARGE_BAG, BagKind, n_bagged_rows
from bagshift.experiments.methods import METHODS
from bagshift.experiments.runs import Setting
from bagshift.experiments.tasks import find_task, load_task, tasks_in

FEWEST_BAGS, FEWEST_LARGE_BAGS = 5, 10
QUICK_TASKS = ("digits 50", "digits 30", "breast cancer")
QUICK_SIZES, QUICK_DRAWS = (8,), 3


def league_settings(
    tasks: Sequence[str] | None,
    bags: Sequence[BagKind],
    sizes: Sequence[int],
    data: Path | None,
) -> list[Setting]:
    """List tasks with bags, as far as they have rows for them.

    A task takes part with at least five bags, ten when they are of 100 rows or more, and with
    natural bags when its rows come in groups.

    Parameters
    ----------
    tasks : sequence of str or None
        Names of tasks; None for all that can be read.
    bags : sequence of {"random", "clustered", "feature", "skewed", "natural"}
        How bags are made.
    sizes : sequence of int
        Rows per bag, for bags that are not natural.
    data : Path or None
        Folder of the data sets; None for those of scikit-learn alone.

    Returns
    -------
    list of Setting

    Raises
    ------
    TableError
        When there is no task of a name, or none has rows for such bags.
    """
    there = list(tasks_in(data))
    wanted = there if tasks is None else list(tasks)
    if unknown := [name for name in wanted if name not in there]:
        missing = "" if data else " (only those of scikit-learn without --data)"
        raise TableError(
            f"There is no task {name_some(unknown)}; there are {', '.join(there)}{missing}."
        )
    settings = [setting for name in wanted for setting in _settings_of(name, bags, sizes, data)]
    if not settings:
        raise TableError("No task has rows for such bags; take smaller or random ones.")
    return settings


def _settings_of(
    name: str, bags: Sequence[BagKind], sizes: Sequence[int], data: Path | None
) -> list[Setting]:
    task = find_task(name, data)
    n_target = len(load_task(task, data).y_target)
    settings = []
    for kind in bags:
        if kind == "natural":
            settings += [Setting(name, kind, 0)] if task.has_groups else []
            continue
        for size in sizes:
            fewest = FEWEST_LARGE_BAGS if size >= LARGE_BAG else FEWEST_BAGS
            if n_bagged_rows(n_target, size, kind) >= fewest * size:
                settings.append(Setting(name, kind, size))
    return settings


def check_methods(methods: Sequence[str] | None) -> list[str]:
    """Return names of methods in the order of the league.

    Parameters
    ----------
    methods : sequence of str or None
        Names; None for all. Floor and ceiling are added, for every figure is between them.

    Returns
    -------
    list of str

    Raises
    ------
    TableError
        When there is no method of a name.
    """
    if methods is None:
        return list(METHODS)
    if unknown := [name for name in methods if name not in METHODS]:
        raise TableError(
            f"There is no method {name_some(unknown)}; there are {', '.join(METHODS)}."
        )
    ends = [name for name, method in METHODS.items() if method.is_reference]
    return [name for name in METHODS if name in {*methods, *ends}]
