# SPDX-License-Identifier: BSD-3-Clause
"""Results to read: text, tables and pictures, written as Markdown, CSV and one HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from matplotlib.figure import Figure

from bagshift.atomic import check_writable, whole_file
from bagshift.experiments._page_files import csv_columns, csv_text, png_bytes
from bagshift.experiments._page_html import page_html
from bagshift.experiments._page_markdown import page_markdown
from bagshift.experiments._page_values import Estimate, PageValue, Probability

__all__ = [
    "Estimate",
    "Page",
    "PagePicture",
    "PageSection",
    "PageTable",
    "Probability",
    "write_page",
]

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class PageTable:
    """A table.

    Attributes
    ----------
    name : str
        Of its CSV file: it follows the page's name and a hyphen, without ending.
    caption : str
        What it shows.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Text, numbers or :class:`Estimate`, the first of each row its name; None or NaN where
        there is nothing to say.
    decimals : int or sequence of int
        Of the numbers as shown, for all columns or for each; the CSV file has all of
        them, and estimates in three columns.
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[PageValue]]
    decimals: int | Sequence[int] = 3

    def decimals_of(self, column: int) -> int:
        """Return how many decimals the numbers of a column are shown with."""
        return self.decimals if isinstance(self.decimals, int) else self.decimals[column]


@dataclass(frozen=True, eq=False)
class PagePicture:
    """A picture.

    Attributes
    ----------
    name : str
        Of its PNG file: it follows the page's name and a hyphen, without ending.
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


def write_page(page: Page, folder: str | Path) -> list[Path]:
    """Write a page as Markdown with PNG pictures and CSV tables, and as one HTML file.

    ``name.md`` shows what lies beside it. ``name.html`` holds its pictures and its CSV files,
    runs no script and asks no network for anything. The two pages are
    written last, so they never point at files that are not there.

    Tables of more than sixty rows are folded in HTML; in Markdown only their CSV file is named.

    Parameters
    ----------
    page : Page
        The page.
    folder : str or Path
        An existing folder.

    Returns
    -------
    list of Path
        The files written; that of the HTML page first.

    Raises
    ------
    ValueError
        When names are no plain file names or used twice, or rows do not fit their header.
    TableError
        When a file cannot be written.
    """
    _check(page)
    folder, page = Path(folder), _in_text(page)
    html, markdown = folder / f"{page.name}.html", folder / f"{page.name}.md"
    check_writable(html)
    tables = {t.name: csv_text(t.header, t.rows).encode() for t in _tables(page)}
    pictures = {p.name: png_bytes(p.figure) for p in _pictures(page)}
    contents = {
        **{folder / f"{page.name}-{name}.csv": data for name, data in tables.items()},
        **{folder / f"{page.name}-{name}.png": data for name, data in pictures.items()},
        markdown: page_markdown(page).encode(),
        html: page_html(page, tables, pictures).encode(),
    }
    for path, data in contents.items():
        with whole_file(path) as draft:
            draft.write_bytes(data)
    return [html, *(path for path in contents if path != html)]


def _in_text(page: Page) -> Page:
    """Return a page whose words are all text."""
    sections = [
        replace(
            section,
            title=str(section.title),
            paragraphs=list(map(str, section.paragraphs)),
            tables=[
                replace(t, caption=str(t.caption), header=list(map(str, t.header)))
                for t in section.tables
            ],
        )
        for section in page.sections
    ]
    return replace(
        page,
        title=str(page.title),
        introduction=list(map(str, page.introduction)),
        sections=sections,
        provenance={str(name): str(value) for name, value in page.provenance.items()},
    )


def _tables(page: Page) -> Iterator[PageTable]:
    return (table for section in page.sections for table in section.tables)


def _pictures(page: Page) -> Iterator[PagePicture]:
    return (picture for section in page.sections for picture in section.pictures)


def _check(page: Page) -> None:
    names = [part.name for parts in (_tables(page), _pictures(page)) for part in parts]
    for name in [page.name, *names]:
        if not PLAIN_NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot name a file; use letters, digits, hyphens, dots, underscores."
            )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Two tables or pictures are named {twice[0]!r}; name them apart.")
    for table in _tables(page):
        if any(len(row) != len(table.header) for row in table.rows):
            raise ValueError(f"A row of the table {table.name!r} does not fit its header.")
        columns = csv_columns(list(map(str, table.header)), table.rows)
        if len(set(columns)) < len(columns):
            raise ValueError(
                f"The table {table.name!r} has two columns of one name; one with estimates has "
                "two more in its CSV file, which end in ', low' and ', high'."
            )
        if not isinstance(table.decimals, int) and len(table.decimals) != len(table.header):
            raise ValueError(f"The decimals of the table {table.name!r} do not fit its header.")
