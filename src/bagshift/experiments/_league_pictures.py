# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a league."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from bagshift.experiments._league_results import SettingResults
from bagshift.experiments._league_words import setting_title
from bagshift.experiments.pages import PagePicture
from bagshift.plotting import (
    plot_accuracy_ranges,
    plot_critical_differences,
    plot_gap_closed,
)


def pictures_of(results: SettingResults) -> list[PagePicture]:
    """Return the pictures that a setting has enough results for.

    Parameters
    ----------
    results : SettingResults
        Of one setting.

    Returns
    -------
    list of PagePicture
    """
    pictures = [_ranges_picture(results)]
    if results.contenders:
        pictures.insert(0, _gap_picture(results))
    if not math.isnan(results.ranking.critical_difference):
        pictures.insert(0, _rank_picture(results))
    return pictures


def _title(results: SettingResults) -> str:
    return setting_title(results.bags, results.bag_size)


def _rank_picture(results: SettingResults) -> PagePicture:
    ranking = results.ranking
    rows = math.ceil(len(ranking.ranks) / 2) + 0.5 * len(ranking.groups) / 2 + 3
    figure = Figure(figsize=(10, 0.27 * rows), layout="constrained")
    plot_critical_differences(
        ranking.ranks,
        ranking.groups,
        figure.subplots(),
        critical_difference=ranking.critical_difference,
        highlight=results.roles.reference,
    )
    order = ", ".join(f"{name} {rank:.1f}" for name, rank in ranking.ranks.items())
    return PagePicture(
        name=f"{results.name}-ranks",
        caption=f"{_title(results)}: average ranks, the best on the left; bars join methods that "
        "the tasks do not tell apart",
        figure=figure,
        description=f"Average ranks on a line: {order}.",
    )


def _gap_picture(results: SettingResults) -> PagePicture:
    methods = [name for name in results.best_first() if name in results.contenders]
    closed = np.full((len(methods), len(results.tasks)), math.nan)
    points = closed.copy()
    for row, name in enumerate(methods):
        for column, task in enumerate(results.tasks):
            estimate = results.methods[name].closed.by_task.get(task)
            if estimate:
                closed[row, column] = estimate.value
            else:
                points[row, column] = _points_above_floor(results, name, task)
    figure = Figure(
        figsize=(max(6.0, 2.8 + 0.42 * len(results.tasks)), 1.3 + 0.28 * len(methods)),
        layout="constrained",
    )
    plot_gap_closed(closed, methods, list(results.tasks), figure.subplots(), points=points)
    return PagePicture(
        name=f"{results.name}-gap",
        caption=f"{_title(results)}: gap closed per task, the best methods on top; 0 at the floor "
        "(white) and 1 at the ceiling (blue), red below the floor; on grey, where there is no "
        "gap, points of accuracy above the floor",
        figure=figure,
        description="The gap closed by every method on every task, as in the table of tasks.",
    )


def _points_above_floor(results: SettingResults, name: str, task: str) -> float:
    values = [
        results.methods[method].tasks[task].fresh.value
        if method in results.methods and task in results.methods[method].tasks
        else math.nan
        for method in (name, results.roles.floor)
    ]
    return 100 * (values[0] - values[1])


def _ranges_picture(results: SettingResults) -> PagePicture:
    ranges = {
        task: {
            name: (part.fresh.value, part.fresh.low, part.fresh.high)
            for name, method in results.methods.items()
            if (part := method.tasks.get(task)) and part.n_draws
        }
        for task in results.tasks
    }
    figure = Figure(figsize=(10, 1.2 + 0.3 * len(ranges)), layout="constrained")
    highlight = _highlight(results)
    plot_accuracy_ranges(
        ranges,
        figure.subplots(),
        floor=results.roles.floor,
        ceiling=results.roles.ceiling,
        highlight=highlight,
    )
    return PagePicture(
        name=f"{results.name}-accuracy",
        caption=f"{_title(results)}: fresh accuracy between floor and ceiling; intervals over "
        "draws. The table of tasks has every method by name",
        figure=figure,
        description="Fresh accuracy per task of floor, ceiling and all methods, set off: "
        f"{', '.join(highlight) or 'none'}. The numbers stand in the table of tasks.",
    )


def _highlight(results: SettingResults) -> list[str]:
    """Return the reference and the best of the others."""
    reference = results.roles.reference
    others = [n for n in results.best_first() if n in results.contenders and n != reference]
    return [*([reference] if reference in results.contenders else []), *others[:1]]
