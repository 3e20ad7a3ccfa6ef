# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of a fit, and the refusal of a kernel matrix that does not fit.

    python benchmarks/memory.py                  # TGPLM on 10,000 source rows and 2,500 bags
    python benchmarks/memory.py --gram-only      # its kernel matrix alone

Each precision is measured in a process of its own: the peak resident memory of the process less
what was resident before the fit (libraries and data). The bar is the matrix over source rows and
bags plus ``TILES`` tiles of doubles; everything held beyond the data counts, solver vectors and
the fitted model included. Then 120,000 source rows of one feature show the refusal.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from _apart import resident_bytes
from threadpoolctl import threadpool_limits

MIB = 2**20
TILES = 12
PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class Size:
    """Rows of a problem; the target rows fall into bags of equal size."""

    n_source: int
    n_target: int
    n_bags: int
    n_features: int

    def gram_bytes(self, dtype: str) -> int:
        """Return the size of the kernel matrix over source rows and bags."""
        return (self.n_source + self.n_bags) ** 2 * np.dtype(dtype).itemsize


@dataclass(frozen=True)
class Measurement:
    """What one fit took."""

    peak_bytes: int
    cpu_seconds: float
    note: str


def make_problem(size: Size, dtype: str) -> tuple[Any, Any, Any, Any, Any]:
    """Draw two shifted Gaussian domains; return rows, labels, bag ids and shares."""
    rng = np.random.default_rng(0)
    direction = np.ones(size.n_features) / np.sqrt(size.n_features)
    domains = []
    for n_rows, shift in ((size.n_source, 0.0), (size.n_target, 0.5)):
        labels = rng.random(n_rows) < 0.5
        rows = rng.normal(size=(n_rows, size.n_features)) + shift
        rows += np.where(labels, 1.0, -1.0)[:, None] * direction
        domains.append((rows.astype(dtype), labels))
    (X_source, y_source), (X_target, y_target) = domains
    bag_ids = rng.permutation(np.arange(size.n_target) % size.n_bags)
    positives = np.bincount(bag_ids, weights=y_target, minlength=size.n_bags)
    shares = dict(enumerate(positives / np.bincount(bag_ids, minlength=size.n_bags)))
    return X_source, y_source.astype(int), X_target, bag_ids, shares


def fit_machine(size: Size, dtype: str) -> Callable[[], str]:
    """Prepare the fit of a TGPLM."""
    from bagshift import TGPLM, Bags

    X_source, y_source, X_target, bag_ids, shares = make_problem(size, dtype)
    bags = Bags.from_arrays(bag_ids, shares)

    def fit() -> str:
        model = TGPLM().fit(X_target, bags, source=(X_source, y_source))
        return f"{model.n_iter_} iterations, converged: {model.converged_}"

    return fit


def build_gram(size: Size, dtype: str) -> Callable[[], str]:
    """Prepare the kernel matrix alone."""
    from bagshift.kernels import resolve_kernel, unit_gram

    X_source, _, X_target, bag_ids, _ = make_problem(size, dtype)

    def build() -> str:
        kernel = resolve_kernel("rbf", "scale", 3, 0.0, X_source, X_target)
        gram = unit_gram(kernel, X_source, X_target, bag_ids, size.n_bags)
        return f"{gram.shape[0]:,} x {gram.shape[1]:,} {gram.dtype}"

    return build


def _measure_here(sender: Connection, size: Size, dtype: str, gram_only: bool) -> None:
    with threadpool_limits(1):
        run = (build_gram if gram_only else fit_machine)(size, dtype)
        before, start = resident_bytes(), time.process_time()
        note = run()
        cpu_seconds = time.process_time() - start
    sender.send(Measurement(resident_bytes("VmHWM") - before, cpu_seconds, note))


def measure(size: Size, dtype: str, *, gram_only: bool) -> Measurement:
    """Run one fit in a new process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure_here, args=(sender, size, dtype, gram_only))
    process.start()
    sender.close()
    measured: Measurement = receiver.recv()
    process.join()
    return measured


def refusal(n_source: int, n_bags: int) -> str:
    """Return what a fit on too many rows is told."""
    from bagshift.exceptions import KernelMemoryError
    from bagshift.kernels import Kernel, unit_gram

    X_source, X_target = np.zeros((n_source, 1)), np.zeros((n_bags, 1))
    before = resident_bytes("VmHWM")
    try:
        unit_gram(Kernel("rbf"), X_source, X_target, np.arange(n_bags), n_bags)
    except KernelMemoryError as error:
        taken = (resident_bytes("VmHWM") - before) / MIB
        return f"{error}\n({taken:.1f} MiB taken before the refusal)"
    return "This machine has the memory for it: nothing was refused."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-source", type=int, default=10_000)
    parser.add_argument("--n-target", type=int, default=20_000)
    parser.add_argument("--n-bags", type=int, default=2_500)
    parser.add_argument("--n-features", type=int, default=20)
    parser.add_argument("--gram-only", action="store_true", help="build the matrix, do not fit")
    parser.add_argument("--refused-source", type=int, default=120_000)
    given = parser.parse_args()
    size = Size(given.n_source, given.n_target, given.n_bags, given.n_features)

    from bagshift.kernels import TILE_ROWS

    tiles = TILES * TILE_ROWS**2 * 8
    what = "kernel matrix" if given.gram_only else "TGPLM fit"
    print(f"{what}: {size.n_source:,} source rows, {size.n_target:,} target rows, ", end="")
    print(f"{size.n_bags:,} bags, {size.n_features} features; MiB above libraries and data")
    print(f"{'':8} {'peak':>8} {'matrix':>8} {'+ tiles':>8} {'within':>7} {'CPU s':>7}")
    all_within = True
    for dtype in PRECISIONS:
        measured = measure(size, dtype, gram_only=given.gram_only)
        matrix = size.gram_bytes(dtype)
        within = measured.peak_bytes <= matrix + tiles
        all_within &= within
        numbers = [n / MIB for n in (measured.peak_bytes, matrix, matrix + tiles)]
        print(f"{dtype:8} " + " ".join(f"{n:8,.0f}" for n in numbers), end=" ")
        print(f"{'yes' if within else 'NO':>7} {measured.cpu_seconds:7.1f}  {measured.note}")
    print()
    print(refusal(given.refused_source, given.n_bags))
    return 0 if all_within else 1


if __name__ == "__main__":
    sys.exit(main())
