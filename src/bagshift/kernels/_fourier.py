# SPDX-License-Identifier: BSD-3-Clause
r"""Random features whose inner products are an RBF kernel on average.

Bochner's theorem writes the RBF kernel as a mean over random frequencies [1]_,

.. math:: e^{-\gamma \|x - z\|^2} = \mathbb{E}\, \cos\bigl(\omega^\top (x - z)\bigr), \qquad
          \omega \sim N(0,\, 2 \gamma I),

and with D frequencies the mean over them is an inner product of 2D features,

.. math:: \phi(x) = D^{-1/2}\,\bigl(\cos \omega_1^\top x, \dots, \cos \omega_D^\top x,\,
                    \sin \omega_1^\top x, \dots, \sin \omega_D^\top x\bigr) .

Pairs of a cosine and a sine are exact at :math:`x = z`, and their error is smaller than that of as
many cosines with random phases [3]_. The frequencies come in blocks of as many as there are
columns. Those of a block are orthogonal to each other, with the lengths of independent ones (chi
distributed): each is normal still, so the mean stays right, and its error becomes smaller [2]_.

Unlike landmarks (:mod:`bagshift.kernels._low_rank`) such a map needs no rows to be built, and
nothing but the seed to be known on another machine.

References
----------
.. [1] A. Rahimi, B. Recht. Random features for large-scale kernel machines. Advances in Neural
   Information Processing Systems 20, 2007.
.. [2] F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar. Orthogonal random features.
   Advances in Neural Information Processing Systems 29, 2016.
.. [3] D. Sutherland, J. Schneider. On the error of random Fourier features. Uncertainty in
   Artificial Intelligence 31, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._memory import require_memory
from bagshift.kernels._tiles import TILE_ROWS, in_double, tiles

Floats = NDArray[np.float64]

_WAY_OUT = "lower n_components, or use kernel='linear'"


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Feature map of an RBF kernel through random frequencies.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, n_frequencies)
        One frequency in each column.
    """

    frequencies: Floats

    @property
    def rank(self) -> int:
        """Number of features, two for each frequency."""
        return 2 * int(self.frequencies.shape[1])

    def transform(self, X: Rows, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the features of rows.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n_rows, n_features)
        dtype : dtype, default=float64
            Of the features, which are computed in double precision; float32 takes half the memory.

        Returns
        -------
        ndarray of shape (n_rows, rank)
            All cosines, then all sines; every row has length one.

        Raises
        ------
        KernelMemoryError
            When they do not fit into memory.
        ValueError
            When numbers of a row are too large to be multiplied by the frequencies.
        """
        n_rows, n_frequencies = int(X.shape[0]), int(self.frequencies.shape[1])
        require_memory(
            n_rows * self.rank * np.dtype(dtype).itemsize,
            f"A Fourier map of {n_rows:,} rows with {self.rank:,} features",
            _WAY_OUT,
        )
        features = np.empty((n_rows, self.rank), dtype=dtype)
        for part in tiles(n_rows, TILE_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):
                angles = in_double(X[part]) @ self.frequencies
            if not np.all(np.isfinite(angles)):
                raise ValueError(
                    "The features are too large for Fourier features of this kernel: scale them."
                )
            both = np.hstack([np.cos(angles), np.sin(angles)])
            features[part] = both / np.sqrt(n_frequencies)
        return features


def fourier_map(
    kernel: Kernel, n_features: int, *, n_components: int = 300, random_state: Any = 0
) -> FourierMap:
    """Draw orthogonal random frequencies for an RBF kernel.

    Parameters
    ----------
    kernel : Kernel
        An RBF kernel.
    n_features : int
        Number of columns of the rows.
    n_components : int, default=300
        Number of features of the map; even, for they come in pairs.
    random_state : int or RandomState, default=0
        For the frequencies.

    Returns
    -------
    FourierMap

    Raises
    ------
    KernelMemoryError
        When the frequencies do not fit into memory.
    ValueError
        When the kernel is another one, or there is no even number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel, fourier_map
    >>> kernel = Kernel("rbf", gamma=0.5)
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> features = fourier_map(kernel, 3, n_components=5000).transform(X)
    >>> bool(np.abs(features @ features.T - kernel(X, X)).max() < 0.05)
    True
    """
    if kernel.name != "rbf":
        named = "a function" if callable(kernel.name) else repr(kernel.name)
        raise ValueError(
            f"Fourier features are of kernel='rbf' only, not of {named}: use landmarks "
            "(low_rank_map) for this kernel."
        )
    if not isinstance(n_components, Integral) or n_components < 2 or n_components % 2:
        raise ValueError(
            f"n_components={n_components!r} must be an even number, two or more: Fourier features "
            "are pairs of a cosine and a sine."
        )
    n_frequencies = int(n_components) // 2
    require_memory(
        3 * n_features * n_frequencies * 8,
        f"A draw of {n_frequencies:,} frequencies for {n_features:,} columns",
        _WAY_OUT,
    )
    random = check_random_state(random_state)
    blocks = [
        _orthogonal_block(n_features, part.stop - part.start, random)
        for part in tiles(n_frequencies, n_features)
    ]
    return FourierMap(np.sqrt(2.0 * kernel.gamma) * np.hstack(blocks))


def _orthogonal_block(
    n_features: int, n_frequencies: int, random: np.random.RandomState
) -> Floats:
    """Draw standard normal vectors that are orthogonal to each other, at most `n_features`."""
    normal = random.normal(size=(n_features, n_frequencies))
    directions, triangle = np.linalg.qr(normal)
    # A QR decomposition leaves the signs open; so they are the same everywhere.
    directions *= np.copysign(1.0, np.diagonal(triangle))
    lengths = np.sqrt(random.chisquare(n_features, size=n_frequencies))
    return np.asarray(directions * lengths)
