# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift reproduce`` on few settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bagshift.experiments.paper import gaussians
from small_parts import make_small


@pytest.fixture(autouse=True)
def few_bag_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)


def test_gaussians(tmp_path: Path, command: Any) -> None:
    output = tmp_path / "results"
    arguments = ("reproduce", "synthetic", "--grid", "quick", "--draws", 1, "--output", output)
    first = command(*arguments)
    assert first.code == 0, first.words
    for words in ("in-sample", "2,000 fresh rows", "oracle", "TGPLM", "K = 16"):
        assert words in first.words
    assert (output / "synthetic-paper-oracle-quick.html").exists()
    cells = (output / "synthetic-paper-oracle-quick.csv").read_text()
    again = command(*arguments)
    assert again.out == first.out
    assert (output / "synthetic-paper-oracle-quick.csv").read_text() == cells


def test_output_that_cannot_be_made(tmp_path: Path, command: Any) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    outcome = command("reproduce", "synthetic", "--draws", 1, "-o", blocked / "folder")
    assert outcome.code == 1
    assert "cannot be made" in outcome.err


def test_an_interrupt_says_that_results_are_kept(
    tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gaussians, "gaussian_draw", interrupt)
    outcome = command("reproduce", "synthetic", "--draws", 1, "-o", tmp_path)
    assert outcome.code == 130
    assert "is kept in" in outcome.err
    assert "The same command goes on" in outcome.err


@pytest.mark.parametrize("wrong", [("nothing",), ("synthetic", "--draws", 0), ()])
def test_what_is_not_understood(command: Any, wrong: tuple[object, ...]) -> None:
    assert command("reproduce", *wrong).code == 2


@pytest.mark.parametrize("part", ["text", "faces", "sensitivity", "all"])
def test_data_that_nobody_named(
    tmp_path: Path, command: Any, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BAGSHIFT_DATA", raising=False)
    outcome = command("reproduce", part, "-o", tmp_path)
    assert outcome.code == 1
    assert len(outcome.err.strip().splitlines()) == 1
    assert "--data" in outcome.err
    assert "BAGSHIFT_DATA" in outcome.err
    assert not list(tmp_path.iterdir())
