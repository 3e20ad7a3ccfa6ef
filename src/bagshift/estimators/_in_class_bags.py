# SPDX-License-Identifier: BSD-3-Clause
"""Rows given the counts of all classes of their own bag, for more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.class_labels import shares_by_class
from bagshift.estimators._class_scores import class_places
from bagshift.estimators._class_units import class_bag_counts
from bagshift.solvers.class_counts import class_count_posterior

Floats = NDArray[np.float64]


def chances_in_bags(
    chances: Floats, bags: Bags, classes: NDArray[Any], *, warn: bool = True
) -> Floats:
    """Return the probability of each class of every row, given the counts of its bag.

    Parameters
    ----------
    chances : ndarray of shape (n_rows, n_classes)
        Probabilities of the rows alone.
    bags : Bags of length n_rows
        Whole bags of more than two classes.
    classes : ndarray of shape (n_classes,)
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The plain probabilities for rows in no bag; 1 for a known label.

    Raises
    ------
    BagError
        When shares are of a class that is none of the classes, or a bag was cut.
    """
    rows, _, posterior = _posterior(chances, bags, classes, warn)
    found = chances.copy()
    found[rows] = posterior
    known = np.flatnonzero(bags.has_label)
    if len(known):
        place = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
        codes = [place[label] for label in bags.label_values[known].tolist()]
        found[known] = np.eye(len(classes))[codes]
    return found


def class_count_log_likelihoods(
    chances: Floats, bags: Bags, classes: NDArray[Any], *, warn: bool = True
) -> Floats:
    """Return log P(counts of all classes | probabilities of the rows) of every bag.

    Parameters
    ----------
    chances : ndarray of shape (n_rows, n_classes)
    bags : Bags of length n_rows
        Whole bags of more than two classes.
    classes : ndarray of shape (n_classes,)
    warn : bool, default=True
        Whether to warn of shares that are taken as rounded.

    Returns
    -------
    ndarray of shape (n_bags,)
        At most 0; approximate for many rows of many classes, see
        :mod:`bagshift.solvers.class_counts`.
    """
    return _posterior(chances, bags, classes, warn)[1]


def _posterior(
    chances: Floats, bags: Bags, classes: NDArray[Any], warn: bool
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return the rows in bags, log-likelihoods, and probabilities of the rows."""
    class_places(classes, bags)
    rows, counts = class_bag_counts(bags, shares_by_class(bags, classes), warn=warn)
    log_chances = np.log(np.maximum(chances[rows], np.finfo(np.float64).tiny))
    found = class_count_posterior(log_chances, counts)
    posterior = np.clip(found.probability, 0.0, 1.0)
    return rows, found.log_likelihood, posterior / posterior.sum(axis=1, keepdims=True)
