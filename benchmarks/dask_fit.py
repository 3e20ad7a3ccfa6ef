# SPDX-License-Identifier: BSD-3-Clause
"""What a fit takes on a Dask cluster of two local workers, against one process.

    python benchmarks/dask_fit.py [--rows 4000000] [--features 20] [--size 10] [--repeats 5]

Half of the rows are a target, in bags of one size whose rows are scattered over all partitions,
half are labelled history; partitions are made by the workers. TGPLM (relative duality gap 1e-12)
and the count machine (relative gradient norm 1e-10), coupling 1.

Printed for each: seconds to bring bags together and keep the blocks (the shuffle); then median
wall seconds of the search, that is, of all its passes, in turns by one process of one thread, by
one process of two threads and by two workers of one thread each, with CPU seconds of all
processes; then one search in which a worker that holds blocks is killed. Bars: the search on
workers takes at most 1.5 times that of one process of one thread; its coefficients, those after
the kill, and those of ``fit_dask`` against ``fit`` in memory differ by 1e-8 at most. The exit
status is 1 when a bar is missed.
"""

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster
from scipy.special import expit
from sklearn.base import clone

from bagshift import TGPLM, Bags, CountLikelihoodClassifier
from bagshift.estimators._coupled import tube_loss
from bagshift.scale import _dask_blocks as blocks
from bagshift.scale import fit_dask
from bagshift.scale._dask_cluster import one_thread_each
from bagshift.scale.dask_passes import DaskRowPasses, DaskUnitPasses
from bagshift.solvers._chunks import threads
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.coupled_linear import solve_coupled_linear_passes
from bagshift.solvers.coupled_logistic import solve_coupled_logistic_passes
from bagshift.solvers.unit_passes import UnitPasses

TIME_BAR = 1.5
DIFFERENCE_BAR = 1e-8
N_PARTITIONS = 16


@dataclass(frozen=True)
class Data:
    """Frames on a cluster that make themselves, and what is known of their bags."""

    target: Any
    source: Any
    columns: blocks.Columns
    bags: blocks.Bagged
    positives: np.ndarray
    lengths: list[int]


def truth(n_features: int) -> np.ndarray:
    return np.random.default_rng(99).normal(size=n_features) / np.sqrt(n_features)


def make_target(part: int, n_rows: int, n_features: int, size: int) -> pd.DataFrame:
    """Draw a part of the target; row i of all of them is in bag ``i % n_bags``."""
    rng = np.random.default_rng(part)
    rows = part * n_rows + np.arange(n_rows)
    n_bags = N_PARTITIONS * n_rows // size
    bag = rows % n_bags
    frame = pd.DataFrame(rng.normal(size=(n_rows, n_features)) + 0.2)
    frame.columns = [f"x{k}" for k in range(n_features)]
    # Bags lie apart, so that their shares differ.
    frame["x0"] += 2.0 * np.sin(bag.astype(float))
    frame["label"] = rng.random(n_rows) < expit(
        4.0 * (frame.iloc[:, :n_features] @ truth(n_features))
    )
    return frame.assign(bag=bag)


def make_source(part: int, n_rows: int, n_features: int) -> pd.DataFrame:
    rng = np.random.default_rng(1000 + part)
    frame = pd.DataFrame(rng.normal(size=(n_rows, n_features)))
    frame.columns = [f"x{k}" for k in range(n_features)]
    scores = 4.0 * (frame @ truth(n_features)) - 0.5
    return frame.assign(label=(rng.random(n_rows) < expit(scores)).astype(np.int64))


def make_data(options: argparse.Namespace) -> Data:
    n_rows = options.rows // 2 // N_PARTITIONS // options.size * options.size
    shape = (n_rows, options.features)
    n_bags = N_PARTITIONS * n_rows // options.size
    parts = range(N_PARTITIONS)
    meta = make_target(0, options.size, options.features, options.size).iloc[:0]
    target = dd.from_map(
        make_target, parts, n_rows=shape[0], n_features=shape[1], size=options.size, meta=meta
    )
    source = dd.from_map(
        make_source,
        parts,
        n_rows=shape[0],
        n_features=shape[1],
        meta=make_source(0, 2, shape[1]).iloc[:0],
    )
    positives = target.groupby("bag")["label"].sum().compute().sort_index().to_numpy()
    ids = np.arange(n_bags)
    bags = blocks.Bagged("bag", ids, ids, np.full(n_bags, options.size))
    names = [f"x{k}" for k in range(options.features)]
    columns = blocks.Columns(names, np.dtype(np.float64))
    return Data(
        target.drop(columns="label"),
        source,
        columns,
        bags,
        positives.astype(np.int64),
        [n_rows] * N_PARTITIONS,
    )


def machines_of(n_rows: int) -> dict[str, Any]:
    """Return the machines: costs of sums over so many rows, and tight tolerances."""
    return {
        "TGPLM": TGPLM(
            kernel="linear",
            solver="newton",
            C_source=1e3 / n_rows,
            C_target=1e4 / n_rows,
            coupling=1.0,
            tol=1e-7,
        ),
        "counts": CountLikelihoodClassifier(
            kernel="linear", C_target=1.0, coupling=1.0, standardize=False, tol=1e-10
        ),
    }


def lay_out(
    name: str, machine: Any, client: Client, data: Data
) -> tuple[list[Any], Callable[..., Any]]:
    """Return passes on the cluster over both domains, and the search that asks them."""
    labels = blocks.Labelled("label", 1, machine.C_source, name == "TGPLM")
    source = blocks.blocks_of_labelled_rows(
        client, data.source, data.columns, labels, data.lengths
    )
    sizes = data.bags.n_rows
    if name == "TGPLM":
        share = np.clip(data.positives / sizes, 1e-3, 1 - 1e-3)
        loss = tube_loss(
            np.log(share / (1 - share)),
            0.1 * share * (1 - share),
            np.full(len(sizes), machine.C_target),
        )
        target = blocks.blocks_of_means(client, data.target, data.columns, data.bags, loss)
        passes = [DaskUnitPasses(source), DaskUnitPasses(target)]
        return passes, lambda two: solve_coupled_linear_passes(*two, 1.0, tol=1e-12)
    counts = BagCounts.exact(data.positives, sizes)
    target = blocks.blocks_of_counted_rows(
        client, data.target, data.columns, data.bags, counts, machine.C_target
    )
    passes = [DaskRowPasses(source), DaskRowPasses(target)]
    return passes, lambda two: solve_coupled_logistic_passes(*two, 1.0, tol=1e-10)


def in_memory(passes: list[Any], client: Client) -> list[Any]:
    """Return the rows of passes in this process."""
    if isinstance(passes[0], DaskUnitPasses):
        return [one.gathered().units for one in passes]
    parts = [client.gather(one.blocks.futures) for one in passes]
    return [type(found[0]).concatenate(found) for found in parts]


def local_passes(rows: list[Any], pool: Any) -> list[Any]:
    kind = UnitPasses if hasattr(rows[0], "half_widths") else RowPasses
    return [kind(part, pool) for part in rows]


def cpu_seconds(pids: list[int]) -> float:
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids if psutil.pid_exists(pid))


def timed(run: Callable[[], Any], pids: list[int]) -> tuple[float, float, Any]:
    """Return wall and CPU seconds, and the result."""
    cpu, wall = cpu_seconds(pids), time.monotonic()
    result = run()
    return time.monotonic() - wall, cpu_seconds(pids) - cpu, result


def difference(one: Any, other: Any) -> float:
    """Return the largest difference of weights and intercepts."""
    pairs = zip(vars(one.machines).values(), vars(other.machines).values(), strict=True)
    return max(float(np.max(np.abs(a - b))) for a, b in pairs)


def search_with_a_kill(
    search: Callable[..., Any], passes: list[Any], client: Client, after: float
) -> Any:
    """Search while a worker that holds blocks is killed after some seconds."""
    worker = next(iter(client.who_has(passes[0].blocks.futures).values()))[0]
    pid = client.run(os.getpid, workers=[worker])[worker]
    timer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
    timer.start()
    began = time.monotonic()
    result = search(passes)
    seconds = time.monotonic() - began
    timer.join()
    return seconds, result


def compare(name: str, machine: Any, client: Client, data: Data, repeats: int) -> bool:
    """Print what one machine takes, and tell whether all bars are met."""
    pids = [os.getpid(), *client.run(os.getpid).values()]
    wall, cpu, (passes, search) = timed(lambda: lay_out(name, machine, client, data), pids)
    n_blocks = " and ".join(str(len(one.blocks.futures)) for one in passes)
    print(f"{name}: {sum(one.n_units for one in passes):,} units in {n_blocks} blocks")
    print(f"  shuffle and load       {wall:8.2f} s wall {cpu:8.2f} s CPU", flush=True)
    rows = in_memory(passes, client)
    found: dict[str, list[tuple[float, float]]] = {}
    results = {}
    for _ in range(repeats):
        for way, n_threads in (
            ("one process, 1 thread", 1),
            ("one process, 2 threads", 2),
            ("two workers", 0),
        ):
            with threads(max(n_threads, 1)) as pool:
                asked = local_passes(rows, pool) if n_threads else passes
                wall, cpu, results[way] = timed(lambda asked=asked: search(asked), pids)
            found.setdefault(way, []).append((wall, cpu))
    medians = {way: np.median(times, axis=0) for way, times in found.items()}
    for way, (wall, cpu) in medians.items():
        n_passes = getattr(results[way], "n_passes", 0) or results[way].n_iter
        print(f"  {way:22} {wall:8.2f} s wall {cpu:8.2f} s CPU, {n_passes} passes")
    alone, other = results["one process, 1 thread"], results["two workers"]
    took = medians["two workers"][0]
    ratios = {way: took / wall for way, (wall, _) in medians.items()}
    print(f"  against 2 threads: {ratios['one process, 2 threads']:.2f}")
    seconds, after_kill = search_with_a_kill(search, passes, client, 0.3 * took)
    print(f"  a worker killed        {seconds:8.2f} s wall")
    return all(
        [
            verdict(
                f"{name}, workers against 1 thread", ratios["one process, 1 thread"], TIME_BAR
            ),
            verdict(f"{name}, difference", difference(alone, other), DIFFERENCE_BAR),
            verdict(
                f"{name}, difference after a kill", difference(alone, after_kill), DIFFERENCE_BAR
            ),
        ]
    )


def compare_fits(name: str, machine: Any, client: Client, data: Data) -> bool:
    """Fit in memory and on the cluster, each in its own way from the rows on."""
    target = data.target.compute().sort_values("bag", kind="stable")
    source = data.source.compute()
    names = data.columns.names
    counts = dict(enumerate(data.positives.tolist()))
    bags = Bags.from_arrays(target["bag"].to_numpy(), counts=counts, positive=1, negative=0)
    given = (source[names].to_numpy(), source["label"].to_numpy())
    began = time.monotonic()
    alone = clone(machine).fit(target[names].to_numpy(), bags, source=given)
    between = time.monotonic()
    other = fit_dask(
        clone(machine),
        data.target,
        bag="bag",
        counts=counts,
        source=data.source,
        label="label",
        positive=1,
        cluster=client,
    )
    print(f"  fit {between - began:.1f} s, fit_dask {time.monotonic() - between:.1f} s")
    names = ("coef_", "intercept_", "source_coef_", "source_intercept_")
    apart = max(float(np.abs(getattr(alone, n) - getattr(other, n)).max()) for n in names)
    return verdict(f"{name}, fit_dask against fit", apart, DIFFERENCE_BAR)


def verdict(what: str, found: float, bar: float) -> bool:
    met = found <= bar
    print(f"  {what}: {found:.3g} (bar {bar:g}) {'met' if met else 'MISSED'}", flush=True)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--size", type=int, default=10, help="rows of a bag")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--machines", nargs="+", default=["TGPLM", "counts"])
    parser.add_argument("--fits", action="store_true", help="compare whole fits too")
    options = parser.parse_args()
    met = True
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
        one_thread_each(client),
    ):
        print(f"Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        data = make_data(options)
        for name, machine in machines_of(options.rows // 2).items():
            if name in options.machines:
                met &= compare(name, machine, client, data, options.repeats)
                if options.fits:
                    met &= compare_fits(name, machine, client, data)
        print(f"Load {os.getloadavg()[0]:.1f}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
