# SPDX-License-Identifier: BSD-3-Clause
"""The Gaussians from cells to page, and runs that go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bagshift.experiments.cells import CIRCUMSTANCES, Cell
from bagshift.experiments.methods import METHODS
from bagshift.experiments.paper import gaussians, synthetic
from bagshift.experiments.paper.gaussians import gaussian_draw, path_method, twin_method
from bagshift.experiments.paper.parts import Request, reproduce
from bagshift.experiments.paper.protocols import Protocol
from bagshift.experiments.runs import Job, Outcome
from small_parts import make_small

QUICK = Protocol("paper", "oracle", "quick")


def without_circumstances(cell: Cell) -> Cell:
    blank = {"seconds": 0.0, "finished": "", "version": ""}
    assert set(blank) == set(CIRCUMSTANCES)
    return replace(cell, **blank)


def test_points_are_the_same_for_every_bag_size() -> None:
    small, large = (gaussian_draw("mild", size, 4) for size in (2, 16))
    np.testing.assert_array_equal(small.X_bagged, large.X_bagged)
    assert sorted(np.bincount(large.bag_ids)) == [4, 16, 16, 16, 16, 16, 16]
    for bag, share in large.shares.items():
        assert share == np.mean(large.y_bagged[large.bag_ids == bag] == 1)
    assert not np.array_equal(small.X_bagged, gaussian_draw("mild", 2, 5).X_bagged)


def some_luck(job: Job) -> Outcome:
    return Outcome(0.5, 0.75, "")


@pytest.mark.filterwarnings("ignore")
def test_limits_of_the_coupling() -> None:
    """The pooled machine at a large coupling, the machine of the target at a small one."""

    def agreement(coupling: float, twin: str) -> float:
        job = Job("gaussians-strong", "random", 8, twin_method(coupling, twin, 2.0), 0, some_luck)
        return gaussians.twin_outcome(job).fresh

    assert agreement(2.0**20, "pooled machine") > 0.999
    assert agreement(2.0**-20, "IC-SVM") > 0.999
    assert agreement(2.0**20, "SVM") < 0.95


def test_the_honest_protocol_is_that_of_the_league() -> None:
    job = Job("gaussians-mild", "random", 16, "IC-SVM", 0, some_luck)
    found = gaussians.chosen_outcome(Protocol("honest"), job)
    draw = gaussian_draw("mild", 16, 0)
    model, setting = METHODS["InverseCalibrationSVM"].fit(draw)
    assert found.fresh == model.score(draw.X_fresh, draw.y_fresh)
    assert found.in_sample == model.score(draw.X_bagged, draw.y_bagged)
    assert f"C={setting['C']!r}" in found.chosen


def test_the_path_keeps_all_but_the_coupling() -> None:
    job = Job("gaussians-mild", "random", 8, path_method(0.25), 0, some_luck)
    chosen = gaussians.path_outcome(job).chosen
    assert "coupling=0.25" in chosen
    assert "C_source=2.0 C_target=1.0" in chosen


def test_the_page_says_what_every_number_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small(monkeypatch)
    seen: list[tuple[int, int]] = []
    request = Request(QUICK, tmp_path, n_draws=1)
    found = reproduce(synthetic.SYNTHETIC, request, lambda *state: seen.append(state))
    assert found.n_failed == 0
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1]
    text = (tmp_path / "synthetic-paper-oracle-quick.md").read_text(encoding="utf-8")
    for words in ("oracle", "in-sample", "fresh rows", "honest protocol"):
        assert words in text
    assert found.page.exists()
    assert len(found.summaries) == 2
    assert all("oracle" in summary.title for summary in found.summaries)
    again = reproduce(synthetic.SYNTHETIC, request)
    assert again.summaries == found.summaries
