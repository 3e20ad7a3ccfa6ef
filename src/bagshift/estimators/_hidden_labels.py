# SPDX-License-Identifier: BSD-3-Clause
"""Training data of machines that guess the labels of the rows of bags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._exact_counts import expected_counts, label_top_counts
from bagshift.estimators._training import TrainingData

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class HiddenLabels(TrainingData):
    """Training data with one target unit per row; labels of rows in bags are guesses.

    Attributes
    ----------
    given : TrainingData
        The same data with bags as units.
    bag_of_unit : ndarray of shape (n_target_units,)
        Bag of the row, -1 where its label is known.
    counts : ndarray of shape (n_bags,)
        Number of rows of ``classes[1]`` that each bag should have; may end in one half.
    """

    given: TrainingData
    bag_of_unit: NDArray[np.int64]
    counts: Floats

    @classmethod
    def of(cls, given: TrainingData) -> Self:
        """Return training data with a row where there was a bag; labels in bags are still 0."""
        bags = given.bags
        is_used = bags.bag_index >= 0
        is_used[given.labelled_rows] = True
        rows = np.flatnonzero(is_used)
        signs, weight = np.zeros(len(bags)), np.ones(len(bags))
        signs[given.labelled_rows] = given.labelled_signs
        in_bags = bags.rows_in_bags()
        weight[in_bags] = bags.weights[bags.bag_index[in_bags]]
        weight[given.labelled_rows] = given.labelled_weight
        of_rows = {
            "bags": Bags.unlabelled(len(bags)),
            "labelled_rows": rows,
            "labelled_signs": signs[rows],
            "labelled_weight": weight[rows],
        }
        return cls(
            **{**given.entries(), **of_rows},
            given=given,
            bag_of_unit=bags.bag_index[rows],
            counts=expected_counts(given.shares, bags.rows_per_bag),
        )

    @property
    def has_choice(self) -> bool:
        """Whether any bag leaves open which of its rows are positive."""
        return bool(np.any((self.counts > 0) & (self.counts < self.given.bags.rows_per_bag)))

    @property
    def hidden(self) -> NDArray[np.intp]:
        """Target units whose label is a guess."""
        return np.flatnonzero(self.bag_of_unit >= 0)

    def labelled_by(self, scores: Floats) -> Self:
        """Return the data with the best labels for scores of the target units."""
        hidden = self.hidden
        signs = self.labelled_signs.copy()
        signs[hidden] = label_top_counts(
            scores[hidden], self.bag_of_unit[hidden], self.counts, previous=signs[hidden]
        )
        return replace(self, labelled_signs=signs)


def every_row_a_unit(given: TrainingData) -> TrainingData:
    """Return training data with a target unit for every target row, whether in a bag or not.

    Parameters
    ----------
    given : TrainingData

    Returns
    -------
    TrainingData
        Without bags. Labels that are not known are 0, and the weight of these rows is 1.
    """
    n_rows = len(given.bags)
    signs, weight = np.zeros(n_rows), np.ones(n_rows)
    signs[given.labelled_rows] = given.labelled_signs
    weight[given.labelled_rows] = given.labelled_weight
    return replace(
        given,
        bags=Bags.unlabelled(n_rows),
        labelled_rows=np.arange(n_rows),
        labelled_signs=signs,
        labelled_weight=weight,
    )
