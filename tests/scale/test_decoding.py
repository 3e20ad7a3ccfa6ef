# SPDX-License-Identifier: BSD-3-Clause
"""Decoded rows: the same in any way of reading, and whole after a kill at any moment."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from scale_frames import mixed_frame, write

from bagshift.exceptions import TableError
from bagshift.scale import (
    BagIndex,
    DecodedRows,
    LabelColumn,
    Preparation,
    Rows,
    ShareTable,
    apply_preparation,
    column_statistics,
    decode_rows,
    index_bags,
    label_counts,
    prepare,
    rows_from,
)
from bagshift.scale import _decode_tasks as tasks
from bagshift.scale._feature_sql import row_expressions, value_columns
from bagshift.scale._relation import column_types, relation
from bagshift.scale.labels import label_code

RESERVED = {"bag": "bag id", "vote": "label"}


def with_bags_and_labels(n_rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = mixed_frame(n_rows)
    frame["bag"] = np.char.add("b", rng.integers(0, 30, n_rows).astype(str))
    frame["vote"] = rng.choice(["yes", "no"], n_rows)
    frame.loc[rng.random(n_rows) < 0.1, "bag"] = None
    frame.loc[rng.random(n_rows) < 0.1, "vote"] = None
    return frame


def in_files(frame: pd.DataFrame, folder: Path, ending: str) -> Path:
    """Cut a frame into files, one of them empty."""
    for number, (start, end) in enumerate([(0, 200), (200, 200), (200, 333), (333, None)]):
        write(frame[start:end], folder / f"part-{number}.{ending}")
    return folder


def prepared(connection: Any, rows: Rows) -> Preparation:
    return prepare(column_statistics(connection, rows, reserved=RESERVED, most_levels=3))


def stacked(decoded: DecodedRows, what: str) -> NDArray[Any]:
    return np.concatenate([getattr(decoded, what)(part) for part in range(decoded.n_parts)])


def sources(frame: pd.DataFrame, folder: Path) -> dict[str, Rows]:
    return {
        "frame": rows_from(frame),
        "csv": rows_from(in_files(frame, folder / "csv", "csv")),
        "parquet": rows_from(in_files(frame, folder / "parquet", "parquet")),
    }


@pytest.mark.parametrize(
    ("kind", "part_rows"),
    [("frame", 64), ("csv", None), ("csv", 64), ("parquet", 64), ("parquet", 1)],
)
def test_rows_stay_in_their_order(
    connection: Any, tmp_path: Path, kind: str, part_rows: int | None
) -> None:
    frame = with_bags_and_labels(60 if part_rows == 1 else 500)
    rows = sources(frame, tmp_path)[kind]
    preparation = prepared(connection, rows)
    decoded = decode_rows(connection, rows, preparation, tmp_path / "d", part_rows=part_rows)
    expected = apply_preparation(preparation, frame)
    assert decoded.features(0).dtype == np.float32
    assert isinstance(decoded.features(0), np.memmap)
    np.testing.assert_allclose(stacked(decoded, "features"), expected, atol=1e-6)
    assert decoded.n_rows == len(frame)
    assert decoded.rows_per_second > 0
    assert max(decoded.part_rows) <= (part_rows or len(frame))
    assert decoded.part_bags == ()


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_labels(connection: Any, tmp_path: Path, kind: str) -> None:
    frame = with_bags_and_labels()
    rows = sources(frame, tmp_path)[kind]
    preparation = prepared(connection, rows)
    labels = LabelColumn("vote", "no", "yes")
    decoded = decode_rows(
        connection, rows, preparation, tmp_path / "d", labels=labels, part_rows=100
    )
    labelled = frame[frame["vote"].notna()]
    expected = apply_preparation(preparation, labelled)
    assert stacked(decoded, "labels").tolist() == (labelled["vote"] == "yes").astype(int).tolist()
    np.testing.assert_allclose(stacked(decoded, "features"), expected, atol=1e-6)
    counts = labelled["vote"].value_counts().to_dict()
    assert label_counts(connection, rows, "vote") == counts


@pytest.mark.parametrize(
    ("values", "negative", "positive"),
    [
        ([True, False, None], False, True),
        (["True", "false", "n/a"], False, True),
        ([1, 0, None], 0, 1),
        ([1.0, 0.0, float("nan")], 0, 1),
        (["1", " 0", ""], 0, 1.0),
        (["it's", "x", None], "x", "it's"),
        ([1, -1, None], -1, 1),
    ],
)
def test_labels_meet_as_they_are_written(
    connection: Any, tmp_path: Path, values: list[Any], negative: Any, positive: Any
) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "vote": values})
    rows = rows_from(frame)
    labels = LabelColumn("vote", negative, positive)
    decoded = decode_rows(connection, rows, prepared(connection, rows), tmp_path, labels=labels)
    assert decoded.labels(0).tolist() == [1, 0]


@pytest.mark.parametrize("whole", [True, False])
def test_bags_beside_rows(connection: Any, tmp_path: Path, whole: bool) -> None:
    frame = with_bags_and_labels()
    if whole:
        frame["bag"] = frame["bag"].str.removeprefix("b").astype("Int64")
    rows = rows_from(write(frame, tmp_path / "rows.parquet"))
    shares = pd.DataFrame({"bag": frame["bag"].dropna().unique()[5:], "share": 0.5})
    table = ShareTable(rows_from(shares), "bag", "share")
    bags = index_bags(connection, rows, "bag", table, on_unmatched="drop")
    preparation = prepared(connection, rows)
    decoded = decode_rows(connection, rows, preparation, tmp_path / "d", bags=bags, part_rows=100)
    place = {bag: number for number, bag in enumerate(bags.ids)}
    expected = [-1 if pd.isna(bag) else place.get(bag, -1) for bag in frame["bag"]]
    assert stacked(decoded, "bags").tolist() == expected
    assert min(expected) == -1


# Bag by bag -----------------------------------------------------------------------------------


def sorted_frame(frame: pd.DataFrame, bags: BagIndex) -> pd.DataFrame:
    """Sort by the bytes of the id, rows of a bag in their order, and keep the used bags."""
    used = frame[frame["bag"].isin(list(bags.ids))]
    return used.sort_values("bag", kind="stable")


@pytest.mark.parametrize(
    ("kind", "part_rows", "drop"),
    [
        ("frame", 40, False),
        ("csv", 3, True),
        ("csv", None, False),
        ("parquet", 3, False),
        ("parquet", 40, True),
        ("parquet", None, True),
    ],
)
def test_bag_by_bag(
    connection: Any, tmp_path: Path, kind: str, part_rows: int | None, drop: bool
) -> None:
    frame = with_bags_and_labels()
    rows = sources(frame, tmp_path)[kind]
    preparation = prepared(connection, rows)
    shares = pd.DataFrame({"bag": sorted(frame["bag"].dropna().unique())[1::2], "share": 0.5})
    table = ShareTable(rows_from(shares), "bag", "share") if drop else None
    bags = index_bags(connection, rows, "bag", table, on_unmatched="drop")
    told: list[tuple[int, int]] = []
    decoded = decode_rows(
        connection,
        rows,
        preparation,
        tmp_path / "d",
        bags=bags,
        order_by_bag=True,
        part_rows=part_rows,
        progress=lambda *n: told.append(n),
    )
    expected = sorted_frame(frame, bags)
    np.testing.assert_allclose(
        stacked(decoded, "features"), apply_preparation(preparation, expected), atol=1e-6
    )
    assert [bags.ids[place] for place in stacked(decoded, "bags")] == expected["bag"].tolist()
    for part, (first, end) in enumerate(decoded.part_bags):
        assert set(decoded.bags(part)) == set(range(first, end))
        assert decoded.part_rows[part] <= (part_rows or 500) or end == first + 1
    assert [end for _, end in decoded.part_bags][:-1] == [first for first, _ in decoded.part_bags][
        1:
    ]
    assert told == sorted(told)
    assert told[-1] == (len(expected),) * 2


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_cut_at_bags(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows, most = rng.integers(1, 50, 200), int(rng.integers(1, 200))
    bounds = tasks.part_bounds(n_rows, most)
    assert [bounds[0][0], bounds[-1][1]] == [0, 200]
    for (first, end), (following, _) in zip(bounds, [*bounds[1:], (200, 0)], strict=True):
        assert end == following
        assert n_rows[first:end].sum() <= most or end == first + 1
        assert end == 200 or n_rows[first : end + 1].sum() > most  # none could have been added


# Going on -------------------------------------------------------------------------------------


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from bagshift.scale import *
from bagshift.scale import _decode_tasks, decoding

rows, folder, order_by_bag, group_bytes, kill_after = json.loads(sys.argv[1])
_decode_tasks.GROUP_BYTES = group_bytes
keep, parts = decoding._keep, []

def keep_or_die(manifest, part, arrays):
    parts.append(part)
    if len(parts) > kill_after:
        # In the middle of writing a part.
        path = decoding.part_file(manifest.folder, "features", len(decoding._kept(manifest)))
        path.write_bytes(b"half of a par")
        os.kill(os.getpid(), signal.SIGKILL)
    return keep(manifest, part, arrays)

decoding._keep = keep_or_die
with connect("1GB", Path(folder).parent, n_threads=2) as connection:
    rows = rows_from(rows)
    preparation = Preparation.from_json(Path(f"{folder}.json").read_text())
    beside = {"labels": LabelColumn("vote", "no", "yes")}
    if order_by_bag:
        bags = index_bags(connection, rows, "bag", on_unmatched="drop")
        beside = {"bags": bags, "order_by_bag": True}
    decode_rows(connection, rows, preparation, folder, part_rows=50, **beside)
"""


@pytest.mark.parametrize(
    ("kind", "order_by_bag", "group_bytes", "kills"),
    [
        ("csv", False, 1, [(4, 4)]),
        ("parquet", False, 2**30, [(0, 0)]),
        ("parquet", True, 1, [(4, 4)]),
    ],
)
def test_killed_and_gone_on_with(
    connection: Any,
    tmp_path: Path,
    kind: str,
    order_by_bag: bool,
    group_bytes: int,
    kills: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "GROUP_BYTES", group_bytes)
    folder = in_files(with_bags_and_labels(), tmp_path / "rows", kind)
    rows = rows_from(folder)
    preparation = prepared(connection, rows)
    (tmp_path / "killed.json").write_text(preparation.to_json())
    beside: dict[str, Any] = {"labels": LabelColumn("vote", "no", "yes")}
    if order_by_bag:
        bags = index_bags(connection, rows, "bag", on_unmatched="drop")
        beside = {"bags": bags, "order_by_bag": True}
    for kill_after, n_kept in kills:
        facts = [str(folder), str(tmp_path / "killed"), order_by_bag, group_bytes, kill_after]
        command = [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(facts)]
        assert subprocess.run(command, check=False).returncode == -9
        manifest = json.loads((tmp_path / "killed" / "manifest.json").read_text())
        assert (len(manifest["parts"]), manifest["done"]) == (n_kept, False)
    for name in ("killed", "whole"):
        decode_rows(connection, rows, preparation, tmp_path / name, part_rows=50, **beside)
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")
    assert len(digests(tmp_path / "whole")) > 15


def test_a_finished_folder_is_left_alone(connection: Any, tmp_path: Path) -> None:
    frame = with_bags_and_labels()
    rows = rows_from(write(frame, tmp_path / "rows.parquet"))
    preparation = prepared(connection, rows)
    first = decode_rows(connection, rows, preparation, tmp_path / "d", part_rows=100)
    times = {path: path.stat().st_mtime_ns for path in first.folder.iterdir()}
    again = decode_rows(connection, rows, preparation, tmp_path / "d", part_rows=100)
    assert again.part_rows == first.part_rows
    assert np.isnan(again.rows_per_second)
    assert {path: path.stat().st_mtime_ns for path in first.folder.iterdir()} == times
    (first.folder / "features-00001.npy").write_bytes(b"")
    with pytest.raises(TableError, match=r"features-00001.npy is shorter than it was"):
        again.features(1)
    (first.folder / "features-00001.npy").unlink()
    with pytest.raises(TableError, match=r"features-00001.npy cannot be read: No such file"):
        again.features(1)


def test_frames_are_decoded_anew(connection: Any, tmp_path: Path) -> None:
    frame = with_bags_and_labels()
    preparation = prepared(connection, rows_from(frame))
    decode_rows(connection, rows_from(frame), preparation, tmp_path)
    fewer = decode_rows(connection, rows_from(frame[:10]), preparation, tmp_path)
    assert fewer.n_rows == 10


def test_changed_inputs_and_settings_are_refused(connection: Any, tmp_path: Path) -> None:
    frame = with_bags_and_labels()
    path = write(frame, tmp_path / "rows.parquet")
    rows = rows_from(path)
    preparation = prepared(connection, rows)

    def decode(words: str, **options: Any) -> None:
        options = {"part_rows": 100, **options}
        with pytest.raises(TableError, match=words):
            decode_rows(connection, rows, preparation, tmp_path / "d", **options)

    decode_rows(connection, rows, preparation, tmp_path / "d", part_rows=100)
    decode(r"begun with other settings \('part_rows'\)", part_rows=99)
    labels = LabelColumn("vote", "no", "yes")
    decode(r"other settings \('labels'\): name another folder, or delete it", labels=labels)
    (tmp_path / "d" / "features-00002.npy").unlink()
    decode(r"features-00002.npy is gone: delete .* to begin anew")
    os.utime(path, ns=(0, 0))
    decode(r"'rows.parquet' changed since .* was begun: put back what was there")


def test_rows_that_change_while_they_are_read(connection: Any, tmp_path: Path) -> None:
    frame = with_bags_and_labels()
    path = write(frame, tmp_path / "rows.parquet")
    rows = rows_from(path)
    preparation = prepared(connection, rows)

    def change(done: int, total: int) -> None:
        os.utime(path, ns=(0, 0))

    with pytest.raises(TableError, match=r"'rows.parquet' changed since"):
        decode_rows(connection, rows, preparation, tmp_path / "d", part_rows=100, progress=change)
    bags = index_bags(connection, rows, "bag", on_unmatched="drop")
    for other in (frame[:-50], pd.concat([frame, frame[:50]])):
        write(other, path)
        with pytest.raises(TableError, match="changed since its bags were counted"):
            decode_rows(
                connection,
                rows_from(path),
                preparation,
                tmp_path / f"d{len(other)}",
                bags=bags,
                order_by_bag=True,
            )


def test_refusals(connection: Any, tmp_path: Path) -> None:
    frame = with_bags_and_labels()
    rows = rows_from(frame, name="history")
    preparation = prepared(connection, rows)
    bags = index_bags(connection, rows, "bag", on_unmatched="drop")
    labels = LabelColumn("vote", "no", "yes")

    def refuse(words: str, some: Rows = rows, **options: Any) -> None:
        with pytest.raises(TableError, match=words):
            decode_rows(connection, some, preparation, tmp_path / "d", **options)

    refuse("Give either labels or bags", labels=labels, bags=bags)
    refuse("order_by_bag=True needs bags=", order_by_bag=True)
    for part_rows in (0, 1.5, True):
        refuse("part_rows must be a whole number", part_rows=part_rows)
    refuse("history has no column 'Vote'", labels=LabelColumn("Vote", "no", "yes"))
    refuse(
        "'vote' of history holds labels other than 'no' and 'maybe': 'yes'; leave",
        labels=LabelColumn("vote", "no", "maybe"),
    )
    infinite = rows_from(frame.assign(rooms=np.inf), name="history")
    refuse("history holds infinite numbers that were not there", infinite)
    refuse("lacks column 'age'", rows_from(frame.drop(columns="age"), name="history"))
    lists = rows_from(frame.assign(vote=[[1]] * len(frame)), name="history")
    refuse("which cannot be labels", lists, labels=labels)
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_rows_are_read_without_a_join(connection: Any, tmp_path: Path) -> None:
    """A join does not keep the order of rows; DuckDB makes one of a long IN."""
    frame = with_bags_and_labels()
    rows = rows_from(in_files(frame, tmp_path / "rows", "csv"))
    preparation = prepared(connection, rows)
    types = column_types(connection, rows)
    label = label_code(rows, types, LabelColumn("vote", "no", "yes"))
    values = [*value_columns(preparation, types, "rows"), f"{label} AS label"]
    listed = ", ".join([*row_expressions(preparation), "label"])
    with relation(connection, rows) as reader:
        statement = f"EXPLAIN SELECT {listed} FROM (SELECT {', '.join(values)} FROM {reader})"
        (_, explained), *_ = connection.sql(statement).fetchall()
    assert "READ_CSV" in explained
    assert "Join" not in explained
