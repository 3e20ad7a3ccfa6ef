# SPDX-License-Identifier: BSD-3-Clause
"""Numbers out of whatever holds them; text is refused, never parsed."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import is_blank, is_missing, unmask
from bagshift.exceptions import BagError, name_some

FloatArray = NDArray[np.float64]

_NO_NUMBERS = (str, bytes, np.datetime64, np.timedelta64)


def plain_numbers(values: Any) -> Any:
    """Return a numeric array where there is one, else a list of the entries."""
    values = unmask(values)
    if hasattr(values, "to_numpy"):  # pandas and polars Series
        array = values.to_numpy()
        if array.dtype.kind in "biuf":
            return array
        return values.tolist() if hasattr(values, "tolist") else values.to_list()
    if isinstance(values, np.ndarray):
        is_plain = values.dtype.kind in "biufmM" or values.ndim != 1  # a list of dates is of ints
        return values if is_plain else values.tolist()
    return plain_numbers(np.asarray(values)) if hasattr(values, "__array__") else list(values)


def to_numbers(entries: Any, name: str, unit: str, keys: Sequence[Hashable]) -> FloatArray:
    """Turn entries into floats.

    Parameters
    ----------
    entries : ndarray or list of length n
        Numbers of any type (bool, Decimal, NumPy scalars), or one row of numbers each.
    name : str
        The argument's name, for messages.
    unit : {"bags", "rows"}
        What an entry belongs to, for messages.
    keys : sequence of length n
        Bag id or row number of each entry, for messages.

    Returns
    -------
    ndarray of shape (n,) or (n, n_classes)
        NaN where an entry is blank.
    """
    numbers = _to_floats(entries, name, unit, keys)
    if numbers.ndim == 1:
        return numbers
    if not numbers.shape[1]:
        raise BagError(f"{name} has entries without a number: give one number per bag.")
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers


def read_row_weights(values: Any, name: str, n_rows: int) -> FloatArray:
    """Read one finite number per row, none of them negative; shape (n_rows,)."""
    readable = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    entries = plain_numbers(values) if readable and getattr(values, "ndim", 1) == 1 else []
    entries = [] if any(map(_is_row, entries)) else entries
    numbers = _to_floats(entries, name, "rows", range(len(entries)))
    if numbers.shape != (n_rows,) or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise BagError(
            f"{name} must hold {n_rows:,} finite numbers that are not negative, one per source "
            "row."
        )
    return numbers


def _to_floats(entries: Any, name: str, unit: str, keys: Sequence[Hashable]) -> FloatArray:
    if isinstance(entries, np.ndarray) and entries.dtype.kind in "biuf" and entries.ndim < 3:
        return entries.astype(np.float64)
    return _from_objects(list(entries), name, unit, keys)


def _from_objects(
    entries: list[Any], name: str, unit: str, keys: Sequence[Hashable]
) -> FloatArray:
    if _are_plain(entries):
        with suppress(OverflowError):  # the rest gives the same, but slowly
            return np.array(entries, dtype=np.float64)
    entries = [
        unmask(entry)[()] if isinstance(entry, np.ndarray) and entry.ndim == 0 else entry
        for entry in entries
    ]
    kinds = {type(entry) for entry in entries}
    if any(issubclass(kind, _NO_NUMBERS) for kind in kinds) and any(map(_is_foreign, entries)):
        _refuse_entries(entries, _is_foreign, name, unit, keys)
    is_row = [issubclass(kind, Sequence | np.ndarray | Mapping) for kind in kinds]
    if any(is_row):
        return _to_matrix(entries, name, unit, keys, all(is_row))
    try:
        return np.array([np.nan if is_blank(entry) else float(entry) for entry in entries])
    except (TypeError, ValueError, OverflowError):
        _refuse_entries(entries, lambda entry: not _is_number(entry), name, unit, keys)


def _are_plain(entries: list[Any]) -> bool:
    """Whether all entries are Python numbers, or all are rows of one length of such."""
    if set(map(type, entries)) <= {list, tuple} and len(set(map(len, entries))) == 1:
        entries = list(chain.from_iterable(entries))
    kinds = set(map(type, entries))
    return kinds <= {float, bool, int}


def _is_foreign(entry: Any) -> bool:
    return isinstance(entry, _NO_NUMBERS) and not is_missing(entry)


def _is_row(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.ndim > 0
    return isinstance(entry, Sequence) and not isinstance(entry, str | bytes)


def _is_number(entry: Any) -> bool:
    try:
        return is_blank(entry) or isinstance(float(entry), float)
    except (TypeError, ValueError, OverflowError):
        return False


def _to_matrix(
    entries: list[Any], name: str, unit: str, keys: Sequence[Hashable], all_rows: bool
) -> FloatArray:
    widths = {len(entry) for entry in entries} if all_rows else set()
    if len(widths) != 1 or any(isinstance(entry, Mapping) for entry in entries):
        raise BagError(
            f"{name} must hold one number per bag, or [negative, positive] for every bag, but its "
            "entries are of different kinds or lengths."
        )
    width = widths.pop()
    flat = [number for entry in entries for number in entry]
    if any(map(_is_row, flat)):
        raise BagError(
            f"{name} holds tables in place of numbers: give one number per bag, or [negative, "
            "positive]."
        )
    flat_keys = [key for key in keys for _ in range(width)]
    return _from_objects(flat, name, unit, flat_keys).reshape(len(entries), width)


def _refuse_entries(
    entries: list[Any],
    is_strange: Callable[[Any], bool],
    name: str,
    unit: str,
    keys: Sequence[Hashable],
) -> NoReturn:
    strange = {key: entry for key, entry in zip(keys, entries, strict=True) if is_strange(entry)}
    example = next(iter(strange.values()))
    kind = "text" if isinstance(example, str | bytes) else type(example).__name__
    raise BagError(
        f"{name} must hold numbers but holds {kind} such as {name_some([example])} in {unit} "
        f"{name_some(strange)}: convert it to numbers first."
    ) from None
