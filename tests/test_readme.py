# SPDX-License-Identifier: BSD-3-Clause
"""What the README shows works as it is printed there."""

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_python_example_runs_and_finds_the_voters() -> None:
    (example,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    model, X, y = names["model"], names["X_now"], names["vote_now"]
    assert model.predict_proba(X[:3]).shape == (3, 2)
    # A machine that knew every vote could reach about 85 of 100 here.
    assert np.mean(model.predict(X) == y) > 0.78


def test_set_up_is_two_commands() -> None:
    assert blocks("console")[0] == "make demo\nmake test\n"
