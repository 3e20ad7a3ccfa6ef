# SPDX-License-Identifier: BSD-3-Clause
"""Dates that are text in one file and dates in another mean the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl


def stored(election: Any, name: str, written: pl.Expr) -> Path:
    """The people as a Parquet file, the dates stored in another way."""
    path = election.folder / name
    frame = pl.read_csv(
        election.people, schema_overrides={"precinct": pl.String}, try_parse_dates=True
    )
    frame.with_columns(moved=written).write_parquet(path)
    return path


AS_TEXT = pl.col("moved").cast(pl.String)
AS_DATES = pl.col("moved")


def test_dates_as_text_are_dates_in_every_command(election: Any, command: Any) -> None:
    text = stored(election, "text.parquet", AS_TEXT)
    assert election.check(target=text).code == 0
    fitted = election.fit(target=text)
    assert fitted.code == 0, fitted.words
    assert "1 date (moved)" in fitted.words
    results = []
    for rows in (text, stored(election, "dates.parquet", AS_DATES), election.people):
        output = election.folder / "out.parquet"
        predicted = command("predict", election.model, rows, "-o", output)
        assert predicted.code == 0, predicted.words
        results.append(pl.read_parquet(output))
        found = command("evaluate", election.model, "--target", rows, "--label", "truth")
        assert "48, all in-sample" in found.words
    assert results[0].equals(results[1])
    assert results[0].equals(results[2])


def test_dates_as_text_on_both_sides_and_partly_missing(election: Any) -> None:
    election.change(election.history, lambda f: f.with_columns(moved=AS_TEXT))
    missing = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("NA")).otherwise(AS_TEXT)
    fitted = election.fit(target=stored(election, "text.parquet", missing))
    assert fitted.code == 0, fitted.words
    assert "1 date (moved)" in fitted.words


def test_text_that_is_no_date_is_refused_with_the_remedy(election: Any, command: Any) -> None:
    broken = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("last May")).otherwise(AS_TEXT)
    rows = stored(election, "broken.parquet", broken)
    assert "make them the same" in election.fit(target=rows).words
    assert election.fit().code == 0
    output = election.folder / "out.csv"
    refused = command("predict", election.model, rows, "-o", output)
    assert refused.code == 1
    assert "holds text in broken.parquet but held dates when the model was fitted" in refused.words
    assert "write every date like 2024-01-31" in refused.words
