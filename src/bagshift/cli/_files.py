# SPDX-License-Identifier: BSD-3-Clause
"""Look at the files a command names before anything is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from bagshift.atomic import check_writable
from bagshift.cli._errors import say_error
from bagshift.cli._screen import printable
from bagshift.exceptions import TableError

PATIENCE = 1.5
TABLE_ENDINGS = (".csv", ".parquet")


def check_inputs(*inputs: Path | None) -> None:
    """Raise when a file to read is missing.

    Parameters
    ----------
    *inputs : Path or None
        Files to read; None is a file that was not named.

    Raises
    ------
    TableError
        Naming the first file that is missing.
    """
    for path in inputs:
        if path is not None and not path.exists():
            raise TableError(f"{path} does not exist; check the name and the folder.")


def check_output(output: Path, *inputs: Path | None) -> None:
    """Raise when a file cannot be written, or would replace a file that is read.

    Parameters
    ----------
    output : Path
        File to write.
    *inputs : Path or None
        Files to read.

    Raises
    ------
    TableError
        In one sentence.
    """
    for path in inputs:
        if path is not None and _same_file(output, path):
            raise TableError(f"{output} is also read; give the output (-o) another name.")
    check_writable(output)


def check_model_ending(output: Path) -> None:
    """Raise when a model would be written to a file that is named like a table.

    Parameters
    ----------
    output : Path
        File to write.

    Raises
    ------
    TableError
        Naming an ending that fits.
    """
    if output.suffix.lower() in TABLE_ENDINGS:
        raise TableError(
            f"{output} is named like a table, and a model is none; end its name in .skops."
        )


@contextmanager
def loading(path: Path, quiet: bool) -> Iterator[None]:
    """Say on the error stream that a file is being loaded, if that takes long.

    Parameters
    ----------
    path : Path
        The file.
    quiet : bool
        Say nothing.

    Yields
    ------
    None
    """
    timer = Timer(PATIENCE, say_error, [f"Loading {printable(str(path))}"])
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()
