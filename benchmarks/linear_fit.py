# SPDX-License-Identifier: BSD-3-Clause
"""The linear machine: exactness against the quadratic program, growth with rows, LinearSVC.

    python benchmarks/linear_fit.py exactness
    python benchmarks/linear_fit.py growth [--rows 100000 1000000 10000000]
    python benchmarks/linear_fit.py svc [--rows 1000000] [--repeats 3]

* exactness: the solver on features against the quadratic program on their Gram matrix, from 500
  to 5,000 source rows and a fifth as many bags, 20 columns, costs from 0.01 to 64, coupling from
  2^-6 to 2^11, columns centred and three standard deviations off. Bars: at the default tolerance
  the objective agrees to 1e-4 and decisions to 1e-3; at tolerance 1e-3 times that the objective
  to 1e-6.
* growth: `TGPLM(kernel="linear")` on as many source rows as target rows in bags of ten, 50
  columns, float32, each size in a process of its own: CPU seconds of `fit`, peak memory of the
  process, and that of the rows. Bar: the exponent of the CPU time in the number of rows is at
  most 1.1.
* svc: the coupled problem, source and bag means, against `LinearSVC` on the source alone, to the
  same relative objective of each one's own problem; interleaved, medians of CPU time. Bar:
  at most half the time of LinearSVC.

One thread. The exit status is 1 when a bar is missed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
from _timing import print_machine, print_verdict, time_interleaved
from numpy.typing import NDArray
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift import TGPLM, Bags
from bagshift.solvers import (
    CoupledLinearProblem,
    CoupledProblem,
    LinearUnits,
    solve_coupled_linear,
)
from bagshift.solvers.polish import solve_sharply

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

BAG_SIZE = 10
N_FEATURES = 50
EXPONENT_BAR = 1.1
SVC_BAR = 2.0
SAME_OBJECTIVE = 1e-4


def make_rows(
    n: int, n_features: int, seed: int, offset: float = 0.0
) -> tuple[Singles, NDArray[np.bool_], Singles, NDArray[np.bool_]]:
    """Source rows with noisy labels, and target rows of a turned and moved domain.

    Consecutive target rows have something in common, as those of a precinct do.
    """
    truth, turned = directions(n_features)
    rng = np.random.default_rng(seed)
    X_source = rng.standard_normal((n, n_features), dtype=np.float32)
    y_source = X_source @ truth + 0.5 * rng.standard_normal(n, dtype=np.float32) > 0
    X_source += np.float32(offset)
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    common = np.repeat(rng.standard_normal(-(-n // BAG_SIZE), dtype=np.float32), BAG_SIZE)[:n]
    for column in range(n_features):
        X[:, column] += common * turned[column]
    y = X @ turned + 0.2 * rng.standard_normal(n, dtype=np.float32) > 0
    X += np.float32(offset + 0.2)
    return X_source, y_source, X, y


def directions(n_features: int) -> tuple[Singles, Singles]:
    """Return the normals of the true borders of source and target."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n_features)
    turned = truth + 0.5 * rng.normal(size=n_features)
    both = [v / np.linalg.norm(v) for v in (truth, turned)]
    return both[0].astype(np.float32), both[1].astype(np.float32)


def make_problem(
    n: int,
    n_features: int,
    *,
    costs: tuple[float, float],
    coupling: float,
    seed: int,
    offset: float,
) -> CoupledLinearProblem:
    """Return a coupled problem with bags of five."""
    X_source, y_source, X, y = make_rows(n, n_features, seed, offset)
    means = X.reshape(-1, 5, n_features).mean(axis=1, dtype=np.float64)
    shares = np.clip(y.reshape(-1, 5).mean(axis=1), 0.1, 0.9)
    signs = np.where(y_source, 1.0, -1.0)
    box = np.full(len(means), costs[1])
    return CoupledLinearProblem(
        source=LinearUnits(
            X_source.astype(np.float64),
            signs,
            np.zeros(n),
            np.minimum(costs[0] * signs, 0.0),
            np.maximum(costs[0] * signs, 0.0),
        ),
        target=LinearUnits(
            means, np.log(shares / (1 - shares)), 0.1 * shares * (1 - shares), -box, box
        ),
        coupling=coupling,
    )


def compare_exactly() -> bool:
    """Print the largest differences from the quadratic program."""
    print(f"{'rows':>6}{'default: objective':>20}{'decisions':>11}{'tight: objective':>18}")
    met = True
    for n in (500, 1000, 2000, 5000):
        worst = np.zeros(3)
        for costs in ((0.01, 0.04), (1.0, 4.0), (64.0, 64.0)):
            for coupling in (2.0**-6, 1.0, 2.0**11):
                for offset in (0.0, 3.0):
                    problem = make_problem(
                        n, 20, costs=costs, coupling=coupling, seed=0, offset=offset
                    )
                    worst = np.maximum(worst, differences(problem))
        print(f"{n:6d}{worst[0]:20.1e}{worst[1]:11.1e}{worst[2]:18.1e}", flush=True)
        met &= bool(worst[0] <= 1e-4 and worst[1] <= 1e-3 and worst[2] <= 1e-6)
    print("bars 1e-4, 1e-3, 1e-6:", "met" if met else "MISSED")
    return met


def differences(problem: CoupledLinearProblem) -> Floats:
    """Return how far objective and decisions are off, and the objective at a tight tolerance."""
    assert problem.source is not None
    parts = [problem.source, problem.target]
    X = np.vstack([part.features for part in parts])
    names = ("targets", "half_widths", "lower", "upper")
    program = CoupledProblem(
        gram=X @ X.T,
        n_source=problem.source.n_units,
        coupling=problem.coupling,
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
    )
    exact = solve_sharply(program, tol=1e-6)
    decisions = X @ (exact.target_coefficients @ X) + exact.intercept_target
    default, tight = (solve_coupled_linear(problem, tol=tol) for tol in (1e-8, 1e-11))
    own = default.machines.target.scores(X)
    return np.array(
        [
            abs(default.objective / exact.objective - 1.0),
            np.abs(own - decisions).max(),
            abs(tight.objective / exact.objective - 1.0),
        ]
    )


def measure_growth(rows: list[int]) -> bool:
    """Print CPU time and memory by number of rows, and the exponent."""
    print(f"{'rows each':>10}{'fit CPU s':>11}{'passes':>8}{'gap':>9}{'fresh':>7}", end="")
    print(f"{'peak GiB':>10}{'rows GiB':>10}")
    seconds = []
    for n in rows:
        done = subprocess.run(
            [sys.executable, __file__, "one", "--rows", str(n)],
            check=True,
            capture_output=True,
            text=True,
        )
        found = json.loads(done.stdout)
        seconds.append(found["seconds"])
        print(
            f"{n:10,d}{found['seconds']:11.2f}{found['n_iter']:8d}{found['gap']:9.0e}"
            f"{found['fresh']:7.4f}{found['peak']:10.2f}{found['data']:10.2f}",
            flush=True,
        )
    exponent = float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])
    met = exponent <= EXPONENT_BAR
    print(f"exponent {exponent:.2f} (at most {EXPONENT_BAR:g}): {'met' if met else 'MISSED'}")
    return met


def fit_once(n: int) -> None:
    """Fit in this process and print what happened, as JSON."""
    X_source, y_source, X, y = make_rows(n, N_FEATURES, 0)
    _, _, X_fresh, y_fresh = make_rows(10_000, N_FEATURES, 1)
    ids = np.repeat(np.arange(n // BAG_SIZE), BAG_SIZE)
    shares = np.repeat(y.reshape(-1, BAG_SIZE).mean(axis=1), BAG_SIZE)
    bags = Bags.from_arrays(ids, shares)
    before = time.process_time()
    machine = TGPLM(C_source=100 / n, C_target=4000 / n, coupling=1.0, kernel="linear")
    machine.fit(X, bags, source=(X_source, y_source.astype(int)))
    print(
        json.dumps(
            {
                "seconds": time.process_time() - before,
                "n_iter": machine.n_iter_,
                "gap": machine.dual_gap_ / machine.objective_,
                "fresh": machine.score(X_fresh, y_fresh.astype(int)),
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "data": (X.nbytes + X_source.nbytes) / 2**30,
            }
        )
    )


def compare_with_svc(n: int, repeats: int) -> bool:
    """Print the ratio of CPU times to the same relative objective."""
    warnings.simplefilter("ignore")  # LinearSVC is stopped early on purpose
    met = True
    for cost in (1e-4, 1e-2):
        problem = make_problem(
            n, N_FEATURES, costs=(cost, 4 * cost), coupling=1.0, seed=0, offset=0.0
        )
        assert problem.source is not None
        X, signs = problem.source.features, problem.source.targets

        def svc(n_epochs: int, X: Floats = X, signs: Floats = signs, cost: float = cost) -> float:
            machine = LinearSVC(loss="hinge", C=cost, tol=1e-12, max_iter=n_epochs).fit(X, signs)
            slack = np.maximum(1.0 - signs * machine.decision_function(X), 0.0)
            weights = np.append(machine.coef_, machine.intercept_)
            return float(0.5 * weights @ weights + cost * slack.sum())

        best = svc(1000)
        n_epochs = next(k for k in range(1, 1000) if svc(k) <= (1 + SAME_OBJECTIVE) * best)
        solve = partial(solve_coupled_linear, problem, tol=SAME_OBJECTIVE)
        times = time_interleaved(solve, partial(svc, n_epochs), repeats, 600.0)
        print(
            f"C = {cost:g}: coupled {times.ours:.2f} s, LinearSVC {times.theirs:.2f} s "
            f"({n_epochs} epochs), {times.repeats} rounds"
        )
        met &= print_verdict(f"times as fast at C = {cost:g}", times.ratio, SVC_BAR)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["exactness", "growth", "svc", "one"])
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with threadpool_limits(1):
        if options.part == "one":
            fit_once(options.rows[0])
            return 0
        print_machine(options.repeats, 600.0, "numpy", "scipy", "scikit-learn")
        if options.part == "exactness":
            return 0 if compare_exactly() else 1
        if options.part == "growth":
            return 0 if measure_growth(options.rows or [10**5, 10**6, 10**7]) else 1
        rows = options.rows or [10**6]
        return 0 if all(compare_with_svc(n, options.repeats) for n in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
