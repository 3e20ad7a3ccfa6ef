# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from bagshift import TGPLM, InverseCalibrationSVM, SourceSVM
from bagshift.estimators._training import read_training
from bagshift.model_selection import path_search
from bagshift.model_selection.grids import named_grid


def chosen(machine, domains, name, factor=1.0, **settings):
    source = None
    if not isinstance(machine, InverseCalibrationSVM):
        source = domains.X_source * factor, domains.y_source
    return path_search(
        machine, domains.X * factor, domains.bags, source=source, grid=name, cv=3, **settings
    )


@pytest.mark.parametrize(
    ("machine", "n_quick"),
    [
        (TGPLM(), 90),
        (TGPLM(kernel="linear"), 30),
        (InverseCalibrationSVM(), 9),
        (InverseCalibrationSVM(kernel="poly"), 3),
        (SourceSVM(), 6),
    ],
    ids=repr,
)
def test_sizes(machine, n_quick, domains):
    assert len(chosen(machine, domains, "quick").table) == n_quick


def test_full_grid_is_about_ten_times_the_quick_one(domains):
    machine = TGPLM()
    data = read_training(machine, domains.X, domains.bags, source=domains.source)
    assert 8 <= len(ParameterGrid(named_grid("full", machine, data))) / 90 <= 12


@pytest.mark.parametrize(
    ("machine", "with_source", "n_settings"),
    [
        (TGPLM(), True, 13 * 19 * 19 * 18),
        (TGPLM(), False, 13 * 19),
        (TGPLM(kernel="linear"), True, 19 * 19 * 18),
        (SourceSVM(), True, 13 * 19),
    ],
    ids=["tgplm", "no source", "linear", "svm"],
)
def test_grid_of_the_paper(machine, with_source, n_settings, domains):
    source = domains.source if with_source else None
    data = read_training(machine, domains.X, domains.bags, source=source)
    grid = named_grid("paper", machine, data)
    assert len(ParameterGrid(grid)) == n_settings
    if "gamma" in grid:
        rows = domains.X_source if with_source else domains.X
        unit = 1.0 / np.linalg.norm(rows, axis=1).mean() ** 2
        np.testing.assert_allclose(grid["gamma"], unit * 2.0 ** np.arange(-6, 7), rtol=1e-12)


def test_the_grid_of_the_paper_is_searched_by_ten_folds_at_most(domains):
    found = chosen(InverseCalibrationSVM(), domains, "paper")
    assert len(found.table) == 13 * 19
    found = path_search(InverseCalibrationSVM(), domains.X, domains.bags, grid="paper")
    assert found.n_splits == 10


@pytest.mark.nightly
def test_the_complete_grid_of_the_paper(domains):
    found = path_search(
        TGPLM(), domains.X, domains.bags, source=domains.source, grid="paper", n_jobs=2
    )
    assert len(found.table) == 84_474
    assert all(entry["converged"] for entry in found.table)


def test_without_a_source_there_is_nothing_to_couple(domains):
    search = path_search(TGPLM(), domains.X, domains.bags, grid="quick", cv=3)
    assert {name for entry in search.table for name in entry["params"]} == {"C_target", "gamma"}


@pytest.mark.parametrize(
    "machine",
    [TGPLM(tol=1e-7), InverseCalibrationSVM(kernel="linear", tol=1e-7)],
    ids=["rbf", "linear"],
)
def test_feature_scale_does_not_matter(machine, domains):
    small, large = chosen(machine, domains, "quick"), chosen(machine, domains, "quick", 128.0)
    for name in ("score", "soft_share_error"):
        np.testing.assert_allclose(
            [entry[name] for entry in small.table],
            [entry[name] for entry in large.table],
            atol=1e-5,
        )


def test_costs_stand_for_the_weight_of_a_mean_loss(domains):
    search = chosen(TGPLM(kernel="linear"), domains, "quick")
    rows = np.vstack([domains.X_source, domains.X])
    mean_diagonal = np.mean(np.sum(rows**2, axis=1))
    costs = {k: {e["params"][k] for e in search.table} for k in ("C_source", "C_target")}
    by_row = np.sort(list(costs["C_source"])) * len(domains.X_source) * mean_diagonal
    by_bag = np.sort(list(costs["C_target"])) * domains.bags.n_bags * mean_diagonal
    np.testing.assert_allclose(by_row, [150.0, 1200.0])
    np.testing.assert_allclose(by_bag, [50.0, 400.0, 3200.0])


def test_precomputed_kernel_gets_the_same_costs(domains):
    rows = np.vstack([domains.X_source, domains.X])
    gram = rows @ rows.T
    n_source = len(domains.X_source)
    given = path_search(
        TGPLM(kernel="precomputed"),
        gram[n_source:],
        domains.bags,
        source=(gram[:n_source], domains.y_source),
        cv=3,
    )
    linear = chosen(TGPLM(kernel="linear"), domains, "quick")
    for found, expected in zip(given.table, linear.table, strict=True):
        assert found["params"] == pytest.approx(expected["params"])


def test_result_holds_plain_numbers_that_grid_search_takes(domains):
    search = chosen(TGPLM(), domains, "quick")
    assert all(isinstance(v, float) for entry in search.table for v in entry["params"].values())
    values = {k: sorted({e["params"][k] for e in search.table}) for k in search.best_params}
    assert len(ParameterGrid(values)) == 90
