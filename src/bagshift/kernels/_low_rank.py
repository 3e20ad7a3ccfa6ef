# SPDX-License-Identifier: BSD-3-Clause
r"""A finite feature map whose inner products are the kernel, or nearly so.

Nyström's method [1]_: with landmark rows :math:`\ell_1, \dots, \ell_m`, their kernel matrix
:math:`K_{\ell\ell} = U \Lambda U^\top` and :math:`k(x)` the kernel of a row with the landmarks,

.. math:: \phi(x) = \Lambda^{-1/2} U^\top k(x), \qquad
          \phi(x)^\top \phi(z) = k(x)^\top K_{\ell\ell}^{+}\, k(z) .

That is the kernel of the projections of :math:`x` and :math:`z` on the span of the landmarks, and
the kernel itself where both rows are in it: with all training rows as landmarks a machine on
these features is the exact kernel machine. Directions of relative eigenvalue below 1e-12 are
rounding and left out.

References
----------
.. [1] C. Williams, M. Seeger. Using the Nyström method to speed up kernel machines. Advances in
   Neural Information Processing Systems 13, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from scipy.linalg import eigh

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._landmarks import choose_landmarks
from bagshift.kernels._memory import require_memory
from bagshift.kernels._rows import take_rows
from bagshift.kernels._tiles import TILE_ROWS, tiles

Floats = NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LowRankMap:
    """Feature map of a kernel through landmark rows.

    Parameters
    ----------
    kernel : Kernel
    landmarks : {ndarray, CSR} of shape (n_landmarks, n_features)
        Landmark rows. Precomputed: the columns that hold them, an integer array of shape
        (n_landmarks,).
    rows : int ndarray of shape (n_landmarks,)
        Numbers of the landmarks among the training rows, source rows first.
    projection : ndarray of shape (n_landmarks, rank)
        From kernel values with the landmarks to features.
    """

    kernel: Kernel
    landmarks: Any
    rows: NDArray[np.intp]
    projection: Floats

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.projection.shape[1])

    def transform(self, X: Rows, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the features of rows.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n_rows, n_features)
            Precomputed: kernel values with the training rows.
        dtype : dtype, default=float64
            Of the features, which are computed in double precision; float32 takes half the memory.

        Returns
        -------
        ndarray of shape (n_rows, rank)

        Raises
        ------
        KernelMemoryError
            When they do not fit into memory.
        """
        n_rows = int(X.shape[0])
        require_memory(
            n_rows * self.rank * np.dtype(dtype).itemsize,
            f"A low-rank map of {n_rows:,} rows with {self.rank:,} features",
            "lower n_components, or use kernel='linear'",
        )
        features = np.empty((n_rows, self.rank), dtype=dtype)
        for part in tiles(n_rows, TILE_ROWS):
            features[part] = kernel_block(self.kernel, X[part], self.landmarks) @ self.projection
        return features

    def coefficients(self, weights: Floats) -> Floats:
        """Return the coefficients of the landmarks that give the same function as weights.

        Parameters
        ----------
        weights : ndarray of shape (rank,)

        Returns
        -------
        ndarray of shape (n_landmarks,)
        """
        return np.asarray(self.projection @ weights)


def low_rank_map(
    kernel: Kernel,
    X_source: Rows | None,
    X_target: Rows,
    *,
    n_landmarks: int | None = None,
    landmarks: str = "uniform",
    smallest: float = _ROUNDING,
    random_state: Any = 0,
) -> LowRankMap:
    """Choose landmarks and build the feature map.

    Parameters
    ----------
    kernel : Kernel
        The linear one needs a map only where it has more columns than rows. "precomputed":
        `X_source` and `X_target` are rows of the kernel matrix of all rows, source columns first.
    X_source : {ndarray, CSR} of shape (n_source, n_features), or None
    X_target : {ndarray, CSR} of shape (n_target, n_features)
    n_landmarks : int, optional
        Half of them are drawn from each domain, as far as it has rows; all rows by default, or
        when there are no more.
    landmarks : {"uniform", "kmeans++"}, default="uniform"
        How they are drawn: with equal probability, or spread over the rows of each domain (a
        precomputed kernel allows the first only). Landmarks that are spread may be fewer than
        `n_landmarks` where many rows are equal.
    smallest : float, default=1e-12
        Directions whose eigenvalue is below this part of the largest are left out.
    random_state : int or RandomState, default=0
        For the choice of landmarks.

    Returns
    -------
    LowRankMap

    Raises
    ------
    KernelMemoryError
        When the kernel matrix of the landmarks does not fit into memory.
    ValueError
        When the kernel is not finite, or `landmarks` is not one of the above.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel, low_rank_map
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> kernel = Kernel("rbf", gamma=0.5)
    >>> features = low_rank_map(kernel, None, X).transform(X)
    >>> bool(np.allclose(features @ features.T, kernel(X, X)))
    True
    """
    chosen = choose_landmarks(kernel, X_source, X_target, n_landmarks, landmarks, random_state)
    n_chosen = len(chosen)
    require_memory(
        3 * n_chosen**2 * 8,
        f"The kernel matrix of {n_chosen:,} landmarks",
        "lower n_components, or use kernel='linear'",
    )
    rows = take_rows(X_source, X_target, chosen)
    span = chosen if kernel.name == "precomputed" else rows
    with np.errstate(over="ignore", invalid="ignore"):
        block = kernel_block(kernel, rows, span)
    if not np.all(np.isfinite(block)):
        raise ValueError(
            "The kernel matrix holds values that are not finite: the features are too large for "
            "this kernel, so scale them, or check the kernel function."
        )
    eigenvalues, eigenvectors = eigh((block + block.T) / 2.0, check_finite=False)
    kept = eigenvalues > max(smallest * eigenvalues[-1], 0.0)
    if not kept.any():
        # A kernel that is zero everywhere has one feature, which is zero.
        return LowRankMap(kernel, span, chosen, np.zeros((n_chosen, 1)))
    projection = eigenvectors[:, kept] / np.sqrt(eigenvalues[kept])
    return LowRankMap(kernel, span, chosen, projection)


def kernel_block(kernel: Kernel, rows: Any, landmarks: Any) -> Floats:
    """Return the kernel of rows with landmarks, in double precision.

    Parameters
    ----------
    kernel : Kernel
    rows : {ndarray, CSR} of shape (n_rows, n_features)
        Precomputed: kernel values with the training rows.
    landmarks : {ndarray, CSR} of shape (n_landmarks, n_features)
        Precomputed: the columns that hold them, an integer array of shape (n_landmarks,).

    Returns
    -------
    ndarray of shape (n_rows, n_landmarks)
    """
    if kernel.name != "precomputed":
        return np.asarray(kernel(rows, landmarks), dtype=np.float64)
    block = rows[:, landmarks]
    return np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
