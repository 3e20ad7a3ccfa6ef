# SPDX-License-Identifier: BSD-3-Clause
"""Passes of the simulated shape on Dask, to hold the simulation against.

Tasks lie where their partitions are, and their results are added along a tree with a fixed fan-in;
which machine adds, and when, is Dask's own affair. With machines that are threads of one process a
message can be held back on its way, and tasks that sleep make more machines than there are cores.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
from _cluster_kernels import SMOOTHING, machine_of, units_of
from dask import delayed
from distributed import Client, LocalCluster
from distributed.comm.inproc import InProc
from numpy.typing import NDArray

from bagshift.solvers._sums import Sums
from bagshift.solvers.unit_passes import UnitPasses

Floats = NDArray[np.float64]


@contextmanager
def latency_of(seconds: float) -> Iterator[None]:
    """Hold back every message between parts of one process; none waits for another."""

    async def write(comm: Any, msg: Any, serializers: Any = None, on_error: Any = None) -> int:
        loop = comm._write_loop
        loop.add_callback(loop.call_later, seconds, comm._write_q.put_nowait, msg)
        return 1

    with patch.object(InProc, "write", write) if seconds else nullcontext():
        yield


@contextmanager
def cluster_of(n_workers: int, *, processes: bool) -> Iterator[tuple[Client, list[str]]]:
    """Give a client and the addresses of its workers, which have a thread each."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        yield client, sorted(client.scheduler_info(n_workers=-1)["workers"])


def tree_of(parts: Sequence[Any], add: Callable[..., Any], fan_in: int) -> Any:
    """Return the tree of sums as something that is to be computed."""
    parts = list(parts)
    add = delayed(add, pure=False)
    while len(parts) > 1:
        parts = [add(*parts[i : i + fan_in]) for i in range(0, len(parts), fan_in)]
    return parts[0]


def sleeping_pass(
    client: Client, addresses: Sequence[str], places: Sequence[int], seconds: Floats, fan_in: int
) -> float:
    """Return what a pass takes whose tasks sleep."""
    parts = [
        client.scatter(np.zeros(1), workers=[addresses[place]], hash=False, direct=False)
        for place in places
    ]

    def leaf(_: Floats, length: float) -> float:
        time.sleep(length)
        return length

    def add(*given: float) -> float:
        return sum(given)

    task = delayed(leaf, pure=False)
    leaves = [task(part, float(length)) for part, length in zip(parts, seconds, strict=True)]
    total = tree_of(leaves, add, fan_in)
    start = time.monotonic()
    client.compute(total).result()
    return time.monotonic() - start


def make_part(n_features: int, free: float, n_rows: int) -> UnitPasses:
    return UnitPasses(units_of(n_features, free, n_rows))


def sums_of(part: UnitPasses, n_features: int) -> tuple[Sums, list[tuple[float, float]]]:
    """Return the sums, and what they took in elapsed and in CPU seconds."""
    start = time.monotonic(), time.thread_time()
    found = part.sums(machine_of(n_features), SMOOTHING)
    return found, [(time.monotonic() - start[0], time.thread_time() - start[1])]


def added(*parts: Any) -> tuple[Sums, list[tuple[float, float]]]:
    sums, taken = zip(*parts, strict=True)
    return sum(sums[1:], sums[0]), [one for own in taken for one in own]


def real_passes(
    client: Client, addresses: Sequence[str], places: Sequence[int], *, n_features: int,
    free: float, rows_of_part: int, fan_in: int, repeats: int,
) -> list[tuple[float, Floats]]:  # fmt: skip
    """Return what passes over real partitions take, and the elapsed and CPU seconds of tasks.

    The first pass is left out.
    """
    parts = [
        client.submit(
            make_part, n_features, free, rows_of_part, workers=[addresses[place]], pure=False
        )
        for place in places
    ]
    client.gather([client.submit(lambda part: part.n_units, part) for part in parts])
    task = delayed(sums_of, pure=False)
    seconds = []
    for _ in range(repeats + 1):
        total = tree_of([task(part, n_features) for part in parts], added, fan_in)
        start = time.monotonic()
        _, taken = client.compute(total).result()
        seconds.append((time.monotonic() - start, np.array(taken)))
    return seconds[1:]
