# SPDX-License-Identifier: BSD-3-Clause
r"""The choice of landmark rows, half of them from each domain.

"uniform" draws rows with equal probability. "kmeans++" draws them one after the other, each with
a probability in proportion to its squared distance from the nearest one drawn before [1]_: so
they spread over the domain, and rare regions get theirs [2]_. It looks at a bounded number of
rows, drawn uniformly from the domain, and measures distances between the rows themselves, which
for an RBF kernel order like those in its feature space.

On images of digits (``benchmarks/feature_maps.py``) it lowers the error of a map by a tenth, and
from 300 features on leaves accuracy as it is. It pays where rare rows lie far from the others.
Ridge leverage scores, estimated on 2,000 rows of each domain, did not lower the error there and
took a hundred times as long, so they are not offered.

References
----------
.. [1] D. Arthur, S. Vassilvitskii. k-means++: the advantages of careful seeding. ACM-SIAM
   Symposium on Discrete Algorithms, 2007.
.. [2] D. Oglic, T. Gaertner. Nyström method with kernel k-means++ samples as landmarks.
   International Conference on Machine Learning, 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from bagshift.kernels._functions import Kernel, Rows
from bagshift.kernels._memory import require_memory
from bagshift.kernels._tiles import in_double

Integers = NDArray[np.intp]

LANDMARK_RULES = ("uniform", "kmeans++")

# So many rows of a domain are looked at for each of its landmarks.
_ROWS_PER_LANDMARK = 20


def choose_landmarks(
    kernel: Kernel,
    X_source: Rows | None,
    X_target: Rows,
    n_landmarks: int | None,
    rule: str,
    random_state: Any,
) -> Integers:
    """Choose landmark rows, half of each domain as far as it goes.

    Parameters
    ----------
    kernel : Kernel
    X_source : {ndarray, CSR} of shape (n_source, n_features), or None
    X_target : {ndarray, CSR} of shape (n_target, n_features)
    n_landmarks : int or None
        None takes all rows, as does any number that is not below theirs.
    rule : {"uniform", "kmeans++"}
        How to draw them; see the module.
    random_state : int or RandomState

    Returns
    -------
    int ndarray of shape (n_landmarks,)
        Numbers of rows in rising order, source rows first. Fewer where "kmeans++" finds no more
        rows that differ.

    Raises
    ------
    KernelMemoryError
        When the landmarks of sparse rows, which "kmeans++" makes dense, do not fit into memory.
    ValueError
        When there are to be no landmarks, or the rule is not known, or does not fit the kernel or
        the rows.
    """
    _check(rule, n_landmarks, kernel)
    n_source, n_target = 0 if X_source is None else int(X_source.shape[0]), int(X_target.shape[0])
    if n_landmarks is None or n_landmarks >= n_source + n_target:
        return np.arange(n_source + n_target)
    random = check_random_state(random_state)
    n_from_source = min(n_source, max(n_landmarks // 2, n_landmarks - n_target))
    draw = _uniform if rule == "uniform" else _spread
    source = draw(X_source, n_from_source, random)
    target = draw(X_target, n_landmarks - n_from_source, random)
    return np.sort(np.concatenate([source, n_source + target]))


def _check(rule: str, n_landmarks: int | None, kernel: Kernel) -> None:
    if n_landmarks is not None and n_landmarks < 1:
        raise ValueError(f"n_landmarks={n_landmarks!r} must be one or more, or None for all rows.")
    if rule not in LANDMARK_RULES:
        raise ValueError(f"landmarks={rule!r} is not known; use 'uniform' or 'kmeans++'.")
    if rule != "uniform" and kernel.name == "precomputed":
        raise ValueError(
            f"landmarks={rule!r} measures distances between rows, which a precomputed kernel does "
            "not have: use landmarks='uniform'."
        )


def _uniform(X: Rows | None, n_chosen: int, random: np.random.RandomState) -> Integers:
    if X is None or n_chosen == 0:
        return np.empty(0, dtype=np.intp)
    return np.asarray(random.choice(int(X.shape[0]), n_chosen, replace=False), dtype=np.intp)


def _spread(X: Rows | None, n_chosen: int, random: np.random.RandomState) -> Integers:
    """Draw rows by k-means++; none of them twice."""
    n_rows = 0 if X is None else int(X.shape[0])
    if X is None or n_chosen in (0, n_rows):
        return np.arange(n_chosen)
    require_memory(
        n_chosen * int(X.shape[1]) * 8,
        f"A set of {n_chosen:,} landmarks of {int(X.shape[1]):,} columns for landmarks='kmeans++'",
        "lower n_components, or use landmarks='uniform'",
    )
    n_seen = min(n_rows, _ROWS_PER_LANDMARK * n_chosen)
    seen = sample_without_replacement(n_rows, n_seen, random_state=random)
    rows = in_double(X[seen])
    if not np.isfinite(_largest_square(rows)):
        raise ValueError(
            "landmarks='kmeans++' needs squares of the features, which are too large: scale the "
            "features."
        )
    # Once all rows that differ are drawn, some are drawn again.
    _, drawn = kmeans_plusplus(rows, n_chosen, random_state=random)
    return np.asarray(seen[np.unique(drawn)], dtype=np.intp)


def _largest_square(rows: Rows) -> float:
    """Return the square of the longest distance there could be between rows."""
    largest = max(float(rows.max()), -float(rows.min()))
    with np.errstate(over="ignore"):
        return float(4.0 * rows.shape[1] * np.square(np.float64(largest)))
