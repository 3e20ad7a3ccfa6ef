# SPDX-License-Identifier: BSD-3-Clause
r"""Factors of :math:`I + B` with a positive semidefinite :math:`B`.

No eigenvalue of the sum is below one, so that its Cholesky factor exists and is as accurate as
:math:`B` itself, until rounding in :math:`B` is as large as one: then the eigenvalues of
:math:`B` are computed, and those that rounding made negative are taken for the zeros they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigh
from scipy.linalg.lapack import dpotrf, dtrtri

Floats = NDArray[np.float64]

# Rounding errors in eigenvalues that are small beside one.
_SMALL_ERROR = 0.1


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """The triangular factor of a matrix.

    Attributes
    ----------
    lower : ndarray of shape (m, m)
        Only its lower half is meant, the other one may hold anything.
    """

    lower: Floats

    def solve(self, right: Floats) -> Floats:
        """Return the inverse times a matrix.

        Parameters
        ----------
        right : ndarray of shape (m, n_columns)

        Returns
        -------
        ndarray of shape (m, n_columns)
        """
        if not len(self.lower):
            return right
        return np.asarray(cho_solve((self.lower, True), right, check_finite=False))

    def inverse_diagonal(self, first: int) -> Floats:
        """Return the end of the diagonal of the inverse.

        Parameters
        ----------
        first : int
            Where to begin.

        Returns
        -------
        ndarray of shape (m - first,)
        """
        # The end of the inverse is that of its last block alone, since the factor is triangular.
        block = self.lower[first:, first:]
        if not len(block):
            return np.empty(0)
        inverse, _ = dtrtri(block, lower=1)
        inverse = np.tril(inverse)
        return np.asarray(np.einsum("ij,ij->j", inverse, inverse))


@dataclass(frozen=True, eq=False)
class SpectralFactor:
    """The eigenvectors of a matrix.

    Attributes
    ----------
    vectors : ndarray of shape (m, m)
        One in each column.
    values : ndarray of shape (m,)
        Eigenvalues, at least one.
    """

    vectors: Floats
    values: Floats

    def solve(self, right: Floats) -> Floats:
        """Return the inverse times a matrix.

        Parameters
        ----------
        right : ndarray of shape (m, n_columns)

        Returns
        -------
        ndarray of shape (m, n_columns)
        """
        return np.asarray(self.vectors @ ((self.vectors.T @ right) / self.values[:, None]))

    def inverse_diagonal(self, first: int) -> Floats:
        """Return the end of the diagonal of the inverse.

        Parameters
        ----------
        first : int
            Where to begin.

        Returns
        -------
        ndarray of shape (m - first,)
        """
        return np.asarray((self.vectors[first:] ** 2) @ (1.0 / self.values))


def factor_identity_plus(matrix: Floats, rounding: float) -> CholeskyFactor | SpectralFactor:
    """Factorise the identity plus a positive semidefinite matrix.

    Parameters
    ----------
    matrix : ndarray of shape (m, m), in C order
        Symmetric; it is overwritten. One that has negative eigenvalues is taken for the nearest
        that has none.
    rounding : float
        Errors to expect in its eigenvalues.

    Returns
    -------
    CholeskyFactor or SpectralFactor
    """
    diagonal = matrix.diagonal().copy()
    if rounding < _SMALL_ERROR and len(matrix):
        np.fill_diagonal(matrix, diagonal + 1.0)
        # Without the other half being touched, so that nothing is lost when it fails.
        lower, failure = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if not failure:
            return CholeskyFactor(lower)
        np.fill_diagonal(matrix, diagonal)
    # The lower half of `matrix` is the upper one of what was overwritten.
    values, vectors = eigh(matrix, lower=True, overwrite_a=True, check_finite=False)
    return SpectralFactor(vectors, 1.0 + np.maximum(values, 0.0))
