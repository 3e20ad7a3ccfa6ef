# SPDX-License-Identifier: BSD-3-Clause
"""LSTGPLM of more than two classes: one system for all, of which two classes are the least."""

import pickle

import numpy as np
import pytest
from scipy.special import logit, softmax
from sklearn.linear_model import Ridge

from bagshift import LSTGPLM, Bags, BagWarning, InverseCalibrationSVM, stack_domains
from bagshift.calibration import centred_log_ratio, class_codes
from bagshift.estimators._class_training import ClassTraining

NAMES = np.array(["bear", "cat", "dog", "elk"])
SETTINGS = {"clip": 0.02, "gamma": 0.3}


def domains(n_classes=4, n_bags=30, bag_size=6, n_features=3, seed=0):
    """Return target rows, ids of their bags, codes, and source rows with their codes."""
    rng = np.random.default_rng(seed)
    centres = 2.5 * rng.normal(size=(n_classes, n_features))
    codes = rng.integers(n_classes, size=n_bags * bag_size)
    X = centres[codes] + rng.normal(size=(len(codes), n_features))
    old = np.arange(80) % n_classes
    X_old = centres[old] + 0.5 + rng.normal(size=(80, n_features))
    return X, np.repeat(np.arange(n_bags), bag_size), codes, (X_old, old)


def shares_of(ids, codes, n_classes):
    table = np.zeros((ids.max() + 1, n_classes))
    np.add.at(table, (ids, codes), 1.0)
    return table / table.sum(axis=1, keepdims=True)


def bags_of(ids, codes, names=NAMES):
    shares = shares_of(ids, codes, len(names))
    return Bags.from_arrays(ids, dict(enumerate(shares)), classes=names)


def task(n_classes=4, **settings):
    """Return X, bags, labels and source."""
    X, ids, codes, (X_old, old) = domains(n_classes, **settings)
    names = NAMES if n_classes == 4 else np.array([f"class {k:02d}" for k in range(n_classes)])
    return X, bags_of(ids, codes, names), names[codes], (X_old, names[old])


@pytest.mark.parametrize("n_classes", [3, 4, 10])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_outputs_agree_and_scores_sum_to_zero(n_classes, kernel):
    X, bags, labels, source = task(n_classes, n_features=8)
    machine = LSTGPLM(kernel=kernel, **SETTINGS).fit(X, bags, source=source)
    scores = machine.decision_function(X)
    assert scores.shape == (len(X), n_classes)
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(machine.source_decision_function(X).sum(axis=1), 0.0, atol=1e-10)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[scores.argmax(axis=1)])
    probability = machine.predict_proba(X)
    np.testing.assert_allclose(probability, softmax((1 - 1 / n_classes) * scores, axis=1))
    assert machine.score(X, labels) > 0.6
    coefficients = machine.coef_ if kernel == "linear" else machine.dual_coef_
    assert len(coefficients) == len(machine.intercept_) == len(machine.objective_) == n_classes
    assert machine.leave_one_bag_out_.shape == (bags.n_bags, n_classes)
    np.testing.assert_allclose(machine.leave_one_bag_out_.sum(axis=1), 0.0, atol=1e-9)
    assert not hasattr(machine, "positive_class_")


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
@pytest.mark.parametrize("clip", ["auto", "bag", 0.1])
def test_two_classes_are_the_binary_machine(coupling, clip):
    X, ids, codes, (X_old, old) = domains(2)
    shares = shares_of(ids, codes, 2)
    bags = Bags.from_arrays(ids, dict(enumerate(shares[:, 1])))
    one = LSTGPLM(coupling=coupling, clip=clip).fit(X, bags, source=(X_old, old))
    two = LSTGPLM(coupling=coupling, clip=clip).fit(X, bags, source=(X_old, old))
    two._train(
        ClassTraining(
            classes=np.array([0, 1]),
            X_source=X_old,
            X_target=X,
            source_codes=old,
            source_weight=np.ones(len(old)),
            bags=bags,
            class_shares=shares,
            labelled_rows=np.empty(0, dtype=int),
            labelled_codes=np.empty(0, dtype=int),
            labelled_weight=np.empty(0),
        )
    )
    scores = one.decision_function(X)
    both = np.column_stack([-scores, scores])
    np.testing.assert_allclose(two.decision_function(X), both, atol=1e-12)
    np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(two.predict(X), one.predict(X))
    np.testing.assert_allclose(two.leave_one_bag_out_[:, 1], one.leave_one_bag_out_, atol=1e-11)
    np.testing.assert_allclose(two.objective_, one.objective_, rtol=1e-12)


def test_is_ridge_regression_on_the_log_ratios_without_a_source():
    X, bags, _, _ = task()
    machine = LSTGPLM(C_target=3.0, kernel="linear", clip=0.02).fit(X, bags)
    targets = centred_log_ratio(bags.shares, clip=0.02, sizes=bags.sizes, n_rows=len(X))
    ridge = Ridge(alpha=1 / 3.0, solver="cholesky").fit(bags.bag_means(X), targets)
    np.testing.assert_allclose(machine.decision_function(X), ridge.predict(X), atol=1e-9)
    np.testing.assert_allclose(machine.coef_, ridge.coef_, atol=1e-9)


def test_pooled_with_the_source_it_is_ridge_regression_on_both():
    X, bags, _, (X_old, old) = task()
    machine = LSTGPLM(2.0, 3.0, np.inf, kernel="linear", clip=0.02)
    machine.fit(X, bags, source=(X_old, old))
    ratios = centred_log_ratio(bags.shares, clip=0.02, sizes=bags.sizes, n_rows=len(X))
    targets = np.vstack([class_codes(np.searchsorted(NAMES, old), 4), ratios])
    cost = np.repeat([2.0, 3.0], [len(old), bags.n_bags])
    ridge = Ridge(alpha=2.0, solver="cholesky")
    ridge.fit(np.vstack([X_old, bags.bag_means(X)]), targets, sample_weight=cost)
    np.testing.assert_allclose(machine.decision_function(X), ridge.predict(X), atol=1e-9)


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_bags_left_out_equal_refits(coupling, with_source, kernel):
    X, bags, _, source = task(n_bags=10)
    source = source if with_source else None
    machine = LSTGPLM(2.0, 3.0, coupling, kernel=kernel, **SETTINGS)
    left_out = machine.fit(X, bags, source=source).leave_one_bag_out_
    wanted = centred_log_ratio(bags.shares, clip=0.02, sizes=bags.sizes, n_rows=len(X))
    for k in range(bags.n_bags):
        inside = bags.bag_index == k
        machine.fit(X[~inside], bags[~inside], source=source)
        score = machine.decision_function(X[inside]).mean(axis=0)
        np.testing.assert_allclose(left_out[k], wanted[k] - score, atol=1e-8)


def test_classes_may_have_other_names_in_another_order():
    X, ids, codes, (X_old, old) = domains()
    order = np.array([2, 0, 3, 1])
    one = LSTGPLM(**SETTINGS).fit(X, bags_of(ids, codes), source=(X_old, NAMES[old]))
    renamed = NAMES[order]
    other = LSTGPLM(**SETTINGS).fit(X, bags_of(ids, codes, renamed), source=(X_old, renamed[old]))
    places = [other.classes_.tolist().index(name) for name in renamed]
    scores = one.decision_function(X)
    np.testing.assert_allclose(other.decision_function(X)[:, places], scores, atol=1e-11)
    np.testing.assert_array_equal(
        other.predict(X), renamed[np.searchsorted(NAMES, one.predict(X))]
    )


@pytest.mark.filterwarnings("ignore:all .* bags are pure")
def test_bags_of_one_with_pure_shares_equal_the_supervised_machine():
    X, _, codes, _ = domains()
    pure = Bags.from_arrays(np.arange(len(X)), dict(enumerate(np.eye(4)[codes])), classes=NAMES)
    by_bags = LSTGPLM(**SETTINGS).fit(X, pure)
    by_labels = LSTGPLM(**SETTINGS).fit(X, NAMES[codes])
    np.testing.assert_allclose(
        by_bags.decision_function(X), logit(0.98) * by_labels.decision_function(X), atol=1e-8
    )
    np.testing.assert_array_equal(by_bags.predict(X), by_labels.predict(X))


def test_plain_labels_make_a_least_squares_classifier():
    X, _, codes, _ = domains()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    machine = LSTGPLM(kernel="linear").fit(X, NAMES[codes], sample_weight=weight)
    ridge = Ridge(alpha=0.25, solver="cholesky")
    ridge.fit(X, class_codes(codes, 4), sample_weight=weight)
    np.testing.assert_allclose(machine.decision_function(X), ridge.predict(X), atol=1e-9)
    assert machine.leave_one_bag_out_.shape == (0, 4)


def test_known_target_labels_are_units_of_their_own():
    X, ids, codes, _ = domains()
    shares = dict(enumerate(shares_of(ids, codes, 4)))
    del shares[0]
    ids = ids.astype(object)
    ids[:6] = Bags.NO_BAG
    known = np.full(len(X), None, dtype=object)
    known[:6] = NAMES[codes[:6]]
    bags = Bags.from_arrays(ids, shares, classes=NAMES).with_labels(known)
    machine = LSTGPLM(C_target=3.0, kernel="linear", clip=0.02).fit(X, bags)
    ratios = centred_log_ratio(bags.shares, clip=0.02, sizes=bags.sizes, n_rows=len(X))
    ridge = Ridge(alpha=1 / 3.0, solver="cholesky")
    units = np.vstack([bags.bag_means(X), X[:6]])
    ridge.fit(units, np.vstack([ratios, class_codes(codes[:6], 4)]))
    np.testing.assert_allclose(machine.decision_function(X), ridge.predict(X), atol=1e-9)
    assert machine.leave_one_bag_out_.shape == (bags.n_bags, 4)


def test_a_precomputed_kernel_equals_its_kernel():
    X, bags, _, (X_old, old) = task()
    rows = np.vstack([X_old, X])
    gram, n = rows @ rows.T, len(old)
    direct = LSTGPLM(kernel="linear", clip=0.02).fit(X, bags, source=(X_old, old))
    given = LSTGPLM(kernel="precomputed", clip=0.02).fit(gram[n:], bags, source=(gram[:n], old))
    np.testing.assert_allclose(
        given.decision_function(gram[n:]), direct.decision_function(X), atol=1e-9
    )
    stacked = LSTGPLM(kernel="linear", clip=0.02)
    stacked.fit(*stack_domains(source=(X_old, old), target=(X, bags)))
    np.testing.assert_allclose(
        stacked.decision_function(X), direct.decision_function(X), atol=1e-9
    )


def test_probabilities_undo_the_scale_of_scores_and_pickle_keeps_them():
    X, bags, _, _ = task()
    plain = LSTGPLM(**SETTINGS).fit(X, bags)
    scaled = LSTGPLM(score_scale=0.5, **SETTINGS).fit(X, bags)
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    copy = pickle.loads(pickle.dumps(scaled))
    np.testing.assert_array_equal(copy.predict_proba(X), scaled.predict_proba(X))


def test_a_class_that_the_source_has_no_row_of_is_said_and_learned_from_bags():
    X, bags, labels, (X_old, old) = task()
    seen = old != "dog"
    with pytest.warns(BagWarning, match="the source has no row of the classes 'dog'"):
        machine = LSTGPLM(**SETTINGS).fit(X, bags, source=(X_old[seen], old[seen]))
    is_dog = labels == "dog"
    assert (machine.predict(X[is_dog]) == "dog").mean() > 0.6
    np.testing.assert_allclose(machine.decision_function(X).sum(axis=1), 0.0, atol=1e-10)


def test_is_about_as_accurate_as_one_against_the_rest():
    X, bags, labels, _ = task(n_bags=60)
    accuracy = LSTGPLM().fit(X, bags).score(X, labels)
    assert accuracy > InverseCalibrationSVM().fit(X, bags).score(X, labels) - 0.05
