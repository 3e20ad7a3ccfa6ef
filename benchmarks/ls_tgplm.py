# SPDX-License-Identifier: BSD-3-Clause
"""Time LSTGPLM over the number of classes, and its path of bags left out against refits.

    python benchmarks/ls_tgplm.py [--repeats 15] [--units 2000] [--seconds 240]

First whole fits of the estimator, of 2, 4, 8, 16 and 32 classes on the same rows: half of the
units are labelled source rows, half are bags of eight rows, of thirty features under the RBF
kernel; and linear systems of that size alone. Then residuals of all bags left out over a grid of
4 x 4 x 4 costs and couplings: one path against one solution for each point, which has them from
its inverse, and these against training again without each bag at one point. Thread CPU time, one
thread, contenders interleaved, medians.

Bars: twice the classes cost at most 1.2 times as much; the path takes less time than one solution
for each point. The exit status is 1 when one is missed.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import numpy as np
from _timing import calls_per_round, cpu_seconds, print_machine, print_verdict, time_interleaved
from threadpoolctl import threadpool_limits

from bagshift import LSTGPLM, Bags
from bagshift.kernels import Kernel, unit_gram
from bagshift.solvers import (
    CoupledLeastSquaresProblem,
    LeastSquaresPoint,
    least_squares_path,
    solve_coupled_least_squares,
)

N_CLASSES = (2, 4, 8, 16, 32)
BAG_SIZE, N_FEATURES = 8, 30
DOUBLING_BAR, PATH_BAR = 1.2, 1.0
COSTS = (2.0**-4, 1.0, 2.0**4, 2.0**8)
COUPLINGS = (2.0**-6, 0.125, 1.0, 2.0**6)


def domains(n_classes: int, n_units: int) -> tuple[np.ndarray, Bags, tuple]:
    """Return rows, bags and source: the rows are the same for any number of classes."""
    rng = np.random.default_rng(0)
    n_source, n_bags = n_units // 2, n_units - n_units // 2
    X = rng.normal(size=(n_bags * BAG_SIZE, N_FEATURES))
    X_source = rng.normal(size=(n_source, N_FEATURES))
    ways = rng.normal(size=(N_FEATURES, n_classes))
    codes, old = np.argmax(X @ ways, axis=1), np.argmax(X_source @ ways, axis=1)
    ids = np.arange(n_bags).repeat(BAG_SIZE)
    table = np.zeros((n_bags, n_classes))
    np.add.at(table, (ids, codes), 1 / BAG_SIZE)
    bags = Bags.from_arrays(ids, dict(enumerate(table)), classes=np.arange(n_classes))
    return X, bags, (X_source, old)


def medians(
    runs: list[Callable[[], object]], repeats: int, seconds: float
) -> tuple[list[float], int]:
    """Time all contenders in turns; return the median of each, and the number of rounds."""
    numbers = [calls_per_round(run) for run in runs]
    found: list[list[float]] = [[] for _ in runs]
    begin = time.monotonic()
    for done in range(1, repeats + 1):
        for run, number, times in zip(runs, numbers, found, strict=True):
            times.append(cpu_seconds(run, number))
        elapsed = time.monotonic() - begin
        if elapsed + elapsed / done > seconds:
            break
    return [float(np.median(times)) for times in found], done


def compare_classes(n_units: int, repeats: int, seconds: float) -> float:
    """Print a row for each number of classes; return the largest ratio of twice as many."""
    fits, systems = [], []
    gram, n_source, _, costs = path_data(n_units // 2, n_units - n_units // 2)
    for n_classes in N_CLASSES:
        X, bags, source = domains(n_classes, n_units)
        fits.append(partial(LSTGPLM().fit, X, bags, source=source))
        # Two classes have one output.
        targets = np.random.default_rng(0).normal(size=(n_units, n_classes - (n_classes == 2)))
        problem = CoupledLeastSquaresProblem(gram, n_source, targets, costs, 0.125)
        systems.append(partial(solve_coupled_least_squares, problem))
    times, rounds = medians([*fits, *systems], repeats, seconds)
    print(f"\nFits on {n_units:,} units, {rounds} rounds; times in ms")
    print(f"{'classes':>8} {'fit':>9} {'ratio':>7} {'system':>9} {'ratio':>7}")
    halves = [times[: len(fits)], times[len(fits) :]]
    ratios = [[1.0, *(later / sooner for sooner, later in pairwise(half))] for half in halves]
    for row in zip(N_CLASSES, halves[0], ratios[0], halves[1], ratios[1], strict=True):
        n_classes, fit, of_fit, system, of_system = row
        figures = f"{1e3 * fit:9.1f} {of_fit:7.3f} {1e3 * system:9.1f} {of_system:7.3f}"
        print(f"{n_classes:8d} {figures}")
    return max(max(half) for half in ratios)


def path_data(n_source: int, n_bags: int) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows, source = (rng.normal(size=(n, N_FEATURES)) for n in (n_bags * BAG_SIZE, n_source))
    kernel = Kernel("rbf", gamma=1 / N_FEATURES)
    ids = np.arange(n_bags).repeat(BAG_SIZE)
    gram = unit_gram(kernel, source, rows, ids, n_bags)
    m = n_source + n_bags
    return gram, n_source, rng.normal(size=(m, 1)), np.ones(m)


def problem_at(data: tuple, point: LeastSquaresPoint) -> CoupledLeastSquaresProblem:
    gram, n_source, targets, weights = data
    factors = np.where(np.arange(len(weights)) < n_source, point.C_source, point.C_target)
    return CoupledLeastSquaresProblem(gram, n_source, targets, weights * factors, point.coupling)


def point_by_point(data: tuple, grid: list[LeastSquaresPoint]) -> np.ndarray:
    return np.array(
        [solve_coupled_least_squares(problem_at(data, p)).left_out_residuals for p in grid]
    )


def refit_each(data: tuple, point: LeastSquaresPoint) -> None:
    _, n_source, _, weights = data
    for k in range(n_source, len(weights)):
        costs = weights.copy()
        costs[k] = 0.0
        without = problem_at((*data[:3], costs), point)
        solve_coupled_least_squares(without, leave_out="none")


def compare_paths(repeats: int, seconds: float) -> float:
    """Print a row for each size; return the smallest ratio of one by one over the path."""
    grid = [LeastSquaresPoint(*values) for values in product(COSTS, COSTS, COUPLINGS)]
    print(f"\nBags left out at {len(grid)} points, and refits at one; times in ms")
    print(
        f"{'source':>7} {'bags':>6} {'path':>9} {'one by one':>11} {'ratio':>7} "
        f"{'solution':>9} {'refits':>9} {'ratio':>7} {'apart':>8}"
    )
    ratios = []
    for n_source, n_bags in ((200, 50), (1000, 100), (1000, 500), (0, 300), (100, 600)):
        data = path_data(n_source, n_bags)
        path = partial(least_squares_path, *data, grid)
        each = partial(point_by_point, data, grid)
        apart = float(np.abs(path() - each()).max())
        timing = time_interleaved(path, each, repeats, seconds / 10)
        one = partial(point_by_point, data, grid[:1])
        refits = time_interleaved(one, partial(refit_each, data, grid[0]), 3, seconds / 10)
        ratios.append(timing.ratio)
        print(
            f"{n_source:7d} {n_bags:6d} {1e3 * timing.ours:9.1f} {1e3 * timing.theirs:11.1f} "
            f"{timing.ratio:7.2f} {1e3 * refits.ours:9.2f} {1e3 * refits.theirs:9.1f} "
            f"{refits.ratio:7.1f} {apart:8.1e}",
            flush=True,
        )
    return min(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds for each cell")
    parser.add_argument("--units", type=int, default=2000, help="source rows and bags together")
    parser.add_argument("--seconds", type=float, default=240.0, help="limit for the fits")
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        print_machine(options.repeats, options.seconds)
        worst = compare_classes(options.units, options.repeats, options.seconds)
        slowest = compare_paths(options.repeats, options.seconds)
    print()
    met = [
        print_verdict("1.2 / largest ratio of twice the classes", DOUBLING_BAR / worst, 1.0),
        print_verdict("One by one over the path, least", slowest, PATH_BAR),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
