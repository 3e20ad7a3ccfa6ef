# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift league`` as a user types it."""

import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from bagshift.experiments.cells import read_cells
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
        (["--sizes", "9" * 5000], 2, "--sizes takes whole numbers from 1 on"),
        (["--sizes", ","], 2, "--sizes names nothing"),
        (["--tasks", ","], 2, "--tasks names nothing"),
        (["--tasks", ""], 2, "--tasks names nothing"),
        (["--methods", " ,"], 2, "--methods names nothing"),
        (["--bags", ""], 2, "--bags names nothing"),
        (["--tasks", "digits 50", "--sizes", "100"], 1, "(digits 50: 237 target rows are too few"),
        (["--draws", "0"], 2, "--draws"),
        (["--draws", "1001"], 2, "--draws"),
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


def write_set(path: Path) -> None:
    np.savez(
        path,
        X=np.random.default_rng(0).normal(size=(400, 3)),
        y=np.resize([-1, 1], 400),
        domain=np.arange(400) // 200,
        domain_names=np.array(["old", "new"]),
    )


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    write_set(tmp_path / "mine.npz")
    write_set(tmp_path / "a,b\x1b[2J.npz")
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    outcome = run_command("league", "--list", "--data", tmp_path)
    assert outcome.code == 0
    assert "mine" in outcome.out
    assert "broken" not in outcome.out
    assert "\x1b[2J" not in outcome.out + outcome.err
    assert "Left out: a,b\\x1b[2J: " in outcome.err
    assert "Left out: broken: " in outcome.err
    named = run_command("league", "--tasks", "broken", "--data", tmp_path)
    assert named.code == 1
    assert "broken.npz cannot be read" in named.err


def test_bags_left_out_are_told(tmp_path: Path) -> None:
    outcome = run_command("league", *SMALL, "--sizes", "8,32", "--output", tmp_path)
    assert outcome.code == 0
    assert outcome.err == (
        "Left out: digits 50: 237 target rows are too few for 5 random bags of 32.\n"
    )


@pytest.mark.parametrize("name", ["$x$", "$a^{$", "=1+2", "[bold]", "<b>", "x" * 80])
def test_odd_names_reach_the_page(tmp_path: Path, name: str) -> None:
    write_set(tmp_path / f"{name}.npz")
    options = ("--data", tmp_path, "--output", tmp_path / "out", "--methods", "MeanMap")
    few = ("--sizes", "8", "--draws", "1", "--jobs", "1")
    outcome = run_command("league", "--tasks", name, *options, *few)
    assert outcome.code == 0, outcome.err
    assert {cell.task for cell in read_cells(tmp_path / "out" / "cells.csv").values()} == {name}


def test_a_folder_that_is_no_text_is_survived(tmp_path: Path) -> None:
    output = tmp_path / "a\udcff"
    outcome = run_command("league", *SMALL, "--output", output)
    assert outcome.code == 0
    assert (output / "league.html").is_file()


def test_a_command_that_is_no_text_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from bagshift.cli import league

    monkeypatch.setattr("sys.argv", ["bagshift", "league", "-o", "a\udcff"])
    assert league._command() == "bagshift league -o 'a\\udcff'"


def test_an_output_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "league" / "cells.csv").mkdir(parents=True)
    for output, sentence in (("file", "cannot be made"), ("league", "cells.csv cannot be read")):
        outcome = run_command("league", *SMALL, "--output", tmp_path / output)
        assert outcome.code == 1
        assert sentence in outcome.words


def test_a_killed_process_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bagshift.experiments import league

    def killed(*args: object, **kwargs: object) -> None:
        raise BrokenProcessPool("A process was killed: use n_jobs=.")

    monkeypatch.setattr(league, "run_league", killed)
    outcome = run_command("league", *SMALL, "--output", tmp_path)
    assert outcome.code == 1
    assert outcome.err == "Error: A process was killed: use --jobs.\n"


def test_the_signal_to_end_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bagshift.experiments import league

    def ended(*args: object, **kwargs: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(league, "run_league", ended)
    outcome = run_command("league", *SMALL, "--output", tmp_path)
    assert outcome.code == 130
    assert "Interrupted; 0 of 3 cells are kept in" in outcome.words
    assert signal.getsignal(signal.SIGTERM) == before
