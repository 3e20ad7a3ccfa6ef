# SPDX-License-Identifier: BSD-3-Clause
"""One number per bag (or one per class), from a mapping, Series, frame or per-row values.

pandas and polars are recognised by what their objects offer and never imported.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bagshift._bag_input.ids import RowIds, canonical_id, is_blank, list_ids
from bagshift.exceptions import BagError, name_some

FloatArray = NDArray[np.float64]

_FORMS = "a mapping or Series from bag id to number, a frame, or one number per row"
_ID_COLUMNS = ("bag", "bag_id")


@dataclass(frozen=True)
class BagColumn:
    """Numbers with the bag ids they belong to.

    Attributes
    ----------
    ids : list of length n_entries
    values : ndarray of shape (n_entries,) or (n_entries, 2)
        NaN where the entry is missing.
    per_row : bool
        Whether the numbers came one per row, so that every id is an id of a row.
    classes : list or None
        Names of the two value columns of a frame.
    """

    ids: list[Hashable]
    values: FloatArray
    per_row: bool = False
    classes: list[Hashable] | None = None

    def keys(self) -> list[Hashable]:
        """The keys under which the ids meet those of the rows."""
        return [canonical_id(bag) for bag in self.ids]


def read_column(values: Any, name: str, rows: RowIds) -> BagColumn:
    """Read one number per bag, in any of the accepted forms.

    Parameters
    ----------
    values : mapping, Series, frame or array-like
        Mapping and pandas Series go by bag id. A frame has a column of ids (named as the Series
        of row ids, or "bag" or "bag_id", or the index, or else the first column) and one value
        column, or two, one per class. Anything else holds one number per row, constant within
        each bag.
    name : str
        The argument's name, for messages.
    rows : RowIds
        The bag ids of the rows.

    Returns
    -------
    BagColumn
        Without blank or duplicate ids.

    Raises
    ------
    BagError
        If the form, the ids or the numbers cannot be read.
    """
    if isinstance(values, str | bytes) or not (
        isinstance(values, Iterable) or hasattr(values, "__array__")
    ):
        raise BagError(f"{name} must be {_FORMS}, not {type(values).__name__}.")
    if isinstance(values, Mapping):
        column = _from_entries(list(values), list(values.values()), name, rows)
    elif hasattr(values, "columns"):
        column = _from_frame(values, name, rows)
    elif hasattr(values, "iloc") and not _is_per_row_series(values, name, rows):
        column = _from_entries(list_ids(values.index, name), _plain(values), name, rows)
    else:
        return _from_rows(_plain(values), name, rows)
    _check_ids(column, name)
    return column


def _plain(values: Any) -> Any:
    """A numeric array where there is one, else a list of the entries."""
    if hasattr(values, "to_numpy"):  # pandas and polars Series
        array = values.to_numpy()
        if array.dtype.kind in "biuf":
            return array
        return values.tolist() if hasattr(values, "tolist") else values.to_list()
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "biuf" or values.ndim > 1 else values.tolist()
    if hasattr(values, "__array__"):
        return _plain(np.asarray(values))
    return list(values)


# Frames and Series ------------------------------------------------------------------------


def _from_frame(frame: Any, name: str, rows: RowIds) -> BagColumn:
    columns = list(frame.columns)
    if len(set(columns)) != len(columns):
        raise BagError(f"{name} has two columns of one name among {name_some(columns)}.")
    id_column = _find_id_column(frame, columns, rows)
    if id_column is None:
        ids = list_ids(frame.index, name)
    else:
        ids = list_ids(frame[id_column], name)
        columns = [column for column in columns if column != id_column]
    if not columns:
        raise BagError(f"{name} has bag ids but no column of numbers.")
    parts = [_to_numbers(_plain(frame[column]), ids, name) for column in columns]
    if len(columns) == 1:
        return BagColumn(ids, parts[0])
    if len(columns) > 2:
        _refuse_wide(len(ids), columns, name, rows)
    return BagColumn(ids, np.column_stack(parts), classes=columns)


def _find_id_column(frame: Any, columns: list[Any], rows: RowIds) -> Any:
    """Name of the id column; None when the index of a pandas frame holds the ids."""
    for candidate in (rows.name, *_ID_COLUMNS):
        if candidate is not None and candidate in columns:
            return candidate
    if not hasattr(frame, "iloc"):
        return columns[0]
    counts_rows = frame.index.name is None and frame.index.dtype.kind in "iu"
    return columns[0] if counts_rows and len(columns) > 1 else None


def _is_per_row_series(series: Any, name: str, rows: RowIds) -> bool:
    """Whether a pandas Series runs along the rows rather than along the bags."""
    if len(series) != rows.n_rows:
        return False
    along_rows = rows.index is not None and bool(series.index.equals(rows.index))
    labels = {canonical_id(label) for label in series.index.tolist() if not is_blank(label)}
    along_bags = labels >= rows.positions.keys() and len(rows.positions) > 0
    if along_bags and (along_rows or _counts_up(series.index)):
        raise BagError(
            f"{name} is a Series that could run along the rows or along the bag ids: pass "
            f"{name}.to_numpy() for one number per row or {name}.to_dict() for one per bag id."
        )
    return along_rows


def _counts_up(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


# One number per row -----------------------------------------------------------------------


def _from_rows(values: Any, name: str, rows: RowIds) -> BagColumn:
    """Collect one number per bag from one number per row."""
    if len(values) != rows.n_rows:
        _refuse_length(values, name, rows)
    numbers = _to_numbers(values, None, name)
    if numbers.ndim == 2 and numbers.shape[1] > 2:
        _refuse_wide(rows.n_rows, list(range(numbers.shape[1])), name, rows)
    in_bag = np.flatnonzero(rows.codes >= 0)
    codes = rows.codes[in_bag]
    first = np.empty(len(rows.ids), dtype=np.int64)
    first[codes[::-1]] = in_bag[::-1]
    per_bag = numbers[first]
    differs = ~_same(numbers[in_bag], per_bag[codes])
    if differs.any():
        bags = dict.fromkeys(codes[differs].tolist())
        raise BagError(
            f"{name} must be one number per bag but varies within bags "
            f"{name_some(rows.ids[bag] for bag in bags)}: give every row of a bag the same "
            "number, or pass a mapping from bag id to number."
        )
    return BagColumn(list(rows.ids), per_bag, per_row=True)


def _same(left: FloatArray, right: FloatArray) -> NDArray[np.bool_]:
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return same if same.ndim == 1 else same.all(axis=1)


def _refuse_length(values: Any, name: str, rows: RowIds) -> NoReturn:
    shape = np.shape(values) if isinstance(values, np.ndarray) else (len(values),)
    if len(shape) == 2 and shape[0] <= shape[1]:
        raise BagError(
            f"{name} has shape {shape} and looks transposed (classes x bags): pass a mapping "
            "from bag id to the share of positives."
        )
    raise BagError(
        f"{name} holds {shape[0]:,} numbers but bag_ids has {rows.n_rows:,} rows: pass one number "
        "per row, or a mapping from bag id to number, since bags are never matched by position."
    )


# Numbers ----------------------------------------------------------------------------------


def _from_entries(ids: list[Hashable], entries: Any, name: str, rows: RowIds) -> BagColumn:
    numbers = _to_numbers(entries, ids, name, rows)
    if numbers.ndim == 2 and numbers.shape[1] > 2:
        _refuse_wide(len(ids), list(range(numbers.shape[1])), name, rows, ids)
    return BagColumn(ids, numbers)


def _to_numbers(
    entries: Any, ids: list[Hashable] | None, name: str, rows: RowIds | None = None
) -> FloatArray:
    """Turn entries into floats of shape (n,) or (n, n_classes); None becomes NaN."""
    if isinstance(entries, np.ndarray) and entries.dtype.kind in "biuf":
        if entries.ndim > 2:
            raise BagError(f"{name} must be {_FORMS}, not an array of shape {entries.shape}.")
        return entries.astype(np.float64)
    entries = list(entries)
    kinds = {type(entry) for entry in entries}
    if any(issubclass(kind, str | bytes) for kind in kinds):
        _refuse_text(entries, ids, name)
    is_row = {kind: _is_row_type(kind) for kind in kinds}
    if any(is_row.values()):
        return _to_matrix(entries, ids, name, all(is_row.values()), rows)
    return _to_vector(entries, ids, name)


def _is_row_type(kind: type) -> bool:
    return issubclass(kind, Sequence | np.ndarray | Mapping) or hasattr(kind, "columns")


def _to_vector(entries: list[Any], ids: list[Hashable] | None, name: str) -> FloatArray:
    try:
        return np.array([np.nan if is_blank(entry) else float(entry) for entry in entries])
    except (TypeError, ValueError):
        bad = next(entry for entry in entries if not is_blank(entry) and not _is_number(entry))
        raise BagError(f"{name} must hold numbers but holds {name_some([bad])}.") from None


def _is_number(entry: Any) -> bool:
    try:
        float(entry)
    except (TypeError, ValueError):
        return False
    return True


def _to_matrix(
    entries: list[Any],
    ids: list[Hashable] | None,
    name: str,
    all_rows: bool,
    rows: RowIds | None,
) -> FloatArray:
    widths = {len(entry) for entry in entries} if all_rows else set()
    if len(widths) != 1 or any(isinstance(entry, Mapping) for entry in entries):
        raise BagError(
            f"{name} must hold one number per bag, or [negative, positive] for every bag, but "
            "its entries are of different kinds or lengths."
        )
    flat = [number for entry in entries for number in entry]
    width = widths.pop()
    wide_ids = None if ids is None else [bag for bag in ids for _ in range(width)]
    numbers = _to_numbers(flat, wide_ids, name, rows)
    return numbers.reshape(len(entries), width)


def _refuse_text(entries: list[Any], ids: list[Hashable] | None, name: str) -> NoReturn:
    at = [place for place, entry in enumerate(entries) if isinstance(entry, str | bytes)]
    where = f"rows {name_some(at)}" if ids is None else f"bags {name_some(ids[i] for i in at)}"
    raise BagError(
        f"{name} must hold numbers but holds text such as {name_some([entries[at[0]]])} for "
        f"{where}: convert the column to numbers first."
    )


# Refusals about shape and ids -------------------------------------------------------------


def _refuse_wide(
    n_entries: int,
    columns: list[Any],
    name: str,
    rows: RowIds,
    ids: list[Hashable] | None = None,
) -> NoReturn:
    """More than two columns: classes and bags swapped, or more than two classes."""
    named_by_bags = sum(canonical_id(column) in rows.positions for column in columns)
    unknown_ids = ids is not None and not any(canonical_id(bag) in rows.positions for bag in ids)
    if named_by_bags == len(columns) or (n_entries <= len(columns) and unknown_ids):
        raise BagError(
            f"{name} looks transposed ({n_entries:,} classes x {len(columns):,} bags): pass one "
            "entry per bag, the share of positives."
        )
    raise BagError(
        f"{name} has {len(columns):,} numbers per bag, but more than two classes are not "
        "supported yet: pass one number per bag, that of the positive class."
    )


def _check_ids(column: BagColumn, name: str) -> None:
    """Refuse duplicate ids; blank ids are judged with the total row in mind, later."""
    try:
        keys = column.keys()
        repeated = len(set(keys)) < len(keys)
    except TypeError as error:
        raise BagError(f"the bag ids of {name} must be hashable: {error}.") from error
    if not repeated:
        return
    seen: set[Hashable] = set()
    duplicates: dict[Hashable, Hashable] = {}
    for key, bag in zip(keys, column.ids, strict=True):
        if key in seen and not is_blank(bag):
            duplicates[key] = bag
        seen.add(key)
    if duplicates:
        raise BagError(
            f"{name} has more than one entry for bags {name_some(duplicates.values())}: keep one "
            "row per bag."
        )
