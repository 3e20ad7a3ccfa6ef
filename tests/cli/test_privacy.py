# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift privacy`` and what ``bagshift check`` says of bags, on files."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bagshift import Bags
from bagshift.inspection import privacy_report
from bagshift.tables import read_table
from cli.conftest import run_command

N_ROWS = 48


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """Persons in wards of four and in age groups, and the counts of both."""
    random = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "ward": [f"ward {k // 4}" for k in range(N_ROWS)],
            "age": [f"age {k}" for k in random.integers(0, 10, N_ROWS)],
            "vote": random.integers(0, 2, N_ROWS),
        }
    )
    frame.drop("vote").write_csv(tmp_path / "people.csv")
    paths = {"target": tmp_path / "people.csv", "frame": frame, "folder": tmp_path}
    for name in ("ward", "age"):
        table = frame.group_by(name, maintain_order=True).agg(
            yes=pl.col("vote").sum(), share=pl.col("vote").mean()
        )
        table.write_csv(tmp_path / f"{name}s.csv")
        paths[name] = tmp_path / f"{name}s.csv"
    return paths


def both(files: dict[str, Any], *more: object) -> list[object]:
    return [
        *("privacy", "--target", files["target"], "--count-column", "yes"),
        *("--bag", "ward", "--release", files["ward"], "--bag", "age", "--release", files["age"]),
        *more,
    ]


def expected(files: dict[str, Any]) -> Any:
    frame = files["frame"]
    releases = {}
    for name in ("ward", "age"):
        counts = dict(frame.group_by(name).agg(pl.col("vote").sum()).iter_rows())
        releases[f"{name}s.csv"] = Bags.from_arrays(frame[name].to_list(), counts=counts)
    return privacy_report(releases, epsilon=2.0)


def test_two_releases(files: dict[str, Any]) -> None:
    told = run_command(*both(files, "--epsilon", 2))
    report = expected(files)
    assert told.code == 0
    n_sure = int(report.determined.sum())
    assert f"in all {n_sure} of {N_ROWS} rows" in told.words
    for warning in report.warnings:
        assert warning in " ".join(told.words.split())
    assert "epsilon 4 in all: releases add up" in told.words
    assert "Aggregation alone is not differential privacy" in told.words
    assert "Bags of wards.csv" in told.words


def test_columns_of_the_target(files: dict[str, Any]) -> None:
    """Bag columns of one table, whose numbers stand beside the rows."""
    frame = files["frame"].with_columns(
        ward_yes=pl.col("vote").sum().over("ward"), age_yes=pl.col("vote").sum().over("age")
    )
    path = files["folder"] / "all.parquet"
    frame.drop("vote").write_parquet(path)
    told = run_command(
        *("privacy", "--target", path, "--bag", "ward", "--count-column", "ward_yes"),
        *("--bag", "age", "--count-column", "age_yes"),
    )
    assert told.code == 0
    assert f"in all {int(expected(files).determined.sum())} of {N_ROWS} rows" in told.words
    assert "all.parquet (ward, ward_yes)" in told.words


def test_one_release_and_its_table(files: dict[str, Any]) -> None:
    output = files["folder"] / "bags.csv"
    told = run_command(
        *("privacy", "--target", files["target"], "--bag", "ward", "--shares", files["ward"]),
        *("--share-column", "share", "-o", output),
    )
    assert told.code == 0, told.words
    table = read_table(output)
    assert table.columns == ["release", "bag", "size", "share", "is_pure", "is_noisy"]
    assert table["size"].to_list() == [4] * 12
    assert table["is_pure"].sum() == expected(files).releases[0].is_pure.sum()


def test_noise_of_one_release_only(files: dict[str, Any]) -> None:
    told = run_command(*both(files, "--noise", "geometric:epsilon=1", "--noise", "none"))
    assert told.code == 0
    assert "none for sure" in told.words
    told = run_command(*both(files, "--noise", "geometric:epsilon=1"))
    assert "epsilon 2 in all" in told.words
    assert f"in all 0 of {N_ROWS} rows" in told.words


def test_contradicting_releases(files: dict[str, Any]) -> None:
    table = read_table(files["age"]).with_columns(yes=pl.lit(0))
    table.write_csv(files["age"])
    told = run_command(*both(files))
    assert told.code == 1
    assert "contradict each other" in told.err
    assert "of ages.csv" in told.err


def test_quiet(files: dict[str, Any]) -> None:
    told = run_command(*both(files, "--quiet"))
    assert told.out == ""
    assert "Warning: Aggregation alone" in told.err


def test_markup_and_formulas_are_text(files: dict[str, Any]) -> None:
    bad = {"ward 0": "<script>alert(1)</script>", "ward 1": "=cmd()", "ward 2": "\x1b[31mred"}
    for path in (files["target"], files["ward"]):
        read_table(path).with_columns(pl.col("ward").replace(bad)).write_csv(path)
    table = read_table(files["ward"])
    table.with_columns(yes=pl.lit(4), share=pl.lit(1.0)).write_csv(files["ward"])
    output = files["folder"] / "bags.csv"
    told = run_command(
        *("privacy", "--target", files["target"], "--bag", "ward", "--release", files["ward"]),
        *("--count-column", "yes", "-o", output),
    )
    assert told.code == 0
    assert "'<script>alert(1)</script>', '=cmd()'" in told.words
    assert "\x1b[31m" not in told.out
    assert "'=cmd()" in output.read_text(encoding="utf-8")
    assert ",=cmd()" not in output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--size-column", "a", "--size-column", "b", "--size-column", "c"], "--size-column is"),
        (["--epsilon", "-1"], "--epsilon must be a positive number"),
        (["--share-column", "share"], "not both"),
        (["--classes", "1"], "--classes"),
        (["--noise", "loud"], "--noise"),
    ],
)
def test_usage(files: dict[str, Any], arguments: list[str], words: str) -> None:
    told = run_command(*both(files, *arguments))
    assert told.code == 2
    assert words in told.words


@pytest.mark.parametrize("change", ["target", "output"])
def test_files_that_cannot_be_used(files: dict[str, Any], change: str) -> None:
    if change == "target":
        files["target"] = files["folder"] / "nowhere.csv"
        told = run_command(*both(files))
        assert "nowhere.csv does not exist" in told.err
    else:
        told = run_command(*both(files, "-o", files["age"]))
        assert "also read" in told.err
    assert told.code == 1


def test_unmatched_bags_can_be_dropped(files: dict[str, Any]) -> None:
    table = read_table(files["ward"])
    table.head(10).write_csv(files["ward"])
    assert run_command(*both(files)).code == 1
    told = run_command(*both(files, "--on-unmatched", "drop"))
    assert told.code == 0
    assert "Dropped:" in told.err
    assert "'ward 10', 'ward 11'" in told.err.replace("\n", " ")


# --- check --------------------------------------------------------------------------------


def check(files: dict[str, Any], *more: object) -> Any:
    return run_command(
        *("check", "--target", files["target"], "--bag", "ward", "--shares", files["ward"]),
        *("--count-column", "yes", *more),
    )


def test_check_says_what_bags_can_teach(files: dict[str, Any]) -> None:
    told = check(files)
    assert told.code == 0, told.words
    assert "Spread of shares" in told.out
    assert "variance ratio" in told.out
    assert "against training with true labels" in told.words


def test_check_names_a_union(files: dict[str, Any]) -> None:
    """Rows of a county listed again under its own name, and its number among the wards'."""
    people = read_table(files["target"])
    again = people.with_columns(ward=pl.lit("county"))
    pl.concat([people, again]).write_csv(files["target"])
    table = read_table(files["ward"])
    total = pl.DataFrame({"ward": ["county"], "yes": [table["yes"].sum()], "share": [0.5]})
    pl.concat([table, total], how="vertical_relaxed").write_csv(files["ward"])
    told = check(files)
    assert "warning: Bag 'county' looks like the union of bags 'ward 0'" in told.words
    assert told.code == 0


def test_check_names_near_identical_and_pure_bags(files: dict[str, Any]) -> None:
    for path in (files["target"], files["ward"]):
        changed = read_table(path).with_columns(pl.col("ward").replace({"ward 3": "Ward 2"}))
        changed.write_csv(path)
    table = read_table(files["ward"])
    table.with_columns(
        yes=pl.when(pl.col("ward") == "ward 5").then(0).otherwise(pl.col("yes"))
    ).write_csv(files["ward"])
    told = check(files)
    assert "'ward 2', 'Ward 2'" in told.words
    assert "letter case" in told.words
    assert "'ward 5'" in told.words
    assert told.words.count("share 0 or 1") == 1
