# SPDX-License-Identifier: BSD-3-Clause
"""The choice of kernel parameters from the rows."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from bagshift.kernels._functions import Kernel, KernelFunction, Rows
from bagshift.kernels._tiles import TILE_ROWS, in_double, tiles

KERNEL_NAMES = ("linear", "rbf", "poly", "precomputed")

Floats = NDArray[np.float64]
WeightedRows = tuple[Rows, Floats]


def resolve_kernel(
    kernel: str | KernelFunction,
    gamma: str | float,
    degree: int,
    coef0: float,
    X_source: Rows | None,
    X_target: Rows | None,
    *,
    weights: ArrayLike | None = None,
) -> Kernel:
    """Check the kernel parameters and turn a rule for gamma into a number.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        The kernel.
    gamma : {"scale", "paper"} or float
        "scale": ``1 / (n_features * variance of all numbers of all rows)``, as in scikit-learn's
        SVC fitted on source and target rows stacked; 1 when all numbers are equal. "paper":
        ``1 / s`` with ``s`` the square of the mean 2-norm of the source rows (of the target rows
        without a source), the middle of the grid of the TGPLM paper, whose ``2 sigma^2`` is
        ``s``. Or a positive number.
    degree : int
        Power of "poly", zero or more.
    coef0 : float
        Constant of "poly".
    X_source, X_target : {ndarray, CSR} of shape (n_rows, n_features), or None
        Rows of the two domains.
    weights : array-like of shape (n_source + n_target,), default=None
        How often each row counts in the rules for gamma, source rows first; None counts each
        row once.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        When a parameter is not one of the above.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import resolve_kernel
    >>> X = np.array([[3.0, 4.0], [6.0, 8.0]])
    >>> resolve_kernel("rbf", "paper", 3, 0.0, X, None).gamma == 1 / 7.5**2
    True
    """
    if not callable(kernel) and kernel not in KERNEL_NAMES:
        raise ValueError(
            f"kernel={kernel!r} is not known; use 'linear', 'rbf', 'poly', 'precomputed' or a "
            "function of two sets of rows."
        )
    if not isinstance(degree, Integral) or degree < 0:
        raise ValueError(f"degree={degree!r} must be a whole number, zero or more.")
    if not isinstance(coef0, Real) or not math.isfinite(coef0):
        raise ValueError(f"coef0={coef0!r} must be a finite number.")
    _check_gamma(gamma)
    number = 1.0
    if kernel in ("rbf", "poly"):
        number = _gamma(gamma, X_source, X_target, weights)
    return Kernel(kernel, number, int(degree), float(coef0))


def _check_gamma(gamma: str | float) -> None:
    if isinstance(gamma, str):
        good = gamma in ("scale", "paper")
    else:
        good = isinstance(gamma, Real) and math.isfinite(gamma) and gamma > 0
    if not good or isinstance(gamma, bool):
        raise ValueError(f"gamma={gamma!r} must be 'scale', 'paper' or a positive number.")


def _gamma(
    gamma: str | float, X_source: Rows | None, X_target: Rows | None, weights: ArrayLike | None
) -> float:
    if not isinstance(gamma, str):
        return float(gamma)
    parts = _weighted_parts(X_source, X_target, weights)
    if not parts:
        raise ValueError(f"gamma={gamma!r} needs at least one row of positive weight.")
    if gamma == "scale":
        spread = int(parts[0][0].shape[1]) * _variance(parts)
    else:
        spread = _mean_norm(*parts[0]) ** 2
    return 1.0 / spread if spread > 0 else 1.0


def _weighted_parts(
    X_source: Rows | None, X_target: Rows | None, weights: ArrayLike | None
) -> list[WeightedRows]:
    """Pair the rows that there are with their weights; parts without any weight are left out."""
    parts = [X for X in (X_source, X_target) if X is not None]
    n_rows = sum(int(X.shape[0]) for X in parts)
    weight = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"weights must have one entry for each of the {n_rows} rows.")
    n_first = int(parts[0].shape[0]) if parts else 0
    paired = zip(parts, (weight[:n_first], weight[n_first:]), strict=False)
    return [(X, w) for X, w in paired if w.sum() > 0]


def _mean_norm(X: Rows, weight: Floats) -> float:
    total = sum(float(weight[t] @ row_norms(in_double(X[t]))) for t in _tiles(X))
    return total / float(weight.sum())


def _variance(parts: list[WeightedRows]) -> float:
    """Compute the variance of all numbers of all parts, in two passes.

    Numbers are counted from one of them, so that equal numbers give exactly zero.
    """
    X, weight = parts[0]
    origin = _first_number(X[int(np.argmax(weight)) :])
    size = sum(float(weight.sum()) * int(X.shape[1]) for X, weight in parts)
    mean = origin + _moment(parts, origin, 1) / size
    return _moment(parts, mean, 2) / size


def _moment(parts: list[WeightedRows], origin: float, power: Literal[1, 2]) -> float:
    """Sum ``(x - origin)^power`` over all numbers, the zeros of sparse rows included."""
    total = 0.0
    for X, weight in parts:
        for tile in _tiles(X):
            total += float(weight[tile] @ _row_moments(in_double(X[tile]), origin, power))
    return total


def _row_moments(rows: Rows, origin: float, power: Literal[1, 2]) -> Floats:
    moments: Floats
    if not sparse.issparse(rows):
        moved = rows - origin
        moments = moved.sum(axis=1) if power == 1 else np.einsum("ij,ij->i", moved, moved)
        return moments
    n_zeros = rows.shape[1] - np.diff(rows.indptr)
    stored = sparse.csr_matrix(
        ((rows.data - origin) ** power, rows.indices, rows.indptr), shape=rows.shape
    )
    moments = np.asarray(stored.sum(axis=1)).ravel()
    moments += n_zeros * (-origin) ** power
    return moments


def _first_number(X: Rows) -> float:
    row = X[:1].toarray() if sparse.issparse(X) else X[:1]
    return float(row[0, 0])


def _tiles(X: Rows) -> list[slice]:
    return list(tiles(int(X.shape[0]), TILE_ROWS))
