# SPDX-License-Identifier: BSD-3-Clause
"""The linear machine: exactness against the quadratic program, growth with rows, LinearSVC.

    python benchmarks/linear_fit.py              # all three
    python benchmarks/linear_fit.py exactness    # two minutes
    python benchmarks/linear_fit.py growth [--machine count] [--rows 100000 1000000 10000000]
    python benchmarks/linear_fit.py svc [--rows 1000000] [--repeats 5]

* exactness: Newton's method on features against the quadratic program on their Gram matrix, from
  500 to 5,000 source rows and a fifth as many bags, 20 columns; the worst of costs from 0.01 to
  64, couplings from 2^-6 to 2^11, columns centred and three standard deviations off. Bars: at the
  default tolerance the objective agrees to 1e-4 relative and every decision value to 1e-3; at a
  thousandth of it the objective to 1e-6. Beside it what sparse rows get, dual coordinate descent
  stopped at a gap of 1e-4; without the largest costs, which are not for it, and without a bar.
* growth: `TGPLM(kernel="linear")`, or with `--machine count` `CountLikelihoodClassifier`, at
  default tolerances on as many source rows as target rows in bags of ten, 50 columns of float32,
  costs over the number of rows; each size in a process of its own. CPU seconds of `fit`; steps
  (of Newton's method, most of them over a sample or over units near a kink); duality gap or norm
  of the gradient, relative; accuracy on fresh target rows; the most memory the process held, and
  what of it are the rows. Bar: the exponent of the CPU time in rows is at most 1.1.
* svc: `TGPLM.fit` on source and bags of ten against `LinearSVC.fit` on the source alone, both on
  float64 and to 1e-4 of their own objective: TGPLM by its duality gap, LinearSVC by the fewest
  epochs that come so near to the best of 1,000. Bar: at most half the time.

One thread, CPU time. The exit status is 1 when a bar is missed.
"""

import argparse
import json
import os
import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from _apart import GIBIBYTE, forget_peak, peak_gibibytes, print_exponent, run_apart
from _timing import print_environment, print_machine, print_verdict, time_interleaved
from numpy.typing import NDArray
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift import TGPLM, Bags, CountLikelihoodClassifier
from bagshift.solvers import (
    CoupledLinearProblem,
    CoupledLinearResult,
    CoupledProblem,
    LinearUnits,
    solve_coordinate_descent,
    solve_coupled_linear,
)
from bagshift.solvers.polish import solve_sharply

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

BAG_SIZE = 10
N_FEATURES = 50
SVC_BAR = 2.0
SAME_OBJECTIVE = 1e-4
# Relative duality gap of TGPLM's solution by unit of its `tol`.
GAP_OF_TOLERANCE = 1e-5
COUPLINGS = (2.0**-6, 2.0**-3, 1.0, 2.0**4, 2.0**11)
COSTS = ((0.01, 0.04), (1.0, 4.0), (64.0, 64.0))
# Costs up to which coordinate descent is compared; beyond it takes very many epochs.
MOST_DESCENT_COST = 1.0


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
    print("Worst differences from the quadratic program; objectives are relative")
    print(f"{'':6}{'Newton, default tolerance':>28}{'tight':>12}{'coordinate descent':>24}")
    print(f"{'rows':>6}{'objective':>16}{'decisions':>12}{'objective':>12}", end="")
    print(f"{'objective':>12}{'decisions':>12}")
    met = True
    for n in (500, 1000, 2000, 5000):
        found = [
            differences(make_problem(n, 20, costs=costs, coupling=coupling, seed=0, offset=offset))
            for costs in COSTS
            for coupling in COUPLINGS
            for offset in (0.0, 3.0)
        ]
        worst = np.nanmax(found, axis=0)
        print(f"{n:6d}{worst[0]:16.1e}" + "".join(f"{value:12.1e}" for value in worst[1:]))
        met &= bool(worst[0] <= 1e-4 and worst[1] <= 1e-3 and worst[2] <= 1e-6)
    print("Bars 1e-4, 1e-3, 1e-6 of Newton's method:", "met" if met else "MISSED")
    return met


def differences(problem: CoupledLinearProblem) -> Floats:
    """Return how far objectives and decisions are off, in the order of the table."""
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

    def off(result: CoupledLinearResult) -> tuple[float, float]:
        scores = result.machines.target.scores(X)
        return abs(result.objective / exact.objective - 1.0), np.abs(scores - decisions).max()

    default, tight = (off(solve_coupled_linear(problem, tol=tol)) for tol in (1e-8, 1e-11))
    descent = (np.nan, np.nan)
    if problem.source.costs.max() <= MOST_DESCENT_COST:
        descent = off(solve_coordinate_descent(problem, max_iter=100_000))
    return np.array([*default, tight[0], *descent])


def measure_growth(machine: str, rows: list[int]) -> bool:
    """Print CPU time and memory by number of rows, and the exponent."""
    print(f"{type(MACHINES[machine](1)).__name__}, {N_FEATURES} columns of float32")
    print(f"{'rows each':>10}{'fit CPU s':>11}{'steps':>7}{'rest':>9}{'fresh':>8}", end="")
    print(f"{'peak GiB':>10}{'rows GiB':>10}")
    seconds = []
    for n in rows:
        found = run_apart(__file__, "one", "--machine", machine, "--rows", n)
        seconds.append(found["seconds"])
        print(
            f"{n:10,d}{found['seconds']:11.2f}{found['n_iter']:7d}{found['rest']:9.0e}"
            f"{found['fresh']:8.4f}{found['peak']:10.2f}{found['data']:10.2f}",
            flush=True,
        )
    return print_exponent(rows, seconds)


def in_bags(y: NDArray[np.bool_]) -> Bags:
    """Put rows into bags of ten, with the shares of their labels."""
    ids = np.repeat(np.arange(len(y) // BAG_SIZE), BAG_SIZE)
    return Bags.from_arrays(ids, np.repeat(y.reshape(-1, BAG_SIZE).mean(axis=1), BAG_SIZE))


def linear_machine(n: int) -> TGPLM:
    return TGPLM(C_source=100 / n, C_target=4000 / n, coupling=1.0, kernel="linear")


def count_machine(n: int) -> CountLikelihoodClassifier:
    return CountLikelihoodClassifier(C_source=1000 / n, C_target=10_000 / n, kernel="linear")


def fit_once(name: str, n: int) -> None:
    """Fit in this process and print what happened, as JSON."""
    X_source, y_source, X, y = make_rows(n, N_FEATURES, 0)
    bags, source = in_bags(y), (X_source, y_source.astype(int))
    forget_peak()  # that of making the data
    before = time.process_time()
    machine = MACHINES[name](n).fit(X, bags, source=source)
    seconds, peak = time.process_time() - before, peak_gibibytes()
    _, _, X_fresh, y_fresh = make_rows(10_000, N_FEATURES, 1)
    if name == "count":
        rest = machine.gradient_norm_ / np.linalg.norm(machine.coef_)
    else:
        rest = machine.dual_gap_ / machine.objective_
    print(
        json.dumps(
            {
                "seconds": seconds,
                "n_iter": machine.n_iter_,
                "rest": rest,
                "fresh": machine.score(X_fresh, y_fresh.astype(int)),
                "peak": peak,
                "data": (X.nbytes + X_source.nbytes) / GIBIBYTE,
            }
        )
    )


MACHINES = {"tgplm": linear_machine, "count": count_machine}


def compare_with_svc(n: int, repeats: int) -> bool:
    """Print the ratio of CPU times to the same relative objective."""
    warnings.simplefilter("ignore")  # LinearSVC is stopped early on purpose
    X_source, y_source, X, y = make_rows(n, N_FEATURES, 0)
    X_source, X = X_source.astype(np.float64), X.astype(np.float64)
    bags, labels = in_bags(y), y_source.astype(int)
    met = True
    for cost in (1e-4, 1e-2):
        machine = TGPLM(
            C_source=cost,
            C_target=4 * cost,
            coupling=1.0,
            kernel="linear",
            tol=SAME_OBJECTIVE / GAP_OF_TOLERANCE,
        )
        n_epochs = epochs_of_svc(X_source, y_source, cost)
        times = time_interleaved(
            partial(machine.fit, X, bags, source=(X_source, labels)),
            partial(svc_of(cost, n_epochs).fit, X_source, labels),
            repeats,
            600.0,
        )
        gap = machine.dual_gap_ / machine.objective_
        print(
            f"C = {cost:g}: TGPLM {times.ours:.2f} s (gap {gap:.0e}), LinearSVC "
            f"{times.theirs:.2f} s ({n_epochs} epochs), {times.repeats} rounds"
        )
        met &= print_verdict(f"Times as fast at C = {cost:g}", times.ratio, SVC_BAR)
    return met


def svc_of(cost: float, n_epochs: int) -> LinearSVC:
    return LinearSVC(loss="hinge", C=cost, tol=1e-12, max_iter=n_epochs)


def epochs_of_svc(X: Any, is_positive: NDArray[np.bool_], cost: float) -> int:
    """Return the fewest epochs that come near the best objective of LinearSVC."""
    signs = np.where(is_positive, 1.0, -1.0)

    def objective(n_epochs: int) -> float:
        machine = svc_of(cost, n_epochs).fit(X, signs)
        slack = np.maximum(1.0 - signs * machine.decision_function(X), 0.0)
        weights = np.append(machine.coef_, machine.intercept_)
        return float(0.5 * weights @ weights + cost * slack.sum())

    best = objective(1000)
    return next(k for k in range(1, 1000) if objective(k) <= (1 + SAME_OBJECTIVE) * best)


def run(part: str, options: argparse.Namespace) -> bool:
    """Run a part and tell whether its bars are met."""
    if part == "svc":
        print_machine(options.repeats, 600.0)
    else:
        print_environment()
    if part == "exactness":
        return compare_exactly()
    if part == "growth":
        return measure_growth(options.machine, options.rows or [10**5, 10**6, 10**7])
    met = [compare_with_svc(n, options.repeats) for n in options.rows or [10**6]]
    return all(met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("exactness", "growth", "svc")
    parser.add_argument("part", choices=["all", *parts, "one"], nargs="?", default="all")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--machine", choices=list(MACHINES), default="tgplm", help="that grows")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with threadpool_limits(1):
        if options.part == "one":
            fit_once(options.machine, options.rows[0])
            return 0
        chosen = parts if options.part == "all" else (options.part,)
        met = [run(part, options) for part in chosen]  # each is run, whatever the others say
        return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
