# SPDX-License-Identifier: BSD-3-Clause
"""Files, folders, patterns and frames as rows, and what is said of those that cannot be."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scale_frames import STRANGE_NAMES, write

from bagshift.exceptions import TableError
from bagshift.scale import Rows, rows_from
from bagshift.scale._files import _csv_layout_at
from bagshift.scale._relation import column_types, count_rows, file_marks, relation, row_order

FRAME = pd.DataFrame({"x": [1, 2, 3], "name": ["a", "b", "c"]})


def read(connection: Any, rows: Rows) -> list[tuple[Any, ...]]:
    with relation(connection, rows) as table:
        found: list[tuple[Any, ...]] = connection.sql(f"SELECT * FROM {table}").fetchall()
        return found


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_a_folder_and_a_pattern(connection: Any, tmp_path: Path, ending: str) -> None:
    write(FRAME[:1], tmp_path / f"part-0{ending}")
    write(FRAME[1:], tmp_path / "deeper" / f"part-1{ending}")
    write(FRAME, tmp_path / "_temporary" / f"part-2{ending}")
    (tmp_path / "_SUCCESS").touch()
    everything = read(connection, rows_from(tmp_path))
    assert sorted(str(x) for x, _ in everything) == ["1", "2", "3"]
    assert len(read(connection, rows_from(tmp_path / f"part-0{ending}"))) == 1
    assert len(read(connection, rows_from(str(tmp_path / f"*{ending}")))) == 1
    assert len(read(connection, rows_from(str(tmp_path / "**" / f"part-[01]{ending}")))) == 3
    assert count_rows(connection, rows_from(tmp_path)) == 3


def test_names_of_folders_become_columns(connection: Any, tmp_path: Path) -> None:
    for year in (2023, 2024):
        write(FRAME, tmp_path / f"year={year}" / "country=at" / "rows.parquet")
    types = column_types(connection, rows_from(tmp_path))
    assert list(types) == ["x", "name", "country", "year"]
    assert types["year"] == "VARCHAR"


@pytest.mark.parametrize(
    "name", ["a[1].csv", "what?.csv", "it's.parquet", "a*b.parquet", "ü ü.csv"]
)
def test_signs_in_the_name_of_a_file(connection: Any, tmp_path: Path, name: str) -> None:
    for other in ("a1.csv", "whatx.csv", "axb.parquet"):
        write(FRAME[:1], tmp_path / other)
    assert len(read(connection, rows_from(write(FRAME, tmp_path / name)))) == 3


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv_is_read_as_it_is_written(connection: Any, tmp_path: Path, mark: str) -> None:
    path = tmp_path / "rows.csv"
    text = f'\ufeffid{mark}"a {mark} b"\r\n007{mark}"x ""y""\nz"\r\n8{mark}\r\n'
    path.write_bytes(text.encode())
    rows = rows_from(path)
    assert rows.files[0].columns == ("id", f"a {mark} b")
    assert read(connection, rows) == [("007", 'x "y"\nz'), ("8", None)]
    assert _csv_layout_at(str(path)).separator == mark


def test_compressed_csv(connection: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n"))
    assert read(connection, rows_from(path)) == [("1", "2")]


def test_csv_files_with_columns_in_another_order(connection: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y;x\n4;3\n")
    assert read(connection, rows_from(tmp_path)) == [("1", "2"), ("3", "4")]


def test_parquet_files_with_other_types(connection: Any, tmp_path: Path) -> None:
    write(pd.DataFrame({"id": [1, 2]}), tmp_path / "a.parquet")
    write(pd.DataFrame({"id": ["2", "x"]}), tmp_path / "b.parquet")
    rows = rows_from(tmp_path)
    assert rows.types_differ
    assert [bag for (bag,) in read(connection, rows)] == ["1", "2", "2", "x"]


def test_column_without_a_name(connection: Any, tmp_path: Path) -> None:
    path = tmp_path / "with_index.csv"
    FRAME.to_csv(path)
    assert [name.strip() for name in column_types(connection, rows_from(path))] == [
        "",
        "x",
        "name",
    ]


@pytest.mark.parametrize(
    "frame",
    [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)],
    ids=["pandas", "polars", "arrow"],
)
def test_frames(connection: Any, frame: Any) -> None:
    rows = rows_from(frame, name="people")
    assert read(connection, rows) == [(1, "a"), (2, "b"), (3, "c")]
    assert (rows.kind, count_rows(connection, rows), file_marks(rows)) == ("frame", 3, [])
    tables = connection.sql("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall()
    assert tables == [(0,)]


def test_strange_names_are_columns_like_others(connection: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({name: [place] for place, name in enumerate(STRANGE_NAMES)})
    for rows in (
        rows_from(frame),
        rows_from(write(frame, tmp_path / "a.parquet")),
    ):
        assert list(column_types(connection, rows)) == list(STRANGE_NAMES)
    # A header line of CSV is one line.
    frame = frame.drop(columns="two\nlines")
    rows = rows_from(write(frame, tmp_path / "a.csv"))
    assert list(column_types(connection, rows)) == list(frame.columns)


def test_nested_columns_are_no_trouble(connection: Any, tmp_path: Path) -> None:
    table = pa.table({"a": [[1]], "b": [[2]], "c": [{"a": 1, "A": 2}], "d": [1]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert rows_from(tmp_path / "a.parquet").files[0].columns == ("a", "b", "c", "d")


def test_columns_that_hide_the_place_of_a_row(connection: Any, tmp_path: Path) -> None:
    for name, hidden in (("x", False), ("File_Index", True)):
        rows = rows_from(write(pd.DataFrame({name: [1]}), tmp_path / f"{name}.parquet"))
        order = row_order(rows, column_types(connection, rows))
        assert (order == ["row_number() OVER ()"]) == hidden


def test_marks_tell_a_file_that_was_changed(tmp_path: Path) -> None:
    path = write(FRAME, tmp_path / "k=1" / "a.csv")
    write(FRAME, tmp_path / "k=2" / "a.csv")
    before = file_marks(rows_from(tmp_path))
    assert [name for name, *_ in before] == ["k=1/a.csv", "k=2/a.csv"]
    assert file_marks(rows_from(tmp_path)) == before
    write(FRAME[:2], path)
    assert file_marks(rows_from(tmp_path)) != before
    rows = rows_from(tmp_path)
    path.unlink()
    with pytest.raises(TableError, match="cannot be read any more"):
        file_marks(rows)


def refuse(source: Any, *words: str) -> None:
    with pytest.raises(TableError) as caught:
        rows_from(source)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    refuse(tmp_path / "none.csv", "none.csv does not exist")
    refuse(str(tmp_path / "*.parquet"), "No file is of the pattern")
    (tmp_path / "notes.txt").write_text("hello")
    refuse(tmp_path, "has no CSV or Parquet file in it")
    refuse(tmp_path / "notes.txt", "notes.txt is neither a CSV nor a Parquet file")
    refuse(5, "not from 'int'")
    refuse(pl.LazyFrame({"x": [1]}), "LazyFrame")


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    write(FRAME, tmp_path / "a.csv")
    write(FRAME, tmp_path / "b.parquet")
    refuse(tmp_path, "CSV and Parquet files", "a.csv", "b.parquet")
    for ending in ("csv", "parquet"):
        folder = tmp_path / ending
        write(FRAME, folder / f"a.{ending}")
        write(FRAME[["x"]], folder / f"b.{ending}")
        refuse(folder, f"b.{ending} has no column 'name', unlike", f"a.{ending}")
        write(FRAME.assign(z=1), folder / f"b.{ending}")
        refuse(folder, f"a.{ending} has no column 'z', unlike")


def test_unreadable_files_are_named(connection: Any, tmp_path: Path) -> None:
    write(FRAME, tmp_path / "good.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and then nothing that is of use PAR1")
    refuse(tmp_path, "bad.parquet cannot be read as Parquet")
    (tmp_path / "empty.csv").touch()
    refuse(tmp_path / "empty.csv", "empty.csv is empty")
    (tmp_path / "latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    refuse(tmp_path / "latin.csv", "latin.csv is not UTF-8 text")
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip")
    refuse(tmp_path / "bad.csv.gz", "bad.csv.gz cannot be read as CSV")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"1,2\n3\n", "line 3 does not have 2 fields but 1"),
        (b"1,2\n3,4,5\n", "line 3 does not have 2 fields but 3"),
        (b'1,"2\n3,4\n', "a quotation mark that is not closed"),
        (b"1,caf\xe9\n", "is not UTF-8 text"),
    ],
)
def test_broken_lines_are_named(connection: Any, tmp_path: Path, body: bytes, words: str) -> None:
    (tmp_path / "good.csv").write_bytes(b"x,y\n1,2\n")
    (tmp_path / "broken.csv").write_bytes(b"x,y\n" + body)
    with pytest.raises(TableError, match=r"broken\.csv") as caught:
        count_rows_by_value(connection, rows_from(tmp_path))
    assert words in str(caught.value)


def count_rows_by_value(connection: Any, rows: Rows) -> None:
    from bagshift.scale._streaming import stream

    with relation(connection, rows) as table:
        list(stream(connection, f"SELECT max(x), max(y) FROM {table}", rows))


def test_damaged_parquet_is_named(connection: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(50_000), "y": range(50_000)})
    content = write(frame, tmp_path / "cut.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(content[:100] + content[50_000:])
    write(frame, tmp_path / "good.parquet")
    with pytest.raises(TableError, match=r"cut\.parquet"):
        count_rows_by_value(connection, rows_from(tmp_path))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["a", "A"], "columns 'a' and 'A', which are one name in SQL"),
        (["a", "a"], "more than one column 'a'"),
        ([1, 2], "have names that are not text"),
    ],
)
def test_names_that_cannot_be(columns: list[Any], words: str, tmp_path: Path) -> None:
    frame = pd.DataFrame([[1, 2]], columns=columns)
    refuse(frame, words)
    if isinstance(columns[0], str):
        refuse(write(frame, tmp_path / "a.csv"), words)
        pq.write_table(
            pa.Table.from_arrays([pa.array([1])] * 2, names=columns), tmp_path / "a.parquet"
        )
        refuse(tmp_path / "a.parquet", words)
