# SPDX-License-Identifier: BSD-3-Clause
"""The count-likelihood machine: known labels, couplings, classes, kernels and columns."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler

from bagshift import (
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    KernelMemoryError,
    stack_domains,
)
from bagshift.kernels import _memory
from problems import two_domains

LINEAR = {"kernel": "linear", "C_target": 2.0, "tol": 1e-10}
RBF = {"kernel": "rbf", "gamma": 0.4, "C_target": 2.0, "tol": 1e-10}


def machine(**settings):
    return CountLikelihoodClassifier(**{**LINEAR, **settings})


def logistic_regression(X, y, C=2.0, weight=None):
    model = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    return model.fit(X, y, sample_weight=weight).decision_function(X)


def kernel_logistic_regression(K, y, C):
    """Return scores of min a'Ka / 2 + C sum log(1 + exp(-y f)), f = Ka + b, found by L-BFGS."""
    signs = np.where(y == 1, 1.0, -1.0)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))

    def value_and_gradient(u):
        margins = signs * (root @ u[:-1] + u[-1])
        push = -C * signs * expit(-margins)
        value = 0.5 * u[:-1] @ u[:-1] + C * np.logaddexp(0, -margins).sum()
        return value, np.append(root.T @ push + u[:-1], push.sum())

    options = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000, "maxcor": 50}
    start = np.zeros(len(K) + 1)
    u = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
    return root @ u[:-1] + u[-1]


# Known labels -----------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 64.0])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_plain_labels_are_logistic_regression(C, as_rows):
    X, _, labels, _ = two_domains()
    weight = np.linspace(0.2, 2.0, len(X))
    for given in (None, weight):
        fitted = machine(C_target=C).fit(as_rows(X), labels, sample_weight=given)
        expected = logistic_regression(X, labels, C, given)
        np.testing.assert_allclose(fitted.decision_function(as_rows(X)), expected, atol=1e-5)
        assert fitted.start_ == "zero"


@pytest.mark.parametrize("settings", [LINEAR, RBF], ids=["linear", "rbf"])
@pytest.mark.parametrize("with_source", [True, False])
def test_bags_of_one_and_pure_bags_are_labelled_rows(with_source, settings):
    X, _, labels, source = two_domains()
    source = source if with_source else None
    known = Bags.unlabelled(len(X)).with_labels(labels)
    single = Bags.from_arrays(np.arange(len(X)), labels.astype(float))
    pure = Bags.from_arrays(labels, {0: 0.0, 1: 1.0})
    expected = machine(**settings).fit(X, known, source=source).decision_function(X)
    for bags in (single, pure):
        with pytest.warns(UserWarning, match="pure"):
            fitted = machine(**settings).fit(X, bags, source=source)
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-8)
        assert fitted.start_ == "zero"
    if not with_source:
        plain = machine(**settings).fit(X, labels).decision_function(X)
        np.testing.assert_allclose(plain, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "function"),
    [
        (RBF, lambda A, B: rbf_kernel(A, B, gamma=0.4)),
        (
            {**RBF, "kernel": "poly", "coef0": 1.0, "degree": 2},
            lambda A, B: polynomial_kernel(A, B, gamma=0.4, coef0=1.0, degree=2),
        ),
    ],
    ids=["rbf", "poly"],
)
def test_kernels_with_all_rows_as_landmarks_are_exact(settings, function):
    X, bags, labels, (X_source, y_source) = two_domains()
    fitted = machine(**settings).fit(X, labels)
    expected = kernel_logistic_regression(function(X, X), labels, 2.0)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-4)
    # With bags: as the matrix, as a function, and as columns whose products are the kernel.
    rows = np.vstack([X_source, X])
    K, n = function(rows, rows), len(y_source)
    expected = machine(**settings).fit(X, bags, source=(X_source, y_source)).decision_function(X)
    given = machine(**{**settings, "kernel": "precomputed"})
    given.fit(K[n:], bags, source=(K[:n], y_source))
    np.testing.assert_allclose(given.decision_function(K[n:]), expected, atol=1e-5)
    called = machine(**{**settings, "kernel": function})
    called.fit(X, bags, source=(X_source, y_source))
    np.testing.assert_allclose(called.decision_function(X), expected, atol=1e-5)
    values, vectors = np.linalg.eigh(K)
    columns = vectors * np.sqrt(np.maximum(values, 0))
    linear = machine(standardize=False).fit(columns[n:], bags, source=(columns[:n], y_source))
    np.testing.assert_allclose(linear.decision_function(columns[n:]), expected, atol=1e-5)


@pytest.mark.parametrize("n_components", [None, 25])
def test_precomputed_columns_may_be_stacked_in_any_order(n_components):
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    K, n = rbf_kernel(Xa, gamma=0.4), len(y_source)
    expected = machine(**RBF, n_components=n_components).fit(Xa, ya).decision_function(X)
    given = machine(kernel="precomputed", n_components=n_components)
    stacked = given.fit(K, ya).decision_function(K[n:])
    np.testing.assert_allclose(stacked, expected, atol=1e-5)
    if n_components is None:
        order = np.random.default_rng(0).permutation(len(K))
        mixed = given.fit(K[np.ix_(order, order)], ya[order])
        np.testing.assert_allclose(mixed.decision_function(K[n:][:, order]), expected, atol=1e-5)


# Coupling and classes ---------------------------------------------------------------------


def test_no_coupling_gives_the_two_separate_machines():
    X, bags, _, source = two_domains()
    alone = machine(start="inverse_calibration").fit(X, bags)
    labelled = logistic_regression(*source, C=3.0)
    for coupling in (0.0, 1e-9):
        coupled = machine(start="inverse_calibration", coupling=coupling, C_source=3.0)
        coupled.fit(X, bags, source=source)
        scores = coupled.decision_function(X)
        np.testing.assert_allclose(scores, alone.decision_function(X), atol=1e-5)
        scores = coupled.source_decision_function(source[0])
        np.testing.assert_allclose(scores, labelled, atol=1e-5)
    assert alone.start_ == "inverse_calibration"
    with pytest.raises(ValueError, match="fitted without a source"):
        alone.source_decision_function(X)


def test_strong_coupling_gives_the_pooled_machine():
    X, bags, _, source = two_domains()
    pooled = machine(coupling=np.inf).fit(X, bags, source=source)
    strong = machine(coupling=1e7).fit(X, bags, source=source)
    np.testing.assert_allclose(pooled.coef_, pooled.source_coef_)
    np.testing.assert_allclose(strong.decision_function(X), pooled.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("coupling", [0.0, 0.125, 8.0, np.inf])
def test_swapping_the_classes_turns_the_scores(coupling, with_source):
    X, bags, _, (X_source, y_source) = two_domains()
    swapped = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    one = machine(coupling=coupling).fit(
        X, bags, source=(X_source, y_source) if with_source else None
    )
    two = machine(coupling=coupling).fit(
        X, swapped, source=(X_source, 1 - y_source) if with_source else None
    )
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-6)


def test_a_positive_label_that_sorts_first_changes_names_only():
    X, bags, labels, (X_source, y_source) = two_domains()
    names = np.array(["no", "Aye"])
    plain = machine().fit(X, bags, source=(X_source, y_source))
    declared = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), positive="Aye", negative="no"
    )
    named = machine().fit(X, declared, source=(X_source, names[y_source]))
    np.testing.assert_array_equal(named.classes_, ["Aye", "no"])
    assert named.positive_class_ == "Aye"
    np.testing.assert_allclose(named.coef_, -plain.coef_, atol=1e-8)
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
    assert named.score(X, declared) == pytest.approx(plain.score(X, bags))
    np.testing.assert_allclose(
        named.predict_proba_in_bags(X, declared)[:, 0],
        plain.predict_proba_in_bags(X, bags)[:, 1],
        atol=1e-8,
    )
    assert named.score(X, names[labels]) == plain.score(X, labels) > 0.8


# Columns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [LINEAR, RBF], ids=["linear", "rbf"])
def test_standardised_columns_equal_those_scaled_by_hand(settings):
    X, bags, _, (X_source, y_source) = two_domains()
    wide, wide_source = (Z * [1.0, 1000.0, 0.01] + 5 for Z in (X, X_source))
    scaler = StandardScaler().fit(np.vstack([wide_source, wide]))
    by_hand = machine(**settings, standardize=False)
    by_hand.fit(scaler.transform(wide), bags, source=(scaler.transform(wide_source), y_source))
    expected = by_hand.decision_function(scaler.transform(wide))
    for rule in (True, "auto"):
        fitted = machine(**settings, standardize=rule)
        fitted.fit(wide, bags, source=(wide_source, y_source))
        np.testing.assert_allclose(fitted.decision_function(wide), expected, atol=1e-6)
        assert hasattr(fitted, "feature_scale_") == (settings is RBF)
        if settings is LINEAR:
            scores = wide @ fitted.coef_[0] + fitted.intercept_
            np.testing.assert_allclose(scores, expected, atol=1e-6)
        else:
            np.testing.assert_allclose(fitted.feature_scale_, scaler.scale_)
            np.testing.assert_allclose(fitted.feature_center_, scaler.mean_)


def test_columns_of_like_spread_and_sparse_rows_stay_as_they_are():
    X, bags, _, source = two_domains()
    plain = machine(standardize=False).fit(X, bags, source=source)
    auto = machine().fit(X, bags, source=source)
    np.testing.assert_array_equal(auto.coef_, plain.coef_)
    history = sparse.csr_matrix(source[0]), source[1]
    told = machine(standardize=True).fit(sparse.csr_matrix(X), bags, source=history)
    np.testing.assert_allclose(told.coef_, plain.coef_, atol=1e-7)
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    fitted = machine(standardize=True, kernel="rbf").fit(constant, bags)
    assert fitted.feature_scale_[3] == 1.0


def test_kernel_auto_is_linear_for_sparse_rows_and_rbf_for_dense_ones():
    X, bags, _, _ = two_domains()
    assert machine(kernel="auto").fit(X, bags).kernel_.name == "rbf"
    assert machine(kernel="auto").fit(sparse.csr_matrix(X), bags).kernel_.name == "linear"


def test_landmarks_follow_the_random_state():
    X, bags, _, source = two_domains()

    def rows(state):
        settings = {**RBF, "n_components": 20, "tol": 1e-6, "random_state": state}
        return machine(**settings).fit(X, bags, source=source).support_vectors_

    np.testing.assert_array_equal(rows(1), rows(1))
    assert rows(1).shape == (20, 3)
    assert not np.array_equal(rows(1), rows(2))


def test_features_that_do_not_fit_are_refused(monkeypatch):
    X, _, _, _ = two_domains()
    monkeypatch.setattr(_memory, "free_memory", lambda: 2**20)
    wide = np.tile(X, (20, 1))
    many = Bags.from_arrays(np.arange(len(wide)) // 6, counts=dict(enumerate([1, 2] * 120)))
    with pytest.raises(KernelMemoryError, match="lower n_components"):
        machine(kernel="rbf").fit(wide, many)
    assert machine().fit(wide, many).converged_


# Input that is not what it seems -----------------------------------------------------------


@pytest.mark.parametrize("column", ["year", "constant"])
def test_a_column_far_from_the_others_does_not_drown_them(column):
    rng = np.random.default_rng(0)
    labels = rng.random(160) < np.repeat(rng.uniform(0.2, 0.8, 20), 8)
    X = rng.normal(size=(160, 3)) + 1.5 * labels[:, None]
    ids = np.repeat(np.arange(20), 8)
    bags = Bags.from_arrays(ids, counts={k: int(labels[ids == k].sum()) for k in range(20)})
    far = 2020.0 + (rng.integers(0, 5, 160) if column == "year" else np.zeros(160))
    machine = CountLikelihoodClassifier().fit(np.column_stack([X, far]), bags)
    assert machine.score(np.column_stack([X, far]), labels.astype(int)) > 0.85


def test_labels_of_one_class_are_refused():
    labels = Bags.unlabelled(4).with_labels([1, None, 1, None])
    with pytest.raises(ValueError, match="one class"):
        CountLikelihoodClassifier().fit(np.arange(4.0)[:, None], labels)


def test_a_search_asks_before_it_begins():
    bags = Bags.from_arrays(np.repeat(np.arange(10), 2), counts={k: k % 3 for k in range(10)})
    X = np.random.default_rng(0).normal(size=(20, 2))
    began = []
    search = CountLikelihoodCV(start="source", cv=5, progress=lambda *done: began.append(done))
    with pytest.raises(ValueError, match="needs labelled history"):
        search.fit(X, bags)
    with pytest.raises(ValueError, match="precomputed kernel needs one column"):
        CountLikelihoodCV({"kernel": ["rbf", "precomputed"]}, cv=5).fit(X, bags)
    assert not began


def test_shares_in_place_of_bags_get_a_sentence():
    with pytest.raises(ValueError, match=r"Bags\.from_arrays"):
        CountLikelihoodClassifier().fit(np.arange(4.0)[:, None], {"a": 0.5})
