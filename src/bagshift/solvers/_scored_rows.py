# SPDX-License-Identifier: BSD-3-Clause
"""Rows under linear machines: from the unknowns to scores, and from pushes on scores back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift.solvers._coordinates import Coordinates, Pull

Floats = NDArray[np.float64]

# Decimal exponent of the largest products.
_MOST_DIGITS = 280.0
# Entries that are looked at together for the largest one.
_BLOCK_ENTRIES = 1 << 17


class ScoredRows:
    """Features of both domains, seen from the unknowns of an optimiser.

    Parameters
    ----------
    source_features : matrix of shape (n_source, n_features) or None
        Dense or CSR.
    target_features : matrix of shape (n_target, n_features)
    coordinates : Coordinates
        What the unknowns mean.
    """

    def __init__(
        self, source_features: Any, target_features: Any, coordinates: Coordinates
    ) -> None:
        has_source = source_features is not None and source_features.shape[0] > 0
        self.coordinates = coordinates
        self._source = source_features if has_source else None
        self._target = target_features
        # Made once: turning a sparse matrix costs as much as a product with it.
        self._source_columns = source_features.T if has_source else None
        self._target_columns = target_features.T

    def scores(self, v: Floats) -> tuple[Floats, Floats]:
        """Return the scores of source and target rows under the unknowns `v`."""
        machines = self.coordinates.decode(v)
        target = self._target @ machines.target_weights + machines.target_intercept
        if self._source is None:
            return np.empty(0), np.asarray(target)
        source = self._source @ machines.source_weights + machines.source_intercept
        return np.asarray(source), np.asarray(target)

    def pull_back(self, source_push: Floats, target_push: Floats) -> Floats:
        """Return the slope in the unknowns that slopes in the scores amount to."""
        columns = self._source_columns
        return self.coordinates.pull_back(
            Pull(
                source_weights=0.0 if columns is None else columns @ source_push,
                source_intercept=float(source_push.sum()),
                target_weights=self._target_columns @ target_push,
                target_intercept=float(target_push.sum()),
            )
        )


def require_range(cost: float, parts: list[Any]) -> None:
    """Refuse costs and features whose products are not finite.

    Parameters
    ----------
    cost : float
        Sum of the costs of all terms of a loss.
    parts : list of matrix
        Features, dense or CSR.

    Raises
    ------
    ValueError
    """
    largest = max([1.0, *map(largest_entry, parts)])
    # A step of steepest descent multiplies the squared gradient with the curvature.
    digits = 3.0 * math.log10(cost) + 4.0 * math.log10(largest) if cost > 0.0 else 0.0
    if not digits <= _MOST_DIGITS:
        raise ValueError(
            "The costs times the squares of the features leave the range of numbers; lower "
            "the costs or scale the features."
        )


def largest_entry(X: Any) -> float:
    """Return the largest absolute value of a dense or sparse matrix."""
    values = X.data if sparse.issparse(X) else np.asarray(X)
    if not values.size:
        return 0.0
    # Block by block, so that both ends are found in one reading of many rows.
    step = max(1, _BLOCK_ENTRIES // max(values[:1].size, 1))
    blocks = (values[i : i + step] for i in range(0, len(values), step))
    return float(np.max([(float(block.max()), -float(block.min())) for block in blocks]))
