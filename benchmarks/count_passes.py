# SPDX-License-Identifier: BSD-3-Clause
"""What the count likelihood takes on many rows: passes, CPU seconds, growth and memory.

    python benchmarks/count_passes.py [--rows 100000 1000000] [--features 50] [--size 10]

So many target rows in bags of one size and as many labelled source rows, unit costs, coupling 1,
default tolerance, from zero. Ways:

* truncated: truncated Newton on the whole matrices, as few rows are solved;
* passes: Newton by passes over chunks, from all rows;
* sample: the same from the solution on a sample, as many rows are solved;
* floor: 5 passes over chunks, about the least that a sample leaves to do.

Process CPU time, one thread, one run each, and the growth of the peak memory during a run (each
is a process of its own). Bars: "sample" has a growth exponent of at most 1.1 in the rows, and
takes at most half of the time of "truncated" at the most rows. All ways must end in the same
objective. The exit status is 1 when a bar is missed.
"""

import argparse
import json
import sys
import time
from unittest.mock import patch

import numpy as np
from _apart import forget_peak, peak_gibibytes, run_apart
from scipy.special import expit
from threadpoolctl import threadpool_limits

from bagshift.solvers import _passes_newton, coupled_logistic
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.coupled_logistic import CoupledLogisticProblem, solve_coupled_logistic

WAYS = ("truncated", "passes", "sample", "floor")
GROWTH_BAR = 1.1
TIME_BAR = 0.5
N_FLOOR = 5


def make_problem(n_rows: int, n_features: int, size: int) -> CoupledLogisticProblem:
    """Draw two domains whose machines differ by half, and counts of hidden labels."""
    rng = np.random.default_rng(0)
    source_truth = 2.0 * rng.normal(size=n_features) / np.sqrt(n_features)
    target_truth = source_truth + rng.normal(size=n_features) / np.sqrt(n_features)
    n_rows -= n_rows % size
    X_source, X = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_rows, n_features))
    X += 0.2
    signs = np.where(rng.random(n_rows) < expit(X_source @ source_truth - 0.5), 1.0, -1.0)
    labels = rng.random(n_rows) < expit(X @ target_truth - 1.0)
    n_bags = n_rows // size
    return CoupledLogisticProblem(
        source_features=X_source,
        source_signs=signs,
        source_costs=np.ones(n_rows),
        target_features=X,
        counts=BagCounts.exact(labels.reshape(-1, size).sum(axis=1), np.full(n_bags, size)),
        bag_costs=np.ones(n_bags),
        coupling=1.0,
    )


def run(way: str, problem: CoupledLogisticProblem) -> dict[str, float]:
    """Solve in one way; measure CPU seconds and by how much the peak of memory grew."""
    forget_peak()
    before, start = peak_gibibytes(), time.process_time()
    if way == "floor":
        found = {"objective": np.nan, "n_iter": 0, "n_passes": N_FLOOR}
        go_over(problem)
    else:
        with (
            patch.object(coupled_logistic, "_MANY_ROWS", np.inf if way == "truncated" else 0),
            patch.object(_passes_newton, "_LARGEST_PART", 0.25 if way == "sample" else 0.0),
        ):
            result = solve_coupled_logistic(problem)
        found = {name: getattr(result, name) for name in ("objective", "n_iter", "n_passes")}
    seconds = time.process_time() - start
    return {"seconds": seconds, "memory": peak_gibibytes() - before, **found}


def go_over(problem: CoupledLogisticProblem) -> None:
    source = LabelledRows(problem.source_features, problem.source_signs, problem.source_costs)
    target = CountedRows(problem.target_features, problem.counts, problem.bag_costs)
    machine = coupled_logistic.Machines.both(np.full(problem.n_features, 0.1), 0.0).target
    for _ in range(N_FLOOR):
        RowPasses(source).sums(machine)
        RowPasses(target).sums(machine)


def work(way: str, n_rows: int, n_features: int, size: int) -> None:
    with threadpool_limits(1):
        print(json.dumps(run(way, make_problem(n_rows, n_features, size))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--size", type=int, default=10, help="rows of a bag")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        way, *numbers = options.worker
        work(way, *map(int, numbers))
        return 0
    print(f"{'rows':>9}  {'way':10}{'steps':>6}{'passes':>7}{'CPU s':>9}{'GiB':>7}  objective")
    found: dict[tuple[str, int], dict[str, float]] = {}
    for n_rows in options.rows:
        for way in options.ways:
            one = run_apart(__file__, "--worker", way, n_rows, options.features, options.size)
            found[way, n_rows] = one
            print(
                f"{n_rows:9d}  {way:10}{one['n_iter']:6.0f}{one['n_passes']:7.0f}"
                f"{one['seconds']:9.2f}{one['memory']:7.2f}  {one['objective']:.12g}",
                flush=True,
            )
    return 0 if judge(found, options.rows, options.ways) else 1


def judge(
    found: dict[tuple[str, int], dict[str, float]], rows: list[int], ways: tuple[str, ...]
) -> bool:
    """Print exponents and ratios, and tell whether all bars are met."""
    met = True
    most = max(rows)
    for way in ways:
        if len(rows) > 1:
            least = min(rows)
            growth = found[way, most]["seconds"] / found[way, least]["seconds"]
            exponent = float(np.log(growth) / np.log(most / least))
            print(f"Growth exponent of {way}: {exponent:.2f}")
            met &= way != "sample" or exponent <= GROWTH_BAR
    if {"sample", "truncated"} <= set(ways):
        ratio = found["sample", most]["seconds"] / found["truncated", most]["seconds"]
        print(f"Sample against truncated at {most} rows: {ratio:.2f} (bar {TIME_BAR:g})")
        met &= ratio <= TIME_BAR
    for n_rows in rows:
        ends = [found[way, n_rows]["objective"] for way in ways if way != "floor"]
        met &= bool(np.ptp(ends) <= 1e-9 * abs(ends[0]))
    print("All bars met" if met else "A bar was MISSED")
    return met


if __name__ == "__main__":
    sys.exit(main())
