# SPDX-License-Identifier: BSD-3-Clause
"""Labels of the rows of bags, guessed from scores: whole ones by counts, or probabilities.

Either is a number in [0, 1] for each row: how far the row is of ``classes_[1]``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._count_units import CountUnits, count_units
from bagshift.estimators._hidden_labels import HiddenLabels
from bagshift.estimators._training import TrainingData
from bagshift.solvers.count_likelihood import count_posterior

Floats = NDArray[np.float64]

ONE_CLASS = (
    "By their shares all rows of the bags are of one class; two classes are needed to learn from."
)


@dataclass(frozen=True, eq=False)
class CountLabels:
    """As many rows of each bag as its count says, those with the highest scores.

    Attributes
    ----------
    hidden : HiddenLabels
        The rows in bags and the labelled ones.
    """

    hidden: HiddenLabels

    @classmethod
    def of(cls, data: TrainingData) -> CountLabels:
        """Return how labels are guessed for training data."""
        return cls(HiddenLabels.of(data))

    @property
    def rows(self) -> NDArray[Any]:
        """Numbers of the target rows that labels are for."""
        return self.hidden.labelled_rows

    @property
    def weight(self) -> Floats:
        """Factor on the loss of each of them."""
        return self.hidden.labelled_weight

    def guess(self, scores: Floats, previous: Floats) -> tuple[Floats, float]:
        """Return labels, 0 or 1, for scores of the rows; and no likelihood.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Growing towards ``classes_[1]``.
        previous : ndarray of shape (n_rows,)
            Labels so far, which decide among equal scores; one half where there is none.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        log_likelihood : float
            Not a number.
        """
        known = self.hidden.labelled_signs
        signs = np.where(self.hidden.bag_of_unit < 0, known, 2.0 * previous - 1.0)
        guessed = replace(self.hidden, labelled_signs=signs).labelled_by(scores)
        return (guessed.labelled_signs > 0).astype(np.float64), np.nan

    def change(self, one: Floats, other: Floats) -> float:
        """Return how many labels differ."""
        return float(np.count_nonzero(one != other))


@dataclass(frozen=True, eq=False)
class PosteriorLabels:
    """The probability of each row given the number published for its bag.

    Attributes
    ----------
    units : CountUnits
        The bags, and the labelled rows as bags of one.
    """

    units: CountUnits

    @classmethod
    def of(cls, data: TrainingData) -> PosteriorLabels:
        """Return how labels are guessed for training data."""
        return cls(count_units(data))

    @property
    def rows(self) -> NDArray[Any]:
        """Numbers of the target rows that labels are for."""
        return self.units.rows

    @property
    def weight(self) -> Floats:
        """Factor on the loss of each of them."""
        return np.repeat(self.units.weights, self.units.counts.sizes)

    def guess(self, scores: Floats, previous: Floats) -> tuple[Floats, float]:
        """Return probabilities for log odds of the rows, and the likelihood of the numbers.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Log odds of ``classes_[1]``.
        previous : ndarray of shape (n_rows,)
            Not used.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        log_likelihood : float
            Of the published numbers, with the weights of the bags.
        """
        flipped = self.units.orientation < 0
        found = count_posterior(self.units.orientation * scores, self.units.counts)
        second = 1.0 - found.probability if flipped else found.probability
        return second, float(self.units.weights @ found.log_likelihood)

    def change(self, one: Floats, other: Floats) -> float:
        """Return the largest difference of a probability; 1 where there was none before."""
        return float(np.nan_to_num(np.abs(one - other), nan=1.0).max())


def majority_labels(data: TrainingData) -> Floats:
    """Return for every target row the label that most rows of its bag have.

    Parameters
    ----------
    data : TrainingData

    Returns
    -------
    ndarray of shape (n_target,)
        0 or 1; NaN for rows in no bag and in bags without a majority. Known labels of rows stand.
        Where all majorities are one class, bags are compared with the overall share instead; where
        all shares are equal, known labels are all there is.

    Raises
    ------
    ValueError
        When that leaves one class.
    """
    found = np.full(len(data.bags), np.nan)
    in_bags = data.bags.rows_in_bags()
    share = data.shares[data.bags.bag_index[in_bags]]
    if np.any(share > 0.5) and np.any(share < 0.5):
        found[in_bags] = _sides(share, 0.5)
    elif len(share) and np.ptp(share) > 0:
        found[in_bags] = _sides(share, float(np.mean(share)))
    else:
        # Equal shares: what is known are the labels in pure bags, unless noise made them so.
        is_exact = np.array([law is None for law in data.bags.noise], dtype=bool)
        is_pure = is_exact[data.bags.bag_index[in_bags]] & ((share <= 0) | (share >= 1))
        found[in_bags] = np.where(is_pure, share > 0.5, np.nan)
    found[data.labelled_rows] = data.labelled_signs > 0
    known = found[~np.isnan(found)]
    if {0.0, 1.0} <= set(known):
        return found
    if not np.isnan(found[in_bags]).any():
        raise ValueError(ONE_CLASS)
    raise ValueError(
        "The shares of all bags are equal, so no bag can be labelled by its majority; give "
        "labelled history as source=(X, y), or labelled rows of both classes."
    )


def _sides(share: Floats, level: float) -> Floats:
    return np.where(share == level, np.nan, share > level)
