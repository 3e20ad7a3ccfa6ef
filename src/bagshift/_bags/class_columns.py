# SPDX-License-Identifier: BSD-3-Clause
"""Which class each column of numbers is of: two classes or more, and one that has the rest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagshift._bags.columns import BagColumn
from bagshift._bags.ids import plain_id
from bagshift._bags.labels import check_label, read_class_labels
from bagshift._bags.numbers import FloatArray
from bagshift.exceptions import BagError, name_some

_SILENT_CLASSES: tuple[list[Hashable], ...] = ([0, 1], [-1, 1])


@dataclass(frozen=True)
class DeclaredClasses:
    """What is declared about the classes.

    Attributes
    ----------
    positive, negative : label or None
        Of two classes.
    classes : tuple or None
        All of them, in the order of the columns.
    other : label or None
        The class that has what the columns leave.
    """

    positive: Any = None
    negative: Any = None
    classes: tuple[Any, ...] | None = None
    other: Any = None

    @property
    def labels(self) -> list[Any]:
        """All labels that are declared somehow."""
        named = (self.positive, self.negative, self.other, *(self.classes or ()))
        return [label for label in named if label is not None]


def read_declared_classes(
    positive: Any, negative: Any, classes: Any, other: Any
) -> DeclaredClasses:
    """Check what is declared about the classes.

    Parameters
    ----------
    positive, negative : label or None
    classes : sequence of labels or None
        With `other` as the last one or without it.
    other : label or None

    Returns
    -------
    DeclaredClasses
        Two `classes` are the negative and the positive one.

    Raises
    ------
    BagError
        If a label cannot be one, or the declarations do not fit together.
    """
    positive, negative = read_class_labels(positive, negative)
    other = check_label("other", other)
    if classes is None:
        if other is not None and other in (positive, negative):
            raise BagError(f"other must be a class of its own, but {other!r} is declared twice.")
        return DeclaredClasses(positive, negative, None, other)
    labels = _read_classes(classes, other)
    if positive is not None or negative is not None:
        raise BagError("classes= names all classes: leave positive= and negative= out.")
    if other is not None and other not in labels:
        labels = (*labels, other)
    if other is not None and other != labels[-1]:
        raise BagError(f"other={other!r} has what the columns leave: name it last in classes=.")
    if len(labels) == 2:
        last = 1 if other is None else 0
        return DeclaredClasses(labels[last], labels[1 - last], labels, other)
    return DeclaredClasses(None, None, labels, other)


def _read_classes(classes: Any, other: Any) -> tuple[Any, ...]:
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
        raise BagError(f"classes must be a list of labels, not {classes!r}.")
    labels = tuple(check_label("classes", label) for label in classes)
    n_labels = len({*labels, other} - {None})
    if n_labels < 2 or len(set(labels)) < len(labels) or None in labels:
        raise BagError(
            f"classes must be a list of at least two different labels, not {name_some(labels)}."
        )
    return labels


@dataclass(frozen=True)
class ClassColumns:
    """Numbers of every bag by class.

    Attributes
    ----------
    column : BagColumn
        Its values have one axis where there is one number, of the positive class of two.
    classes : tuple or None
        Labels of more than two classes, the one with the rest included.
    positive, negative : label or None
        Labels of two.
    has_rest : bool
        Whether the last of the `classes` has what the columns leave.
    """

    column: BagColumn
    classes: tuple[Any, ...] | None
    positive: Any
    negative: Any
    has_rest: bool


def arrange_classes(column: BagColumn, name: str, declared: DeclaredClasses) -> ClassColumns:
    """Put columns in the order of the classes.

    Parameters
    ----------
    column : BagColumn
    name : str
        The argument's name.
    declared : DeclaredClasses

    Returns
    -------
    ClassColumns

    Raises
    ------
    BagError
        If the columns are not those of the declared classes, or it is not said which of two is
        the positive one.
    """
    has_rest = declared.other is not None
    if declared.classes is not None and column.classes is not None:
        column = _select(column, name, list(declared.classes[: -1 if has_rest else None]))
    n_columns = 1 if column.values.ndim == 1 else column.values.shape[1]
    if n_columns + has_rest <= 2 and len(declared.classes or ()) <= 2:
        return _two_classes(column, name, declared)
    if declared.classes is None and (
        declared.positive is not None or declared.negative is not None
    ):
        _refuse_positive(column, name, n_columns, declared)
    named = column.classes or (list(range(n_columns)) if declared.classes is None else None)
    labels = declared.classes or (*map(plain_id, named or ()), *[declared.other] * has_rest)
    expected = list(labels[:-1] if has_rest else labels)
    if n_columns != len(expected):
        numbers = "one number" if n_columns == 1 else f"{n_columns:,} columns of numbers"
        raise BagError(
            f"{name} has {numbers} but there are the {len(expected)} classes "
            f"{name_some(expected)}: give one column for each."
        )
    if len(set(labels)) < len(labels):
        raise BagError(
            f"other={declared.other!r} is a column of {name} already: give it another name."
        )
    return ClassColumns(column, tuple(labels), None, None, has_rest)


def _select(column: BagColumn, name: str, expected: list[Any]) -> BagColumn:
    """Take the columns of the declared classes, by name; others are no classes."""
    labels = list(map(plain_id, column.classes or ()))
    absent = [label for label in expected if label not in labels]
    if absent:
        raise BagError(
            f"{name} has no column for the classes {name_some(absent)}; its columns are "
            f"{name_some(labels)}."
        )
    places = [labels.index(label) for label in expected]
    values = column.values[:, places[0] if len(places) == 1 else places]
    return replace(column, values=values, classes=expected if len(places) > 1 else None)


def _refuse_positive(
    column: BagColumn, name: str, n_columns: int, declared: DeclaredClasses
) -> None:
    labels = column.classes or list(range(n_columns))
    declaration = "negative=" if declared.positive is None else "positive="
    raise BagError(
        f"{name} has {n_columns:,} columns of numbers, {name_some(labels)}, but {declaration} is "
        "for two classes: pass one number per bag, that of the positive class, or leave it out "
        "and name the columns with classes=."
    )


def _two_classes(column: BagColumn, name: str, declared: DeclaredClasses) -> ClassColumns:
    positive, negative = declared.positive, declared.negative
    if declared.other is not None:
        if positive is None:
            raise BagError(
                f"other={declared.other!r} is declared beside one number per bag: declare with "
                "positive= which class that is of."
            )
        negative = declared.other
    ordered = _order_two(column, name, positive, negative)
    return ClassColumns(ordered, None, positive, negative, has_rest=False)


def _order_two(column: BagColumn, name: str, positive: Any, negative: Any) -> BagColumn:
    """Put two named columns in the order negative, positive."""
    labels = column.classes
    if labels is None:
        return column
    order = None
    if positive is None and negative is None:
        order = next((pair for pair in _SILENT_CLASSES if set(pair) == set(labels)), None)
    elif positive in labels or (positive is None and negative in labels):
        last = labels.index(positive) if positive in labels else 1 - labels.index(negative)
        order = [labels[1 - last], labels[last]]
    if order is None or (negative is not None and negative != order[0]):
        raise BagError(
            f"{name} has two columns, {name_some(labels)}, and it is not said which one is of the "
            "positive class: pass positive= with its name, or select that column."
        )
    places = [labels.index(label) for label in order]
    return replace(column, values=column.values[:, places], classes=order)


def add_rest(numbers: FloatArray, whole: FloatArray | float) -> FloatArray:
    """Append what the columns leave of the whole.

    Parameters
    ----------
    numbers : ndarray of shape (n_bags, n_columns) or (n_bags,)
    whole : ndarray of shape (n_bags,) or float
        1 for shares, sizes for counts.

    Returns
    -------
    ndarray of shape (n_bags, n_columns + 1)
        What is left may be negative.
    """
    numbers = numbers.reshape(len(numbers), -1)
    rest = whole - numbers.sum(axis=1)
    return np.column_stack([numbers, np.where(np.abs(rest) < 1e-12, 0.0, rest)])


def two_columns(positive_shares: FloatArray) -> FloatArray:
    """Return the shares of the negative and of the positive class; shape (n_bags, 2)."""
    return np.column_stack([1.0 - positive_shares, positive_shares])
