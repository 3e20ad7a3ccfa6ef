# SPDX-License-Identifier: BSD-3-Clause
"""Searches where the machine is on explicit features: the same table as by kernel matrices."""

import logging

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from bagshift import TGPLM, TGPLMCV, Bags, InverseCalibrationSVM, SourceSVM
from bagshift.estimators import _scalable
from bagshift.exceptions import KernelMemoryError
from bagshift.kernels import _memory
from bagshift.model_selection import (
    BagKFold,
    _explicit_folds,
    path_search,
    share_error_soft_ties,
)

TOL = 1e-6
MACHINES = [
    TGPLM(kernel="linear", tol=TOL),
    TGPLM(kernel="linear", tol=TOL, bag_weight="size", tube="constant", score_scale=2.0),
    InverseCalibrationSVM(kernel="linear", tol=TOL),
    SourceSVM(kernel="linear", tol=TOL),
    SourceSVM(kernel="linear", tol=TOL, threshold="prior"),
]


def searched(machine, domains, solver, **settings):
    source = None if isinstance(machine, InverseCalibrationSVM) else domains.source
    settings = {"grid": "quick", "cv": 4, **settings}
    machine = clone(machine).set_params(solver=solver)
    return path_search(machine, domains.X, domains.bags, source=source, **settings)


def assert_same_table(found, expected, atol=1e-3):
    """Share errors move in steps; soft ones tell how near the machines are.

    The choice is the same but between settings that differ by less than these do.
    """
    as_good = expected.table[found.best_index]["score"]
    assert as_good == pytest.approx(expected.best_score, abs=1e-6 * atol)
    for entry, other in zip(found.table, expected.table, strict=True):
        assert entry["params"] == other["params"]
        assert entry["share_error"] == pytest.approx(other["share_error"], abs=1e-12)
        assert entry["soft_share_error"] == pytest.approx(other["soft_share_error"], abs=atol)
    assert found.cv_results.keys() == expected.cv_results.keys()


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_newton_finds_the_table_of_kernel_matrices(machine, domains):
    found = searched(machine, domains, "newton")
    expected = searched(machine, domains, "exact")
    assert_same_table(found, expected)
    if machine is MACHINES[0]:  # no ties
        assert found.best_params == pytest.approx(expected.best_params)
    assert all(entry["converged"] for entry in found.table)
    assert found.report["solver"] == "newton"
    assert found.report["n_components"] is None


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_coordinate_descent_finds_it_too(machine, domains):
    grid = {"C": [0.5, 2.0]}
    if isinstance(machine, TGPLM):
        grid = {"C_target": [0.5, 2.0], "C_source": [0.5, 1.0], "coupling": [0.1, 1.0, np.inf]}
    found = searched(machine, domains, "coordinate", grid=grid)
    assert_same_table(found, searched(machine, domains, "exact", grid=grid))


def test_limits_of_costs_and_coupling(domains):
    grid = {"C_source": [0.0, 1.0], "C_target": [0.0, 1.0], "coupling": [0.0, 0.5, np.inf]}
    machine = TGPLM(kernel="linear", tol=TOL)
    found = searched(machine, domains, "newton", grid=grid)
    expected = searched(machine, domains, "exact", grid=grid)
    for entry, other in zip(found.table, expected.table, strict=True):
        if entry["params"]["C_target"] > 0:  # else an interval of intercepts is optimal
            assert entry["share_error"] == pytest.approx(other["share_error"], abs=1e-12)


def test_as_many_components_as_rows_are_the_kernel(domains):
    machine = TGPLM(gamma=0.2, tol=TOL, n_components=None)
    grid = {"gamma": [0.1, 0.4], "coupling": [0.1, 1.0]}
    found = searched(machine, domains, "newton", grid=grid)
    assert_same_table(found, searched(machine, domains, "exact", grid=grid))
    assert found.report["n_components"] == len(domains.X) + len(domains.X_source)


def test_agrees_with_grid_search_on_a_map(domains):
    """The same map in every fold: random frequencies depend on the number of columns alone."""
    machine = TGPLM(gamma=0.2, tol=TOL, solver="newton", feature_map="fourier", n_components=40)
    grid = {"coupling": [0.1, 1.0], "C_target": [1.0, 4.0]}
    cv = BagKFold(4)
    found = searched(machine, domains, "newton", grid=grid, cv=cv)
    expected = GridSearchCV(machine, grid, cv=cv, scoring=share_error_soft_ties)
    expected.fit(domains.X, domains.bags, source=domains.source)
    assert [entry["params"] for entry in found.table] == expected.cv_results_["params"]
    np.testing.assert_allclose(
        [entry["score"] for entry in found.table],
        expected.cv_results_["mean_test_score"],
        atol=1e-8,
    )
    assert found.best_params == expected.best_params_


def bags_with_labelled_rows(domains):
    """Return bags of which one is a set of labelled rows instead."""
    is_labelled = domains.bag_ids == 3
    ids = domains.bag_ids.astype(object)
    ids[is_labelled] = Bags.NO_BAG
    labels = np.where(is_labelled, domains.labels, None)
    shares = {k: p for k, p in domains.shares.items() if k != 3}
    return Bags.from_arrays(ids, shares).with_labels(labels)


def test_sparse_and_labelled_rows(domains):
    bags = bags_with_labelled_rows(domains)
    source = sparse.csr_matrix(domains.X_source), domains.y_source
    machine = TGPLM(kernel="linear", tol=TOL)
    tables = [
        path_search(
            clone(machine).set_params(solver=solver),
            sparse.csr_matrix(domains.X),
            bags,
            source=source,
            grid={"coupling": [0.1, 1.0]},
            cv=4,
        )
        for solver in ("exact", "newton", "coordinate")
    ]
    for found in tables[1:]:
        assert_same_table(found, tables[0])


def test_neither_jobs_nor_processes_matter(domains):
    one = searched(MACHINES[0], domains, "newton")
    assert searched(MACHINES[0], domains, "newton", n_jobs=2).table == one.table
    with joblib.parallel_config(backend="loky"):
        assert searched(MACHINES[0], domains, "newton", n_jobs=2).table == one.table


def test_the_solver_is_that_of_the_machine_on_all_rows(domains, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="bagshift")
    search = TGPLMCV(kernel="linear", cv=4).fit(domains.X, domains.bags, source=domains.source)
    assert not caplog.records
    assert search.search_report_["solver"] == search.fit_report_["solver"] == "exact"
    monkeypatch.setattr(_scalable, "MOST_EXACT_UNITS", 50)  # each fold has fewer
    search.fit(domains.X, domains.bags, source=domains.source)
    assert search.search_report_ == {
        "n_source_rows": 40,
        "n_target_rows": len(domains.X),
        "n_bags": 14,
        "solver": "newton",
        "n_components": None,
    }
    assert search.fit_report_["solver"] == "newton"
    assert caplog.messages[0] == (
        "Search of 30 settings on 40 source rows and 14 bags or labelled rows, by their columns "
        "(solver='newton')."
    )
    assert caplog.messages[1].startswith("40 source rows and 14 bags or labelled rows: solved on")


def test_components_of_the_search_and_of_the_machine(domains, monkeypatch):
    monkeypatch.setattr(_explicit_folds, "SEARCH_COMPONENTS", 20)
    search = TGPLMCV({"coupling": [0.1, 1.0]}, 4, solver="newton", random_state=1)
    search.fit(domains.X, domains.bags, source=domains.source)
    assert search.search_report_["n_components"] == 20
    assert search.fit_report_["n_components"] > 20
    search.set_params(n_components=30).fit(domains.X, domains.bags, source=domains.source)
    assert search.search_report_["n_components"] == 30
    assert search.fit_report_["n_components"] <= 30


def test_solvers_side_by_side(domains):
    grid = {"coupling": [0.1, 1.0], "solver": ["exact", "newton"]}
    found = path_search(
        TGPLM(kernel="linear", tol=TOL), domains.X, domains.bags, source=domains.source,
        grid=grid, cv=4,
    )  # fmt: skip
    assert found.report["solver"] == "exact, newton"
    for exact, newton in zip(found.table[::2], found.table[1::2], strict=True):
        assert (exact["params"]["solver"], newton["params"]["solver"]) == ("exact", "newton")
        assert exact["share_error"] == pytest.approx(newton["share_error"], abs=1e-12)


def test_a_map_that_does_not_fit_is_refused_beforehand(domains, monkeypatch):
    monkeypatch.setattr(_memory, "SMALL", 0)
    monkeypatch.setattr(_memory, "free_memory", lambda: 100)
    with pytest.raises(KernelMemoryError, match="A map of 40 source rows and 14 bags"):
        searched(TGPLM(n_components=66), domains, "newton", grid={"coupling": [0.1]})


def test_progress_is_told(domains):
    calls = []
    searched(
        TGPLM(solver="newton", n_components=20),
        domains,
        "newton",
        grid={"gamma": [0.1, 1.0], "coupling": [0.1, 1.0]},
        progress=lambda *numbers: calls.append(numbers),
    )
    assert calls == [(done, 8) for done in range(1, 9)]


@pytest.mark.nightly
def test_many_rows(make_domains):
    """Beyond 50,000 units settings start from earlier ones instead of a sample."""
    domains = make_domains(n_bags=5_000, n_source=60_000)
    found = path_search(
        TGPLM(kernel="linear"),
        domains.X,
        domains.bags,
        source=domains.source,
        cv=2,
    )
    assert found.report["solver"] == "newton"
    assert all(entry["converged"] for entry in found.table)
    alone = clone(found.best_estimator).set_params(tol=1e-6)
    alone.fit(domains.X, domains.bags, source=domains.source)
    assert alone.score(domains.X, domains.labels) == pytest.approx(
        found.best_estimator.score(domains.X, domains.labels), abs=1e-3
    )
