# SPDX-License-Identifier: BSD-3-Clause
"""Target rows bag by bag, for machines that are trained on losses of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift.estimators._training import TrainingData
from bagshift.solvers.score_losses import BagShares

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetRows:
    """Bags, then labelled rows, each of these a bag of one with a share of 0 or 1.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Numbers of the target rows, bag by bag.
    bags : BagShares
        Rows and share of ``classes[1]`` of every bag, clipped to [0, 1].
    weights : ndarray of shape (n_bags,)
        Factor on the loss of each bag.
    declared_sizes : ndarray of shape (n_bags,)
        How many individuals each share speaks about.
    n_true_bags : int
        How many of them are bags; the others are labelled rows.
    """

    rows: NDArray[np.intp]
    bags: BagShares
    weights: Floats
    declared_sizes: Floats
    n_true_bags: int

    @classmethod
    def of(cls, data: TrainingData) -> TargetRows:
        """Arrange training data; rows in no bag and without a label are left out."""
        unit = data.unit_of_row
        order = np.argsort(unit, kind="stable")
        singles = np.ones(len(data.labelled_rows))
        labels = 0.5 * (1.0 + data.labelled_signs)
        sizes = np.concatenate([data.bags.rows_per_bag, singles])
        shares = np.concatenate([np.clip(data.shares, 0.0, 1.0), labels])
        return cls(
            rows=order[np.count_nonzero(unit < 0) :],
            bags=BagShares.of_sizes(sizes, shares),
            weights=np.concatenate([data.bags.weights, data.labelled_weight]),
            declared_sizes=np.concatenate([data.bags.sizes, singles]),
            n_true_bags=data.bags.n_bags,
        )

    @property
    def n_bags(self) -> int:
        """Number of bags and labelled rows together."""
        return len(self.weights)

    @property
    def bag_of_row(self) -> NDArray[np.int64]:
        """Number of the bag of every row; shape (n_rows,)."""
        return self.bags.spread(np.arange(self.n_bags))

    @property
    def row_weights(self) -> Floats:
        """Factor on the loss of every row; shape (n_rows,)."""
        return self.bags.spread(self.weights)

    @property
    def overall_share(self) -> float:
        """Share of ``classes[1]`` among all rows, by their weights."""
        return float(np.average(self.bags.shares, weights=self.weights * self.bags.sizes))

    def means(self, features: Any) -> Any:
        """Return the mean of every bag over features of the rows; shape (n_bags, n_features)."""
        sizes = self.bags.sizes
        starts = np.append(self.bags.starts, sizes.sum())
        columns = np.arange(sizes.sum())
        average = sparse.csr_array(
            (np.repeat(1.0 / sizes, sizes), columns, starts), shape=(self.n_bags, len(columns))
        )
        return average @ features
