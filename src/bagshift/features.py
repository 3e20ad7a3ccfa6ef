# SPDX-License-Identifier: BSD-3-Clause
"""From table columns to the numbers that kernels work on.

Columns are encoded by skrub's TableVectorizer: categories as indicators, long text as the leading
components of its n-gram counts, dates as year, month, day and seconds. Missing numbers take the
median, then every feature is scaled to mean 0 and variance 1.
"""

from __future__ import annotations

from typing import Any

from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skrub import StringEncoder, TableVectorizer

TEXT_COMPONENTS = 30


class TableFeatures(TableVectorizer):
    """TableVectorizer of skrub in a form that can be saved without saving functions.

    While fitting, skrub chooses the columns of each step by predicates (is it a date? was it made
    by that step?), which a model file would have to hold as functions. Once fitted the choice is
    made, so the predicates are replaced by the names of the columns they chose; ``transform``
    gives the same numbers.
    """

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Choose an encoder for every column, fit it and encode the rows.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            A polars or pandas frame.
        y : object, optional
            Not used.

        Returns
        -------
        DataFrame of shape (n_rows, n_features)
        """
        encoded = super().fit_transform(X)
        for step in self._pipeline:
            if hasattr(step, "cols"):
                step.cols = list(step.used_inputs_)
        return encoded


def feature_pipeline() -> Pipeline:
    """Return the unfitted steps from a table to scaled features.

    Returns
    -------
    Pipeline
        Steps ``columns``, ``impute`` and ``scale``; fit it on source and target rows stacked.
    """
    # The components of text come from a randomised decomposition: without a seed, two fits of the
    # same files would differ.
    long_text = StringEncoder(n_components=TEXT_COMPONENTS, random_state=0)
    return Pipeline(
        [
            ("columns", TableFeatures(high_cardinality=long_text)),
            ("impute", SimpleImputer(strategy="median", keep_empty_features=True)),
            ("scale", StandardScaler()),
        ]
    )
