# SPDX-License-Identifier: BSD-3-Clause
"""LSTGPLM against ridge regression and refits; its limits, invariances and refusals."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from bagshift import LSTGPLM, TGPLM, BagError, Bags, InverseCalibrationSVM, stack_domains
from bagshift.kernels import Kernel
from problems import two_domains

SETTINGS = {"clip": 0.03, "gamma": 0.4}


def clipped_logit(bags, clip=0.03):
    return logit(np.clip(bags.positive_shares, clip, 1 - clip))


def ridge_scores(X, targets, cost, rows, weights=None):
    machine = Ridge(alpha=1.0 / cost, solver="cholesky").fit(X, targets, sample_weight=weights)
    return machine.predict(rows)


# Limits -----------------------------------------------------------------------------------


def test_without_a_source_it_is_ridge_regression_on_means_of_bags():
    X, bags, _, _ = two_domains()
    machine = LSTGPLM(C_target=3.0, kernel="linear", clip=0.03).fit(X, bags)
    expected = ridge_scores(bags.bag_means(X), clipped_logit(bags), 3.0, X)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-10)
    assert not hasattr(machine, "source_intercept_")


def test_without_coupling_it_is_two_ridge_regressions():
    X, bags, _, (X_source, y_source) = two_domains()
    machine = LSTGPLM(2.0, 3.0, 0.0, kernel="linear", clip=0.03)
    machine.fit(X, bags, source=(X_source, y_source))
    expected = ridge_scores(bags.bag_means(X), clipped_logit(bags), 3.0, X)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-10)
    expected = ridge_scores(X_source, 2.0 * y_source - 1.0, 2.0, X)
    np.testing.assert_allclose(machine.source_decision_function(X), expected, atol=1e-10)


@pytest.mark.parametrize("coupling", [1e10, np.inf])
def test_with_infinite_coupling_it_is_one_pooled_ridge_regression(coupling):
    X, bags, _, (X_source, y_source) = two_domains()
    machine = LSTGPLM(2.0, 3.0, coupling, kernel="linear", clip=0.03)
    machine.fit(X, bags, source=(X_source, y_source))
    units = np.vstack([X_source, bags.bag_means(X)])
    targets = np.concatenate([2.0 * y_source - 1.0, clipped_logit(bags)])
    cost = np.repeat([2.0, 3.0], [len(y_source), bags.n_bags])
    # Both regularisers: half the cost of one.
    expected = ridge_scores(units, targets, 0.5, X, weights=cost)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-8)
    np.testing.assert_allclose(machine.source_decision_function(X), expected, atol=1e-8)


def test_plain_labels_make_a_least_squares_classifier():
    X, _, labels, _ = two_domains()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(labels))
    machine = LSTGPLM(C_target=3.0, kernel="linear").fit(X, labels, sample_weight=weight)
    expected = ridge_scores(X, 2.0 * labels - 1.0, 3.0, X, weights=weight)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-10)
    assert machine.leave_one_bag_out_.shape == (0,)


def test_known_target_labels_are_bags_of_one_with_plain_targets():
    X, bags, labels, _ = two_domains()
    known = np.full(len(labels), None, dtype=object)
    known[:6] = labels[:6]
    ids = bags.bag_index.astype(object)
    ids[:6] = Bags.NO_BAG
    shares = dict(enumerate(bags.positive_shares))
    del shares[0]
    mixed = Bags.from_arrays(ids, shares).with_labels(known)
    machine = LSTGPLM(C_target=3.0, kernel="linear", clip=0.03).fit(X, mixed)
    units = np.vstack([mixed.bag_means(X), X[:6]])
    targets = np.concatenate([clipped_logit(mixed), 2.0 * labels[:6] - 1.0])
    np.testing.assert_allclose(
        machine.decision_function(X), ridge_scores(units, targets, 3.0, X), atol=1e-10
    )
    assert machine.leave_one_bag_out_.shape == (bags.n_bags - 1,)


@pytest.mark.filterwarnings("ignore:all 72 bags are pure")
def test_bags_of_one_with_pure_shares_equal_the_supervised_machine():
    X, _, labels, _ = two_domains()
    pure = Bags.from_arrays(np.arange(len(labels)), dict(enumerate(labels.astype(float))))
    by_bags = LSTGPLM(**SETTINGS).fit(X, pure)
    by_labels = LSTGPLM(**SETTINGS).fit(X, labels)
    np.testing.assert_allclose(
        by_bags.decision_function(X), logit(0.97) * by_labels.decision_function(X), atol=1e-9
    )


# Invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize("with_source", [True, False])
def test_exchanged_classes_have_opposite_scores(with_source):
    X, bags, _, (X_source, y_source) = two_domains()
    exchanged = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    source = (X_source, y_source) if with_source else None
    opposite = (X_source, 1 - y_source) if with_source else None
    one = LSTGPLM(**SETTINGS).fit(X, bags, source=source)
    two = LSTGPLM(**SETTINGS).fit(X, exchanged, source=opposite)
    np.testing.assert_allclose(two.decision_function(X), -one.decision_function(X), atol=1e-11)
    np.testing.assert_allclose(two.leave_one_bag_out_, -one.leave_one_bag_out_, atol=1e-11)
    assert one.objective_ == pytest.approx(two.objective_)


def test_the_class_that_shares_are_of_makes_no_difference():
    X, bags, _, (X_source, y_source) = two_domains()
    labels = np.array(["no", "yes"])
    shares = dict(enumerate(bags.positive_shares))
    of_yes = Bags.from_arrays(bags.bag_index, shares, positive="yes")
    of_no = Bags.from_arrays(
        bags.bag_index, {k: 1 - share for k, share in shares.items()}, positive="no"
    )
    source = (X_source, labels[y_source])
    one = LSTGPLM(**SETTINGS).fit(X, of_yes, source=source)
    two = LSTGPLM(**SETTINGS).fit(X, of_no, source=source)
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-11)
    np.testing.assert_allclose(two.leave_one_bag_out_, one.leave_one_bag_out_, atol=1e-11)


def test_stacked_domains_equal_a_source_beside_the_target():
    X, bags, _, source = two_domains()
    beside = LSTGPLM(**SETTINGS).fit(X, bags, source=source)
    stacked = LSTGPLM(**SETTINGS).fit(*stack_domains(source=source, target=(X, bags)))
    np.testing.assert_allclose(
        stacked.decision_function(X), beside.decision_function(X), atol=1e-11
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_precomputed_kernel_equals_its_kernel(kernel):
    X, bags, _, (X_source, y_source) = two_domains()
    rows = np.vstack([X_source, X])
    gram = Kernel(kernel, gamma=0.4)(rows, rows)
    n = len(y_source)
    direct = LSTGPLM(kernel=kernel, **SETTINGS).fit(X, bags, source=(X_source, y_source))
    given = LSTGPLM(kernel="precomputed", clip=0.03)
    given.fit(gram[n:], bags, source=(gram[:n], y_source))
    np.testing.assert_allclose(
        given.decision_function(gram[n:]), direct.decision_function(X), atol=1e-10
    )
    np.testing.assert_allclose(given.leave_one_bag_out_, direct.leave_one_bag_out_, atol=1e-10)


def test_probabilities_undo_the_scale_of_scores():
    X, bags, _, source = two_domains()
    alone = LSTGPLM(**SETTINGS).fit(X, bags)
    scaled = LSTGPLM(score_scale=0.5, **SETTINGS).fit(X, bags)
    np.testing.assert_allclose(scaled.predict_proba(X), alone.predict_proba(X), atol=1e-10)
    coupled = LSTGPLM(score_scale=0.5, **SETTINGS).fit(X, bags, source=source)
    plain = LSTGPLM(**SETTINGS).fit(X, bags, source=source)
    assert np.abs(coupled.predict_proba(X) - plain.predict_proba(X)).max() > 1e-3


def test_weights_and_sizes_of_bags_count():
    X, bags, _, _ = two_domains(n_bags=4)
    rows = np.flatnonzero((bags.bag_index != 0) | (np.arange(len(X)) < 3))
    ids, shares = bags.bag_index[rows], dict(enumerate(bags.positive_shares))
    sizes = np.array([3, 6, 6, 6])
    weights = dict(enumerate(sizes / sizes.mean()))
    by_weight = LSTGPLM(**SETTINGS).fit(X[rows], Bags.from_arrays(ids, shares, weights=weights))
    by_size = LSTGPLM(bag_weight="size", **SETTINGS)
    by_size.fit(X[rows], Bags.from_arrays(ids, shares))
    plain = LSTGPLM(**SETTINGS).fit(X[rows], Bags.from_arrays(ids, shares))
    scores = by_size.decision_function(X)
    np.testing.assert_allclose(by_weight.decision_function(X), scores, atol=1e-11)
    assert np.abs(plain.decision_function(X) - scores).max() > 1e-3


# Bags left out ----------------------------------------------------------------------------


@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"score_scale": 0.3}])
def test_bags_left_out_equal_refits(with_source, coupling, settings):
    X, bags, _, source = two_domains()
    machine = LSTGPLM(2.0, 3.0, coupling, **SETTINGS | settings)
    source = source if with_source else None
    left_out = machine.fit(X, bags, source=source).leave_one_bag_out_
    wanted = machine.score_scale * clipped_logit(bags)
    for k in range(bags.n_bags):
        inside = bags.bag_index == k
        machine.fit(X[~inside], bags[~inside], source=source)
        score = machine.decision_function(X[inside]).mean()
        np.testing.assert_allclose(left_out[k], wanted[k] - score, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_bags_left_out_tell_a_history_that_helps_from_one_that_harms(seed):
    X, bags, _, (X_source, y_source) = two_domains(seed, n_bags=6, bag_size=12)
    machine = LSTGPLM(coupling=8.0, gamma=0.1, clip=0.03)
    helps, harms = (
        np.square(machine.fit(X, bags, source=(X_source, labels)).leave_one_bag_out_).sum()
        for labels in (y_source, 1 - y_source)
    )
    assert helps < 0.6 * harms


# As good as its relatives -----------------------------------------------------------------


def test_is_about_as_accurate_as_tgplm():
    X, bags, labels, source = two_domains(n_source=100, n_bags=40, gap=2.0)
    accuracy = LSTGPLM().fit(X, bags, source=source).score(X, labels)
    assert accuracy > TGPLM().fit(X, bags, source=source).score(X, labels) - 0.03
    assert accuracy > 0.85
    alone = LSTGPLM().fit(X, bags).score(X, labels)
    assert alone > InverseCalibrationSVM().fit(X, bags).score(X, labels) - 0.05


# What is refused --------------------------------------------------------------------------


def test_what_is_refused():
    X, bags, _, source = two_domains()
    nothing = Bags.unlabelled(len(X))
    with pytest.raises(ValueError, match="LSTGPLM needs bags or labelled rows of the target besi"):
        LSTGPLM().fit(X, nothing, source=source)
    with pytest.raises(ValueError, match="There is nothing to learn from"):
        LSTGPLM().fit(X, nothing)
    with pytest.raises(BagError, match="BagKFold"):
        LSTGPLM().fit(X[1:], bags[1:], source=source)
    for setting in ({"C_source": -1.0}, {"coupling": -1.0}, {"clip": 0.5}, {"score_scale": 0.0}):
        with pytest.raises(ValueError, match=f"The '{next(iter(setting))}' parameter of LSTGPLM"):
            LSTGPLM(**setting).fit(X, bags, source=source)


def test_costs_that_double_precision_cannot_bear_are_said():
    X, bags, _, source = two_domains()
    with pytest.warns(ConvergenceWarning, match="Rounding moves scores by .*; lower the costs"):
        machine = LSTGPLM(C_source=1e16, kernel="linear").fit(X, bags, source=source)
    assert machine.score_error_ > 1e-3
    with pytest.raises(ValueError, match="leave the range of numbers; lower the costs"):
        LSTGPLM(C_target=1e308, kernel="linear").fit(1e3 * X, bags)


def test_costs_of_zero_leave_a_domain_out():
    X, bags, _, source = two_domains()
    coupled = LSTGPLM(C_source=0.0, coupling=1.0, **SETTINGS).fit(X, bags, source=source)
    # The regulariser of the other machine stays, through the coupling.
    alone = LSTGPLM(C_target=4.0 / 1.5, **SETTINGS).fit(X, bags)
    np.testing.assert_allclose(
        coupled.decision_function(X), alone.decision_function(X), atol=1e-10
    )
