# SPDX-License-Identifier: BSD-3-Clause
"""Tables in and out, and the kinds that columns are brought to."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from bagshift.atomic import whole_file
from bagshift.columns import NamedTable, as_kinds, choose_columns
from bagshift.exceptions import TableError
from bagshift.fingerprints import row_fingerprints
from bagshift.tables import neutralise_formulas, read_table, require_columns, write_table


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separator_is_found(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"\ufeffname{mark}x\nö{mark}1.5\n", encoding="utf-8")
    assert read_table(path).to_dicts() == [{"name": "ö", "x": 1.5}]


def test_ids_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x\n007,1\n")
    assert read_table(path, text_columns=["id", "other"])["id"].to_list() == ["007"]
    assert read_table(path)["id"].to_list() == [7]


def test_types_are_found_beyond_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "1\n" * 20_000 + "2.5\n")
    assert read_table(path)["x"].dtype == pl.Float64


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_round_trip(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {"a": [1, 2], "b": ["x", None], "c": [date(2024, 1, 2), None], "d": [0.1, -2.5]}
    )
    path = tmp_path / f"a.{ending}"
    write_table(frame, path)
    assert_frame_equal(read_table(path), frame)
    assert list(tmp_path.iterdir()) == [path]


def test_formulas_are_neutralised() -> None:
    dangerous = ["=cmd()", "+1+2", "-a", "@sum", "\tx", "\rx"]
    harmless = ["a=b", "-5", "+3.2", "-1e5", None, ""]
    frame = pl.DataFrame({"=head": dangerous + harmless, "number": [-1.0] * 12})
    safe = neutralise_formulas(frame)
    assert safe.columns == ["'=head", "number"]
    assert safe["'=head"].to_list() == [f"'{text}" for text in dangerous] + harmless
    assert safe["number"].to_list() == [-1.0] * 12


def test_categories_are_neutralised_too(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_table(pl.DataFrame({"a": ["=1+1", "b"]}, schema={"a": pl.Categorical}), path)
    assert path.read_text() == "a\n'=1+1\nb\n"


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.txt", "noending"])
def test_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / name)


def test_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def test_missing_columns_are_named_with_what_there_is() -> None:
    frame = pl.DataFrame({"Precinct": [1], "x": [2]})
    with pytest.raises(TableError, match=r"columns 'precinct', 'y' \(did you mean 'Precinct'\?\)"):
        require_columns(frame, ["precinct", "y", "x"], "a.csv")


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")

    def interrupted() -> None:
        with whole_file(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- columns -------------------------------------------------------------------------------


def named(**columns: list[object]) -> NamedTable:
    return NamedTable(pl.DataFrame(columns, strict=False), "a.csv")


def test_kinds_and_reasons() -> None:
    n = 30
    table = named(
        number=list(range(n)),
        flag=[True, False] * 15,
        word=["a", "b"] * 15,
        sentence=[f"text {k}" for k in range(n)],
        day=[date(2024, 1, 1 + k % 5) for k in range(n)],
        written=["1", "2.5"] * 15,
        zip_code=["01234", "20095"] * 15,
        gaps=["1", "n/a", "3"] * 10,
        code=[f"A-{k}" for k in range(n)],
        user_id=list(range(n)),
        constant=[1.0] * n,
        nothing=[None] * n,
        pair=[[1, 2]] * n,
        bag=["x"] * n,
    )
    choice = choose_columns(table, reserved={"bag": "bag id"})
    assert choice.kinds == {
        "number": "number",
        "flag": "number",
        "word": "text",
        "sentence": "text",
        "day": "date",
        "written": "number",
        "zip_code": "text",
        "gaps": "number",
    }
    assert choice.ignored == {
        "code": "a different value in every row, like an id",
        "user_id": "a different value in every row, like an id",
        "constant": "the same in every row",
        "nothing": "empty",
        "pair": "holds list values, which cannot be a feature",
        "bag": "bag id",
    }


def test_asked_for_columns_are_not_judged() -> None:
    table = named(a=[1, 1], b=[1, 2])
    assert choose_columns(table, only=["a"]).kinds == {"a": "number"}
    with pytest.raises(TableError, match="'c'"):
        choose_columns(table, only=["c"])


def test_nothing_left_says_why() -> None:
    with pytest.raises(TableError, match="'a': the same in every row"):
        choose_columns(named(a=[1, 1]))


def test_conversion_to_kinds() -> None:
    table = named(
        c=["1", "?", " 3 "],
        b=[datetime(2024, 1, 1), None, datetime(2024, 1, 3)],
        a=[1, 2, None],
        unused=[1, 2, 3],
        n=[1.0, float("nan"), 2.0],
    )
    frame = as_kinds(table, {"a": "number", "b": "date", "c": "number", "n": "number"})
    assert frame.columns == ["a", "b", "c", "n"]
    assert frame["c"].to_list() == [1.0, None, 3.0]
    assert frame["n"].to_list() == [1.0, None, 2.0]
    assert frame["b"].dtype == pl.Datetime("us")


def test_numbers_may_stand_for_categories_but_not_for_dates() -> None:
    table = named(a=[1, 2])
    assert as_kinds(table, {"a": "text"})["a"].to_list() == ["1", "2"]
    with pytest.raises(TableError, match=r"holds numbers in a\.csv but held dates"):
        as_kinds(table, {"a": "date"})


def test_empty_column_takes_any_kind() -> None:
    table = named(a=[None, None])
    for kind in ("number", "date", "text"):
        assert as_kinds(table, {"a": kind})["a"].null_count() == 2


def test_fingerprints_follow_values_not_files(tmp_path: Path) -> None:
    table = named(a=[1, 2, 2], b=["x", None, None])
    kinds = {"a": "number", "b": "text"}
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    for path in (csv, parquet):
        write_table(table.frame, path)
    first, second = (
        row_fingerprints(as_kinds(NamedTable(read_table(path), path.name), kinds))
        for path in (csv, parquet)
    )
    assert first.tolist() == second.tolist()
    assert first[1] == first[2] != first[0]
