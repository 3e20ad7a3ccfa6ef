# SPDX-License-Identifier: BSD-3-Clause
"""What the README and the page on the command line show works as it is printed there."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer.main

from bagshift.cli.app import app
from bagshift.workflows.demo_files import write_demo_files

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_set_up_is_two_commands() -> None:
    assert blocks("console")[0] == "make demo\nmake test\n"


def test_python_examples_run_and_find_the_voters() -> None:
    names: dict[str, object] = {}
    for example in blocks("python"):
        exec(compile(example, "README.md", "exec"), names)
    model, X, y = names["model"], names["X_now"], names["vote_now"]
    assert model.predict_proba(X[:3]).shape == (3, 2)
    # A machine that knew every vote could reach about 85 of 100 here.
    assert np.mean(model.predict(X) == y) > 0.78
    assert np.mean(names["pipeline"].predict(X) == y) > 0.78


def test_commands_work_on_the_files_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_demo_files(tmp_path / "demo")
    activate, change_folder, *commands = blocks("console")[1].replace("\\\n", " ").splitlines()
    assert (activate, change_folder) == ("source .venv/bin/activate", "cd demo")
    monkeypatch.chdir(tmp_path / "demo")
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "bagshift"
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["bagshift", *arguments])
            with pytest.raises(SystemExit) as end:
                app(prog_name="bagshift")
        assert end.value.code in (0, None), capsys.readouterr().err
    predictions = pl.read_csv("predictions.csv")
    # The README's table names these columns, with other classes.
    assert predictions.columns == ["id", "label", "probability_3", "probability_8", "decision"]


def test_documented_options_exist() -> None:
    commands = typer.main.get_command(app).commands
    overview = COMMAND_LINE.split("```")[1]
    assert set(re.findall(r"^bagshift (\w+) ", overview, re.MULTILINE)) == set(commands)
    known = {name for command in commands.values() for p in command.params for name in p.opts}
    named = set(re.findall(r"`(--?[a-z][a-z-]*)", COMMAND_LINE)) - {"--help"}
    assert named <= known
    # Every option of `fit` is explained, so that the page cannot fall behind.
    fit = {name for p in commands["fit"].params for name in p.opts if name.startswith("--")}
    assert fit - named - {"--help"} == set()
