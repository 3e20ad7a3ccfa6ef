# SPDX-License-Identifier: BSD-3-Clause
"""Which tasks take part in a league, and with which bags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bagshift.exceptions import TableError, name_some
from bagshift.experiments.draws import (
    LARGE_BAG,
    SMALLEST_NATURAL_BAG,
    BagKind,
    n_bagged_rows,
    n_large_groups,
)
from bagshift.experiments.tasks import FoundTasks, find_task, load_task, tasks_in

FEWEST_BAGS, FEWEST_LARGE_BAGS = 5, 10


@dataclass(frozen=True)
class Setting:
    """A task with its bags.

    Attributes
    ----------
    task : str
        Its name.
    bags : {"random", "clustered", "feature", "skewed", "natural"}
        How its bags are made.
    bag_size : int
        Rows per bag; 0 for natural bags.
    """

    task: str
    bags: BagKind
    bag_size: int


@dataclass(frozen=True)
class LeagueSettings:
    """Tasks with their bags.

    Attributes
    ----------
    settings : list of Setting
        Those that take part.
    left_out : dict of str to str
        Tasks that do not, or not with all bags asked for, and why.
    """

    settings: list[Setting]
    left_out: dict[str, str]


def league_settings(
    tasks: Sequence[str] | None,
    bags: Sequence[BagKind],
    sizes: Sequence[int],
    data: Path | None,
) -> LeagueSettings:
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
    LeagueSettings

    Raises
    ------
    TableError
        When there is no task of a name, a task that is named cannot be used, or none has rows
        for such bags.
    ValueError
        When a size is no whole number from 1 on.
    """
    found = tasks_in(data)
    names = list(found.tasks) if tasks is None else _check_tasks(tasks, found, data)
    left_out = dict(found.left_out) if tasks is None else {}
    settings = []
    for name in names:
        try:
            possible, lacking = _settings_of(name, dict.fromkeys(bags), dict.fromkeys(sizes), data)
        except TableError as error:
            if tasks is not None:
                raise
            left_out[name] = str(error)
            continue
        settings += possible
        # Of all tasks, it is no news that some are too small for some of the bags, or ungrouped.
        if tasks is not None and not possible:
            left_out[name] = lacking or "its rows come in no groups"
        elif lacking and (tasks is not None or not possible):
            left_out[name] = lacking
    if not settings:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(left_out.items())[:3])
        raise TableError(
            f"No task has rows for such bags{f' ({reasons})' if reasons else ''}; take smaller or "
            "random ones."
        )
    return LeagueSettings(settings, left_out)


def _check_tasks(tasks: Sequence[str], found: FoundTasks, data: Path | None) -> list[str]:
    """Return names of tasks, each once, when all of them can be used."""
    for name in tasks:
        if name in found.left_out:
            raise TableError(found.left_out[name])
    if unknown := [name for name in tasks if name not in found.tasks]:
        missing = "" if data else " (only those of scikit-learn without --data)"
        raise TableError(
            f"There is no task {name_some(unknown)}; there are {', '.join(found.tasks)}{missing}."
        )
    return list(dict.fromkeys(tasks))


def _settings_of(
    name: str, bags: Iterable[BagKind], sizes: Iterable[int], data: Path | None
) -> tuple[list[Setting], str]:
    """Return the bags of a task, and a sentence on those that it has too few rows for."""
    task = find_task(name, data)
    domains = load_task(task, data)
    n_target = len(domains.y_target)
    settings, lacking = [], []
    for kind in bags:
        if kind == "natural":
            if not task.has_groups or domains.groups is None:
                continue
            if n_large_groups(domains.groups) >= FEWEST_BAGS:
                settings.append(Setting(name, kind, 0))
            else:
                lacking.append(f"{FEWEST_BAGS} natural bags of {SMALLEST_NATURAL_BAG} or more")
            continue
        for size in sizes:
            fewest = FEWEST_LARGE_BAGS if size >= LARGE_BAG else FEWEST_BAGS
            if n_bagged_rows(n_target, size, kind) >= fewest * size:
                settings.append(Setting(name, kind, size))
            else:
                lacking.append(f"{fewest} {kind} bags of {size}")
    if not lacking:
        return settings, ""
    return settings, f"{n_target:,} target rows are too few for {', '.join(lacking)}"
