# SPDX-License-Identifier: BSD-3-Clause
r"""Scorers that need no label: predicted against given shares.

With :math:`\hat p_k` the share of rows of bag :math:`k` that a model calls positive, :math:`f`
its decision function and :math:`N = \sum_k|S_k|`,

* the *share error* is :math:`\sum_k\frac{|S_k|}{N}\,|\hat p_k-p_k|`;
* the *soft share error* puts :math:`\sigma(\overline{f}_k)` in the place of :math:`\hat p_k`;
* the *count log-likelihood* is the mean over bags, by their weights, of
  :math:`\log P(\text{published number} \mid f)`, for models with probabilities.

With more than two classes an error of a bag is half the sum over the classes of the absolute
differences, the share of it that would have to change its class, and the soft one has the
probabilities of the machine at the mean decision values in the place of :math:`\sigma`.

The first is what a user wants to be small, but it moves in steps of one row and is therefore
full of ties; the second breaks them. The third has few ties too, heeds the noise law of a bag,
and punishes probabilities that are too bold.

Each scorer is called ``scorer(estimator, X, y)`` with `y` a :class:`~bagshift.Bags`, as
scikit-learn's ``scoring=`` expects, and greater is better. Rows in no bag are ignored, source
rows among them, and nothing is predicted for them. A bag of which only some rows arrive is
refused: its share speaks about all of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from bagshift.bags import Bags
from bagshift.estimators._base import is_flipped, is_positive, last_step, log_odds
from bagshift.estimators._class_scores import class_places, predicted_class_shares
from bagshift.estimators._in_bags import mean_count_log_likelihood
from bagshift.exceptions import BagError
from bagshift.metrics import class_share_error, share_errors, soft_share_errors

BagScorer = Callable[[Any, Any, Bags], float]

# One row in a million: below that the soft error may decide.
SOFT_TIE_WEIGHT = 1e-6


def neg_share_error(estimator: Any, X: Any, y: Bags) -> float:
    """Minus the size-weighted mean distance of predicted from given shares.

    Parameters
    ----------
    estimator : fitted classifier with a decision function
    X : array-like of shape (n_rows, n_features)
    y : Bags of length n_rows

    Returns
    -------
    float
        Between -1 and 0.

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`.
    BagError
        If a bag was cut or no row is in a bag.
    """
    return -_errors(estimator, X, y)[0]


def neg_soft_share_error(estimator: Any, X: Any, y: Bags) -> float:
    """Minus the same with sigma(mean log odds of the bag) as predicted share.

    Parameters
    ----------
    estimator : fitted classifier with a decision function
    X : array-like of shape (n_rows, n_features)
    y : Bags of length n_rows

    Returns
    -------
    float
        Between -1 and 0.

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`.
    BagError
        If a bag was cut or no row is in a bag.
    """
    return -_errors(estimator, X, y)[1]


def share_error_soft_ties(estimator: Any, X: Any, y: Bags) -> float:
    """One minus the share error, its ties broken by the soft share error.

    This is the criterion of :func:`~bagshift.model_selection.path_search`: ``1 - share error -
    1e-6 * soft share error``. The second term breaks ties of the first; a difference in share
    error of more than 1e-6 is never overruled.

    Parameters
    ----------
    estimator : fitted classifier with a decision function
    X : array-like of shape (n_rows, n_features)
    y : Bags of length n_rows

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`.
    BagError
        If a bag was cut or no row is in a bag.
    """
    return float(combine_errors(*_errors(estimator, X, y)))


def count_log_likelihood(estimator: Any, X: Any, y: Bags) -> float:
    """Mean log-probability that a model gives to the published numbers of bags.

    Parameters
    ----------
    estimator : fitted classifier with probabilities
    X : array-like of shape (n_rows, n_features)
    y : Bags of length n_rows

    Returns
    -------
    float
        Mean by the weights of the bags, every bag counting once whatever its size; at most 0
        when counts are exact.

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`, or the estimator has no ``predict_proba``.
    BagError
        If a bag was cut or no row is in a bag.
    """
    rows = _rows_to_score(X, y)
    return mean_count_log_likelihood(estimator, _safe_indexing(X, rows), y[rows])


def combine_errors(hard: Any, soft: Any) -> Any:
    """Return the score of :func:`share_error_soft_ties` from the two errors.

    Parameters
    ----------
    hard, soft : float or ndarray
        Share error and soft share error, between 0 and 1.

    Returns
    -------
    float or ndarray
    """
    return 1.0 - hard - SOFT_TIE_WEIGHT * soft


_SCORERS: dict[str, BagScorer] = {
    "count_log_likelihood": count_log_likelihood,
    "neg_share_error": neg_share_error,
    "neg_soft_share_error": neg_soft_share_error,
    "share_error_soft_ties": share_error_soft_ties,
}


def get_bag_scorer(name: str) -> BagScorer:
    """Return a bag scorer by its name.

    Parameters
    ----------
    name : str
        "neg_share_error", "neg_soft_share_error", "share_error_soft_ties" or
        "count_log_likelihood".

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``.

    Raises
    ------
    ValueError
        If there is no scorer of that name.

    Examples
    --------
    >>> from bagshift.model_selection import get_bag_scorer
    >>> get_bag_scorer("neg_share_error").__name__
    'neg_share_error'
    """
    if name not in _SCORERS:
        raise ValueError(f"{name!r} is no bag scorer; choose one of {sorted(_SCORERS)}.")
    return _SCORERS[name]


def bag_errors_of(
    bags: Bags, scores: NDArray[np.float64], estimator: Any, *, flipped: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return share errors and soft share errors of an estimator's decision values, by bags.

    Parameters
    ----------
    bags : Bags of length n_rows
    scores : ndarray of shape (n_rows,) or (n_rows, n_columns)
        Columns are of estimators alike.
    estimator : classifier or Pipeline
        The one that gave the scores.
    flipped : bool
        Whether shares are of the class that low scores mean.

    Returns
    -------
    tuple of two ndarrays of shape (n_bags,) or (n_bags, n_columns)
        Absolute values; their means weighted by ``bags.sizes`` are the errors of the whole.
    """
    log = log_odds(estimator, scores)
    return (
        np.abs(share_errors(bags, is_positive(scores, flipped=flipped))),
        np.abs(soft_share_errors(bags, -log if flipped else log)),
    )


def _rows_to_score(X: Any, y: Any) -> NDArray[np.int64]:
    """Return the rows in bags, after a look at whether `y` is fit for scoring."""
    if not isinstance(y, Bags):
        raise TypeError(
            f"a bag scorer needs y to be a Bags, got {type(y).__name__}; make one with "
            "Bags.from_arrays."
        )
    if _num_samples(X) != len(y):
        raise ValueError(f"X has {_num_samples(X)} rows but the bags describe {len(y)} rows.")
    y.check_whole()
    rows = y.rows_in_bags()
    if rows.size == 0:
        raise BagError("a bag scorer needs at least one row in a bag but y has none.")
    return rows


def _errors(estimator: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return share error and soft share error over the rows in bags."""
    rows = _rows_to_score(X, y)
    scores = np.asarray(estimator.decision_function(_safe_indexing(X, rows)), dtype=np.float64)
    bags = y[rows]
    if scores.ndim == 2:
        return _class_errors(estimator, scores, bags)
    hard, soft = bag_errors_of(bags, scores, estimator, flipped=is_flipped(estimator, y))
    weights = bags.sizes
    return float(np.average(hard, weights=weights)), float(np.average(soft, weights=weights))


def _class_errors(estimator: Any, scores: NDArray[np.float64], bags: Bags) -> tuple[float, float]:
    """Return both errors for more than two classes."""
    machine = last_step(estimator)
    hard = predicted_class_shares(machine.classes_, scores, bags)
    soft = machine._chances(bags.bag_means(scores))[:, class_places(machine.classes_, bags)]
    return class_share_error(bags, hard), class_share_error(bags, soft)
