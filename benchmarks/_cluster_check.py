# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of the simulation and real runs of the same shape, side by side."""

import logging
import time
from dataclasses import replace

import dask
import numpy as np
from _cluster_dask import cluster_of, latency_of, real_passes, sleeping_pass
from _cluster_kernels import SMOOTHING, Rates, machine_of, measure_rates, units_of
from _cluster_passes import KINDS, run_apart
from _cluster_simulation import Cluster, PassKind, simulate_pass

from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers.unit_passes import UnitPasses

BAR = 2.0
N_MACHINES, N_REPEATS = 16, 5
SLEEP = 0.05
FREE = 0.03


def check() -> bool:
    """Print all comparisons; False when one is off by more than the bar."""
    logging.getLogger("distributed").setLevel(logging.ERROR)
    rates = {n_features: measure_rates(n_features) for n_features in (50, 200, 1000)}
    ratios = [*_one_process(rates), *_whole_fits(rates), *_two_processes(rates[200])]
    ratios += _sleeping_machines()
    worst = max(max(ratio, 1.0 / ratio) for ratio in ratios)
    met = worst <= BAR
    print(
        f"\n{len(ratios)} comparisons, real over predicted: median {np.median(ratios):.2f}, from "
        f"{min(ratios):.2f} to {max(ratios):.2f} (bar: within {BAR:g} times) "
        f"{'met' if met else 'MISSED'}"
    )
    return met


def _line(what: str, predicted: float, real: float) -> float:
    print(f"{what:58}{predicted:11.3f}{real:10.3f}{real / predicted:7.2f}", flush=True)
    return real / predicted


def _head(title: str) -> None:
    print(f"\n{title}\n{'':58}{'predicted s':>11}{'real s':>10}{'ratio':>7}")


def _pass_of(rates: Rates, n_rows: int, n_parts: int = 1) -> PassKind:
    """Return a pass of which a part of the units is free."""
    rows = n_rows / n_parts
    own = rows * (rates.slope + FREE * rates.square)
    own += max(rows / CHUNK_ROWS - 1, 0) * rates.add
    return PassKind(np.full(n_parts, own), message=rates.message, add_seconds=rates.add)


def _one_process(rates: dict[int, Rates]) -> list[float]:
    """Compare passes with curvature on one core."""
    _head("Passes of one process, CPU seconds")
    ratios = []
    for n_rows, d in (
        (100_000, 50),
        (1_000_000, 50),
        (100_000, 200),
        (1_000_000, 200),
        (100_000, 1000),
    ):
        passes = UnitPasses(units_of(d, FREE, n_rows))
        seconds = []
        for _ in range(3):
            start = time.process_time()
            passes.sums(machine_of(d), SMOOTHING)
            seconds.append(time.process_time() - start)
        kind = _pass_of(rates[d], n_rows)
        predicted = simulate_pass(Cluster(1), [kind]).seconds
        ratios.append(
            _line(f"{n_rows:,} rows, {d} features", predicted, float(np.median(seconds)))
        )
    return ratios


def _whole_fits(rates: dict[int, Rates]) -> list[float]:
    """Compare all passes over the rows of a fit on one core, without the driver's own work."""
    _head("All passes over the source in a fit of one process, CPU seconds")
    ratios = []
    for n_rows, d in ((1_000_000, 50), (1_000_000, 200)):
        found = run_apart("linear", n_rows, d, 100.0)
        rate = rates[d]
        each = {
            "sums": rate.slope + found["free"] * rate.square,
            "line": rate.line,
            "sample": 0.1 * rate.near,
            "near": rate.near,
            "settled": rate.settled,
        }
        seconds = sum(found[kind] * each.get(kind, 0.0) * n_rows for kind in KINDS)
        predicted = simulate_pass(Cluster(1), [PassKind(np.array([seconds]), 0.0)]).seconds
        real = found["seconds"] - found["driver"]
        ratios.append(_line(f"{n_rows:,} rows, {d} features", predicted, real))
    return ratios


def _two_processes(rates: Rates) -> list[float]:
    """Compare passes of the library's kernels on Dask.

    Others may use the cores as well, so what tasks take in CPU seconds is compared with the
    kernels, and what the pass takes with the simulation of tasks that take what these took.
    """
    _head("Dask, two processes, the library's kernels, 200 features: medians of five")
    ratios = []
    with dask.config.set({"distributed.scheduler.work-stealing": False}):
        for n_parts in (8, 32):
            with cluster_of(2, processes=True) as (client, addresses):
                cluster = Cluster(2, latency=_HOP, task_overhead=_OVERHEAD)
                n_rows = n_parts * 4 * CHUNK_ROWS
                runs = real_passes(
                    client,
                    addresses,
                    cluster.places(n_parts).tolist(),
                    n_features=rates.n_features,
                    free=FREE,
                    rows_of_part=4 * CHUNK_ROWS,
                    fan_in=cluster.fan_in,
                    repeats=N_REPEATS,
                )
            kind = _pass_of(rates, n_rows, n_parts)
            predicted = [
                simulate_pass(cluster, [replace(kind, seconds=taken[:, 0])]).seconds
                for _, taken in runs
            ]
            real = float(np.median([elapsed for elapsed, _ in runs]))
            cpu = float(np.median([taken[:, 1].sum() for _, taken in runs]))
            what = f"{n_parts} partitions"
            ratios.append(_line(f"{what}, CPU of all tasks", float(kind.seconds.sum()), cpu))
            ratios.append(_line(f"{what}, elapsed", float(np.median(predicted)), real))
    return ratios


# Of Dask on an idle core: seconds of the scheduler for a task, and what a message takes besides
# its latency, for messages are sent in batches.
_OVERHEAD, _HOP = 6e-4, 1.5e-3


def _sleeping_machines() -> list[float]:
    """Compare passes whose tasks sleep, on more machines than there are cores."""
    _head(
        f"Dask, {N_MACHINES} machines that sleep, {1e3 * SLEEP:g} ms a task, scattered by 30 %: "
        "least of five, seconds"
    )
    ratios = []
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        cluster_of(N_MACHINES, processes=False) as (client, addresses),
    ):
        plain = Cluster(N_MACHINES, scatter=0.3, task_overhead=_OVERHEAD)
        for latency in (0.0, 0.01, 0.05):
            for n_parts in (16, 64, 256):
                cluster = replace(plain, latency=latency + _HOP)
                lengths = np.full(n_parts, SLEEP)
                with latency_of(latency):
                    real = [
                        sleeping_pass(
                            client,
                            addresses,
                            cluster.places(n_parts).tolist(),
                            cluster.task_seconds(lengths, 0),
                            cluster.fan_in,
                        )
                        for _ in range(N_REPEATS)
                    ]
                predicted = simulate_pass(cluster, [PassKind(lengths, 0.0)]).seconds
                what = f"{n_parts} partitions, messages {1e3 * latency:g} ms"
                ratios.append(_line(what, predicted, min(real)))
    return ratios
