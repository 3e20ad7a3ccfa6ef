# SPDX-License-Identifier: BSD-3-Clause
"""The check before set-up names the first thing that is missing, in one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "check_tools.sh"

# Stands in for a Python: asked for its version, for venv or for its headers, it answers as told.
PYTHON = """#!/bin/sh
case "$2" in
    *"%d.%d.%d"*) echo "{version}" ;;
    *version_info*) exit {too_old} ;;
    *ensurepip*) exit {no_venv} ;;
    *sysconfig*) echo "{include}" ;;
esac
"""


def executable(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def run(tmp_path: Path):
    include = tmp_path / "include"
    include.mkdir()
    (include / "Python.h").touch()

    def check(*, python: str | None = None, compiler: str = "true", **answers: str | int):
        told = {"version": "3.12.1", "too_old": 0, "no_venv": 0, "include": include} | answers
        stand_in = executable(tmp_path / "python", PYTHON.format(**told))
        return subprocess.run(
            ["sh", str(SCRIPT), python or stand_in],
            capture_output=True,
            text=True,
            env=os.environ | {"CXX": compiler},
        )

    return check


def test_nothing_is_said_when_nothing_is_missing(run) -> None:
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_this_machine_can_build() -> None:
    done = subprocess.run(["sh", str(SCRIPT), sys.executable], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ({"python": "no-such-python"}, "'no-such-python' was not found"),
        ({"python": "false"}, "'false' does not run"),
        ({"version": "3.9.2", "too_old": 1}, "is 3.9.2"),
        ({"no_venv": 1}, "venv module is missing"),
        ({"include": "/nowhere"}, "headers are missing"),
        ({"compiler": "no-such-compiler"}, "'no-such-compiler' was found"),
        ({"compiler": "false"}, "'false' cannot build a C++17 program"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_sentence_says_what_is_missing(run, missing: dict[str, str], words: str) -> None:
    done = run(**missing)
    assert done.returncode == 1
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("bagshift: ")
    assert words in sentence
