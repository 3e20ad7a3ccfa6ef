# SPDX-License-Identifier: BSD-3-Clause
"""Every row of the error contract, through the command line: one sentence, exit code 1."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Frame = pl.DataFrame


def set_value(column: str, row: int, value: Any) -> Callable[[Frame], Frame]:
    def change(frame: Frame) -> Frame:
        values = frame[column].to_list()
        values[row] = value
        return frame.with_columns(pl.Series(column, values, strict=False))

    return change


def refuse(outcome: Any, *fragments: str) -> None:
    """Exit code 1, nothing but one sentence on the error stream, with these words."""
    assert outcome.code == 1, outcome.words
    lines = outcome.err.strip().splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("Error: ")
    assert lines[0].endswith(".")
    assert "this should not happen" not in lines[0]
    for fragment in fragments:
        assert fragment in lines[0]


def listed(outcome: Any, *fragments: str) -> None:
    """``check`` lists it as an error and ends with exit code 1."""
    assert outcome.code == 1, outcome.words
    assert "error:" in outcome.out
    for fragment in fragments:
        assert fragment in outcome.words


# --- share outside [0, 1], NaN, infinite; percentages ---------------------------------------

BROKEN_SHARES: dict[str, tuple[Callable[[Frame], Frame], tuple[str, ...]]] = {
    "above one": (set_value("yes_share", 2, 1.2), ("yes_share", "outside 0 to 1", "'003'", "1.2")),
    "below zero": (set_value("yes_share", 0, -0.1), ("outside 0 to 1", "'001'", "-0.1")),
    "missing": (set_value("yes_share", 4, None), ("is missing for bag '005'", "--on-unmatched")),
    "not a number": (set_value("yes_share", 4, float("nan")), ("is missing for bag '005'",)),
    "infinite": (set_value("yes_share", 1, float("inf")), ("is infinite for bag '002'",)),
    "percentages": (
        lambda frame: frame.with_columns(pl.col("yes_share") * 100),
        ("looks like 0–100", "divide by 100"),
    ),
    "per cent signs": (
        lambda frame: frame.with_columns(yes_share=pl.format("{}%", "yes_share")),
        ("holds text", "without a percent sign"),
    ),
    "decimal commas": (
        lambda frame: frame.with_columns(
            yes_share=pl.col("yes_share").cast(pl.String).str.replace(".", ",", literal=True)
        ),
        ("holds text", "decimal point"),
    ),
}


@pytest.mark.parametrize("kind", BROKEN_SHARES)
def test_share_that_cannot_be_used(election: Any, kind: str) -> None:
    change, fragments = BROKEN_SHARES[kind]
    election.change(election.results, change)
    refuse(election.fit(), "results.csv", *fragments)
    assert not election.model.exists()
    if "holds text" not in fragments:
        listed(election.check(), *fragments)


def test_many_bags_are_named_by_the_first_five(election: Any) -> None:
    election.change(election.results, lambda f: f.with_columns(yes_share=-pl.col("yes_share") - 1))
    refuse(election.fit(), "'001', '002', '003', '004', '005' and 3 more")


# --- unmatched, duplicate and blank ids, total rows -----------------------------------------


def add_row(**values: Any) -> Callable[[Frame], Frame]:
    return lambda frame: pl.concat(
        [frame, Frame([values]).cast({"precinct": pl.String})], how="diagonal_relaxed"
    )


BROKEN_IDS: dict[str, tuple[str, Callable[[Frame], Frame], tuple[str, ...]]] = {
    "bag without share": (
        "results",
        lambda f: f.filter(pl.col("precinct") != "002"),
        ("1 bag of people.csv (6 rows) has no share in results.csv: '002'",),
    ),
    "bag without rows": (
        "people",
        lambda f: f.filter(pl.col("precinct") != "003"),
        ("results.csv has no rows in people.csv: '003'",),
    ),
    "repeated bag": (
        "results",
        lambda f: pl.concat([f, f.head(1)]),
        ("results.csv repeats bag '001'",),
    ),
    "blank id in the rows": (
        "people",
        set_value("precinct", 3, "  "),
        ("'precinct' of people.csv is blank in 1 row (row 4)",),
    ),
    "blank id in the table": (
        "results",
        add_row(precinct=None, yes_share=0.5, yes_votes=3, voters=100),
        ("'precinct' of results.csv is blank in 1 row (row 9)",),
    ),
    "total row": (
        "results",
        add_row(precinct="TOTAL", yes_share=0.5, yes_votes=24, voters=800),
        ("total row, 'TOTAL'",),
    ),
}


@pytest.mark.parametrize("kind", BROKEN_IDS)
def test_id_that_cannot_be_used(election: Any, kind: str) -> None:
    file, change, fragments = BROKEN_IDS[kind]
    election.change(getattr(election, file), change)
    refuse(election.fit(), *fragments, "--on-unmatched drop")
    listed(election.check(), *fragments)
    dropped = election.fit("--on-unmatched", "drop")
    assert dropped.code == 0, dropped.words
    assert "Dropped:" in dropped.err
    assert fragments[0] in dropped.err
    assert election.check("--on-unmatched", "drop").code == 0


def test_total_row_is_seen_by_its_count(election: Any) -> None:
    change = add_row(precinct="county", yes_share=0.5, yes_votes=24, voters=800)
    election.change(election.results, change)
    n_yes = pl.read_csv(election.results)["yes_votes"].head(8).sum()
    election.change(election.results, as_text_again(n_yes))
    refuse(election.fit(share_column=None, count_column="yes_votes"), "total row, 'county'")


def as_text_again(total: int) -> Callable[[Frame], Frame]:
    return lambda frame: frame.with_columns(
        yes_votes=pl.when(pl.col("precinct") == "county").then(total).otherwise("yes_votes")
    )


def test_rows_of_one_bag_that_disagree_are_never_dropped(election: Any) -> None:
    def twice(frame: Frame) -> Frame:
        return pl.concat([frame, frame.head(1).with_columns(yes_share=pl.lit(0.99))])

    election.change(election.results, twice)
    refuse(election.fit(), "disagree for bag '001'")
    refuse(election.fit("--on-unmatched", "drop"), "disagree for bag '001'")


def test_no_id_in_common_shows_both_kinds(election: Any) -> None:
    election.change(
        election.results, lambda f: f.with_columns(pl.col("precinct").str.strip_chars_start("0"))
    )
    refuse(election.fit(), "No bag id of people.csv", "'001'", "'1'", "zeros before")


@pytest.mark.parametrize(
    "strange", [pl.concat_list("precinct"), pl.duration(days="precinct")], ids=["lists", "times"]
)
def test_ids_that_are_no_ids(election: Any, strange: pl.Expr) -> None:
    path = election.folder / "results.parquet"
    pl.read_csv(election.results).with_columns(strange.alias("precinct")).write_parquet(path)
    refuse(election.fit(shares=path), "'precinct'", "cannot be an id")


def test_nothing_left_after_dropping(election: Any) -> None:
    election.change(
        election.results, lambda f: f.with_columns(yes_share=pl.lit(None, dtype=pl.Float64))
    )
    refuse(election.fit("--on-unmatched", "drop"), "No bag is left to learn from")
    assert "No bag is left" in election.check("--on-unmatched", "drop").words


def test_check_says_what_a_fit_would_read(election: Any) -> None:
    outcome = election.check()
    assert outcome.code == 0
    for word in ("positive class", "target", "history", "columns used", "No errors"):
        assert word in outcome.out


def test_check_lists_every_trouble_at_once(election: Any) -> None:
    election.change(
        election.results,
        lambda f: pl.concat(
            [
                f.filter(pl.col("precinct") != "002").with_columns(
                    yes_share=pl.when(pl.col("precinct") == "004").then(7.0).otherwise("yes_share")
                ),
                f.head(1),
                f.tail(1).with_columns(precinct=pl.lit("Grand Total")),
            ]
        ),
    )
    outcome = election.check()
    listed(outcome, "'002'", "outside 0 to 1", "repeats bag '001'", "'Grand Total'")
    assert "4 errors" in outcome.words
    refuse(election.fit(), "`bagshift check` shows 3 more")


# --- counts and sizes -----------------------------------------------------------------------


def test_count_that_is_not_whole(election: Any) -> None:
    election.change(election.results, set_value("yes_votes", 0, 2.5))
    refuse(
        election.fit(share_column=None, count_column="yes_votes"),
        "'yes_votes' of results.csv holds no count",
        "'001'",
        "2.5",
    )


def test_count_larger_than_the_bag(election: Any) -> None:
    election.change(election.results, set_value("yes_votes", 0, 7))
    options = {"share_column": None, "count_column": "yes_votes"}
    refuse(election.fit(**options), "larger than the rows of the bag", "'001': 7 of 6")
    sampled = election.fit(**options, size_column="voters")
    assert sampled.code == 0, sampled.words
    assert "declared sizes" in sampled.out


def test_declared_size_smaller_than_the_rows(election: Any) -> None:
    election.change(election.results, set_value("voters", 1, 5))
    refuse(
        election.fit(size_column="voters"),
        "smaller than the rows in people.csv",
        "'002': 5 against 6",
    )


def test_size_that_is_no_size(election: Any) -> None:
    election.change(election.results, set_value("voters", 1, 0))
    refuse(election.fit(size_column="voters"), "holds no size for bag '002'")


def test_share_that_changes_within_a_bag(election: Any) -> None:
    election.change(
        election.people, lambda f: f.with_columns(share=pl.int_range(pl.len()) % 2 / 2.0)
    )
    refuse(
        election.fit(shares=None, share_column="share"),
        "'share' of people.csv changes within bags '001'",
    )


# --- little information: warns, and works ----------------------------------------------------


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda f: f.with_columns(yes_share=pl.lit(0.5)), "All 8 bags have the share 0.5"),
        (lambda f: f.with_columns(yes_share=pl.int_range(pl.len()) % 2 * 1.0), "label of all"),
    ],
    ids=["equal shares", "pure bags"],
)
def test_bags_that_say_little(election: Any, change: Any, fragment: str) -> None:
    election.change(election.results, change)
    outcome = election.fit()
    assert outcome.code == 0, outcome.words
    assert f"Warning: {fragment}" in outcome.err or fragment in outcome.err
    assert fragment in election.check().words


def test_one_bag(election: Any) -> None:
    election.change(election.people, lambda f: f.with_columns(precinct=pl.lit("all of us")))
    election.change(
        election.results, lambda f: f.head(1).with_columns(precinct=pl.lit("all of us"))
    )
    outcome = election.fit()
    assert outcome.code == 0, outcome.words
    assert "Warning: There is one bag only" in outcome.err
    assert "not estimated" in outcome.words


# --- columns and their values ----------------------------------------------------------------


@pytest.mark.parametrize("number", [float("inf"), -float("inf"), 1e300])
def test_infinite_feature(election: Any, number: float) -> None:
    election.change(election.people, set_value("age", 0, number))
    refuse(election.fit(), "Column 'age' of people.csv is infinite or too large in 1 row")


def test_column_missing_at_predict_time(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.people, lambda f: f.drop("age", "town"))
    refuse(
        command("predict", election.model, election.people, "-o", election.folder / "out.csv"),
        "people.csv lacks columns 'age', 'town'",
    )
    assert not (election.folder / "out.csv").exists()


def test_extra_columns_and_another_order_are_mentioned(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    first, second = election.folder / "first.csv", election.folder / "second.csv"
    assert command("predict", election.model, election.people, "-o", first).code == 0
    election.change(
        election.people, lambda f: f.select(reversed(f.columns)).with_columns(shoe_size=pl.lit(42))
    )
    outcome = command("predict", election.model, election.people, "-o", second)
    assert outcome.code == 0
    assert "matched by name" in outcome.words
    assert "Column 'shoe_size' is not part of the model; ignored." in outcome.words
    assert first.read_text() == second.read_text()


def test_column_of_another_kind_at_predict_time(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.people, lambda f: f.with_columns(age=pl.lit("old")))
    refuse(
        command("predict", election.model, election.people, "-o", election.folder / "out.csv"),
        "Column 'age' holds text in people.csv but held numbers",
    )


def test_column_of_another_kind_in_the_history(election: Any) -> None:
    election.change(election.history, lambda f: f.with_columns(age=pl.lit("x")))
    refuse(election.fit(), "Column 'age' holds numbers in people.csv but text in history.parquet")


def test_history_without_common_columns(election: Any) -> None:
    election.change(
        election.history,
        lambda f: f.rename({name: f"{name}_then" for name in f.columns if name != "voted"}),
    )
    refuse(election.fit(), "people.csv and history.parquet have no column in common")


def test_column_of_one_file_only_is_ignored_and_said(election: Any) -> None:
    election.change(election.history, lambda f: f.drop("income").with_columns(weight=pl.lit(1.0)))
    outcome = election.fit()
    assert outcome.code == 0
    assert "'income', 'truth': not in history.parquet" in outcome.words
    assert "'weight': not in people.csv" in outcome.words


def test_history_of_one_class(election: Any) -> None:
    election.change(election.history, lambda f: f.filter(pl.col("voted") == "yes"))
    refuse(election.fit(), "'voted' of history.parquet holds one class only, 'yes'")


def test_history_of_three_classes(election: Any) -> None:
    election.change(election.history, set_value("voted", 0, "abstained"))
    refuse(election.fit(), "3 classes", "give the shares of all of them")


def test_history_on_another_scale(election: Any) -> None:
    election.change(election.history, lambda f: f.with_columns(pl.col("age", "income") * 1000))
    outcome = election.fit(columns="age,income")
    assert outcome.code == 0
    assert "Warning: the columns of history and target are on different scales" in outcome.err


def test_which_class_must_be_said(election: Any) -> None:
    refuse(election.fit(positive=None), "'no', 'yes'", "--positive")
    refuse(election.fit(positive="Yes"), "'Yes' (--positive) is not a label", "'no', 'yes'")


def test_shares_of_the_other_class_are_noticed(election: Any) -> None:
    election.change(
        election.results, lambda f: f.with_columns(yes_share=1 - pl.col("yes_share") / 8)
    )
    election.change(
        election.history,
        lambda f: f.with_columns(
            voted=pl.when(pl.int_range(pl.len()) % 16 == 0)
            .then(pl.lit("yes"))
            .otherwise(pl.lit("no"))
        ),
    )
    outcome = election.fit()
    assert outcome.code == 0
    assert "fit far better" in outcome.err
    assert "--positive" in outcome.err


def test_missing_column_suggests_the_nearest(election: Any) -> None:
    refuse(
        election.fit(share_column="Yes_Share"),
        "results.csv has no column 'Yes_Share' (did you mean 'yes_share'?)",
    )
    refuse(election.fit(id="persons"), "people.csv has no column 'persons'", "'person'")


# --- memory ----------------------------------------------------------------------------------


def test_kernel_matrix_that_does_not_fit(election: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bagshift.kernels._memory.SMALL", 0)
    monkeypatch.setattr("bagshift.kernels._memory.free_memory", lambda: 1000)
    refuse(election.fit(), "low-rank map of 108 rows", "are free")
    refuse(election.fit(method="tgplm"), "kernel matrix", "are free")
    assert not election.model.exists()


# --- model files -----------------------------------------------------------------------------


class Bomb:
    """Writes a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def zip_of(schema: dict[str, Any], **members: bytes) -> bytes:
    buffer = io.BytesIO()
    rows = io.BytesIO()
    np.save(rows, np.empty(0, np.uint64))
    manifest = {
        "method": "tgplm",
        "classes": ["no", "yes"],
        "positive": "yes",
        "columns": {"age": "number"},
        "versions": {},
        "fit": {},
        "format": 1,
    }
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("fitted_rows.npy", rows.getvalue())
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def foreign_files(folder: Path) -> dict[str, tuple[bytes, str]]:
    touch = [
        {
            "__class__": "str",
            "__module__": "builtins",
            "__loader__": "JsonNode",
            "content": json.dumps(f"touch {folder / 'executed'}"),
        }
    ]
    function = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}
    call = {
        "__class__": "system",
        "__module__": "os",
        "__loader__": "ConstructorFromReduceNode",
        "content": {
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "content": touch,
        },
    }
    return {
        "pickle": (pickle.dumps(Bomb(folder / "executed")), "damaged or not a model file"),
        "text": (b"hello", "damaged or not a model file"),
        "empty": (b"", "damaged or not a model file"),
        "function": (zip_of(function | {"protocol": 2}), "'os.system'"),
        "call": (zip_of(call | {"protocol": 2}), "'os.system'"),
        "old protocol": (zip_of({"protocol": 0}), "protocol 0"),
        "no schema": (zip_of({}), "contents cannot be read"),
    }


@pytest.mark.parametrize("kind", list(foreign_files(Path())))
def test_foreign_model_file(election: Any, command: Any, tmp_path: Path, kind: str) -> None:
    content, fragment = foreign_files(tmp_path)[kind]
    election.model.write_bytes(content)
    refuse(
        command("predict", election.model, election.people, "-o", tmp_path / "out.csv"),
        f"{election.model} was refused",
        fragment,
    )
    assert not (tmp_path / "executed").exists()


def test_truncated_model_file(election: Any, command: Any, tmp_path: Path) -> None:
    assert election.fit().code == 0
    whole = election.model.read_bytes()
    for length in (len(whole) // 2, len(whole) - 10):
        election.model.write_bytes(whole[:length])
        refuse(
            command("evaluate", election.model, "--target", election.people, "--label", "truth"),
            "was refused: it is damaged or not a model file",
        )


def test_missing_model_file(election: Any, command: Any) -> None:
    refuse(command("predict", election.model, election.people, "-o", "out.csv"), "does not exist")


# --- ids and labels that a spreadsheet would run ----------------------------------------------


def test_formulas_are_neutralised_in_csv(election: Any, command: Any, tmp_path: Path) -> None:
    election.change(
        election.history,
        lambda f: f.with_columns(
            voted=pl.when(pl.col("voted") == "yes").then(pl.lit("=cmd()")).otherwise(pl.lit("@no"))
        ),
    )
    election.change(
        election.people,
        lambda f: f.with_columns(person=pl.format("+{}<script>", "person")),
    )
    assert election.fit(positive="=cmd()").code == 0
    csv, parquet = tmp_path / "out.csv", tmp_path / "out.parquet"
    for output in (csv, parquet):
        outcome = command("predict", election.model, election.people, "-o", output)
        assert outcome.code == 0
    cells = pl.read_csv(csv)
    assert set(cells["label"]) == {"'=cmd()", "'@no"}
    assert cells["person"].str.starts_with("'+p").all()
    assert set(pl.read_parquet(parquet)["label"]) == {"=cmd()", "@no"}


def test_control_characters_do_not_reach_the_terminal(election: Any) -> None:
    election.change(
        election.results,
        add_row(precinct="\x1b[2Jgone", yes_share=0.5, yes_votes=3, voters=100),
    )
    outcome = election.fit()
    assert outcome.code == 1
    assert "\x1b" not in outcome.words
    assert "\x1b" not in election.check().words


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "fragment"),
    [
        ("none.csv", None, "does not exist"),
        ("people.xlsx", b"x", "ends in '.xlsx'"),
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"precinct,age\n", "has no rows"),
        ("twice.csv", b"age,age\n1,2\n", "more than one column 'age'"),
        ("latin.csv", "precinct,näme\n1,2\n".encode("latin-1"), "not UTF-8"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as CSV"),
        ("broken.parquet", b"hello", "cannot be read as Parquet"),
    ],
)
def test_file_that_cannot_be_read(
    election: Any, name: str, content: bytes | None, fragment: str
) -> None:
    path = election.folder / name
    if content is not None:
        path.write_bytes(content)
    refuse(election.fit(target=path), name, fragment)
    refuse(election.check(target=path), name, fragment)


def test_output_that_cannot_be_written_is_refused_before_the_work(
    election: Any, command: Any
) -> None:
    nowhere = election.folder / "nowhere" / "model.skops"
    refuse(command("fit", *election.fit_options(), "-o", nowhere), "there is no folder", "nowhere")
    assert election.fit().code == 0
    refuse(
        command("predict", election.model, election.people, "-o", election.folder / "out.xlsx"),
        "ends in '.xlsx'",
    )


# --- usage: exit code 2 ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"bag": None}, "--bag"),
        ({"share_column": None}, "--share-column or --count-column"),
        ({"count_column": "yes_votes"}, "not both"),
        ({"label": None}, "--source needs --label"),
        ({"source": None, "shares_bag": "x"}, "--label goes with --source"),
        ({"method": "nonsense"}, "nonsense"),
        ({"gamma": "wide"}, "--gamma"),
        ({"gamma": "-1"}, "--gamma"),
        ({"coupling": "-1"}, "coupling"),
        ({"method": "svm", "coupling": "1"}, "--coupling has no effect"),
        ({"source": None, "label": None, "coupling": "1"}, "no effect without --source"),
        ({"source": None, "label": None, "c_source": "1"}, "no effect without --source"),
        ({"noise": "guessed"}, "'guessed' is no noise"),
        ({"noise": "laplace:scale=2"}, "needs unit=counts or unit=shares"),
        ({"noise": "laplace:scale=0,unit=counts"}, "scale of LaplaceNoise must be"),
        ({"noise": "laplace:scale=two,unit=counts"}, "is a number, not 'two'"),
        ({"noise": "gaussian:unit=shares"}, "takes scale= or column="),
        ({"noise": "geometric:epsilon=1,column=e"}, "not both"),
        ({"noise": "geometric:scale=1"}, "'scale=1' is not understood"),
        ({"noise": "rounding:digits=1.5"}, "digits of Rounding must be a whole number"),
    ],
)
def test_command_that_is_not_understood(
    election: Any, change: dict[str, Any], fragment: str
) -> None:
    outcome = election.fit(**change)
    assert outcome.code == 2, outcome.words
    assert fragment in outcome.words


def test_the_grid_of_the_paper_goes_with_its_machines(election: Any) -> None:
    outcome = election.fit("--search", "paper")
    assert outcome.code == 2, outcome.words
    assert "--search paper is the grid of the paper's machines" in outcome.words


# --- what should not happen ---------------------------------------------------------------------


def test_unexpected_error_is_a_sentence(election: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("bagshift.workflows.inputs.read_table", fail)
    outcome = election.fit()
    assert outcome.code == 1
    assert outcome.err.startswith("Error: RuntimeError: two lines (this should not happen")
    assert len(outcome.err.strip().splitlines()) == 1
    with pytest.raises(RuntimeError, match="two"):
        election.fit("--debug")


def test_interrupt_leaves_nothing_behind(
    election: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert election.fit().code == 0
    before = election.model.read_bytes()
    listing = sorted(election.folder.iterdir())

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bagshift.persistence._with_papers", interrupt)
    outcome = election.fit()
    assert outcome.code == 130
    assert outcome.err.strip() == "Interrupted; nothing was written."
    assert election.model.read_bytes() == before
    assert sorted(election.folder.iterdir()) == listing
