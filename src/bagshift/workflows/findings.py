# SPDX-License-Identifier: BSD-3-Clause
"""What is noticed about a bag table, and the words that its sentences are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from bagshift.exceptions import name_some
from bagshift.workflows.bag_sheet import BagSheet


@dataclass(frozen=True)
class Finding:
    """One thing noticed about a bag table.

    Attributes
    ----------
    level : {"error", "warning", "note"}
        Errors prevent a fit; warnings say what cannot be learned.
    text : str
        One sentence.
    droppable : bool
        Whether ``on_unmatched="drop"`` leaves the trouble out.
    dropped : str
        What is left out then, if so.
    """

    level: Literal["error", "warning", "note"]
    text: str
    droppable: bool = False
    dropped: str = ""

    @property
    def as_dropped(self) -> str:
        """The sentence up to what could be done, and what was done."""
        return f"{self.text.partition('; ')[0].removesuffix('.')}; {self.dropped}."


def error(text: str, *, dropped: str = "") -> Finding:
    """Make an error.

    Parameters
    ----------
    text : str
        One sentence.
    dropped : str, default=""
        What is left out if the trouble is to be dropped; empty when it cannot be.

    Returns
    -------
    Finding
    """
    return Finding("error", text, bool(dropped), dropped)


def bags_named(ids: pl.Series) -> str:
    """Name bags, as one or as several.

    Parameters
    ----------
    ids : polars.Series
        Their ids.

    Returns
    -------
    str
    """
    return f"{'bag' if ids.len() == 1 else 'bags'} {name_some(ids)}"


def have(number: int) -> str:
    """Return the verb of so many things.

    Parameters
    ----------
    number : int
        How many.

    Returns
    -------
    str
    """
    return "has" if number == 1 else "have"


def these(number: int, thing: str) -> str:
    """Point at things, with their verb.

    Parameters
    ----------
    number : int
        How many.
    thing : str
        Singular.

    Returns
    -------
    str

    Examples
    --------
    >>> these(1, "row"), these(1200, "row")
    ('this row is', 'these 1,200 rows are')
    """
    return f"this {thing} is" if number == 1 else f"these {number:,} {thing}s are"


def rows_in_no_bag(number: int) -> str:
    """Say that rows are used without a bag.

    Parameters
    ----------
    number : int
        How many.

    Returns
    -------
    str
    """
    return f"{these(number, 'row')} kept in no bag"


def speaking_rows(sheet: BagSheet) -> pl.DataFrame:
    """Return rows of the table whose bag has rows: only their values matter.

    Parameters
    ----------
    sheet : BagSheet
        Ids and shares as read.

    Returns
    -------
    polars.DataFrame
        Columns of ``sheet.table``.
    """
    in_rows = sheet.row_ids.drop_nulls().unique()
    return sheet.table.filter(pl.col("bag").is_in(in_rows.implode()))
