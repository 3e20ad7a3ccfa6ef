# SPDX-License-Identifier: BSD-3-Clause
"""Files that a command names: nothing that is read is replaced, and names are checked first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def refused(outcome: Any, *fragments: str) -> None:
    assert outcome.code == 1, outcome.words
    lines = outcome.err.strip().splitlines()
    assert len(lines) == 1, outcome.err
    for fragment in ("Error: ", *fragments):
        assert fragment in lines[0]


@pytest.fixture
def no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Path) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr("bagshift.workflows.models.load_model", load)


@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize("way", ["same name", "other spelling", "link", "folder link"])
def test_predictions_do_not_replace_the_rows(election: Any, command: Any, way: str) -> None:
    election.model.write_bytes(b"a model")
    before = election.people.read_bytes()
    output = election.people
    if way == "other spelling":
        output = election.folder / ".." / election.folder.name / "people.csv"
    elif way == "link":
        output = election.folder / "link.csv"
        output.symlink_to(election.people)
    elif way == "folder link":
        (election.folder / "here").symlink_to(election.folder, target_is_directory=True)
        output = election.folder / "here" / "people.csv"
    refused(command("predict", election.model, election.people, "-o", output), "is also read")
    assert election.people.read_bytes() == before


@pytest.mark.parametrize("part", ["people", "results", "history"])
def test_models_do_not_replace_an_input(election: Any, command: Any, part: str) -> None:
    path = getattr(election, part)
    before = path.read_bytes()
    refused(command("fit", *election.fit_options(), "-o", path), "is also read", "-o")
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["model.csv", "model.PARQUET"])
def test_models_are_not_named_like_tables(election: Any, command: Any, name: str) -> None:
    output = election.folder / name
    refused(command("fit", *election.fit_options(), "-o", output), "named like a table", ".skops")
    assert not output.exists()


@pytest.mark.usefixtures("no_loading")
def test_names_are_checked_before_the_model_is_loaded(election: Any, command: Any) -> None:
    election.model.write_bytes(b"a model")
    missing = election.folder / "missing.csv"
    output = election.folder / "out.csv"
    refused(command("predict", election.model, missing, "-o", output), "missing.csv does not")
    refused(
        command("predict", election.model, election.people, "-o", election.folder / "a" / "b.csv"),
        "there is no folder",
    )
    shares = ("--share-column", "yes_share")
    refused(
        command("evaluate", election.model, "--target", missing, *shares), "missing.csv does not"
    )
    refused(
        command(
            *("evaluate", election.model, "--target", election.people),
            *("--shares", missing, *shares),
        ),
        "missing.csv does not",
    )


def test_loading_that_takes_long_is_mentioned(
    election: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from time import sleep

    from bagshift.workflows import models

    assert election.fit().code == 0
    load = models.load_model

    def slow(path: Path) -> Any:
        sleep(0.5)
        return load(path)

    monkeypatch.setattr("bagshift.workflows.models.load_model", slow)
    monkeypatch.setattr("bagshift.cli._files.PATIENCE", 0.05)
    arguments = ("predict", election.model, election.people, "-o", election.folder / "out.csv")
    assert f"Loading {election.model}" in command(*arguments).err
    assert command(*arguments, "--quiet").err == ""
