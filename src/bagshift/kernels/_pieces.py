# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of the data that fit into a tile, and the averages of their rows over units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from bagshift.kernels._functions import Rows
from bagshift.kernels._tiles import TILE_ROWS, in_double, kernel_dtype, tiles

Positions = slice | NDArray[np.intp]


@dataclass(frozen=True)
class Piece:
    """Some rows of a matrix and the consecutive units that they belong to.

    Attributes
    ----------
    X : {ndarray, CSR} of shape (n_all_rows, n_features)
        Matrix that holds the rows.
    order : slice or int ndarray of shape (n_rows,)
        Which of its rows they are, sorted by unit.
    columns : slice or int ndarray of shape (n_rows,)
        Columns of these rows in a precomputed kernel matrix.
    units : slice
        Positions of the units in the matrix of units.
    mean : CSR of shape (n_units, n_rows), or None
        Weight of each row in the mean of its unit; None when every row is a unit. The weights of
        a unit that lies in several pieces add up to one over all of them.
    """

    X: Rows
    order: Positions
    columns: Positions
    units: slice
    mean: Any = None

    def rows(self) -> Rows:
        """Return the rows, as a view where they lie next to each other."""
        return self.X[self.order]

    def average(self, values: NDArray[Any]) -> NDArray[Any]:
        """Turn one row of values per row into one row per unit."""
        if self.mean is None:
            return values
        averaged: NDArray[Any] = self.mean @ values
        return averaged


def plain_pieces(X: Rows | None, tile_rows: int, first_unit: int = 0) -> list[Piece]:
    """Cut rows that are units of their own."""
    if X is None:
        return []
    pieces = []
    for tile in tiles(X.shape[0], tile_rows):
        position = slice(first_unit + tile.start, first_unit + tile.stop)
        pieces.append(Piece(X, tile, position, position))
    return pieces


def unit_pieces(
    X: Rows | None,
    unit_of_row: NDArray[Any],
    n_units: int,
    first_unit: int,
    tile_rows: int,
    dtype: DTypeLike,
) -> list[Piece]:
    """Sort rows by unit and cut them; a unit may lie in several pieces."""
    sizes = _unit_sizes(unit_of_row, n_units)
    order = _by_unit(unit_of_row, sizes)
    pieces = []
    for tile in tiles(len(order), tile_rows):
        rows = order[tile]
        units = unit_of_row[rows]
        first, stop = int(units[0]), int(units[-1]) + 1
        weights = (1.0 / sizes[units]).astype(dtype)
        borders = np.searchsorted(units, np.arange(first, stop + 1))
        mean = sparse.csr_array(
            (weights, np.arange(len(rows)), borders), shape=(stop - first, len(rows))
        )
        position = slice(first_unit + first, first_unit + stop)
        pieces.append(Piece(X, _as_slice(rows), first_unit + rows, position, mean))
    return pieces


def mean_pieces(
    X: Rows, unit_of_row: NDArray[Any], n_units: int, first_unit: int, tile_rows: int
) -> list[Piece]:
    """Average the rows of each unit, in double precision, and cut the means."""
    means = unit_means(X, unit_of_row, n_units, tile_rows=tile_rows)
    return plain_pieces(means, tile_rows, first_unit)


def unit_means(
    X: Rows,
    unit_of_row: NDArray[Any],
    n_units: int,
    *,
    transform: Callable[[Any], NDArray[Any]] | None = None,
    tile_rows: int = TILE_ROWS,
) -> Rows:
    """Average the rows of each unit, or what they are mapped to, in double precision.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_rows, n_features)
        Rows.
    unit_of_row : int ndarray of shape (n_rows,)
        Unit of each row, -1 for a row in no unit.
    n_units : int
        Number of units; each must have at least one row.
    transform : callable, optional
        Map of some rows, to a dense array of one row each. Means are means of mapped rows.
    tile_rows : int, default=768
        Rows taken at a time.

    Returns
    -------
    {ndarray, CSR} of shape (n_units, n_features)
        float32 when the rows are and are not mapped.

    Raises
    ------
    ValueError
        When `unit_of_row` does not fit `n_units`.
    """
    if n_units == len(unit_of_row) and np.array_equal(unit_of_row, np.arange(n_units)):
        return X if transform is None else transform(X)
    if transform is None and sparse.issparse(X):
        return _sparse_means(X, unit_of_row, n_units)
    mapped = in_double if transform is None else transform
    pieces = unit_pieces(X, unit_of_row, n_units, 0, tile_rows, np.float64)
    parts = (piece.mean @ mapped(piece.rows()) for piece in pieces)
    means = _added(parts, pieces, n_units)
    return means if transform is not None else means.astype(kernel_dtype(X), copy=False)


def _sparse_means(X: Any, unit_of_row: NDArray[Any], n_units: int) -> Any:
    """Average sparse rows by one product, which needs no more memory than the means."""
    sizes = _unit_sizes(unit_of_row, n_units)
    order = _by_unit(unit_of_row, sizes)
    weights, borders = 1.0 / sizes[unit_of_row[order]], np.append(0, np.cumsum(sizes))
    # Indices of 64 bits would make those of the rows and of the means such too.
    width = np.int32 if X.shape[0] <= np.iinfo(np.int32).max else np.int64
    mean = sparse.csr_array(
        (weights, order.astype(width), borders.astype(width)), shape=(n_units, X.shape[0])
    )
    return (mean @ X).astype(kernel_dtype(X), copy=False)


def _added(parts: Iterator[NDArray[Any]], pieces: list[Piece], n_units: int) -> NDArray[Any]:
    """Add up what each piece contributes to the means of its units."""
    first = next(parts)
    means = np.zeros((n_units, first.shape[1]))
    means[pieces[0].units] += first
    for piece, part in zip(pieces[1:], parts, strict=True):
        means[piece.units] += part
    return means


def _as_slice(rows: NDArray[np.intp]) -> Positions:
    """Return consecutive numbers as a slice, which selects a view."""
    if (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _by_unit(unit_of_row: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the numbers of the rows in units, unit by unit."""
    return np.argsort(unit_of_row, kind="stable")[len(unit_of_row) - int(sizes.sum()) :]


def _unit_sizes(unit_of_row: NDArray[Any], n_units: int) -> NDArray[np.int64]:
    if unit_of_row.size and (unit_of_row.min() < -1 or unit_of_row.max() >= n_units):
        raise ValueError(f"unit_of_row must hold -1 or a number below n_units={n_units}.")
    sizes = np.bincount(unit_of_row[unit_of_row >= 0], minlength=n_units)
    if (sizes == 0).any():
        raise ValueError(f"Unit {int(np.argmin(sizes))} has no target rows.")
    return sizes
