# SPDX-License-Identifier: BSD-3-Clause
"""Run cells several at a time and keep every one of them at once.

A run can be killed at any moment: cells that stand in its file are not computed again, and no line
of it is half-written. Cells are worked on draw by draw, so that what a broken run leaves behind
holds the same draws of everything.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift.exceptions import BagError, TableError
from bagshift.experiments.cells import Cell, CellKey, append_cell, read_cells
from bagshift.experiments.draws import BagKind, Draw, make_draw
from bagshift.experiments.methods import METHODS
from bagshift.experiments.tasks import find_task, load_task

CELLS_FILE = "cells.csv"

Progress = Callable[[int, int], None]


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


def run(
    settings: Sequence[Setting],
    methods: Sequence[str],
    n_draws: int,
    data: Path | None,
    output: Path,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[Cell]:
    """Compute what a folder does not hold yet.

    Parameters
    ----------
    settings : sequence of Setting
        Tasks with their bags.
    methods : sequence of str
        Names of methods.
    n_draws : int
        Draws 0, 1, ... of each.
    data : Path or None
        Folder of the data sets.
    output : Path
        Folder of the results; made when it does not exist.
    n_jobs : int, default=1
        Cells computed at the same time, each in a process with one thread.
    progress : callable, optional
        Called with the number of cells done and of all.

    Returns
    -------
    list of Cell
        In the order of draws, settings and methods.

    Raises
    ------
    TableError
        When the folder of the results cannot be made or written to.
    """
    file = cells_file(output)
    wanted = [
        (setting, method, draw)
        for draw in range(n_draws)
        for setting in settings
        for method in methods
    ]
    known = read_cells(file)
    missing = [item for item in wanted if key_of(*item) not in known]
    n_done = len(wanted) - len(missing)
    if progress:
        progress(n_done, len(wanted))
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    for cell in work(delayed(_compute)(*item, data, file) for item in missing):
        known[cell.key] = cell
        n_done += 1
        if progress:
            progress(n_done, len(wanted))
    return [known[key_of(*item)] for item in wanted]


def cells_file(output: Path) -> Path:
    """Return the file of the cells in a folder of results, and make the folder.

    Parameters
    ----------
    output : Path
        The folder.

    Returns
    -------
    Path

    Raises
    ------
    TableError
        When the folder cannot be made.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise TableError(f"The folder {output} cannot be made: {reason}.") from error
    return output / CELLS_FILE


def key_of(setting: Setting, method: str, draw: int) -> CellKey:
    """Return the key of a cell.

    Parameters
    ----------
    setting : Setting
        A task with its bags.
    method : str
        Name of a method.
    draw : int
        Number of the draw.

    Returns
    -------
    tuple
    """
    return setting.task, setting.bags, setting.bag_size, method, draw


def _compute(setting: Setting, method: str, draw: int, data: Path | None, file: Path) -> Cell:
    """Compute one cell and append it to the file."""
    with threadpool_limits(1):  # CPU times of one core
        cell = compute_cell(setting, method, draw, data)
    append_cell(cell, file)
    return cell


def compute_cell(setting: Setting, method: str, draw: int, data: Path | None) -> Cell:
    """Compute one cell; an error becomes its reason.

    Parameters
    ----------
    setting : Setting
        A task with its bags.
    method : str
        Name of a method.
    draw : int
        Number of the draw.
    data : Path or None
        Folder of the data sets.

    Returns
    -------
    Cell
    """
    status, fresh, in_sample, chosen, seconds = "done", float("nan"), float("nan"), "", 0.0
    began = time.process_time()
    with _gathered_warnings() as reasons:
        try:
            drawn = _draw(setting, draw, data)
            began = time.process_time()
            model, parameters = METHODS[method].fit(drawn)
            seconds = time.process_time() - began
            fresh = float(model.score(drawn.X_fresh, drawn.y_fresh))
            in_sample = float(model.score(drawn.X_bagged, drawn.y_bagged))
            chosen = _text_of(parameters)
        except Exception as error:  # a night's run is worth more than its one cell
            status = "impossible" if isinstance(error, BagError) else "failed"
            fresh = in_sample = float("nan")
            seconds = time.process_time() - began
            reasons.append(f"{type(error).__name__}: {' '.join(str(error).split())}")
    return Cell(
        task=setting.task,
        bags=setting.bags,
        bag_size=setting.bag_size,
        method=method,
        draw=draw,
        status=status,  # type: ignore[arg-type]
        fresh=fresh,
        in_sample=in_sample,
        chosen=chosen,
        reason="; ".join(dict.fromkeys(reasons)),
        seconds=round(seconds, 3),
        finished=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        version=version("bagshift"),
    )


@contextmanager
def _gathered_warnings() -> Iterator[list[str]]:
    """Give a list that holds the kinds of all warnings when the block is left."""
    reasons: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield reasons
        kinds = sorted({warning.category.__name__ for warning in caught})
    reasons.extend(f"warned: {kind}" for kind in kinds)


# The methods of a draw come one after the other, in the same few processes.
@lru_cache(maxsize=2)
def _draw(setting: Setting, draw: int, data: Path | None) -> Draw:
    task = find_task(setting.task, data)
    domains = load_task(task, data, draw)
    return make_draw(domains, task.kind, setting.bag_size, draw, setting.bags)


def _text_of(parameters: Mapping[str, object]) -> str:
    items = sorted(parameters.items())
    return " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in items)
