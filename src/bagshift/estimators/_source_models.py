# SPDX-License-Identifier: BSD-3-Clause
"""Several classifiers of the source for an ensemble: those given, or some of different kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from bagshift.estimators._calibrated_svm import CalibratedSVM
from bagshift.estimators._training import TrainingData


def named_models(
    models: list[tuple[str, Any]] | None, data: TrainingData
) -> list[tuple[str, Any]]:
    """Return names and models, after a look at whether they are such.

    Parameters
    ----------
    models : list of (str, classifier) or None
        None is those that :func:`default_models` gives.
    data : TrainingData

    Returns
    -------
    list of (str, classifier)

    Raises
    ------
    ValueError
    """
    if models is None:
        return default_models(data.X_source, data.X_target)
    if not models or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in models):
        raise ValueError(
            "models must be a list of pairs of a name and a classifier, such as "
            '[("logistic", LogisticRegression())].'
        )
    names = [name for name, _ in models]
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"The names of models must be different strings; got {names!r}.")
    for name, model in models:
        if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
            raise ValueError(
                f"The model {name!r} has no predict_proba; calibrate it with "
                "CalibratedClassifierCV, or take another one."
            )
    return models


def default_models(X_source: Any, X_target: Any) -> list[tuple[str, Any]]:
    """Return the models that are trained when none are given.

    Parameters
    ----------
    X_source, X_target : matrix of shape (n_source, n_features), (n_target, n_features)

    Returns
    -------
    list of (str, classifier)
    """
    models = [
        ("logistic regression", LogisticRegression(tol=1e-6, max_iter=1000)),
        ("linear SVM", CalibratedSVM(kernel="linear")),
        ("RBF SVM", CalibratedSVM(kernel="rbf")),
    ]
    if not sparse.issparse(X_source):
        # Rows that are all alike have no variance, which it divides by.
        if np.any(np.ptp(X_source, axis=0) > 0):
            models.append(("naive Bayes", GaussianNB()))
    elif min(X_source.min(), X_target.min()) >= 0:
        models.append(("naive Bayes", MultinomialNB()))
    return models
