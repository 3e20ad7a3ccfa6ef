# SPDX-License-Identifier: BSD-3-Clause
"""Which of two labels is the positive class, the one that shares are shares of.

Sorting the labels would be a guess: "Yes" sorts before "no". Only the pairs {0, 1}, {-1, 1} and
{False, True} say by themselves which one is positive; any other pair has to be declared.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift.bags import Bags
from bagshift.exceptions import BagError, BagWarning, PositiveClassWarning, name_some

_SILENT_PAIRS = ({0, 1}, {-1, 1})


def resolve_classes(source_labels: ArrayLike | None, bags: Bags | None) -> NDArray[Any]:
    """Find the two classes, the positive one last.

    Parameters
    ----------
    source_labels : array-like of shape (n_source_rows,) or None
        Labels of the source domain.
    bags : Bags or None
        Its known labels and its `positive` and `negative` count. None when no share is learned
        from: the classes are then sorted, as scikit-learn sorts them.

    Returns
    -------
    ndarray of shape (2,)
        Negative and positive class.

    Raises
    ------
    ValueError
        If the labels have one class only or more than two.
    BagError
        If the positive class is not known, or the declared labels are not among the labels.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a"], {"a": 0.5}, positive="Yes")
    >>> resolve_classes(["no", "Yes", "no"], bags)
    array(['no', 'Yes'], dtype='<U3')
    >>> resolve_classes(None, bags)
    array(['not Yes', 'Yes'], dtype='<U7')
    """
    known = _known_labels(bags)
    if source_labels is not None:
        known = _distinct(source_labels, known)
    elif bags is not None and bags.is_source.any():
        pass
    if source_labels is None and (bags is None or not bags.is_source.any()):
        return _declared_classes(known, bags)
    _check_two(known)
    if bags is None:
        return known
    positive = _positive_of(known.tolist(), bags)
    return known if known[1] == positive else known[::-1].copy()


def warn_if_flipped(source_positive_rate: float, bags: Bags) -> None:
    """Warn when the shares fit the source far better as shares of the other class.

    Parameters
    ----------
    source_positive_rate : float
        Share of positives among the source rows.
    bags : Bags
    """
    if not bags.n_bags:
        return
    mean_share = float(np.average(bags.positive_shares, weights=bags.sizes))
    distance = abs(mean_share - source_positive_rate)
    flipped_distance = abs(1 - mean_share - source_positive_rate)
    if distance > 0.25 and flipped_distance < distance / 4:
        warnings.warn(
            f"the mean share is {mean_share:.2f} but {source_positive_rate:.2f} of the source "
            "rows are positive, and 1 - share would fit far better: check which class the shares "
            "are of, and declare it with Bags.from_arrays(..., positive=).",
            PositiveClassWarning,
            stacklevel=3,
        )


def warn_uninformative(bags: Bags) -> None:
    """Warn when the bags say little, and say what can still be learned.

    Parameters
    ----------
    bags : Bags
    """
    shares = bags.positive_shares
    if bags.n_bags == 1:
        text = (
            "there is one bag only: its share can set the overall level, but who is positive "
            "must come from the source or from labelled rows."
        )
    elif bags.n_bags and np.ptp(shares) == 0:
        text = (
            f"all {bags.n_bags:,} bags have the same share, {shares[0]:.3g}: it can set the "
            "overall level, but who is positive must come from the source or from labelled rows."
        )
    elif bags.n_bags and np.isin(shares, (0.0, 1.0)).all():
        text = (
            f"all {bags.n_bags:,} bags are pure (share 0 or 1), so every row's label is known: "
            "a classifier trained on these labels uses them fully."
        )
    else:
        return
    warnings.warn(text, BagWarning, stacklevel=3)


def _known_labels(bags: Bags | None) -> NDArray[Any]:
    if bags is None:
        return np.empty(0, dtype=object)
    return _distinct(bags.label_values[bags.has_label])


def _distinct(labels: ArrayLike, more: ArrayLike = ()) -> NDArray[Any]:
    """Sorted distinct labels in their natural type."""
    values = {*np.asarray(labels).tolist(), *np.asarray(more).tolist()}
    try:
        return np.array(sorted(values))
    except TypeError:
        raise ValueError(
            f"labels of mixed types {name_some(values)} cannot name the classes: use one type."
        ) from None


def _check_two(known: NDArray[Any]) -> None:
    if len(known) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: the "
            f"labels are {name_some(known)}."
        )
    if len(known) < 2:
        raise ValueError(
            f"The labels hold one class only ({name_some(known)}), but two classes are needed: "
            "add rows of the other class."
        )


def _positive_of(labels: list[Any], bags: Bags) -> Any:
    for argument in ("positive", "negative"):
        declared = getattr(bags, argument)
        if declared is not None and declared not in labels:
            raise BagError(
                f"{argument}={declared!r} is not among the labels {name_some(labels)}: declare "
                "one of them."
            )
    if bags.positive is not None:
        return bags.positive
    if bags.negative is not None:
        return next(label for label in labels if label != bags.negative)
    if set(labels) in _SILENT_PAIRS:
        return 1
    raise BagError(
        f"it is not said which of the labels {name_some(labels)} the shares are of: declare it "
        "with Bags.from_arrays(..., positive=)."
    )


def _declared_classes(known: NDArray[Any], bags: Bags | None) -> NDArray[Any]:
    """Classes when there is no source to learn them from."""
    positive = None if bags is None else bags.positive
    negative = None if bags is None else bags.negative
    if positive is None and negative is None:
        return np.array([0, 1])
    if positive is None:
        raise BagError("negative= is declared without positive=: declare both.")
    if negative is None:
        if isinstance(positive, str):
            negative = f"not {positive}"
        elif positive == 1:
            negative = type(positive)(0)
        else:
            raise BagError(
                f"positive={positive!r} does not say what the other class is called: declare "
                "negative= too."
            )
    return np.array([negative, positive])
