# SPDX-License-Identifier: BSD-3-Clause
r"""How far a feature map is from its kernel, and how many features a map should have.

The error of a map on pairs of rows is :math:`\phi(x)^\top \phi(z) - k(x, z)`. It is told relative
to the mean of :math:`k(x, x)`, the scale on which a kernel machine sees it: that is 1 for an RBF
kernel. A sample of a few hundred rows, half of them from each domain, has tens of thousands of
pairs, and mapping them costs next to nothing beside mapping the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._landmarks import choose_landmarks
from bagshift.kernels._low_rank import kernel_block
from bagshift.kernels._rows import take_rows

# Features of a map below a number of rows of both domains, and from there on.
_FEW, _MANY, _MANY_ROWS = 300, 1000, 20_000


class FeatureMap(Protocol):
    """What all feature maps of a kernel can do."""

    @property
    def rank(self) -> int:
        """Number of features."""

    def transform(self, X: Rows) -> NDArray[np.float64]:
        """Return the features of rows, of shape (n_rows, rank)."""


@dataclass(frozen=True)
class MapError:
    """Difference between a kernel and the inner products of its map, on pairs of rows.

    Attributes
    ----------
    root_mean_square : float
        Root of the mean squared difference, relative to the mean kernel of a row with itself.
    largest : float
        Largest absolute difference, likewise.
    n_pairs : int
        Number of pairs compared.
    """

    root_mean_square: float
    largest: float
    n_pairs: int


def map_error(
    kernel: Kernel,
    feature_map: FeatureMap,
    X_source: Rows | None,
    X_target: Rows,
    *,
    n_pairs: int = 20_000,
    random_state: Any = 0,
) -> MapError:
    """Compare a kernel with the inner products of a feature map.

    Parameters
    ----------
    kernel : Kernel
    feature_map : LowRankMap or FourierMap
    X_source : {ndarray, CSR} of shape (n_source, n_features), or None
    X_target : {ndarray, CSR} of shape (n_target, n_features)
        Rows of both domains; of a precomputed kernel, as in `low_rank_map`.
    n_pairs : int, default=20000
        At least so many pairs of different rows are compared, or all that there are: those of a
        sample of rows, half of them from each domain as far as it goes.
    random_state : int or RandomState, default=0
        For the sample.

    Returns
    -------
    MapError

    Raises
    ------
    KernelMemoryError
        When the features of the sample do not fit into memory.
    ValueError
        When there are fewer than two rows, or no pairs are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.kernels import Kernel, low_rank_map, map_error
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> kernel = Kernel("rbf", gamma=0.1)
    >>> few, more = (low_rank_map(kernel, None, X, n_landmarks=m) for m in (10, 50))
    >>> errors = [map_error(kernel, found, None, X).root_mean_square for found in (few, more)]
    >>> errors[0] > 10 * errors[1]
    True
    """
    n_rows = int(X_target.shape[0]) + (0 if X_source is None else int(X_source.shape[0]))
    if n_rows < 2 or n_pairs < 1:
        raise ValueError(
            f"The error of a feature map needs two rows or more and n_pairs of one or more, but "
            f"there are {n_rows} rows and n_pairs={n_pairs!r}."
        )
    # The fewest rows that have so many pairs.
    n_sampled = ceil((1.0 + sqrt(1.0 + 8.0 * n_pairs)) / 2.0)
    # The seed that drew a map's landmarks would draw them again, where the map is exact.
    random = np.random.RandomState(check_random_state(random_state).randint(2**31))
    chosen = choose_landmarks(kernel, X_source, X_target, n_sampled, "uniform", random)
    rows = take_rows(X_source, X_target, chosen)
    exact = kernel_block(kernel, rows, chosen if kernel.name == "precomputed" else rows)
    features = feature_map.transform(rows)
    pairs = np.tril_indices(len(chosen), -1)
    differences = np.abs(features @ features.T - exact)[pairs]
    scale = float(np.mean(np.abs(np.diagonal(exact)))) or 1.0
    return MapError(
        root_mean_square=float(np.sqrt(np.mean(differences**2))) / scale,
        largest=float(differences.max()) / scale,
        n_pairs=len(differences),
    )


def default_n_components(n_rows: int) -> int:
    """Return how many features a map should have, by the number of rows.

    Parameters
    ----------
    n_rows : int
        Rows of both domains together.

    Returns
    -------
    int
        300 below 20,000 rows, 1,000 from there on; fit for Fourier features too, being even.

    Notes
    -----
    More rows carry more features. On images of digits (``benchmarks/feature_maps.py``), as many
    rows in each domain, 300 uniform landmarks lost 0.3 points of accuracy against the exact
    machine at 10,000 rows and 0.5 points at 20,000, where 1,000 lost 0.1; at 40,000 and 100,000
    rows 300 were 0.5 and 0.6 points below 1,000. The time to solve grew eight- to twelvefold.

    Examples
    --------
    >>> from bagshift.kernels import default_n_components
    >>> default_n_components(10_000), default_n_components(1_000_000)
    (300, 1000)
    """
    return _FEW if n_rows < _MANY_ROWS else _MANY
