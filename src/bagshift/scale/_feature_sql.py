# SPDX-License-Identifier: BSD-3-Clause
"""Features of rows, and their means over bags, as expressions of SQL."""

from __future__ import annotations

from collections.abc import Mapping

from bagshift.columns import require_kinds
from bagshift.scale._expressions import indicator, is_other, value_of
from bagshift.scale._sql import number_literal, text_literal
from bagshift.scale.preparation import Feature, Preparation

ANY_TYPE: dict[str, str] = {"number": "DOUBLE", "date": "TIMESTAMP", "text": "VARCHAR"}


def row_expressions(
    preparation: Preparation, types: Mapping[str, str] | None, table: str
) -> list[str]:
    """Return an expression for every feature of a row.

    Parameters
    ----------
    preparation : Preparation
    types : mapping of str to str, or None
        Types of the columns of the table; None for those that go with the kinds.
    table : str
        What to call the table.

    Returns
    -------
    list of str

    Raises
    ------
    TableError
        When the table lacks a column, or has one of a type that cannot be read as its kind.
    """
    values = _values(preparation, types, table, quick=False)
    return [_scaled(_raw(f, values, preparation), f) for f in preparation.features]


def mean_expressions(
    preparation: Preparation, types: Mapping[str, str] | None, table: str
) -> list[str]:
    """Return an expression for the mean of every feature over a group of rows.

    The mean is taken first and scaled then, and NaN is looked for only where it was seen: both
    take a quarter off the time, and the mean of a bag with NaN in another column is NaN.

    Parameters
    ----------
    preparation : Preparation
    types : mapping of str to str, or None
    table : str

    Returns
    -------
    list of str

    Raises
    ------
    TableError
        As `row_expressions` does.
    """
    values = _values(preparation, types, table, quick=True)
    return [_scaled(f"avg({_raw(f, values, preparation)})", f) for f in preparation.features]


def _values(
    preparation: Preparation, types: Mapping[str, str] | None, table: str, *, quick: bool
) -> dict[str, str]:
    if types is None:
        types = {name: ANY_TYPE[kind] for name, kind in preparation.kinds.items()}
    require_kinds(types, preparation.kinds, table)
    return {
        name: value_of(
            name,
            types[name],
            kind,
            table,
            may_be_nan=not quick or name in preparation.nan_columns,
        )
        for name, kind in preparation.kinds.items()
    }


def _raw(feature: Feature, values: Mapping[str, str], preparation: Preparation) -> str:
    value = values[feature.column]
    if feature.part == "value":
        return f"coalesce({value}, {number_literal(preparation.fills[feature.column])})"
    if feature.part == "missing":
        return indicator(f"({value}) IS NULL")
    if feature.part == "level":
        return indicator(f"{value} = {text_literal(feature.level)}")
    return is_other(value, preparation.levels_of(feature.column))


def _scaled(expression: str, feature: Feature) -> str:
    if feature.shift:
        expression = f"({expression} - {number_literal(feature.shift)})"
    return expression if feature.scale == 1 else f"{expression} / {number_literal(feature.scale)}"
