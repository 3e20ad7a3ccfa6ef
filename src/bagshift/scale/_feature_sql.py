# SPDX-License-Identifier: BSD-3-Clause
"""Features of rows, and their means over bags, as expressions of SQL."""

from __future__ import annotations

from collections.abc import Mapping

from bagshift.columns import require_kinds
from bagshift.scale._expressions import indicator, is_other, value_of
from bagshift.scale._sql import number_literal, text_literal
from bagshift.scale.preparation import Feature, Preparation

ANY_TYPE: dict[str, str] = {"number": "DOUBLE", "date": "TIMESTAMP", "text": "VARCHAR"}


def value_columns(
    preparation: Preparation, types: Mapping[str, str] | None, table: str, *, quick: bool = False
) -> list[str]:
    """Return the columns of a table in their kinds, named c0, c1 and so on.

    Features are computed of these in a second step, as one text may have many of them.

    Parameters
    ----------
    preparation : Preparation
    types : mapping of str to str, or None
        Types of the columns of the table; None for those that go with the kinds.
    table : str
        What to call the table.
    quick : bool, default=False
        Look for NaN only where it was seen, which takes a tenth off the time of a group-by; the
        mean of a group with NaN in another column is NaN.

    Returns
    -------
    list of str

    Raises
    ------
    TableError
        When the table lacks a column, or has one of a type that cannot be read as its kind.
    """
    if types is None:
        types = {name: ANY_TYPE[kind] for name, kind in preparation.kinds.items()}
    require_kinds(types, preparation.kinds, table)
    columns: list[str] = []
    for name, kind in preparation.kinds.items():
        may_be_nan = not quick or name in preparation.nan_columns
        value = value_of(name, types[name], kind, table, may_be_nan=may_be_nan)
        columns.append(f"{value} AS c{len(columns)}")
    return columns


def row_expressions(preparation: Preparation) -> list[str]:
    """Return an expression for every feature of a row, of the columns of `value_columns`.

    Parameters
    ----------
    preparation : Preparation

    Returns
    -------
    list of str
    """
    places = _places(preparation)
    return [_scaled(_raw(f, places, preparation), f) for f in preparation.features]


def mean_expressions(preparation: Preparation) -> list[str]:
    """Return an expression for the mean of every feature over a group of rows.

    The mean is taken first and scaled then, which takes less time.

    Parameters
    ----------
    preparation : Preparation

    Returns
    -------
    list of str
    """
    places = _places(preparation)
    return [_scaled(f"avg({_raw(f, places, preparation)})", f) for f in preparation.features]


def _places(preparation: Preparation) -> dict[str, str]:
    return {name: f"c{place}" for place, name in enumerate(preparation.kinds)}


def _raw(feature: Feature, places: Mapping[str, str], preparation: Preparation) -> str:
    value = places[feature.column]
    if feature.part == "value":
        return f"coalesce({value}, {number_literal(preparation.fills[feature.column])})"
    if feature.part == "missing":
        return indicator(f"{value} IS NULL")
    if feature.part == "level":
        return indicator(f"{value} = {text_literal(feature.level)}")
    return is_other(value, preparation.levels_of(feature.column))


def _scaled(expression: str, feature: Feature) -> str:
    if feature.shift:
        expression = f"({expression} - {number_literal(feature.shift)})"
    return expression if feature.scale == 1 else f"{expression} / {number_literal(feature.scale)}"
