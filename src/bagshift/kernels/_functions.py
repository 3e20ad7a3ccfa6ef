# SPDX-License-Identifier: BSD-3-Clause
"""Kernel functions of two sets of rows.

With rows ``u`` and ``v``::

    linear   u'v
    rbf      exp(-gamma |u - v|^2)
    poly     (gamma u'v + coef0)^degree
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from bagshift.kernels._tiles import TILE_ROWS, in_double, kernel_dtype, tiles

Rows = Any
KernelFunction = Callable[[Rows, Rows], NDArray[Any]]

# Rounding in the exponent of a single precision rbf kernel grows with gamma |u|^2. Beyond this
# value the product is taken in double precision, which keeps the error below about 2e-6.
SINGLE_PRECISION_LIMIT = 8.0

# Its exponential is zero in both precisions, and single precision can hold it.
SMALLEST_EXPONENT = -1e4


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
        squared = np.concatenate(
            [row_norms(in_double(A[t]), squared=True) for t in tiles(A.shape[0], TILE_ROWS)]
        ).astype(dtype)
        return squared if self.name == "linear" else self._poly_of(squared)

    def _poly_of(self, product: NDArray[Any]) -> NDArray[Any]:
        product *= self.gamma
        product += self.coef0
        return _power(product, self.degree)


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
    np.clip(exponent, SMALLEST_EXPONENT, 0.0, out=exponent)
    exponent = exponent.astype(dtype, copy=False)
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
    left, right, left_norms, right_norms = _centred(A, B, centre, kernel_dtype(A, B))
    if left.dtype == np.float32:
        largest = gamma * float(max(left_norms.max(), right_norms.max()))
        if not largest <= SINGLE_PRECISION_LIMIT:
            left, right, left_norms, right_norms = _centred(A, B, centre, np.dtype(np.float64))
    ones = np.ones((len(left) + len(right), 1), dtype=left.dtype)
    left = np.hstack([2 * gamma * left, -gamma * left_norms[:, None], ones[: len(left)]])
    right = np.hstack([right, ones[len(left) :], -gamma * right_norms[:, None]])
    product: NDArray[Any] = left @ right.T
    return product


def _centred(
    A: NDArray[Any], B: NDArray[Any], centre: NDArray[np.float64], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Move two sets of rows to a new origin; return them and their squared norms."""
    origin = centre.astype(dtype)
    left = np.subtract(A, origin, dtype=dtype)
    left_norms = row_norms(left, squared=True)
    if A is B:
        return left, left, left_norms, left_norms
    right = np.subtract(B, origin, dtype=dtype)
    return left, right, left_norms, row_norms(right, squared=True)


def _sparse_exponent(A: Rows, B: Rows, gamma: float) -> NDArray[np.float64]:
    """Compute ``-gamma |u - v|^2`` in double precision without moving the rows."""
    A, B = in_double(A), in_double(B)
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
