# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import numpy as np
import pytest

from bagshift.experiments.draws import Draw
from bagshift.experiments.paper.protocols import (
    Protocol,
    accuracy,
    most_regular,
    one_cost_grid,
    paper_grid,
    read_setting,
    settings_of,
    written,
)


def test_the_grid_is_that_of_the_paper(small_draw: Draw) -> None:
    grid = paper_grid(small_draw, "paper")
    norm = np.mean(np.linalg.norm(small_draw.X_source, axis=1))
    assert sorted(1 / np.array(grid["gamma"])) == pytest.approx(norm**2 * 2.0 ** np.arange(-6, 7))
    assert grid["C_source"] == grid["C_target"] == pytest.approx(2.0 ** np.arange(-8, 11))
    assert grid["coupling"] == pytest.approx(2.0 ** np.arange(-6, 12))
    assert len(settings_of(grid)) == 84_474
    assert len(settings_of(one_cost_grid(grid))) == 247


def test_the_quick_grid_is_a_part_of_it(small_draw: Draw) -> None:
    quick, grid = (paper_grid(small_draw, name) for name in ("quick", "paper"))
    assert all(set(quick[name]) < set(grid[name]) for name in grid)
    assert len(settings_of(quick)) == 3 * 4 * 4 * 3


def test_ties_go_to_the_most_regular_machine() -> None:
    settings = settings_of(
        {
            "C_source": [1.0, 2.0],
            "C_target": [0.5, 4.0],
            "coupling": [0.1, 8.0],
            "gamma": [2.0, 1.0],
        }
    )
    expected = {"C_target": 0.5, "coupling": 8.0, "C_source": 1.0, "gamma": 1.0}
    assert settings[most_regular(settings)] == expected
    assert most_regular([{"C": 2.0, "gamma": 1.0}, {"C": 1.0, "gamma": 9.0}]) == 1


def test_settings_are_read_back_as_they_were_written() -> None:
    setting = {"C": 2.0**-8, "gamma": 0.1 + 0.2}
    assert read_setting(written({**setting, "by": "share-error"}), ["C", "gamma"]) == setting


def test_every_rule_has_a_file_and_a_description_of_its_own() -> None:
    rules = [
        Protocol("honest"),
        Protocol("paper", "oracle"),
        Protocol("paper", "source"),
        Protocol("paper", "oracle", "quick"),
    ]
    assert len({rule.file_part for rule in rules}) == len(rules)
    assert len({rule.description for rule in rules}) == len(rules)
    assert "oracle" in rules[1].description


def test_accuracy_of_no_rows_is_no_number() -> None:
    assert np.isnan(accuracy(np.empty(0), np.empty(0)))
