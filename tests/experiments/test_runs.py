# SPDX-License-Identifier: BSD-3-Clause
"""Runs keep every cell, go on where they stopped, and lose none to an error."""

import os
import signal
import warnings
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bagshift.exceptions import BagError, BagWarning, TableError
from bagshift.experiments.cells import CIRCUMSTANCES, Cell, append_cell, read_cells
from bagshift.experiments.league import plan_league
from bagshift.experiments.runs import Job, Outcome, compute_cell, make_folder, run_jobs

NAMES = ["SourceSVM", "MeanMap"]


def results(cells: list[Cell]) -> list[dict[str, object]]:
    """Everything but time and version, NaN as text."""
    return [
        {name: str(value) for name, value in asdict(cell).items() if name not in CIRCUMSTANCES}
        for cell in cells
    ]


def jobs_in(output: Path) -> list[Job]:
    return plan_league(
        tasks=["digits 50", "breast cancer"], methods=NAMES, sizes=[8], n_draws=2, output=output
    ).jobs()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Cell]]:
    output = tmp_path_factory.mktemp("whole")
    return output / "cells.csv", run_jobs(jobs_in(output), output / "cells.csv")


def test_cells_come_in_order_and_are_kept(whole: tuple[Path, list[Cell]]) -> None:
    file, cells = whole
    expected = [
        (task, method, draw)
        for draw in range(2)
        for task in ("digits 50", "breast cancer")
        for method in ("source-svm", *NAMES, "ceiling")
    ]
    assert [(cell.task, cell.method, cell.draw) for cell in cells] == expected
    assert all(cell.status == "done" and 0.5 < cell.in_sample <= 1 for cell in cells)
    assert list(read_cells(file).values()) == cells


def test_two_processes_find_the_same(whole: tuple[Path, list[Cell]], tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    cells = run_jobs(
        jobs_in(tmp_path),
        tmp_path / "cells.csv",
        n_jobs=2,
        progress=lambda *done: calls.append(done),
    )
    assert results(cells) == results(whole[1])
    assert calls == [(done, 16) for done in range(17)]


def outcome(job: Job) -> Outcome:
    return Outcome(0.5, 0.25, f"C={job.draw}", seconds=1.5)


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    computed: list[int] = []

    def counted(job: Job) -> Outcome:
        computed.append(job.draw)
        return outcome(job)

    jobs = [Job("toy", "random", 8, "ours", draw, counted) for draw in range(8)]
    cells = [compute_cell(job) for job in jobs]
    computed.clear()
    for cell in cells[:5]:
        append_cell(replace(cell, fresh=0.123), file)
    append_cell(replace(cells[5], status="failed"), file)
    append_cell(replace(cells[6], status="impossible"), file)
    with file.open("a", encoding="utf-8") as cut:
        cut.write("toy,random,8,ou")  # killed while it wrote
    found = run_jobs(jobs, file)
    assert computed == [5, 7]  # what failed is tried again
    assert [cell.fresh for cell in found[:5]] == [0.123] * 5
    assert found[6].status == "impossible"
    assert results([found[5], found[7]]) == results([cells[5], cells[7]])


def refuse(error: Exception) -> Callable[[Job], Outcome]:
    def compute(job: Job) -> Outcome:
        raise error

    return compute


@pytest.mark.parametrize(
    ("error", "status"), [(BagError("one bag\nonly"), "impossible"), (KeyError("x"), "failed")]
)
def test_an_error_becomes_a_reason(error: Exception, status: str) -> None:
    cell = compute_cell(Job("toy", "random", 8, "broken", 0, refuse(error)))
    assert cell.status == status
    assert cell.reason == f"{type(error).__name__}: {' '.join(str(error).split())}"
    assert str(cell.fresh) == "nan"


def test_warnings_are_kept_with_the_cell() -> None:
    def warn(job: Job) -> Outcome:
        for _ in range(2):
            warnings.warn("shares are close", BagWarning, stacklevel=1)
        return outcome(job)

    cell = compute_cell(Job("toy", "random", 8, "careful", 3, warn))
    assert (cell.status, cell.reason) == ("done", "warned: BagWarning")
    assert (cell.fresh, cell.in_sample, cell.chosen, cell.seconds) == (0.5, 0.25, "C=3", 1.5)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="cannot be made"):
        make_folder(tmp_path / "file" / "league")


def killed_at_the_last(job: Job) -> Outcome:
    if job.draw == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return outcome(job)


def test_a_killed_process_is_told_and_the_rest_kept(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    jobs = [Job("toy", "random", 8, "ours", draw, killed_at_the_last) for draw in range(6)]
    run_jobs(jobs[:3], file)
    with pytest.raises(BrokenProcessPool, match=r"A process was killed.* of 6 cells are kept"):
        run_jobs(jobs, file, n_jobs=2)
    assert len(read_cells(file)) >= 3
    assert len(run_jobs(jobs[:5], file, n_jobs=2)) == 5


def test_reasons_are_one_line_of_some_length() -> None:
    cell = compute_cell(Job("toy", "random", 8, "broken", 0, refuse(ValueError("x\n" * 900))))
    assert len(cell.reason) == 300
    assert cell.reason.startswith("ValueError: x x")
    assert cell.reason.endswith("...")


def test_a_file_of_cells_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"cells\.csv cannot be written"):
        run_jobs([Job("toy", "random", 8, "ours", 0, outcome)], tmp_path / "none" / "cells.csv")
