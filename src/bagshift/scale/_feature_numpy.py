# SPDX-License-Identifier: BSD-3-Clause
"""Features of a small table, in NumPy: the twin of the expressions of SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bagshift._bags.ids import is_missing
from bagshift.columns import MISSING_WORDS, REMEDIES, Kind, require_kinds
from bagshift.exceptions import TableError
from bagshift.scale._expressions import BLANKS
from bagshift.scale.preparation import Feature, Preparation

Floats = NDArray[np.float64]
WRITTEN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}.*")
EPOCH = datetime(1970, 1, 1)


def apply_preparation(
    preparation: Preparation,
    columns: Any,
    *,
    table: str = "the table",
    dtype: DTypeLike = np.float32,
) -> NDArray[Any]:
    """Compute the features of a table that fits into memory, as the statements of SQL do.

    Parameters
    ----------
    preparation : Preparation
        How rows become features.
    columns : mapping of str to array, or frame
        At least the columns of the preparation; a frame of pandas or polars is one such mapping.
    table : str, default="the table"
        What to call it in messages.
    dtype : dtype, default=float32
        Of the result.

    Returns
    -------
    ndarray of shape (n_rows, n_features)

    Raises
    ------
    TableError
        When a column is missing or holds what cannot be read as its kind.
    """
    names = columns.keys() if isinstance(columns, Mapping) else list(columns.columns)
    require_kinds(names, preparation.kinds, table)
    values = {
        name: _read(name, _entries(columns[name]), kind, table)
        for name, kind in preparation.kinds.items()
    }
    n_rows = len(next(iter(values.values())))
    features = np.empty((n_rows, len(preparation.features)), dtype=dtype)
    for place, feature in enumerate(preparation.features):
        raw = _raw(feature, values[feature.column], preparation)
        features[:, place] = (raw - feature.shift) / feature.scale
    return features


def _entries(column: Any) -> NDArray[Any]:
    """Return a column as an array of numbers, moments or objects."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    entries = np.asarray(column)
    return entries if entries.dtype.kind in "biufMO" else entries.astype(object)


def _read(name: str, entries: NDArray[Any], kind: Kind, table: str) -> NDArray[Any]:
    """Bring a column to its kind: doubles with NaN, or texts with None."""
    try:
        if kind == "text":
            return np.array([_text(entry) for entry in entries], dtype=object)
        if entries.dtype.kind in "biuf" and kind == "number":
            return entries.astype(np.float64)
        if entries.dtype.kind == "M" and kind == "date":
            return _seconds(entries)
        read = _number if kind == "number" else _moment
        return np.array([read(entry) for entry in entries], dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"Column {name!r} of {table} cannot be read as {kind} ({error}); {REMEDIES[kind]}."
        ) from error


def _text(entry: Any) -> str | None:
    if is_missing(entry):
        return None
    if isinstance(entry, float | np.floating | date | np.datetime64):
        raise ValueError(f"it holds {entry!r}")
    text = str(entry).strip(BLANKS)
    return None if text.lower() in MISSING_WORDS else text


def _number(entry: Any) -> float:
    if is_missing(entry):
        return np.nan
    if isinstance(entry, date | np.datetime64):
        raise ValueError(f"it holds {entry!r}")
    if not isinstance(entry, str):
        return float(entry)
    text = _text(entry)
    if text is None:
        return np.nan
    truths = {"true": 1.0, "false": 0.0}
    return truths[text.lower()] if text.lower() in truths else float(text)


def _moment(entry: Any) -> float:
    if is_missing(entry):
        return np.nan
    if isinstance(entry, str):
        text = _text(entry)
        if text is None:
            return np.nan
        if not WRITTEN_DATE.fullmatch(text):
            raise ValueError(f"it holds {text!r}")
        entry = datetime.fromisoformat(text)
    if isinstance(entry, datetime):
        plain = entry.astimezone(UTC).replace(tzinfo=None) if entry.tzinfo else entry
        return (plain - EPOCH).total_seconds()
    if isinstance(entry, date):
        return float((entry - EPOCH.date()).days * 86_400)
    if isinstance(entry, np.datetime64):
        return float(_seconds(np.array([entry]))[0])
    raise ValueError(f"it holds {entry!r}")


def _seconds(moments: NDArray[Any]) -> Floats:
    # DuckDB counts microseconds, too.
    micros = moments.astype("datetime64[us]")
    seconds = micros.astype(np.int64) / 1e6
    return np.where(np.isnat(micros), np.nan, seconds)


def _raw(feature: Feature, values: NDArray[Any], preparation: Preparation) -> Floats:
    is_text = preparation.kinds[feature.column] == "text"
    if feature.part == "value":
        fill = preparation.fills[feature.column]
        return np.where(np.isnan(values), fill, values)
    if feature.part == "missing":
        is_it = np.array([v is None for v in values]) if is_text else np.isnan(values)
    elif feature.part == "level":
        is_it = np.equal(values, feature.level)
    else:
        levels = set(preparation.levels_of(feature.column))
        is_it = np.array([value is not None and value not in levels for value in values])
    return np.asarray(is_it, dtype=np.float64)
