# SPDX-License-Identifier: BSD-3-Clause
"""Machines that leave the kernel matrix for explicit features when rows outgrow it."""

import logging
from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bagshift import TGPLM, Bags, InverseCalibrationSVM, SourceSVM
from bagshift.estimators import _scalable
from bagshift.kernels import Kernel
from bagshift.persistence import load_model, save_model
from problems import two_domains

MACHINES = (TGPLM, InverseCalibrationSVM, SourceSVM)


def fitted(make, X, bags, source, **settings):
    source = None if make is InverseCalibrationSVM else source
    return make(**settings).fit(X, bags, source=source)


@pytest.mark.parametrize("make", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_all_rows_as_components_are_the_exact_machine(make, kernel):
    X, bags, _, source = two_domains()
    exact = fitted(make, X, bags, source, kernel=kernel, solver="exact")
    newton = fitted(make, X, bags, source, kernel=kernel, solver="newton", n_components=None)
    scores = exact.decision_function(X)
    np.testing.assert_allclose(newton.decision_function(X), scores, atol=1e-3)
    assert newton.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert newton.converged_
    assert newton.dual_gap_ <= 1e-8 * newton.objective_
    np.testing.assert_allclose(newton.intercept_, exact.intercept_, atol=1e-3)
    if make is TGPLM:
        np.testing.assert_allclose(
            newton.source_decision_function(X), exact.source_decision_function(X), atol=1e-3
        )


@pytest.mark.parametrize("make", MACHINES)
@pytest.mark.parametrize("rows", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_coordinate_descent_finds_the_machine_too(make, rows):
    X, bags, _, source = two_domains()
    exact = fitted(make, X, bags, source, kernel="linear", solver="exact")
    history = rows(source[0]), source[1]
    machine = fitted(make, rows(X), bags, history, kernel="linear", solver="coordinate", tol=1e-6)
    np.testing.assert_allclose(machine.decision_function(X), exact.decision_function(X), atol=1e-2)
    assert machine.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert machine.converged_


@pytest.mark.parametrize("coupling", [0.0, np.inf])
def test_limits_of_the_coupling(coupling):
    X, bags, _, source = two_domains()
    exact, newton = (
        TGPLM(coupling=coupling, solver=solver, n_components=None).fit(X, bags, source=source)
        for solver in ("exact", "newton")
    )
    np.testing.assert_allclose(newton.decision_function(X), exact.decision_function(X), atol=1e-3)


def test_sparse_rows_and_labelled_rows():
    X, bags, labels, source = two_domains()
    X = np.vstack([X, X[:3] + 0.1])
    ids = np.append(np.repeat(np.arange(12), 6).astype(object), [Bags.NO_BAG] * 3)
    known = Bags.from_arrays(ids, dict(enumerate(bags.shares[:, 1])))
    known = known.with_labels([None] * 72 + labels[:3].tolist())
    dense = TGPLM(kernel="linear", solver="newton").fit(X, known, source=source)
    rows = TGPLM(kernel="linear", solver="newton").fit(
        sparse.csr_matrix(X), known, source=(sparse.csr_matrix(source[0]), source[1])
    )
    exact = TGPLM(kernel="linear", solver="exact").fit(X, known, source=source)
    np.testing.assert_allclose(rows.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(rows.coef_, exact.coef_, atol=1e-3)


def test_a_given_kernel_matrix():
    X, bags, _, source = two_domains()
    rows = np.vstack([source[0], X])
    gram = rows @ rows.T
    n = len(source[0])
    newton, exact = (
        TGPLM(kernel="precomputed", solver=solver, n_components=None).fit(
            gram[n:], bags, source=(gram[:n], source[1])
        )
        for solver in ("newton", "exact")
    )
    np.testing.assert_allclose(
        newton.decision_function(gram[n:]), exact.decision_function(gram[n:]), atol=1e-3
    )


def test_few_components_are_near_and_reported():
    X, bags, _, source = two_domains(n_bags=40, n_source=200)
    machine = TGPLM(solver="newton", n_components=60).fit(X, bags, source=source)
    assert machine.fit_report_ == {
        "solver": "newton",
        "n_source_rows": 200,
        "n_target_rows": 240,
        "n_target_units": 40,
        "n_components": machine.fit_report_["n_components"],
        "map_error": machine.fit_report_["map_error"],
    }
    assert 0.0 < machine.fit_report_["map_error"] < 0.1
    assert machine.fit_report_["n_components"] <= 60
    assert len(machine.support_vectors_) == 60
    exact = TGPLM(solver="exact").fit(X, bags, source=source)
    assert np.mean(machine.predict(X) == exact.predict(X)) > 0.95
    assert exact.fit_report_["solver"] == "exact"
    assert exact.fit_report_["n_components"] is None


def test_fourier_features_come_near_the_exact_machine():
    X, bags, _, source = two_domains(n_bags=40, n_source=200)
    exact = TGPLM(solver="exact").fit(X, bags, source=source)
    errors = []
    for n_components in (20, 300):
        machine = TGPLM(solver="newton", feature_map="fourier", n_components=n_components)
        machine.fit(X, bags, source=source)
        errors.append(
            [
                np.sqrt(np.mean((score(machine)(X) - score(exact)(X)) ** 2))
                for score in (
                    attrgetter("decision_function"),
                    attrgetter("source_decision_function"),
                )
            ]
        )
    assert np.all(np.array(errors[1]) < 0.5 * np.array(errors[0]))
    assert machine.coef_.shape == (1, 300)
    assert machine.frequencies_.shape == (3, 150)
    assert not hasattr(machine, "support_vectors_")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "poly"}, "kernel='rbf' only"),
        ({"n_components": 7}, "even number"),
        ({"n_components": None}, "give a number"),
    ],
)
def test_fourier_features_refuse_what_they_cannot_do(settings, words):
    X, bags, _, source = two_domains()
    machine = TGPLM(solver="newton", feature_map="fourier").set_params(**settings)
    with pytest.raises(ValueError, match=words):
        machine.fit(X, bags, source=source)


def test_auto_leaves_the_kernel_matrix_and_says_so(monkeypatch, caplog):
    X, bags, _, source = two_domains()
    caplog.set_level(logging.INFO, logger="bagshift")
    TGPLM().fit(X, bags, source=source)
    assert not caplog.records
    monkeypatch.setattr(_scalable, "MOST_EXACT_UNITS", 50)
    machine = TGPLM(n_components=20).fit(X, bags, source=source)
    assert machine.fit_report_["solver"] == "newton"
    assert caplog.messages == [
        "40 source rows and 12 bags or labelled rows: solved on 20 components (solver='newton')."
    ]


@pytest.mark.parametrize(
    ("kernel", "make", "columns", "solver"),
    [
        ("linear", np.asarray, 3, "newton"),
        ("linear", np.asarray, 2_001, "coordinate"),
        ("linear", sparse.csr_array, 3, "coordinate"),
        ("rbf", sparse.csr_array, 3, "newton"),
        ("precomputed", np.asarray, 3, "exact"),
    ],
)
def test_what_auto_takes(kernel, make, columns, solver):
    class Data:
        X_source = None
        X_target = make(np.zeros((2, columns)))
        n_source = 0
        n_target_units = 10_001

    assert _scalable.choose_solver("auto", Kernel(kernel), Data()) == solver
    Data.n_target_units = 10_000
    assert _scalable.choose_solver("auto", Kernel(kernel), Data()) == "exact"


def test_components_grow_with_rows():

    class Data:
        n_source = 0
        bags = range(19_999)

    assert _scalable._number_of_components("auto", Data()) == 300
    Data.n_source = 1
    assert _scalable._number_of_components("auto", Data()) == 1000
    assert _scalable._number_of_components(7, Data()) == 7
    assert _scalable._number_of_components(None, Data()) is None


def test_threads_and_repetition_change_nothing():
    X, bags, _, source = two_domains(n_bags=40, n_source=200)
    machine = TGPLM(solver="newton", n_components=50, n_jobs=2)
    first = machine.fit(X, bags, source=source).decision_function(X)
    again = clone(machine).set_params(n_jobs=None).fit(X, bags, source=source)
    assert np.array_equal(first, again.decision_function(X))


def test_a_limit_of_passes_warns():
    X, bags, _, source = two_domains()
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        TGPLM(solver="newton", max_iter=2).fit(X, bags, source=source)


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
def test_a_saved_machine_says_the_same(tmp_path, feature_map):
    X, bags, _, source = two_domains()
    machine = TGPLM(solver="newton", feature_map=feature_map, n_components=30)
    machine.fit(X, bags, source=source)
    save_model(machine, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").model
    assert np.array_equal(machine.predict_proba(X), loaded.predict_proba(X))
    assert loaded.fit_report_ == machine.fit_report_


def test_nothing_to_learn_from():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="nothing to learn from"):
        InverseCalibrationSVM(solver="newton").fit(X, Bags.unlabelled(4))


def test_unknown_solver():
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match="'solver' parameter"):
        TGPLM(solver="fast").fit(X, bags, source=source)
