# SPDX-License-Identifier: BSD-3-Clause
"""Bag ids: any hashables, matched by equality and by nothing else.

``"1"`` is not ``1``; ``1``, ``1.0`` and ``numpy.int64(1)`` are equal and so are one id. The one
liberty taken is with dates: a date and the midnight that begins it are one id, because pandas,
polars and NumPy read the same column of dates in either way.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import BagError, name_some

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class RowIds:
    """The bag ids of the rows, numbered.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Position of the row's id in `ids`; -1 for a row in no bag.
    ids : list
        The distinct ids, in order of first appearance.
    positions : dict
        Position by `canonical_id`.
    index : object
        The index of a pandas Series of ids, else None.
    name : object
        The name of a Series of ids, else None.
    n_blank : int
        Rows whose id was blank.
    """

    codes: IntArray
    ids: list[Hashable]
    positions: dict[Hashable, int]
    index: Any
    name: Any
    n_blank: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)


def read_row_ids(bag_ids: object, *, no_bag: Hashable, allow_blank: bool) -> RowIds:
    """Number the bag ids of the rows.

    Parameters
    ----------
    bag_ids : array-like of shape (n_rows,)
        One hashable id per row.
    no_bag : hashable
        The id that marks a row in no bag.
    allow_blank : bool
        Whether a blank id means a row in no bag; otherwise it is an error.

    Returns
    -------
    RowIds

    Raises
    ------
    BagError
        If the ids are not one-dimensional, not hashable or blank.
    """
    values = list_ids(bag_ids, "bag_ids")
    distinct: defaultdict[Hashable, int] = defaultdict(count().__next__)
    try:
        raw_codes = np.fromiter(map(distinct.__getitem__, values), np.int64, len(values))
    except TypeError as error:
        raise BagError(
            f"bag_ids must be hashable (numbers, text, dates, tuples): {error}."
        ) from error
    ids: list[Hashable] = []
    positions: dict[Hashable, int] = {}
    code_of = np.full(len(distinct), -1, dtype=np.int64)
    blank = np.zeros(len(distinct), dtype=bool)
    for value, raw_code in distinct.items():
        if value is no_bag:
            continue
        if is_blank(value):
            blank[raw_code] = True
            continue
        key = canonical_id(value)
        if key not in positions:
            positions[key] = len(ids)
            ids.append(plain_id(value))
        code_of[raw_code] = positions[key]
    is_blank_row = blank[raw_codes]
    if is_blank_row.any() and not allow_blank:
        raise BagError(
            f"bag_ids is blank in {is_blank_row.sum():,} of {len(values):,} rows (rows "
            f"{name_some(np.flatnonzero(is_blank_row))}): fill the ids in, mark rows in no bag "
            'with Bags.NO_BAG, or pass on_unmatched="drop" to keep them as rows in no bag.'
        )
    return RowIds(
        codes=code_of[raw_codes],
        ids=ids,
        positions=positions,
        index=getattr(bag_ids, "index", None) if hasattr(bag_ids, "iloc") else None,
        name=getattr(bag_ids, "name", None),
        n_blank=int(is_blank_row.sum()),
    )


def list_ids(values: object, name: str) -> list[Hashable]:
    """List the ids in an array, Series, index or sequence without changing their type.

    A list never goes through ``numpy.asarray``: that would turn ``[1, "1"]`` into two equal
    texts and a list of tuples into a matrix.
    """
    if isinstance(values, str | bytes | Mapping) or hasattr(values, "columns"):
        kind = "a frame: pass one column of it" if hasattr(values, "columns") else "not a sequence"
        raise BagError(f"{name} must hold one bag id per row but is {kind}.")
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise BagError(
                f"{name} must be one-dimensional with one bag id per row but has shape "
                f"{values.shape}."
            )
        return list(values) if values.dtype.kind in "mM" else values.tolist()
    for method in ("tolist", "to_list", "to_pylist"):  # pandas, polars, Arrow
        if hasattr(values, method):
            return list(getattr(values, method)())
    if not isinstance(values, Iterable):
        raise BagError(f"{name} must hold one bag id per row but is {type(values).__name__}.")
    return list(values)


def is_blank(value: object) -> bool:
    """Whether an id is missing: None, NaN, NaT, NA, or text of nothing but spaces."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return False


def plain_id(value: Hashable) -> Hashable:
    """Take a number or text out of its NumPy scalar."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        plain: Hashable = value.item()
        return plain
    return value


def canonical_id(value: Hashable) -> Hashable:
    """The key under which equal ids meet, whichever library they come from."""
    value = plain_id(value)
    if getattr(value, "nanosecond", 0):  # a pandas Timestamp finer than datetime
        value = value.to_datetime64()  # type: ignore[attr-defined]
    if isinstance(value, np.datetime64):
        rounded = value.astype("datetime64[us]")
        moment = rounded.item()
        return moment if rounded == value and isinstance(moment, datetime) else value
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value
