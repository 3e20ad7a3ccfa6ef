# SPDX-License-Identifier: BSD-3-Clause
"""Time fits against fits on the true labels of the same rows, or of as many.

    python benchmarks/fit_time.py [--repeats 15] [--seconds 120]

One setting each, no search. Thread CPU time, one thread, contenders interleaved, medians.

* Small: 100 rows in 12 columns, where most of a fit is checks of its input. `SourceSVM` on the
  labels of 100 source rows and `TGPLM` on 50 source rows and 50 target rows in bags of 5, both
  with an RBF kernel and their defaults, against `SVC` on labels of 100 rows.

* Linear: 600 source rows and 800 target rows in bags of 8 of 20 newsgroups, comp/sci, tf-idf;
  `CountLikelihoodClassifier` with both costs C against scikit-learn's `LogisticRegression` with
  the same C on source and target rows stacked, true labels, its own default tolerance.
* RBF: 2,000 source and 2,000 target rows in bags of 8, two shifted Gaussian classes in 20
  columns; the default `CountLikelihoodClassifier(kernel="rbf")` against `SVC` on a precomputed
  kernel matrix of all 4,000 rows, true labels; with the time of the kernel matrix and without.

With start="source" a fit is one solution; with "auto" there are two, and where they differ
cross-validation of both.

Bars: the linear fit takes at most 10 times as long as LogisticRegression, whatever C and start;
the small fit of SourceSVM at most half as long as that of SVC. The exit status is 1 when one is
missed.
"""

import argparse
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
import sklearn
from _protocol import Draw, data_folder, make_draw
from _timing import print_verdict
from _timing import time_interleaved as time_pair
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from bagshift import TGPLM, CountLikelihoodClassifier, SourceSVM

Floats = NDArray[np.float64]

BAG_SIZE = 8
COSTS = (1.0, 64.0)
STARTS = ("source", "auto")
LINEAR_BAR = 10.0
N_ROWS = 2000
N_FEATURES = 20
SMALL_BAR = 2.0
SMALL_ROWS = 100
SMALL_FEATURES = 12
SMALL_BAG_SIZE = 5


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


def time_interleaved(
    contenders: list[Callable[[], object]], repeats: int, seconds: float
) -> tuple[list[float], int]:
    """Medians over `repeats` rounds, or as many as fit into `seconds`, at least one."""
    times: list[list[float]] = [[] for _ in contenders]
    begin = time.monotonic()
    for done in range(1, repeats + 1):
        for taken, run in zip(times, contenders, strict=True):
            taken.append(cpu_seconds(run))
        elapsed = time.monotonic() - begin
        if elapsed + elapsed / done > seconds:
            break
    return [float(np.median(taken)) for taken in times], done


def fit_ours(machine: CountLikelihoodClassifier, draw: Draw) -> CountLikelihoodClassifier:
    return machine.fit(draw.X_bagged, draw.bags, source=draw.source)


def compare_linear(draw: Draw, options: argparse.Namespace) -> dict[str, float]:
    """Print a line per C and start; return the largest ratio of each start."""
    X = sp.vstack([draw.X_source, draw.X_bagged]).tocsr()
    y = np.concatenate([draw.y_source, draw.y_bagged])
    print(
        f"\nLinear, tf-idf: {draw.X_source.shape[0]} source rows, {len(draw.y_bagged)} target "
        f"rows in bags of {BAG_SIZE}, {X.shape[1]} columns; times in ms"
    )
    print(f"{'C':>5} {'start':>8} {'bagshift':>10} {'LogisticRegression':>20} {'ratio':>8} runs")
    worst = dict.fromkeys(STARTS, 0.0)
    for cost in COSTS:
        for start in STARTS:
            machine = CountLikelihoodClassifier(cost, cost, kernel="linear", start=start)
            logistic = LogisticRegression(C=cost, max_iter=1000)
            seconds, rounds = time_interleaved(
                [partial(fit_ours, machine, draw), partial(logistic.fit, X, y)],
                options.repeats,
                options.seconds,
            )
            ratio = seconds[0] / seconds[1]
            worst[start] = max(worst[start], ratio)
            print(
                f"{cost:5g} {start:>8} {1e3 * seconds[0]:10.1f} {1e3 * seconds[1]:20.1f} "
                f"{ratio:8.2f} {rounds:4d}",
                flush=True,
            )
    return worst


def two_domains(n_rows: int, n_features: int, bag_size: int) -> Draw:
    """Two Gaussian classes; the target is shifted and turned against the source."""
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(2, n_features)) / np.sqrt(n_features)
    y_source, y_bagged = rng.choice([-1, 1], size=(2, n_rows))
    X_source = rng.normal(size=(n_rows, n_features)) + 2.0 * y_source[:, None] * direction[0]
    turned = direction[0] + 0.5 * direction[1]
    X_bagged = rng.normal(size=(n_rows, n_features)) + 2.0 * y_bagged[:, None] * turned + 0.3
    shares = (y_bagged > 0).reshape(-1, bag_size).mean(axis=1)
    return Draw(
        kernel="linear",
        X_source=X_source,
        y_source=y_source,
        X_bagged=X_bagged,
        y_bagged=y_bagged,
        bag_ids=np.arange(n_rows) // bag_size,
        shares=dict(enumerate(shares)),
        X_fresh=X_bagged,
        y_fresh=y_bagged,
        seed=0,
    )


def compare_small(options: argparse.Namespace) -> float:
    """Print a line for each machine; return how many times faster than SVC SourceSVM is."""
    labelled = two_domains(SMALL_ROWS, SMALL_FEATURES, SMALL_BAG_SIZE)
    mixed = two_domains(SMALL_ROWS // 2, SMALL_FEATURES, SMALL_BAG_SIZE)
    X, y = labelled.X_source, labelled.y_source
    bags = mixed.bags
    source = mixed.source
    print(f"\nSmall: {SMALL_ROWS} rows, {SMALL_FEATURES} columns, RBF; times in ms")
    print(f"{'machine':>10} {'bagshift':>10} {'SVC':>10} {'SVC over bagshift':>18} runs")
    faster = []
    for name, fit in (
        ("SourceSVM", partial(SourceSVM().fit, X, y)),
        ("TGPLM", partial(TGPLM().fit, mixed.X_bagged, bags, source=source)),
    ):
        timing = time_pair(fit, partial(SVC().fit, X, y), options.repeats, options.seconds)
        faster.append(timing.ratio)
        print(
            f"{name:>10} {1e3 * timing.ours:10.3f} {1e3 * timing.theirs:10.3f} "
            f"{timing.ratio:18.2f} {timing.repeats:4d}",
            flush=True,
        )
    return faster[0]


def compare_rbf(options: argparse.Namespace) -> None:
    draw = two_domains(N_ROWS, N_FEATURES, BAG_SIZE)
    X = np.vstack([draw.X_source, draw.X_bagged])
    y = np.concatenate([draw.y_source, draw.y_bagged])
    gamma = 1.0 / (X.shape[1] * X.var())
    gram = rbf_kernel(X, gamma=gamma)
    print(f"\nRBF: {N_ROWS} source and {N_ROWS} target rows in bags of {BAG_SIZE}; times in ms")
    print(
        f"{'start':>8} {'bagshift':>10} {'SVC':>10} {'ratio':>8} {'kernel and SVC':>15} "
        f"{'ratio':>8} runs"
    )
    for start in STARTS:
        machine = CountLikelihoodClassifier(kernel="rbf", start=start)
        seconds, rounds = time_interleaved(
            [
                partial(fit_ours, machine, draw),
                partial(SVC(kernel="precomputed").fit, gram, y),
                partial(rbf_kernel, X, gamma=gamma),
            ],
            options.repeats,
            options.seconds,
        )
        ours, svc, kernel = seconds
        print(
            f"{start:>8} {1e3 * ours:10.0f} {1e3 * svc:10.0f} {ours / svc:8.2f} "
            f"{1e3 * (svc + kernel):15.0f} {ours / (svc + kernel):8.2f} {rounds:4d}",
            flush=True,
        )


def print_machine(options: argparse.Namespace) -> None:
    libraries = ", ".join(
        f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()
    )
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, {platform.machine()}, {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    print(f"Threads: {libraries}; bagshift 1")
    print(
        f"Thread CPU time, interleaved, medians of {options.repeats} rounds, or of as many as fit "
        f"into {options.seconds:g} s; ratios are bagshift over the other but where said"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds for each line")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of one line")
    options = parser.parse_args()
    folder = data_folder()
    worst: dict[str, float] = {}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print_machine(options)
        faster = compare_small(options)
        if folder is None:
            print("\nSKIPPED, linear: the data sets are absent; set BAGSHIFT_DATA.")
        else:
            draw = make_draw("comp/sci", folder, BAG_SIZE, seed=0)
            worst = compare_linear(draw, options)
        compare_rbf(options)
    print()
    for start, ratio in worst.items():
        verdict = "reached" if ratio <= LINEAR_BAR else "MISSED"
        print(
            f"Linear over LogisticRegression, start={start!r}: {ratio:.2f} "
            f"(bar {LINEAR_BAR:g} {verdict})"
        )
    is_reached = print_verdict("Small, SVC over SourceSVM", faster, SMALL_BAR)
    is_reached &= all(ratio <= LINEAR_BAR for ratio in worst.values())
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main())
