# SPDX-License-Identifier: BSD-3-Clause
"""Rows of features in files of NumPy, read when they are asked for.

Rows are read and not mapped: pages of a mapped file count as memory of the process for as long as
the system likes to keep them, and a limit of memory could not be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bagshift.exceptions import TableError


@dataclass(frozen=True)
class _File:
    """A file of an array: where its numbers begin, and how many rows it has."""

    path: Path
    offset: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class StoredRows:
    """A matrix in files, one under the other; slices of it read nothing.

    Indexing by numbers or marks of rows, and ``numpy.asarray``, read what is asked for.

    Parameters
    ----------
    files : tuple
        What :func:`stored_rows` found.
    starts : ndarray of shape (n_files + 1,)
        First row of every file, and the number of all rows.
    n_columns : int
    dtype : dtype
    first, end : int
        Which of the rows these are.
    on_read : callable, optional
        Called with the number of rows each time that some were read.
    """

    files: tuple[_File, ...]
    starts: NDArray[np.int64]
    n_columns: int
    dtype: np.dtype[Any]
    first: int
    end: int
    on_read: Callable[[int], None] | None = None

    ndim = 2

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.n_columns

    def __getitem__(self, rows: Any) -> Any:
        if not isinstance(rows, slice):
            return np.asarray(self)[rows]
        first, end, step = rows.indices(len(self))
        if step != 1:
            return np.asarray(self)[rows]
        return replace(self, first=self.first + first, end=self.first + max(first, end))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Rows in files cannot be had without a copy.")
        found = np.empty(self.shape, dtype=self.dtype)
        file = int(np.searchsorted(self.starts, self.first, side="right")) - 1
        row = self.first
        while row < self.end:
            n = min(self.end, int(self.starts[file + 1])) - row
            place = row - self.first
            found[place : place + n] = self._read(file, row, n)
            row, file = row + n, file + 1
        if self.on_read:
            self.on_read(len(self))
        return found if dtype is None else found.astype(dtype, copy=False)

    def _read(self, number: int, row: int, n_rows: int) -> NDArray[Any]:
        file = self.files[number]
        skipped = (row - int(self.starts[number])) * self.n_columns * self.dtype.itemsize
        n_numbers = n_rows * self.n_columns
        try:
            with file.path.open("rb") as stream:
                stream.seek(file.offset + skipped)
                numbers = np.fromfile(stream, dtype=self.dtype, count=n_numbers)
        except OSError as error:
            raise TableError(f"{file.path} cannot be read: {error.strerror or error}.") from error
        if len(numbers) != n_numbers:
            raise TableError(
                f"{file.path} is shorter than it was: delete {file.path.parent} to begin anew."
            )
        return numbers.reshape(n_rows, self.n_columns)


def stored_rows(
    files: Sequence[str | Path], *, on_read: Callable[[int], None] | None = None
) -> StoredRows:
    """Find rows in files of NumPy.

    Parameters
    ----------
    files : sequence of str or Path
        Files ``.npy`` of one kind of number and of one number of columns.
    on_read : callable, optional
        Called with the number of rows each time that some were read, from any thread.

    Returns
    -------
    StoredRows

    Raises
    ------
    TableError
        When a file is missing, is no such file or has other columns than the first.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.arange(6.0).reshape(3, 2))
    ...     rows = stored_rows([f"{folder}/rows.npy"])
    ...     rows.shape, np.asarray(rows[1:])
    ((3, 2), array([[2., 3.],
           [4., 5.]]))
    """
    found, kinds = [], []
    for path in map(Path, files):
        file, n_columns, dtype = _look_at(path)
        found.append(file)
        kinds.append((n_columns, dtype))
        if kinds[-1] != kinds[0]:
            raise TableError(f"{path} has other columns than {found[0].path}; it is damaged.")
    starts = np.cumsum([0, *(file.n_rows for file in found)])
    n_columns, dtype = kinds[0]
    return StoredRows(tuple(found), starts, n_columns, dtype, 0, int(starts[-1]), on_read)


def _look_at(path: Path) -> tuple[_File, int, np.dtype[Any]]:
    try:
        with path.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            if version != (1, 0):
                raise ValueError
            shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream)
            offset = stream.tell()
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise TableError(f"{path} is no file of NumPy, or damaged.") from error
    if len(shape) != 2 or by_column or dtype.hasobject:
        raise TableError(f"{path} holds no rows of numbers.")
    return _File(path, offset, shape[0]), int(shape[1]), dtype
