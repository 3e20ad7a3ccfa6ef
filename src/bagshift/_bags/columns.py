# SPDX-License-Identifier: BSD-3-Clause
"""One number per bag (or one per class), from a mapping, Series, frame or per-row values.

pandas and polars are recognised by what their objects offer and never imported.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import RowIds, canonical_id, is_blank, list_entries
from bagshift._bags.numbers import FloatArray, plain_numbers, to_numbers
from bagshift.exceptions import BagError, name_bags, name_some

_ID_COLUMNS = ("bag", "bag_id")


@dataclass(frozen=True)
class BagColumn:
    """Numbers with the bag ids they belong to.

    Attributes
    ----------
    ids : list of length n_entries
    values : ndarray of shape (n_entries,) or (n_entries, n_columns)
        NaN where an entry is missing.
    classes : list or None
        Names of the value columns of a frame, where there are several.
    entry_of : dict
        Place of an id in `ids`, by its `canonical_id`.
    """

    ids: list[Hashable]
    values: FloatArray
    classes: list[Hashable] | None = None
    entry_of: dict[Hashable, int] = field(init=False)

    def __post_init__(self) -> None:
        entry_of = {canonical_id(bag): place for place, bag in enumerate(self.ids)}
        object.__setattr__(self, "entry_of", entry_of)


def read_column(
    values: Any, name: str, rows: RowIds, classes: Sequence[Hashable] = ()
) -> BagColumn:
    """Read one number per bag, in any of the accepted forms.

    Parameters
    ----------
    values : mapping, Series, frame or array-like
        A mapping or pandas Series goes by bag id; its entries may be mappings from class to
        number, where an absent class has 0. A frame has a column of ids (named as the
        Series of row ids, or "bag" or "bag_id", or the index, or else the first column) and one
        value column, or one per class. An index of whole numbers without a name is the ids
        where it holds more of them than the first column. Anything else holds one number per
        row, constant within each bag; so does a pandas Series or frame that shares its index
        with the row ids.
    name : str
        The argument's name, for messages.
    rows : RowIds
        The bag ids of the rows.
    classes : sequence of labels
        The declared classes; a column named so never holds the ids.

    Returns
    -------
    BagColumn
        Every id is there once.

    Raises
    ------
    BagError
        If the form, the ids or the numbers cannot be read.
    """
    _check_form(values, name)
    if isinstance(values, Mapping):
        column = _from_mapping(list(values), list(values.values()), name, rows)
    elif hasattr(values, "columns"):
        column = _from_frame(values, name, rows, classes)
    elif hasattr(values, "iloc") and not _runs_along_rows(values.index, name, rows):
        ids = list_entries(values.index, name)
        column = _from_entries(ids, plain_numbers(values), name, rows)
    else:
        column = _from_rows(plain_numbers(values), name, rows)
    if len(column.entry_of) < len(column.ids):
        check_distinct(column, name)
    return column


def _check_form(values: Any, name: str) -> None:
    readable = isinstance(values, Iterable) and not isinstance(values, str | bytes | Set)
    if isinstance(values, np.ndarray):
        readable = values.ndim > 0
    elif readable and hasattr(values, "columns"):
        readable = hasattr(values, "iloc") or hasattr(values, "get_column")  # pandas, polars
    if not readable:
        raise BagError(
            f"{name} must be a mapping or Series from bag id to number, a frame of pandas or "
            f"polars, or one number per row, not of type {type(values).__name__}."
        )


# By bag id --------------------------------------------------------------------------------


def _from_mapping(ids: list[Hashable], entries: list[Any], name: str, rows: RowIds) -> BagColumn:
    if not entries or not all(isinstance(entry, Mapping) for entry in entries):
        return _from_entries(ids, entries, name, rows)
    labels = list(dict.fromkeys(label for entry in entries for label in entry))
    if len(labels) < 2:
        raise BagError(
            f"{name} must hold one number per bag, or one for each class, but its entries "
            f"name the one class {name_some(labels)}."
        )
    parts = [
        to_numbers([entry.get(label, 0.0) for entry in entries], name, "bags", ids)
        for label in labels
    ]
    return _by_id(ids, np.column_stack(parts), name, labels)


def _from_entries(ids: list[Hashable], entries: Any, name: str, rows: RowIds) -> BagColumn:
    numbers = to_numbers(entries, name, "bags", ids)
    if numbers.ndim == 2 and numbers.shape[1] > 2:
        _refuse_transposed(ids, list(range(numbers.shape[1])), name, rows)
    return _by_id(ids, numbers, name)


def _from_frame(frame: Any, name: str, rows: RowIds, classes: Sequence[Hashable]) -> BagColumn:
    columns = list(frame.columns)
    if len(set(columns)) < len(columns):
        raise BagError(f"{name} has two columns of one name among {name_some(columns)}.")
    id_column = _find_id_column(frame, columns, name, rows, classes)
    value_columns = [column for column in columns if column != id_column or id_column is None]
    if not value_columns:
        raise BagError(f"{name} has no column of numbers beside the bag ids.")
    if id_column is None and (
        not hasattr(frame, "iloc") or _runs_along_rows(frame.index, name, rows)
    ):
        return _from_row_columns(frame, value_columns, name, rows)
    ids = list_entries(frame.index if id_column is None else frame[id_column], name)
    if len(value_columns) > 2:
        _refuse_transposed(ids, value_columns, name, rows)
    parts = [
        to_numbers(plain_numbers(frame[column]), name, "bags", ids) for column in value_columns
    ]
    if len(parts) == 1:
        return _by_id(ids, parts[0], name)
    return _by_id(ids, np.column_stack(parts), name, value_columns)


def _by_id(
    ids: list[Hashable], numbers: FloatArray, name: str, classes: list[Hashable] | None = None
) -> BagColumn:
    try:
        return BagColumn(ids, numbers, classes)
    except (TypeError, ValueError) as error:
        raise BagError(f"the bag ids of {name} must be hashable: {error}.") from error


def _find_id_column(
    frame: Any, columns: list[Any], name: str, rows: RowIds, classes: Sequence[Hashable]
) -> Any:
    """Return the name of the id column; None when the ids are in the index, or in no column."""
    candidates = [column for column in columns if column not in classes]
    for candidate in (rows.name, *_ID_COLUMNS):
        if candidate is not None and candidate in candidates:
            return candidate
    if not candidates:
        return None
    if not hasattr(frame, "iloc"):
        return candidates[0]
    is_named = frame.index.name is not None or frame.index.dtype.kind not in "iu"
    if is_named or len(columns) == 1 or _index_has_ids(frame, candidates[0], name, rows):
        return None
    return candidates[0]


def _index_has_ids(frame: Any, first: Hashable, name: str, rows: RowIds) -> bool:
    """Whether a nameless index of whole numbers, rather than the first column, has the ids."""
    if frame[first].dtype.kind not in "biuf":  # text and dates are no numbers of a class
        return False
    in_index, in_column = (
        list(map(_canonical_entry, list_entries(place, name)))
        for place in (frame.index, frame[first])
    )
    n_index, n_column = (len(rows.places.keys() & set(keys)) for keys in (in_index, in_column))
    if n_index != n_column or not n_index or in_index == in_column:
        return n_index > n_column
    counts_rows = sorted(in_index) == list(range(len(in_index)))  # type: ignore[type-var]
    if counts_rows and len(frame.columns) <= 3:  # wider ones are refused for that
        raise BagError(
            f"{name} could have its bag ids in the index or in the column {first!r}: give the one "
            'that has them the name "bag".'
        )
    return True


def _canonical_entry(entry: Any) -> Hashable:
    """Return the canonical id of what may be no id at all."""
    try:
        key = canonical_id(entry)
        hash(key)
    except (TypeError, ValueError):
        return None
    return key


# One number per row -----------------------------------------------------------------------


def _from_rows(values: Any, name: str, rows: RowIds) -> BagColumn:
    """Collect one number per bag from one number per row."""
    if len(values) != rows.n_rows:
        _refuse_length(values, name, rows)
    numbers = to_numbers(values, name, "rows", range(rows.n_rows))
    in_bag = np.flatnonzero(rows.codes >= 0)
    codes = rows.codes[in_bag]
    first = np.empty(len(rows.ids), dtype=np.int64)
    first[codes[::-1]] = in_bag[::-1]  # of repeated places the last assignment stays
    per_bag = numbers[first]
    differs = ~_same(numbers[in_bag], per_bag[codes])
    if differs.any():
        bags = dict.fromkeys(codes[differs].tolist())
        raise BagError(
            f"{name} must be one number per bag but varies within "
            f"{name_bags(rows.ids[bag] for bag in bags)}: give every row of a bag the same "
            "number, or pass a mapping from bag id to number."
        )
    return BagColumn(list(rows.ids), per_bag)


def _from_row_columns(frame: Any, columns: list[Any], name: str, rows: RowIds) -> BagColumn:
    """Do the same for the columns of a frame that runs along the rows."""
    row_numbers = range(len(frame))
    parts = [
        to_numbers(plain_numbers(frame[column]), name, "rows", row_numbers) for column in columns
    ]
    column = _from_rows(np.column_stack(parts), name, rows)
    return replace(column, classes=columns if len(columns) > 1 else None)


def _same(left: FloatArray, right: FloatArray) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (left == right) | (np.isnan(left) & np.isnan(right))
    return same if same.ndim == 1 else np.asarray(same.all(axis=1))


def _runs_along_rows(index: Any, name: str, rows: RowIds) -> bool:
    """Whether the index of a pandas object runs along the rows rather than along the bag ids.

    It does when it is the index of the row ids, or when it merely counts rows.
    Where both readings are possible and differ, asking is the only safe answer.
    """
    if len(index) != rows.n_rows:
        return False
    shares_index = rows.index is not None and bool(index.equals(rows.index))
    if not shares_index and (_is_id_name(index.name, rows) or not _counts_rows(index)):
        return False
    keys = [canonical_id(label) for label in index.tolist()]
    row_places = [rows.places.get(key, -1) for key in keys]
    covered = len({place for place in row_places if place >= 0}) == len(rows.ids)
    if not covered or (shares_index and len(rows.ids) < rows.n_rows):
        return shares_index or not any(place >= 0 for place in row_places)
    if row_places == rows.codes.tolist():
        return True  # either way the same
    raise BagError(
        f"{name} has an index that could run along the rows or along the bag ids: pass "
        f'{name}.to_numpy() for one number per row, or {name}.rename_axis("bag").reset_index() '
        "for one per bag id."
    )


def _is_id_name(label: Any, rows: RowIds) -> bool:
    return label is not None and label in (rows.name, *_ID_COLUMNS)


def _counts_rows(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


# Refusals ---------------------------------------------------------------------------------


def _refuse_length(values: Any, name: str, rows: RowIds) -> NoReturn:
    shape = np.shape(values) if isinstance(values, np.ndarray) else (len(values),)
    if len(shape) == 2 and shape[0] <= shape[-1]:
        raise BagError(
            f"{name} has shape {shape} and looks transposed (classes x bags): pass a mapping from "
            "bag id to the number of the positive class, or to one number per class."
        )
    raise BagError(
        f"{name} holds {shape[0]:,} numbers but bag_ids has {rows.n_rows:,} rows: pass one number "
        "per row, or a mapping from bag id to number, since bags are never matched by position."
    )


def _refuse_transposed(ids: list[Hashable], columns: list[Any], name: str, rows: RowIds) -> None:
    """Refuse more than two columns where classes and bags are swapped."""
    columns_are_bags = all(canonical_id(column) in rows.places for column in columns)
    n_bags = sum(canonical_id(bag) in rows.places for bag in ids)
    is_wide = len(ids) <= len(columns)
    if (columns_are_bags and (is_wide or n_bags < len(ids))) or (is_wide and not n_bags):
        raise BagError(
            f"{name} looks transposed ({len(ids):,} classes x {len(columns):,} bags): pass one "
            "entry per bag, with a number for every class."
        )


def check_distinct(column: BagColumn, name: str) -> None:
    """Refuse ids with two entries; blank ids are judged later, all together."""
    repeated = {
        canonical_id(bag): bag
        for place, bag in enumerate(column.ids)
        if column.entry_of[canonical_id(bag)] != place and not is_blank(bag)
    }
    if repeated:
        raise BagError(
            f"{name} has more than one entry for {name_bags(repeated.values())}: keep one entry "
            "per bag."
        )
