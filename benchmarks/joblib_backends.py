# SPDX-License-Identifier: BSD-3-Clause
"""The paper's grid over joblib's backends: the same table, and what it costs.

    python benchmarks/joblib_backends.py [--backends loky dask ray] [--cells quick]

Each backend has two workers with one thread, on this machine, and is given

* the search `TGPLMCV(grid="paper")`: 84,474 settings by ten folds of whole bags, on two classes in
  the plane with 100 rows in each domain (``_programs.py``);
* one draw of the paper's Gaussians, `bagshift reproduce synthetic`: 32 cells, in each of which the
  parameters are chosen out of the paper's complete grid, or a few settings (`--cells quick`);
* a search over the costs and couplings of that grid with a kernel that writes down who computes
  it: how many kernel matrices each worker has made.

Tables are compared cell by cell with those of this process alone, times left out; numbers have to
be the same to the last digit. CPU seconds are of all processes that take part, without the start
of the cluster, which is timed by itself; not of Ray, whose workers end with each call and take
theirs along. "spark" needs pyspark, joblibspark and Java. The exit
status is 1 when a table differs, or a worker makes a kernel matrix more than once.
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
from _programs import Domains, make_domains
from threadpoolctl import threadpool_limits

from bagshift import TGPLM, TGPLMCV, BagKFold
from bagshift.experiments.cells import CIRCUMSTANCES
from bagshift.experiments.paper.parts import Request, chosen_file
from bagshift.experiments.paper.protocols import GridName, Protocol
from bagshift.experiments.paper.synthetic import SYNTHETIC
from bagshift.experiments.runs import run_jobs
from bagshift.kernels import Kernel, unit_gram
from bagshift.model_selection import path_search

N_WORKERS = 2
FOLDS = BagKFold(10, shuffle=True, random_state=0)
COSTS = 2.0 ** np.arange(-8, 11)
COUPLINGS = 2.0 ** np.arange(-6, 12)

Config = dict[str, Any]  # what joblib.parallel_config takes to reach a backend
Table = list[dict[str, Any]]


# --- backends -------------------------------------------------------------------------------


@contextmanager
def dask() -> Iterator[Config]:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        yield {"backend": "dask"}


@contextmanager
def ray() -> Iterator[Config]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.util.joblib import register_ray

    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        ray.init(
            num_cpus=N_WORKERS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=folder,
        )
        register_ray()
        try:
            yield {"backend": "ray", "n_jobs": -1}
        finally:
            ray.shutdown()


@contextmanager
def spark() -> Iterator[Config]:
    from joblibspark import register_spark
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(f"local[{N_WORKERS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    register_spark()
    try:
        with warnings.catch_warnings():  # of what local mode does not have
            warnings.simplefilter("ignore")
            yield {"backend": "spark", "n_jobs": N_WORKERS}
    finally:
        session.stop()


@contextmanager
def loky() -> Iterator[Config]:
    yield {"backend": "loky", "n_jobs": N_WORKERS}


@contextmanager
def alone() -> Iterator[Config]:
    yield {"n_jobs": 1}


BACKENDS = {"loky": loky, "dask": dask, "ray": ray, "spark": spark}


# --- work -----------------------------------------------------------------------------------


def search(domains: Domains) -> Table:
    """Return the table of the complete grid, and scores of the machine that was chosen."""
    found = TGPLMCV(grid="paper", cv=FOLDS).fit(
        domains.target, domains.bags, source=(domains.source, domains.signs)
    )
    columns = {name: np.asarray(v) for name, v in found.cv_results_.items() if "time" not in name}
    return [
        *({name: v[i] for name, v in columns.items()} for i in range(len(columns["params"]))),
        {"scores": found.decision_function(domains.target).tolist()},
    ]


def cells(grid: GridName) -> Table:
    """Return the cells of one draw of the Gaussians by the paper's protocol."""
    protocol = Protocol("paper", "oracle", grid)
    with tempfile.TemporaryDirectory() as folder:
        of_files = SYNTHETIC.jobs(Request(protocol, Path(folder)), 1)
        jobs = of_files[chosen_file(SYNTHETIC.name, protocol)]
        found = run_jobs(jobs, Path(folder, "cells.csv"))
    return [{k: v for k, v in asdict(c).items() if k not in CIRCUMSTANCES} for c in found]


def recorded(folder: str, A: Any, B: Any) -> Any:
    """Compute a Gaussian kernel; append the number of its values to a file of this process."""
    with open(Path(folder, str(os.getpid())), "a", encoding="ascii") as record:
        record.write(f"{len(A) * len(B)}\n")
    return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))


def values_by_process(folder: str) -> dict[int, int]:
    found = {}
    for record in Path(folder).iterdir():
        found[int(record.name)] = sum(map(int, record.read_text(encoding="ascii").split()))
        record.unlink()
    return found


def kernels_of_workers(domains: Domains, config: Config) -> tuple[int, float]:
    """Return how many workers took part in a search, and how many matrices each has made."""
    with tempfile.TemporaryDirectory() as folder:
        kernel = partial(recorded, folder)
        n_bags = len(domains.shares)
        unit_gram(Kernel(kernel), domains.source, domains.target, domains.bag_of_row, n_bags)
        [of_matrix] = values_by_process(folder).values()
        grid = {"C_source": COSTS, "C_target": COSTS, "coupling": COUPLINGS}
        with joblib.parallel_config(**config):
            path_search(
                TGPLM(kernel=kernel),
                domains.target,
                domains.bags,
                source=(domains.source, domains.signs),
                grid=grid,
                cv=FOLDS,
            )
        of_workers = values_by_process(folder)
        assert of_workers.pop(os.getpid()) == of_matrix  # the fit of what was chosen
    # Every row is held out once; a bag's kernel is the mean of those of its rows.
    of_held_out = len(domains.target) * (len(domains.source) + len(domains.target))
    return len(of_workers), (sum(of_workers.values()) - of_held_out) / of_matrix / len(of_workers)


# --- measuring ------------------------------------------------------------------------------


def cpu_seconds() -> float:
    """Return CPU seconds of this process and of all that it has started, also of ended ones."""
    here = psutil.Process()
    total = 0.0
    for process in [here, *here.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def timed(config: Config, work: Callable[[], Table]) -> tuple[Table, float, float]:
    """Return a table with wall and CPU seconds."""
    cpu, begin = cpu_seconds(), time.monotonic()
    with joblib.parallel_config(**config):
        table = work()
    return table, time.monotonic() - begin, cpu_seconds() - cpu


def differences(found: Table, expected: Table) -> tuple[int, int]:
    """Return how many values of a table differ, and how many there are; NaN equals NaN."""
    assert [row.keys() for row in found] == [row.keys() for row in expected]
    pairs = [(a[k], b[k]) for a, b in zip(found, expected, strict=True) for k in a]
    return sum(repr(a) != repr(b) for a, b in pairs), len(pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--backends", nargs="+", choices=list(BACKENDS), default=["loky", "dask", "ray"]
    )
    parser.add_argument(
        "--cells", choices=["paper", "quick", "none"], default="paper", help="grid of the cells"
    )
    options = parser.parse_args()
    domains = make_domains("gauss", 100)
    work: dict[str, Callable[[], Table]] = {"search": partial(search, domains)}
    if options.cells != "none":
        work[f"cells ({options.cells} grid)"] = partial(cells, options.cells)
    print(
        f"Python {sys.version.split()[0]}, joblib {joblib.__version__}, {os.cpu_count()} "
        f"processors, load {os.getloadavg()[0]:.1f}; {N_WORKERS} workers with one thread each"
    )
    expected, all_equal = {}, True
    for name in ["alone", *options.backends]:
        begin = time.monotonic()
        with BACKENDS.get(name, alone)() as config:
            start = time.monotonic() - begin
            if name != "alone":
                n_workers, n_matrices = kernels_of_workers(domains, config)
                all_equal &= n_matrices == 1
                print(
                    f"{name}: started in {start:.1f} s; {n_workers} workers took part in the "
                    f"search, kernel matrices of each: {n_matrices:g}"
                )
            for what, does in work.items():
                table, wall, cpu = timed(config, does)
                line = f"{name}, {what}: {wall:.1f} s"
                if name != "ray":
                    line += f", {cpu:.1f} CPU s"
                if name == "alone":
                    expected[what] = table
                    line += f", {len(table):,} rows"
                else:
                    n_different, n_values = differences(table, expected[what])
                    all_equal &= n_different == 0
                    line += f", {n_different:,} of {n_values:,} values differ"
                print(f"{line} (load {os.getloadavg()[0]:.1f})", flush=True)
    print("the same tables everywhere" if all_equal else "NOT the same")
    return 0 if all_equal else 1


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
