# SPDX-License-Identifier: BSD-3-Clause
r"""How far predicted shares are from the given ones.

With sizes :math:`|S_k|` and :math:`N = \sum_k |S_k|`, the share error is
:math:`\sum_k \frac{|S_k|}{N} |\hat p_k - p_k|`. It has three readings of :math:`\hat p_k`: the
share of rows predicted positive; the expected one, the mean probability of the rows, which stays
right where classes overlap and no row is likelier positive than not; and the soft one,
:math:`\sigma` of the mean decision value. A small error does not imply correct rows: any
permutation within a bag has the same error. What an error is worth shows beside the constant one,
of a prediction that knows no columns and gives every bag the overall share. Shares with declared
noise may lie outside [0, 1]; they are clipped, since no prediction could reach them.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from bagshift.bags import Bags
from bagshift.exceptions import BagError

FloatArray = NDArray[np.float64]


def predicted_shares(bags: Bags, is_positive: ArrayLike) -> FloatArray:
    """Share of rows predicted positive in each bag.

    Parameters
    ----------
    bags : Bags
    is_positive : array-like of bool, shape (n_rows,) or (n_rows, n_columns)

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_columns)

    Raises
    ------
    TypeError
        If `is_positive` is not boolean; labels such as -1 and 1 would all count as True.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0})
    >>> predicted_shares(bags, [True, False, False, True])
    array([0.5, 0.5])
    """
    flags = np.asanyarray(is_positive)
    if flags.dtype != bool:
        raise TypeError(
            "is_positive must hold True or False for every row: compare the predictions with the "
            "positive class first."
        )
    return bags.bag_means(flags)


def share_errors(bags: Bags, is_positive: ArrayLike) -> FloatArray:
    """Predicted minus given share of each bag.

    Parameters
    ----------
    bags : Bags
    is_positive : array-like of bool, shape (n_rows,) or (n_rows, n_columns)

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_columns)
        Positive where too many rows are predicted positive.
    """
    return (predicted_shares(bags, is_positive).T - bags.clipped_shares).T


def share_error(bags: Bags, is_positive: ArrayLike) -> float:
    """Size-weighted mean of the absolute share errors.

    Parameters
    ----------
    bags : Bags
    is_positive : array-like of bool, shape (n_rows,)

    Returns
    -------
    float
        In [0, 1]; 0 is best.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0})
    >>> share_error(bags, [True, False, False, True])
    0.25
    """
    return _size_weighted_mean(bags, np.abs(share_errors(bags, is_positive)))


def expected_shares(bags: Bags, probability: ArrayLike) -> FloatArray:
    """Mean probability of the rows of each bag, its expected share of positives.

    Parameters
    ----------
    bags : Bags
    probability : array-like of shape (n_rows,)
        Probability of the positive class.

    Returns
    -------
    ndarray of shape (n_bags,)

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0})
    >>> expected_shares(bags, [0.25, 0.25, 0.5, 1.0])
    array([0.25, 0.75])
    """
    return bags.bag_means(np.asarray(probability, dtype=np.float64))


def expected_share_errors(bags: Bags, probability: ArrayLike) -> FloatArray:
    """Return expected minus given share of each bag.

    Parameters
    ----------
    bags : Bags
    probability : array-like of shape (n_rows,)
        Probability of the positive class.

    Returns
    -------
    ndarray of shape (n_bags,)
    """
    return np.asarray(expected_shares(bags, probability) - bags.clipped_shares)


def expected_share_error(bags: Bags, probability: ArrayLike) -> float:
    """Size-weighted mean of the absolute errors of expected shares.

    Parameters
    ----------
    bags : Bags
    probability : array-like of shape (n_rows,)
        Probability of the positive class.

    Returns
    -------
    float
        In [0, 1]; 0 is best.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "b", "b"], {"a": 0.5, "b": 1.0})
    >>> expected_share_error(bags, [0.25, 0.25, 0.5, 1.0])
    0.25
    """
    return _size_weighted_mean(bags, np.abs(expected_share_errors(bags, probability)))


def class_share_error(bags: Bags, shares: ArrayLike) -> float:
    r"""Size-weighted mean of how much of a bag would have to change its class.

    For bag :math:`k` that is :math:`\tfrac12 \sum_c |\hat P_{kc} - P_{kc}|`, the total variation
    between predicted and given shares; with two classes the absolute error of either.

    Parameters
    ----------
    bags : Bags
    shares : array-like of shape (n_bags, n_classes)
        Predicted shares, in the order of ``bags.shares``.

    Returns
    -------
    float
        In [0, 1]; 0 is best.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "b"], {"a": [0.5, 0.5, 0], "b": [0, 0, 1]})
    >>> class_share_error(bags, [[0.25, 0.5, 0.25], [0, 0, 1]])
    0.125
    """
    given = np.clip(bags.shares, 0.0, 1.0)
    errors = 0.5 * np.abs(np.asarray(shares, dtype=np.float64) - given).sum(axis=1)
    return _size_weighted_mean(bags, errors)


def overall_share(bags: Bags) -> float:
    """Size-weighted mean of the given shares.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    float
        In [0, 1]. Single shares are not clipped before, so that what was added to them evens out.
    """
    return float(np.clip(_size_weighted_mean(bags, bags.positive_shares), 0.0, 1.0))


def constant_share_error(bags: Bags) -> float:
    """Share error of a prediction that gives every bag the overall share.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    float
        In [0, 1]; what a model has to be below for its columns to have helped.

    Examples
    --------
    >>> from bagshift import Bags
    >>> constant_share_error(Bags.from_arrays(["a", "b"], {"a": 0.5, "b": 1.0}))
    0.25
    """
    return _size_weighted_mean(bags, np.abs(overall_share(bags) - bags.clipped_shares))


def soft_share_errors(bags: Bags, decision: ArrayLike) -> FloatArray:
    """Probability of a bag's mean decision value minus the given share, for each bag.

    Parameters
    ----------
    bags : Bags
    decision : array-like of shape (n_rows,) or (n_rows, n_columns)
        Decision values, on the scale of log odds.

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_columns)
    """
    return np.asarray((expit(bags.bag_means(decision)).T - bags.clipped_shares).T)


def soft_share_error(bags: Bags, decision: ArrayLike) -> float:
    """Share error of the probabilities of the bags' mean decision values.

    Parameters
    ----------
    bags : Bags
    decision : array-like of shape (n_rows,)
        Decision values, on the scale of log odds.

    Returns
    -------
    float
        In [0, 1]; 0 is best. Smooth in the decision values, so it has few ties.
    """
    return _size_weighted_mean(bags, np.abs(soft_share_errors(bags, decision)))


def _size_weighted_mean(bags: Bags, errors: FloatArray) -> float:
    if not bags.n_bags:
        raise BagError("a share error needs bags, but no row is in a bag.")
    return float(np.average(errors, weights=bags.sizes))
