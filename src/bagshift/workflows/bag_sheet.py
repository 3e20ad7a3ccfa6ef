# SPDX-License-Identifier: BSD-3-Clause
"""Bag ids and shares as files give them, before anything is judged."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bagshift.columns import NamedTable, is_plain
from bagshift.exceptions import TableError, name_some
from bagshift.tables import read_table, require_columns
from bagshift.workflows.requests import BagRequest


@dataclass(frozen=True)
class BagSheet:
    """Ids of the rows and the table of bags, ids as text on both sides.

    Attributes
    ----------
    row_ids : polars.Series of str
        Bag id of every target row, null where blank.
    table : polars.DataFrame
        Columns ``bag``, ``value``, when sizes are declared ``size``, and when there is a column
        for the noise of each bag ``noise``; one row per row of the file of shares, or per
        distinct entry when shares stand beside the target rows.
    request : BagRequest
        Where both were found.
    """

    row_ids: pl.Series
    table: pl.DataFrame
    request: BagRequest

    @property
    def target_name(self) -> str:
        """Name of the file of target rows."""
        return self.request.target.name

    @property
    def table_name(self) -> str:
        """Name of the file that holds the shares."""
        return (self.request.shares or self.request.target).name

    @property
    def beside_rows(self) -> bool:
        """Whether the target file itself holds the shares."""
        return self.request.shares is None


def read_bag_sheet(request: BagRequest, target: NamedTable) -> BagSheet:
    """Read ids and shares.

    Parameters
    ----------
    request : BagRequest
        Files and columns.
    target : NamedTable
        The target file, already read.

    Returns
    -------
    BagSheet

    Raises
    ------
    TableError
        When a column is missing or holds no numbers.
    """
    require_columns(target.frame, [request.bag], target.name)
    if request.shares is None:
        bag_column, table = request.bag, target
    else:
        bag_column = request.bag_in_shares
        frame = read_table(request.shares, text_columns=[bag_column])
        table = NamedTable(frame, request.shares.name)
    wanted = {"value": request.value_column}
    if request.size_column:
        wanted["size"] = request.size_column
    if request.noise_column:
        wanted["noise"] = request.noise_column
    require_columns(table.frame, [bag_column, *wanted.values()], table.name)
    sheet = pl.DataFrame(
        [
            as_ids(table.frame[bag_column]).alias("bag"),
            *(as_numbers(table, name).alias(part) for part, name in wanted.items()),
        ]
    )
    if request.shares is None:
        sheet = sheet.filter(pl.col("bag").is_not_null()).unique(maintain_order=True)
    return BagSheet(as_ids(target.frame[request.bag]), sheet, request)


def as_ids(values: pl.Series) -> pl.Series:
    """Write ids as text, so that 12 of a Parquet file meets 12 of a CSV file.

    Parameters
    ----------
    values : polars.Series
        Ids of any kind.

    Returns
    -------
    polars.Series of str
        Null where an id is missing or blank.

    Raises
    ------
    TableError
        When the values are lists or the like.

    Examples
    --------
    >>> as_ids(pl.Series([7.0, None, 12.0])).to_list()
    ['7', None, '12']
    """
    if values.dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        if (whole.cast(pl.Float64) == values.cast(pl.Float64)).fill_null(True).all():
            values = whole
    if not is_plain(values):
        raise TableError(
            f"Column {values.name!r} holds {values.dtype.base_type().__name__.lower()} values and "
            "cannot be an id; ids are numbers, text or dates."
        )
    text = values.cast(pl.String)
    return text.set((text.str.strip_chars() == "").fill_null(False), None)


def as_numbers(table: NamedTable, name: str) -> pl.Series:
    """Read a column of numbers, null where one is missing.

    Parameters
    ----------
    table : NamedTable
    name : str
        The column.

    Returns
    -------
    polars.Series of float

    Raises
    ------
    TableError
        When it holds anything else.
    """
    values = table.frame[name]
    if values.dtype.is_numeric() or values.dtype == pl.Null:
        return values.cast(pl.Float64).fill_nan(None)
    if values.dtype != pl.String:
        raise TableError(f"Column {name!r} of {table.name} holds no numbers.")
    plain = values.str.strip_chars()
    missing = plain.str.to_lowercase().is_in(["", "na", "n/a", "nan", "null", "none"])
    plain = plain.set(missing.fill_null(True), None)
    numbers = plain.cast(pl.Float64, strict=False)
    wrong = values.filter(plain.is_not_null() & numbers.is_null()).unique(maintain_order=True)
    if wrong.len():
        raise TableError(
            f"Column {name!r} of {table.name} holds text, such as {name_some(wrong, 3)}; write "
            f"plain numbers{_hint_for(str(wrong[0]))}."
        )
    return numbers


def _hint_for(text: str) -> str:
    if "%" in text:
        return " from 0 to 1 without a percent sign"
    if "," in text:
        return " with a decimal point and no separators"
    return ""
