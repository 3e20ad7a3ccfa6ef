# SPDX-License-Identifier: BSD-3-Clause
"""BagCSI: its formula and derivatives, its limits, and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from bagshift import BagCSI, Bags
from bagshift.estimators.bag_csi import domain_term, rounded_difference
from bagshift.solvers.score_losses import BagShares, MeanProbabilityLoss
from problems import two_domains

LINEAR = {"kernel": "linear", "C_target": 8.0, "C_domain": 0.5, "standardize": False, "tol": 1e-10}
RBF = {"kernel": "rbf", "gamma": 0.4, "C_target": 8.0, "C_domain": 0.5, "tol": 1e-10}


def machine(**settings):
    return BagCSI(**{**LINEAR, **settings})


def gaps(X, bags, source, place):
    """Return the squared differences of label-weighted mean scores; shape (n_bags,)."""
    X_source, y_source, weight = source
    of_source, of_target = (Z @ place[:-1] + place[-1] for Z in (X_source, X))
    found = np.zeros(bags.n_bags)
    for k, share in enumerate(bags.positive_shares):
        mean = of_target[bags.bag_index == k].mean()
        for label, part in ((1, share), (0, 1 - share)):
            wanted = np.sum(weight * (y_source == label) * of_source) / weight.sum()
            found[k] += (wanted - part * mean) ** 2
    return found


def plain_objective(place, X, bags, source, C_source, C_target, C_domain):
    """Return the problem of the module's head, written bag by bag."""
    X_source, y_source, weight = source
    margins = np.where(y_source == 1, 1.0, -1.0) * (X_source @ place[:-1] + place[-1])
    value = 0.5 * place[:-1] @ place[:-1] + C_source * weight @ np.logaddexp(0, -margins)
    chance = 1 / (1 + np.exp(-(X @ place[:-1] + place[-1])))
    for k, share in enumerate(bags.positive_shares):
        difference = chance[bags.bag_index == k].mean() - share
        value += C_target * bags.weights[k] * (np.sqrt(difference**2 + 1e-4) - 0.01)
    return value + C_domain * bags.weights @ gaps(X, bags, source, place)


def weighted_problem():
    X, bags, _, (X_source, y_source) = two_domains()
    weights = {k: 0.5 + k % 3 for k in range(bags.n_bags)}
    bags = Bags.from_arrays(bags.bag_index, dict(enumerate(bags.positive_shares)), weights=weights)
    return X, bags, (X_source, y_source, np.linspace(0.5, 2.0, len(y_source)))


# The formula ------------------------------------------------------------------------------


@pytest.mark.parametrize("C_domain", [0.0, 0.5, 20.0])
def test_objective_is_that_of_the_formula_and_a_minimum(C_domain):
    X, bags, source = weighted_problem()
    fitted = machine(C_source=1.5, C_domain=C_domain).fit(X, bags, source=source)
    place = np.append(fitted.coef_[0], fitted.intercept_)
    arguments = (X, bags, source, 1.5, 8.0, C_domain)
    assert fitted.objective_ == pytest.approx(plain_objective(place, *arguments), rel=1e-10)
    again = minimize(plain_objective, place + 0.02, args=arguments, method="L-BFGS-B")
    assert again.fun >= fitted.objective_ - 1e-8
    gap = np.average(gaps(X, bags, source, place), weights=bags.weights)
    assert fitted.domain_gap_ == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize("n_more", [0, 2])
def test_domain_term_and_its_derivatives(n_more):
    X, bags, source = weighted_problem()
    weight, labels = source[2], source[1].astype(float)
    shares = BagShares.of_sizes(bags.rows_per_bag, bags.positive_shares)
    costs = 3.0 * bags.weights
    term = domain_term(labels, weight, shares, costs, n_more)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=len(labels) + len(X) + n_more)
    of_source, of_target = scores[: len(labels)], scores[len(labels) : len(labels) + len(X)]
    expected = 0.0
    for k, share in enumerate(bags.positive_shares):
        mean = of_target[bags.bag_index == k].mean()
        for of_class, part in ((labels, share), (1 - labels, 1 - share)):
            wanted = weight @ (of_class * of_source) / weight.sum()
            expected += costs[k] * (wanted - part * mean) ** 2
    point = term.at(scores)
    assert point.value == pytest.approx(expected, rel=1e-12)
    step = 1e-5 * rng.normal(size=len(scores))
    ahead, back = term.at(scores + step), term.at(scores - step)
    assert 2 * point.slope @ step == pytest.approx(ahead.value - back.value, rel=1e-8)
    np.testing.assert_allclose(2 * point.bend(step), ahead.slope - back.slope, atol=1e-12)
    if n_more:
        np.testing.assert_array_equal(point.slope[-n_more:], 0)


def test_rounded_difference_and_its_derivatives():
    bags = BagShares.of_sizes(np.array([3, 2, 4]), np.array([1 / 3, 1.0, 0.25]))
    loss = MeanProbabilityLoss(bags, np.array([1.0, 2.0, 0.5]), rounded_difference)
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 5.0):
        scores = scale * rng.normal(size=9)
        point, units = loss.at(scores), 1e-6 * np.eye(9)
        slope = [(loss.at(scores + u).value - loss.at(scores - u).value) / 2e-6 for u in units]
        np.testing.assert_allclose(point.slope, slope, atol=1e-7)
        bends = [(loss.at(scores + u).slope - loss.at(scores - u).slope) / 2e-6 for u in units]
        np.testing.assert_allclose([point.bend(1e6 * u) for u in units], bends, atol=1e-6)
    mean = np.array([0.9, 0.5, 0.25])
    found = rounded_difference(mean, 1 - mean, bags)
    np.testing.assert_allclose(found.value, np.abs(mean - bags.shares), atol=0.01)
    assert found.value[2] == 0


# Limits -----------------------------------------------------------------------------------


def test_without_costs_of_the_target_it_is_logistic_regression_on_the_source():
    X, bags, _, source = two_domains()
    fitted = machine(C_source=3.0, C_target=0.0, C_domain=0.0).fit(X, bags, source=source)
    expected = LogisticRegression(C=3.0, tol=1e-12, solver="newton-cholesky").fit(*source)
    scores = expected.decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X), scores, atol=1e-7)
    assert fitted.domain_gap_ > 0


def test_known_labels_are_logistic_regression():
    X, _, labels, _ = two_domains()
    exact = LogisticRegression(C=8.0, tol=1e-12, solver="newton-cholesky")
    expected = exact.fit(X, labels).decision_function(X)
    for y in (labels, Bags.unlabelled(len(X)).with_labels(labels)):
        fitted = machine().fit(X, y)
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-7)
        assert fitted.domain_gap_ == 0


def test_labelled_rows_of_both_domains_are_one_logistic_regression():
    X, _, labels, (X_source, y_source) = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(labels)
    fitted = machine(C_source=2.0).fit(X, known, source=(X_source, y_source))
    weight = np.concatenate([np.full(len(y_source), 2.0), np.full(len(X), 8.0)])
    rows, y = np.vstack([X_source, X]), np.concatenate([y_source, labels])
    exact = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky")
    expected = exact.fit(rows, y, sample_weight=weight).decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-7)


def test_large_cost_of_bags_matches_their_shares():
    X, bags, _, source = two_domains(n_features=10)
    fitted = machine(C_target=1e5, C_domain=0.0).fit(X, bags, source=source)
    means = bags.bag_means(fitted.predict_proba(X)[:, 1])
    np.testing.assert_allclose(means, bags.positive_shares, atol=0.02)


def test_large_cost_of_the_domain_term_closes_the_gap():
    X, bags, _, source = two_domains()
    found = [
        machine(C_domain=cost).fit(X, bags, source=source).domain_gap_ for cost in (0, 1, 100)
    ]
    assert found[0] > 2 * found[1] > 8 * found[2]


def test_swapping_the_classes_turns_the_scores():
    X, bags, _, (X_source, y_source) = two_domains()
    swapped = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    one = machine().fit(X, bags, source=(X_source, y_source))
    two = machine().fit(X, swapped, source=(X_source, 1 - y_source))
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-6)
    assert one.domain_gap_ == pytest.approx(two.domain_gap_)


def test_kernel_features_with_all_rows_are_the_kernel():
    X, bags, _, (X_source, y_source) = two_domains()
    rows, n = np.vstack([X_source, X]), len(y_source)
    K = rbf_kernel(rows, gamma=0.4)
    values, vectors = np.linalg.eigh(K)
    columns = vectors * np.sqrt(np.maximum(values, 0))
    expected = machine().fit(columns[n:], bags, source=(columns[:n], y_source))
    scores = expected.decision_function(columns[n:])
    direct = machine(**RBF).fit(X, bags, source=(X_source, y_source))
    np.testing.assert_allclose(direct.decision_function(X), scores, atol=1e-6)
    given = machine(kernel="precomputed").fit(K[n:], bags, source=(K[:n], y_source))
    np.testing.assert_allclose(given.decision_function(K[n:]), scores, atol=1e-6)


def test_labelled_rows_pull_the_scores():
    X, bags, _, source = two_domains()
    Z = np.full((1, X.shape[1]), 4.0)
    more = np.vstack([X, Z])
    free = machine().fit(more, Bags.concatenate([bags, Bags.unlabelled(1)]), source=source)
    known = Bags.concatenate([bags, Bags.unlabelled(1).with_labels([0])])
    told = machine().fit(more, known, source=source)
    assert told.decision_function(Z)[0] < free.decision_function(Z)[0]


# Refusals ---------------------------------------------------------------------------------


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="BagCSI needs labelled history"):
        machine().fit(X, bags)
    with pytest.raises(ValueError, match="needs bags or labelled rows"):
        machine().fit(X, None, source=source)
    with pytest.raises(ValueError, match="'C_domain'"):
        machine(C_domain=-1.0).fit(X, labels)
    assert not hasattr(machine(), "source_decision_function")
