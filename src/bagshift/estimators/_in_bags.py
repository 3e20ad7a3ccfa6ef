# SPDX-License-Identifier: BSD-3-Clause
r"""Rows given the published number of their own bag.

A classifier says :math:`P(y_j = 1) = \sigma(f_j)` of a row alone. Of a row inside a bag more is
known: how many of its members are positive, exactly or under a noise law. With labels
independent given the features, Bayes' rule turns that into
:math:`P(y_j = 1 \mid \text{published})`, see :mod:`bagshift.solvers.count_likelihood`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bagshift.bags import Bags
from bagshift.estimators._base import is_flipped, keep_side, last_step, log_odds
from bagshift.estimators._count_units import bag_counts
from bagshift.estimators._in_class_bags import chances_in_bags, class_count_log_likelihoods
from bagshift.estimators._training import labelled_signs
from bagshift.exceptions import BagError
from bagshift.solvers.count_likelihood import CountPosterior, count_posterior

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class InBagPosteriors:
    """Methods of classifiers with probabilities, for rows inside bags with a published number."""

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
            Columns in the order of ``classes_``. See :func:`bagshift.predict_proba_in_bags`,
            which does the same for Pipelines and searches.
        """
        return predict_proba_in_bags(self, X, bags)

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
            The labels of a bag need not add up to its count. See
            :func:`bagshift.predict_in_bags`, which does the same for Pipelines and searches.
        """
        return predict_in_bags(self, X, bags)


def predict_proba_in_bags(model: Any, X: Any, bags: Bags) -> Floats:
    """Return the probability of each class for every row, given the number of its own bag.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict_proba``: a machine of this package, a Pipeline or search around
        one, or any other classifier. Its probabilities are taken as they are.
    X : matrix of shape (n_rows, n_features)
        Rows as ``model.predict`` takes them, of whole bags, whether or not these were fitted to.
    bags : Bags of length n_rows
        Their bags. Noisy, rounded and sampled numbers count as far as their law allows.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        One for each class, in the order of ``classes_``. Within a bag of exact counts the
        probabilities of a class add up to its count. Rows in no bag have their plain probability;
        rows whose label is known, source rows among them, have 1 for that label.

    Raises
    ------
    TypeError
        When the model has no probabilities, or `bags` is not a :class:`~bagshift.Bags`.
    ValueError
        When X does not fit the model or the bags.
    BagError
        When slicing has cut a bag, or its number is impossible.

    See Also
    --------
    predict_in_bags : The likelier label.

    Notes
    -----
    Only for rows inside bags with a known number. How often these probabilities point to the
    right label is the *in-bag accuracy*: another number than the accuracy on fresh rows, and a
    larger one, since fresh rows come without a count. Never report one for the other.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, InverseCalibrationSVM, predict_proba_in_bags
    >>> X = np.array([[-3.0], [-1.0], [1.0], [0.5], [1.5], [3.0]])
    >>> bags = Bags.from_arrays(["a", "a", "a", "b", "b", "b"], counts={"a": 1, "b": 2})
    >>> model = InverseCalibrationSVM(kernel="linear").fit(X, bags)
    >>> given_bags = predict_proba_in_bags(model, X, bags)
    >>> bags.bag_means(given_bags[:, 1]) * 3
    array([1., 2.])
    """
    _check_model(model, bags)
    machine = _machine_in(model)
    if len(getattr(machine, "classes_", ())) > 2:
        return chances_in_bags(_chances_of_rows(model, X, bags), bags, machine.classes_)
    log = _log_odds_of_rows(model, X, bags)
    second = posterior_in_bags(log, bags, flipped=is_flipped(machine, bags))
    second[bags.has_label] = labelled_signs(bags, machine.classes_) > 0
    return np.column_stack([1.0 - second, second])


def predict_in_bags(model: Any, X: Any, bags: Bags) -> NDArray[Any]:
    """Return the likelier label of every row, given the number of its own bag.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict_proba`` for two classes: a machine of this package, a Pipeline or
        search around one, or any other classifier.
    X : matrix of shape (n_rows, n_features)
        Rows as ``model.predict`` takes them, of whole bags, whether or not these were fitted to.
    bags : Bags of length n_rows
        Their bags.

    Returns
    -------
    ndarray of shape (n_rows,)
        The class of the larger probability of :func:`predict_proba_in_bags`, ``classes_[0]`` at
        a tie. That makes the fewest expected errors row by row, but the labels of a bag need
        not add up to its count: add up the probabilities for that.

    Raises
    ------
    TypeError
        When the model has no probabilities, or `bags` is not a :class:`~bagshift.Bags`.
    ValueError
        When X does not fit the model or the bags.
    BagError
        When slicing has cut a bag, or its number is impossible.

    Notes
    -----
    The accuracy of these labels is the *in-bag accuracy*, another and larger number than the
    accuracy of ``model.predict`` on fresh rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, InverseCalibrationSVM, predict_in_bags
    >>> X = np.array([[-3.0], [-1.0], [1.0], [0.5], [1.5], [3.0]])
    >>> bags = Bags.from_arrays(["a", "a", "a", "b", "b", "b"], counts={"a": 1, "b": 2})
    >>> model = InverseCalibrationSVM(kernel="linear").fit(X, bags)
    >>> predict_in_bags(model, X, bags)
    array([0, 0, 1, 0, 1, 1])
    """
    chances = predict_proba_in_bags(model, X, bags)
    classes = np.asarray(_machine_in(model).classes_)
    is_second = chances[:, 1] > 0.5
    places = is_second.astype(np.intp) if len(classes) == 2 else chances.argmax(axis=1)
    return np.asarray(classes[places])


def posterior_in_bags(log_odds: Floats, bags: Bags, *, flipped: bool, warn: bool = True) -> Floats:
    """Return the probability of the second class of every row, given its bag's number.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        Finite log odds of the second class.
    bags : Bags of length n_rows
        Whole bags.
    flipped : bool
        Whether shares are of the first class.
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded.

    Returns
    -------
    ndarray of shape (n_rows,)
        The plain probability for rows in no bag; known labels are not looked at.
    """
    rows, found = _given_counts(log_odds, bags, flipped, warn)
    second = keep_side(expit(log_odds), log_odds)
    second[rows] = 1.0 - found.probability if flipped else found.probability
    return second


def count_log_likelihoods(
    log_odds: Floats, bags: Bags, *, flipped: bool, warn: bool = True
) -> Floats:
    """Return log P(published number | log odds of its rows) of every bag.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        Finite log odds of the second class; those of rows in no bag play no part.
    bags : Bags of length n_rows
        Whole bags.
    flipped : bool
        Whether shares are of the first class.
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded.

    Returns
    -------
    ndarray of shape (n_bags,)
        At most 0 for exact counts.
    """
    return _given_counts(log_odds, bags, flipped, warn)[1].log_likelihood


def mean_count_log_likelihood(model: Any, X: Any, bags: Bags) -> float:
    """Return the mean over bags, by their weights, of the count log-likelihood.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict_proba`` for two classes, or a Pipeline or search around one.
    X : matrix of shape (n_rows, n_features)
        Rows of whole bags.
    bags : Bags of length n_rows
        Their bags, at least one.

    Returns
    -------
    float
        Greater is better; at most 0 for exact counts.

    Raises
    ------
    TypeError
        When the model has no probabilities, or `bags` is not a :class:`~bagshift.Bags`.
    BagError
        When slicing has cut a bag, or there is none.
    """
    _check_model(model, bags)
    if not bags.n_bags:
        raise BagError("a count log-likelihood needs bags, but no row is in a bag.")
    classes: Any = getattr(_machine_in(model), "classes_", ())
    if len(classes) > 2:
        of_rows = _chances_of_rows(model, X, bags)
        return float(
            np.average(class_count_log_likelihoods(of_rows, bags, classes), weights=bags.weights)
        )
    log = _log_odds_of_rows(model, X, bags)
    values = count_log_likelihoods(log, bags, flipped=is_flipped(_machine_in(model), bags))
    return float(np.average(values, weights=bags.weights))


def _given_counts(
    log_odds: Floats, bags: Bags, flipped: bool, warn: bool
) -> tuple[Rows, CountPosterior]:
    """Return the rows in bags, bag by bag, and what the published numbers say about them."""
    rows, counts = bag_counts(bags, warn=warn)
    towards_positive = -log_odds[rows] if flipped else log_odds[rows]
    return rows, count_posterior(towards_positive, counts)


def _machine_in(model: Any) -> Any:
    """Return the fitted classifier inside Pipelines and searches."""
    inside = last_step(getattr(model, "best_estimator_", model))
    return model if inside is model else _machine_in(inside)


def _check_model(model: Any, bags: Any) -> None:
    """Refuse what is no Bags, and a model without probabilities."""
    if not isinstance(bags, Bags):
        raise TypeError(
            f"bags must be a Bags, got {type(bags).__name__}; make one with Bags.from_arrays."
        )
    machine = _machine_in(model)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(machine).__name__} has no predict_proba, and counts say nothing about scores "
            "that are no probabilities; take a machine that has it, such as TGPLM, or calibrate "
            "this one on labelled rows with CalibratedClassifierCV."
        )


def _chances_of_rows(model: Any, X: Any, bags: Bags) -> Floats:
    """Return probabilities of all classes."""
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)
    if len(chances) != len(bags):
        raise ValueError(f"X has {len(chances)} rows but the bags describe {len(bags)} rows.")
    return chances


def _log_odds_of_rows(model: Any, X: Any, bags: Bags) -> Floats:
    """Return log odds of the second class."""
    machine = _machine_in(model)
    if isinstance(machine, InBagPosteriors):
        log = log_odds(machine, model.decision_function(X))
    else:
        log = logit_of_columns(np.asarray(model.predict_proba(X), dtype=np.float64))
    if len(log) != len(bags):
        raise ValueError(f"X has {len(log)} rows but the bags describe {len(bags)} rows.")
    return log


def logit_of_columns(probability: Floats) -> Floats:
    """Return the log odds of the second column, kept finite.

    Parameters
    ----------
    probability : ndarray of shape (n_rows, 2)

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        When there are not two columns.
    """
    if probability.ndim != 2 or probability.shape[1] != 2:
        raise ValueError(
            "counts of bags need a model of two classes; its probabilities have shape "
            f"{probability.shape}."
        )
    first, second = np.log(np.maximum(probability, np.finfo(np.float64).tiny)).T
    return np.asarray(second - first)
