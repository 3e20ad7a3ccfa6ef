# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a league."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bagshift.experiments._league_results import MethodOnTask, MethodResults, SettingResults
from bagshift.experiments._league_words import setting_title
from bagshift.experiments._page_values import Estimate, PageValue, Probability
from bagshift.experiments.pages import PageTable

OVERVIEW = {
    "method": 0,
    "gap closed": 2,
    "tasks with a gap": 0,
    "average rank": 1,
    "fresh accuracy": 3,
    "tasks": 0,
    "in-sample accuracy": 3,
    "wins": 0,
    "losses": 0,
    "CPU seconds": 1,
    "failed": 0,
    "impossible": 0,
    "role": 0,
}
AGAINST = {
    "method": 0,
    "points": 1,
    "tasks": 0,
    "wins": 0,
    "ties": 0,
    "losses": 0,
    "p": 4,
    "p (Holm)": 4,
    "draws left out": 0,
}
BY_TASK = {
    "task": 0,
    "method": 0,
    "draws": 0,
    "fresh accuracy": 3,
    "in-sample accuracy": 3,
    "gap closed": 2,
    "note": 0,
}


def overview_table(results: SettingResults) -> PageTable:
    """Return one row per method, the best first.

    Parameters
    ----------
    results : SettingResults
        Of one setting.

    Returns
    -------
    PageTable
    """
    return PageTable(
        name=f"{results.name}-overview",
        caption=f"{setting_title(results.bags, results.bag_size)}: means over tasks [95 % "
        "intervals over draws], by gap closed; wins and losses in tasks against "
        f"{results.roles.reference}",
        header=list(OVERVIEW),
        rows=[_overview_row(results, name) for name in results.best_first()],
        decimals=list(OVERVIEW.values()),
    )


def _overview_row(results: SettingResults, name: str) -> list[PageValue]:
    found, pair = results.methods[name], results.paired.get(name)
    return [
        name,
        found.closed.mean,
        found.closed.n_tasks,
        results.ranking.ranks.get(name),
        found.fresh,
        found.n_tasks,
        found.in_sample,
        pair.wins if pair else None,
        pair.losses if pair else None,
        found.seconds,
        sum(part.n_failed for part in found.tasks.values()),
        sum(part.n_impossible for part in found.tasks.values()),
        _role(results, name),
    ]


def _role(results: SettingResults, name: str) -> str:
    roles = vars(results.roles)
    return next((role for role, method in roles.items() if method == name), "")


def against_table(results: SettingResults) -> PageTable:
    """Return the paired differences to the reference, in points of accuracy.

    Parameters
    ----------
    results : SettingResults
        Of one setting.

    Returns
    -------
    PageTable
    """
    pairs = [results.paired[name] for name in results.best_first() if name in results.paired]
    return PageTable(
        name=f"{results.name}-against-{_plain(results.roles.reference)}",
        caption=f"Each method less {results.roles.reference} on the same draws: points of fresh "
        "accuracy, tasks won and lost, Wilcoxon's signed-rank test over tasks",
        header=list(AGAINST),
        rows=[
            [
                pair.method,
                _points(pair.difference),
                pair.n_tasks,
                pair.wins,
                pair.ties,
                pair.losses,
                Probability(pair.p_value),
                Probability(pair.p_adjusted),
                pair.n_left_out,
            ]
            for pair in pairs
        ],
        decimals=list(AGAINST.values()),
    )


def _points(accuracy: Estimate) -> Estimate:
    return Estimate(100 * accuracy.value, 100 * accuracy.low, 100 * accuracy.high)


def _plain(name: str) -> str:
    """Return a name without what cannot stand in the name of a file."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)


def task_table(results: SettingResults) -> PageTable:
    """Return one row per task and method, in each task the best first.

    Parameters
    ----------
    results : SettingResults
        Of one setting.

    Returns
    -------
    PageTable
    """
    return PageTable(
        name=f"{results.name}-tasks",
        caption=f"{setting_title(results.bags, results.bag_size)}, task by task: means over draws "
        "[95 % intervals]",
        header=list(BY_TASK),
        rows=[row for task in results.tasks for row in _task_rows(results, task)],
        decimals=list(BY_TASK.values()),
    )


def _task_rows(results: SettingResults, task: str) -> Iterable[list[PageValue]]:
    found = {name: m for name, m in results.methods.items() if task in m.tasks}

    def merit(name: str) -> float:
        value = found[name].tasks[task].fresh.value
        return math.inf if math.isnan(value) else -value

    for name in sorted(found, key=merit):
        part = found[name].tasks[task]
        closed = found[name].closed.by_task.get(task)
        yield [
            task,
            name,
            part.n_draws,
            part.fresh,
            part.in_sample,
            closed,
            _note(part, found[name], task),
        ]


def _note(part: MethodOnTask, results: MethodResults, task: str) -> str:
    """Return why something is missing."""
    words = []
    if part.n_impossible:
        words.append("impossible")
    if part.n_failed:
        words.append(f"{part.n_failed} failed")
    if results.closed.by_task.get(task, math.nan) is None:
        words.append("no gap")
    return ", ".join(words)


def fault_table(settings: list[SettingResults]) -> PageTable:
    """Return what has no result, grouped by method and reason.

    Parameters
    ----------
    settings : list of SettingResults
        All settings.

    Returns
    -------
    PageTable
    """
    return PageTable(
        name="missing",
        caption="Cells without a result, by method and reason",
        header=["method", "bags", "what", "cells", "reason", "tasks"],
        rows=[
            [
                fault.method,
                setting_title(results.bags, results.bag_size),
                fault.status,
                fault.n_cells,
                fault.reason,
                ", ".join(fault.tasks),
            ]
            for results in settings
            for fault in results.faults
        ],
    )
