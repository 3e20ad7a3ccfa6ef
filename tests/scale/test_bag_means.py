# SPDX-License-Identifier: BSD-3-Clause
"""Means of bags against pandas, whatever the columns, ids and limits of memory are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scale_frames import INJECTION, STRANGE_NAMES, mixed_frame, write

from bagshift.exceptions import TableError
from bagshift.scale import (
    BagIndex,
    Feature,
    Preparation,
    Rows,
    ShareTable,
    apply_preparation,
    bag_means,
    bag_means_sql,
    column_statistics,
    index_bags,
    means,
    prepare,
    rows_from,
)
from bagshift.scale._relation import column_types, named, relation


def with_bags(n_rows: int = 400, kind: str = "number", seed: int = 0) -> pd.DataFrame:
    """Rows with a column of bags; some ids are blank."""
    rng = np.random.default_rng(seed)
    frame = mixed_frame(n_rows, seed)
    numbers = rng.integers(0, 40, n_rows)
    if kind == "number":
        frame["bag"] = numbers
    elif kind == "missing":
        frame["bag"] = np.where(rng.random(n_rows) < 0.1, np.nan, numbers)
    else:
        frame["bag"] = np.char.add("b ", numbers.astype(str))
        frame.loc[rng.random(n_rows) < 0.1, "bag"] = None
        frame.loc[rng.random(n_rows) < 0.1, "bag"] = "  "
    return frame


def expected_means(frame: pd.DataFrame, preparation: Preparation) -> pd.DataFrame:
    features = pd.DataFrame(apply_preparation(preparation, frame, dtype=np.float64))
    blank = frame["bag"].isna() | (frame["bag"].astype(str).str.strip() == "")
    return features[~blank].groupby(frame["bag"][~blank]).mean().sort_index()


def set_up(connection: Any, rows: Rows, **options: Any) -> tuple[Preparation, BagIndex]:
    reserved = {"bag": "bag id"}
    preparation = prepare(column_statistics(connection, rows, reserved=reserved, **options))
    return preparation, index_bags(connection, rows, "bag", on_unmatched="drop")


@pytest.mark.parametrize(
    ("ending", "kind", "dtype"),
    [
        ("frame", "number", "float32"),
        ("frame", "text", "float64"),
        ("csv", "missing", "float64"),
        ("csv", "text", "float32"),
        ("parquet", "missing", "float32"),
        ("parquet", "text", "float64"),
    ],
)
def test_against_pandas(
    connection: Any, tmp_path: Path, ending: str, kind: str, dtype: Any
) -> None:
    frame = with_bags(kind=kind)
    rows = rows_from(frame if ending == "frame" else write(frame, tmp_path / f"people.{ending}"))
    preparation, bags = set_up(connection, rows, most_levels=3)
    result = bag_means(connection, rows, bags, preparation, tmp_path / "means", dtype=dtype)
    if ending == "csv":
        frame[INJECTION] = frame[INJECTION].astype(str).astype(float)
        is_id = frame["bag"].notna()
        frame["bag"] = frame["bag"].astype(str).where(is_id)
    expected = expected_means(frame, preparation)
    assert result.means.dtype == dtype
    assert result.names == preparation.names
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(result.means, expected, atol=tolerance)
    assert list(bags.ids) == expected.index.tolist()
    assert isinstance(np.load(result.file, mmap_mode="r"), np.memmap)


def test_strange_names(connection: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=90) for name in STRANGE_NAMES})
    frame["bag"] = rng.integers(0, 9, 90)
    rows = rows_from(write(frame, tmp_path / "a.parquet"))
    preparation, bags = set_up(connection, rows)
    result = bag_means(connection, rows, bags, preparation, tmp_path / "means")
    np.testing.assert_allclose(result.means, expected_means(frame, preparation), atol=1e-6)


def test_the_statement_is_the_one_that_is_run(connection: Any, tmp_path: Path) -> None:
    frame = with_bags(kind="text")
    rows = rows_from(frame)
    preparation, bags = set_up(connection, rows)
    types = column_types(connection, rows)
    statement = bag_means_sql(preparation, "bag", types=types, table='odd "name"')
    with relation(connection, rows) as reader:
        found = connection.sql(named('odd "name"', reader, statement)).df()
    result = bag_means(connection, rows, bags, preparation, tmp_path, dtype="float64")
    found = found[found["bag_id"].str.strip() != ""]
    assert found["bag_id"].tolist() == list(bags.ids)
    assert found["n_rows"].tolist() == bags.n_rows.tolist()
    np.testing.assert_allclose(found[preparation.names], result.means, rtol=1e-12)


PLAIN = """
SELECT
  bag_id,
  count(*) AS n_rows,
  avg(CASE WHEN c0 = 'c' THEN 1e0 ELSE 0e0 END) AS "it's: c",
  (avg(coalesce(c1, 2.0e0)) - 2.0e0) / 4.0e0 AS "a""; drop table x; --",
  avg(CASE WHEN c1 IS NULL THEN 1e0 ELSE 0e0 END) AS "a""; drop table x; -- is missing"
FROM (
  SELECT
    "bag" AS bag_id,
    CASE lower(trim("it's"))
      WHEN '' THEN NULL WHEN '?' THEN NULL WHEN '-' THEN NULL WHEN '.' THEN NULL
      WHEN 'na' THEN NULL WHEN 'n/a' THEN NULL WHEN '#n/a' THEN NULL WHEN 'nan' THEN NULL
      WHEN 'null' THEN NULL WHEN 'none' THEN NULL WHEN 'missing' THEN NULL
    ELSE trim("it's") END AS c0,
    CAST("a""; drop table x; --" AS DOUBLE PRECISION) AS c1
  FROM "target"
  WHERE "bag" IS NOT NULL
) AS prepared
GROUP BY bag_id
ORDER BY bag_id
"""


def test_the_statement_is_plain_sql() -> None:
    preparation = Preparation(
        {"it's": "text", INJECTION: "number"},
        {INJECTION: 2.0},
        (
            Feature("it's: c", "it's", "level", "c"),
            Feature(INJECTION, INJECTION, "value", shift=2.0, scale=4.0),
            Feature(f"{INJECTION} is missing", INJECTION, "missing"),
        ),
    )
    written = bag_means_sql(preparation, "bag").split()
    assert written == PLAIN.split()


def test_bags_without_a_share_are_left_out(connection: Any, tmp_path: Path) -> None:
    frame = with_bags()
    rows = rows_from(frame)
    preparation, _ = set_up(connection, rows)
    shares = pd.DataFrame({"id": ["3", "5", "99", "39"], "share": [0.1, 0.2, 0.3, 0.4]})
    table = ShareTable(rows_from(shares), "id", "share")
    bags = index_bags(connection, rows, "bag", table, on_unmatched="drop")
    result = bag_means(connection, rows, bags, preparation, tmp_path)
    expected = expected_means(frame, preparation).loc[[3, 5, 39]]
    np.testing.assert_allclose(result.means, expected, atol=1e-5)
    np.testing.assert_allclose(bags.shares, [0.1, 0.2, 0.4])


@pytest.mark.parametrize("kind", ["number", "text"])
def test_several_passes_give_the_same(
    connection: Any, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = with_bags(kind=kind)
    rows = rows_from(write(frame, tmp_path / "rows.parquet"))
    preparation, bags = set_up(connection, rows)
    told: list[tuple[int, int]] = []
    once = bag_means(connection, rows, bags, preparation, tmp_path / "once")
    monkeypatch.setattr(means, "memory_limit", lambda connection: 20_000)
    often = bag_means(
        connection, rows, bags, preparation, tmp_path / "often", progress=lambda *n: told.append(n)
    )
    assert once.n_passes == 1
    assert often.n_passes == 3
    np.testing.assert_allclose(often.means, once.means, atol=1e-6)
    assert told == sorted(told)
    assert told[-1] == (bags.all_n_rows.sum(),) * 2


def test_it_goes_on_after_the_last_pass(
    connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_from(write(with_bags(), tmp_path / "rows.parquet"))
    preparation, bags = set_up(connection, rows)
    expected = np.array(bag_means(connection, rows, bags, preparation, tmp_path / "a").means)

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(means, "memory_limit", lambda connection: 20_000)
    folder = tmp_path / "b"
    with pytest.raises(KeyboardInterrupt):
        bag_means(connection, rows, bags, preparation, folder, progress=stop)
    n_done = len(json.loads((folder / "manifest.json").read_text())["parts"])
    assert n_done > 0
    monkeypatch.setattr(means, "memory_limit", lambda connection: 30_000)
    result = bag_means(connection, rows, bags, preparation, folder)
    np.testing.assert_allclose(result.means, expected, atol=1e-6)
    again = bag_means(connection, rows, bags, preparation, folder)
    assert (again.n_passes, np.isnan(again.rows_per_second)) == (0, True)
    np.testing.assert_allclose(again.means, expected, atol=1e-6)


def test_refusals(connection: Any, tmp_path: Path) -> None:
    frame = with_bags()
    path = write(frame, tmp_path / "rows.parquet")
    rows = rows_from(path, name="people")
    preparation, bags = set_up(connection, rows)
    bag_means(connection, rows, bags, preparation, tmp_path / "means")
    with pytest.raises(TableError, match=r"begun with other settings \('dtype'\)"):
        bag_means(connection, rows, bags, preparation, tmp_path / "means", dtype="float64")
    with pytest.raises(TableError, match="cannot be made a folder"):
        bag_means(connection, rows, bags, preparation, path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    with pytest.raises(TableError, match="is damaged, or of another version"):
        bag_means(connection, rows, bags, preparation, tmp_path / "broken")
    kept = (tmp_path / "means" / "means.npy").read_bytes()
    (tmp_path / "means" / "means.npy").write_bytes(kept[:200])
    with pytest.raises(TableError, match=r"means.npy is shorter than it was, or damaged: delete "):
        bag_means(connection, rows, bags, preparation, tmp_path / "means")
    (tmp_path / "means" / "means.npy").write_bytes(kept)
    write(frame[:-20], path)
    with pytest.raises(TableError, match=r"'rows.parquet' changed since .* was begun"):
        bag_means(connection, rows, bags, preparation, tmp_path / "means")
    with pytest.raises(TableError, match="people changed since its bags were counted"):
        bag_means(connection, rows, bags, preparation, tmp_path / "new")
    write(frame.drop(columns="age"), path)
    with pytest.raises(TableError, match="people lacks column 'age'"):
        bag_means(connection, rows_from(path, name="people"), bags, preparation, tmp_path / "new")


def test_nan_that_the_extremes_of_a_file_leave_out(connection: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    numbers = [1.0, float("nan"), 3.0, float("nan"), 5.0, 6.0]
    frame = pl.DataFrame({"bag": [0, 0, 1, 1, 2, 2], "x": numbers})
    frame.write_parquet(path)
    rows = rows_from(path)
    preparation, bags = set_up(connection, rows)
    found = bag_means(connection, rows, bags, preparation, tmp_path / "means")
    expected = expected_means(frame.to_pandas(), preparation)
    np.testing.assert_allclose(found.means, expected, atol=1e-6)


def test_infinite_numbers_that_were_not_there_before(connection: Any, tmp_path: Path) -> None:
    frame = with_bags()
    preparation, _ = set_up(connection, rows_from(frame))
    frame["rooms"] = frame["rooms"].astype(float)
    frame.loc[7, "rooms"] = np.inf
    rows = rows_from(frame, name="people")
    bags = index_bags(connection, rows, "bag")
    words = rf"'rooms' of people holds NaN or infinite numbers in bag {frame['bag'][7]}, which"
    with pytest.raises(TableError, match=words):
        bag_means(connection, rows, bags, preparation, tmp_path)
