# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift report``, from files to a page."""

import base64
import re

import numpy as np
import polars as pl
import pytest

from cli.conftest import run_command

N_BAGS = 20


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of voters in precincts, fitted with a survey, and the files that it came from."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8 * N_BAGS, 2))
    labels = X[:, 0] + 0.5 * rng.logistic(size=len(X)) > 0
    bag = np.repeat(np.arange(N_BAGS), 8)
    names = np.array(["<script>alert(1)</script>", *(f"p{k}" for k in range(1, N_BAGS))])
    people = pl.DataFrame(
        {"person": [f"q{k}" for k in range(len(X))], "precinct": names[bag], "x": X[:, 0]}
    ).with_columns(y=pl.Series(X[:, 1]))
    people.write_csv(folder / "people.csv")
    shares = np.bincount(bag, labels) / 8
    pl.DataFrame({"precinct": names, "yes": shares}).write_csv(folder / "results.csv")
    survey = rng.normal(size=(60, 2))
    voted = np.where(survey[:, 0] + 0.5 * rng.logistic(size=60) > 0, "yes", "no")
    history = pl.DataFrame({"x": survey[:, 0], "y": survey[:, 1], "voted": voted})
    history.write_csv(folder / "history.csv")
    done = run_command(
        *("fit", "--target", folder / "people.csv", "--bag", "precinct", "--id", "person"),
        *("--shares", folder / "results.csv", "--share-column", "yes"),
        *("--source", folder / "history.csv", "--label", "voted", "--positive", "yes"),
        *("--search", "none", "-o", folder / "model.skops"),
    )
    assert done.code == 0, done.words
    return folder


def order(files, output, *more, **changed):
    options = {
        "target": files / "people.csv",
        "shares": files / "results.csv",
        "share-column": "yes",
        "source": files / "history.csv",
        "output": output,
        **changed,
    }
    given = [
        word
        for name, value in options.items()
        if value is not None
        for word in (f"--{name}", value)
    ]
    return ("report", files / "model.skops", *given, *more)


def test_from_files_to_a_page(files, tmp_path):
    told = run_command(*order(files, tmp_path / "report.html"))
    assert told.code == 0
    assert "saved" in told.words
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in ("people.csv", "results.csv", "history.csv", "CountLikelihoodClassifier"):
        assert name in page
    assert 'id="history"' in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "q17" not in page
    for warning in re.findall(r"<li>([^<]*)</li>", page.split("Before you use it")[1])[:1]:
        assert warning.replace("&#39;", "'")[:40] in " ".join(told.words.split())


def test_without_history(files, tmp_path):
    told = run_command(*order(files, tmp_path / "report.html", source=None))
    assert told.code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="history"' not in page
    assert "fitted with labelled history, which was not given here" in page
    assert "which was not given here" in " ".join(told.words.split())


def test_history_of_a_model_that_had_none(files, tmp_path):
    done = run_command(
        *("fit", "--target", files / "people.csv", "--bag", "precinct", "--id", "person"),
        *("--shares", files / "results.csv", "--share-column", "yes", "--positive", "yes"),
        *("--search", "none", "-o", tmp_path / "alone.skops"),
    )
    assert done.code == 0, done.words
    asked = list(order(files, tmp_path / "report.html"))
    asked[1] = tmp_path / "alone.skops"
    told = run_command(*asked)
    assert told.code == 1
    assert "fitted without labelled history" in told.words
    assert not (tmp_path / "report.html").exists()
    told = run_command(*asked[: asked.index("--source")], "-o", tmp_path / "report.html")
    assert told.code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "labelled history, which" not in page


def test_rows_only_when_asked_for(files, tmp_path):
    told = run_command(*order(files, tmp_path / "report.html", "--include-rows"))
    assert told.code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "q17" in page
    held = page.split('download="predictions.csv" href="data:text/csv;charset=utf-8;base64,')[1]
    table = pl.read_csv(base64.b64decode(held.split('"')[0]))
    assert table.height == 8 * N_BAGS


@pytest.mark.parametrize(
    ("changed", "more", "code", "sentence"),
    [
        ({"output": "report.pdf"}, (), 2, "must end in .html"),
        ({"source": None}, ("--label", "voted"), 2, "--label is the column of labels of --source"),
        ({"source": "nowhere.csv"}, (), 1, "nowhere.csv"),
        ({}, ("--label", "x"), 1, "classes"),
        ({"share-column": "no"}, (), 1, "no column 'no'"),
        ({"share-column": None, "shares": None}, (), 2, "--share-column or --count-column"),
    ],
)
def test_refusals(files, tmp_path, changed, more, code, sentence):
    output = tmp_path / changed.pop("output", "report.html")
    told = run_command(*order(files, output, *more, **changed))
    assert told.code == code, told.words
    assert sentence in told.words
    assert not list(tmp_path.iterdir())


def test_history_of_other_classes(files, tmp_path):
    pl.read_csv(files / "history.csv").with_columns(
        voted=pl.col("voted").replace("no", "never")
    ).write_csv(tmp_path / "other.csv")
    told = run_command(*order(files, tmp_path / "r.html", source=tmp_path / "other.csv"))
    assert told.code == 1
    assert "holds 'never', 'yes'; the model tells 'no', 'yes' apart" in told.words
