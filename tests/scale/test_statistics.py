# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of columns against pandas, and which columns can be learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scale_frames import INJECTION, STRANGE_NAMES, mixed_frame, write

from bagshift.columns import NamedTable, choose_columns
from bagshift.exceptions import TableError
from bagshift.scale import _statistics_sql, column_statistics, rows_from
from bagshift.tables import read_table

KINDS = ["frame", "csv", "parquet"]


def as_rows(frame: pd.DataFrame, kind: str, folder: Path, name: str = "people") -> Any:
    if kind == "frame":
        return rows_from(frame, name=name)
    return rows_from(write(frame, folder / f"{name}.{kind}"), name=name)


def numbers_of(column: pd.Series) -> pd.Series:
    if column.dtype.kind == "M":
        return (column - pd.Timestamp(0)).dt.total_seconds()
    return column.astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_against_pandas(connection: Any, tmp_path: Path, kind: str) -> None:
    frame = mixed_frame()
    found = column_statistics(connection, as_rows(frame, kind, tmp_path))
    for name in ("age", "rooms", INJECTION, "member", "joined"):
        column, expected = found.columns[name], numbers_of(frame[name])
        assert column.kind == ("date" if name == "joined" else "number")
        assert (column.n_rows, column.n_missing) == (400, expected.isna().sum())
        np.testing.assert_allclose(
            [column.mean, column.deviation, column.minimum, column.maximum],
            [expected.mean(), expected.std(ddof=0), expected.min(), expected.max()],
            rtol=1e-6 if name == INJECTION else 1e-9,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_levels_against_pandas(connection: Any, tmp_path: Path, kind: str) -> None:
    frame = mixed_frame()
    found = column_statistics(connection, as_rows(frame, kind, tmp_path), most_levels=3)
    counts = frame["city"].value_counts()
    city = found.columns["city"]
    assert city.kind == "text"
    assert city.n_levels == len(counts) == 6
    assert sorted((-n, level) for level, n in city.levels) == [
        (-n, level) for level, n in city.levels
    ]
    assert dict(city.levels) == counts.sort_index(kind="stable").nlargest(3).to_dict()
    assert city.n_other == counts.sum() - sum(n for _, n in city.levels)
    assert dict(found.columns["grade"].levels) == frame["grade"].value_counts().to_dict()


def test_two_tables_are_one(connection: Any, tmp_path: Path) -> None:
    target, source = mixed_frame(300, seed=1), mixed_frame(200, seed=2)
    found = column_statistics(
        connection, as_rows(target, "csv", tmp_path), as_rows(source, "parquet", tmp_path, "past")
    )
    together = column_statistics(connection, rows_from(pd.concat([target, source])))
    assert (found.names, found.n_rows) == (("people", "past"), (300, 200))
    assert list(found.columns) == list(together.columns)
    for name, column in found.columns.items():
        expected = together.columns[name]
        assert column.levels == expected.levels
        assert column.n_missing == expected.n_missing
        np.testing.assert_allclose(column.mean, expected.mean, rtol=1e-6)
        np.testing.assert_allclose(column.deviation, expected.deviation, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_chosen_as_for_small_files(connection: Any, tmp_path: Path, kind: str) -> None:
    n = 60
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "empty": [None] * n,
            "same": [3] * n,
            "one word": ["x"] * n,
            "name": [f"p{place}" for place in range(n)],
            "row_id": range(n),
            "numbers": range(n),
            "written": rng.choice(["1", "2.5", "n/a", "-3e2"], n),
            "zeros": rng.choice(["01", "02"], n),
            "truth": rng.choice(["True", "False"], n),
            "when": rng.choice(["2024-01-31", "2024-02-01"], n),
            "bag": rng.integers(0, 3, n),
        }
    )
    reserved = {"bag": "bag id"}
    found = column_statistics(connection, as_rows(frame, kind, tmp_path), reserved=reserved)
    small = (
        pl.from_pandas(frame)
        if kind == "frame"
        else read_table(tmp_path / f"people.{kind}", text_columns=["zeros"])
    )
    expected = choose_columns(NamedTable(small, "people"), reserved=reserved)
    kinds = {name: column.kind for name, column in found.columns.items()}
    # Truths written as text are numbers wherever they come from, as those of a CSV file are.
    assert kinds == {**expected.kinds, "truth": "number"}
    reasons = {name: reason.replace("nearly ", "") for name, reason in found.ignored.items()}
    assert reasons == expected.ignored


def test_ids_are_known_from_some_of_their_values(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_statistics_sql, "SAMPLED_VALUES", 100)
    frame = pd.DataFrame({"name": [f"p{place}" for place in range(5000)], "row_id": range(5000)})
    frame["twice"] = [f"p{place // 2}" for place in range(5000)]
    # Whatever the hash of a level is, it does not look like an id.
    levels = [f"level {place}" for place in range(30)]
    frame = frame.assign(
        **{f"c{place}": [level, "x"] * 2500 for place, level in enumerate(levels)}
    )
    found = column_statistics(connection, rows_from(frame))
    assert list(found.ignored) == ["name", "row_id"]
    assert found.columns["twice"].n_levels == 2500


def test_numbers_that_are_none(connection: Any) -> None:
    frame = pl.DataFrame(
        {"x": [1.0, 2.0, float("nan"), float("inf"), -1e39, None], "y": [1, 2, 3, 4, 5, 6]}
    )
    x = column_statistics(connection, rows_from(frame)).columns["x"]
    assert (x.n_rows, x.n_missing, x.n_nan, x.n_infinite) == (6, 2, 1, 2)
    assert (x.mean, x.minimum, x.maximum, x.deviation) == (1.5, 1.0, 2.0, 0.5)


def test_nan_that_the_extremes_of_a_file_leave_out(connection: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"x": [1.0, float("nan"), 3.0, float("nan")]}).write_parquet(path)
    x = column_statistics(connection, rows_from(path)).columns["x"]
    assert (x.n_rows, x.n_missing, x.n_nan, x.n_infinite) == (4, 2, 2, 0)


def test_strange_names(connection: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(["a", "b"], 30) for name in STRANGE_NAMES})
    found = column_statistics(connection, as_rows(frame, "parquet", tmp_path))
    for name in STRANGE_NAMES:
        assert dict(found.columns[name].levels) == frame[name].value_counts().to_dict()


def test_many_columns_of_text(connection: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{place}": rng.choice(["a", "b", "c"], 50) for place in range(40)})
    found = column_statistics(connection, rows_from(frame))
    for name, column in found.columns.items():
        assert dict(column.levels) == frame[name].value_counts().to_dict()


def test_progress_is_told_in_rows(connection: Any) -> None:
    told: list[tuple[int, int]] = []
    frame = mixed_frame()
    column_statistics(
        connection, rows_from(frame), rows_from(frame), progress=lambda *n: told.append(n)
    )
    assert told[-1] == (800, 800)
    assert told == sorted(told)


def refuse(connection: Any, words: str, *frames: pd.DataFrame, **options: Any) -> None:
    tables = [
        rows_from(frame, name=name)
        for frame, name in zip(frames, ("people", "past"), strict=False)
    ]
    with pytest.raises(TableError, match=words):
        column_statistics(connection, *tables, **options)


def test_refusals(connection: Any) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "city": ["a", "b"], "Age": [1, 2]})
    refuse(connection, "people has no rows", frame[:0])
    refuse(
        connection, r"No column of people is left to learn from \('x: the same", frame[["x"]][:1]
    )
    refuse(connection, "No column of people and past is left", frame[["x"]], frame[["city"]])
    refuse(connection, "'x' holds numbers in people but text in past", frame, frame.assign(x="a"))
    refuse(connection, r"no column 'age' \(did you mean 'Age'\?\)", frame, only=["age"])
    refuse(connection, "past has no column 'Age'", frame, frame[["x"]], only=["Age"])
    reserved = {"x": "bag id"}
    refuse(connection, "'x' cannot be learned from: bag id", frame, only=["x"], reserved=reserved)


def test_columns_asked_for_are_not_judged(connection: Any) -> None:
    frame = pd.DataFrame({"same": [1.0] * 2, "text": ["a"] * 2, "none": [None] * 2, "x": [1, 2]})
    only = ["same", "text", "none"]
    found = column_statistics(connection, rows_from(frame), only=only)
    assert list(found.columns) == ["same", "text", "none"]
    assert found.ignored == {"x": "not asked for"}
