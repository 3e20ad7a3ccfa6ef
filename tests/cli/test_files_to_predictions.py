# SPDX-License-Identifier: BSD-3-Clause
"""The command line end to end: what users do with their files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest


def predictions(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides={"person": pl.String})


def test_from_files_to_predictions(election: Any, command: Any, tmp_path: Path) -> None:
    fitted = election.fit()
    assert fitted.code == 0, fitted.words
    assert fitted.words.startswith("Read positive class yes: the shares are of this class")
    for fact in (
        "people.csv: 48 rows in 8 bags",
        "6 rows each",
        "history.parquet: 60 rows",
        "3 numbers (age, income, member); 1 text (town); 1 date (moved)",
        "'person': id of the row",
        "'truth': not in history.parquet",
        "on held-out bags",
        "not the accuracy of rows",
        "held-out counts probability 0.",
        "without the columns",
        "a bag's mean probability from its given share",
        "start=",
        "training rows are inside",
        "bagshift predict",
    ):
        assert fact in fitted.words, fact
    output = tmp_path / "out.csv"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    result = predictions(output)
    assert result.columns == ["person", "label", "probability_no", "probability_yes", "decision"]
    assert result["person"].to_list() == [f"p{k}" for k in range(48)]
    is_yes = result["label"] == "yes"
    assert (is_yes == (result["decision"] > 0)).all()
    assert (is_yes == (result["probability_yes"] > 0.5)).all()
    np.testing.assert_allclose(result["probability_no"] + result["probability_yes"], 1.0)
    truth = pl.read_csv(election.people)["truth"]
    assert float((result["label"] == truth).mean()) > 0.75


@pytest.mark.parametrize(
    ("positive", "negative"), [("yes", "no"), ("Aye", "no"), ("0", "1"), ("false", "true")]
)
@pytest.mark.parametrize("method", ["count-likelihood", "tgplm", "ic-svm", "svm"])
def test_columns_mean_the_same_whichever_class_sorts_first(
    election: Any, command: Any, positive: str, negative: str, method: str
) -> None:
    """Shares are of a class that stands after the other one, or before it."""
    words = {"yes": positive, "no": negative}
    election.change(
        election.history, lambda f: f.with_columns(pl.col("voted").replace_strict(words))
    )
    election.change(
        election.people, lambda f: f.with_columns(pl.col("truth").replace_strict(words))
    )
    fitted = election.fit(method=method, positive=positive)
    assert fitted.code == 0, fitted.words
    output = election.folder / "out.csv"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    result = pl.read_csv(output, infer_schema=False)
    is_positive = (result["label"].str.to_lowercase() == positive.lower()).to_numpy()
    assert (is_positive == (result["decision"].cast(pl.Float64) > 0).to_numpy()).all()
    if method != "svm":
        name = next(c for c in result.columns if c.lower() == f"probability_{positive.lower()}")
        assert (is_positive == (result[name].cast(pl.Float64) > 0.5).to_numpy()).all()
    truth = pl.read_csv(election.people, infer_schema=False)["truth"].to_numpy()
    accuracy = float((is_positive == (truth == positive)).mean())
    assert accuracy > 0.7
    found = command(
        "evaluate",
        election.model,
        *("--target", election.people, "--label", "truth"),
        *("--shares", election.results, "--share-column", "yes_share"),
    )
    assert f"accuracy {accuracy:.3f} on 48 in-sample rows" in found.words
    shares = pl.read_csv(election.results)["yes_share"].to_numpy()
    error = np.abs(is_positive.reshape(-1, 6).mean(axis=1) - shares).mean()
    assert f"{is_positive.mean():.3f} of the rows are labelled " in found.words
    assert f"{np.abs(shares - shares.mean()).mean():.3f} without the columns" in found.words
    if method == "svm":
        assert f"share error {error:.3f} over 8 bags" in found.words
        return
    probability = result[name].cast(pl.Float64).to_numpy()
    expected = np.abs(probability.reshape(-1, 6).mean(axis=1) - shares).mean()
    assert f"predicted share {probability.mean():.3f}, the mean probability of" in found.words
    assert f"share error {expected:.3f} over 8 bags" in found.words
    assert f"{error:.3f} if predicted labels are counted instead" in found.words


def test_files_of_either_kind_give_the_same_predictions(
    election: Any, command: Any, tmp_path: Path
) -> None:
    ids = {"precinct": pl.String}
    for source, target in (("people.csv", "people.parquet"), ("results.csv", "results.parquet")):
        frame = pl.read_csv(election.folder / source, schema_overrides=ids, try_parse_dates=True)
        frame.write_parquet(election.folder / target)
    pl.read_parquet(election.history).write_csv(election.folder / "history.csv")
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert election.fit().code == 0
    assert command("predict", election.model, election.people, "-o", first).code == 0
    folder = election.folder
    outcome = election.fit(
        target=folder / "people.parquet",
        shares=folder / "results.parquet",
        source=folder / "history.csv",
    )
    assert outcome.code == 0, outcome.words
    assert command("predict", election.model, folder / "people.parquet", "-o", second).code == 0
    assert first.read_text() == second.read_text()


def test_whole_number_ids_meet_across_file_kinds(election: Any) -> None:
    election.change(
        election.people, lambda f: f.with_columns(pl.col("precinct").str.strip_chars_start("0"))
    )
    numbers = pl.read_csv(election.results).with_columns(pl.col("precinct").cast(pl.Float64))
    numbers.write_parquet(election.folder / "results.parquet")
    outcome = election.fit(shares=election.folder / "results.parquet")
    assert outcome.code == 0, outcome.words


@pytest.mark.parametrize("method", ["count-likelihood", "tgplm", "ic-svm", "svm"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_every_method(election: Any, command: Any, method: str, kernel: str) -> None:
    fitted = election.fit(method=method, kernel=kernel)
    assert fitted.code == 0, fitted.words
    assert f"Fitted {method}" in fitted.words
    assert ("training rows are inside" in fitted.words) == (kernel != "linear")
    output = election.folder / "out.csv"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    assert ("probability_yes" in predictions(output).columns) == (method != "svm")
    found = command(
        "evaluate",
        election.model,
        "--target",
        election.people,
        "--shares",
        election.results,
        "--share-column",
        "yes_share",
        "--label",
        "truth",
    )
    assert found.code == 0, found.words
    assert "in-sample" in found.words


def test_without_history(election: Any, command: Any) -> None:
    fitted = election.fit(source=None, label=None)
    assert fitted.code == 0, fitted.words
    assert "Fitted count-likelihood" in fitted.words
    assert "history none" in fitted.words
    output = election.folder / "out.csv"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    assert set(predictions(output)["label"]) == {"yes", "not yes"}
    assert election.fit(source=None, label=None, positive=None).code == 0
    assert command("predict", election.model, election.people, "-o", output).code == 0
    assert set(predictions(output)["label"]) == {0, 1}


def test_settings_that_are_given_are_kept(election: Any) -> None:
    fitted = election.fit(
        "--search", "quick", c_source=2, c_target=8, coupling="inf", gamma=0.25, seed=3
    )
    assert fitted.code == 0, fitted.words
    assert "C_source=2, C_target=8, coupling=inf, kernel=rbf, gamma=0.25" in fitted.words
    fitted = election.fit("--search", "quick", method="tgplm", coupling=0)
    assert "coupling=0, " in fitted.words
    assert "the best of 18 settings" in fitted.words


def test_counts_with_sizes_and_shares_beside_the_rows(election: Any) -> None:
    by_share = election.fit()
    by_count = election.fit(share_column=None, count_column="yes_votes")

    def errors(outcome: Any) -> str:
        return str(outcome.words.partition("share error")[2].partition("saved")[0])

    assert by_share.code == by_count.code == 0
    assert errors(by_share) == errors(by_count)
    table = pl.read_csv(election.results, schema_overrides={"precinct": pl.String})
    election.change(
        election.people,
        lambda f: f.join(table.select("precinct", "yes_share"), on="precinct"),
    )
    beside = election.fit(shares=None)
    assert beside.code == 0, beside.words
    assert "'yes_share': share" in beside.words
    assert errors(beside) == errors(by_share)


def test_bag_column_of_another_name(election: Any) -> None:
    election.change(election.results, lambda f: f.rename({"precinct": "district"}))
    assert election.fit().code == 1
    assert election.fit(shares_bag="district").code == 0


def test_columns_asked_for_and_left_out(election: Any) -> None:
    outcome = election.fit(columns="age, town")
    assert "columns used 1 number (age); 1 text (town)" in outcome.words
    outcome = election.fit(ignore="age,town")
    assert "'age', 'town': left out on request" in outcome.words
    outcome = election.fit(columns="age,precinct")
    assert outcome.code == 1
    assert "'precinct' cannot be learned from: bag id" in outcome.words


def test_column_to_ignore_that_does_not_exist(election: Any) -> None:
    for outcome in (election.fit("--ignore", "agee"), election.check("--ignore", "agee")):
        assert outcome.code == 1
        assert "people.csv has no column 'agee' (did you mean 'age'?)" in outcome.words
    assert not election.model.exists()


def test_lines_do_not_end_in_blanks(election: Any, command: Any) -> None:
    fitted = election.fit()
    shares = ["--shares", election.results, "--share-column", "yes_share"]
    found = command("evaluate", election.model, "--target", election.people, *shares)
    for line in (fitted.out + found.out + election.check().out).splitlines():
        assert line == line.rstrip()


def test_quiet_says_nothing(election: Any, command: Any) -> None:
    outcome = election.fit("--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    output = election.folder / "out.parquet"
    outcome = command("predict", election.model, election.people, "-o", output, "-q")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_fresh_and_in_sample_rows_are_kept_apart(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    mixed = election.folder / "mixed.csv"
    people = pl.read_csv(election.people, schema_overrides={"precinct": pl.String})
    older = people.head(12).with_columns(age=pl.col("age") + 1)
    pl.concat([people, older]).write_csv(mixed)
    found = command("evaluate", election.model, "--target", mixed, "--label", "truth")
    assert found.code == 0, found.words
    assert "48 in-sample (fitted on) and 12 fresh" in found.words
    assert "on 12 fresh rows" in found.words
    assert "on 48 in-sample rows" in found.words


def test_evaluate_shows_the_worst_bags(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    shares = ["--shares", election.results, "--share-column", "yes_share"]
    evaluate = ["evaluate", election.model, "--target", election.people, *shares, "--worst", "2"]
    assert "Worst bags" in command(*evaluate).words
    election.change(election.results, lambda f: f.with_columns(yes_share=1 - pl.col("yes_share")))
    found = command(*evaluate)
    assert found.code == 0, found.words
    assert "over 8 bags, 8 of which the model was fitted on" in found.words
    lines = found.out.partition("Worst bags")[2].strip().splitlines()
    assert lines[0].split() == ["bag", "rows", "given", "predicted", "labelled", "error"]
    assert len(lines) == 3


def test_evaluate_needs_something_to_compare_with(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    assert command("evaluate", election.model, "--target", election.people).code == 2


def test_unknown_label_in_evaluate(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.people, lambda f: f.with_columns(truth=pl.lit("maybe")))
    found = command("evaluate", election.model, "--target", election.people, "--label", "truth")
    assert found.code == 1
    assert "holds 'maybe'; the model knows 'no', 'yes'." in found.words


def test_new_category_is_mentioned(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.people, lambda f: f.with_columns(town=pl.lit("elsewhere")))
    output = election.folder / "out.csv"
    outcome = command("predict", election.model, election.people, "-o", output)
    assert outcome.code == 0
    assert "some categories were never seen" in outcome.err


def test_row_numbers_stand_in_for_a_missing_id(election: Any, command: Any) -> None:
    assert election.fit(id=None, ignore="person").code == 0
    output = election.folder / "out.csv"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    assert predictions(output)["row"].to_list() == list(range(1, 49))
    outcome = command("predict", election.model, election.people, "-o", output, "--id", "precinct")
    assert outcome.code == 0
    assert pl.read_csv(output, infer_schema=False)["precinct"][0] == "001"


def test_manifest_says_what_the_model_is(election: Any) -> None:
    assert election.fit().code == 0
    with zipfile.ZipFile(election.model) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["method"] == "count-likelihood"
    assert manifest["classes"] == ["no", "yes"]
    assert manifest["positive"] == "yes"
    assert manifest["columns"]["moved"] == "date"
    assert manifest["holds_training_rows"] is True
    assert {"bagshift", "numpy", "scikit-learn", "skrub", "python"} <= set(manifest["versions"])
    assert manifest["fit"]["n_bags"] == 8
    assert manifest["fit"]["converged"] is True
    assert manifest["fit"]["held_out_counts"]["is_exact"] is True


def test_output_has_one_probability_per_class(election: Any, command: Any) -> None:
    """Rows x classes, in the order of the classes, so that more classes only add columns."""
    assert election.fit().code == 0
    output = election.folder / "out.parquet"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    result = pl.read_parquet(output)
    with zipfile.ZipFile(election.model) as archive:
        classes = json.loads(archive.read("manifest.json"))["classes"]
    assert [c for c in result.columns if c.startswith("probability_")] == [
        f"probability_{label}" for label in classes
    ]
