# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of the data that fit into a tile, and the averages of their rows over units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift.kernels._functions import Rows
from bagshift.kernels._tiles import in_double, kernel_dtype, tiles

Positions = slice | NDArray[np.intp]

# Of so few rows, kernel values that are the mirror images of others cost less than another call.
_FEW_ROWS = 256


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
    starts : int ndarray of shape (n_units,), or None
        First row of each unit; None when every row is a unit.
    weights : ndarray of shape (n_units,), or None
        Weight of a row in the mean of its unit, which may lie in several pieces.
    """

    X: Rows
    order: Positions
    columns: Positions
    units: slice
    starts: NDArray[np.intp] | None = None
    weights: NDArray[np.float64] | None = None

    def rows(self) -> Rows:
        """Return the rows, as a view where they lie next to each other."""
        return self.X[self.order]

    def average(self, values: Rows) -> Rows:
        """Turn one row of values per row into one row per unit."""
        if self.starts is None or self.weights is None:
            return values
        if sparse.issparse(values):
            n_rows = values.shape[0]
            weights = np.repeat(self.weights, np.diff(self.starts, append=n_rows))
            borders = np.append(self.starts, n_rows)
            means = sparse.csr_array((weights, np.arange(n_rows), borders))
            return means @ values
        averages = np.add.reduceat(values, self.starts, axis=0)
        averages *= self.weights[:, None]
        return averages


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
    X: Rows | None, unit_of_row: NDArray[Any], n_units: int, first_unit: int, tile_rows: int
) -> list[Piece]:
    """Sort rows by unit and cut them; a unit may lie in several pieces."""
    sizes = _unit_sizes(unit_of_row, n_units)
    order = np.argsort(unit_of_row, kind="stable")[len(unit_of_row) - int(sizes.sum()) :]
    pieces = []
    for tile in tiles(len(order), tile_rows):
        rows = order[tile]
        units = unit_of_row[rows]
        first, stop = int(units[0]), int(units[-1]) + 1
        starts = np.searchsorted(units, np.arange(first, stop))
        position = slice(first_unit + first, first_unit + stop)
        weights = 1.0 / sizes[first:stop]
        pieces.append(Piece(X, _as_slice(rows), first_unit + rows, position, starts, weights))
    return pieces


def mean_pieces(
    X: Rows, unit_of_row: NDArray[Any], n_units: int, first_unit: int, tile_rows: int
) -> list[Piece]:
    """Average the rows of each unit, in double precision, and cut the means."""
    pieces = unit_pieces(X, unit_of_row, n_units, 0, tile_rows)
    parts = [piece.average(in_double(piece.rows())) for piece in pieces]
    units = np.concatenate([np.arange(p.units.start, p.units.stop) for p in pieces])
    ones = np.ones(len(units))
    join = sparse.csr_array((ones, (units, np.arange(len(units)))), shape=(n_units, len(units)))
    stacked = sparse.vstack(parts, format="csr") if sparse.issparse(X) else np.vstack(parts)
    means = (join @ stacked).astype(kernel_dtype(X), copy=False)
    return plain_pieces(means, tile_rows, first_unit)


def joined(pieces: list[Piece], tile_rows: int) -> list[Piece]:
    """Make one piece of a few dense rows in several, for the fixed costs of a kernel to come once.

    Not of a precomputed kernel, since rows get new numbers.
    """
    if len(pieces) < 2 or any(sparse.issparse(piece.X) for piece in pieces):
        return pieces
    parts = [piece.rows() for piece in pieces]
    borders = np.cumsum([0, *(len(part) for part in parts)])
    if borders[-1] > min(tile_rows, _FEW_ROWS):
        return pieces
    means = [_as_mean(piece, len(part)) for piece, part in zip(pieces, parts, strict=True)]
    everything = slice(0, int(borders[-1]))
    return [
        Piece(
            X=np.vstack(parts),
            order=everything,
            columns=everything,
            units=slice(pieces[0].units.start, pieces[-1].units.stop),
            starts=np.concatenate(
                [b + starts for b, (starts, _) in zip(borders, means, strict=False)]
            ),
            weights=np.concatenate([weights for _, weights in means]),
        )
    ]


def _as_mean(piece: Piece, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the starts and weights of a piece, also where every row is a unit."""
    if piece.starts is None or piece.weights is None:
        return np.arange(n_rows), np.ones(n_rows)
    return piece.starts, piece.weights


def _as_slice(rows: NDArray[np.intp]) -> Positions:
    """Return consecutive numbers as a slice, which selects a view."""
    if (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _unit_sizes(unit_of_row: NDArray[Any], n_units: int) -> NDArray[np.int64]:
    if unit_of_row.size and (unit_of_row.min() < -1 or unit_of_row.max() >= n_units):
        raise ValueError(f"unit_of_row must hold -1 or a number below n_units={n_units}.")
    sizes = np.bincount(unit_of_row[unit_of_row >= 0], minlength=n_units)
    if (sizes == 0).any():
        raise ValueError(f"Unit {int(np.argmin(sizes))} has no target rows.")
    return sizes
