# SPDX-License-Identifier: BSD-3-Clause
"""Proportion matching: its formula, limits, starts, and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from bagshift import Bags, BagWarning, CountLikelihoodClassifier, ProportionMatching
from problems import two_domains

LINEAR = {"kernel": "linear", "C_target": 2.0, "standardize": False, "tol": 1e-10}
RBF = {"kernel": "rbf", "gamma": 0.4, "C_target": 2.0, "tol": 1e-10}


def machine(**settings):
    return ProportionMatching(**{**LINEAR, **settings})


def plain_objective(place, X, bags, source, coupling, C_source, C_target):
    """Return the problem of the module's head, written row by row."""
    X_source, y_source = source
    n = X.shape[1]
    (w_h, b_h), (w_c, b_c) = (place[:n], place[n]), (place[n + 1 : -1], place[-1])
    value = 0.5 * (w_c @ w_c + w_h @ w_h)
    value += 0.5 * coupling * (np.sum((w_c - w_h) ** 2) + (b_c - b_h) ** 2)
    margins = np.where(y_source == 1, 1.0, -1.0) * (X_source @ w_h + b_h)
    value += C_source * np.logaddexp(0, -margins).sum()
    chance = 1 / (1 + np.exp(-(X @ w_c + b_c)))
    for k, share in enumerate(bags.positive_shares):
        rows = bags.bag_index == k
        mean = chance[rows].mean()
        entropy = share * np.log(mean) + (1 - share) * np.log(1 - mean)
        value -= C_target * bags.weights[k] * rows.sum() * entropy
    return value


def test_objective_is_that_of_the_formula_and_a_minimum():
    X, bags, _, source = two_domains()
    weights = {k: 0.5 + k % 3 for k in range(bags.n_bags)}
    shares = dict(enumerate(bags.positive_shares))
    bags = Bags.from_arrays(bags.bag_index, shares, weights=weights)
    fitted = machine(coupling=0.7, C_source=1.5).fit(X, bags, source=source)
    place = np.concatenate(
        [fitted.source_coef_[0], fitted.source_intercept_, fitted.coef_[0], fitted.intercept_]
    )
    arguments = (X, bags, source, 0.7, 1.5, 2.0)
    assert fitted.objective_ == pytest.approx(plain_objective(place, *arguments), rel=1e-12)
    again = minimize(plain_objective, place + 0.05, args=arguments, method="L-BFGS-B")
    assert again.fun >= fitted.objective_ - 1e-8
    np.testing.assert_allclose(again.x, place, atol=1e-3)


@pytest.mark.parametrize("settings", [LINEAR, RBF], ids=["linear", "rbf"])
@pytest.mark.parametrize("with_source", [True, False])
def test_bags_of_one_are_labelled_rows_of_the_logistic_machine(with_source, settings):
    X, _, labels, source = two_domains()
    source = source if with_source else None
    known = Bags.unlabelled(len(X)).with_labels(labels)
    single = Bags.from_arrays(np.arange(len(X)), labels.astype(float))
    expected = CountLikelihoodClassifier(**settings).fit(X, known, source=source)
    with pytest.warns(BagWarning, match="pure"):
        of_bags = machine(**settings).fit(X, single, source=source)
    of_rows = machine(**settings).fit(X, known, source=source)
    for fitted in (of_bags, of_rows):
        scores = expected.decision_function(X)
        np.testing.assert_allclose(fitted.decision_function(X), scores, atol=1e-7)
        assert fitted.start_ == "zero"
    if with_source:
        scores = expected.source_decision_function(X)
        np.testing.assert_allclose(of_rows.source_decision_function(X), scores, atol=1e-7)


def test_no_coupling_gives_the_two_separate_machines():
    X, bags, _, source = two_domains()
    alone = machine().fit(X, bags)
    labelled = LogisticRegression(C=3.0, tol=1e-12, solver="newton-cholesky").fit(*source)
    for coupling in (0.0, 1e-9):
        coupled = machine(start="inverse_calibration", coupling=coupling, C_source=3.0)
        coupled.fit(X, bags, source=source)
        scores = coupled.decision_function(X)
        np.testing.assert_allclose(scores, alone.decision_function(X), atol=1e-5)
        scores = coupled.source_decision_function(source[0])
        np.testing.assert_allclose(scores, labelled.decision_function(source[0]), atol=1e-5)
    assert alone.start_ == "inverse_calibration"
    with pytest.raises(ValueError, match="fitted without a source"):
        alone.source_decision_function(X)


@pytest.mark.parametrize("bag_size", [6, 32])
def test_a_start_from_the_mirror_image_leads_back(bag_size):
    for seed in range(3):
        X, bags, _, (X_source, y_source) = two_domains(seed, bag_size=bag_size)
        alone = machine().fit(X, bags)
        mirrored = machine(start="source", coupling=0.0)
        mirrored.fit(X, bags, source=(X_source, 1 - y_source))
        assert mirrored.start_ == "source"
        scores = alone.decision_function(X)
        np.testing.assert_allclose(mirrored.decision_function(X), scores, atol=1e-6)


@pytest.mark.parametrize("settings", [LINEAR, RBF], ids=["linear", "rbf"])
def test_equal_shares_alone_give_every_row_their_log_odds(settings):
    X, bags, _, _ = two_domains()
    equal = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.3))
    with pytest.warns(BagWarning, match="same share"):
        fitted = machine(**settings).fit(X, equal)
    np.testing.assert_allclose(fitted.decision_function(X), np.log(0.3 / 0.7), atol=1e-6)


def test_strong_coupling_gives_one_machine():
    X, bags, _, source = two_domains()
    pooled = machine(coupling=np.inf).fit(X, bags, source=source)
    strong = machine(coupling=1e7).fit(X, bags, source=source)
    np.testing.assert_allclose(pooled.coef_, pooled.source_coef_)
    np.testing.assert_allclose(strong.decision_function(X), pooled.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("with_source", [True, False])
def test_swapping_the_classes_turns_the_scores(with_source):
    X, bags, _, (X_source, y_source) = two_domains()
    swapped = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    one = machine().fit(X, bags, source=(X_source, y_source) if with_source else None)
    two = machine().fit(X, swapped, source=(X_source, 1 - y_source) if with_source else None)
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-6)


def test_large_costs_match_the_shares():
    X, bags, _, _ = two_domains(n_features=10)
    fitted = machine(C_target=1e6).fit(X, bags)
    means = bags.bag_means(fitted.predict_proba(X)[:, 1])
    np.testing.assert_allclose(means, bags.positive_shares, atol=0.02)


def test_kernel_features_with_all_rows_are_the_kernel():
    X, bags, _, (X_source, y_source) = two_domains()
    rows, n = np.vstack([X_source, X]), len(y_source)
    K = rbf_kernel(rows, gamma=0.4)
    values, vectors = np.linalg.eigh(K)
    columns = vectors * np.sqrt(np.maximum(values, 0))
    expected = machine(start="source").fit(columns[n:], bags, source=(columns[:n], y_source))
    scores = expected.decision_function(columns[n:])
    direct = machine(**RBF, start="source").fit(X, bags, source=(X_source, y_source))
    np.testing.assert_allclose(direct.decision_function(X), scores, atol=1e-6)
    given = machine(kernel="precomputed", start="source")
    given.fit(K[n:], bags, source=(K[:n], y_source))
    np.testing.assert_allclose(given.decision_function(K[n:]), scores, atol=1e-6)


def test_auto_takes_the_lower_of_both_ends():
    for seed in range(4):
        X, bags, _, source = two_domains(seed, n_features=6, bag_size=12)
        ends = {
            start: machine(start=start, C_target=100.0).fit(X, bags, source=source).objective_
            for start in ("source", "inverse_calibration")
        }
        auto = machine(C_target=100.0).fit(X, bags, source=source)
        assert auto.objective_ == min(ends.values())
        assert ends[auto.start_] == auto.objective_


def test_labelled_rows_pull_the_scores():
    X, bags, _, source = two_domains()
    Z = np.full((1, X.shape[1]), 4.0)
    more = np.vstack([X, Z])
    free = machine().fit(more, Bags.concatenate([bags, Bags.unlabelled(1)]), source=source)
    same = machine().fit(X, bags, source=source)
    np.testing.assert_allclose(free.decision_function(X), same.decision_function(X), atol=1e-10)
    known = Bags.concatenate([bags, Bags.unlabelled(1).with_labels([0])])
    told = machine().fit(more, known, source=source)
    assert told.decision_function(Z)[0] < free.decision_function(Z)[0]


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match=r"start=\"source\" needs labelled history"):
        machine(start="source").fit(X, bags)
    with pytest.raises(ValueError, match="needs bags or labelled rows"):
        machine().fit(X, None, source=source)
    with pytest.raises(ValueError, match="'coupling'"):
        machine(coupling=-1.0).fit(X, labels)
    pure = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.0))
    with (
        pytest.warns(BagWarning, match="same share"),
        pytest.raises(ValueError, match="shares are those of one class"),
    ):
        machine().fit(X, pure)
