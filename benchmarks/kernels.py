# SPDX-License-Identifier: BSD-3-Clause
"""Time kernels of many widths against as many exponentials, and bag kernels against full ones.

    python benchmarks/kernels.py [--repeats 15] [--seconds 60]

Thread CPU time, one thread, contenders interleaved, medians; 20 columns.

* The 13 widths of the paper's grid on one tile: repeated squares of one exponential, against the
  distances once and 13 exponentials of them by NumPy. Whole matrices of 13 widths are timed too,
  without a bar, for they cost more in writing than in computing.
* 12,000 target rows in 300 bags: the kernel matrix of the bags by tiles, against scikit-learn's
  `rbf_kernel` of all rows and its means over bags; and the peak memory of ours, in a process of
  its own, above the rows and the libraries.

Bars: 13 widths at least 6 times faster, values not subnormal within a relative error of 1e-12; the
bags at least 3 times faster, within 120 MiB. The exit status is 1 when one is missed.
"""

import argparse
import sys
from functools import partial

import numpy as np
from _programs import make_domains
from _timing import Timing, print_machine, print_verdict, time_interleaved
from memory import MIB, Size, measure
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from bagshift.kernels import TILE_ROWS, Kernel, unit_gram, unit_grams
from bagshift.kernels._functions import centred_products
from bagshift.kernels._ladders import ladder_values

Floats = NDArray[np.float64]

N_FEATURES = 20
KERNELS = [Kernel("rbf", gamma=2.0**k / N_FEATURES) for k in range(-6, 7)]
WIDTHS_BAR = 6.0
ERROR_BAR = 1e-12

# Rows of each domain, in bags of about eight.
PROBLEMS = (100, 300, 1000)

N_ROWS, N_BAGS = 12_000, 300
BAGS_BAR = 3.0
MEMORY_BAR = 120 * MIB


def by_squares(A: Floats, B: Floats) -> None:
    for _ in ladder_values(KERNELS, A, B):
        pass


def by_exponentials(A: Floats, B: Floats, values: Floats) -> None:
    """Take an exponential for every width, of distances that are computed once."""
    products, left_norms, right_norms = centred_products(A, B, 1.0)
    distances = left_norms[:, None] + right_norms
    distances -= 2.0 * products
    for kernel in KERNELS:
        np.multiply(distances, -kernel.gamma, out=values)
        np.exp(values, out=values)


def largest_error(A: Floats, B: Floats) -> float:
    """Return the largest relative error of squares against exponentials."""
    errors = []
    for kernel, values in zip(KERNELS, ladder_values(KERNELS, A, B), strict=True):
        direct = kernel(A, B)
        normal = direct > np.finfo(np.float64).tiny
        errors.append(np.max(np.abs(values - direct)[normal] / direct[normal]))
    return float(max(errors))


def print_row(what: str, timing: Timing) -> None:
    print(
        f"{what:42} {1e3 * timing.ours:10.2f} {1e3 * timing.theirs:10.2f} {timing.ratio:8.2f} "
        f"{timing.repeats:4d}",
        flush=True,
    )


def compare_widths(repeats: int, seconds: float) -> list[bool]:
    A, B = np.random.default_rng(0).normal(size=(2, TILE_ROWS, N_FEATURES))
    values = np.empty((TILE_ROWS, TILE_ROWS))
    tile = time_interleaved(
        partial(by_squares, A, B), partial(by_exponentials, A, B, values), repeats, seconds
    )
    print_row(f"13 widths, {TILE_ROWS} x {TILE_ROWS} rows", tile)
    for n in PROBLEMS:
        domains = make_domains("mixed", n)
        given = domains.source, domains.target, domains.bag_of_row, len(domains.shares)
        timing = time_interleaved(
            lambda given=given: unit_grams(KERNELS, *given),
            lambda given=given: [unit_gram(kernel, *given) for kernel in KERNELS],
            repeats,
            seconds,
        )
        print_row(f"13 matrices, 2 x {n} rows in {given[3]} bags", timing)
    error = largest_error(A, B)
    print(f"Largest relative error of the squares: {error:.1e}")
    return [
        print_verdict("13 exponentials / 13 widths", tile.ratio, WIDTHS_BAR),
        print_verdict("1e-12 / largest error", ERROR_BAR / error, 1.0),
    ]


def full_then_means(X: Floats, means: sparse.csr_array, gamma: float) -> Floats:
    averaged: Floats = means @ (means @ rbf_kernel(X, gamma=gamma)).T
    return averaged


def compare_bags(repeats: int, seconds: float) -> list[bool]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    bag_of_row = rng.permutation(np.arange(N_ROWS) % N_BAGS)
    weights = np.full(N_ROWS, N_BAGS / N_ROWS)
    means = sparse.csr_array((weights, (bag_of_row, np.arange(N_ROWS))), shape=(N_BAGS, N_ROWS))
    kernel = Kernel("rbf", gamma=1 / N_FEATURES)
    ours = partial(unit_gram, kernel, None, X, bag_of_row, N_BAGS)
    theirs = partial(full_then_means, X, means, kernel.gamma)
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-9)
    timing = time_interleaved(ours, theirs, repeats, seconds)
    print_row(f"{N_ROWS:,} rows in {N_BAGS} bags, full kernel", timing)
    peak = measure(Size(0, N_ROWS, N_BAGS, N_FEATURES), "float64", gram_only=True).peak_bytes
    print(f"Peak memory of the bags above the rows: {peak / MIB:.1f} MiB")
    return [
        print_verdict("Full kernel and means / bags", timing.ratio, BAGS_BAR),
        print_verdict("120 MiB / peak memory", MEMORY_BAR / peak, 1.0),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds for each line")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for a line")
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        print_machine(options.repeats, options.seconds)
        print(f"\n{'times in ms':42} {'bagshift':>10} {'other':>10} {'ratio':>8} {'runs':>4}")
        met = compare_widths(options.repeats, options.seconds)
        print()
        met += compare_bags(options.repeats, options.seconds)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
