# SPDX-License-Identifier: BSD-3-Clause
"""Predictions for files bigger than memory: those of one file that is read whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from bagshift.workflows import prediction, streamed_prediction


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are scored so few at a time that the small files have many blocks."""
    monkeypatch.setattr(prediction, "FEWEST_ROWS", 7)
    monkeypatch.setattr(prediction, "MOST_ROWS", 7)


def predict(command: Any, model: Any, rows: Any, output: Any, *more: object) -> Any:
    return command("predict", model, rows, "-o", output, *more)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("method", "kernel"),
    [("count-likelihood", "rbf"), ("tgplm", "linear"), ("ic-svm", "rbf"), ("svm", "rbf")],
)
def test_same_file(election: Any, command: Any, method: str, kernel: str, ending: str) -> None:
    assert election.fit("--kernel", kernel, method=method).code == 0
    rows = election.folder / f"rows.{ending}"
    frame = pl.read_csv(election.people, schema_overrides={"precinct": pl.String})
    (frame.write_csv if ending == "csv" else frame.write_parquet)(rows)
    whole, streamed = (election.folder / f"{name}.{ending}" for name in ("whole", "streamed"))
    assert predict(command, election.model, rows, whole).code == 0
    told = predict(command, election.model, rows, streamed, "--memory", "2GB")
    assert told.code == 0
    assert "rows 48, of which" in told.words
    read = pl.read_csv if ending == "csv" else pl.read_parquet
    assert read(streamed).equals(read(whole))
    assert read(streamed).schema == read(whole).schema
    if ending == "csv":
        assert streamed.read_bytes() == whole.read_bytes()


def test_many_rows_in_many_files_and_many_threads(
    election: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert election.fit("--kernel", "linear").code == 0
    monkeypatch.setattr(prediction, "FEWEST_ROWS", 4_096)
    monkeypatch.setattr(prediction, "MOST_ROWS", 4_096)
    random = np.random.default_rng(0)
    frame = pl.read_csv(election.people, schema_overrides={"precinct": pl.String})
    many = frame[random.integers(0, frame.height, 100_000)].with_columns(
        person=pl.format("p{}", pl.int_range(pl.len())), age=30 + 20 * random.random(100_000)
    )
    folder = election.folder / "many"
    folder.mkdir()
    for place, part in enumerate(many.iter_slices(33_333)):
        part.write_parquet(folder / f"{place}.parquet", row_group_size=5_000)
    whole, streamed = (election.folder / f"{name}.parquet" for name in ("whole", "streamed"))
    many.write_parquet(election.folder / "one.parquet")
    predict(command, election.model, election.folder / "one.parquet", whole)
    told = predict(command, election.model, folder, streamed, "--memory", "2GB")
    assert "rows 100,000" in told.words
    assert pl.read_parquet(streamed).equals(pl.read_parquet(whole))
    pattern = predict(
        command, election.model, folder / "[01].parquet", streamed, "--memory", "2GB"
    )
    assert "rows 66,666" in pattern.words
    n_full = 16 * 4_096  # the digits of the last block are those of its number of rows
    assert pl.read_parquet(streamed)[:n_full].equals(pl.read_parquet(whole)[:n_full])


def test_what_only_some_rows_show(election: Any, command: Any) -> None:
    """Blocks of rows may hold nothing but missing words, or whole numbers in place of others."""
    election.fit("--kernel", "linear")
    frame = pl.read_csv(election.people, infer_schema=False)
    place = pl.int_range(pl.len())
    rows = frame.with_columns(
        age=pl.when(place < 7).then(pl.lit("n/a")).otherwise(pl.col("age").str.head(2)),
        moved=pl.when(place < 14).then(pl.lit("?")).otherwise("moved"),
        member=pl.when(place < 21).then(None).otherwise("member"),
        person=pl.format("0{}", place),
    )
    file = election.folder / "rows.csv"
    rows.write_csv(file)
    whole, streamed = (election.folder / f"{name}.csv" for name in ("whole", "streamed"))
    assert predict(command, election.model, file, whole).code == 0
    assert predict(command, election.model, file, streamed, "--memory", "2GB").code == 0
    assert streamed.read_bytes() == whole.read_bytes()
    assert streamed.read_text().splitlines()[1].startswith("00,")


def test_rows_without_id_are_numbered(election: Any, command: Any) -> None:
    election.fit("--kernel", "linear", id=None, ignore="person")
    frame = pl.read_csv(election.people)
    frame.drop("person").write_parquet(election.folder / "rows.parquet")
    output = election.folder / "out.parquet"
    told = predict(
        command, election.model, election.folder / "rows.parquet", output, "--memory", "2GB"
    )
    assert told.code == 0
    assert pl.read_parquet(output)["row"].to_list() == list(range(1, 49))


def test_interrupted_leaves_what_was_there(
    election: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    election.fit("--kernel", "linear")
    output = election.folder / "out.csv"
    output.write_text("as before")
    done = []

    def interrupted(*arguments: Any) -> Any:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(1)
        return prediction.predicted_columns(*arguments)

    monkeypatch.setattr(streamed_prediction, "predicted_columns", interrupted)
    ended = predict(command, election.model, election.people, output, "--memory", "2GB")
    assert ended.code == 130
    assert output.read_text() == "as before"
    assert not list(election.folder.glob(".out*"))


def test_refusals(election: Any, command: Any) -> None:
    election.fit("--kernel", "linear")
    folder = election.folder / "rows"
    folder.mkdir()
    frame = pl.read_csv(election.people)
    frame.write_parquet(folder / "a.parquet")
    output = election.folder / "out.csv"

    def refused(rows: Any, to: Any, *more: object, code: int = 1) -> str:
        ended = predict(command, election.model, rows, to, "--memory", "2GB", *more)
        assert ended.code == code
        assert not output.exists()
        return str(ended.words)

    assert "would lie among the rows" in refused(folder, folder / "out.csv")
    assert "is also read" in refused(folder, folder / "a.parquet")
    assert "does not exist" in refused(election.folder / "nowhere", output)
    assert "no column 'name'" in refused(folder, output, "--id", "name")
    by_share = ("--shares", election.results, "--share-column", "yes_share")
    assert "from their columns alone" in refused(folder, output, *by_share, code=2)
    small = predict(command, election.model, folder, output, "--memory", "1MB")
    assert "too small" in small.words
    no_size = predict(command, election.model, folder, output, "--memory", "much")
    assert no_size.code == 2
    assert "--memory must be a size" in no_size.words
    frame.drop("age").write_parquet(folder / "a.parquet")
    assert "lacks column 'age'" in refused(folder, output)
    frame.rename({"person": "decision"}).write_parquet(folder / "a.parquet")
    assert "name of a column of the result" in refused(folder, output, "--id", "decision")
    frame[:0].write_parquet(folder / "a.parquet")
    assert "no rows" in refused(folder, output)
