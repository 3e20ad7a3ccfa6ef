# SPDX-License-Identifier: BSD-3-Clause
"""A page as Markdown that Sphinx can include: one first heading, tables, pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tabulate import tabulate  # type: ignore[import-untyped]

from bagshift.experiments._page_values import (
    MOST_ROWS,
    Estimate,
    PageValue,
    is_nothing,
    is_number,
    shown,
)

if TYPE_CHECKING:
    from bagshift.experiments.pages import Page, PagePicture, PageSection, PageTable

SPECIAL = re.compile(r"[\\`*<{|~$]|(?<!\w)_|_(?!\w)|\](?=[\[(:])|&(?=#?\w+;)|#$")
# Where a line would begin a list, a quotation, a heading, a comment.
SPECIAL_AT_START = re.compile(r"^(\d+)(?=[.)]\s)|^(?=[!-/:-@^_}])(?![\"'])")


def page_markdown(page: Page) -> str:
    """Return a page as Markdown.

    Parameters
    ----------
    page : Page
        The page; its pictures and tables lie beside it.

    Returns
    -------
    str
    """
    return "\n\n".join(_blocks(page)) + "\n"


def _blocks(page: Page) -> Iterator[str]:
    yield f"# {_inside(page.title)}"
    yield from (plain(text) for text in page.introduction)
    for section in page.sections:
        yield from _section(section, page.name)
    if page.provenance:
        yield "## Provenance"
        yield _pipes(["what", "value"], list(page.provenance.items()), ["left", "left"])


def _section(section: PageSection, page_name: str) -> Iterator[str]:
    yield f"## {_inside(section.title)}"
    yield from (plain(text) for text in section.paragraphs)
    for table in section.tables:
        yield from _captioned_table(table, page_name)
    for picture in section.pictures:
        yield from _picture(picture, page_name)


def _captioned_table(table: PageTable, page_name: str) -> Iterator[str]:
    file = f"{page_name}-{table.name}.csv"
    if len(table.rows) > MOST_ROWS:
        yield f"**{_inside(table.caption)}**: {len(table.rows)} rows in [{file}]({file})"
        return
    yield f"**{_inside(table.caption)}** ([CSV]({file}))"
    yield _table(table)


def _picture(picture: PagePicture, page_name: str) -> Iterator[str]:
    yield f"![{_inside(picture.description)}]({page_name}-{picture.name}.png)"
    yield f"**{_inside(picture.caption)}**"


def _table(table: PageTable) -> str:
    columns = range(len(table.header))
    return _pipes(
        table.header,
        [[shown(row[i], table.decimals_of(i)) for i in columns] for row in table.rows],
        [_side([row[i] for row in table.rows]) for i in columns],
    )


def _pipes(header: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str]) -> str:
    return str(
        tabulate(
            [[_inside(text) for text in row] for row in rows],
            [_inside(name) for name in header],
            tablefmt="pipe",
            disable_numparse=True,
            colalign=sides,
        )
    )


def _side(values: Sequence[PageValue]) -> str:
    return "right" if are_numbers(values) else "left"


def are_numbers(values: Sequence[PageValue]) -> bool:
    """Return whether a column holds numbers or estimates, and no text."""
    some = [value for value in values if not is_nothing(value)]
    return bool(some) and all(is_number(v) or isinstance(v, Estimate) for v in some)


def plain(text: str) -> str:
    r"""Return text with backslashes where Markdown would take a character for its own.

    Parameters
    ----------
    text : str
        Plain text.

    Returns
    -------
    str
        In one line.

    Examples
    --------
    >>> print(plain("- <b> and a|b, but snake_case"))
    \- \<b> and a\|b, but snake_case
    """
    return SPECIAL_AT_START.sub(r"\1\\", _inside(text))


def _inside(text: str) -> str:
    """Return text that stands where no line begins."""
    return SPECIAL.sub(lambda found: "\\" + found[0], " ".join(text.split()))
