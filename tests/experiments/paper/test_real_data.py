# SPDX-License-Identifier: BSD-3-Clause
"""Texts and faces from cells to page, on small files of the same form; the real ones if there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from bagshift.exceptions import TableError
from bagshift.experiments.paper import catalogue, real_data, sensitivity
from bagshift.experiments.paper.claims import Evidence
from bagshift.experiments.paper.parts import Request, reproduce
from bagshift.experiments.paper.protocols import Protocol
from bagshift.experiments.paper.real_claims import falls_along, is_best, is_not_good
from bagshift.experiments.paper.real_data import FACES_TASKS, TEXT_TASKS
from bagshift.experiments.paper.statistics import Results
from bagshift.experiments.runs import Outcome
from bagshift.experiments.tasks import TASKS
from paper_cells import results
from paper_data_files import write_faces, write_texts

QUICK = Protocol("paper", "oracle", "quick")
DATA = Path(os.environ.get("BAGSHIFT_DATA", Path(__file__).parents[4] / "shared" / "data"))


def test_the_page_of_faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_data, "METHOD_NAMES", ("SVM", "TSVM", "TGPLM", "IC-SVM"))
    monkeypatch.setattr(real_data, "RIVALS", {"TSVM": real_data.RIVALS["TSVM"]})
    part = real_data._part("faces", "Faces", ("pie 10", "pie 50"))
    request = Request(QUICK, tmp_path, data=write_faces(tmp_path), n_draws=1)
    part.check(request)
    found = reproduce(part, request)
    assert found.n_failed == 0
    text = (tmp_path / "faces-paper-oracle-quick.md").read_text(encoding="utf-8")
    for words in ("42 frontal images", "in-sample", "fresh rows", "oracle", "reconstruction"):
        assert words in text
    assert "--protocol honest" in text
    honest = Request(Protocol("honest"), tmp_path, data=tmp_path, n_draws=1)
    monkeypatch.setattr(real_data, "honest_outcome", lambda name, draw: _coin(name))
    reproduce(part, honest)
    reproduce(part, request)
    text = (tmp_path / "faces-paper-oracle-quick.md").read_text(encoding="utf-8")
    assert "fresh rows, honest" in text


def _coin(name: str) -> Outcome:
    return Outcome(0.5, 0.5, f"method={name}")


def test_the_page_of_sensitivity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "BAG_SIZES", (2, 4, 8))
    request = Request(QUICK, tmp_path, data=write_texts(tmp_path), n_draws=1)
    short = {"both-costs": (0.25, 20.0), "bag-size": (2, 4, 8)}
    lines = tuple(
        sensitivity.Line(**{**vars(line), "values": short.get(line.name, line.values)})
        for line in sensitivity.LINES
    )
    monkeypatch.setattr(sensitivity, "LINES", lines)
    found = reproduce(sensitivity.SENSITIVITY, request)
    assert found.n_failed == 0
    text = (tmp_path / "sensitivity.md").read_text(encoding="utf-8")
    assert "orgs/people stands in" in text
    assert "fixed parameters" in text


def test_cells_that_lines_share_are_computed_once(tmp_path: Path) -> None:
    request = Request(QUICK, tmp_path, data=write_texts(tmp_path))
    (jobs,) = sensitivity.SENSITIVITY.jobs(request, 1).values()
    n_values = sum(len(line.values) for line in sensitivity.LINES)
    assert len(jobs) == len({job.key for job in jobs}) < n_values


@pytest.mark.parametrize("name", ["text", "faces", "sensitivity"])
def test_data_that_are_not_there(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BAGSHIFT_DATA", raising=False)
    part = catalogue.PARTS[name]
    with pytest.raises(TableError, match=r"--data or the environment variable BAGSHIFT_DATA"):
        part.check(Request(QUICK, tmp_path))
    with pytest.raises(TableError, match=r"has no .*\.npz.* --data"):
        part.check(Request(QUICK, tmp_path, data=tmp_path))


def test_every_task_is_one_of_the_league() -> None:
    assert {*TEXT_TASKS, *FACES_TASKS, *sensitivity.TASK_NAMES} <= set(TASKS)


def by_task(values: dict[str, dict[str, list[float]]]) -> Evidence:
    """Make evidence out of accuracies by task, method and draw."""
    cells = {}
    for task, of_task in values.items():
        made = results({name: [[value] for value in found] for name, found in of_task.items()})
        for cell in made.cells.values():
            renamed = type(cell)(**{**vars(cell), "task": task})
            cells[renamed.key] = renamed
    return Evidence(Results(cells), "in_sample")


def test_the_best_is_held_against_the_next_best() -> None:
    evidence = by_task(
        {
            "one": {"a": [0.90, 0.91], "b": [0.80, 0.812], "c": [0.70, 0.72]},
            "two": {"a": [0.85, 0.86], "b": [0.84, 0.85], "c": [0.60, 0.62]},
        }
    )
    found = is_best(evidence, ["one", "two"], 2, "a", ["a", "b", "c"])
    assert found.state == "yes"
    assert "a − b, the best of the others, +5.45" in found.numbers
    assert is_best(evidence, ["one"], 2, "b", ["a", "b", "c"]).state != "yes"
    assert is_best(evidence, ["three"], 2, "a", ["a", "b"]).state == "nothing"


def test_a_method_in_the_worse_half() -> None:
    evidence = by_task({"one": {"SVM": [0.9, 0.8], "TSVM": [0.5, 0.6], "TGPLM": [0.95, 0.9]}})
    methods = ["SVM", "TSVM", "TGPLM"]
    assert is_not_good(evidence, ["one"], 2, "TSVM", methods).state == "yes"
    assert is_not_good(evidence, ["one"], 2, "TGPLM", methods).state != "yes"
    assert is_not_good(evidence, ["one"], 2, "TSVM", [*methods, "LWE"]).state == "nothing"


def test_a_fall_along_tasks() -> None:
    evidence = by_task({"one": {"a": [0.9, 0.91]}, "two": {"a": [0.8, 0.8]}})
    assert falls_along(evidence, ["one", "two"], 2, "a").state == "yes"
    assert falls_along(evidence, ["two", "one"], 2, "a").state != "yes"
    assert falls_along(evidence, ["one", "two"], 2, "b").state == "nothing"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}")
def test_the_real_files_are_all_there(tmp_path: Path) -> None:
    request = Request(QUICK, tmp_path, data=DATA)
    for part in catalogue.PARTS.values():
        part.check(request)
    draw = real_data.task_draw("pie 30", 8, 0, DATA)
    assert (len(draw.y_source), len(draw.y_bagged), len(draw.y_fresh)) == (84, 40, 44)
    assert np.isfinite(draw.X_bagged).all()
