# SPDX-License-Identifier: BSD-3-Clause
"""Kernel functions of two sets of rows, and the choice of their parameters.

With rows ``u`` and ``v``::

    linear   u'v
    rbf      exp(-gamma |u - v|^2)
    poly     (gamma u'v + coef0)^degree
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from bagshift.kernels._tiles import TILE_ROWS, tiles

Rows = Any
KernelFunction = Callable[[Rows, Rows], NDArray[Any]]

KERNEL_NAMES = ("linear", "rbf", "poly", "precomputed")

# Rounding in the exponent of a single precision rbf kernel grows with gamma |u|^2. Beyond this
# value the product is taken in double precision, which keeps the error below about 2e-6.
SINGLE_PRECISION_LIMIT = 8.0


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters fixed.

    Parameters
    ----------
    name : {"linear", "rbf", "poly", "precomputed"} or callable
        The kernel. A callable takes two sets of rows, ``(n_a, n_features)`` and
        ``(n_b, n_features)``, and returns their ``(n_a, n_b)`` kernel matrix. It is called with
        tiles of the data, so each entry may depend on its own two rows only.
    gamma : float, default=1.0
        Scale of "rbf" and "poly".
    degree : int, default=3
        Power of "poly".
    coef0 : float, default=0.0
        Constant of "poly".

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel
    >>> Kernel("rbf", gamma=0.5)(np.array([[0.0], [1.0]]), np.array([[0.0]])).round(3)
    array([[1.   ],
           [0.607]])
    """

    name: str | KernelFunction
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __call__(self, A: Rows, B: Rows) -> NDArray[Any]:
        """Compute the kernel matrix of two sets of rows.

        Parameters
        ----------
        A : {ndarray, CSR} of shape (n_a, n_features)
            First rows. Passing the same object twice gives an exact diagonal where the kernel
            has one.
        B : {ndarray, CSR} of shape (n_b, n_features)
            Second rows.

        Returns
        -------
        ndarray of shape (n_a, n_b)
            float32 when both sets of rows are float32, else float64.

        Raises
        ------
        ValueError
            When the kernel is "precomputed", or a callable returns another shape.
        """
        dtype = kernel_dtype(A, B)
        if callable(self.name):
            return _called(self.name, A, B, dtype)
        if self.name == "precomputed":
            raise ValueError('kernel="precomputed" has no function of two sets of rows.')
        if self.name == "rbf":
            return _rbf(A, B, self.gamma, dtype)
        product = np.asarray(safe_sparse_dot(A, B.T, dense_output=True), dtype=dtype)
        return product if self.name == "linear" else self._poly_of(product)

    def diagonal(self, A: Rows) -> NDArray[Any]:
        """Compute the kernel of every row with itself.

        Parameters
        ----------
        A : {ndarray, CSR} of shape (n_a, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_a,)

        Raises
        ------
        ValueError
            When the kernel is "precomputed".
        """
        dtype = kernel_dtype(A)
        if self.name == "rbf":
            return np.ones(A.shape[0], dtype=dtype)
        if callable(self.name) or self.name == "precomputed":
            blocks = [np.diagonal(self(A[t], A[t])) for t in tiles(A.shape[0], 64)]
            return np.concatenate([np.empty(0, dtype=dtype), *blocks])
        squared = np.asarray(row_norms(A, squared=True), dtype=dtype)
        return squared if self.name == "linear" else self._poly_of(squared)

    def _poly_of(self, product: NDArray[Any]) -> NDArray[Any]:
        product *= self.gamma
        product += self.coef0
        return _power(product, self.degree)


def kernel_dtype(*parts: Rows) -> np.dtype[Any]:
    """Return float32 when every given set of rows is float32, else float64."""
    given = [part.dtype for part in parts if part is not None]
    return np.dtype(np.float32 if all(d == np.float32 for d in given) else np.float64)


def _called(function: KernelFunction, A: Rows, B: Rows, dtype: np.dtype[Any]) -> NDArray[Any]:
    values = np.asarray(function(A, B), dtype=dtype)
    expected = (A.shape[0], B.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"The kernel function returned an array of shape {values.shape} for {expected[0]} "
            f"and {expected[1]} rows; it must return one value per pair of rows, {expected}."
        )
    return values


def _rbf(A: Rows, B: Rows, gamma: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    if A.shape[0] == 0 or B.shape[0] == 0:
        return np.empty((A.shape[0], B.shape[0]), dtype=dtype)
    is_sparse = sparse.issparse(A) or sparse.issparse(B)
    exponent = (_sparse_exponent if is_sparse else _dense_exponent)(A, B, gamma)
    exponent = exponent.astype(dtype, copy=False)
    np.minimum(exponent, 0.0, out=exponent)
    np.exp(exponent, out=exponent)
    if A is B:
        np.fill_diagonal(exponent, 1.0)
    return exponent


def _dense_exponent(A: NDArray[Any], B: NDArray[Any], gamma: float) -> NDArray[Any]:
    """Compute ``-gamma |u - v|^2`` by one matrix product.

    The rows are moved to the mean of `B` first: distances do not change, but the numbers that
    cancel become small.
    """
    centre = B.mean(axis=0, dtype=np.float64)
    left, right = _centred(A, B, centre, kernel_dtype(A, B))
    largest = max(row_norms(left, squared=True).max(), row_norms(right, squared=True).max())
    if left.dtype == np.float32 and not gamma * float(largest) <= SINGLE_PRECISION_LIMIT:
        left, right = _centred(A, B, centre, np.dtype(np.float64))
    left_norms, right_norms = row_norms(left, squared=True), row_norms(right, squared=True)
    ones = np.ones((len(left), 1), dtype=left.dtype)
    left = np.hstack([2 * gamma * left, -gamma * left_norms[:, None], ones])
    ones = np.ones((len(right), 1), dtype=right.dtype)
    right = np.hstack([right, ones, -gamma * right_norms[:, None]])
    product: NDArray[Any] = left @ right.T
    return product


def _centred(
    A: NDArray[Any], B: NDArray[Any], centre: NDArray[np.float64], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    moved = np.subtract(A, centre.astype(dtype), dtype=dtype)
    return moved, moved if A is B else np.subtract(B, centre.astype(dtype), dtype=dtype)


def _sparse_exponent(A: Rows, B: Rows, gamma: float) -> NDArray[np.float64]:
    """Compute ``-gamma |u - v|^2`` in double precision without moving the rows."""
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    exponent: NDArray[np.float64] = np.asarray(safe_sparse_dot(A, B.T, dense_output=True))
    exponent *= 2 * gamma
    exponent -= gamma * row_norms(A, squared=True)[:, None]
    exponent -= gamma * row_norms(B, squared=True)
    return exponent


def _power(base: NDArray[Any], degree: int) -> NDArray[Any]:
    """Raise to a whole power by products, several times faster than a general power."""
    if degree == 0:
        return np.ones_like(base)
    power = base.copy() if degree > 1 else base
    for _ in range(degree - 1):
        power *= base
    return power


def resolve_kernel(
    kernel: str | KernelFunction,
    gamma: str | float,
    degree: int,
    coef0: float,
    X_source: Rows | None,
    X_target: Rows | None,
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
    parts = [X for X in (X_source, X_target) if X is not None and X.shape[0] > 0]
    number = _gamma(gamma, parts) if kernel in ("rbf", "poly") else 1.0
    return Kernel(kernel, number, int(degree), float(coef0))


def _check_gamma(gamma: str | float) -> None:
    if isinstance(gamma, str):
        good = gamma in ("scale", "paper")
    else:
        good = isinstance(gamma, Real) and math.isfinite(gamma) and gamma > 0
    if not good or isinstance(gamma, bool):
        raise ValueError(f"gamma={gamma!r} must be 'scale', 'paper' or a positive number.")


def _gamma(gamma: str | float, parts: list[Rows]) -> float:
    if not isinstance(gamma, str):
        return float(gamma)
    if not parts:
        raise ValueError(f"gamma={gamma!r} needs at least one row.")
    if gamma == "scale":
        spread = parts[0].shape[1] * _variance(parts)
    else:
        spread = float(_mean_norm(parts[0])) ** 2
    return 1.0 / spread if spread > 0 else 1.0


def _mean_norm(X: Rows) -> float:
    total = sum(row_norms(_double(X[t])).sum() for t in tiles(X.shape[0], TILE_ROWS))
    return float(total) / int(X.shape[0])


def _variance(parts: list[Rows]) -> float:
    """Variance of all numbers of all parts, in two passes.

    Numbers are counted from the first one, so that equal numbers give exactly zero.
    """
    size = sum(int(X.shape[0]) * int(X.shape[1]) for X in parts)
    origin = _first_number(parts[0])
    mean = origin + _moment(parts, origin, 1) / size
    return _moment(parts, mean, 2) / size


def _moment(parts: list[Rows], origin: float, power: int) -> float:
    """Sum ``(x - origin)^power`` over all numbers, the zeros of sparse rows included."""
    total = 0.0
    for X in parts:
        for tile in tiles(X.shape[0], TILE_ROWS):
            rows = _double(X[tile])
            stored = rows.data if sparse.issparse(rows) else rows
            n_zeros = rows.shape[0] * rows.shape[1] - stored.size
            total += float(((stored - origin) ** power).sum()) + n_zeros * (-origin) ** power
    return total


def _first_number(X: Rows) -> float:
    row = X[:1].toarray() if sparse.issparse(X) else X[:1]
    return float(row[0, 0])


def _double(rows: Rows) -> Rows:
    """Return a tile in double precision, without entries stored twice."""
    rows = rows.astype(np.float64, copy=False)
    if sparse.issparse(rows):
        rows.sum_duplicates()
    return rows
