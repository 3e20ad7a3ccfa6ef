# SPDX-License-Identifier: BSD-3-Clause
"""A page of HTML that needs nothing but itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files

import polars as pl
from jinja2 import Environment, StrictUndefined

from bagshift.report.sections import Section
from bagshift.tables import neutralise_formulas

__all__ = ["render"]


def render(title: str, subtitle: str, warnings: Sequence[str], sections: Sequence[Section]) -> str:
    """Write a page.

    Parameters
    ----------
    title, subtitle : str
    warnings : sequence of str
        What stands first.
    sections : sequence of Section

    Returns
    -------
    str
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["download"] = _download
    environment.filters["cell"] = _cell
    template = files("bagshift.report").joinpath("templates", "report.html")
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        title=title,
        subtitle=subtitle,
        warnings=warnings,
        sections=sections,
        is_number=lambda frame, name: frame.schema[name].is_numeric(),
    )


def _download(frame: pl.DataFrame) -> str:
    """Return an address that holds a table as CSV, with cells that no spreadsheet runs."""
    text = neutralise_formulas(frame).write_csv()
    return f"data:text/csv;charset=utf-8;base64,{b64encode(text.encode()).decode()}"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
