# SPDX-License-Identifier: BSD-3-Clause
"""Training data as the count-likelihood machine sees them.

Target rows stand bag by bag; a target row of known label is a bag of one, whose count is known.
Counts are of the class that shares are of, so scores grow towards that class here, and towards
``classes_[1]`` only after `orientation` is applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.published import published_counts
from bagshift.bags import Bags
from bagshift.estimators._training import TrainingData
from bagshift.solvers.count_likelihood import BagCounts

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountUnits:
    """Bags and labelled target rows, and the labels of the source.

    Attributes
    ----------
    rows : ndarray of shape (n_unit_rows,)
        Numbers of target rows, unit by unit: the bags, then the labelled rows.
    counts : BagCounts
        What is published about every unit.
    weights : ndarray of shape (n_units,)
        Factors on the log-likelihood of every unit.
    shares : ndarray of shape (n_units,)
        Published shares of positives, clipped to [0, 1].
    n_bags : int
        How many units are bags; the others are labelled rows.
    source_signs : ndarray of shape (n_source,)
        Labels of source rows, +1 for the positive class.
    orientation : float
        1 where scores grow towards the positive class, -1 where that class is ``classes_[0]``.
    """

    rows: Numbers
    counts: BagCounts
    weights: Floats
    shares: Floats
    n_bags: int
    source_signs: Floats
    orientation: float

    @property
    def n_units(self) -> int:
        """Number of bags and labelled rows."""
        return len(self.weights)

    @property
    def is_labelled(self) -> bool:
        """Whether every label is known: all counts are none or all, and the problem is convex."""
        counts = self.counts
        one_weight = np.diff(counts.weight_starts) == 1
        pure = (counts.first_counts <= 0) | (counts.first_counts >= counts.sizes)
        return bool(np.all(one_weight & pure))

    def rows_from(self, X: Any) -> Any:
        """Return the rows of all units, unit by unit; `X` itself where it holds them so."""
        n_rows = len(self.rows)
        is_ordered = n_rows == X.shape[0] and np.array_equal(self.rows, np.arange(n_rows))
        return X if is_ordered else X[self.rows]

    def with_labelled(self, bags: NDArray[Any]) -> Numbers:
        """Return the numbers of the units that are some of the bags or any labelled row."""
        return np.concatenate([bags, np.arange(self.n_bags, self.n_units)]).astype(np.int64)

    def take(self, bags: NDArray[Any]) -> CountUnits:
        """Return some of the bags with all labelled rows; `rows` still number all target rows."""
        units = self.with_labelled(bags)
        return CountUnits(
            rows=self.rows[self.counts.rows_of(units)],
            counts=self.counts.take(units),
            weights=self.weights[units],
            shares=self.shares[units],
            n_bags=len(bags),
            source_signs=self.source_signs,
            orientation=self.orientation,
        )


def bag_counts(bags: Bags, *, warn: bool = True) -> tuple[Numbers, BagCounts]:
    """Arrange rows bag by bag, with what is published about each bag.

    Parameters
    ----------
    bags : Bags
        Whole bags.
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded.

    Returns
    -------
    rows : ndarray of int64
        Numbers of the rows in bags, bag by bag.
    counts : BagCounts

    Raises
    ------
    BagError
        When a bag was cut, or no count fits what is published about it.
    """
    published = published_counts(bags, warn=warn)
    order = np.argsort(bags.bag_index, kind="stable").astype(np.int64)
    counts = BagCounts(
        starts=np.concatenate([[0], np.cumsum(bags.rows_per_bag)]),
        first_counts=published.first_counts,
        weight_starts=published.weight_starts,
        log_weights=published.log_weights,
    )
    return order[np.count_nonzero(bags.bag_index < 0) :], counts


def count_units(data: TrainingData, *, warn: bool = True) -> CountUnits:
    """Arrange training data for the count likelihood.

    Parameters
    ----------
    data : TrainingData
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded.

    Returns
    -------
    CountUnits

    Raises
    ------
    BagError
        When a bag was cut, or no count fits what is published about it.
    """
    bags, n_labelled = data.bags, len(data.labelled_rows)
    orientation = -1.0 if data.is_flipped else 1.0
    in_bags, published = bag_counts(bags, warn=warn)
    is_positive = (orientation * data.labelled_signs > 0).astype(np.int64)
    singles = 1 + np.arange(n_labelled)
    return CountUnits(
        rows=np.concatenate([in_bags, data.labelled_rows]).astype(np.int64),
        counts=BagCounts(
            starts=np.concatenate([published.starts, published.n_rows + singles]),
            first_counts=np.concatenate([published.first_counts, is_positive]),
            weight_starts=np.concatenate(
                [published.weight_starts, len(published.log_weights) + singles]
            ),
            log_weights=np.concatenate([published.log_weights, np.zeros(n_labelled)]),
        ),
        weights=np.concatenate([bags.weights, data.labelled_weight]),
        shares=np.concatenate([bags.clipped_shares, is_positive]),
        n_bags=bags.n_bags,
        source_signs=orientation * data.source_signs,
        orientation=orientation,
    )
