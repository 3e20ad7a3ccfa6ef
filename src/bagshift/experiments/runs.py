# SPDX-License-Identifier: BSD-3-Clause
"""Run cells several at a time, and keep each of them at once.

A run can be killed at any moment: cells that stand in its file are not computed again, and no line
of it is half-written. Cells are computed in the order of the jobs, so what a broken run leaves
behind is a beginning of the whole. A cell that failed is tried again by the next run.

Who computes is up to joblib: processes of this machine, or what ``joblib.parallel_config`` says.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from joblib import (  # type: ignore[import-untyped]
    Parallel,
    delayed,
    effective_n_jobs,
    parallel_config,
)
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift.exceptions import BagError, TableError
from bagshift.experiments.cells import Cell, CellKey, append_cell, read_cells

Progress = Callable[[int, int], None]

_NOTHING = float("nan")
LONGEST_REASON = 300

# Cells per worker that are waited for together where a backend returns all results at once.
_CELLS_PER_ROUND = 8

# Warnings and CPU seconds are those of a process, so its threads take turns.
_ONE_CELL_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Outcome:
    """What a method reached on a draw.

    Attributes
    ----------
    fresh, in_sample : float
        Accuracy on rows of no bag, and on the bagged rows.
    chosen : str
        The parameters, and what else is to be known of the choice.
    seconds : float or None
        CPU seconds of choosing and fitting; None for all that the job took.
    """

    fresh: float
    in_sample: float
    chosen: str
    seconds: float | None = None


@dataclass(frozen=True)
class Job:
    """A cell to be computed.

    Attributes
    ----------
    task, bags, method : str
        Of the cell.
    bag_size, draw : int
        Of the cell.
    compute : callable
        From the job to its outcome; a function of a module, or a partial of one, so that it can
        be sent to another process.
    """

    task: str
    bags: str
    bag_size: int
    method: str
    draw: int
    compute: Callable[[Job], Outcome]

    @property
    def key(self) -> CellKey:
        """Key of its cell."""
        return self.task, self.bags, self.bag_size, self.method, self.draw


def run_jobs(
    jobs: Sequence[Job],
    file: Path,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Cell]:
    """Compute the cells that a file does not have yet, and return all that were asked for.

    Parameters
    ----------
    jobs : sequence of Job
        What to compute.
    file : Path
        CSV file of the cells, in a folder that is there; each is appended as soon as it is known.
    n_jobs : int or None, default=None
        Cells computed at the same time, each in a process with one thread. As in joblib: None is
        one, or what :func:`joblib.parallel_config` says; its backend decides where the processes
        are.
    progress : callable, optional
        Called with the number of cells done and of all.

    Returns
    -------
    list of Cell
        In the order of the jobs.

    Raises
    ------
    BrokenProcessPool
        When one of the processes of this machine was killed.
    TableError
        When the file cannot be read or written to.
    """
    known = known_cells(file)
    missing = [job for job in jobs if job.key not in known]
    n_done = len(jobs) - len(missing)
    if progress:
        progress(n_done, len(jobs))
    try:
        for cell in _computed(missing, n_jobs):
            append_cell(cell, file)
            known[cell.key] = cell
            n_done += 1
            if progress:
                progress(n_done, len(jobs))
    except BrokenProcessPool as error:
        raise BrokenProcessPool(
            "A process was killed, most likely for want of memory: let fewer work at a time with "
            f"n_jobs=. {n_done:,} of {len(jobs):,} cells are kept in {file}; the same command "
            "goes on."
        ) from error
    return [known[job.key] for job in jobs]


def known_cells(file: Path) -> dict[CellKey, Cell]:
    """Return the cells of a file that need not be computed.

    Parameters
    ----------
    file : Path
        CSV file of cells; it need not exist.

    Returns
    -------
    dict of tuple to Cell
        Those that did not fail.
    """
    return {key: cell for key, cell in read_cells(file).items() if cell.status != "failed"}


def make_folder(folder: Path) -> None:
    """Make a folder for results, if it is not there.

    Parameters
    ----------
    folder : Path
        The folder.

    Raises
    ------
    TableError
        When it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise TableError(f"The folder {folder} cannot be made: {reason}.") from error


def _computed(jobs: Sequence[Job], n_jobs: int | None) -> Iterable[Cell]:
    """Yield cells as they are known, in no order."""
    tasks = [delayed(compute_cell)(job) for job in jobs]
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # of a backend that has no result before it has all of them
        return _computed_in_rounds(tasks, n_jobs)
    cells: Iterable[Cell] = parallel(tasks)
    return cells


def _computed_in_rounds(tasks: Sequence[Any], n_jobs: int | None) -> Iterator[Cell]:
    n_together = _CELLS_PER_ROUND * effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs, batch_size=1) as parallel:
        for first in range(0, len(tasks), n_together):
            yield from parallel(tasks[first : first + n_together])


def compute_cell(job: Job) -> Cell:
    """Compute one cell; an error becomes its reason, and so do warnings.

    Parameters
    ----------
    job : Job
        The job.

    Returns
    -------
    Cell
    """
    status: Literal["done", "impossible", "failed"] = "done"
    outcome = Outcome(_NOTHING, _NOTHING, "")
    with _ONE_CELL_AT_A_TIME, _in_one_thread(), _gathered_warnings() as reasons:
        before = time.process_time()
        try:
            outcome = job.compute(job)
        except Exception as error:  # a night's run is worth more than its one cell
            status = "impossible" if isinstance(error, BagError) else "failed"
            reasons.append(f"{type(error).__name__}: {' '.join(str(error).split())}")
        taken = time.process_time() - before
    return Cell(
        task=job.task,
        bags=job.bags,
        bag_size=job.bag_size,
        method=job.method,
        draw=job.draw,
        status=status,
        fresh=outcome.fresh,
        in_sample=outcome.in_sample,
        chosen=outcome.chosen,
        reason=_shortened("; ".join(dict.fromkeys(reasons))),
        seconds=round(taken if outcome.seconds is None else outcome.seconds, 3),
        finished=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        version=version("bagshift"),
    )


def _shortened(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[: LONGEST_REASON - 3]}..."


@contextmanager
def _in_one_thread() -> Iterator[None]:
    """Let all that is done in the block be done here: CPU times are those of one core."""
    with threadpool_limits(1), parallel_config(backend="sequential", n_jobs=1):
        yield


@contextmanager
def _gathered_warnings() -> Iterator[list[str]]:
    """Give a list that holds the kinds of all warnings when the block is left."""
    reasons: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield reasons
        kinds = sorted({warning.category.__name__ for warning in caught})
    reasons.extend(f"warned: {kind}" for kind in kinds)
