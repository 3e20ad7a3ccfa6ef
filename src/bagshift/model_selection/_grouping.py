# SPDX-License-Identifier: BSD-3-Clause
"""Small tools of the search engines: groups of settings, parallel work and the count of it."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel, delayed

Item = TypeVar("Item")
Found = TypeVar("Found")


def parameters(machine: Any, names: Iterable[str]) -> tuple[Any, ...]:
    """Return the values of some parameters of a machine."""
    # Of machines by the ten thousand.
    values = vars(machine)
    return tuple([values[name] for name in names])


def group(items: Iterable[int], key: Callable[[int], Any]) -> list[list[int]]:
    """Group items of the same key, in order of first appearance."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return list(groups.values())


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


def in_parallel(
    work: Callable[[Item, Task], Found],
    items: Sequence[Item],
    advance: Callable[[], None],
    n_jobs: int | None,
) -> list[Found]:
    """Do the same work on every item, in threads or as the joblib backend in force says.

    Parameters
    ----------
    work : callable
        Called with an item and the :class:`Task` of the work on it.
    items : sequence
    advance : callable
        Called for every step that the work reports.
    n_jobs : int, optional
        Items worked on at the same time.

    Returns
    -------
    list
        What the work returned, item by item.
    """
    is_over = threading.Event()
    try:
        run = Parallel(n_jobs=n_jobs, prefer="threads")
        done = list(run(delayed(_do)(work, item, Task(advance, is_over)) for item in items))
    finally:
        is_over.set()
    for _ in range(sum(n_untold for _, n_untold in done)):
        advance()
    return [found for found, _ in done]


def _do(work: Callable[[Item, Task], Found], item: Item, task: Task) -> tuple[Found, int]:
    return work(item, task), task.n_untold
