# SPDX-License-Identifier: BSD-3-Clause
"""The other methods of the paper, their grids and how they are chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from bagshift.experiments.draws import Draw
from bagshift.experiments.paper.comparisons import RIVALS, rival_outcome, rival_settings
from bagshift.experiments.paper.protocols import paper_grid, read_setting

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("name", "n_settings"), [("TSVM", 35), ("TrSVM", 35), ("LWE", 3), ("LMPROJ", 70)]
)
def test_grids_are_thinned_ones_of_the_paper(small_draw: Draw, name: str, n_settings: int) -> None:
    settings = rival_settings(name, small_draw, "paper")
    assert len(settings) == n_settings
    grid = paper_grid(small_draw, "paper")
    for setting in settings:
        costs = {setting[cost] for cost in ("C", "C_source", "C_target") if cost in setting}
        assert costs <= set(grid["C_source"])
        assert setting.get("gamma", grid["gamma"][0]) in grid["gamma"]
    quick = rival_settings(name, small_draw, "quick")
    assert all(setting in settings for setting in quick)


@pytest.mark.parametrize("name", list(RIVALS))
def test_shares_do_not_matter(small_draw: Draw, name: str) -> None:
    halves = replace(small_draw, shares=dict.fromkeys(small_draw.shares, 0.5))
    found = [rival_outcome(name, draw, "quick") for draw in (small_draw, halves)]
    assert found[0] == found[1]


def test_best_on_held_out_source_rows_is_taken(small_draw: Draw) -> None:
    draw = small_draw
    folds = StratifiedKFold(10, shuffle=True, random_state=draw.seed)
    scores = []
    for setting in rival_settings("LMPROJ", draw, "quick"):
        right = 0
        for train, test in folds.split(draw.X_source, draw.y_source):
            machine = clone(RIVALS["LMPROJ"].machine).set_params(**setting)
            history = draw.X_source[train], draw.y_source[train]
            machine.fit(draw.X_bagged, None, source=history)
            right += np.sum(machine.predict(draw.X_source[test]) == draw.y_source[test])
        scores.append(right / len(draw.y_source))
    found = rival_outcome("LMPROJ", draw, "quick")
    assert read_setting(found.chosen, ["score"])["score"] == pytest.approx(max(scores), abs=1e-6)
