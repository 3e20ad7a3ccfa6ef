# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers of scikit-learn inside ours: the one by default, training, and scores of any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from bagshift.estimators._in_bags import logit_of_columns

Floats = NDArray[np.float64]


def given_or_default(estimator: Any) -> Any:
    """Return the classifier that is to be trained: the one given, or logistic regression.

    Parameters
    ----------
    estimator : classifier or None

    Returns
    -------
    classifier
        Not fitted.
    """
    return LogisticRegression(tol=1e-6, max_iter=1000) if estimator is None else estimator


def require_classifier(estimator: Any) -> None:
    """Raise when a parameter ``estimator`` is no classifier.

    Parameters
    ----------
    estimator : object

    Raises
    ------
    ValueError
    """
    if not is_classifier(estimator):
        raise ValueError(
            f"estimator must be a classifier, and {type(estimator).__name__} is none."
        )


def trained(classifier: Any, X: Any, is_second: NDArray[Any], weight: Floats) -> Any:
    """Return a copy of a classifier, trained; weights are passed on where they are not all one.

    Parameters
    ----------
    classifier : classifier
        Left as it is.
    X : matrix of shape (n_rows, n_features)
    is_second : ndarray of shape (n_rows,)
        Labels, 0 or 1.
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    classifier
        Its classes are 0 and 1.

    Raises
    ------
    ValueError
        When weights differ and the classifier takes none.
    """
    classifier = clone(classifier)
    if np.all(weight == 1.0):
        return classifier.fit(X, is_second)
    if not has_fit_parameter(classifier, "sample_weight"):
        raise ValueError(
            f"{type(classifier).__name__} takes no sample_weight; leave the weights of bags, "
            "source and rows out, or take another classifier."
        )
    return classifier.fit(X, is_second, sample_weight=weight)


def ranks_of(classifier: Any, X: Any) -> Floats:
    """Return scores of rows that put them in order: decision values, else log odds.

    Parameters
    ----------
    classifier : classifier
        Fitted, of two classes.
    X : matrix of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if not hasattr(classifier, "decision_function"):
        return log_odds_of(classifier, X)
    return np.asarray(classifier.decision_function(X), dtype=np.float64)


def log_odds_of(classifier: Any, X: Any) -> Floats:
    """Return the log odds of the second class, kept finite.

    Parameters
    ----------
    classifier : classifier
        Fitted, of two classes, with ``predict_proba``.
    X : matrix of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        When a probability is not finite.
    """
    probability = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    if not np.all(np.isfinite(probability)):
        raise ValueError(
            f"{type(classifier).__name__} gives probabilities that are not finite; scale the "
            "features, or take another classifier."
        )
    return logit_of_columns(probability)
