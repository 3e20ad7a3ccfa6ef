# SPDX-License-Identifier: BSD-3-Clause
"""Labels in files: their values, the missing ones, and which one is positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bagshift.columns import NamedTable, is_plain
from bagshift.exceptions import TableError, name_some
from bagshift.tables import require_columns

SELF_EXPLAINING = ({0, 1}, {-1, 1}, {False, True})
WORDS_FOR_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class Labels:
    """The labels of a table.

    Attributes
    ----------
    values : ndarray of shape (n_labelled,)
        Labels of the rows that have one.
    has_label : ndarray of bool, shape (n_rows,)
        Which rows these are.
    negative, positive : str, int, float, bool or None
        The two classes; None where there are more.
    """

    values: NDArray[Any]
    has_label: NDArray[np.bool_]
    negative: Any
    positive: Any

    @property
    def classes(self) -> list[Any]:
        """All labels that occur, sorted."""
        found: list[Any] = np.unique(self.values).tolist()
        return found

    @property
    def n_missing(self) -> int:
        """Number of rows without a label."""
        return int((~self.has_label).sum())


def read_labels(table: NamedTable, column: str, positive: str | None) -> Labels:
    """Read a column of labels and settle which one is positive.

    Parameters
    ----------
    table : NamedTable
        Labelled history.
    column : str
        Its column of labels.
    positive : str, optional
        The positive label as a user writes it; needed unless the labels are 0/1, -1/1 or
        false/true.

    Returns
    -------
    Labels

    Raises
    ------
    TableError
        When there are not exactly two labels, or it is not known which one is positive.
    """
    values = label_values(table, column)
    classes = values.drop_nulls().unique().sort().to_list()
    where = f"Column {column!r} of {table.name}"
    if not classes:
        raise TableError(f"{where} holds no label; history needs labelled rows of both classes.")
    if len(classes) == 1:
        raise TableError(
            f"{where} holds one class only, {name_some(classes)}; history needs rows of both "
            "classes."
        )
    if len(classes) > 2:
        raise TableError(
            f"{where} holds {len(classes)} classes, {name_some(classes)}; give the shares of all "
            "of them: --share-column or --count-column once for each class, with columns named as "
            "the classes."
        )
    chosen = _positive_among(classes, positive, where)
    has_label = values.is_not_null().to_numpy()
    return Labels(
        values=np.array(values.drop_nulls().to_list()),
        has_label=has_label,
        negative=classes[0] if chosen == classes[1] else classes[1],
        positive=chosen,
    )


def read_all_labels(table: NamedTable, column: str) -> Labels:
    """Read a column of labels of any number of classes.

    Parameters
    ----------
    table : NamedTable
        Labelled history.
    column : str
        Its column of labels.

    Returns
    -------
    Labels
        Without a positive class.

    Raises
    ------
    TableError
        When there are fewer than two labels.
    """
    values = label_values(table, column)
    classes = values.drop_nulls().unique().sort().to_list()
    if len(classes) < 2:
        raise TableError(
            f"Column {column!r} of {table.name} holds {name_some(classes) or 'no label'}; history "
            "needs rows of two classes or more."
        )
    known = np.array(values.drop_nulls().to_list())
    return Labels(known, values.is_not_null().to_numpy(), negative=None, positive=None)


def label_values(table: NamedTable, column: str) -> pl.Series:
    """Return the labels as whole numbers, booleans or text, null where missing.

    Parameters
    ----------
    table : NamedTable
        The table.
    column : str
        Its column of labels.

    Returns
    -------
    polars.Series
    """
    require_columns(table.frame, [column], table.name)
    values = table.frame[column]
    if not is_plain(values):
        raise TableError(
            f"Column {column!r} of {table.name} holds {values.dtype.base_type().__name__.lower()} "
            "values and cannot be a label; labels are numbers or text."
        )
    if values.dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        return whole if (whole == values).fill_null(True).all() else values
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return values
    text = values.cast(pl.String)
    text = text.set((text.str.strip_chars() == "").fill_null(False), None)
    return _typed(text)


def class_of(written: str, classes: tuple[Any, ...] | list[Any]) -> Any | None:
    """Find the class that a user means.

    Parameters
    ----------
    written : str
        As typed.
    classes : sequence
        The classes there are.

    Returns
    -------
    str, int, float, bool or None
        None when no class is written like that.

    Examples
    --------
    >>> class_of("1", [0, 1])
    1
    >>> class_of("true", [False, True])
    True
    """
    exact = [c for c in classes if str(c) == written]
    if exact:
        return exact[0]
    loose = [c for c in classes if isinstance(c, bool) and str(c).lower() == written.lower()]
    return loose[0] if loose else None


def made_up_negative(positive: Any) -> str:
    """Name the negative class when only the positive one is known.

    Parameters
    ----------
    positive : str, int, float or bool
        The positive class.

    Returns
    -------
    str

    Examples
    --------
    >>> made_up_negative("yes")
    'not yes'
    """
    return f"not {positive}"


def _typed(text: pl.Series) -> pl.Series:
    """Read 0 and 1, or true and false, out of text; anything else stays text."""
    words = text.drop_nulls().str.to_lowercase()
    if words.len() and words.is_in(list(WORDS_FOR_BOOLEANS)).all():
        return text.str.to_lowercase() == "true"
    whole = text.cast(pl.Int64, strict=False)
    if text.len() and (whole.cast(pl.String) == text).fill_null(False).sum() == words.len() > 0:
        return whole
    return text


def _positive_among(classes: list[Any], positive: str | None, where: str) -> Any:
    if positive is not None:
        chosen = class_of(positive, classes)
        if chosen is None:
            raise TableError(
                f"{positive!r} (--positive) is not a label; {where} holds {name_some(classes)}."
            )
        return chosen
    if set(classes) in SELF_EXPLAINING:
        return classes[1]
    raise TableError(
        f"{where} holds {name_some(classes)}; say which of them the shares are shares of with "
        "--positive."
    )
