# SPDX-License-Identifier: BSD-3-Clause
"""Bag ids: any hashables, matched by equality and by nothing else.

``"1"`` is not ``1``; ``1``, ``1.0`` and ``numpy.int64(1)`` are equal and so are one id. The one
liberty taken is with dates: a date and the midnight that begins it are one id, because pandas,
polars and NumPy read the same column of dates in either way.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Set
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
    """The bag ids of the rows, numbered in order of first appearance.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Place of the row's id in `ids`; -1 for a row in no bag.
    ids : list
        The distinct ids.
    places : dict
        Place of an id in `ids`, by its `canonical_id`.
    blank_rows : ndarray
        Rows whose id is blank; they are in no bag.
    index, name : object
        Index and name of a pandas Series of ids, else None.
    """

    codes: IntArray
    ids: list[Hashable]
    places: dict[Hashable, int]
    blank_rows: IntArray
    index: Any = None
    name: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)


def read_row_ids(bag_ids: Any, *, no_bag: Hashable, allow_blank: bool) -> RowIds:
    """Read the bag id of every row.

    Parameters
    ----------
    bag_ids : array-like of shape (n_rows,)
        Hashable ids.
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
    raw_codes, distinct = number_distinct(bag_ids, "bag_ids")
    ids: list[Hashable] = []
    places: dict[Hashable, int] = {}
    place_of = np.full(len(distinct), -1, dtype=np.int64)
    blank = np.zeros(len(distinct), dtype=bool)
    for raw_code, value in enumerate(distinct):
        if value is no_bag:
            continue
        if is_blank(value):
            blank[raw_code] = True
            continue
        place_of[raw_code] = place = places.setdefault(canonical_id(value), len(ids))
        if place == len(ids):
            ids.append(plain_id(value))
    blank_rows = np.flatnonzero(blank[raw_codes])
    if len(blank_rows) and not allow_blank:
        raise BagError(
            f"bag_ids is blank in {len(blank_rows):,} of {len(raw_codes):,} rows (row numbers "
            f"{name_some(blank_rows)}): fill the ids in, mark rows in no bag with Bags.NO_BAG, or "
            'pass on_unmatched="drop" to keep them as rows in no bag.'
        )
    return RowIds(
        codes=place_of[raw_codes],
        ids=ids,
        places=places,
        blank_rows=blank_rows,
        index=bag_ids.index if hasattr(bag_ids, "iloc") else None,
        name=getattr(bag_ids, "name", None),
    )


def number_distinct(values: Any, name: str) -> tuple[IntArray, list[Hashable]]:
    """Give equal entries one number, in order of first appearance.

    Parameters
    ----------
    values : array-like of shape (n,)
        Hashable entries.
    name : str
        The argument's name, for messages.

    Returns
    -------
    codes : ndarray of shape (n,)
        Number of each entry.
    distinct : list
        The distinct entries.

    Examples
    --------
    >>> codes, distinct = number_distinct(["b", "a", "b"], "bag_ids")
    >>> codes, distinct
    (array([0, 1, 0]), ['b', 'a'])
    """
    values = unmask(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biu" and values.ndim == 1:
        return _number_whole(values)
    entries = list_entries(values, name)
    numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
    try:
        codes = np.fromiter(map(numbers.__getitem__, entries), np.int64, len(entries))
    except (TypeError, ValueError) as error:
        raise BagError(
            f"{name} must hold one hashable value per row (number, text, date, tuple): {error}."
        ) from error
    return codes, list(numbers)


def _number_whole(values: NDArray[Any]) -> tuple[IntArray, list[Hashable]]:
    """Do the same by sorting, which is faster for whole numbers."""
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], distinct[order].tolist()


def unmask(values: Any) -> Any:
    """Turn what a mask of NumPy covers into None (NaT for dates): masked means missing."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return values.data
    if values.dtype.kind in "mM":
        return np.where(mask, np.array("NaT", dtype=values.dtype), values.data)
    entries = values.data.astype(object)
    entries[mask] = None
    return entries


def list_entries(values: Any, name: str) -> list[Hashable]:
    """List an array, Series, index or sequence without changing the type of its entries.

    A list never goes through ``numpy.asarray``: that would turn ``[1, "1"]`` into two equal
    texts and a list of tuples into a matrix.
    """
    if hasattr(values, "columns"):
        raise BagError(f"{name} must be one column, not a frame: select the column.")
    values = unmask(values)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise BagError(
                f"{name} must be one-dimensional, one entry per row, but has shape {values.shape}."
            )
        return list(values) if values.dtype.kind in "mM" else values.tolist()
    for method in ("tolist", "to_list", "to_pylist"):  # pandas, polars, Arrow
        if hasattr(values, method):
            return list(getattr(values, method)())
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise BagError(
            f"{name} must hold one entry per row, not be of type {type(values).__name__}."
        )
    return list(values)


def is_blank(value: object) -> bool:
    """Whether an entry is missing, or text of nothing but spaces."""
    if type(value) is int:  # most ids
        return False
    return not value.strip() if isinstance(value, str | bytes) else is_missing(value)


def is_missing(value: object) -> bool:
    """Whether an entry is None, NaN, NaT, NA or masked, or a tuple or set that holds such."""
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    if isinstance(value, tuple | frozenset):  # NaN in it would never match
        return any(map(is_missing, value))
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
    """Return the key under which equal ids meet, whichever library they come from."""
    if type(value) in (int, str):  # nearly all ids; the rest is slow
        return value
    if is_blank(value):
        return None
    value = plain_id(value)
    if getattr(value, "nanosecond", 0):  # a pandas Timestamp, finer than datetime
        value = value.to_datetime64()  # type: ignore[attr-defined]
    if isinstance(value, np.datetime64):
        rounded = value.astype("datetime64[us]")
        moment = rounded.item()
        return moment if rounded == value and isinstance(moment, datetime) else value
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value
