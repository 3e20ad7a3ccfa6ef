# SPDX-License-Identifier: BSD-3-Clause
"""Trouble that is told before a model is loaded or fitted, and what a fit suggests next."""

from __future__ import annotations

import json
import shlex
import zipfile
from typing import Any

import polars as pl
import pytest

from bagshift.workflows.first_look import read_description
from bagshift.workflows.noise import NoiseRequest, noise_at_fit

SHARES = ("--share-column", "yes_share")


def refused(outcome: Any, fragment: str) -> None:
    assert outcome.code == 1, outcome.words
    assert len(outcome.err.strip().splitlines()) == 1
    assert fragment in outcome.err


@pytest.fixture
def papers(election: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Leave a model file that only says what it is; loading it would be noticed."""

    def fail(*_: Any) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr("bagshift.workflows.models.load_model", fail)
    manifest = {"columns": {"age": "number", "town": "text"}, "bag_column": "precinct"}
    with zipfile.ZipFile(election.model, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
    return election


def test_columns_are_looked_for_before_the_model_is_loaded(papers: Any, command: Any) -> None:
    out = ("-o", papers.folder / "out.csv")
    predict = ("predict", papers.model, papers.people, *out)
    evaluate = ("evaluate", papers.model, "--target", papers.people)
    shares = ("--shares", papers.results)
    refused(command(*predict, "--id", "persn"), "people.csv has no column 'persn'")
    refused(command(*evaluate, "--label", "trut"), "no column 'trut' (did you mean 'truth'?)")
    for start in (predict, evaluate):
        wrong = command(*start, *shares, "--share-column", "yes_shar")
        refused(wrong, "results.csv has no column 'yes_shar'")
        refused(command(*start, *SHARES), "people.csv has no column 'yes_share'")
        refused(command(*start, *SHARES, *shares, "--bag", "place"), "no column 'place'")
        noise = ("--noise", "laplace:column=se,unit=shares")
        refused(command(*start, *SHARES, *shares, *noise), "results.csv has no column 'se'")
    papers.change(papers.people, lambda f: f.drop("town"))
    refused(command(*predict), "people.csv lacks column 'town' that the model was fitted on")


def test_swapped_files(papers: Any, command: Any) -> None:
    out = ("-o", papers.folder / "out.csv")
    refused(
        command("predict", papers.people, papers.model, *out),
        f"{papers.people} is not a bagshift model; the order is MODEL ROWS.",
    )
    refused(
        command("predict", papers.model, papers.model, *out),
        f"{papers.model} is a bagshift model and no table; the order is MODEL ROWS.",
    )
    refused(
        command("evaluate", papers.people, "--target", papers.model, "--label", "truth"),
        "is not a bagshift model; the order is MODEL --target ROWS.",
    )


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 broken"])
def test_files_that_say_nothing_of_themselves(tmp_path: Any, content: bytes) -> None:
    path = tmp_path / "file"
    assert read_description(path) is None
    path.write_bytes(content)
    assert read_description(path) is None
    for member in (b"[1]", b"{", b"\xff", b"[" * 100_000):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", member)
        assert read_description(path) is None


@pytest.mark.parametrize("known", [None, 1, {}, {"law": "guess"}, {"law": "laplace"}, {"x": 1}])
def test_law_of_the_fit_that_is_not_understood(known: Any) -> None:
    assert noise_at_fit({"noise": known}) is None


def test_law_of_the_fit() -> None:
    law = NoiseRequest("gaussian", column="se", unit="shares")
    assert noise_at_fit({"noise": law.as_dict()}) == law
    assert law.as_option() == "gaussian:column=se,unit=shares"


# --- the class of the shares ---------------------------------------------------------------


def test_column_named_after_the_other_class(election: Any) -> None:
    for outcome in (election.check(positive="no"), election.fit(positive="no")):
        assert outcome.code == 0, outcome.words
        assert (
            "Column 'yes_share' looks like it is about yes, but is taken as that of no; if it is "
            "about yes, give --positive yes."
        ) in outcome.words
    for outcome in (election.check(), election.check(source=None, label=None)):
        assert "looks like it is about" not in outcome.words


def test_words_within_words_do_not_count(election: Any) -> None:
    election.change(election.results, lambda f: f.rename({"yes_share": "eyes_noted"}))
    checked = election.check(positive="no", share_column="eyes_noted")
    assert checked.code == 0, checked.words
    assert "looks like it is about" not in checked.words


# --- numbers and laws that do not go together ----------------------------------------------


def test_numbers_that_no_noise_explains(election: Any) -> None:
    far = pl.when(pl.col("precinct") == "004").then(9.0).otherwise("yes_share")
    election.change(election.results, lambda f: f.with_columns(yes_share=far))
    law = {"noise": "gaussian:scale=0.01,unit=shares"}
    fitted, checked = election.fit(**law), election.check(**law)
    assert fitted.code == checked.code == 1
    assert fitted.err.strip().removeprefix("Error: ") in checked.words
    assert "or the law of --noise" in fitted.err


@pytest.mark.parametrize(
    ("law", "fragment"),
    [
        ("laplace:scale=2,unit=shares", "if the scale is in individuals write unit=counts"),
        ("laplace:scale=0.03,unit=counts", "if the scale is in shares write unit=shares"),
    ],
)
def test_scale_in_the_wrong_unit(election: Any, law: str, fragment: str) -> None:
    assert fragment in election.check(noise=law).words
    right = law.replace("counts", "x").replace("shares", "counts").replace("x", "shares")
    assert "if the scale is" not in election.check(noise=right).words


def test_unknown_unit(election: Any) -> None:
    checked = election.check(noise="laplace:scale=2,unit=percent")
    assert checked.code == 2
    assert "needs unit=counts or unit=shares, not 'percent'" in " ".join(
        checked.words.replace("│", " ").split()
    )


# --- what is dropped ------------------------------------------------------------------------


def test_what_is_dropped_is_said(election: Any) -> None:
    election.change(
        election.results,
        lambda f: f.filter(pl.col("precinct") != "002").with_columns(
            yes_share=pl.when(pl.col("precinct") == "005").then(None).otherwise("yes_share")
        ),
    )
    checked = election.check("--on-unmatched", "drop")
    assert checked.code == 0, checked.words
    assert "has no share in results.csv: '002'; these 6 rows are kept in no bag." in checked.words
    assert "is missing for bag '005'; these 6 rows are kept in no bag." in checked.words


# --- what comes next ------------------------------------------------------------------------


def commands_after(outcome: Any) -> list[list[str]]:
    assert outcome.code == 0, outcome.words
    lines = outcome.out.partition("Next:")[2].splitlines()
    return [shlex.split(line) for line in lines if line.startswith("  bagshift")]


def test_suggested_commands_work(
    election: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(election.folder)
    election.change(election.people, lambda f: f.rename({"person": "person name"}))
    plain, in_bags = commands_after(election.fit(id=None))
    assert plain[4:] == ["--id", "person name", "-o", "predictions.csv"]
    for words in (plain, in_bags):
        done = command(*words[1:])
        assert done.code == 0, done.words
    found = pl.read_csv(election.folder / "in_bags.csv")
    assert found.columns[0] == "person name"
    assert "probability_in_bag_yes" in found.columns
    plain, *others = commands_after(election.fit(id="person name", method="tgplm"))
    assert plain[4:] == ["-o", "predictions.csv"]
    assert others == []
