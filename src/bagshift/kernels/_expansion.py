# SPDX-License-Identifier: BSD-3-Clause
"""Decision values of a kernel expansion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._tiles import TILE_ROWS, tiles


def decision_values(
    kernel: Kernel,
    X: Rows,
    support: Rows,
    coefficients: NDArray[Any],
    *,
    tile_rows: int = TILE_ROWS,
) -> NDArray[np.float64]:
    """Compute ``sum_i coefficients_i kernel(x, support_i)`` for every row ``x``.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : {ndarray, CSR} of shape (n_rows, n_features)
        Rows to decide on. Precomputed: their kernel values with the training rows.
    support : {ndarray, CSR} of shape (n_support, n_features)
        Rows of the expansion. Precomputed: the columns of `X` that hold them, an integer array
        of shape (n_support,).
    coefficients : ndarray of shape (n_support,) or (n_support, n_functions)
        Weights of the support rows, one column per function.
    tile_rows : int, default=768
        Rows taken at a time on both sides.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_functions)
        Values without an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel, decision_values
    >>> support = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> decision_values(Kernel("linear"), np.array([[3.0, 1.0]]), support, np.array([1.0, -1.0]))
    array([1.])
    """
    coefficients = np.asarray(coefficients, dtype=np.float64)
    values = np.zeros((X.shape[0], *coefficients.shape[1:]))
    if kernel.name == "linear":
        weights = linear_weights(support, coefficients)
        for rows in tiles(X.shape[0], tile_rows):
            values[rows] = X[rows] @ weights
        return values
    for rows in tiles(X.shape[0], tile_rows):
        for part in tiles(support.shape[0], tile_rows):
            if kernel.name == "precomputed":
                block = X[rows][:, support[part]]
            else:
                block = kernel(X[rows], support[part])
            values[rows] += block @ coefficients[part]
    return values


def linear_weights(
    support: Rows, coefficients: NDArray[Any], *, tile_rows: int = TILE_ROWS
) -> NDArray[np.float64]:
    """Compute the weight vector of a linear expansion, ``support' coefficients``.

    Parameters
    ----------
    support : {ndarray, CSR} of shape (n_support, n_features)
        Rows of the expansion.
    coefficients : ndarray of shape (n_support,) or (n_support, n_functions)
        Weights of the support rows.
    tile_rows : int, default=768
        Rows taken at a time.

    Returns
    -------
    ndarray of shape (n_features,) or (n_features, n_functions)
    """
    coefficients = np.asarray(coefficients, dtype=np.float64)
    weights = np.zeros((support.shape[1], *coefficients.shape[1:]))
    for part in tiles(support.shape[0], tile_rows):
        weights += support[part].T @ coefficients[part]
    return weights
