# SPDX-License-Identifier: BSD-3-Clause
"""Results to read: text, tables and pictures, written as Markdown, CSV and one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure


@dataclass(frozen=True)
class PageTable:
    """A table.

    Attributes
    ----------
    name : str
        Of its CSV file, without ending.
    caption : str
        What it shows.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Text or numbers, the first of each row its name.
    decimals : int
        Of the numbers as shown; the CSV file has all of them.
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | int | None]]
    decimals: int = 3


@dataclass(frozen=True, eq=False)
class PagePicture:
    """A picture.

    Attributes
    ----------
    name : str
        Of its PNG file, without ending.
    caption : str
        What it shows.
    figure : Figure
        The picture.
    description : str
        What a reader who does not see it should know.
    """

    name: str
    caption: str
    figure: Figure
    description: str


@dataclass(frozen=True, eq=False)
class PageSection:
    """Paragraphs below a heading, then tables, then pictures.

    Attributes
    ----------
    title : str
        Heading.
    paragraphs : sequence of str
        Plain text.
    tables : sequence of PageTable
        Its tables.
    pictures : sequence of PagePicture
        Its pictures.
    """

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[PageTable] = ()
    pictures: Sequence[PagePicture] = ()


@dataclass(frozen=True, eq=False)
class Page:
    """A page of results.

    Attributes
    ----------
    name : str
        Of its files, without ending.
    title : str
        Heading.
    introduction : sequence of str
        Paragraphs of plain text.
    sections : sequence of PageSection
        What follows.
    provenance : mapping of str to str
        Versions, machine, protocol, draws, commands; shown at the end.
    """

    name: str
    title: str
    introduction: Sequence[str]
    sections: Sequence[PageSection]
    provenance: Mapping[str, str] = field(default_factory=dict)


def write_page(page: Page, folder: Path) -> list[Path]:
    """Write a page as ``name.md`` with PNG pictures, CSV tables, and a self-contained ``name.html``.

    Parameters
    ----------
    page : Page
        The page.
    folder : Path
        An existing folder.

    Returns
    -------
    list of Path
        The files written; that of the HTML page first.
    """
    raise NotImplementedError
