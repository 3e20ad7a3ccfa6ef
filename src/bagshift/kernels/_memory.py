# SPDX-License-Identifier: BSD-3-Clause
"""How much memory is free, and the refusal of matrices that would not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from bagshift.exceptions import KernelMemoryError

GIB = 2**30

# Asking for free memory reads a dozen small files, which takes longer than a small fit; arrays
# up to this size are let through unasked.
SMALL = 16 * 2**20

# Files of a control group: the limit, the use, and the entry of memory.stat that tells how much
# of the use is idle file cache.
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")


def require_gram(n_source: int, n_units: int, dtype: DTypeLike, *, n_kernels: int = 1) -> None:
    """Raise when kernel matrices of source rows and bags do not fit into free memory.

    Parameters
    ----------
    n_source, n_units : int
        Source rows and bags (labelled target rows count as bags of one).
    dtype : dtype
        float64 or float32.
    n_kernels : int, default=1
        How many matrices.

    Raises
    ------
    KernelMemoryError
        Names their size, the free memory, and what makes them smaller.
    """
    itemsize = np.dtype(dtype).itemsize
    n_bytes = n_kernels * (n_source + n_units) ** 2 * itemsize
    if n_bytes <= SMALL:
        return
    fewer = "source rows" if n_source >= n_units else "bags"
    way_out = f"train on a sample of the {fewer}"
    if itemsize > np.dtype(np.float32).itemsize:
        way_out += ", or use float32 features, which halves the matrix"
    require_memory(
        n_bytes,
        f"{_matrices(n_kernels)} over {_count(n_source, n_units)}",
        way_out,
    )


def require_cross(
    n_rows: int, n_source: int, n_units: int, dtype: DTypeLike, *, n_kernels: int = 1
) -> None:
    """Raise when kernel matrices of other rows with the units do not fit."""
    n_bytes = n_kernels * n_rows * (n_source + n_units) * np.dtype(dtype).itemsize
    if n_bytes <= SMALL:
        return
    require_memory(
        n_bytes,
        f"{_matrices(n_kernels)} of {n_rows:,} rows with {_count(n_source, n_units)}",
        "take fewer rows at a time",
    )


def _matrices(n_kernels: int) -> str:
    return "A kernel matrix" if n_kernels == 1 else f"A set of {n_kernels} kernel matrices"


def _count(n_source: int, n_units: int) -> str:
    named = [(n_source, "source row"), (n_units, "bag")]
    return " and ".join(f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in named if n > 0)


def require_memory(n_bytes: int, what: str, way_out: str) -> None:
    """Raise before an array that does not fit into free memory is made.

    Nothing is refused where the free memory cannot be found out, nor below 16 MiB.

    Parameters
    ----------
    n_bytes : int
        Size of the array in bytes.
    what : str
        The array, as the start of the message: "A kernel matrix over 10 bags".
    way_out : str
        What to do instead, as the end of the message.

    Raises
    ------
    KernelMemoryError
        When `n_bytes` is more than the free memory.
    """
    free = free_memory() if n_bytes > SMALL else None
    if free is not None and n_bytes > free:
        raise KernelMemoryError(
            f"{what} needs {n_bytes / GIB:,.1f} GiB but {free / GIB:,.1f} GiB are free: {way_out}."
        )


def free_memory() -> int | None:
    """Find how many bytes this process can still take.

    Returns
    -------
    int or None
        The smaller of what the machine and the control groups (containers, batch systems) leave;
        None where neither tells.
    """
    known = [size for size in (_machine_memory(), *_group_memory()) if size is not None]
    return max(min(known), 0) if known else None


def _machine_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    for line in _lines(meminfo):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group_memory(
    root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> Iterator[int | None]:
    """Yield what every control group above this process leaves, versions 1 and 2."""
    for line in _lines(membership):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            for folder in _with_parents(root, path):
                yield _left(folder, *VERSION_2)
        elif "memory" in controllers.split(","):
            for folder in _with_parents(root / "memory", path):
                yield _left(folder, *VERSION_1)


def _with_parents(root: Path, path: str) -> Iterator[Path]:
    folder = root / path.lstrip("/")
    yield folder
    while folder != root and root in folder.parents:
        folder = folder.parent
        yield folder


def _left(folder: Path, limit_file: str, usage_file: str, cache_entry: str) -> int | None:
    limit, usage = _number(folder / limit_file), _number(folder / usage_file)
    if limit is None or usage is None:
        return None
    # Idle file cache counts as used, but gives way to new arrays.
    statistics = dict(line.split(maxsplit=1) for line in _lines(folder / "memory.stat"))
    return limit - usage + int(statistics.get(cache_entry, 0))


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
