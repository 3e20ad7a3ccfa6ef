# SPDX-License-Identifier: BSD-3-Clause
"""Numbers out of whatever holds them; text is refused, never parsed."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import is_blank
from bagshift.exceptions import BagError, name_some

FloatArray = NDArray[np.float64]


def plain_numbers(values: Any) -> Any:
    """Return a numeric array where there is one, else a list of the entries."""
    if hasattr(values, "to_numpy"):  # pandas and polars Series
        array = values.to_numpy()
        if array.dtype.kind in "biuf":
            return array
        return values.tolist() if hasattr(values, "tolist") else values.to_list()
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "biuf" or values.ndim != 1 else values.tolist()
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
    if isinstance(entries, np.ndarray) and entries.dtype.kind in "biuf" and entries.ndim < 3:
        numbers = entries.astype(np.float64)
    else:
        numbers = _from_objects(list(entries), name, unit, keys)
    if numbers.ndim == 1:
        return numbers
    if not numbers.shape[1]:
        raise BagError(f"{name} has entries without a number: give one number per bag.")
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers


def _from_objects(
    entries: list[Any], name: str, unit: str, keys: Sequence[Hashable]
) -> FloatArray:
    entries = [
        entry.item() if isinstance(entry, np.ndarray) and entry.ndim == 0 else entry
        for entry in entries
    ]
    kinds = {type(entry) for entry in entries}
    if any(issubclass(kind, str | bytes) for kind in kinds):
        _refuse_entries(entries, lambda entry: isinstance(entry, str | bytes), name, unit, keys)
    is_row = [issubclass(kind, Sequence | np.ndarray | Mapping) for kind in kinds]
    if any(is_row):
        return _to_matrix(entries, name, unit, keys, all(is_row))
    try:
        return np.array([np.nan if is_blank(entry) else float(entry) for entry in entries])
    except (TypeError, ValueError, OverflowError):
        _refuse_entries(entries, lambda entry: not _is_number(entry), name, unit, keys)


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
