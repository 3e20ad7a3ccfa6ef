# SPDX-License-Identifier: BSD-3-Clause
"""The cluster of a fit: one that is given, or one on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from distributed import Client, LocalCluster, WorkerPlugin
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

# Seconds that the workers of a cluster are waited for.
_PATIENCE = 60


class OneThreadEach(WorkerPlugin):
    """Lets libraries compute with one thread in each task, on workers old and new."""

    def setup(self, worker: Any) -> None:
        self._limits = threadpool_limits(1)

    def teardown(self, worker: Any) -> None:
        self._limits.restore_original_limits()


@contextmanager
def client_of(cluster: Any) -> Iterator[Client]:
    """Give a client, and close what was opened for it."""
    if isinstance(cluster, Client):
        yield _with_workers(cluster)
    elif isinstance(cluster, str):
        try:
            client = Client(cluster, set_as_default=False)
        except OSError as error:
            raise ValueError(f"No scheduler answers at {cluster!r}.") from error
        with client:
            yield _with_workers(client)
    elif cluster is None:
        with (
            # Each shuffle is worth a warning to the scheduler.
            LocalCluster(
                threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
            ) as local,
            Client(local, set_as_default=False) as client,
        ):
            yield _with_workers(client)
    else:
        raise ValueError(
            "cluster= is the address of a scheduler, a distributed.Client, or None for a cluster "
            f"on this machine, not {type(cluster).__name__}."
        )


def _with_workers(client: Client) -> Client:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ValueError(f"The cluster had no worker within {_PATIENCE} seconds.") from error
    return client


@contextmanager
def one_thread_each(client: Client) -> Iterator[None]:
    """Let libraries compute with one thread in each task, here and on workers, old and new.

    Sums do not depend then on how a library shares a product out.
    """
    name = f"bagshift-one-thread-each-{uuid4()}"
    client.register_plugin(OneThreadEach(), name=name)
    try:
        with threadpool_limits(1):
            yield
    finally:
        client.unregister_worker_plugin(name)
