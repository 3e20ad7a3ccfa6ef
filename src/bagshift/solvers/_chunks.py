# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of rows: how large they are, and who computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Result = TypeVar("Result")

# Rows that are summed up before the tree of sums goes on. Part of what a solution is to the last
# digit, so the same everywhere.
CHUNK_ROWS = 8192
_LARGEST_KEPT = 30 * 2**20


def in_order(
    pool: Executor | None, compute: Callable[[int], Result], n_chunks: int
) -> Iterator[Result]:
    """Compute something of every chunk's number; results come in order."""
    numbers = range(n_chunks)
    return map(compute, numbers) if pool is None else pool.map(compute, numbers)


def both(
    first: Callable[[], Result], second: Callable[[], Result], *, together: bool
) -> tuple[Result, Result]:
    """Compute two things, one after the other, or waiting for both where others compute them."""
    if not together:
        return first(), second()
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(second)
        return first(), later.result()


def _keep_freed_memory() -> None:
    """Have the allocator keep what a chunk gives back for the next one.

    The GNU allocator gives memory back to the system beyond twice the largest block that it was
    ever given back, up to this size. Without such a block every chunk's arrays are given back and
    faulted in again, which takes as long as the computations.
    """
    np.empty(_LARGEST_KEPT, dtype=np.uint8)


@contextmanager
def threads(n_threads: int) -> Iterator[Executor | None]:
    """Give a pool of threads that compute with one thread each; None for one thread.

    Parameters
    ----------
    n_threads : int

    Yields
    ------
    Executor or None
    """
    # Also for one thread, so that sums do not depend on how a library shares a product out.
    with threadpool_limits(1):
        if n_threads == 1:
            _keep_freed_memory()
            yield None
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool
