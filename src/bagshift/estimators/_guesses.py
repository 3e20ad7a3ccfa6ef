# SPDX-License-Identifier: BSD-3-Clause
"""What a model predicts of rows, and the shares of bags that follow from it.

The predicted share of a bag is the mean probability of its rows, if the model has probabilities.
Labels are another thing: where classes overlap, a bag of 30 % positives may have rows of 0.3 each,
and none of them is labelled positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.noise_column import scales_in_shares
from bagshift.bags import Bags
from bagshift.estimators._base import is_flipped
from bagshift.metrics import (
    expected_share_error,
    expected_shares,
    predicted_shares,
    share_error,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Guesses:
    """Predictions for rows.

    Attributes
    ----------
    is_positive : ndarray of bool, shape (n_rows,)
        Which rows are labelled positive.
    probability : ndarray of shape (n_rows,) or None
        Of the positive class; None for a model without probabilities.
    """

    is_positive: NDArray[np.bool_]
    probability: Floats | None

    @property
    def positiveness(self) -> Floats:
        """Probability of every row, or its label as 0 or 1."""
        return (
            self.is_positive.astype(np.float64) if self.probability is None else self.probability
        )

    def shares(self, bags: Bags) -> Floats:
        """Return the predicted share of every bag.

        Parameters
        ----------
        bags : Bags
            Bags of the rows.

        Returns
        -------
        ndarray of shape (n_bags,)
        """
        return expected_shares(bags, self.positiveness)

    def labelled_shares(self, bags: Bags) -> Floats:
        """Return the share of rows of every bag that are labelled positive.

        Parameters
        ----------
        bags : Bags
            Bags of the rows.

        Returns
        -------
        ndarray of shape (n_bags,)
        """
        return predicted_shares(bags, self.is_positive)

    def share_error(self, bags: Bags) -> float:
        """Return the mean distance of predicted and given share.

        Parameters
        ----------
        bags : Bags
            Bags of the rows.

        Returns
        -------
        float
        """
        return expected_share_error(bags, self.positiveness)

    def labelled_share_error(self, bags: Bags) -> float:
        """Return the mean distance of the share of labels and the given share.

        Parameters
        ----------
        bags : Bags
            Bags of the rows.

        Returns
        -------
        float
        """
        return share_error(bags, self.is_positive)

    def spread(self, bags: Bags) -> Floats:
        """Return how far noise and chance may move the given share of every bag, roughly.

        Parameters
        ----------
        bags : Bags
            Bags of the rows.

        Returns
        -------
        ndarray of shape (n_bags,)
            In shares, above 0: labels of as many rows come in steps.
        """
        chance = bags.bag_means(self.positiveness * (1.0 - self.positiveness)) / bags.rows_per_bag
        step = 0.5 / bags.rows_per_bag
        noise = scales_in_shares(bags.noise, bags.sizes)
        return np.asarray(np.sqrt(chance + step**2 + noise**2))


def guess(model: Any, X: Any, positive: Any) -> Guesses:
    """Predict rows.

    Parameters
    ----------
    model : classifier
        Fitted, of two classes.
    X : matrix or frame of n_rows
        Rows.
    positive : str, int, float or bool
        The positive class.

    Returns
    -------
    Guesses
    """
    return Guesses(np.asarray(model.predict(X)) == positive, _probability(model, X, positive))


def positive_class(model: Any, bags: Bags) -> Any:
    """Return the class of a model that the shares of bags are of.

    Parameters
    ----------
    model : classifier
        Fitted, of two classes.
    bags : Bags

    Returns
    -------
    object
        One of its ``classes_``.

    Raises
    ------
    BagError
        As :func:`~bagshift.estimators._base.is_flipped` raises it.
    """
    return model.classes_[0 if is_flipped(model, bags) else 1]


def positiveness(model: Any, X: Any, bags: Bags) -> Floats:
    """Return the probability of the class that shares are of, or whether it is predicted.

    Parameters
    ----------
    model : classifier
        Fitted, of two classes.
    X : matrix or frame of n_rows
        Rows.
    bags : Bags
        Whose shares are meant.

    Returns
    -------
    ndarray of shape (n_rows,)
        0 or 1 for a model without probabilities.
    """
    positive = positive_class(model, bags)
    probability = _probability(model, X, positive)
    if probability is not None:
        return probability
    return np.asarray(np.asarray(model.predict(X)) == positive, dtype=np.float64)


def _probability(model: Any, X: Any, positive: Any) -> Floats | None:
    if not hasattr(model, "predict_proba"):
        return None
    place = int(np.flatnonzero(np.asarray(model.classes_) == positive)[0])
    return np.asarray(np.asarray(model.predict_proba(X), dtype=np.float64)[:, place])
