# SPDX-License-Identifier: BSD-3-Clause
"""The archive of a model: sizes and array headers are compared before anything is unpacked.

A small archive can unpack to more than any memory holds, and a short array can claim to be a long
one. Both are told from what the archive says about its members, without following it.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO

import numpy as np
from numpy.lib import format as npy

from bagshift._model_files.faults import Fault
from bagshift.kernels._memory import GIB, free_memory

MANIFEST = "manifest.json"
SCHEMA = "schema.json"
FITTED_ROWS = "fitted_rows.npy"
PAPERS = (MANIFEST, SCHEMA, FITTED_ROWS)

MIB = 2**20
LARGEST = 64 * GIB
LARGEST_MEMBER = {MANIFEST: 16 * MIB, SCHEMA: 2 * GIB}
# Models pack 2 to 50 times, wide indicator columns a little over 100 times; deflate itself ends
# at about 1,000. Small archives may pack as they like.
LARGEST_RATIO = 250
SMALL = 64 * MIB
# Python objects take several times the room of the JSON text they are read from.
JSON_GROWTH = 8

ARRAY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def check_file_size(n_bytes: int) -> None:
    """Raise when a file is too large to be a model, before it is read.

    Parameters
    ----------
    n_bytes : int
        Its size.

    Raises
    ------
    Fault
    """
    if n_bytes > LARGEST:
        raise Fault(f"it is larger than any model, {n_bytes / GIB:,.0f} GiB")
    _require_free(n_bytes)


def read_papers(data: bytes) -> tuple[dict[str, bytes], dict[str, int]]:
    """Check an archive and read the members that say what it holds.

    Parameters
    ----------
    data : bytes
        The archive.

    Returns
    -------
    papers : dict of str to bytes
        Manifest, schema and fitted rows.
    sizes : dict of str to int
        Unpacked size of every member, in bytes.

    Raises
    ------
    Fault
        When the archive is damaged, unpacks to more than a model does, or has members that no
        model has.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_members(archive, len(data))
            damaged = archive.testzip()
            for name in archive.namelist():
                if name not in LARGEST_MEMBER:
                    _check_arrays(archive, name)
            papers = {name: archive.read(name) for name in PAPERS}
            sizes = {member.filename: member.file_size for member in archive.infolist()}
    except Fault:
        raise
    except Exception as error:  # zipfile raises many kinds on damaged archives
        raise Fault("it is damaged or not a model file") from error
    if damaged is not None:
        raise Fault("it is damaged")
    return papers, sizes


def _check_members(archive: zipfile.ZipFile, n_bytes: int) -> None:
    names = archive.namelist()
    if not set(PAPERS) <= set(names):
        raise Fault("it is not a model file of bagshift")
    if len(set(names)) != len(names):
        raise Fault("it holds two members of one name")
    check_sizes({m.filename: m.file_size for m in archive.infolist()}, n_bytes)


def check_sizes(sizes: dict[str, int], n_bytes: int) -> None:
    """Compare the sizes that members unpack to with limits.

    Parameters
    ----------
    sizes : dict of str to int
        Unpacked size of every member, in bytes.
    n_bytes : int
        Size of the archive.

    Raises
    ------
    Fault
    """
    total = sum(sizes.values())
    limit = min(LARGEST, max(SMALL, LARGEST_RATIO * n_bytes))
    if total > limit:
        raise Fault(
            f"it unpacks from {n_bytes / MIB:,.1f} MiB to {total / MIB:,.0f} MiB, which no model "
            "does"
        )
    for name, largest in LARGEST_MEMBER.items():
        if sizes.get(name, 0) > largest:
            raise Fault(f"its {name} has {sizes[name] / MIB:,.0f} MiB, which no model needs")
    _require_free(total + JSON_GROWTH * sizes.get(SCHEMA, 0))


def _require_free(n_bytes: int) -> None:
    free = free_memory() if n_bytes > SMALL else None
    if free is not None and n_bytes > free:
        raise Fault(
            f"it needs {n_bytes / GIB:,.1f} GiB of memory but {free / GIB:,.1f} GiB are free"
        )


def _check_arrays(archive: zipfile.ZipFile, name: str) -> None:
    """Compare the header of an array, or of each part of a sparse one, with its size."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as stream:
        is_sparse = stream.read(2) == b"PK"
        stream.seek(0)
        if not is_sparse:
            _check_array(stream, size, name)
            return
        with zipfile.ZipFile(io.BytesIO(stream.read())) as parts:
            check_sizes({part.filename: part.file_size for part in parts.infolist()}, size)
            for part in parts.infolist():
                with parts.open(part) as inner:
                    _check_array(inner, part.file_size, name)


def _check_array(stream: IO[bytes], size: int, name: str) -> None:
    what = "list of fitted rows" if name == FITTED_ROWS else f"array {name!r}"
    try:
        shape, _, dtype = ARRAY_HEADERS[npy.read_magic(stream)](stream)
        claimed = stream.tell() + math.prod(shape) * dtype.itemsize
        is_whole = claimed == size and min(shape, default=0) >= 0 and not dtype.hasobject
    except (ValueError, TypeError, KeyError, EOFError) as error:
        raise Fault(f"its {what} cannot be read") from error
    if not is_whole:
        raise Fault(f"its {what} is not the array it claims to be")


def read_fitted_rows(content: bytes) -> np.typing.NDArray[np.uint64]:
    """Read the fingerprints of fitted rows.

    Parameters
    ----------
    content : bytes
        The member of a checked archive.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)

    Raises
    ------
    Fault
        When they are not fingerprints.
    """
    rows = np.load(io.BytesIO(content), allow_pickle=False)
    if rows.dtype != np.uint64 or rows.ndim != 1:
        raise Fault("its list of fitted rows does not hold one whole number for each row")
    return np.asarray(rows, np.uint64)
