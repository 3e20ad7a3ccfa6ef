# SPDX-License-Identifier: BSD-3-Clause
"""A page as one HTML file that needs nothing beside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from matplotlib.figure import Figure

from bagshift.experiments._page_markdown import are_numbers
from bagshift.experiments._page_values import MOST_ROWS, is_nothing, shown

if TYPE_CHECKING:
    from bagshift.experiments.pages import Page, PageTable

# CSS pixels per inch of a picture; it holds half as many again, for sharp screens.
PIXELS_PER_INCH = 96


def page_html(page: Page, tables: Mapping[str, bytes], pictures: Mapping[str, bytes]) -> str:
    """Return a page as HTML; every text in it is escaped.

    Parameters
    ----------
    page : Page
        The page.
    tables : mapping of str to bytes
        Its tables as CSV by name, to be kept in the page.
    pictures : mapping of str to bytes
        Its pictures as PNG by name.

    Returns
    -------
    str
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["base64"] = lambda data: b64encode(data).decode()
    template = files("bagshift.experiments").joinpath("templates", "page.html")
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        page=page,
        csv=tables,
        png=pictures,
        shown=shown,
        is_nothing=is_nothing,
        numeric=_numeric_columns,
        width=_width,
        most_rows=MOST_ROWS,
    )


def _numeric_columns(table: PageTable) -> list[bool]:
    return [are_numbers([row[i] for row in table.rows]) for i in range(len(table.header))]


def _width(figure: Figure) -> int:
    return round(figure.get_figwidth() * PIXELS_PER_INCH)
