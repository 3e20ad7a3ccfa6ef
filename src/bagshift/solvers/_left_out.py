# SPDX-License-Identifier: BSD-3-Clause
"""What units miss their targets by when a least-squares machine is trained without them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def quadratic_forms(rows: Floats, matrix: Floats) -> Floats:
    """Return the quadratic form of every row.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, q)
    matrix : ndarray of shape (q, q)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    return np.asarray(np.einsum("ij,jk,ik->i", rows, matrix, rows))


def left_out_residuals(scaled_dual: Floats, scale: Floats, leverage: Floats) -> Floats:
    """Return what units miss their targets by when they are left out.

    Parameters
    ----------
    scaled_dual : ndarray of shape (n_units, n_outputs)
        Dual variables over the roots of the costs.
    scale : ndarray of shape (n_units,)
        Roots of the costs; units of cost 0 have no finite value here.
    leverage : ndarray of shape (n_units,)
        Diagonal of the inverse of the system in these variables, intercepts eliminated.

    Returns
    -------
    ndarray of shape (n_units, n_outputs)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return scaled_dual / (scale * leverage)[:, None]
