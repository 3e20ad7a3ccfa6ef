# SPDX-License-Identifier: BSD-3-Clause
"""A plan for more rows than one machine reads in an hour, and a simulation that checks it.

    python benchmarks/cluster_plan.py passes [--quick]     # how often rows are read: half an hour
    python benchmarks/cluster_plan.py kernels              # what a chunk takes on one core
    python benchmarks/cluster_plan.py check                # the simulation against real runs
    python benchmarks/cluster_plan.py plan                 # steps, hours, a machine that is lost
    python benchmarks/cluster_plan.py growth               # what ten times as much does
    python benchmarks/cluster_plan.py sweep                # partitions, latency and machines

* passes: the library's solvers on 10^5 to 10^7 rows and 50 to 1,000 features; every pass over all
  rows is counted, and the CPU seconds that are left to the driver.
* kernels: CPU seconds of one core for a row in each kind of pass, for adding two results and for a
  step, and for a value of a Parquet file.
* check: passes and whole fits of one process as the kernels predict them, and passes on Dask as
  the simulation does: two processes with the library's kernels, and sixteen machines that are
  threads and whose tasks sleep, with messages that are held back. Bar: each real time is within a
  factor of two of the prediction.
* plan, growth, sweep: everything is simulated, with kernels that are timed first, or were and lie
  in the file of --rates.

Laws that hold for every simulation are checked at each start. The exit status is 1 when a bar is
missed. One thread, apart from the machines of Dask.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from _cluster_jobs import (
    Job,
    Stage,
    count_stages,
    decoding_stage,
    driver_gigabytes,
    means_stage,
    print_stages,
    stages,
    total_seconds,
    worker_gigabytes,
)
from _cluster_kernels import Rates, ReadingRates, measure_rates, measure_reading
from _cluster_laws import check_laws
from _cluster_passes import print_likelihood, print_linear
from _cluster_simulation import Cluster
from threadpoolctl import threadpool_limits

N_FEATURES = 1000
# A hundred machines as they are rented: 16 cores, 64 GB, ten gigabits a second, one disk.
CLUSTER = Cluster(
    n_workers=100,
    cores=16,
    latency=1.5e-3,
    bandwidth=1.25e9,
    disk=1e9,
    task_overhead=5e-4,
    scatter=0.2,
    slow_share=0.02,
    slow_factor=2.0,
    detection=30.0,
)
JOB = Job()
N_DRAWS = 15
STORAGE = ("by bag", "scattered")

LINEAR_CELLS = [
    (100_000, 50, 100.0),
    (1_000_000, 50, 100.0),
    (10_000_000, 50, 100.0),
    (1_000_000, 50, 10_000.0),
    (100_000, 200, 100.0),
    (1_000_000, 200, 100.0),
    (1_000_000, 1000, 100.0),
    (1_000_000, 1000, 10_000.0),
    (100_000, 1000, 100.0),
    (100_000, 1000, 10_000.0),
]
COUNT_CELLS = [
    (100_000, 50, 100),
    (1_000_000, 50, 100),
    (1_000_000, 50, 1000),
    (1_000_000, 50, 10),
    (100_000, 200, 100),
    (500_000, 200, 100),
    (100_000, 500, 10),
]


def show_kernels(file: Path | None) -> None:
    """Print what was measured before and lies in a file; without one, measure at three widths."""
    names = ("slope", "square", "line", "near", "settled", "length", "labelled", "counted")
    print("Microseconds of a row, one core; GFLOP/s of what free rows add; ms of sum and step")
    print(f"{'features':>8}" + "".join(f"{n:>10}" for n in (*names, "GFLOP/s", "add", "step")))
    widths = (50, 200, N_FEATURES) if file is None else (N_FEATURES,)
    for n_features in widths:
        rates = measure_rates(n_features) if file is None else kept_rates(file)[0]
        values = [1e6 * rates.as_rows()[name] for name in names]
        values += [1e-9 * n_features**2 / rates.square, 1e3 * rates.add, 1e3 * rates.step]
        print(f"{n_features:8}" + "".join(f"{value:10.3g}" for value in values), flush=True)
    if file is not None:
        show_reading(kept_rates(file)[1], N_FEATURES)
        return
    for n_rows, n_columns, n_bags in ((200_000, 100, 20_000), (20_000, N_FEATURES, 200)):
        show_reading(measure_reading(n_rows, n_columns, n_bags), n_columns)


def show_reading(rates: ReadingRates, n_columns: int) -> None:
    print(
        f"Parquet, {n_columns} columns, ns of a value: means of bags {1e9 * rates.means:.0f}, "
        f"decoding {1e9 * rates.decode:.0f}, bag by bag {1e9 * rates.by_bag:.0f}; "
        f"{rates.bytes_a_value:.1f} bytes a value"
    )


def show_plan(job: Job, rates: Rates, reading: ReadingRates) -> None:
    show_cluster(CLUSTER, job)
    fit = [
        decoding_stage(CLUSTER, job, reading),
        *stages(CLUSTER, job, rates, reading, None, n_seeds=1),
    ]
    for storage in ("by bag", "scattered", "rows moved"):
        found = [means_stage(CLUSTER, job, reading, storage), *fit]
        print(f"\nTGPLM, target files {storage}: {hours(total_seconds(found))}")
        print_stages(found, only=None if storage == "by bag" else 1)
    print("\nOne of these machines, the source streamed from its disk in every pass")
    alone = replace(CLUSTER, n_workers=1, latency=0.0, slow_share=0.0)
    found = stages(alone, replace(job, from_disk=True), rates, reading, "by bag", n_seeds=1)
    print_stages(found)
    print(f"{hours(total_seconds(found))}")
    print("\nCount likelihood, rows brought together bag by bag")
    found = count_stages(CLUSTER, job, rates, reading)
    print_stages(found)
    print(f"{hours(total_seconds(found))}; the driver draws {job.count_sample_gigabytes:,.0f} GB")
    show_loss(job, rates, reading)
    show_interval(job, rates, reading)


def hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f} hours ({seconds / 60:.1f} minutes)"


def show_cluster(cluster: Cluster, job: Job) -> None:
    print(
        f"{job.n_target:,.0f} target rows in {job.n_bags:,.0f} bags, {job.n_source:,.0f} source "
        f"rows, {job.n_features:,} features\n"
        f"{cluster.n_workers} machines: {cluster.cores} cores, network {cluster.bandwidth:.3g} "
        f"and disk {cluster.disk:.3g} bytes/s, latency {1e3 * cluster.latency:g} ms, scheduler "
        f"{1e3 * cluster.task_overhead:g} ms a task, cores {job.slowdown:g} times as slow as the "
        f"measured one, tasks scatter by {cluster.scatter:.0%}, {cluster.slow_share:.0%} of the "
        f"machines are {cluster.slow_factor:g} times as slow, trees of {cluster.fan_in}\n"
        f"memory of a machine {worker_gigabytes(cluster, job):.1f} GB, of the driver "
        f"{driver_gigabytes(job):.1f} GB; partitions of {job.part_rows:,} rows, "
        f"{1e-6 * 4 * job.part_rows * job.n_features:,.0f} MB;\n"
        f"passes with curvature {job.n_curved}, searches {job.n_lines}, {job.free:.0%} of the "
        f"units free; driver {job.sample_seconds:g} s on the sample, {job.near_seconds:g} s near "
        "a border"
    )


def show_interval(job: Job, rates: Rates, reading: ReadingRates) -> None:
    """Print hours where everything that is assumed is drawn from a range."""
    rng = np.random.default_rng(0)

    def between(low: float, high: float) -> float:
        return float(low * (high / low) ** rng.random())

    seconds = []
    for _ in range(N_DRAWS):
        cluster = replace(
            CLUSTER,
            latency=between(2e-4, 1e-2),
            bandwidth=between(3e8, 3e9),
            disk=between(2e8, 2e9),
            task_overhead=between(2e-4, 2e-3),
            scatter=between(0.1, 0.5),
            slow_share=0.05 * rng.random(),
            slow_factor=between(1.5, 4.0),
        )
        drawn = replace(
            job,
            slowdown=between(0.75, 3.0),
            n_curved=round(between(3, 30)),
            n_lines=round(between(1, 15)),
            part_chunks=int(rng.choice([2, 4, 8])),
            free=between(0.02, 0.2),
            driver_factor=between(0.5, 3.0),
        )
        fit = total_seconds(stages(cluster, drawn, rates, reading, None, n_seeds=1))
        fit += decoding_stage(cluster, drawn, reading).total
        seconds.append(
            [fit + means_stage(cluster, drawn, reading, storage).total for storage in STORAGE]
        )
    low, mid, high = np.percentile(np.array(seconds) / 3600, [5, 50, 95], axis=0)
    print(f"\nHours when all assumptions are drawn from their ranges, {N_DRAWS} times")
    for i, storage in enumerate(STORAGE):
        print(f"  target files {storage}: {mid[i]:.2f}, 90 % from {low[i]:.2f} to {high[i]:.2f}")


def show_loss(job: Job, rates: Rates, reading: ReadingRates) -> None:
    name = "slope and curvature"
    whole, lost = (
        stages(CLUSTER, job, rates, reading, None, n_seeds=1, only=name, lost_at=at)[0].seconds
        for at in (None, 0.1)
    )
    print(
        f"\nA machine lost in a pass: {whole:.1f} s become {lost:.1f} s, "
        f"{CLUSTER.detection:g} of them until it is missed"
    )


def show_growth(job: Job, rates: Rates, reading: ReadingRates) -> None:
    """Print what ten times as much of one thing does."""
    print("\nTen times as much of one thing")
    print(
        f"{'':34}{'hours':>7}{'reading':>9}{'passes':>9}{'driver':>8}{'exchange TB':>12}"
        f"{'machine GB':>11}{'driver GB':>10}{'message MB':>11}  waits most for"
    )
    wide = rates.at(10 * job.n_features)
    cases: list[tuple[str, Cluster, Job, Rates]] = [
        ("as planned", CLUSTER, job, rates),
        ("rows", CLUSTER, job.times(rows=10), rates),
        ("features", CLUSTER, job.times(features=10), wide),
        ("machines", replace(CLUSTER, n_workers=1000), job, rates),
        ("bags", CLUSTER, job.times(bags=10), rates),
        ("bags, a hundred times", CLUSTER, job.times(bags=100), rates),
    ]
    for name, cluster, grown, at in cases:
        fit = stages(cluster, grown, at, reading, None, n_seeds=1)
        decoding = decoding_stage(cluster, grown, reading)
        for storage in STORAGE:
            means = means_stage(cluster, grown, reading, storage)
            _show_case(f"{name}, {storage}", cluster, grown, at, storage, [means, decoding, *fit])


def _show_case(
    name: str, cluster: Cluster, job: Job, rates: Rates, storage: str, found: list[Stage]
) -> None:
    total = total_seconds(found)
    reads = sum(stage.total for stage in found if stage.is_reading)
    waits = waited_of(found)
    driver = waits.get("driver", 0.0)
    first, second = sorted(waits, key=lambda what: -waits[what])[:2]
    print(
        f"{name:34}{total / 3600:7.2f}{reads / 3600:9.2f}"
        f"{(total - reads - driver) / 3600:9.2f}{driver / 3600:8.2f}"
        f"{1e-12 * found[0].outcome.n_bytes:12.2f}"
        f"{worker_gigabytes(cluster, job, storage):11.1f}"
        f"{driver_gigabytes(job):10.1f}{1e-6 * rates.message:11.0f}"
        f"  {first} {waits[first] / total:.0%}, {second} {waits[second] / total:.0%}",
        flush=True,
    )


def waited_of(found: list[Stage]) -> dict[str, float]:
    """Return what the elapsed time of all steps went to."""
    waits: dict[str, float] = {}
    for stage in found:
        for what, seconds in stage.outcome.waited.items():
            waits[what] = waits.get(what, 0.0) + stage.count * seconds
    return waits


def show_sweep(job: Job, rates: Rates, reading: ReadingRates) -> None:
    """Print what all passes take, and what they wait for."""
    counts = (100, 1000, 10_000, 100_000)
    show_cluster(CLUSTER, job)
    print("\nSeconds of one pass for slope and curvature, by partitions of the source")
    print(f"{'machines':>9}{'latency ms':>11}" + "".join(f"{n:>18,}" for n in counts))
    cells = [(100, latency) for latency in (1e-4, 1e-3, 1e-2, 1e-1)]
    cells += [(n, 1e-3) for n in (1, 10, 1000)]
    for n_workers, latency in cells:
        cluster = replace(CLUSTER, n_workers=n_workers, latency=latency)
        texts = []
        for n_parts in counts:
            cut = replace(job, n_parts=n_parts)
            (found,) = stages(
                cluster, cut, rates, reading, None, n_seeds=1, only="slope and curvature"
            )
            texts.append(f"{found.seconds:8.1f} {found.outcome.bottleneck:>9}")
        print(f"{n_workers:9}{1e3 * latency:11g}" + "".join(texts), flush=True)


def kept_rates(file: Path | None) -> tuple[Rates, ReadingRates]:
    """Return what was measured before and lies in a file, or measure it and write the file."""
    if file is not None and file.exists():
        found = json.loads(file.read_text())
        return Rates(**found["rates"]), ReadingRates(**found["reading"])
    rates, reading = measure_rates(N_FEATURES), measure_reading(20_000, N_FEATURES, 200)
    if file is not None:
        file.write_text(json.dumps({"rates": asdict(rates), "reading": asdict(reading)}))
    return rates, reading


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = ["passes", "kernels", "check", "plan", "growth", "sweep"]
    parser.add_argument("part", nargs="?", default="plan", choices=parts)
    parser.add_argument("--quick", action="store_true", help="without the largest problems")
    parser.add_argument("--rates", type=Path, help="file where kernels that were timed are kept")
    options = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    check_laws()
    print(f"Laws of the simulation hold. Load {os.getloadavg()[0]:.1f}")
    with threadpool_limits(1):
        if options.part == "passes":
            most = 2 * 10**8 if options.quick else np.inf
            print_linear([cell for cell in LINEAR_CELLS if cell[0] * cell[1] <= most])
            print_likelihood([cell for cell in COUNT_CELLS if cell[0] * cell[1] <= most])
        elif options.part == "kernels":
            show_kernels(options.rates)
        elif options.part == "check":
            from _cluster_check import check

            return 0 if check() else 1
        else:
            rates, reading = kept_rates(options.rates)
            show_reading(reading, N_FEATURES)
            shows = {"plan": show_plan, "growth": show_growth, "sweep": show_sweep}
            shows[options.part](JOB, rates, reading)
    return 0


if __name__ == "__main__":
    sys.exit(main())
