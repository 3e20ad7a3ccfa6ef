# SPDX-License-Identifier: BSD-3-Clause
"""Small tools of the search engines: groups of settings, work on folds and the count of it."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from sklearn.utils.parallel import Parallel, delayed

from bagshift.model_selection._folds import BagFold

Found = TypeVar("Found")
Check = Callable[[], None]


def parameters(machine: Any, names: Iterable[str]) -> tuple[Any, ...]:
    """Return the values of some parameters of a machine."""
    return tuple(getattr(machine, name) for name in names)


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


def over_folds(
    work: Callable[[BagFold, Check], Found], folds: list[BagFold], n_jobs: int | None
) -> list[Found]:
    """Do the same work on every fold, in threads.

    Parameters
    ----------
    work : callable
        Called with a fold and a function that it calls between its steps. That function raises
        once another fold has failed or the search was interrupted: threads would otherwise work
        on after the caller has left.
    folds : list of BagFold
    n_jobs : int, optional
        Folds worked on at the same time.

    Returns
    -------
    list
        What the work returned, fold by fold.
    """
    is_over = threading.Event()

    def check() -> None:
        if is_over.is_set():
            raise CancelledError("the search has ended")

    try:
        run = Parallel(n_jobs=n_jobs, prefer="threads")
        return list(run(delayed(work)(fold, check) for fold in folds))
    finally:
        is_over.set()
