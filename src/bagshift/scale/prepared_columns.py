# SPDX-License-Identifier: BSD-3-Clause
"""The first step of a model that was fitted on files: from a table to features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bagshift.scale._feature_numpy import apply_preparation
from bagshift.scale.preparation import Preparation


class PreparedColumns(BaseEstimator):
    """From columns of a table to features, as decided on files bigger than memory.

    Parameters
    ----------
    preparation : str
        What :meth:`Preparation.to_json` wrote.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Columns that are needed.
    n_features_in_ : int
        Their number.

    Examples
    --------
    >>> from bagshift.scale import Feature, Preparation
    >>> age = Feature("age", "age", "value", shift=40.0, scale=10.0)
    >>> preparation = Preparation({"age": "number"}, {"age": 40.0}, (age,))
    >>> PreparedColumns(preparation.to_json()).fit().transform({"age": [50.0, None]})
    array([[1.],
           [0.]])
    """

    def __init__(self, preparation: str) -> None:
        self.preparation = preparation

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Read which columns there are; nothing is learned from a table.

        Parameters
        ----------
        X, y : object, optional
            Not used.

        Returns
        -------
        self

        Raises
        ------
        TableError
            When the preparation is damaged.
        """
        columns = list(Preparation.from_json(self.preparation).kinds)
        self.feature_names_in_ = np.array(columns, dtype=object)
        self.n_features_in_ = len(columns)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of a table.

        Parameters
        ----------
        X : frame or mapping of str to array
            At least the columns that are needed.

        Returns
        -------
        ndarray of shape (n_rows, n_features)

        Raises
        ------
        TableError
            When a column is missing or holds what cannot be read as its kind.
        """
        preparation = Preparation.from_json(self.preparation)
        return apply_preparation(preparation, X, dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : object, optional
            Not used.

        Returns
        -------
        ndarray of str
        """
        return np.array(Preparation.from_json(self.preparation).names, dtype=object)
