# SPDX-License-Identifier: BSD-3-Clause
"""The classes of a problem: which labels the shares, the source and single rows speak of.

Two classes have a module of their own, :mod:`bagshift.labels`, since shares of two classes are
mostly given as one number, and it has to be said which class that is of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._bags.labels import is_known
from bagshift.bags import Bags
from bagshift.exceptions import BagError, BagWarning, name_some, warn_caller
from bagshift.labels import to_label_array


def distinct_labels(source_labels: ArrayLike | None, bags: Bags) -> list[Any]:
    """List all labels that occur: classes of shares, of the source, and of labelled rows.

    Parameters
    ----------
    source_labels : array-like of shape (n_source_rows,) or None
    bags : Bags

    Returns
    -------
    list
        In no particular order. The two classes of shares of two classes are not among them, unless
        a row has them.

    Examples
    --------
    >>> from bagshift import Bags
    >>> distinct_labels([2, 3], Bags.from_arrays(["a"], {"a": [0.5, 0.5, 0]}))
    [0, 1, 2, 3]
    """
    known = bags.label_values[is_known(bags.label_values)].tolist()
    return list(dict.fromkeys([*(bags.classes or ()), *_distinct(source_labels), *known]))


def _distinct(labels: ArrayLike | None) -> list[Any]:
    """List the different ones of many labels."""
    if labels is None:
        return []
    array = np.asarray(labels)
    if array.dtype == object:  # of types that may have no order
        return list(dict.fromkeys(array.tolist()))
    distinct: list[Any] = np.unique(array).tolist()
    return distinct


def resolve_all_classes(source_labels: ArrayLike | None, bags: Bags) -> NDArray[Any]:
    """Find the classes of a problem of more than two.

    Parameters
    ----------
    source_labels : array-like of shape (n_source_rows,) or None
    bags : Bags

    Returns
    -------
    ndarray of shape (n_classes,)
        Sorted, in their natural type.

    Raises
    ------
    BagError
        If shares are of two classes but labels of more, if labels are of different types, or if
        the source has none of the classes of the shares.
    """
    labels = distinct_labels(source_labels, bags)
    of_source = set(_distinct(source_labels))
    if bags.n_bags and bags.classes is None:
        raise BagError(
            f"shares are of two classes, but the labels are {name_some(sorted_labels(labels))}: "
            "give a share for every class, as columns named so."
        )
    if of_source and bags.classes and of_source.isdisjoint(bags.classes):
        raise BagError(
            f"the classes of the shares are {name_some(bags.classes)} but the source has "
            f"{name_some(sorted_labels(of_source))}: name the columns as the labels of the "
            "source, or pass classes=."
        )
    known = set(bags.label_values[bags.has_label & ~bags.is_source].tolist())
    strangers = known - of_source - set(bags.classes or known)
    if strangers:
        raise BagError(
            f"with_labels gave rows the labels {name_some(strangers)}, but the classes are "
            f"{name_some(bags.classes or ())}: use one of these."
        )
    return to_label_array(sorted_labels(labels))


def warn_of_unknown_classes(
    classes: NDArray[Any], source_labels: ArrayLike | None, bags: Bags
) -> None:
    """Warn of classes that the source or the shares say nothing about.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    source_labels : array-like of shape (n_source_rows,) or None
        Labels of source rows that count.
    bags : Bags

    Warns
    -----
    BagWarning
        One sentence for each kind.
    """
    if not bags.n_bags:
        return
    labels = classes.tolist()
    own = bags.classes or ()
    of_source = set(labels if source_labels is None else _distinct(source_labels))
    unshared = [label for label in labels if label not in own]
    if unshared:
        warn_caller(
            f"the source has the classes {name_some(unshared)}, of which no share is given: their "
            "share is taken as 0 in every bag.",
            BagWarning,
        )
    unseen = [label for label in labels if label not in of_source]
    if unseen:
        warn_caller(
            f"the source has no row of the classes {name_some(unseen)}: what is learned about "
            "them comes from the bags alone.",
            BagWarning,
        )
    known = set(bags.label_values[bags.has_label].tolist())
    total = dict(zip(own, bags.shares.sum(axis=0), strict=True))
    empty = [label for label in own if not total[label] and label not in known]
    if empty:
        warn_caller(
            f"no bag has a share above 0 of the classes {name_some(empty)}: there is nothing to "
            "tell their rows by.",
            BagWarning,
        )


def shares_by_class(bags: Bags, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the shares of bags in the order of classes.

    Parameters
    ----------
    bags : Bags
        Of more than two classes, or without bags.
    classes : ndarray of shape (n_classes,)
        Those of the bags, and others, which have 0.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a"], {"a": [0.25, 0.75, 0]}, classes=["x", "b", "c"])
    >>> shares_by_class(bags, np.array(["b", "c", "d", "x"]))
    array([[0.75, 0.  , 0.  , 0.25]])
    """
    place = {label: column for column, label in enumerate(classes.tolist())}
    ordered = np.zeros((bags.n_bags, len(classes)))
    ordered[:, [place[label] for label in bags.classes or ()]] = (
        bags.shares if bags.classes else np.empty((bags.n_bags, 0))
    )
    return ordered


def against_rest(bags: Bags, label: Any) -> Bags:
    """Take the shares of one class against all others, also of one that no share is given of.

    Parameters
    ----------
    bags : Bags
        Of more than two classes, or without bags.
    label : object
        One of its classes, or another, whose share is 0 in every bag.

    Returns
    -------
    Bags
        As :meth:`bagshift.Bags.against_rest` returns them.

    Examples
    --------
    >>> from bagshift import Bags
    >>> against_rest(Bags.from_arrays(["a"], {"a": [0.25, 0.75, 0]}), 5).positive_shares
    array([0.])
    """
    if label in (bags.classes or ()):
        return bags.against_rest(label)
    shares = np.column_stack([bags.shares, np.zeros(bags.n_bags)])
    widened = replace(bags, shares=shares, classes=(*(bags.classes or (None, None)), label))
    return widened.against_rest(label)


def sorted_labels(labels: Any) -> list[Any]:
    """Sort labels; they must be of one type.

    Parameters
    ----------
    labels : iterable

    Returns
    -------
    list

    Raises
    ------
    BagError
        When there is no order among them.
    """
    listed = list(labels)
    try:
        return sorted(listed)
    except TypeError:
        raise BagError(
            "labels must be of one type to name the classes, but there are "
            f"{name_some(listed)}: name the columns of shares as the labels of the rows."
        ) from None
