# SPDX-License-Identifier: BSD-3-Clause
"""Which of two labels is the positive class, the one that shares are shares of.

Sorting the labels would be a guess: "Yes" sorts before "no". Only {0, 1}, {-1, 1} and
{False, True} say by themselves which label is positive; any other pair has to be declared.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._bags.labels import is_known, read_known_labels, read_labels
from bagshift._bags.noise_column import scales_in_shares
from bagshift.bags import Bags
from bagshift.exceptions import (
    BagError,
    BagWarning,
    PositiveClassWarning,
    name_some,
    warn_caller,
)

_SELF_EXPLAINING = ({0, 1}, {-1, 1})
_CLEAR_DISTANCE = 0.25
_CLEAR_RATIO = 4.0
# Sum over bags of (1 / scale)^2 in shares. Shares of bags differ by tenths, so their sum under
# noise is then about as large as that noise.
_TOO_LITTLE = 100.0


def explain_themselves(labels: Iterable[Any]) -> bool:
    """Tell whether nobody has to say which of two labels is the positive one.

    Parameters
    ----------
    labels : iterable of two labels

    Returns
    -------
    bool
        True for 0 and 1, -1 and 1, False and True.
    """
    return set(labels) in _SELF_EXPLAINING


def resolve_classes(source_labels: ArrayLike | None, bags: Bags | None) -> NDArray[Any]:
    """Find the two classes, the positive one last.

    Parameters
    ----------
    source_labels : array-like of shape (n_source_rows,) or None
        Labels of the source domain. None when there is no source, or when it is in `bags`.
    bags : Bags or None
        What was declared about the classes, and known labels of rows.

    Returns
    -------
    ndarray of shape (2,)
        Negative and positive class. With bags but no source labels these are the declared ones,
        else 0 and 1. Without any share the order means nothing, and undeclared labels are
        sorted.

    Raises
    ------
    ValueError
        If the source labels hold one class only or more than two.
    BagError
        If it is not said which class the shares are of, or a declared or known label is not
        among the source labels.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a"], {"a": 0.5}, positive="Yes")
    >>> resolve_classes(["no", "Yes", "no"], bags)
    array(['no', 'Yes'], dtype='<U3')
    >>> resolve_classes(None, bags)
    array(['not Yes', 'Yes'], dtype='<U7')
    """
    bags = Bags.unlabelled(0) if bags is None else bags
    if source_labels is None and bags.is_source.any():
        source_labels = bags.label_values[bags.is_source]
    known = _distinct(bags.label_values[bags.has_label & ~bags.is_source])
    if source_labels is None:
        return _without_source(known, bags)
    labels = _source_classes(source_labels)
    strangers = [label for label in known if label not in labels]
    if strangers:
        raise BagError(
            f"with_labels gave rows the labels {name_some(strangers)}, but the source has "
            f"{name_some(labels)}: use the labels of the source."
        )
    return _order(labels, bags, "the source labels")


def warn_uninformative(bags: Bags, from_where: str = "the source or from labelled rows") -> None:
    """Warn when the bags say little, and say what can still be learned.

    Parameters
    ----------
    bags : Bags
    from_where : str
        Where labels may come from instead; empty for nowhere.

    Warns
    -----
    BagWarning
        If there is one bag only, or all shares are equal, or all bags are pure, or noise drowns
        what they say.
    """
    shares = bags.positive_shares
    level_only = "it sets the overall level only, so " + (
        f"who is positive must come from {from_where}"
        if from_where
        else "nothing says who is positive"
    )
    if bags.n_bags == 1:
        message = f"there is one bag only, {name_some(bags.ids)}: {level_only}."
    elif bags.n_bags and np.ptp(shares) == 0:
        message = f"all {bags.n_bags:,} bags have the same share, {shares[0]:.4g}: {level_only}."
    elif bags.n_bags and np.all((shares == 0.0) | (shares == 1.0)) and not _has_law(bags):
        message = (
            f"all {bags.n_bags:,} bags are pure (share 0 or 1), so the label of every row in them "
            "is known: an ordinary classifier fitted to these labels would use them fully."
        )
    elif bags.n_bags and _is_drowned(bags):
        message = (
            "the noise is larger than the bag in every bag, and there are too few bags to make up "
            "for it, so their numbers say next to nothing: check scale and unit of noise=, or "
            "publish larger bags."
        )
    else:
        return
    warn_caller(message, BagWarning)


def _is_drowned(bags: Bags) -> bool:
    """Whether shares are all noise, and together still are."""
    scales = scales_in_shares(bags.noise, bags.sizes)
    return bool(np.all(scales > 1) and np.sum(scales**-2.0) < _TOO_LITTLE)


def _has_law(bags: Bags) -> bool:
    """Whether a share of 0 or 1 need not mean a pure bag."""
    return any(law is not None for law in bags.noise)


def warn_if_flipped(source_positive_rate: float, bags: Bags) -> None:
    """Warn when the shares look like shares of the other class.

    They do when the mean share lies far from the share of positives in the source, and one minus
    it lies close.

    Parameters
    ----------
    source_positive_rate : float
        Share of positives among the source rows.
    bags : Bags

    Warns
    -----
    PositiveClassWarning
    """
    if not bags.n_bags:
        return
    mean_share = float(bags.positive_shares @ bags.sizes / bags.sizes.sum())
    distance = abs(mean_share - source_positive_rate)
    flipped_distance = abs(1 - mean_share - source_positive_rate)
    if distance > _CLEAR_DISTANCE and distance > _CLEAR_RATIO * flipped_distance:
        warn_caller(
            f"the mean share is {mean_share:.2f} but {source_positive_rate:.2f} of the source "
            "rows are positive, and shares of the other class would fit far better: check which "
            "class the shares are of and declare it with Bags.from_arrays(..., positive=).",
            PositiveClassWarning,
        )


def read_source_labels(labels: ArrayLike) -> NDArray[Any]:
    """Read the label of every source row.

    Parameters
    ----------
    labels : array-like of shape (n_source_rows,)

    Returns
    -------
    ndarray of shape (n_source_rows,)
        In their natural type.

    Raises
    ------
    BagError
        If a label is missing or no scalar.

    Examples
    --------
    >>> read_source_labels([0, 1.0, 1])
    array([0., 1., 1.])
    """
    return to_label_array(list(read_known_labels(labels, "the source labels")))


def to_label_array(labels: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return labels in their natural type: numbers, text or, mixed, objects.

    Parameters
    ----------
    labels : sequence of length n

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> to_label_array([0, 1])
    array([0, 1])
    >>> to_label_array([0, "no"])
    array([0, 'no'], dtype=object)
    """
    kinds = {issubclass(kind, str) for kind in set(map(type, labels))}
    dtype = object if len(kinds) > 1 else None
    return np.array(list(labels), dtype=dtype)


def _distinct(labels: NDArray[Any]) -> list[Any]:
    """Distinct labels, sorted."""
    distinct = set(labels.tolist())
    try:
        return sorted(distinct)
    except TypeError:
        raise ValueError(
            f"labels must be of one type to name the classes, but there are {name_some(distinct)}."
        ) from None


def _source_classes(source_labels: ArrayLike) -> list[Any]:
    values = read_labels(source_labels, "the source labels")
    unknown = np.flatnonzero(~is_known(values))
    if len(unknown):
        raise ValueError(
            f"the source labels are missing in {len(unknown):,} rows (rows {name_some(unknown)}), "
            "but every source row needs a class: leave these rows out or label them."
        )
    labels = _distinct(values)
    if len(labels) > 2:  # scikit-learn looks for the first of these sentences
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"the labels are {name_some(labels)}."
        )
    if len(labels) < 2:
        raise ValueError(
            f"the source labels hold one class only ({name_some(labels) or 'none'}), but two are "
            "needed: add rows of the other class."
        )
    return labels


def _without_source(known: list[Any], bags: Bags) -> NDArray[Any]:
    """Classes of bags alone: declared ones, else those of known rows, else 0 and 1."""
    if len(known) == 2:
        return _order(known, bags, "the known labels")
    positive, negative = bags.positive, bags.negative
    if positive is None and negative is None:
        labels = [-1, 1] if known == [-1] else [0, 1]
    elif positive is None:
        raise BagError(f"negative={negative!r} is declared alone: declare positive= too.")
    else:
        others = [label for label in known if label != positive]
        labels = [_name_negative(positive, negative, others), positive]
    strangers = [label for label in known if label not in labels]
    if strangers:
        raise BagError(
            f"with_labels gave rows the labels {name_some(strangers)}, but the classes are "
            f"{name_some(labels)}: declare positive= and negative= as these rows have them."
        )
    return to_label_array(labels)


def _name_negative(positive: Any, negative: Any, others: list[Any]) -> Any:
    if negative is not None:
        return negative
    if len(others) == 1:
        return others[0]
    if isinstance(positive, str):
        return f"not {positive}"
    if positive == 1:
        return type(positive)(0)
    raise BagError(
        f"positive={positive!r} does not say what the other class is called: declare negative= "
        "too."
    )


def _order(labels: list[Any], bags: Bags, where: str) -> NDArray[Any]:
    """Put the positive one of two labels last."""
    for argument in ("positive", "negative"):
        declared = getattr(bags, argument)
        if declared is not None and declared not in labels:
            raise BagError(
                f"{argument}={declared!r} is not among {where}, {name_some(labels)}: declare one "
                "of these."
            )
    is_explained = explain_themselves(labels) or not bags.n_bags
    if bags.positive is not None:
        last = labels.index(bags.positive)
    elif bags.negative is not None:
        last = 1 - labels.index(bags.negative)
    elif is_explained:
        last = 1
    else:
        raise BagError(
            f"it is not said which of {where}, {name_some(labels)}, the shares are of: declare it "
            "with Bags.from_arrays(..., positive=)."
        )
    return to_label_array([labels[1 - last], labels[last]])
