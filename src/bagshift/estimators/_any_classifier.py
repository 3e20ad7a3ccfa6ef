# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers of scikit-learn inside ours: the one by default, training, and scores of any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils import InputTags, get_tags
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


def set_input_tags(tags: InputTags, estimator: Any) -> None:
    """Say that the rows a machine takes are those that the classifier inside takes.

    Parameters
    ----------
    tags : InputTags
        Of the machine; changed in place.
    estimator : classifier or None
        The machine's parameter. A Pipeline says nothing of missing values: its steps do, when
        they are fitted.
    """
    inside = get_tags(given_or_default(estimator)).input_tags
    tags.sparse = inside.sparse
    tags.allow_nan = inside.allow_nan or hasattr(estimator, "steps")


def name_of(classifier: Any) -> str:
    """Return the name of a classifier, which in a Pipeline is that of its last step."""
    steps = getattr(classifier, "steps", None)
    return name_of(steps[-1][1]) if steps else type(classifier).__name__


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


def weight_parameters(classifier: Any) -> list[str]:
    """Name the arguments of ``fit`` that take weights of rows.

    Parameters
    ----------
    classifier : classifier
        In a Pipeline the last step decides; weights then go to every StandardScaler as well, so
        that a row of weight two is as good as two rows.

    Returns
    -------
    list of str
        Empty where the classifier takes no weights.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameters(make_pipeline(StandardScaler(), LogisticRegression()))
    ['logisticregression__sample_weight', 'standardscaler__sample_weight']
    """
    steps = getattr(classifier, "steps", None)
    if not steps:
        return ["sample_weight"] if has_fit_parameter(classifier, "sample_weight") else []
    name, last = steps[-1]
    found = [f"{name}__{argument}" for argument in weight_parameters(last)]
    if not found:
        return []
    scalers = [name for name, step in steps[:-1] if isinstance(step, StandardScaler)]
    return found + [f"{name}__sample_weight" for name in scalers]


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
    arguments = weight_parameters(classifier)
    if not arguments:
        raise ValueError(
            f"{name_of(classifier)} takes no sample_weight; leave the weights of bags, source and "
            "rows out, or take another classifier."
        )
    return classifier.fit(X, is_second, **dict.fromkeys(arguments, weight))


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
    return np.asarray(classifier.decision_function(_as_scaled(classifier, X)), dtype=np.float64)


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
    probability = np.asarray(classifier.predict_proba(_as_scaled(classifier, X)), dtype=np.float64)
    if not np.all(np.isfinite(probability)):
        raise ValueError(
            f"{type(classifier).__name__} gives probabilities that are not finite; scale the "
            "features, or take another classifier."
        )
    return logit_of_columns(probability)


def _as_scaled(classifier: Any, X: Any) -> Any:
    """Return rows dense where they are to be centred, as none that are sparse can be."""
    steps = getattr(classifier, "steps", None)
    is_centred = getattr(steps[0][1], "with_mean", False) if steps else False
    return X.toarray() if is_centred and sp.issparse(X) else X
