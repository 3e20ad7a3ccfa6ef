# SPDX-License-Identifier: BSD-3-Clause
"""Groups of settings that have something in common."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any


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
