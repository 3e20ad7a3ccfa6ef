# SPDX-License-Identifier: BSD-3-Clause
"""Run methods on draws of tasks, several draws at a time, and keep every figure in a file.

A *cell* is one method on one draw of one task. Each is appended to the file as soon as it is
known, in one write, so that a run that was broken off goes on where it stopped: cells that stand
in the file are not run again. Delete the file after a change of the code.
"""

import argparse
import csv
import io
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from _protocol import Draw, data_folder, make_draw
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

# From a draw to a fitted classifier and the parameters chosen.
Fit = Callable[[Draw], tuple[Any, Mapping[str, Any]]]


@dataclass(frozen=True)
class Row:
    """One cell.

    Attributes
    ----------
    bag_size, task, method, draw : the cell
    fresh : accuracy on target rows of no bag, the figure
    in_sample : accuracy on the bagged rows
    seconds : CPU time of choosing parameters and fitting
    chosen : the parameters chosen
    """

    bag_size: int
    task: str
    method: str
    draw: int
    fresh: float
    in_sample: float
    seconds: float
    chosen: str


@dataclass(frozen=True)
class Plan:
    """What to run, how many draws at a time, and where to keep the figures."""

    methods: Mapping[str, Fit]
    tasks: Sequence[str]
    bag_size: int
    draws: int
    jobs: int
    output: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every script that runs cells can be asked for."""
    parser.add_argument("--draws", type=int, default=10, help="seeds 0, 1, ... (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="draws run at a time, by processes")
    parser.add_argument(
        "--output", type=Path, help="CSV file of all cells; those it holds are not run again"
    )
    parser.add_argument(
        "--report", action="store_true", help="run nothing, print what --output holds"
    )


def run(plan: Plan) -> list[Row]:
    """Run the cells of a plan that its file does not hold, and return all of its cells."""
    folder = data_folder()
    assert folder is not None
    known = held_in(plan)
    missing = [
        (task, seed, methods)
        for seed in range(plan.draws)
        for task in plan.tasks
        if (methods := [m for m in plan.methods if (task, m, seed) not in known])
    ]
    work = Parallel(n_jobs=plan.jobs)
    found = work(delayed(_run_draw)(plan, *cells, folder) for cells in missing)
    return [*known.values(), *(row for rows in found for row in rows)]


def held_in(plan: Plan) -> dict[tuple[str, str, int], Row]:
    """Return the cells of a plan that its file holds."""
    if plan.output is None or not plan.output.exists():
        return {}
    with plan.output.open(newline="", encoding="utf-8") as file:
        rows = [_read_row(record) for record in csv.DictReader(file)]
    return {
        (row.task, row.method, row.draw): row
        for row in rows
        if row is not None
        and row.bag_size == plan.bag_size
        and row.task in plan.tasks
        and row.method in plan.methods
        and row.draw < plan.draws
    }


def _read_row(record: dict[str, str]) -> Row | None:
    """Return the cell of a line, None for a line cut short."""
    if None in record.values():
        return None
    try:
        return Row(
            bag_size=int(record["bag_size"]),
            task=record["task"],
            method=record["method"],
            draw=int(record["draw"]),
            fresh=float(record["fresh"]),
            in_sample=float(record["in_sample"]),
            seconds=float(record["seconds"]),
            chosen=record["chosen"],
        )
    except (KeyError, TypeError, ValueError):
        return None


def _append(row: Row, path: Path) -> None:
    """Append a line in one write, which no other process can tear."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists() or path.stat().st_size == 0:
        writer.writerow(field.name for field in fields(Row))
    elif not path.read_bytes().endswith(b"\n"):
        text.write("\n")  # after a line that was cut short
    writer.writerow(astuple(row))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, text.getvalue().encode())
    finally:
        os.close(file)


def _run_draw(plan: Plan, task: str, seed: int, methods: list[str], folder: Path) -> list[Row]:
    draw = make_draw(task, folder, plan.bag_size, seed)
    rows = []
    for method in methods:
        try:
            with threadpool_limits(1):  # CPU times of one core
                row = _run_cell(plan, task, method, draw, seed)
        except Exception:
            # A night's run is worth more than its one cell; the table counts what is missing.
            print(f"FAILED: {task}, {method}, draw {seed}", file=sys.stderr)
            traceback.print_exc()
            continue
        if plan.output is not None:
            _append(row, plan.output)
        print(
            f"{task}, draw {seed}, {method}: {row.fresh:.3f}, {row.seconds:.1f} s, {row.chosen}",
            file=sys.stderr,
            flush=True,
        )
        rows.append(row)
    return rows


def _run_cell(plan: Plan, task: str, method: str, draw: Draw, seed: int) -> Row:
    began = time.process_time()
    model, chosen = plan.methods[method](draw)
    seconds = time.process_time() - began
    values = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in chosen.items()}
    return Row(
        bag_size=plan.bag_size,
        task=task,
        method=method,
        draw=seed,
        fresh=float(model.score(draw.X_fresh, draw.y_fresh)),
        in_sample=float(model.score(draw.X_bagged, draw.y_bagged)),
        seconds=seconds,
        chosen=" ".join(f"{k}={v}" for k, v in sorted(values.items())),
    )
