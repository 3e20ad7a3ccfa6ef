# SPDX-License-Identifier: BSD-3-Clause
"""The file of cells: nothing is lost, nothing is half-read."""

import csv
import errno
import math
import os
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from bagshift.exceptions import TableError
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


JUNK = [
    b"\xff\xfe\x00 no text\n",
    b"orgs/\xff,random,8,A,1,done,0.5,0.5,,,1.0,now,0.1\n",
    b'"' + b"x" * 200_000 + b'"\n',
    b"a,b\rc,d\n",
    b"\x00\n",
    b"\n",
    b"orgs,random,8,A,1,fine,0.5,0.5,,,1.0,now,0.1\n",
    b"orgs,random,8,A," + b"1" * 5000 + b",done,0.5,0.5,,,1.0,now,0.1\n",
]


def test_lines_that_are_no_cells_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    append_cell(CELL, file)
    with file.open("ab") as junk:
        junk.write(b"".join(JUNK))
    append_cell(replace(CELL, draw=4), file)
    assert [cell.draw for cell in read_cells(file).values()] == [3, 4]


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot be read: Is a directory"):
        read_cells(tmp_path)
    with pytest.raises(TableError, match="cannot be written: Is a directory"):
        append_cell(CELL, tmp_path)
    with pytest.raises(TableError, match=r"cells\.csv cannot be written: No such file"):
        append_cell(CELL, tmp_path / "none" / "cells.csv")


def test_a_full_disc_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cells.csv"
    append_cell(CELL, file)
    write = os.write

    def no_space(*args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    for refusal in (no_space, lambda file, data: write(file, data[:30])):
        with monkeypatch.context() as full:
            full.setattr(os, "write", refusal)
            with pytest.raises(TableError, match=r"(?i)no space left"):
                append_cell(replace(CELL, draw=4), file)
    append_cell(replace(CELL, draw=5), file)
    assert [cell.draw for cell in read_cells(file).values()] == [3, 5]


@pytest.mark.parametrize("name", ["=1+2", "+a", "-a", "@a", "'=1", "''@", "'quoted'", "a=b", ""])
def test_no_text_is_a_formula_and_each_is_read_back(tmp_path: Path, name: str) -> None:
    file = tmp_path / "cells.csv"
    cell = replace(CELL, task=name, chosen=name, reason=name, fresh=-0.5)
    append_cell(cell, file)
    assert read_cells(file) == {cell.key: cell}
    with file.open(newline="", encoding="utf-8") as lines:
        row = list(csv.reader(lines))[1]
    assert not row[0].startswith(("=", "+", "-", "@"))
    assert row[6] == "-0.5"


def test_names_that_are_no_text_are_written(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    append_cell(replace(CELL, reason="no file a\udcff"), file)
    assert read_cells(file)[CELL.key].reason == "no file a\\udcff"
