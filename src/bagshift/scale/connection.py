# SPDX-License-Identifier: BSD-3-Clause
"""A database inside of this process that keeps to a limit of memory and spills to disk."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bagshift.exceptions import TableError
from bagshift.scale._errors import import_duckdb

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)

# DuckDB counts the pages it holds; what the allocator keeps between them comes on top, and so do
# the rows on their way from DuckDB to a file.
USABLE = 0.75
ON_THEIR_WAY = 200 * 10**6
LEAST_ENGINE_MEMORY = 90 * 10**6
SPILL_PREFIX = "bagshift-spill-"


def memory_bytes(memory: str | int) -> int:
    """Read a size of memory.

    Parameters
    ----------
    memory : str or int
        Bytes, or a text such as ``"4GB"`` or ``"500 MiB"``.

    Returns
    -------
    int

    Raises
    ------
    TableError
        When it is no size.

    Examples
    --------
    >>> memory_bytes("4GB"), memory_bytes("500 MiB")
    (4000000000, 524288000)
    """
    found = SIZE.fullmatch(str(memory))
    if isinstance(memory, bool) or not found or float(found[1]) == 0:
        raise TableError(f"memory must be a size such as '4GB' or '500 MiB', not {memory!r}.")
    unit = (found[2] or "").lower()
    return int(float(found[1]) * {**UNITS, **BINARY_UNITS}[unit])


@contextmanager
def connect(
    memory: str | int = "4GB", folder: str | Path | None = None, n_threads: int | None = None
) -> Iterator[Any]:
    """Open DuckDB within a limit of memory for this whole process.

    Parameters
    ----------
    memory : str or int, default="4GB"
        What the process may hold in all. DuckDB gets most of what the process does not hold yet;
        what needs more is written to disk.
    folder : str or Path, optional
        Where to write it; the folder for temporary files of the system if not given. A folder
        made in there is removed at the end, and so are those that killed processes left.
    n_threads : int, optional
        Threads of DuckDB; as many as there are processors if not given.

    Yields
    ------
    duckdb.DuckDBPyConnection

    Raises
    ------
    TableError
        When the memory is too small or the folder cannot be written to.
    ImportError
        When DuckDB is not installed.
    """
    duckdb = import_duckdb()
    limit = engine_memory(memory)
    with _spill_folder(folder) as spill:
        settings: dict[str, Any] = {
            "memory_limit": f"{limit}B",
            "temp_directory": str(spill),
            # A name in a statement is never taken for a variable of Python.
            "python_enable_replacements": False,
        }
        if n_threads is not None:
            settings["threads"] = _checked_threads(n_threads)
        connection = duckdb.connect(":memory:", config=settings)
        try:
            # Progress is only known of what could be shown on the screen, and is not shown.
            connection.execute("SET enable_progress_bar_print = false")
            connection.execute("SET enable_progress_bar = true")
            # Extremes of columns in Parquet files leave NaN out. DuckDB takes them for those of
            # all values, and then no longer looks whether one is NaN.
            connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            yield connection
        finally:
            connection.close()


def engine_memory(memory: str | int) -> int:
    """Return what DuckDB may take of the memory of the process.

    Parameters
    ----------
    memory : str or int
        What the process may hold in all.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    TableError
        When next to nothing is left.
    """
    wanted, held = memory_bytes(memory), resident_bytes()
    limit = int(USABLE * (wanted - held - ON_THEIR_WAY))
    if limit < LEAST_ENGINE_MEMORY:
        least = held + ON_THEIR_WAY + LEAST_ENGINE_MEMORY / USABLE
        raise TableError(
            f"memory={memory!r} is too small: this process holds {held / 1e6:,.0f} MB already, "
            f"and nothing can be read with less than {least / 1e6:,.0f} MB."
        )
    return limit


def memory_limit(connection: Any) -> int:
    """Return how much DuckDB may hold.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection

    Returns
    -------
    int
        Bytes.
    """
    found = connection.sql("SELECT current_setting('memory_limit')").fetchall()
    return memory_bytes(found[0][0])


def resident_bytes() -> int:
    """Return the memory that this process holds, 0 where that cannot be found out.

    Returns
    -------
    int
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def _checked_threads(n_threads: int) -> int:
    if isinstance(n_threads, bool) or int(n_threads) != n_threads or n_threads < 1:
        raise TableError(f"n_threads must be a whole number from 1 up, not {n_threads!r}.")
    return int(n_threads)


@contextmanager
def _spill_folder(parent: str | Path | None) -> Iterator[Path]:
    """Make a folder that is removed at the end, and remove those of processes that were killed."""
    parent = Path(parent or tempfile.gettempdir())
    if not parent.is_dir():
        raise TableError(f"There is no folder {parent} to write to what does not fit into memory.")
    try:
        folder = Path(tempfile.mkdtemp(prefix=SPILL_PREFIX, dir=parent))
    except OSError as error:
        raise TableError(f"{parent} cannot be written to: {error.strerror}.") from error
    lock = _hold(folder)
    try:
        _remove_abandoned(parent, folder)
        yield folder
    finally:
        if lock:
            lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _hold(folder: Path) -> IO[str] | None:
    """Lock a file in a folder; the system gives it free when the process ends, however it ends.

    Returns
    -------
    file or None
        None where another process holds it, or the system has no such locks.
    """
    try:
        import fcntl

        file = (folder / "in-use").open("a", encoding="ascii")
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _remove_abandoned(parent: Path, own: Path) -> None:
    for folder in parent.glob(f"{SPILL_PREFIX}*"):
        # A folder without the file is just being made by another process.
        if folder == own or not (folder / "in-use").exists():
            continue
        lock = _hold(folder)
        if lock:
            lock.close()
            shutil.rmtree(folder, ignore_errors=True)
