# SPDX-License-Identifier: BSD-3-Clause
"""What follows from scores of several classes: labels, probabilities, shares of bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.exceptions import BagError, name_some

Floats = NDArray[np.float64]


def best_places(scores: Floats) -> NDArray[np.intp]:
    """Return the place of the predicted class of every row among the classes.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Decision values; one column is of the second of two classes.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if scores.ndim == 1:
        return (scores > 0).astype(np.intp)
    return np.asarray(np.argmax(scores, axis=1))


def predicted_class_shares(classes: NDArray[Any], scores: Floats, bags: Bags) -> Floats:
    """Return the share of rows of every bag that each class is predicted for.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Those of the classifier.
    scores : ndarray of shape (n_rows, n_classes)
        Its decision values.
    bags : Bags
        Bags of the rows, with shares of classes of the classifier.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)
        In the order of ``bags.shares``.

    Raises
    ------
    BagError
        When shares are of a class that the classifier does not know.
    """
    is_best = np.eye(scores.shape[1])[best_places(scores)]
    return bags.bag_means(is_best)[:, class_places(classes, bags)]


def class_places(classes: NDArray[Any], bags: Bags) -> NDArray[np.intp]:
    """Return the place among ``classes_`` of every class that shares are given of.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Those of a classifier.
    bags : Bags

    Returns
    -------
    ndarray of shape (n_classes of the bags,)

    Raises
    ------
    BagError
        When the classifier does not know a class, or the bags are of two classes only.
    """
    labels = np.asarray(classes).tolist()
    unknown = [label for label in bags.classes or () if label not in labels]
    if unknown or bags.classes is None:
        own = bags.classes or "two classes"
        raise BagError(
            f"The shares are of {name_some(own) if bags.classes else own}, but the classifier "
            f"knows {name_some(labels)}; give a share for every class, as columns named so."
        )
    return np.array([labels.index(label) for label in bags.classes], dtype=np.intp)


def normalise(chances: Floats, scores: Floats) -> Floats:
    """Divide chances by their sum, and keep the predicted class the likeliest one.

    Parameters
    ----------
    chances : ndarray of shape (n_rows, n_classes)
        Not negative; may be 0 for all classes where they are too small for a number.
    scores : ndarray of shape (n_rows, n_classes)
        Decision values, in the same order within each row but for rounding.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Rows sum to 1, and the first highest entry is that of the score.
    """
    best = best_places(scores)
    rows = np.arange(len(best))
    total = chances.sum(axis=1)
    hopeless = ~(total > 0)
    chances = np.where(hopeless[:, None], np.eye(chances.shape[1])[best], chances)
    chances = chances / np.where(hopeless, 1.0, total)[:, None]
    tied = np.argmax(chances, axis=1) != best
    raised = np.nextafter(chances.max(axis=1), np.inf)
    chances[rows[tied], best[tied]] = raised[tied]
    return np.asarray(chances)
