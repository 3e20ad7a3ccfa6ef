# SPDX-License-Identifier: BSD-3-Clause
"""Choices against plain loops over machines fitted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from bagshift import TGPLM, SourceSVM, TrueLabelSVM
from bagshift.experiments.draws import Draw
from bagshift.experiments.paper import choosing
from bagshift.experiments.paper.choosing import outcome_of, right_in_folds
from bagshift.experiments.paper.protocols import (
    one_cost_grid,
    paper_grid,
    read_setting,
    settings_of,
)
from bagshift.model_selection import BagKFold, path_search

TOL = 1e-6
GRID = {
    "gamma": [0.05, 0.5],
    "C_source": [0.25, 8.0],
    "C_target": [0.25, 8.0],
    "coupling": [0.125, 64.0],
}
pytestmark = pytest.mark.filterwarnings("ignore")


def test_oracle_counts_right_rows_of_held_out_bags(small_draw: Draw) -> None:
    draw, settings = small_draw, settings_of(GRID)
    right = right_in_folds(TGPLM(tol=TOL), settings, draw, "target")
    folds = list(BagKFold(7, shuffle=True, random_state=5).split(draw.X_bagged, draw.bags))
    for setting, count in zip(settings, right, strict=True):
        expected = 0
        for train, test in folds:
            machine = TGPLM(tol=TOL, **setting)
            machine.fit(draw.X_bagged[train], draw.bags[train], source=draw.source)
            expected += np.sum(machine.predict(draw.X_bagged[test]) == draw.y_bagged[test])
        assert count == expected


def test_source_counts_right_held_out_source_rows(small_draw: Draw) -> None:
    draw, settings = small_draw, settings_of(GRID)
    right = right_in_folds(TGPLM(tol=TOL), settings, draw, "source")
    folds = StratifiedKFold(10, shuffle=True, random_state=5)
    splits = list(folds.split(draw.X_source, draw.y_source))
    for setting, count in zip(settings, right, strict=True):
        expected = 0
        for train, test in splits:
            history = draw.X_source[train], draw.y_source[train]
            machine = TGPLM(tol=TOL, **setting).fit(draw.X_bagged, draw.bags, source=history)
            scores = machine.source_decision_function(draw.X_source[test])
            expected += np.sum((scores > 0) == (draw.y_source[test] > 0))
        assert count == expected


@pytest.mark.parametrize("domain", ["source", "target"])
def test_svm_is_that_of_scikit_learn(small_draw: Draw, domain: str) -> None:
    draw, settings = small_draw, settings_of(one_cost_grid(GRID))
    right = right_in_folds(SourceSVM(tol=TOL), settings, draw, domain)  # type: ignore[arg-type]
    for setting, count in zip(settings, right, strict=True):
        machine, expected = SVC(tol=TOL, **setting), 0
        if domain == "target":
            machine.fit(draw.X_source, draw.y_source)
            expected = np.sum(machine.predict(draw.X_bagged) == draw.y_bagged)
        else:
            folds = StratifiedKFold(10, shuffle=True, random_state=5)
            for train, test in folds.split(draw.X_source, draw.y_source):
                machine.fit(draw.X_source[train], draw.y_source[train])
                expected += np.sum(machine.predict(draw.X_source[test]) == draw.y_source[test])
        assert count == expected


def test_the_ceiling_is_given_the_true_labels(small_draw: Draw) -> None:
    draw, settings = small_draw, settings_of(one_cost_grid(GRID))
    right = right_in_folds(TrueLabelSVM(tol=TOL), settings, draw, "target")
    folds = list(BagKFold(7, shuffle=True, random_state=5).split(draw.X_bagged, draw.bags))
    for setting, count in zip(settings, right, strict=True):
        machine, expected = SVC(tol=TOL, **setting), 0
        for train, test in folds:
            machine.fit(draw.X_bagged[train], draw.y_bagged[train])
            expected += np.sum(machine.predict(draw.X_bagged[test]) == draw.y_bagged[test])
        assert count == expected


@pytest.mark.parametrize("selection", ["source", "oracle"])
@pytest.mark.parametrize("name", list(choosing.MACHINES))
def test_an_outcome_is_that_of_the_machine_it_names(
    small_draw: Draw, name: str, selection: str
) -> None:
    draw = small_draw
    found = outcome_of(name, draw, selection, "quick")  # type: ignore[arg-type]
    setting = read_setting(found.chosen, ["C", "C_source", "C_target", "coupling", "gamma"])
    machine = choosing.fitted(choosing.MACHINES[name](), setting, draw)
    assert found.in_sample == np.mean(machine.predict(draw.X_bagged) == draw.y_bagged)
    assert found.fresh == np.mean(machine.predict(draw.X_fresh) == draw.y_fresh)


def test_the_range_of_tied_settings_holds_the_one_taken(small_draw: Draw) -> None:
    found = outcome_of("TGPLM", small_draw, "oracle", "quick")
    names = ("score", "tied", "tied_lowest", "tied_mean", "tied_highest")
    ties = read_setting(found.chosen, names)
    assert ties["tied"] >= 1
    assert ties["tied_lowest"] <= ties["tied_mean"] <= ties["tied_highest"]
    assert ties["tied_lowest"] - 1e-6 <= found.in_sample <= ties["tied_highest"] + 1e-6
    settings = settings_of(paper_grid(small_draw, "quick"))
    right = right_in_folds(TGPLM(), settings, small_draw, "target")
    assert ties["score"] == pytest.approx(right.max() / 26, abs=1e-6)
    assert ties["tied"] == np.sum(right == right.max())


def test_without_a_source_the_shares_choose(small_draw: Draw) -> None:
    draw = small_draw
    found = outcome_of("IC-SVM", draw, "source", "quick")
    assert "by=share-error" in found.chosen
    searched = path_search(
        choosing.MACHINES["IC-SVM"](),
        draw.X_bagged,
        draw.bags,
        grid=one_cost_grid(paper_grid(draw, "quick")),
        cv=BagKFold(7, shuffle=True, random_state=5),
    )
    assert read_setting(found.chosen, ["C", "gamma"]) == searched.best_params


def test_hidden_labels_reach_no_choice_by_source(small_draw: Draw) -> None:
    """Exchanging labels within bags changes no share, so it must change no choice."""
    draw = small_draw
    labels = draw.y_bagged.copy()
    for bag in range(7):
        rows = np.flatnonzero(draw.bag_ids == bag)
        labels[rows] = labels[rows][::-1]
    other = Draw(**{**vars(draw), "y_bagged": labels})
    for name in ("SVM", "IC-SVM", "TGPLM"):
        chosen = [
            read_setting(
                outcome_of(name, each, "source", "quick").chosen,
                ["C", "C_source", "C_target", "coupling", "gamma"],
            )
            for each in (draw, other)
        ]
        assert chosen[0] == chosen[1]
