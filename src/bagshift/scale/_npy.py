# SPDX-License-Identifier: BSD-3-Clause
"""Write a .npy file row by row, without mapping it into memory, and map one that is there."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bagshift.exceptions import TableError


def map_array(path: Path) -> NDArray[Any]:
    """Map an array of a file into memory.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray

    Raises
    ------
    TableError
        When the file is missing, shorter than it says, or no file of NumPy.
    """
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="r")
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (EOFError, ValueError) as error:
        raise TableError(_shorter(path)) from error
    return mapped


def _check_length(path: Path, n_bytes: int) -> None:
    try:
        length = path.stat().st_size
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    if length < n_bytes:
        raise TableError(_shorter(path))


def _shorter(path: Path) -> str:
    return f"{path} is shorter than it was, or damaged: delete {path.parent} to begin anew."


class RowWriter:
    """A .npy file of a known shape that grows by rows; a context manager.

    Parameters
    ----------
    path : Path
        The file. Rows that stand in it already are kept up to `n_done`.
    shape : tuple of int
        Of the whole array.
    dtype : dtype
    n_done : int, default=0
        Rows that are there.
    """

    def __init__(
        self, path: Path, shape: tuple[int, ...], dtype: DTypeLike, n_done: int = 0
    ) -> None:
        self.path, self.shape, self.n_done = path, shape, n_done
        self.dtype = np.dtype(dtype)

    def __enter__(self) -> RowWriter:
        header = _header(self.shape, self.dtype)
        row_bytes = int(np.prod(self.shape[1:])) * self.dtype.itemsize
        if self.n_done:
            _check_length(self.path, len(header) + self.n_done * row_bytes)
        try:
            self._file = self.path.open("r+b" if self.n_done else "wb")
            self._file.write(header)
            self._file.seek(len(header) + self.n_done * row_bytes)
            self._file.truncate()
        except OSError as error:
            raise TableError(f"{self.path} cannot be written: {error.strerror}.") from error
        return self

    def append(self, rows: NDArray[Any]) -> None:
        """Write some more rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, ...)
        """
        try:
            self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        except OSError as error:
            raise TableError(f"{self.path} cannot be written: {error.strerror}.") from error
        self.n_done += len(rows)

    def flush(self) -> None:
        """Hand all rows over to the system, which keeps them if this process is killed."""
        self._file.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def _header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    facts = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    file = BytesIO()
    np.lib.format.write_array_header_1_0(file, facts)
    return file.getvalue()
