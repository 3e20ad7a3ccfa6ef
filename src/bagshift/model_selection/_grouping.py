# SPDX-License-Identifier: BSD-3-Clause
"""Small tools of the search engines: groups of settings, and the count of work done."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any


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
