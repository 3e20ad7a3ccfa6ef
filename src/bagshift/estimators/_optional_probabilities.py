# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of machines that have them in some settings only."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from bagshift.bags import Bags
from bagshift.estimators._base import SigmoidProbabilities
from bagshift.estimators._in_bags import InBagPosteriors

Floats = NDArray[np.float64]


def _offers_them(machine: Any) -> bool:
    return bool(machine._has_probabilities())


class OptionalProbabilities(SigmoidProbabilities, InBagPosteriors):
    """Methods that exist where ``_has_probabilities`` says so."""

    @abstractmethod
    def _has_probabilities(self) -> bool:
        """Tell whether scores are log odds, up to the machine's own scale."""

    @available_if(_offers_them)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for every row, where there are probabilities.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``; the larger one is the predicted class.
        """
        return super().predict_proba(X)

    @available_if(_offers_them)  # type: ignore[untyped-decorator]
    def predict_proba_in_bags(self, X: Any, bags: Bags) -> Floats:
        """Return the probability of each class for every row, given its bag's number.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows of whole bags, whether or not these were fitted to.
        bags : Bags of length n_rows
            Their bags.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``. See :func:`bagshift.predict_proba_in_bags`.
        """
        return super().predict_proba_in_bags(X, bags)

    @available_if(_offers_them)  # type: ignore[untyped-decorator]
    def predict_in_bags(self, X: Any, bags: Bags) -> NDArray[Any]:
        """Return the likelier label of every row, given its bag's number.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows of whole bags, whether or not these were fitted to.
        bags : Bags of length n_rows
            Their bags.

        Returns
        -------
        ndarray of shape (n_rows,)
            See :func:`bagshift.predict_in_bags`.
        """
        return super().predict_in_bags(X, bags)
