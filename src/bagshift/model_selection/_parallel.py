# SPDX-License-Identifier: BSD-3-Clause
"""The same work on many items, in threads or wherever the joblib backend in force does its work.

Threads share what all items need, such as a kernel matrix. Other processes, on this machine or on
others, share nothing. There every worker gets its part of the items as one task, is sent the rows,
and makes the matrix itself: that is cheaper than to send it, and than to make it for every item.
"""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from numbers import Integral
from typing import Any, Generic, TypeVar

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from joblib.parallel import get_active_backend  # type: ignore[import-untyped]
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

Item = TypeVar("Item")
Found = TypeVar("Found")
Made = TypeVar("Made")


def counter(progress: Callable[[int, int], None] | None, total: int) -> Callable[[], None]:
    """Return a function that reports one more piece of work done, from any thread."""
    lock = threading.Lock()
    done = 0

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            if progress is not None:
                progress(done, total)

    return advance


class Task:
    """What a piece of work hears from its search between its steps, and tells it.

    In a thread it does so at once. Locks do not travel to other processes: there, steps are
    counted, and told with the result.
    """

    def __init__(self, advance: Callable[[], None], is_over: threading.Event) -> None:
        self._advance: Callable[[], None] | None = advance
        self._is_over: threading.Event | None = is_over
        self.n_untold = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"_advance": None, "_is_over": None, "n_untold": 0}

    def advance(self) -> None:
        """Report one step done."""
        if self._advance is None:
            self.n_untold += 1
        else:
            self._advance()

    def check(self) -> None:
        """Raise once another piece of work has failed or the search was interrupted.

        Threads would otherwise work on after the caller has left.
        """
        if self._is_over is not None and self._is_over.is_set():
            raise CancelledError("the search has ended")


class Common(Generic[Made]):
    """What every item needs: made once in a process, and sent to none.

    What is sent is how to make it.

    Parameters
    ----------
    make : callable
        Makes it; a partial of a function of a module, so that it can be sent.
    *matrices : matrix or None
        Those that `make` holds. Backends ask for the size of an argument to choose its way.
    """

    def __init__(self, make: Callable[[], Made], *matrices: Any) -> None:
        self._n_bytes = sum(_n_bytes(X) for X in matrices if X is not None)
        self._start(make)

    def _start(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._lock = threading.Lock()

    def __call__(self) -> Made:
        """Return it, made if it is not there."""
        # Tasks of one process may be given the same object, in threads.
        with self._lock:
            if not self._made:
                self._made.append(self._make())
        return self._made[0]

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._n_bytes

    def __getstate__(self) -> dict[str, Any]:
        return {"_n_bytes": self._n_bytes, "_make": self._make}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._n_bytes = state["_n_bytes"]
        self._start(state["_make"])


def _n_bytes(X: Any) -> int:
    return 8 * int(X.nnz if sparse.issparse(X) else math.prod(np.shape(X)))


def n_sharing(n_jobs: int | None, n_items: int) -> int:
    """Return how many of so many items are worked on at a time in the memory of this process.

    Parameters
    ----------
    n_jobs : int, optional
        As given to :func:`workers`.
    n_items : int
        How many there are.

    Returns
    -------
    int
        One where other processes do the work, each on one item after the other.
    """
    return min(effective_n_jobs(n_jobs), n_items) if _in_shared_memory() else 1


def seed_of(random_state: Any) -> int:
    """Return a seed that draws the same in every process.

    Parameters
    ----------
    random_state : int, RandomState or None

    Returns
    -------
    int
    """
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def workers(n_jobs: int | None) -> Parallel:
    """Return threads, or what the joblib backend in force takes for them.

    To be used in a ``with`` block: some backends start processes for every block.

    Parameters
    ----------
    n_jobs : int, optional
        Items worked on at the same time.
    """
    return Parallel(n_jobs=n_jobs, prefer="threads")


def in_parallel(
    run: Parallel,
    work: Callable[[Made, Item, Task], Found],
    common: Common[Made],
    items: Sequence[Item],
    advance: Callable[[], None],
) -> list[Found]:
    """Do the same work on every item.

    Parameters
    ----------
    run : Parallel
        From :func:`workers`.
    work : callable
        Called with what all items need, an item and the :class:`Task` of the work on it; a
        function of a module.
    common : Common
        What all items need.
    items : sequence
        The items, at least one.
    advance : callable
        Called for every step that the work reports.

    Returns
    -------
    list
        What the work returned, item by item.
    """
    if _in_shared_memory():
        common()
        n_tasks = len(items)
    else:
        n_tasks = min(effective_n_jobs(run.n_jobs), len(items))
    is_over = threading.Event()
    try:
        done = run(
            delayed(_do)(work, common, items[first::n_tasks], Task(advance, is_over))
            for first in range(n_tasks)
        )
    finally:
        is_over.set()
    for _ in range(sum(n_untold for _, n_untold in done)):
        advance()
    found: list[Any] = [None] * len(items)
    for first, (of_task, _) in enumerate(done):
        found[first::n_tasks] = of_task
    return found


def _in_shared_memory() -> bool:
    """Tell whether the work is done in threads of this process."""
    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def _do(
    work: Callable[[Made, Item, Task], Found],
    common: Common[Made],
    items: Sequence[Item],
    task: Task,
) -> tuple[list[Found], int]:
    return [work(common(), item, task) for item in items], task.n_untold
