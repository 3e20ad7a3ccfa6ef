# SPDX-License-Identifier: BSD-3-Clause
"""Weighted sums over rows of features that end in a one, and over their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift import _core

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# Products of so narrow matrices take a library longer than the compiled core.
_NARROW = 256


def as_double(features: Any) -> Any:
    """Return rows in double precision, one after the other; a copy only where there is need."""
    if sparse.issparse(features):
        return features.astype(np.float64, copy=False)
    return np.ascontiguousarray(features, dtype=np.float64)


def in_memory(features: Any) -> Any:
    """Return rows as an array or a sparse matrix, read if they lie in files."""
    if sparse.issparse(features) or isinstance(features, np.ndarray):
        return features
    return np.asarray(features)


def stack(parts: Sequence[Any]) -> Any:
    """Return the rows of all parts, dense or CSR as they are."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def weighted_sum(features: Any, factors: Floats) -> Floats:
    """Return the sum of the rows, each times its factor; (n_features + 1,)."""
    if sparse.issparse(features):
        return np.append(features.T @ factors, factors.sum())
    return np.ravel(bag_sums(features, factors, np.array([0, len(factors)])))


def squares_of(features: Any, factors: Floats) -> Floats:
    """Return the sum of the rows' outer products with themselves; (n_features, n_features)."""
    if sparse.issparse(features):
        return np.asarray((features.T @ features.multiply(factors[:, None]).tocsr()).toarray())
    if factors.min() < 0.0:
        return np.asarray(features.T @ (factors[:, None] * features))
    # A matrix times its own transpose is half the work.
    roots = np.sqrt(factors)[:, None] * features
    return np.asarray(roots.T @ roots)


def weighted_squares(features: Any, factors: Floats) -> Floats:
    """Return the same of rows with a one at their end; (n_features + 1, n_features + 1).

    Dense rows may be in single precision; sums are in double precision.
    """
    n_features = features.shape[1]
    if n_features <= _NARROW and not sparse.issparse(features):
        squares = _core.weighted_squares(np.ascontiguousarray(features), factors)
        return squares.reshape(n_features + 1, n_features + 1)
    features = as_double(features)
    total = np.empty((n_features + 1, n_features + 1))
    total[:-1, :-1] = squares_of(features, factors)
    total[-1, :-1] = total[:-1, -1] = features.T @ factors
    total[-1, -1] = factors.sum()
    return total


def bag_sums(features: Any, factors: Floats, starts: Numbers) -> Floats:
    """Return the weighted sums over rows that stand bag by bag; (n_bags, n_features + 1).

    Bag k has rows ``starts[k]`` to ``starts[k + 1]``. Dense rows may be in single precision.
    """
    if not sparse.issparse(features):
        sums = _core.bag_sums(np.ascontiguousarray(features), factors, starts)
        return sums.reshape(len(starts) - 1, -1)
    rows = np.arange(len(factors))
    chosen = sparse.csr_matrix((factors, rows, starts), shape=(len(starts) - 1, len(factors)))
    return np.column_stack([(chosen @ features).toarray(), chosen.sum(axis=1)])
