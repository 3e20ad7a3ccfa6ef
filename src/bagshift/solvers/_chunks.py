# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of rows: how large they are, and who computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Result = TypeVar("Result")

# Rows that are summed up before the tree of sums goes on. Part of what a solution is to the last
# digit, so the same everywhere.
CHUNK_ROWS = 8192


def in_order(
    pool: Executor | None, compute: Callable[[int], Result], n_chunks: int
) -> Iterator[Result]:
    """Compute something of every chunk's number; results come in order."""
    numbers = range(n_chunks)
    return map(compute, numbers) if pool is None else pool.map(compute, numbers)


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
            yield None
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool
