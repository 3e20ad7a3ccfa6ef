# SPDX-License-Identifier: BSD-3-Clause
"""The page of a league holds every cell it was given, and says what is missing."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bagshift.experiments.cells import Cell
from bagshift.experiments.league_page import league_page
from bagshift.experiments.pages import Estimate, Page, PageTable, write_page
from league_cells import CEILING, FLOOR, OURS, STRENGTHS, a_cell, cells_of, many_cells


def page_of(cells: list[Cell], **changes: str) -> Page:
    names = {"floor": FLOOR, "ceiling": CEILING, "reference": OURS} | changes
    return league_page(
        cells,
        title="League",
        methods_order=list(STRENGTHS),
        provenance={"command": "bagshift league"},
        **names,
    )


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return many_cells()


@pytest.fixture(scope="module")
def page(cells: list[Cell]) -> Page:
    return page_of(cells)


def table(page: Page, name: str) -> PageTable:
    (found,) = [t for section in page.sections for t in section.tables if t.name == name]
    return found


def column(found: PageTable, name: str) -> dict[object, object]:
    place = list(found.header).index(name)
    return {row[0]: row[place] for row in found.rows}


def words(page: Page) -> str:
    return " ".join([*page.introduction, *(p for s in page.sections for p in s.paragraphs)])


def test_sections(page: Page) -> None:
    assert [section.title for section in page.sections] == [
        "How to read this",
        "Random bags of 8 rows",
        "Random bags of 32 rows",
        "Task by task",
        "What is missing",
    ]
    assert [picture.name for picture in page.sections[1].pictures] == [
        "random-8-ranks",
        "random-8-gap",
        "random-8-accuracy",
    ]


def test_overview(page: Page, cells: list[Cell]) -> None:
    overview = table(page, "random-8-overview")
    assert {row[0] for row in overview.rows} == set(STRENGTHS)
    assert overview.rows[0][0] == CEILING
    assert column(overview, "role")[FLOOR] == "floor"
    assert column(overview, "average rank")[CEILING] is None
    assert column(overview, "tasks")["LWE"] == 4
    assert column(overview, "impossible")["LWE"] == 8
    assert column(overview, "failed")["BagCSI"] == 1
    own = [c for c in cells if (c.method, c.bag_size) == (OURS, 8)]
    fresh = column(overview, "fresh accuracy")[OURS]
    assert isinstance(fresh, Estimate)
    assert fresh.value == pytest.approx(np.mean([c.fresh for c in own]))
    assert fresh.low < fresh.value < fresh.high
    assert column(overview, "CPU seconds")[OURS] == np.median([c.seconds for c in own])
    closed = [row[list(overview.header).index("gap closed")].value for row in overview.rows]
    assert closed == sorted(closed, reverse=True)


def test_wins_are_those_of_the_paired_table(page: Page) -> None:
    overview = table(page, "random-8-overview")
    against = table(page, "random-8-against-CountLikelihoodCV")
    wins, losses = column(against, "wins"), column(against, "losses")
    assert set(wins) == set(STRENGTHS) - {OURS, CEILING}
    for name in wins:
        assert column(overview, "wins")[name] == wins[name]
        assert (
            wins[name] + losses[name] + column(against, "ties")[name]
            == (column(against, "tasks")[name])
        )


def test_every_task_and_method_has_a_row(page: Page, cells: list[Cell]) -> None:
    rows = {tuple(row[:2]): row for row in table(page, "random-8-tasks").rows}
    assert set(rows) == {(c.task, c.method) for c in cells}
    assert rows["task 02", "LWE"][2] == 0
    assert rows["task 02", "LWE"][-1] == "impossible"
    assert rows["task 03", "BagCSI"][2] == 3
    assert rows["task 03", "BagCSI"][-1] == "1 failed"
    assert rows["task 01", OURS][-1] == "no gap"
    assert sum(row[2] for row in rows.values()) == sum(
        c.status == "done" and c.bag_size == 8 for c in cells
    )


def test_what_is_missing_is_named(page: Page) -> None:
    rows = [list(row) for row in table(page, "missing").rows]
    lwe, bag_csi = "LWE cannot take a sparse matrix.", "ValueError: array is empty"
    small, large = "Random bags of 8 rows", "Random bags of 32 rows"
    assert rows == [
        ["BagCSI", small, "failed", 1, bag_csi, "task 03"],
        ["LWE", small, "impossible", 8, lwe, "task 02, task 05"],
        ["BagCSI", large, "failed", 1, bag_csi, "task 03"],
        ["LWE", large, "impossible", 8, lwe, "task 02, task 05"],
    ]
    assert "Not ranked for want of tasks: LWE." in words(page)


def test_nothing_is_missing() -> None:
    page = page_of([cell for cell in many_cells(3, 2) if cell.method not in ("LWE", "BagCSI")])
    assert "Nothing: every cell" in words(page)
    assert not page.sections[-1].tables


def test_what_must_be_said_is_said(page: Page) -> None:
    text = words(page)
    for part in (
        "No target label touches fitting",
        "In-sample accuracy",
        "TrSVM from an abstract",
    ):
        assert part in text
    assert "which nobody has in practice" in text
    assert "BagCSI" not in words(page_of(cells_of({"one": {FLOOR: [0.5], CEILING: [0.9]}})))


def test_order_of_cells_makes_no_difference(page: Page, cells: list[Cell]) -> None:
    other = page_of(random.Random(1).sample(cells, len(cells)))
    assert words(other) == words(page)
    for section, again in zip(page.sections, other.sections, strict=True):
        assert repr(section.tables) == repr(again.tables)


def test_last_of_a_key_counts() -> None:
    cells = many_cells(2, 2, n_settings=1)
    changed = [replace(cell, fresh=0.01) if cell.status == "done" else cell for cell in cells]
    assert repr(page_of([*changed, *cells]).sections[1].tables) == repr(
        page_of(cells).sections[1].tables
    )


def test_unknown_names_are_shown_too(tmp_path: Path) -> None:
    values = {"new": [0.7, 0.8], FLOOR: [0.5, 0.6], CEILING: [0.9, 0.9]}
    cells = [replace(cell, bags="folded") for cell in cells_of({"<b>": values, "=two": values})]
    page = page_of(cells)
    assert page.sections[1].title == "Bags made by folded of 8 rows"
    assert "new" in column(table(page, "folded-8-overview"), "tasks")
    write_page(page, tmp_path)


@pytest.mark.parametrize(
    "cells",
    [
        [a_cell("one", OURS, 0, 0.8)],
        [a_cell("one", OURS, 0, status="failed", reason="It broke.")],
        [a_cell("one", FLOOR, 0, 0.5), a_cell("two", OURS, 1, 0.8, bags="natural", bag_size=0)],
    ],
    ids=["one cell", "one failed cell", "no draw in common"],
)
def test_a_run_that_has_just_begun(cells: list[Cell], tmp_path: Path) -> None:
    page = page_of(cells)
    assert "Too few methods or tasks" in words(page)
    assert write_page(page, tmp_path)[0].name == "league.html"


def test_no_cells() -> None:
    with pytest.raises(ValueError, match="cells is empty"):
        page_of([])


def test_written(tmp_path: Path) -> None:
    page = page_of(many_cells(3, 2, n_settings=1))
    names = {path.name for path in write_page(page, tmp_path)}
    assert {"league.html", "league.md", "league-random-8-ranks.png", "league-missing.csv"} <= names
    frame = pl.read_csv(tmp_path / "league-random-8-overview.csv")
    assert frame.height == len(STRENGTHS)
    assert frame["gap closed, low"].dtype == pl.Float64
    assert not math.isnan(frame["gap closed"].sum())
    p_values = pl.read_csv(tmp_path / "league-random-8-against-CountLikelihoodCV.csv")["p"]
    assert p_values.dtype == pl.Float64


def test_tasks_set_aside_are_shown_and_do_not_count(cells: list[Cell]) -> None:
    aside = sorted({cell.task for cell in cells})[0]
    with_it = league_page(
        cells,
        title="League",
        methods_order=list(STRENGTHS),
        floor=FLOOR,
        ceiling=CEILING,
        reference=OURS,
        provenance={},
        aside=[aside],
    )
    without = page_of([cell for cell in cells if cell.task != aside])
    name = "random-8-overview"
    for figure in ("average rank", "gap closed", "fresh accuracy", "tasks", "wins"):
        expected = column(table(without, name), figure)
        assert str(column(table(with_it, name), figure)) == str(expected), figure
    assert f"in no mean, rank or test: {aside}" in words(with_it)
    assert aside in {row[0] for row in table(with_it, "random-8-tasks").rows}
