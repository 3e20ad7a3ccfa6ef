# SPDX-License-Identifier: BSD-3-Clause
"""Kernel matrices of units: source rows, and target rows averaged over bags.

Target rows are sorted by unit once. Their kernel values are computed by tiles, averaged over
the rows of each unit on both sides, and added where they belong; only the lower half is computed.
Beyond the result the memory is that of a few tiles. The linear kernel averages the rows
themselves first, which is the same number at a fraction of the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift.kernels._functions import Kernel, Rows, kernel_dtype
from bagshift.kernels._memory import require_memory
from bagshift.kernels._tiles import TILE_ROWS, tiles


@dataclass(frozen=True)
class _Part:
    """Rows of one domain: a matrix, the rows of it that take part, and their columns."""

    X: Rows
    order: NDArray[np.int64]
    first_column: int = 0

    def rows(self, tile: slice) -> Rows:
        chosen = self.order[tile]
        if chosen[-1] - chosen[0] == len(chosen) - 1 and (np.diff(chosen) == 1).all():
            return self.X[chosen[0] : chosen[-1] + 1]
        return self.X[chosen]


@dataclass(frozen=True)
class _Tile:
    """Consecutive sorted rows, the units they belong to, and the matrix that averages them."""

    rows: slice
    units: slice
    mean: Any


def unit_gram(
    kernel: Kernel,
    X_source: Rows | None,
    X_target: Rows | None,
    unit_of_row: NDArray[Any] | None,
    n_units: int,
    *,
    tile_rows: int = TILE_ROWS,
) -> NDArray[Any]:
    """Compute the kernel matrix of the source rows followed by the target units.

    Parameters
    ----------
    kernel : Kernel
        The kernel. "precomputed": `X_source` and `X_target` are the rows of the kernel matrix of
        all rows, of shapes ``(n_source, n_source + n_target)`` and
        ``(n_target, n_source + n_target)``, source columns first.
    X_source : {ndarray, CSR} of shape (n_source, n_features), or None
        Source rows.
    X_target : {ndarray, CSR} of shape (n_target, n_features), or None
        Target rows.
    unit_of_row : int ndarray of shape (n_target,), or None without target rows
        Unit of each target row, -1 for a row in no unit.
    n_units : int
        Number of units; each must have at least one row.
    tile_rows : int, default=768
        Rows taken at a time.

    Returns
    -------
    ndarray of shape (n_source + n_units, n_source + n_units)
        Exactly symmetric; float32 when all rows are float32, else float64.

    Raises
    ------
    KernelMemoryError
        Before anything is allocated, when the matrix does not fit into free memory.
    ValueError
        When there are no rows, or `unit_of_row` does not fit `n_units`.

    Notes
    -----
    The bag kernels of the TGPLM paper: ``K_ss``, ``K_sb`` and ``K_bb``, the last two the means of
    the kernel over the rows of the bags.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel, unit_gram
    >>> source, target = np.array([[1.0]]), np.array([[2.0], [4.0], [5.0]])
    >>> unit_gram(Kernel("linear"), source, target, np.array([0, 0, 1]), 2)
    array([[ 1.,  3.,  5.],
           [ 3.,  9., 15.],
           [ 5., 15., 25.]])
    """
    source, target, target_tiles = _prepare(X_source, X_target, unit_of_row, n_units, tile_rows)
    n_source = len(source.order)
    dtype = kernel_dtype(X_source, X_target)
    size = n_source + n_units
    require_memory(
        size * size * dtype.itemsize,
        f"A kernel matrix over {_count_units(n_source, n_units)}",
        _ways_out(n_source, dtype),
    )
    if kernel.name == "linear" and n_units > 0:
        target, target_tiles = _averaged(target, target_tiles, n_units, tile_rows)
    gram = np.empty((size, size), dtype=dtype)
    gram[n_source:] = 0.0
    _fill_source(gram, kernel, source, tile_rows)
    _fill_cross(gram, kernel, source, target, target_tiles, tile_rows)
    _fill_units(gram[n_source:, n_source:], kernel, target, target_tiles)
    _mirror_lower(gram, tile_rows)
    return gram


def unit_cross(
    kernel: Kernel,
    X_rows: Rows,
    X_source: Rows | None,
    X_target: Rows | None,
    unit_of_row: NDArray[Any] | None,
    n_units: int,
    *,
    tile_rows: int = TILE_ROWS,
) -> NDArray[Any]:
    """Compute the kernel of rows with the source rows followed by the target units.

    Parameters
    ----------
    kernel : Kernel
        The kernel. "precomputed": `X_rows` holds the kernel values of its rows with all source
        rows followed by all target rows.
    X_rows : {ndarray, CSR} of shape (n_rows, n_features)
        Rows.
    X_source, X_target, unit_of_row, n_units, tile_rows
        As in `unit_gram`.

    Returns
    -------
    ndarray of shape (n_rows, n_source + n_units)

    Raises
    ------
    KernelMemoryError
        Before anything is allocated, when the matrix does not fit into free memory.
    ValueError
        When there are no rows, or `unit_of_row` does not fit `n_units`.
    """
    source, target, target_tiles = _prepare(X_source, X_target, unit_of_row, n_units, tile_rows)
    n_rows, n_source = X_rows.shape[0], len(source.order)
    dtype = kernel_dtype(X_rows, X_source, X_target)
    require_memory(
        n_rows * (n_source + n_units) * dtype.itemsize,
        f"A kernel matrix of {n_rows:,} rows with {_count_units(n_source, n_units)}",
        "take fewer rows at a time",
    )
    if kernel.name == "linear" and n_units > 0:
        target, target_tiles = _averaged(target, target_tiles, n_units, tile_rows)
    cross = np.zeros((n_rows, n_source + n_units), dtype=dtype)
    own = _Part(X_rows, np.arange(n_rows))
    for rows in tiles(n_rows, tile_rows):
        for columns in tiles(n_source, tile_rows):
            cross[rows, columns] = _block(kernel, own, rows, source, columns)
        units = cross[rows, n_source:]
        for tile in target_tiles:
            units[:, tile.units] += (tile.mean @ _block(kernel, own, rows, target, tile.rows).T).T
    return cross


def _prepare(
    X_source: Rows | None,
    X_target: Rows | None,
    unit_of_row: NDArray[Any] | None,
    n_units: int,
    tile_rows: int,
) -> tuple[_Part, _Part, list[_Tile]]:
    if X_source is None and X_target is None:
        raise ValueError("A kernel matrix needs source rows or target rows.")
    n_source = 0 if X_source is None else X_source.shape[0]
    n_target = 0 if X_target is None else X_target.shape[0]
    units = np.empty(0, dtype=np.int64) if unit_of_row is None else np.asarray(unit_of_row)
    sizes = _unit_sizes(units, n_target, n_units)
    order = np.argsort(units, kind="stable")[len(units) - int(sizes.sum()) :]
    dtype = kernel_dtype(X_source, X_target)
    target_tiles = _unit_tiles(units[order], sizes, dtype, tile_rows)
    return _Part(X_source, np.arange(n_source)), _Part(X_target, order, n_source), target_tiles


def _unit_sizes(units: NDArray[Any], n_target: int, n_units: int) -> NDArray[np.int64]:
    if units.shape != (n_target,):
        raise ValueError(f"unit_of_row must have one entry for each of {n_target} target rows.")
    if units.size and (units.min() < -1 or units.max() >= n_units):
        raise ValueError(f"unit_of_row must hold -1 or a number below n_units={n_units}.")
    sizes = np.bincount(units[units >= 0], minlength=n_units)
    if (sizes == 0).any():
        raise ValueError(f"Unit {int(np.argmin(sizes))} has no target rows.")
    return sizes


def _unit_tiles(
    units: NDArray[Any], sizes: NDArray[np.int64], dtype: np.dtype[Any], tile_rows: int
) -> list[_Tile]:
    """Cut rows sorted by unit into tiles; a unit may lie in several of them."""
    found = []
    for rows in tiles(len(units), tile_rows):
        inside = units[rows]
        first, last = int(inside[0]), int(inside[-1]) + 1
        ends = np.searchsorted(inside, np.arange(first, last + 1))
        weights = (1.0 / sizes[inside]).astype(dtype)
        mean = sparse.csr_array(
            (weights, np.arange(len(inside)), ends), shape=(last - first, len(inside))
        )
        found.append(_Tile(rows, slice(first, last), mean))
    return found


def _averaged(
    target: _Part, target_tiles: list[_Tile], n_units: int, tile_rows: int
) -> tuple[_Part, list[_Tile]]:
    """Replace the target rows by the means of their units."""
    if sparse.issparse(target.X):
        means = _sparse_means(target, target_tiles, n_units)
    else:
        means = _dense_means(target, target_tiles, n_units)
    order = np.arange(n_units)
    one = np.ones(n_units, dtype=np.int64)
    return _Part(means, order), _unit_tiles(order, one, kernel_dtype(means), tile_rows)


def _dense_means(target: _Part, target_tiles: list[_Tile], n_units: int) -> NDArray[Any]:
    means = np.zeros((n_units, target.X.shape[1]), dtype=kernel_dtype(target.X))
    for tile in target_tiles:
        means[tile.units] += tile.mean @ target.rows(tile.rows)
    return means


def _sparse_means(target: _Part, target_tiles: list[_Tile], n_units: int) -> Any:
    n_rows = target.X.shape[0]
    weights = np.concatenate([tile.mean.data for tile in target_tiles])
    units = np.concatenate(
        [
            np.repeat(np.arange(t.units.start, t.units.stop), np.diff(t.mean.indptr))
            for t in target_tiles
        ]
    )
    mean = sparse.csr_matrix((weights, (units, target.order)), shape=(n_units, n_rows))
    return mean @ target.X


def _block(kernel: Kernel, A: _Part, rows: slice, B: _Part, columns: slice) -> NDArray[Any]:
    """Compute the kernel of some rows of one part with some rows of another."""
    if kernel.name == "precomputed":
        chosen = A.order[rows][:, None], B.first_column + B.order[columns]
        block = A.X[chosen]
        return block.toarray() if sparse.issparse(block) else np.asarray(block)
    left = A.rows(rows)
    return kernel(left, left if A is B and rows == columns else B.rows(columns))


def _fill_source(gram: NDArray[Any], kernel: Kernel, source: _Part, tile_rows: int) -> None:
    n_source = len(source.order)
    for rows in tiles(n_source, tile_rows):
        for columns in tiles(rows.stop, tile_rows):
            gram[rows, columns] = _block(kernel, source, rows, source, columns)


def _fill_cross(
    gram: NDArray[Any],
    kernel: Kernel,
    source: _Part,
    target: _Part,
    target_tiles: list[_Tile],
    tile_rows: int,
) -> None:
    n_source = len(source.order)
    below = gram[n_source:]
    for tile in target_tiles:
        for columns in tiles(n_source, tile_rows):
            values = _block(kernel, target, tile.rows, source, columns)
            below[tile.units, columns] += tile.mean @ values


def _fill_units(
    gram: NDArray[Any], kernel: Kernel, target: _Part, target_tiles: list[_Tile]
) -> None:
    for i, left in enumerate(target_tiles):
        for right in target_tiles[: i + 1]:
            values = left.mean @ _block(kernel, target, left.rows, target, right.rows)
            values = (right.mean @ values.T).T
            gram[left.units, right.units] += values
            shared = left.units.start
            if left is not right and shared == right.units.stop - 1:
                # A unit cut by the tiles' border: the pair of tiles above the diagonal is its too.
                gram[shared, shared] += values[0, -1]


def _mirror_lower(gram: NDArray[Any], tile_rows: int) -> None:
    """Copy the lower half onto the upper half by tiles."""
    for rows in tiles(len(gram), tile_rows):
        for columns in tiles(rows.start, tile_rows):
            gram[columns, rows] = gram[rows, columns].T
        corner = np.tril(gram[rows, rows])
        gram[rows, rows] = corner + np.tril(corner, -1).T


def _count_units(n_source: int, n_units: int) -> str:
    source = f"{n_source:,} source row{'s' if n_source != 1 else ''}"
    bags = f"{n_units:,} bag{'s' if n_units != 1 else ''}"
    return " and ".join(part for part, n in ((source, n_source), (bags, n_units)) if n > 0)


def _ways_out(n_source: int, dtype: np.dtype[Any]) -> str:
    """Name what makes the matrix smaller: the single place where ways out are worded."""
    fewer = f"train on a sample of the {'source rows' if n_source > 0 else 'bags'}"
    single = ", or use float32 features, which halves the matrix"
    return fewer if dtype == np.float32 else fewer + single
