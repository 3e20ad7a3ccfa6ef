# SPDX-License-Identifier: BSD-3-Clause
"""What knowing the law of the noise is worth, when counts were noised for privacy.

    python benchmarks/noise.py --jobs 2 --output noise.csv
    python benchmarks/noise.py --output noise.csv --report

Protocol: ``_protocol.py``, bags of 32. The count of every bag is released with noise for label
differential privacy at epsilon = 1 and 0.3, by two mechanisms: two-sided geometric noise
(``noise_counts``) and Laplace noise of scale 1 / epsilon on the count. Releases are not clipped.
``CountLikelihoodCV()`` with the source and no parameter touched is fitted to

* exact: the exact counts;
* law: the noisy numbers with the law of their noise;
* ignored: the noisy numbers clipped to the range of a count and rounded to a whole one, as if
  they were exact.

Figures are accuracies on fresh rows, differences are paired by draw, with bootstrap intervals.
Bar: at each epsilon, law is better than ignored on the mean over tasks and mechanisms.
"""

import argparse
import sys
from functools import partial
from typing import Any

import numpy as np
from _protocol import Draw, bootstrap_interval, data_folder, shares_of, tasks_of
from _runs import Fit, Plan, Row, add_arguments, held_in, run
from numpy.typing import NDArray

from bagshift import Bags, CountLikelihoodCV
from bagshift.noise import LaplaceNoise
from bagshift.privacy import noise_counts

Floats = NDArray[np.float64]

BAG_SIZE = 32
EPSILONS = (1.0, 0.3)
MECHANISMS = ("geometric", "laplace")
DEFAULT_TASKS = ["comp/sci", "orgs/people", "dos/r2l"]
EXACT = "exact"


def released(draw: Draw, mechanism: str, epsilon: float) -> Bags:
    """Return the bags of a draw with noisy numbers and their law."""
    if mechanism == "geometric":
        return noise_counts(draw.bags, epsilon, testing=True, seed=draw.seed)
    noise = np.random.default_rng(draw.seed).laplace(scale=1.0 / epsilon, size=len(draw.shares))
    counts = shares_of(draw) * BAG_SIZE + noise
    law = LaplaceNoise(1.0 / epsilon, unit="counts")
    return Bags.from_arrays(
        draw.bag_ids, counts=dict(enumerate(counts)), noise=law, positive=1, negative=-1
    )


def taken_as_exact(draw: Draw, noisy: Bags) -> Bags:
    """Return bags with the nearest possible counts to noisy ones, and no law."""
    counts = np.rint(np.clip(noisy.positive_shares, 0.0, 1.0) * BAG_SIZE).astype(int)
    return Bags.from_arrays(draw.bag_ids, counts=dict(enumerate(counts)), positive=1, negative=-1)


def fit_bags(draw: Draw, bags: Bags) -> tuple[Any, dict[str, Any]]:
    search = CountLikelihoodCV().fit(draw.X_bagged, bags, source=draw.source)
    return search, search.best_params_


def fit_exact(draw: Draw) -> tuple[Any, dict[str, Any]]:
    return fit_bags(draw, draw.bags)


def fit_noisy(
    draw: Draw, *, mechanism: str, epsilon: float, knows_law: bool
) -> tuple[Any, dict[str, Any]]:
    noisy = released(draw, mechanism, epsilon)
    return fit_bags(draw, noisy if knows_law else taken_as_exact(draw, noisy))


def name_of(mechanism: str, epsilon: float, knows_law: bool) -> str:
    return f"{mechanism} {epsilon:g} {'law' if knows_law else 'ignored'}"


def methods() -> dict[str, Fit]:
    found: dict[str, Fit] = {EXACT: fit_exact}
    for mechanism in MECHANISMS:
        for epsilon in EPSILONS:
            for knows_law in (True, False):
                found[name_of(mechanism, epsilon, knows_law)] = partial(
                    fit_noisy, mechanism=mechanism, epsilon=epsilon, knows_law=knows_law
                )
    return found


def difference(rows: list[Row], task: str, better: str, worse: str) -> Floats:
    """Return by how much one method is better than another on their common draws, in points."""
    fresh = {(r.method, r.draw): r.fresh for r in rows if r.task == task}
    draws = sorted({d for m, d in fresh if m == better} & {d for m, d in fresh if m == worse})
    return np.array([100 * (fresh[better, d] - fresh[worse, d]) for d in draws])


def with_interval(values: Floats) -> str:
    low, high = bootstrap_interval(values)
    return f"{values.mean():+.2f} [{low:+.2f}, {high:+.2f}]"


def print_task(rows: list[Row], task: str) -> None:
    def mean(method: str) -> float:
        return float(np.mean([r.fresh for r in rows if (r.task, r.method) == (task, method)]))

    print(f"\n{task}, bags of {BAG_SIZE}: fresh accuracy; paired differences in points")
    print(
        f"  {'noise':10}{'epsilon':>8}{'draws':>7}{'exact':>8}{'law':>8}{'ignored':>9}  "
        f"{'law - ignored':24}{'law - exact':24}"
    )
    for mechanism in MECHANISMS:
        for epsilon in EPSILONS:
            law, ignored = (name_of(mechanism, epsilon, knows) for knows in (True, False))
            gain = difference(rows, task, law, ignored)
            loss = difference(rows, task, law, EXACT)
            if not len(gain) or not len(loss):
                continue
            print(
                f"  {mechanism:10}{epsilon:8g}{len(gain):7d}{mean(EXACT):8.3f}{mean(law):8.3f}"
                f"{mean(ignored):9.3f}  {with_interval(gain):24}{with_interval(loss):24}".rstrip()
            )


def print_bar(rows: list[Row], tasks: list[str], epsilon: float) -> bool:
    """Print the mean gain over tasks and mechanisms; resample draws within each."""
    gains = [
        difference(
            rows, task, name_of(mechanism, epsilon, True), name_of(mechanism, epsilon, False)
        )
        for task in tasks
        for mechanism in MECHANISMS
    ]
    gains = [values for values in gains if len(values)]
    if not gains:
        return True
    rng = np.random.default_rng(0)
    resampled = np.mean(
        [v[rng.integers(len(v), size=(10_000, len(v)))].mean(axis=1) for v in gains], axis=0
    )
    low, high = np.percentile(resampled, [2.5, 97.5])
    mean = float(np.mean([values.mean() for values in gains]))
    print(
        f"epsilon {epsilon:g}, law - ignored over tasks and mechanisms: {mean:+.2f} "
        f"[{low:+.2f}, {high:+.2f}] points (bar 0 {'reached' if mean > 0 else 'MISSED'})"
    )
    return mean > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    possible = tasks_of(BAG_SIZE)
    parser.add_argument("--tasks", nargs="+", choices=possible, default=DEFAULT_TASKS)
    add_arguments(parser)
    args = parser.parse_args()
    if data_folder() is None:
        print(
            "SKIPPED: the data sets are absent; put them into ../shared/data beside the "
            "repository or set BAGSHIFT_DATA."
        )
        return 0
    plan = Plan(methods(), args.tasks, BAG_SIZE, args.draws, args.jobs, args.output)
    rows = list(held_in(plan).values()) if args.report else run(plan)
    for task in args.tasks:
        print_task(rows, task)
    print()
    met = [print_bar(rows, args.tasks, epsilon) for epsilon in EPSILONS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
