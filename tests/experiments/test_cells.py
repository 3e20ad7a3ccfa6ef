# SPDX-License-Identifier: BSD-3-Clause
"""The file of cells: nothing is lost, nothing is half-read."""

import math
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from bagshift.experiments.cells import Cell, append_cell, read_cells

CELL = Cell(
    task="orgs/people",
    bags="random",
    bag_size=8,
    method="TGPLMCV",
    draw=3,
    status="done",
    fresh=0.8512345678901234,
    in_sample=0.9,
    chosen='C_source=0.25 note="a, b"',
    reason="",
    seconds=1.25,
    finished="2026-11-30T12:00:00Z",
    version="0.1.0",
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    failed = replace(
        CELL,
        draw=4,
        status="failed",
        fresh=math.nan,
        in_sample=math.nan,
        reason='KeyError: "x"\ny',
    )
    append_cell(CELL, file)
    append_cell(failed, file)
    found = read_cells(file)
    assert found[CELL.key] == CELL
    assert found[failed.key].reason == 'KeyError: "x" y'
    assert math.isnan(found[failed.key].fresh)


def test_no_file_holds_no_cells(tmp_path: Path) -> None:
    assert read_cells(tmp_path / "cells.csv") == {}


def test_last_of_a_key_counts(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    append_cell(CELL, file)
    append_cell(replace(CELL, fresh=0.5), file)
    assert read_cells(file)[CELL.key].fresh == 0.5


def test_a_line_cut_at_any_byte_costs_that_line_only(tmp_path: Path) -> None:
    whole = tmp_path / "whole.csv"
    append_cell(CELL, whole)
    n_first = len(whole.read_bytes())
    append_cell(replace(CELL, draw=4), whole)
    content = whole.read_bytes()
    for end in range(n_first, len(content)):
        cut = tmp_path / "cut.csv"
        cut.write_bytes(content[:end])
        append_cell(replace(CELL, draw=5), cut)
        found = read_cells(cut)
        assert found[CELL.key] == CELL
        assert found[replace(CELL, draw=5).key].draw == 5
        # Cut within its last column, a line still has its results.
        assert len(found) == 2 or found[replace(CELL, draw=4).key].fresh == CELL.fresh


def append_many(file: Path, first: int) -> None:
    for draw in range(first, first + 50):
        append_cell(replace(CELL, draw=draw), file)


@pytest.mark.parametrize("n_processes", [3])
def test_processes_do_not_tear_lines(tmp_path: Path, n_processes: int) -> None:
    file = tmp_path / "cells.csv"
    append_cell(CELL, file)
    context = get_context("spawn")
    processes = [
        context.Process(target=append_many, args=(file, 100 * k)) for k in range(n_processes)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    expected = {100 * k + i for k in range(n_processes) for i in range(50)} | {3}
    assert {cell.draw for cell in read_cells(file).values()} == expected
