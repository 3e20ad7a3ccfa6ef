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

from bagshift import _core
from bagshift.kernels._tiles import TILE_ROWS, in_double, kernel_dtype, tiles

Rows = Any
Floats = NDArray[np.float64]
KernelFunction = Callable[[Rows, Rows], NDArray[Any]]

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
            First rows. Passing the same object twice gives an rbf kernel that is exactly
            symmetric, with ones on its diagonal.
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
    products = _sparse_products if is_sparse else centred_products
    values, left_norms, right_norms = products(A, B, gamma)
    _core.rbf_values(
        products=values,
        row_norms=left_norms,
        column_norms=right_norms,
        gamma=gamma,
        same_rows=A is B,
    )
    return values.astype(dtype, copy=False)


def centred_products(
    A: NDArray[Any], B: NDArray[Any], gamma: float
) -> tuple[NDArray[Any], Floats, Floats]:
    """Compute what the distances of two sets of dense rows are made of.

    The rows are moved to the mean of `B` first: distances do not change, but the numbers that
    cancel become small.

    Parameters
    ----------
    A, B : ndarray of shape (n_a, n_features), (n_b, n_features)
        Rows.
    gamma : float
        By which squared distances will be multiplied. Single precision gives way to double where
        too much would cancel.

    Returns
    -------
    products : ndarray of shape (n_a, n_b)
        Inner products of the moved rows.
    left_norms, right_norms : ndarray of shape (n_a,), (n_b,)
        Their squared norms; ``|u - v|^2 = |u|^2 + |v|^2 - 2 u'v``.
    """
    centre = B.sum(axis=0, dtype=np.float64) / len(B)
    left, right, left_norms, right_norms = _centred(A, B, centre, kernel_dtype(A, B))
    if left.dtype == np.float32:
        largest = gamma * float(max(left_norms.max(), right_norms.max()))
        if not largest <= SINGLE_PRECISION_LIMIT:
            left, right, left_norms, right_norms = _centred(A, B, centre, np.dtype(np.float64))
    return left @ right.T, left_norms, right_norms


def _centred(
    A: NDArray[Any], B: NDArray[Any], centre: Floats, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any], Floats, Floats]:
    """Move two sets of rows to a new origin; return them and their squared norms."""
    origin = centre.astype(dtype, copy=False)
    left = np.subtract(A, origin, dtype=dtype)
    left_norms = _squared_norms(left)
    if A is B:
        return left, left, left_norms, left_norms
    right = np.subtract(B, origin, dtype=dtype)
    return left, right, left_norms, _squared_norms(right)


def _squared_norms(rows: NDArray[Any]) -> Floats:
    norms: Floats = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return norms


def _sparse_products(A: Rows, B: Rows, gamma: float) -> tuple[Floats, Floats, Floats]:
    """Compute the same of sparse rows, in double precision and without moving them."""
    A, B = in_double(A), in_double(B)
    products = np.ascontiguousarray(safe_sparse_dot(A, B.T, dense_output=True))
    return products, row_norms(A, squared=True), row_norms(B, squared=True)


def _power(base: NDArray[Any], degree: int) -> NDArray[Any]:
    """Raise to a whole power by products, several times faster than a general power."""
    if degree == 0:
        return np.ones_like(base)
    power = base.copy() if degree > 1 else base
    for _ in range(degree - 1):
        power *= base
    return power
