# SPDX-License-Identifier: BSD-3-Clause
"""Means of bags against the bare group-by of DuckDB under the same limit of memory.

    python benchmarks/bag_means.py                                        # half a million rows
    python benchmarks/bag_means.py --rows 5000000 --bags 500000 --memory 1GB
    python benchmarks/bag_means.py --target FOLDER --memory 4GB --threads 2 --only means

Rows in no order are written to a Parquet file in a temporary folder and removed at the end, or are
those that `streamed_fit.py` has made. Each
contender runs in a process of its own, in turn with the others; CPU seconds count all threads of
the process from the open database to the result on disk, and the peak is that of the process with
its libraries. `means` counts the rows of every bag, computes the means and writes them in order of
the ids; `bare` groups by the bag, leaves the result unordered and drops it. The bar is their
ratio. The other lines show what the other steps of reading take.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from _timing import print_verdict

BAR = 1 / 1.5
CONTENDERS = ("bare", "means", "statistics", "decode", "by bag")


@dataclass(frozen=True)
class Task:
    """What every contender is given."""

    folder: Path
    memory: str
    n_threads: int
    n_columns: int
    target: Path | None = None

    @property
    def file(self) -> Path:
        """File of the rows, or their folder."""
        return self.target or self.folder / "rows.parquet"

    @property
    def pattern(self) -> str:
        """The same as DuckDB names it."""
        return str(self.file if self.target is None else self.file / "*.parquet")


def set_up(task: Task, n_rows: int, n_bags: int) -> None:
    """Write the rows and how they are prepared."""
    from bagshift.scale import column_statistics, connect, prepare, rows_from

    columns = ", ".join(
        f"CAST({j} + {j + 1} * random() AS FLOAT) AS x{j}" for j in range(task.n_columns)
    )
    with connect("2GB", task.folder, task.n_threads) as connection:
        if task.target is None:
            connection.execute(
                f"COPY (SELECT CAST(floor(random() * {n_bags}) AS BIGINT) AS bag, {columns} "
                f"FROM range({n_rows})) TO '{task.file}' (FORMAT parquet)"
            )
        statistics = column_statistics(
            connection, rows_from(task.file), reserved={"bag": "bag id"}
        )
    (task.folder / "preparation.json").write_text(prepare(statistics).to_json())


def bare(task: Task, connection: Any) -> str:
    means = ", ".join(f"avg(x{j})" for j in range(task.n_columns))
    statement = f"SELECT bag, count(*), {means} FROM '{task.pattern}' GROUP BY bag"
    pieces = connection.sql(statement).to_arrow_reader(100_000)
    return f"{sum(piece.num_rows for piece in pieces):,} bags"


def means(task: Task, connection: Any) -> str:
    from bagshift.scale import Preparation, bag_means, index_bags, rows_from

    rows = rows_from(task.file)
    preparation = Preparation.from_json((task.folder / "preparation.json").read_text())
    bags = index_bags(connection, rows, "bag")
    result = bag_means(connection, rows, bags, preparation, task.folder / "result")
    return f"{bags.n_bags:,} bags, passes over the rows: {result.n_passes}"


def statistics(task: Task, connection: Any) -> str:
    from bagshift.scale import column_statistics, rows_from

    found = column_statistics(connection, rows_from(task.file), reserved={"bag": "bag id"})
    return f"{len(found.columns)} columns"


def decode(task: Task, connection: Any, by_bag: bool = False) -> str:
    from bagshift.scale import Preparation, decode_rows, index_bags, rows_from

    rows = rows_from(task.file)
    preparation = Preparation.from_json((task.folder / "preparation.json").read_text())
    bags = index_bags(connection, rows, "bag") if by_bag else None
    result = decode_rows(
        connection,
        rows,
        preparation,
        task.folder / "result",
        bags=bags,
        order_by_bag=by_bag,
    )
    return f"{result.n_rows:,} rows in {result.n_parts} parts"


def peak_bytes() -> int:
    """Return the most this process held; getrusage counts the process that started it as well."""
    with open("/proc/self/status", encoding="ascii") as status:
        sizes = dict(line.split(":", 1) for line in status)
    return int(sizes["VmHWM"].split()[0]) * 1024


def run_here(sender: Connection, task: Task, contender: str) -> None:
    from bagshift.scale import connect

    run: Callable[[Task, Any], str] = {
        "bare": bare,
        "means": means,
        "statistics": statistics,
        "decode": decode,
        "by bag": lambda task, connection: decode(task, connection, by_bag=True),
    }[contender]
    with connect(task.memory, task.folder, task.n_threads) as connection:
        start = time.process_time()
        note = run(task, connection)
        cpu_seconds = time.process_time() - start
    peak = peak_bytes()
    shutil.rmtree(task.folder / "result", ignore_errors=True)
    sender.send((cpu_seconds, peak, note))


def measure(task: Task, contender: str) -> tuple[float, int, str]:
    """Run one contender in a new process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=run_here, args=(sender, task, contender))
    process.start()
    sender.close()
    measured: tuple[float, int, str] = receiver.recv()
    process.join()
    return measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--bags", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the rows are written; some hundred bytes each")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS[1:], default=CONTENDERS[1:])
    parser.add_argument("--target", type=Path, help="a folder of Parquet files with such columns")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        task = Task(Path(folder), given.memory, given.threads, given.columns, given.target)
        # What a process held once stays with it, so this one holds nothing.
        set_up_process = multiprocessing.get_context("spawn").Process(
            target=set_up, args=(task, given.rows, given.bags)
        )
        set_up_process.start()
        set_up_process.join()
        files = [task.file] if task.target is None else [*task.target.glob("*.parquet")]
        size = sum(file.stat().st_size for file in files) / 1e6
        rows = f"{given.rows:,} rows x {given.columns} in {given.bags:,} bags"
        print(
            f"{rows if task.target is None else task.target}, {size:,.0f} MB; "
            f"memory {given.memory}, threads: {given.threads}; medians of {given.repeats}, load "
            f"{os.getloadavg()[0]:.1f}"
        )
        found: dict[str, list[tuple[float, int, str]]] = {
            name: [] for name in CONTENDERS if name in ("bare", *given.only)
        }
        for _ in range(given.repeats):
            for name in found:
                found[name].append(measure(task, name))
    return print_result(found)


def print_result(found: dict[str, list[tuple[float, int, str]]]) -> int:
    print(f"\n{'':12} {'CPU s':>8} {'of bare':>8} {'peak MB':>8}")
    seconds = {name: float(np.median([cpu for cpu, _, _ in runs])) for name, runs in found.items()}
    for name, runs in found.items():
        peak = max(peak for _, peak, _ in runs) / 1e6
        ratio = seconds[name] / seconds["bare"]
        print(f"{name:12} {seconds[name]:8.2f} {ratio:8.2f} {peak:8,.0f}  {runs[0][2]}")
    if "means" not in seconds:
        return 0
    print()
    ratio = seconds["bare"] / seconds["means"]
    return 0 if print_verdict("Bare group-by over means of bags", ratio, BAR) else 1


if __name__ == "__main__":
    sys.exit(main())
