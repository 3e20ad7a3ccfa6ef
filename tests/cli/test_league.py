# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift league`` as a user types it."""

from pathlib import Path

import pytest

from bagshift.experiments.methods import METHODS
from bagshift.experiments.tasks import TASKS
from cli.conftest import run_command

SMALL = ("--quick", "--tasks", "digits 50", "--methods", "MeanMap", "--draws", "1", "--jobs", "1")


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAGSHIFT_DATA", raising=False)


def test_ends_with_a_table_and_says_where_the_page_is(tmp_path: Path) -> None:
    output = tmp_path / "league"
    outcome = run_command("league", *SMALL, "--output", output)
    assert outcome.code == 0
    assert "cells 3, 0 of them already in" in outcome.words
    assert "Random bags of 8 rows" in outcome.words
    for name in ("source-svm", "MeanMap", "ceiling"):
        assert name in outcome.out
    assert f"Page: {output / 'league.html'}" in "".join(outcome.out.splitlines())
    assert (output / "league.md").is_file()
    lines = (output / "cells.csv").read_bytes()
    again = run_command("league", *SMALL, "--output", output)
    assert "cells 3, 3 of them already in" in again.words
    assert (output / "cells.csv").read_bytes() == lines


def test_lists_what_can_be_run() -> None:
    outcome = run_command("league", "--list")
    assert outcome.code == 0
    for name in METHODS:
        assert name in outcome.out
    assert "digits 50" in outcome.out
    assert "orgs/people" not in outcome.out


def test_lists_the_tasks_of_a_folder(shared_data: Path) -> None:
    outcome = run_command("league", "--list", "--data", shared_data)
    for name in TASKS:
        assert name in outcome.out


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--tasks", "moon"], 1, "There is no task 'moon'; there are digits 30"),
        (["--methods", "SVMM"], 1, "There is no method 'SVMM'; there are source-svm"),
        (["--bags", "square"], 2, "--bags knows random, clustered, feature, skewed, natural"),
        (["--sizes", "8,x"], 2, "--sizes takes whole numbers from 1 on, not 'x'"),
        (["--sizes", "0"], 2, "--sizes takes whole numbers from 1 on, not '0'"),
        (["--sizes", "5000"], 1, "No task has rows for such bags"),
        (["--draws", "0"], 2, "--draws"),
        (["--data", "no such folder"], 1, "no such folder is not a folder"),
    ],
)
def test_what_is_refused(tmp_path: Path, options: list[str], code: int, sentence: str) -> None:
    outcome = run_command("league", *options, "--output", tmp_path / "league")
    assert outcome.code == code
    assert sentence in outcome.words
    assert not (tmp_path / "league").exists()


def test_missing_packages_are_told_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from bagshift.cli import _errors

    monkeypatch.setattr(_errors, "EXPERIMENT_PACKAGES", ("no_such_package",))
    outcome = run_command("league", *SMALL)
    assert outcome.code == 1
    assert outcome.words == "Experiments need more packages: pip install 'bagshift[experiments]'"


def test_an_interrupt_says_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bagshift.experiments import league

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(league, "run_league", interrupted)
    outcome = run_command("league", *SMALL, "--output", tmp_path)
    assert outcome.code == 130
    assert "Interrupted; 0 of 3 cells are kept in" in outcome.words
    assert "The same command goes on." in outcome.words
