# SPDX-License-Identifier: BSD-3-Clause
"""Cells computed one after the other, kept in a file, and never computed twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift.experiments.cells import Cell, CellKey, append_cell, read_cells
from bagshift.experiments.paper.choosing import Outcome

NOT_A_NUMBER = float("nan")


@dataclass(frozen=True)
class Job:
    """A cell to be computed.

    Attributes
    ----------
    task, method : str
        Of the cell.
    bag_size, draw : int
        Of the cell.
    compute : callable
        From the job to its outcome; a function of a module, or a partial of one, so that it can
        be sent to another process.
    """

    task: str
    bag_size: int
    method: str
    draw: int
    compute: Callable[[Job], Outcome]

    @property
    def key(self) -> CellKey:
        """Key of its cell."""
        return self.task, "random", self.bag_size, self.method, self.draw


def run_jobs(
    jobs: Sequence[Job],
    path: Path,
    *,
    n_jobs: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> dict[CellKey, Cell]:
    """Compute the cells that a file does not have yet, and return all that were asked for.

    Parameters
    ----------
    jobs : sequence of Job
        What to compute.
    path : Path
        CSV file of the cells; each is appended as soon as it is known.
    n_jobs : int, default=1
        Processes that work at the same time.
    advance : callable
        Called for every job once its cell is there.

    Returns
    -------
    dict of tuple to Cell
        By their keys; a cell that failed before is computed again.
    """
    known = {key: cell for key, cell in read_cells(path).items() if cell.status != "failed"}
    missing = [job for job in jobs if job.key not in known]
    for _ in range(len(jobs) - len(missing)):
        advance()
    for cell in _computed(missing, n_jobs):
        append_cell(cell, path)
        known[cell.key] = cell
        advance()
    return {job.key: known[job.key] for job in jobs}


def _computed(jobs: Sequence[Job], n_jobs: int) -> Any:
    if n_jobs == 1:
        return map(_cell_of, jobs)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    return parallel(delayed(_cell_of)(job) for job in jobs)


def _cell_of(job: Job) -> Cell:
    before = process_time()
    outcome, reason = Outcome(NOT_A_NUMBER, NOT_A_NUMBER, ""), ""
    try:
        # Cells are small; threads inside them only get into each other's way.
        with threadpool_limits(1):
            outcome = job.compute(job)
    except Exception as error:
        # One cell in hundreds must not end a run of hours; its reason stands in the file.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    return Cell(
        task=job.task,
        bags="random",
        bag_size=job.bag_size,
        method=job.method,
        draw=job.draw,
        status="failed" if reason else "done",
        fresh=outcome.fresh,
        in_sample=outcome.in_sample,
        chosen=outcome.chosen,
        reason=reason,
        seconds=process_time() - before,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        version=version("bagshift"),
    )
