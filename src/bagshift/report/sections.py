# SPDX-License-Identifier: BSD-3-Clause
"""What a page is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

__all__ = ["Chart", "Facts", "Section", "Table"]

Facts = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """A table in the page.

    Attributes
    ----------
    caption : str
    frame : polars.DataFrame
        As shown; numbers are aligned right.
    file_name : str
        Of the download, without its ending.
    whole : polars.DataFrame or None
        What is downloaded; `frame` when None.
    """

    caption: str
    frame: pl.DataFrame
    file_name: str
    whole: pl.DataFrame | None = None


@dataclass(frozen=True)
class Chart:
    """A picture with what it says in words, and the numbers behind it.

    Attributes
    ----------
    caption : str
        What is seen.
    alternative : str
        What a reader who does not see it should know.
    svg : str
        An element ``svg`` to stand in the page.
    data : polars.DataFrame
        Its numbers.
    file_name : str
        Of their download, without its ending.
    """

    caption: str
    alternative: str
    svg: str
    data: pl.DataFrame
    file_name: str


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it.

    Attributes
    ----------
    name : str
        Of its place in the page.
    title : str
    paragraphs : sequence of str
    facts : sequence of (str, str)
        Names and values; a name that is empty goes on with the one before.
    charts : sequence of Chart
    tables : sequence of Table
    """

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    facts: Facts = ()
    charts: Sequence[Chart] = field(default=())
    tables: Sequence[Table] = field(default=())

    @property
    def joined_facts(self) -> list[tuple[str, list[str]]]:
        """Names, each with all its values."""
        joined: list[tuple[str, list[str]]] = []
        for name, value in self.facts:
            if name or not joined:
                joined.append((name, []))
            joined[-1][1].append(value)
        return joined
