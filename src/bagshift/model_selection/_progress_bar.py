# SPDX-License-Identifier: BSD-3-Clause
"""A bar in the terminal for those who ask for one."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from bagshift.model_selection._search_engine import Progress

_WIDTH = 30


def resolve_progress(progress: Any, name: str) -> Progress | None:
    """Turn the argument `progress` into a function, or None.

    Parameters
    ----------
    progress : callable, "bar" or None
        A function of (done, total), or the wish for a bar on the standard error stream.
    name : str
        What the bar is called.

    Returns
    -------
    callable or None

    Raises
    ------
    TypeError
        If it is a function that does not take two numbers.
    ValueError
        If it is something else.
    """
    if progress is None:
        return None
    if callable(progress):
        if not _takes_two(progress):
            raise TypeError(
                f"progress is called as progress(done, total), but {progress!r} does not take "
                "two numbers."
            )
        return progress  # type: ignore[no-any-return]
    if progress == "bar":
        return lambda done, total: _draw(name, done, total)
    raise ValueError(
        f'progress must be "bar", a function of (done, total) or None; got {progress!r}.'
    )


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C do not tell
        return True
    try:
        signature.bind(0, 1)
    except TypeError:
        return False
    return True


def _draw(name: str, done: int, total: int) -> None:
    filled = _WIDTH * done // max(total, 1)
    bar = "#" * filled + "." * (_WIDTH - filled)
    sys.stderr.write(f"\r{name} [{bar}] {done}/{total}" + ("\n" if done == total else ""))
    sys.stderr.flush()
