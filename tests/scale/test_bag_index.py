# SPDX-License-Identifier: BSD-3-Clause
"""Bags and their shares, matched as ids are written."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scale_frames import INJECTION, write

from bagshift.exceptions import BagError, TableError
from bagshift.scale import BagIndex, ShareTable, index_bags, rows_from


def index(
    connection: Any, ids: Any, shares: dict[Any, float] | None = None, **options: Any
) -> BagIndex:
    """Index the bags of rows with these ids."""
    rows = rows_from(pl.DataFrame({"bag": ids}, strict=False), name="people")
    table = None
    if shares is not None:
        frame = pl.DataFrame({"id": list(shares), "share": list(shares.values())}, strict=False)
        table = ShareTable(rows_from(frame, name="results"), "id", "share")
    return index_bags(connection, rows, "bag", table, **options)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([3, 1, 3, -2], [-2, 1, 3]),
        ([3.0, 1.0, None, float("nan"), 3.0], [1, 3]),
        ([0.5, 1.0, None, 0.5], ["0.5", "1"]),
        (["b", "a", " ", "", None, "b", "10", "9", "é", "B"], ["10", "9", "B", "a", "b", "é"]),
        ([True, False, None], ["false", "true"]),
        ([date(2024, 1, 2), date(2023, 1, 1)], ["2023-01-01", "2024-01-02"]),
        (pl.Series(["12", "7"]).cast(pl.Decimal(10, 0)), [7, 12]),
        (pl.Series([2**63 + 5, 1], dtype=pl.UInt64), ["1", "9223372036854775813"]),
        (pl.Series(["u", "v"], dtype=pl.Enum(["v", "u"])), ["u", "v"]),
    ],
)
def test_kinds_of_ids(connection: Any, ids: Any, expected: list[Any]) -> None:
    bags = index(connection, ids, on_unmatched="drop")
    assert list(bags.ids) == expected
    assert bags.n_bags == len(expected)
    blank = bags.unmatched.n_rows_without_id
    assert bags.n_rows.sum() + blank == len(ids)


def test_against_pandas(connection: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for ids in (rng.integers(0, 500, 3000), rng.integers(0, 500, 3000).astype(str)):
        frame = pd.DataFrame({INJECTION: ids})
        expected = frame.groupby(INJECTION).size().sort_index()
        bags = index_bags(connection, rows_from(frame), INJECTION)
        assert list(bags.ids) == expected.index.tolist()
        assert np.array_equal(bags.n_rows, expected)
        assert (bags.shares, bags.sizes) == (None, None)
        # Ids of CSV files are text, so that 007 stays 007.
        csv = index_bags(connection, rows_from(write(frame, tmp_path / "a.csv")), INJECTION)
        assert list(csv.ids) == sorted(map(str, expected.index))


@pytest.mark.parametrize("rows_as", [int, float, str])
@pytest.mark.parametrize("shares_as", [int, float, str])
def test_ids_meet_as_they_are_written(connection: Any, rows_as: Any, shares_as: Any) -> None:
    ids = [rows_as(bag) for bag in (10, 9, 9, 2)]
    if rows_as is float:
        ids[0:0] = [float("nan")]
    if rows_as is str:
        ids = [bag.removesuffix(".0") for bag in ids]
    shares = {shares_as(bag): bag / 10 for bag in (2, 9, 10)}
    bags = index(connection, ids, shares, on_unmatched="drop")
    assert bags.shares is not None
    by_id = dict(zip(map(int, bags.ids), bags.shares, strict=True))
    assert by_id == {2: 0.2, 9: 0.9, 10: 1.0}


def test_numbers_and_text_in_one_column(connection: Any) -> None:
    frame = pd.DataFrame({"bag": pd.Series([1, "1", "b", None, 2.5, " "], dtype=object)})
    bags = index_bags(connection, rows_from(frame), "bag", on_unmatched="drop")
    assert list(bags.ids) == ["1", "2.5", "b"]
    assert bags.n_rows.tolist() == [2, 1, 1]


@pytest.mark.parametrize("shares", [None, {1: 0.5, 2: 0.5}])
def test_progress(connection: Any, shares: dict[Any, float] | None) -> None:
    told: list[tuple[int, int]] = []
    index(connection, [1, 2, 2], shares, progress=lambda *n: told.append(n))
    assert told[-1] == (3, 3)


def test_counts_and_sizes(connection: Any, tmp_path: Path) -> None:
    rows = rows_from(pd.DataFrame({"bag": [1, 1, 1, 2]}))
    frame = pd.DataFrame({"bag": [2, 1], "n": [0, 2], "size": [5, 6]})
    table = rows_from(write(frame, tmp_path / "results.csv"))
    bags = index_bags(connection, rows, "bag", ShareTable(table, "bag", "n", by_count=True))
    np.testing.assert_allclose(bags.shares, [2 / 3, 0])
    np.testing.assert_allclose(bags.sizes, [3, 1])
    declared = ShareTable(table, "bag", "n", by_count=True, size="size")
    bags = index_bags(connection, rows, "bag", declared)
    np.testing.assert_allclose(bags.shares, [2 / 6, 0])
    np.testing.assert_allclose(bags.sizes, [6, 5])


def test_what_does_not_match_is_counted_and_named(connection: Any) -> None:
    ids = [f"b{place}" for place in range(10)] * 2 + [None, " "]
    shares = {"b1": 0.5, **{f"c{place}": 0.1 for place in range(7)}, "": 0.3}
    with pytest.raises(BagError) as caught:
        index(connection, ids, shares)
    assert str(caught.value) == (
        "Bags 'b0', 'b2', 'b3', 'b4', 'b5' and 4 more of people (18 rows) have no share in "
        "results; bags 'c0', 'c1', 'c2', 'c3', 'c4' and 2 more of results have no rows in people; "
        "the bag id is blank in 2 rows of people; the bag id is blank in 1 row of results: "
        "correct the ids, which match as they are written, or leave these out with "
        'on_unmatched="drop".'
    )
    bags = index(connection, ids, shares, on_unmatched="drop")
    assert list(bags.ids) == ["b1"]
    assert bags.unmatched.n_bags_without_share == 9
    assert bags.unmatched.without_share == ("b0", "b2", "b3", "b4", "b5")
    assert bags.unmatched.n_rows_without_share == 18
    assert bags.unmatched.n_bags_without_rows == 7
    assert bags.unmatched.n_rows_without_id == 2
    assert bags.unmatched.n_shares_without_id == 1
    assert bags.n_rows.tolist() == [2]


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({1: 0.5}, "Bag 2 of people"),
        ({1: 0.5, 2: 0.5, 3: 0.5}, "bag 3 of results have no rows"),
        ({1: 1.5, 2: 0.5}, "shares must lie in"),
        ({1: float("nan"), 2: 0.5}, r"shares is missing \(NaN\) in bag 1"),
        ({1: 50, 2: 40}, "looks like 0-100 in bags 1, 2"),
        ({"1": 0.5, "01": 0.2, "2": 1}, "bag '01' of results"),
    ],
)
def test_shares_that_cannot_be(connection: Any, shares: dict[Any, float], words: str) -> None:
    with pytest.raises(BagError, match=f"(?i){words}"):
        index(connection, [1, 2, 2], shares)


def test_refusals(connection: Any) -> None:
    rows = rows_from(pd.DataFrame({"bag": [1, 2], "other": [1, 2]}), name="people")
    with pytest.raises(TableError, match=r"people has no column 'Bag' \(did you mean 'bag'\?\)"):
        index_bags(connection, rows, "Bag")
    with pytest.raises(BagError, match="on_unmatched must be"):
        index_bags(connection, rows, "bag", on_unmatched="ignore")  # type: ignore[arg-type]
    with pytest.raises(BagError, match="he bag id is blank in 1 row of people"):
        index(connection, [1, None])
    with pytest.raises(TableError, match="holds no bag id"):
        index(connection, [None, None], on_unmatched="drop")
    with pytest.raises(TableError, match="cannot be an id"):
        index(connection, [[1], [2]])
    with pytest.raises(BagError, match=r"No bag of people has a share in results: .* 'x', 'y'"):
        index(connection, [1, 2], {"x": 0.5, "y": 0.5}, on_unmatched="drop")
    twice = rows_from(pd.DataFrame({"bag": [1, 1, 2], "share": [0.1, 0.2, 0.3]}), name="results")
    with pytest.raises(BagError, match="results has more than one row for bag 1; keep one"):
        index_bags(connection, rows, "bag", ShareTable(twice, "bag", "share"))
    for wrong in ("bag", "share", "size"):
        names = {"bag": "bag", "share": "share", "size": "size"} | {wrong: "no"}
        table = rows_from(pd.DataFrame({"bag": [1, 2], "share": [0.1, 0.2], "size": [1, 1]}))
        with pytest.raises(TableError, match="has no column 'no'"):
            index_bags(
                connection,
                rows,
                "bag",
                ShareTable(table, names["bag"], names["share"], size=names["size"]),
            )
    words = rows_from(pd.DataFrame({"bag": [1, 2], "share": ["many", "few"]}), name="results")
    with pytest.raises(TableError, match=r"results holds '(many|few)' in a column of numbers"):
        index_bags(connection, rows, "bag", ShareTable(words, "bag", "share"))


def test_nothing_is_left_in_the_database(connection: Any) -> None:
    index(connection, [1, 2], {1: 0.5, 2: 0.5})
    with pytest.raises(BagError):
        index(connection, [1, 2], {1: 0.5})
    assert connection.sql("SELECT table_name FROM duckdb_tables()").fetchall() == []


def test_ids_are_looked_up_one_by_one(connection: Any) -> None:
    bags = index(connection, ["ö", "", "xyz", "ö", "a" * 1000], on_unmatched="drop")
    assert bags.all_ids[0] == "a" * 1000
    assert bags.all_ids[-1] == "ö"
    assert list(bags.ids)[1:] == ["xyz", "ö"]
    with pytest.raises(IndexError):
        bags.all_ids[3]
