# SPDX-License-Identifier: BSD-3-Clause
"""A bar in the terminal for those who ask for one."""

import sys
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
    """
    if progress is None or callable(progress):
        return progress  # type: ignore[no-any-return]
    if progress == "bar":
        return lambda done, total: _draw(name, done, total)
    raise ValueError(
        f'progress must be "bar", a function of (done, total) or None; got {progress!r}.'
    )


def _draw(name: str, done: int, total: int) -> None:
    filled = _WIDTH * done // max(total, 1)
    bar = "#" * filled + "." * (_WIDTH - filled)
    sys.stderr.write(f"\r{name} [{bar}] {done}/{total}" + ("\n" if done == total else ""))
    sys.stderr.flush()
