# SPDX-License-Identifier: BSD-3-Clause
"""Features by SQL and by NumPy are the same, and have mean 0 and variance 1."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from scale_frames import INJECTION, mixed_frame, on_top, write

from bagshift.exceptions import TableError
from bagshift.scale import (
    Preparation,
    Rows,
    apply_preparation,
    column_statistics,
    connect,
    prepare,
    rows_from,
)
from bagshift.scale._feature_sql import row_expressions, value_columns
from bagshift.scale._relation import column_types, relation
from bagshift.scale._streaming import as_matrix, stream


def by_sql(connection: Any, rows: Rows, preparation: Preparation) -> NDArray[Any]:
    values = value_columns(preparation, column_types(connection, rows), rows.name)
    listed = ", ".join(f"CAST({column} AS REAL)" for column in row_expressions(preparation))
    with relation(connection, rows) as table:
        statement = f"SELECT {listed} FROM (SELECT {', '.join(values)} FROM {table})"
        pieces = list(stream(connection, statement, rows))
    return np.concatenate([as_matrix(piece.columns, np.float32) for piece in pieces])


def by_pandas(frame: pd.DataFrame, preparation: Preparation) -> pd.DataFrame:
    """Do the same in another way: every feature from the frame alone."""
    features = {}
    for feature in preparation.features:
        column = frame[feature.column]
        if feature.part == "level":
            raw = (column == feature.level).astype(float)
        elif feature.part == "missing":
            raw = column.isna().astype(float)
        elif feature.part == "other":
            listed = [f.level for f in preparation.features if f.column == feature.column]
            raw = (column.notna() & ~column.isin(listed)).astype(float)
        elif column.dtype.kind == "M":
            raw = (column - pd.Timestamp(0)).dt.total_seconds()
        else:
            raw = column.astype(float)
        raw = raw.fillna(raw.mean())
        features[feature.name] = (raw - raw.mean()) / raw.std(ddof=0)
    return pd.DataFrame(features)


@pytest.mark.parametrize(
    ("kind", "most_levels"), [("frame", 3), ("csv", 3), ("csv", 40), ("parquet", 40)]
)
def test_features_against_pandas(
    connection: Any, tmp_path: Path, kind: str, most_levels: int
) -> None:
    frame = mixed_frame()
    rows = rows_from(frame if kind == "frame" else write(frame, tmp_path / f"people.{kind}"))
    preparation = prepare(column_statistics(connection, rows, most_levels=most_levels))
    features = by_sql(connection, rows, preparation)
    np.testing.assert_allclose(features, by_pandas(frame, preparation), atol=2e-5)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(features.std(axis=0), 1, atol=1e-5)
    assert ("city: other" in preparation.names) == (most_levels == 3)
    assert [name for name in preparation.names if name.startswith("grade")] == ["grade: 010"]


@pytest.mark.parametrize("standardise", [True, False])
def test_numpy_gives_the_same_bits(connection: Any, tmp_path: Path, standardise: bool) -> None:
    frame = mixed_frame()
    rows = rows_from(frame)
    preparation = prepare(
        column_statistics(connection, rows, most_levels=3), standardise=standardise
    )
    expected = by_sql(connection, rows, preparation)
    read = pd.read_csv(write(frame, tmp_path / "a.csv"), dtype=str)
    in_columns = {name: frame[name].to_numpy() for name in frame}
    for columns in (frame, pl.from_pandas(frame), in_columns):
        assert np.array_equal(apply_preparation(preparation, columns), expected)
    csv = rows_from(tmp_path / "a.csv")
    assert np.array_equal(
        apply_preparation(preparation, read), by_sql(connection, csv, preparation)
    )


TEXTS: list[list[str | None]] = [
    ["1", " 2.5\t", "-3e2", ".5", "5.", "+7", "1_000", "n/a", "", None, "NULL", "?", "0"],
    ["true", "False", " TRUE ", None, "-", "false", "true", "n/a", "", "true", "none", "false"],
    [" 2024-01-31", "2024-01-31 12:30:00", "2024-01-31T12:30", None, "1969-12-31 00:00:00.25"],
    ["a", " a", "b\n", "B", "ä", "None", "c c", "", None, "'", '"', "a", "--"],
]


@pytest.mark.parametrize("texts", TEXTS, ids=["numbers", "truths", "dates", "texts"])
def test_written_values_are_read_alike(connection: Any, texts: list[str | None]) -> None:
    frame = pl.DataFrame({"x": texts})
    preparation = prepare(column_statistics(connection, rows_from(frame)))
    expected = by_sql(connection, rows_from(frame), preparation)
    assert np.array_equal(apply_preparation(preparation, frame), expected)
    assert len(preparation.features) >= 2


def test_types_of_numbers_and_dates(connection: Any) -> None:
    new_years = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC), None]
    frame = pl.DataFrame(
        {
            "tiny": pl.Series([1, None, 3], dtype=pl.Int8),
            "large": pl.Series([2**63 + 1, 5, None], dtype=pl.UInt64),
            "float": pl.Series([0.1, float("nan"), 3], dtype=pl.Float32),
            "decimal": pl.Series(["1.50", "2.25", None]).cast(pl.Decimal(9, 2)),
            "day": [date(2024, 1, 1), None, date(1960, 1, 3)],
            "moment": pl.Series([datetime(2024, 1, 1, 5, 6, 7, 89), None, None]),
            "zoned": new_years,
            "choice": pl.Series(["u", "v", None], dtype=pl.Enum(["u", "v"])),
        }
    )
    names = [name for name in frame.columns if name != "moment"]
    preparation = prepare(column_statistics(connection, rows_from(frame), only=frame.columns))
    expected = by_sql(connection, rows_from(frame), preparation)
    assert np.array_equal(apply_preparation(preparation, frame), expected)
    assert {preparation.kinds[name] for name in names} == {"number", "date", "text"}
    assert preparation.nan_columns == ("float",)


def test_new_rows(connection: Any) -> None:
    """Levels that were not there count as others, or as none of the features."""
    frame = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 4 + ["z"], "b": ["u", "v"] * 5})
    preparation = prepare(
        column_statistics(connection, rows_from(frame), most_levels=2), standardise=False
    )
    assert preparation.names == ["a: x", "a: y", "a: other", "b: v"]
    new = pd.DataFrame({"b": ["w", None], "extra": 1, "a": ["new", None]})
    assert apply_preparation(preparation, new).tolist() == [[0, 0, 1, 0], [0, 0, 0, 0]]
    assert by_sql(connection, rows_from(new), preparation).tolist() == [[0, 0, 1, 0], [0, 0, 0, 0]]


def test_names_that_are_the_same_in_sql_are_numbered(connection: Any) -> None:
    frame = pd.DataFrame({"a": ["x", "X", "y"] * 9, "a: y": [1.0, 2.0, 3.0] * 9})
    names = prepare(column_statistics(connection, rows_from(frame))).names
    assert names == ["a: X", "a: x (2)", "a: y", "a: y (2)"]


def test_two_levels_with_missing_rows_keep_both_features(connection: Any) -> None:
    frame = pd.DataFrame({"a": ["x", "y", None] * 9})
    statistics = column_statistics(connection, rows_from(frame))
    assert prepare(statistics).names == ["a: y", "a is missing"]
    assert prepare(statistics, missing_features=False).names == ["a: x", "a: y"]


def test_it_is_the_same_whatever_the_order_of_adding(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(1e6, 1e-2, 300_000), "y": rng.gamma(0.1, size=300_000)})
    written = set()
    for n_threads in (1, 2, 3):
        with connect(on_top(), tmp_path, n_threads) as database:
            shuffled = frame.sample(frac=1, random_state=n_threads)
            written.add(prepare(column_statistics(database, rows_from(shuffled))).to_json())
    assert len(written) == 1


def test_json(connection: Any) -> None:
    preparation = prepare(column_statistics(connection, rows_from(mixed_frame())))
    assert Preparation.from_json(preparation.to_json()) == preparation
    assert INJECTION in preparation.kinds


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kinds", "age"), "number); drop table x"),
        (("fills", "age"), "1); drop table x; --"),
        (("fills", "age"), float("nan")),
        (("features", 0, "scale"), 0),
        (("features", 0, "part"), "all"),
        (("features", 0, "column"), "other"),
        (("features", 0, "name"), 5),
        (("features",), None),
        (("more",), 1),
    ],
)
def test_damaged_json_is_refused(connection: Any, path: tuple[Any, ...], value: Any) -> None:
    facts = json.loads(prepare(column_statistics(connection, rows_from(mixed_frame()))).to_json())
    place = facts
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(TableError, match="preparation of columns is damaged"):
        Preparation.from_json(json.dumps(facts))


def test_refusals(connection: Any, tmp_path: Path) -> None:
    infinite = pd.DataFrame({"x": [1.0, np.inf, 2.0]})
    with pytest.raises(TableError, match="'x' of people is infinite or too large in 1 row"):
        prepare(column_statistics(connection, rows_from(infinite, name="people")))
    frame = pd.DataFrame(
        {"x": [1.0, 2.0], "d": pd.to_datetime(["2024-01-01", "2024-01-02"]), "t": ["a", "b"]}
    )
    preparation = prepare(column_statistics(connection, rows_from(frame)))
    wrong = {
        "x": (frame.assign(x=frame["d"]), "Column 'x'"),
        "d": (frame.assign(d=[1.5, 2.5]), "Column 'd'"),
        "t": (frame.assign(t=[1.5, 2.5]), "Column 't'"),
        "words": (frame.assign(x=["1", "many"]), "many"),
        "dates": (frame.assign(d=["2024-01-01", "soon"]), "soon"),
        "lacking": (frame.drop(columns="x"), "lacks column 'x'"),
    }
    for bad, words in wrong.values():
        with pytest.raises(TableError, match=words):
            apply_preparation(preparation, bad)
        with pytest.raises(TableError, match=words):
            by_sql(connection, rows_from(bad), preparation)
