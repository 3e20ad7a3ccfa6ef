# SPDX-License-Identifier: BSD-3-Clause
"""The league of all methods as a page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bagshift.experiments._league_pictures import pictures_of
from bagshift.experiments._league_results import Roles, SettingResults, results_by_setting
from bagshift.experiments._league_tables import (
    against_table,
    fault_table,
    overview_table,
    task_table,
)
from bagshift.experiments._league_words import (
    how_to_read,
    introduction,
    setting_title,
    setting_words,
)
from bagshift.experiments.cells import Cell
from bagshift.experiments.pages import Page, PageSection, PageTable


def league_page(
    cells: Iterable[Cell],
    *,
    title: str,
    methods_order: Sequence[str],
    floor: str,
    ceiling: str,
    reference: str,
    provenance: Mapping[str, str],
    aside: Collection[str] = (),
) -> Page:
    """Return the page of a league, of whatever cells there are.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of any tasks, bag settings, methods and draws; the last of each key counts.
    title : str
        Heading.
    methods_order : sequence of str
        Methods in the order in which they are shown where no figure orders them; methods that are
        not named follow by name.
    floor, ceiling : str
        Names of the methods that the gap lies between.
    reference : str
        The method that the others are compared with.
    provenance : mapping of str to str
        Shown at the end.
    aside : collection of str, optional
        Tasks that are shown and enter no mean, rank or test.

    Returns
    -------
    Page
        Named ``league``.

    Raises
    ------
    ValueError
        Without cells.
    """
    roles = Roles(floor, ceiling, reference)
    settings = results_by_setting(cells, methods_order, roles, aside)
    if not settings:
        raise ValueError("cells is empty; run some of the league first.")
    methods = {name for results in settings for name in results.methods}
    return Page(
        name="league",
        title=title,
        introduction=introduction(settings),
        sections=[
            PageSection("How to read this", how_to_read(roles, methods)),
            *(_setting_section(results) for results in settings),
            PageSection("Task by task", tables=[task_table(results) for results in settings]),
            _missing_section(settings),
        ],
        provenance=provenance,
    )


def _setting_section(results: SettingResults) -> PageSection:
    return PageSection(
        title=setting_title(results.bags, results.bag_size),
        paragraphs=setting_words(results),
        tables=_tables(results),
        pictures=pictures_of(results),
    )


def _tables(results: SettingResults) -> list[PageTable]:
    tables = [overview_table(results)]
    if any(pair.n_tasks for pair in results.paired.values()):
        tables.append(against_table(results))
    return tables


def _missing_section(settings: list[SettingResults]) -> PageSection:
    title = "What is missing"
    if not any(results.faults for results in settings):
        return PageSection(title, ["Nothing: every cell that was run has a result."])
    words = (
        "A method is impossible where it cannot be used on such data, and failed where it was "
        "used and ended in an error. Such cells are in no mean."
    )
    return PageSection(title, [words], [fault_table(settings)])
