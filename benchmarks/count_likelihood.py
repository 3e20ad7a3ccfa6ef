# SPDX-License-Identifier: BSD-3-Clause
"""Time the count likelihood against NumPy and against the products of a linear fit.

    python benchmarks/count_likelihood.py [--repeats 15] [--rows 100000] [--seconds 20]

One pass is the log-likelihood of every bag and its gradient in every score. Contenders:

* NumPy: forward-backward over all bags at once, untilted, in blocks that fit into the cache, for
  bags up to 256 rows; for larger ones the tilted saddle-point approximation with its gradient,
  which is not exact;
* the matrix-vector products of a linear fit with 50 features on the same rows, X w and X'g.

Scores at the start of a fit (zero but for the mean share) and near its end (the counts are drawn
from the scores). Thread CPU time, one thread each, contenders interleaved, medians.

Bar: for bags up to 32 rows the pass costs less than the products. The exit status is 1 when it is
missed.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from threadpoolctl import threadpool_info, threadpool_limits

from bagshift.solvers.count_likelihood import BagCounts, CountPosterior, count_posterior

Array = NDArray[np.float64]

SIZES = (1, 2, 8, 32, 256, 10_000)
LARGEST_BARRED_SIZE = 32
LARGEST_RECURSION = 256
N_FEATURES = 50
BLOCK_ENTRIES = 1_000_000


def draw_bags(size: int, n_rows: int, stage: str) -> tuple[Array, BagCounts]:
    """Draw scores and counts: "end" of a fit with a share of 0.3, or its "start"."""
    rng = np.random.default_rng(size)
    n_bags = max(1, n_rows // size)
    truth = 2.0 * rng.normal(size=n_bags * size) - 1.3
    positive = rng.random(truth.size) < expit(truth)
    counts = positive.reshape(n_bags, size).sum(axis=1)
    share = positive.mean()
    start = np.full(truth.size, np.log(share / (1 - share)))
    scores = truth if stage == "end" else start
    return scores, BagCounts.exact(counts, np.full(n_bags, size))


def numpy_recursion(scores: Array, counts: Array) -> tuple[Array, Array]:
    """Forward-backward over bags of one size, scores of shape (bags, size)."""
    n_bags, size = scores.shape
    width = int(counts.max()) + 1
    success, failure = expit(scores), expit(-scores)
    forward = np.zeros((size + 1, n_bags, width))
    forward[0, :, 0] = 1.0
    for j in range(size):
        np.multiply(forward[j], failure[:, j, None], out=forward[j + 1])
        forward[j + 1, :, 1:] += success[:, j, None] * forward[j, :, :-1]
    total = forward[size, np.arange(n_bags), counts]
    backward = np.zeros((n_bags, width))
    backward[np.arange(n_bags), counts] = 1.0 / total
    posterior = np.empty_like(scores)
    for j in range(size)[::-1]:
        with_row = success[:, j, None] * backward[:, 1:]
        posterior[:, j] = np.einsum("bc,bc->b", forward[j, :, :-1], with_row)
        backward *= failure[:, j, None]
        backward[:, :-1] += with_row
    return np.log(total), posterior


def numpy_saddle_point(scores: Array, counts: Array) -> tuple[Array, Array]:
    """Tilt by Newton steps, then the saddle point with its own gradient."""
    size = scores.shape[1]
    share = counts / size
    theta = np.zeros(len(scores))
    for _ in range(50):
        tilted = expit(scores + theta[:, None])
        variance = (tilted * (1 - tilted)).sum(axis=1)
        distance = counts - tilted.sum(axis=1)
        if np.abs(distance).max() < 1e-9 * size:
            break
        theta += distance / variance
    cumulant = (log_expit(-scores) - log_expit(-scores - theta[:, None])).sum(axis=1)
    spread = tilted * (1 - tilted)
    skew = (spread * (1 - 2 * tilted)).sum(axis=1)
    bend = (1 - 2 * tilted) - (skew / variance)[:, None]
    posterior = tilted - spread * bend / (2 * variance[:, None])
    return cumulant - theta * share * size - 0.5 * np.log(2 * np.pi * variance), posterior


def numpy_pass(scores: Array, counts: BagCounts) -> tuple[Array, Array]:
    """Likelihood and posterior for bags of one size, some bags at a time."""
    size = int(counts.sizes[0])
    method = numpy_recursion if size <= LARGEST_RECURSION else numpy_saddle_point
    entries = size * (size // 2 if size <= LARGEST_RECURSION else 1)
    block = max(1, BLOCK_ENTRIES // max(entries, 1))
    table = scores.reshape(-1, size)
    parts = [
        method(table[k : k + block], counts.first_counts[k : k + block])
        for k in range(0, len(table), block)
    ]
    values, posteriors = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(posteriors).ravel()


def products(X: Array, weights: Array, gradient: Array) -> tuple[Array, Array]:
    return X @ weights, X.T @ gradient


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


def time_interleaved(
    contenders: list[Callable[[], object]], repeats: int, seconds: float
) -> list[float]:
    """Medians over `repeats` rounds, or as many as fit into `seconds`, at least one."""
    times: list[list[float]] = [[] for _ in contenders]
    begin = time.monotonic()
    for done in range(1, repeats + 1):
        for taken, run in zip(times, contenders, strict=True):
            taken.append(cpu_seconds(run))
        elapsed = time.monotonic() - begin
        if elapsed + elapsed / done > seconds:
            break
    return [float(np.median(taken)) for taken in times]


def difference(ours: CountPosterior, theirs: tuple[Array, Array]) -> float:
    """Largest difference of a log-likelihood or a posterior probability."""
    return max(
        float(np.abs(ours.log_likelihood - theirs[0]).max()),
        float(np.abs(ours.probability - theirs[1]).max()),
    )


def compare(size: int, stage: str, options: argparse.Namespace) -> float:
    """Print one line; the time of the products over ours."""
    scores, counts = draw_bags(size, options.rows, stage)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(scores.size, N_FEATURES))
    ours = partial(count_posterior, scores, counts)
    theirs = partial(numpy_pass, scores, counts)
    error = difference(ours(), theirs())
    linear = partial(products, X, rng.normal(size=N_FEATURES), rng.normal(size=scores.size))
    seconds = time_interleaved([ours, theirs, linear], options.repeats, options.seconds)
    rates = [scores.size / taken / 1e6 for taken in seconds]
    print(
        f"{size:8d} {stage:>6} {rates[0]:10.1f} {rates[1]:10.2f} {rates[2]:10.1f} "
        f"{rates[0] / rates[1]:10.1f} {rates[0] / rates[2]:10.2f} {error:10.1e}",
        flush=True,
    )
    return rates[0] / rates[2]


def print_machine(options: argparse.Namespace) -> None:
    libraries = ", ".join(
        f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()
    )
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )
    print(f"Threads: {libraries}; bagshift 1")
    print(
        f"{options.rows} rows, thread CPU time, interleaved, medians of {options.repeats} rounds, "
        f"or of as many as fit into {options.seconds:g} s"
    )
    print("\nMillion rows per second; ratios above 1 favour bagshift")
    print(
        f"{'bag size':>8} {'fit':>6} {'bagshift':>10} {'NumPy':>10} {'products':>10} "
        f"{'to NumPy':>10} {'to product':>10} {'difference':>10}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds for each cell")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of one cell")
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        print_machine(options)
        ratios = {
            (size, stage): compare(size, stage, options)
            for size in SIZES
            for stage in ("start", "end")
        }
    worst = min(ratio for (size, _), ratio in ratios.items() if size <= LARGEST_BARRED_SIZE)
    met = worst > 1.0
    print(
        f"\nProducts over likelihood, bags up to {LARGEST_BARRED_SIZE} rows, worst cell: "
        f"{worst:.2f} (bar 1) {'met' if met else 'MISSED'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
