# SPDX-License-Identifier: BSD-3-Clause
"""Kernel matrices of units: source rows, and target rows averaged over bags.

Kernel values are computed by tiles, averaged over the rows of each unit on both sides, and added
where they belong; only the lower half is computed. Beyond the result the memory is that of a few
tiles. The linear kernel averages the rows themselves first, which gives the same numbers for a
fraction of the work; RBF kernels of several widths share exponentials (``_ladders.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._ladders import ladder_values, ladders
from bagshift.kernels._memory import require_cross, require_gram
from bagshift.kernels._pieces import Piece, mean_pieces, plain_pieces, unit_pieces
from bagshift.kernels._tiles import TILE_ROWS, kernel_dtype, tiles

# A tile and its mirror image are both in the nearest cache.
_MIRRORED_ROWS = 128
_ABOVE_DIAGONAL = ~np.tri(_MIRRORED_ROWS, dtype=bool)


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
    return unit_grams([kernel], X_source, X_target, unit_of_row, n_units, tile_rows=tile_rows)[0]


def unit_grams(
    kernels: Sequence[Kernel],
    X_source: Rows | None,
    X_target: Rows | None,
    unit_of_row: NDArray[Any] | None,
    n_units: int,
    *,
    tile_rows: int = TILE_ROWS,
) -> list[NDArray[Any]]:
    """Compute the kernel matrices of several kernels on the same rows.

    RBF kernels whose gammas are a power of two apart share one exponential per pair of rows, as
    the 13 widths of the grid of the TGPLM paper do.

    Parameters
    ----------
    kernels : sequence of Kernel
        The kernels, in any order.
    X_source, X_target, unit_of_row, n_units, tile_rows
        As in `unit_gram`.

    Returns
    -------
    list of ndarray of shape (n_source + n_units, n_source + n_units)
        What `unit_gram` returns for each kernel, to a relative error of 1e-12. In single
        precision, those that share an exponential are computed in double and rounded at the end,
        and so nearer the truth than what `unit_gram` returns.

    Raises
    ------
    KernelMemoryError
        Before anything is allocated, when the matrices do not all fit into free memory.
    ValueError
        When there are no rows, or `unit_of_row` does not fit `n_units`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel, unit_grams
    >>> rows, kernels = np.array([[0.0], [1.0]]), [Kernel("rbf", gamma) for gamma in (0.5, 2.0)]
    >>> wide, narrow = unit_grams(kernels, rows, None, None, 0)
    >>> bool(np.isclose(wide[0, 1] ** 4, narrow[0, 1]))
    True
    """
    n_source = _n_rows(X_source)
    dtype = kernel_dtype(X_source, X_target)
    require_gram(n_source, n_units, dtype, n_kernels=len(kernels))
    n_all = n_source + n_units
    grams = [np.zeros((n_all, n_all), dtype=dtype) for _ in kernels]
    for numbers in ladders(kernels):
        ladder = [kernels[i] for i in numbers]
        pieces = _pieces(ladder[0], X_source, X_target, unit_of_row, n_units, tile_rows)
        served = [grams[i] for i in numbers]
        _add_lower_half(served, ladder, pieces)
        # Values of one set of rows are symmetric as they come.
        is_one_block = len(pieces) == 1 and pieces[0].mean is None
        if ladder[0].name != "rbf" or not is_one_block:
            for gram in served:
                _mirror_lower_half(gram, min(tile_rows, _MIRRORED_ROWS))
    return grams


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
    return unit_crosses(
        [kernel], X_rows, X_source, X_target, unit_of_row, n_units, tile_rows=tile_rows
    )[0]


def unit_crosses(
    kernels: Sequence[Kernel],
    X_rows: Rows,
    X_source: Rows | None,
    X_target: Rows | None,
    unit_of_row: NDArray[Any] | None,
    n_units: int,
    *,
    tile_rows: int = TILE_ROWS,
) -> list[NDArray[Any]]:
    """Compute the kernels of rows with the units for several kernels, as `unit_grams` does.

    Parameters
    ----------
    kernels : sequence of Kernel
        The kernels, in any order.
    X_rows, X_source, X_target, unit_of_row, n_units, tile_rows
        As in `unit_cross`.

    Returns
    -------
    list of ndarray of shape (n_rows, n_source + n_units)

    Raises
    ------
    KernelMemoryError
        Before anything is allocated, when the matrices do not all fit into free memory.
    ValueError
        When there are no rows, or `unit_of_row` does not fit `n_units`.
    """
    n_source, n_rows = _n_rows(X_source), int(X_rows.shape[0])
    dtype = kernel_dtype(X_rows, X_source, X_target)
    require_cross(n_rows, n_source, n_units, dtype, n_kernels=len(kernels))
    crosses = [np.zeros((n_rows, n_source + n_units), dtype=dtype) for _ in kernels]
    for numbers in ladders(kernels):
        ladder = [kernels[i] for i in numbers]
        pieces = _pieces(ladder[0], X_source, X_target, unit_of_row, n_units, tile_rows)
        for left in plain_pieces(X_rows, tile_rows):
            for right in pieces:
                for i, block in zip(numbers, _blocks(ladder, left, right), strict=True):
                    crosses[i][left.units, right.units] += right.average(block.T).T
    return crosses


def _n_rows(X: Rows | None) -> int:
    return 0 if X is None else int(X.shape[0])


def _pieces(
    kernel: Kernel,
    X_source: Rows | None,
    X_target: Rows | None,
    unit_of_row: NDArray[Any] | None,
    n_units: int,
    tile_rows: int,
) -> list[Piece]:
    """Cut the rows of both domains into pieces; source rows are units of their own."""
    if X_source is None and X_target is None:
        raise ValueError("A kernel matrix needs source rows or target rows.")
    n_source, n_target = _n_rows(X_source), _n_rows(X_target)
    if kernel.name == "precomputed":
        _check_columns(X_source, X_target, n_source + n_target)
    units = np.empty(0, dtype=np.int64) if unit_of_row is None else np.asarray(unit_of_row)
    if units.shape != (n_target,):
        raise ValueError(
            f"unit_of_row must have one entry for each of the {n_target} target rows."
        )
    source = plain_pieces(X_source, tile_rows)
    if np.array_equal(units, np.arange(n_units)):
        return source + plain_pieces(X_target, tile_rows, n_source)
    if kernel.name == "linear" and n_units > 0:
        return source + mean_pieces(X_target, units, n_units, n_source, tile_rows)
    dtype = kernel_dtype(X_source, X_target)
    return source + unit_pieces(X_target, units, n_units, n_source, tile_rows, dtype)


def _check_columns(X_source: Rows | None, X_target: Rows | None, n_rows: int) -> None:
    for name, X in (("X_source", X_source), ("X_target", X_target)):
        if X is not None and X.shape[1] < n_rows:
            raise ValueError(
                f"{name} has {X.shape[1]} columns, but a precomputed kernel needs one for each of "
                f"the {n_rows} source and target rows."
            )


def _blocks(ladder: Sequence[Kernel], left: Piece, right: Piece) -> Iterator[NDArray[Any]]:
    """Yield the kernel of all rows of two pieces, for each kernel of a ladder."""
    if ladder[0].name == "precomputed":
        rows, columns = left.order, right.columns
        if not isinstance(rows, slice) and not isinstance(columns, slice):
            rows = rows[:, None]
        block = left.X[rows, columns]
        yield block.toarray() if sparse.issparse(block) else np.asarray(block)
        return
    X = left.rows()
    yield from ladder_values(ladder, X, X if left is right else right.rows())


def _add_lower_half(
    grams: list[NDArray[Any]], ladder: Sequence[Kernel], pieces: list[Piece]
) -> None:
    for i, left in enumerate(pieces):
        for right in pieces[: i + 1]:
            for gram, block in zip(grams, _blocks(ladder, left, right), strict=True):
                values = left.average(block)
                values = right.average(values.T).T
                gram[left.units, right.units] += values
                shared = left.units.start
                if left is not right and shared == right.units.stop - 1:
                    # The two pieces cut one unit: its pairs of rows count in both orders.
                    gram[shared, shared] += values[0, -1]


def _mirror_lower_half(gram: NDArray[Any], tile_rows: int) -> None:
    """Copy the lower half onto the upper half by tiles."""
    for rows in tiles(len(gram), tile_rows):
        for columns in tiles(rows.start, tile_rows):
            gram[columns, rows] = gram[rows, columns].T
        corner = gram[rows, rows]
        np.copyto(corner, corner.T, where=_ABOVE_DIAGONAL[: len(corner), : len(corner)])
