# SPDX-License-Identifier: BSD-3-Clause
"""Time the coupled solver on inverse calibration alone against scikit-learn's SVR.

    python benchmarks/inverse_calibration.py [--repeats 15] [--sizes 100 500 2000] [--seconds 60]

The program of InverseCalibrationSVM: one unit per bag of eight rows, the RBF kernel of the bags
precomputed, the log odds of their shares as targets, one half width for all tubes, as SVR has it.
Both at the same C and tolerance of 1e-3. Thread CPU time, one thread each, contenders interleaved,
medians.

Bars: at least 6 times faster in every cell, with an objective that is lower or at most 1e-6
higher, relatively. The exit status is 1 when one is missed.
"""

import argparse
import sys
from functools import partial

import numpy as np
from _timing import print_machine, print_verdict, time_interleaved
from coupled_qp import BAG_SIZE, N_FEATURES, fit_ours, two_classes, with_penalties
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from bagshift.kernels import Kernel, unit_gram
from bagshift.solvers import CoupledProblem, CoupledResult

TOL = 1e-3
COSTS = (2.0**-8, 1.0, 2.0**10)
HALF_WIDTH = 0.1
CLIP = 1e-2
RATIO_BAR = 6.0
EXCESS_BAR = 1e-6


def bag_problem(n_bags: int) -> CoupledProblem:
    """Return the program of one machine on bags of known shares, C = 1."""
    rng = np.random.default_rng(0)
    bag_of_row = np.arange(n_bags).repeat(BAG_SIZE)
    labels = np.where(rng.random(bag_of_row.size) < rng.random(n_bags)[bag_of_row], 1.0, -1.0)
    kernel = Kernel("rbf", gamma=1 / N_FEATURES)
    shares = np.bincount(bag_of_row, labels > 0) / BAG_SIZE
    shares = np.clip(shares, CLIP, 1 - CLIP)
    return CoupledProblem(
        gram=unit_gram(kernel, None, two_classes(rng, labels), bag_of_row, n_bags),
        n_source=0,
        targets=np.log(shares / (1 - shares)),
        half_widths=np.full(n_bags, HALF_WIDTH),
        lower=np.full(n_bags, -1.0),
        upper=np.ones(n_bags),
        coupling=0.0,
    )


def fit_svr(problem: CoupledProblem, c: float) -> SVR:
    machine = SVR(kernel="precomputed", C=c, epsilon=HALF_WIDTH, tol=TOL)
    return machine.fit(problem.gram, problem.targets)


def excess(problem: CoupledProblem, ours: CoupledResult, svr: SVR) -> float:
    """Return how much worse our dual objective is, relatively; negative when it is better."""
    dual = np.zeros(len(problem.targets))
    dual[svr.support_] = svr.dual_coef_[0]
    theirs = problem.targets @ dual - HALF_WIDTH * np.abs(dual).sum()
    theirs -= 0.5 * dual @ problem.gram @ dual
    return float(theirs - ours.dual_objective) / abs(ours.dual_objective)


def compare(n_bags: int, c: float, repeats: int, seconds: float) -> tuple[float, float]:
    """Print the row of a cell; return its ratio and excess."""
    problem = with_penalties(bag_problem(n_bags), 0.0, 1.0, c)
    ours = partial(fit_ours, problem, TOL)
    theirs = partial(fit_svr, problem, c)
    result, svr = ours(), theirs()
    timing = time_interleaved(ours, theirs, repeats, seconds)
    worse = excess(problem, result, svr)
    print(
        f"{n_bags:6d} {c:10.4g} {1e3 * timing.ours:10.3f} {1e3 * timing.theirs:10.3f} "
        f"{timing.ratio:8.2f} {result.n_iter:8d} {int(svr.n_iter_):8d} {worse:9.1e} "
        f"{timing.repeats:4d}",
        flush=True,
    )
    return timing.ratio, worse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds for each cell")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="limit for the rounds of one cell"
    )
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        print_machine(options.repeats, options.seconds)
        print("\nInverse calibration, precomputed kernel of bags; times in ms")
        print(
            f"{'bags':>6} {'C':>10} {'bagshift':>10} {'SVR':>10} {'ratio':>8} {'iter':>8} "
            f"{'SVR it':>8} {'excess':>9} {'runs':>4}"
        )
        found = [
            compare(n_bags, c, options.repeats, options.seconds)
            for n_bags in options.sizes
            for c in COSTS
        ]
    ratios, excesses = zip(*found, strict=True)
    print()
    met = [
        print_verdict("Slowest cell against SVR", min(ratios), RATIO_BAR),
        print_verdict("1e-6 / largest excess", EXCESS_BAR / max(*excesses, 1e-12), 1.0),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
