# SPDX-License-Identifier: BSD-3-Clause
"""Mean maps: unmixed class means, their limits, the alternation, and what they refuse."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from bagshift import (
    AlternatingMeanMap,
    BagError,
    Bags,
    BagWarning,
    LaplacianMeanMap,
    MeanMap,
)
from problems import two_domains

LINEAR = {"kernel": "linear", "C": 2.0, "standardize": False}
MEAN_MAPS = [MeanMap, LaplacianMeanMap]
ALL = [*MEAN_MAPS, AlternatingMeanMap]


def uneven_bags(seed=0, n_bags=9, n_features=3):
    """Return (X, bags, labels): bags of unlike sizes and weights, and rows in no bag."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, n_bags)
    ids = np.repeat(np.arange(n_bags), sizes)
    labels = (rng.random(len(ids)) < np.linspace(0.1, 0.9, n_bags)[ids]).astype(int)
    X = rng.normal(size=(len(ids), n_features)) + 1.5 * labels[:, None]
    counts = {k: int(labels[ids == k].sum()) for k in range(n_bags)}
    weights = {k: float(rng.uniform(0.5, 2.0)) for k in range(n_bags)}
    return X, Bags.from_arrays(ids, counts=counts, weights=weights), labels


def mean_matrix(bags):
    A = (bags.bag_index[None, :] == np.arange(bags.n_bags)[:, None]).astype(float)
    return A / A.sum(axis=1, keepdims=True)


def class_means(X, bags, D):
    """Return the class means of the plain formula, those of the first class first."""
    share = bags.positive_shares
    mixture = np.column_stack([1 - share, share])
    means = mean_matrix(bags) @ X
    return np.linalg.solve(mixture.T @ D @ mixture, mixture.T @ D @ means)


def drifting_bags(n_bags=20, bag_size=25):
    """Return (X, bags, labels): from bag to bag all rows move on, and the share rises."""
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(n_bags), bag_size)
    place = np.linspace(-1.0, 1.0, n_bags)
    chance = 1 / (1 + np.exp(-2 * place - rng.normal(size=n_bags)))
    labels = (rng.random(len(ids)) < chance[ids]).astype(int)
    X = rng.normal(size=(len(ids), 3)) + np.outer(place[ids], [3.0, -2.0, 0.0])
    X[:, 1] += 1.4 * (2 * labels - 1)
    counts = {k: int(labels[ids == k].sum()) for k in range(n_bags)}
    return X, Bags.from_arrays(ids, counts=counts), labels


def smooth_class_means(X, bags, D, smoothing, bandwidth):
    """Return the class means of every bag by the plain formula, and their averages."""
    share, means = bags.positive_shares, mean_matrix(bags) @ X
    far = np.linalg.norm(means[:, None] - means[None], axis=2)
    similarity = np.exp(-far / bandwidth) * (1 - np.eye(len(means)))
    L = np.diag(similarity.sum(axis=1)) - similarity
    L /= similarity.sum(axis=1).mean()
    mixture = np.hstack([np.diag(1 - share), np.diag(share)])
    nothing = np.zeros_like(L)
    matrix = mixture.T @ D @ mixture + smoothing * np.block([[L, nothing], [nothing, L]])
    found = np.linalg.solve(matrix, mixture.T @ D @ means)
    negative, positive = np.split(found, 2)
    of_negative, of_positive = D @ (1 - share), D @ share
    return np.array(
        [of_negative @ negative / of_negative.sum(), of_positive @ positive / of_positive.sum()]
    )


def logistic_by_mean_operator(X, weight, means, share, C):
    """Return scores of min lambda/2 |v|^2 + sum log(e^vz + e^-vz) - N v'mu, found by L-BFGS."""
    operator = np.append(share * means[1] - (1 - share) * means[0], 2 * share - 1)
    Z, n = np.column_stack([X, np.ones(len(X))]), weight.sum()
    penalty = 4 / C * np.append(np.ones(X.shape[1]), 0)

    def value_and_gradient(v):
        half = Z @ v
        value = weight @ np.logaddexp(half, -half) - n * v @ operator + 0.5 * v @ (penalty * v)
        return value, Z.T @ (weight * np.tanh(half)) - n * operator + penalty * v

    options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 5000, "maxcor": 50}
    start = np.zeros(Z.shape[1])
    v = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
    return 2 * Z @ v


def logistic_regression(X, y, C=2.0, weight=None):
    model = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    return model.fit(X, y, sample_weight=weight)


# The formulas -----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["size", "equal"])
def test_mean_map_is_the_plain_formula(rule):
    X, bags, _ = uneven_bags()
    D = np.diag(bags.weights * (bags.rows_per_bag if rule == "size" else 1))
    means = class_means(X, bags, D)
    share = np.average(bags.positive_shares, weights=np.diag(D))
    machine = MeanMap(bag_weight=rule, **LINEAR).fit(X, bags)
    np.testing.assert_allclose(machine.class_means_, means, atol=1e-10)
    weight = bags.weights[bags.bag_index]
    expected = logistic_by_mean_operator(X, weight, means, share, 2.0)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-6)
    second = 1 / (1 + np.exp(-expected))
    np.testing.assert_allclose(machine.predict_proba(X)[:, 1], second, atol=1e-6)
    mixture = np.column_stack([1 - bags.positive_shares, bags.positive_shares])
    condition = np.linalg.cond(np.sqrt(D) @ mixture)
    assert machine.condition_number_ == pytest.approx(condition)


@pytest.mark.parametrize("smoothing", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("rule", ["size", "equal"])
def test_laplacian_mean_map_is_the_plain_formula(rule, smoothing):
    X, bags, _ = uneven_bags()
    weight = bags.weights * (bags.rows_per_bag if rule == "size" else 1)
    D = np.diag(weight / weight.mean())
    means = smooth_class_means(X, bags, D, smoothing, 0.7)
    share = np.average(bags.positive_shares, weights=weight)
    machine = LaplacianMeanMap(smoothing=smoothing, bandwidth=0.7, bag_weight=rule, **LINEAR)
    machine.fit(X, bags)
    np.testing.assert_allclose(machine.class_means_, means, atol=1e-6)
    row_weight = bags.weights[bags.bag_index]
    expected = logistic_by_mean_operator(X, row_weight, means, share, 2.0)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-5)
    assert machine.condition_number_ > 1


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.4}])
def test_much_smoothing_tends_to_the_mean_map(kernel):
    X, bags, _ = uneven_bags()
    expected = MeanMap(**kernel).fit(X, bags).decision_function(X)
    distance = [
        np.abs(
            LaplacianMeanMap(smoothing=smoothing, **kernel).fit(X, bags).decision_function(X)
            - expected
        ).max()
        for smoothing in (1e3, 1e5, 1e7)
    ]
    assert distance[2] < 1e-5
    assert distance[0] > 30 * distance[1] > 900 * distance[2]


@pytest.mark.parametrize("times", [1, 5])
def test_smoothing_means_the_same_for_any_number_of_bags(times):
    """Class means of bags that drift, once or several times over."""
    X, bags, labels = drifting_bags()
    ids = np.concatenate([bags.bag_index + 20 * i for i in range(times)])
    shares = dict(enumerate(np.tile(bags.positive_shares, times)))
    X, labels = np.tile(X, (times, 1)), np.tile(labels, times)
    many = Bags.from_arrays(ids, shares)
    by_default = LaplacianMeanMap(kernel="linear").fit(X, many)
    plain = MeanMap(kernel="linear").fit(X, many)
    gap = by_default.class_means_ - plain.class_means_
    once = LaplacianMeanMap(kernel="linear").fit(*drifting_bags()[:2])
    # Twins of a bag are nearer to it than other bags.
    np.testing.assert_allclose(
        by_default.class_means_, once.class_means_, atol=0.1 * np.abs(gap).max()
    )
    assert np.abs(gap).max() > 0.2
    assert by_default.score(X, labels) > plain.score(X, labels) + 0.01


def test_little_smoothing_tends_to_the_smoothest_means_that_fit_every_bag():
    X, bags, _ = uneven_bags()
    share, means = bags.positive_shares, mean_matrix(bags) @ X
    far = np.linalg.norm(means[:, None] - means[None], axis=2)
    similarity = np.exp(-far / 0.7) * (1 - np.eye(len(means)))
    L, nothing = np.diag(similarity.sum(axis=1)) - similarity, np.zeros((len(means), len(means)))
    mixture = np.hstack([np.diag(1 - share), np.diag(share)])
    # Least sum of squared differences under exact bag means, by Lagrange's multipliers.
    optimality = np.block(
        [[np.block([[L, nothing], [nothing, L]]), mixture.T], [mixture, nothing]]
    )
    right = np.vstack([np.zeros((2 * len(means), X.shape[1])), means])
    negative, positive, _ = np.split(np.linalg.solve(optimality, right), 3)
    weight = bags.weights * bags.rows_per_bag
    expected = [
        np.average(negative, axis=0, weights=weight * (1 - share)),
        np.average(positive, axis=0, weights=weight * share),
    ]
    distance = [
        np.abs(
            LaplacianMeanMap(smoothing=smoothing, bandwidth=0.7, **LINEAR)
            .fit(X, bags)
            .class_means_
            - expected
        ).max()
        for smoothing in (1e-2, 1e-3, 1e-4)
    ]
    assert distance[2] < 1e-4
    assert distance[0] > 5 * distance[1] > 25 * distance[2]


def test_kernel_features_with_all_rows_are_the_kernel():
    X, bags, _ = uneven_bags()
    K = rbf_kernel(X, gamma=0.4)
    values, vectors = np.linalg.eigh(K)
    columns = vectors * np.sqrt(np.maximum(values, 0))
    for machine in ALL:
        expected = machine(**LINEAR).fit(columns, bags).decision_function(columns)
        direct = machine(kernel="rbf", gamma=0.4, C=2.0).fit(X, bags)
        np.testing.assert_allclose(direct.decision_function(X), expected, atol=1e-6)
        given = machine(kernel="precomputed", C=2.0).fit(K, bags)
        np.testing.assert_allclose(given.decision_function(K), expected, atol=1e-6)
        assert not hasattr(direct, "class_means_")


# Limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MEAN_MAPS)
def test_two_point_masses_give_their_places(machine):
    points = np.array([[1.0, -2.0], [3.0, 5.0]])
    _, bags, labels = uneven_bags()
    settings = {"smoothing": 1e3} if machine is LaplacianMeanMap else {}
    fitted = machine(kernel="linear", **settings).fit(points[labels], bags)
    np.testing.assert_allclose(fitted.class_means_, points, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(points[labels]), labels)
    exact = logistic_regression(points[labels], labels, 1.0, bags.weights[bags.bag_index])
    if machine is MeanMap:
        # The overall share is that of the rows, so nothing differs from known labels.
        scores = fitted.decision_function(points[labels])
        np.testing.assert_allclose(scores, exact.decision_function(points[labels]), atol=1e-7)


@pytest.mark.parametrize("machine", ALL)
def test_known_labels_are_logistic_regression(machine):
    X, _, labels, _ = two_domains()
    expected = logistic_regression(X, labels).decision_function(X)
    single = Bags.from_arrays(np.arange(len(X)), labels.astype(float))
    known = Bags.unlabelled(len(X)).with_labels(labels)
    with pytest.warns(BagWarning, match="pure"):
        fitted = machine(**LINEAR).fit(X, single)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-6)
    for y in (known, labels):
        fitted = machine(**LINEAR).fit(X, y)
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-6)
    weight = np.linspace(0.2, 2.0, len(X))
    fitted = machine(**LINEAR).fit(X, labels, sample_weight=weight)
    expected = logistic_regression(X, labels, 2.0, weight).decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-6)


@pytest.mark.parametrize("machine", ALL)
def test_swapping_the_classes_turns_the_scores(machine):
    X, bags, _ = uneven_bags()
    swapped = Bags.from_arrays(
        bags.bag_index,
        dict(enumerate(1 - bags.positive_shares)),
        weights=dict(enumerate(bags.weights)),
    )
    one, two = (machine(**LINEAR).fit(X, given) for given in (bags, swapped))
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(one.class_means_, two.class_means_[::-1], atol=1e-8)


@pytest.mark.parametrize("machine", ALL)
def test_shifted_columns_shift_nothing_but_the_intercept(machine):
    X, bags, _ = uneven_bags()
    one = machine(**LINEAR).fit(X, bags)
    two = machine(**LINEAR).fit(X + 5.0, bags)
    np.testing.assert_allclose(two.decision_function(X + 5.0), one.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(two.class_means_, one.class_means_ + 5.0, atol=1e-6)


@pytest.mark.parametrize("machine", ALL)
def test_standardised_columns_keep_the_class_means(machine):
    X, bags, _ = uneven_bags()
    wide = X * [1.0, 1000.0, 0.01] + 5
    fitted = machine(kernel="linear", smoothing=1e5) if machine is not MeanMap else MeanMap()
    fitted.set_params(kernel="linear", standardize=True).fit(wide, bags)
    expected = MeanMap(kernel="linear", standardize=False).fit(X, bags).class_means_
    np.testing.assert_allclose(
        (fitted.class_means_ - 5) / [1.0, 1000.0, 0.01], expected, atol=1e-3
    )
    scores = wide @ fitted.coef_[0] + fitted.intercept_
    np.testing.assert_allclose(scores, fitted.decision_function(wide), atol=1e-10)


@pytest.mark.parametrize("machine", MEAN_MAPS)
def test_labelled_rows_and_sparse_rows_are_used(machine):
    X, bags, _ = uneven_bags()
    Z = np.full((4, X.shape[1]), 6.0)
    more = Bags.concatenate([bags, Bags.unlabelled(4)])
    known = more.with_labels([None] * len(X) + [0] * 4)
    free = machine(**LINEAR).fit(np.vstack([X, Z]), more)
    told = machine(**LINEAR).fit(np.vstack([X, Z]), known)
    assert told.decision_function(Z)[0] < free.decision_function(Z)[0]
    thin = machine(**LINEAR).fit(sparse.csr_matrix(np.vstack([X, Z])), known)
    np.testing.assert_allclose(thin.class_means_, told.class_means_, atol=1e-8)
    np.testing.assert_allclose(thin.coef_, told.coef_, atol=1e-7)


def test_bags_far_apart_have_class_means_of_their_own():
    rng = np.random.default_rng(0)
    place = np.repeat([0.0, 40.0], 3)
    ids = np.repeat(np.arange(6), 40)
    labels = (rng.random(240) < np.tile([0.2, 0.5, 0.8], 2)[ids]).astype(int)
    X = np.column_stack([place[ids] + 0.1 * rng.normal(size=240), 3.0 * labels]) + rng.normal(
        size=(240, 2)
    )
    # One group of bags has its classes the other way round along the first column.
    X[:, 0] += np.where(ids < 3, 4.0, -4.0) * labels
    bags = Bags.from_arrays(ids, counts={k: int(labels[ids == k].sum()) for k in range(6)})
    near = LaplacianMeanMap(kernel="linear", bandwidth=0.5, smoothing=1.0).fit(X, bags)
    assert near.score(X, labels) > 0.9


# The alternation --------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["laplacian", "mean_map"])
@pytest.mark.parametrize("C", [0.05, 2.0, 50.0])
def test_loss_never_rises_and_labels_fit_the_counts(C, start):
    for seed in range(4):
        X, bags, _ = uneven_bags(seed, n_features=5)
        machine = AlternatingMeanMap(kernel="linear", C=C, start=start).fit(X, bags)
        history = machine.objective_history_
        assert np.all(np.diff(history) < 0)
        assert machine.objective_ == history[-1]
        assert machine.n_rounds_ == len(history)
        # The machine that was kept is the logistic regression on the labels that it chooses.
        scores = machine.decision_function(X)
        labels = np.zeros(len(X))
        for k, share in enumerate(bags.positive_shares):
            rows = np.flatnonzero(bags.bag_index == k)
            labels[rows[np.argsort(-scores[rows])[: round(share * len(rows))]]] = 1
        weight = bags.weights[bags.bag_index]
        same = logistic_regression(X, labels, C, weight)
        np.testing.assert_allclose(scores, same.decision_function(X), atol=1e-5)
        margins = np.where(labels == 1, scores, -scores)
        value = 0.5 * machine.coef_[0] @ machine.coef_[0]
        value += C * weight @ np.logaddexp(0, -margins)
        assert machine.objective_ == pytest.approx(value)


def test_largest_loss_keeps_the_best_machine_seen():
    X, bags, _ = uneven_bags()
    machine = AlternatingMeanMap(kernel="linear", variant="max", max_rounds=7).fit(X, bags)
    assert machine.n_rounds_ <= 7
    assert machine.objective_ == machine.objective_history_.min()
    assert machine.converged_


def test_too_few_rounds_are_said():
    X, bags, _, _ = two_domains()
    settings = {"kernel": "linear", "standardize": False}
    assert AlternatingMeanMap(**settings).fit(X, bags).n_rounds_ > 1
    machine = AlternatingMeanMap(max_rounds=1, **settings)
    with pytest.warns(UserWarning, match="not settled after 1 round; set a higher max_rounds"):
        machine.fit(X, bags)
    assert not machine.converged_


def test_rounding_is_not_blamed_on_max_iter():
    X, bags, _, _ = two_domains()
    with pytest.warns(ConvergenceWarning, match=r"scale the features, or lower the costs\.$"):
        MeanMap(C=1e8, kernel="linear").fit(X, bags)
    with pytest.warns(ConvergenceWarning, match="set a higher max_iter"):
        MeanMap(max_iter=2).fit(X, bags)


# Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ALL)
def test_equal_shares_are_refused(machine):
    X, bags, _, _ = two_domains()
    equal = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.5))
    with (
        pytest.warns(BagWarning, match="same share"),
        pytest.raises(
            BagError, match=f"{machine.__name__} needs bags with at least two different"
        ),
    ):
        machine().fit(X, equal)


@pytest.mark.parametrize("machine", ALL)
def test_shares_too_close_to_unmix_are_said(machine):
    X, bags, _, _ = two_domains()
    shares = {k: 0.5 + 0.01 * (k % 2) for k in range(bags.n_bags)}
    close = Bags.from_arrays(bags.bag_index, shares)
    with pytest.warns(BagWarning, match="condition number"):
        fitted = machine().fit(X, close)
    assert fitted.condition_number_ > 50


@pytest.mark.parametrize("machine", ALL)
def test_what_cannot_be_used_is_refused(machine):
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="cannot use source rows"):
        machine().fit(X, bags, source=source)
    with pytest.raises(ValueError, match="'C'"):
        machine(C=0.0).fit(X, labels)
    with pytest.raises(ValueError, match="one class"):
        machine().fit(X[:2], Bags.unlabelled(2).with_labels([1, 1]))
    with pytest.raises(ValueError, match="nothing to learn from"):
        machine().fit(X, Bags.unlabelled(len(X)))
    pure = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 1.0))
    with (
        pytest.warns(BagWarning, match="same share"),
        pytest.raises(ValueError, match="shares are those of one class"),
    ):
        machine().fit(X, pure)
    assert not hasattr(machine(), "source_decision_function")
