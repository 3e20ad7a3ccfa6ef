# SPDX-License-Identifier: BSD-3-Clause
"""Tables as CSV and pictures as PNG, the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from PIL import Image

from bagshift.experiments._page_values import (
    Estimate,
    PageValue,
    Probability,
    is_nothing,
    is_number,
)
from bagshift.tables import neutralise_formulas

DOTS_PER_INCH = 144


def csv_text(header: Sequence[str], rows: Sequence[Sequence[PageValue]]) -> str:
    """Return a table as CSV, with all decimals and without formulas.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Values. A column with estimates becomes three: value, low, high.

    Returns
    -------
    str
    """
    frame = pl.DataFrame([_series(name, values) for name, values in _columns(header, rows)])
    return neutralise_formulas(frame).write_csv()


def csv_columns(header: Sequence[str], rows: Sequence[Sequence[PageValue]]) -> list[str]:
    """Return the names of the columns of :func:`csv_text`.

    Parameters
    ----------
    header : sequence of str
        Names of the columns of the table.
    rows : sequence of sequences
        Values.

    Returns
    -------
    list of str
    """
    return [name for name, _ in _columns(header, rows)]


def _columns(
    header: Sequence[str], rows: Sequence[Sequence[PageValue]]
) -> Iterator[tuple[str, list[Any]]]:
    for position, name in enumerate(header):
        values = [row[position] for row in rows]
        estimates = [v if isinstance(v, Estimate) else Estimate(math.nan) for v in values]
        yield name, [v.value if isinstance(v, Estimate) else v for v in values]
        if any(isinstance(value, Estimate) for value in values):
            yield f"{name}, low", [estimate.low for estimate in estimates]
            yield f"{name}, high", [estimate.high for estimate in estimates]


def _series(name: str, values: list[Any]) -> pl.Series:
    """Return a column of numbers where all are; else of text."""
    values = [None if is_nothing(value) else value for value in values]
    if all(value is None or is_number(value) for value in values):
        numbers = [float(v) if isinstance(v, Probability) else v for v in values]
        return pl.Series(name, numbers, strict=False)
    return pl.Series(name, [value if value is None else str(value) for value in values])


def png_bytes(figure: Figure) -> bytes:
    """Return a picture as PNG of 256 colours, without the name of the software in it.

    Flat colours and text need no more; a page and a repository are a third of the size.

    Parameters
    ----------
    figure : Figure
        The picture.

    Returns
    -------
    bytes
    """
    drawn, small = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    # This way of choosing keeps rare colours, which here are the extreme values.
    few = Image.open(drawn).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    few.save(small, format="png", optimize=True)
    return small.getvalue()
