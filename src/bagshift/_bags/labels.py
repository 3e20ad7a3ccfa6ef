# SPDX-License-Identifier: BSD-3-Clause
"""Labels of rows and of classes: plain scalars, None where unknown."""

from datetime import date, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import is_blank, number_distinct, plain_id, unmask
from bagshift.exceptions import BagError, name_some

_SCALARS = (str, bytes, Number, Decimal, date, timedelta, np.generic)


def is_known(labels: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Whether each label is known; shape (n_rows,)."""
    is_none: NDArray[np.bool_] = labels == np.array(None)  # no loop of Python's, unlike "is"
    return ~is_none


def read_labels(labels: Any, name: str) -> NDArray[np.object_]:
    """Read labels as plain objects, None where blank."""
    labels = unmask(labels)
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biu":
        return labels.astype(object)  # none is blank or strange
    codes, distinct = number_distinct(labels, name)
    strange = [label for label in distinct if not (is_blank(label) or _is_scalar(label))]
    if strange:
        raise BagError(
            f"{name} must be scalars (text, numbers, booleans or dates), unlike "
            f"{name_some(strange)}: give one label per row."
        )
    plain = (None if is_blank(label) else plain_id(label) for label in distinct)
    return np.fromiter(plain, dtype=object, count=len(distinct))[codes]


def read_known_labels(labels: Any, name: str) -> NDArray[np.object_]:
    """Read labels of rows that must all have one."""
    values = read_labels(labels, name)
    unknown = np.flatnonzero(~is_known(values))
    if len(unknown):
        raise BagError(
            f"{name} are missing in {len(unknown):,} rows (rows {name_some(unknown)}): leave "
            "these rows out or label them."
        )
    return values


def read_class_labels(positive: Any, negative: Any) -> tuple[Any, Any]:
    """Check the declared labels of the two classes, None where not declared."""
    positive, negative = check_label("positive", positive), check_label("negative", negative)
    if positive is not None and positive == negative:
        raise BagError(f"positive and negative must differ, but both are {positive!r}.")
    return positive, negative


def check_label(name: str, label: Any) -> Any:
    """Check one declared label; None stays None."""
    if label is None:
        return None
    if not _is_scalar(label) or is_blank(label):
        raise BagError(
            f"{name} must be one label (text, number, boolean or date), not "
            f"{name_some([label])}: name the class as the labels of the rows do."
        )
    return plain_id(label)


def _is_scalar(label: Any) -> bool:
    return isinstance(label, _SCALARS)
