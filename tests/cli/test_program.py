# SPDX-License-Identifier: BSD-3-Clause
"""The installed program: help, exit codes, a missing extra, an interrupt, the demonstration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

COMMANDS = ("check", "fit", "predict", "evaluate", "report", "privacy", "demo")


def program(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bagshift", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


def test_help_lists_the_commands() -> None:
    done = program("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"\n  {command} " in done.stdout
    assert "..." not in done.stdout.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(command: Any, name: str) -> None:
    outcome = command(name, "--help")
    assert outcome.code == 0
    assert "Options:" in outcome.out
    assert all(len(line) <= 80 for line in outcome.out.splitlines())


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from bagshift.cli.app import app\n"
        "app(['--help'], 'bagshift', standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'polars', 'pandas', 'skrub', 'skops', 'rich',\n"
        "         'matplotlib', 'pydantic'}\n"
        "sys.exit(','.join(heavy & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_version(command: Any) -> None:
    import bagshift

    assert command("--version").out == f"bagshift {bagshift.__version__}\n"


def test_unknown_command_is_usage() -> None:
    done = program("nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["typer", "polars", "skrub", "skops"])
def test_without_the_extra_one_line_says_how_to_install(
    election: Any, tmp_path: Path, missing: str
) -> None:
    (tmp_path / f"{missing}.py").write_text(
        f"raise ModuleNotFoundError('not installed', name={missing!r})\n"
    )
    done = program(
        "fit", *election.fit_options(), "-o", election.model, "--search", "none",
        PYTHONPATH=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "The command line needs more packages: pip install 'bagshift[cli]'"
    )


def test_error_of_the_program(election: Any) -> None:
    election.people.unlink()
    done = program("fit", *election.fit_options(), "-o", election.model)
    assert done.returncode == 1
    assert done.stdout == ""
    assert (
        done.stderr == f"Error: {election.people} does not exist; check the name and the folder.\n"
    )


def test_demo(command: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    outcome = command("demo", "--output", folder)
    assert outcome.code == 0, outcome.words
    assert outcome.err == ""
    for name in ("check", "fit", "predict", "evaluate"):
        assert f"$ bagshift {name} " in outcome.out
    for name in ("history.csv", "target.parquet", "shares.csv", "fresh.parquet", "model.skops"):
        assert (folder / name).stat().st_size > 0
    table = outcome.out.partition("Accuracy on 125 fresh rows")[2]
    accuracy = {
        line.strip()[:32].strip(): float(line.split()[-1])
        for line in table.splitlines()
        if line.rstrip()[-5:].replace(".", "").isdigit() and "(" in line
    }
    assert set(accuracy) == {
        "history only (SVM)", "shares only (IC-SVM)", "shares only (count likelihood)",
        "both (TGPLM)", "both (count likelihood)", "true labels (ceiling)",
    }  # fmt: skip
    assert accuracy["both (TGPLM)"] > accuracy["history only (SVM)"] + 0.2
    assert accuracy["both (count likelihood)"] >= accuracy["both (TGPLM)"]
    assert accuracy["both (count likelihood)"] > 0.95
    assert accuracy["shares only (IC-SVM)"] > 0.85
    assert accuracy["true labels (ceiling)"] > 0.95
    height, width, _ = imread(folder / "picture.png").shape
    assert width >= 1200
    assert height >= 800


def test_demo_where_nothing_can_be_written(command: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = command("demo", "-o", tmp_path / "file" / "demo")
    assert outcome.code == 1
    assert "cannot be made" in outcome.err
