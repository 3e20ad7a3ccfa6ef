# SPDX-License-Identifier: BSD-3-Clause
"""TSVM: against trying all labels and a slow twin, its limits, and what it refuses."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagshift import TSVM, Bags, BagWarning, LaplaceNoise, SourceSVM, get_bag_tags, stack_domains
from problems import two_domains

KERNEL = {"kernel": "rbf", "gamma": 0.4, "tol": 1e-9}


def train_svc(K, signs, costs):
    """Return scores of all rows and the objective, by scikit-learn's SVC with costs by row."""
    used = np.flatnonzero(costs > 0)
    svc = SVC(kernel="precomputed", tol=1e-10)
    svc.fit(K[np.ix_(used, used)], signs[used], sample_weight=costs[used])
    dual = np.zeros(len(K))
    dual[used[svc.support_]] = svc.dual_coef_[0]
    scores = svc.decision_function(K[:, used])
    return scores, 0.5 * dual @ K @ dual + costs @ np.maximum(0, 1 - signs * scores)


def slow_twin(X, source, *, C_source, C_target, n_second):
    """Switch one pair of labels after the other, as the method was published."""
    X_source, y_source = source
    K, n = rbf_kernel(np.vstack([X_source, X]), gamma=0.4), len(X_source)
    signs = np.concatenate([2.0 * y_source - 1, np.full(len(X), -1.0)])
    costs = np.concatenate([np.full(n, C_source), np.zeros(len(X))])
    scores = train_svc(K, signs, costs)[0][n:]
    signs[n + np.argsort(-scores)[:n_second]] = 1
    negative = 1e-5 * C_target
    positive = negative * n_second / (len(X) - n_second)
    while True:
        while True:
            costs[n:] = np.where(signs[n:] > 0, positive, negative)
            scores = train_svc(K, signs, costs)[0][n:]
            slack = np.maximum(0, 1 - signs[n:] * scores)
            high, low = np.where(signs[n:] > 0, slack, -1), np.where(signs[n:] < 0, slack, -1)
            i, j = high.argmax(), low.argmax()
            if not (slack[i] > 0 and slack[j] > 0 and slack[i] + slack[j] > 2 + 1e-7):
                break
            signs[n + i], signs[n + j] = -1, 1
        if negative == positive == C_target:
            return scores
        negative, positive = min(2 * negative, C_target), min(2 * positive, C_target)


@pytest.mark.parametrize("C_target", [0.3, 3.0])
def test_one_swap_at_a_time_is_the_method_as_published(C_target):
    n_swaps = 0
    for seed in range(5):
        X, _, _, source = two_domains(seed, gap=0.8, n_source=12)
        wanted = slow_twin(X, source, C_source=2.0, C_target=C_target, n_second=len(X) // 2)
        machine = TSVM(2.0, C_target, max_swaps=1, **KERNEL).fit(X, None, source=source)
        np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-4)
        n_swaps += machine.n_swaps_
    assert n_swaps > 5


@pytest.mark.parametrize("max_swaps", [None, 1])
def test_end_is_mostly_the_best_of_all_labels(max_swaps):
    n_best = 0
    for seed in range(8):
        X, _, _, (X_source, y_source) = two_domains(
            seed, n_bags=2, bag_size=4, n_source=6, gap=2.4
        )
        machine = TSVM(kernel="linear", tol=1e-9, max_swaps=max_swaps)
        found = machine.fit(X, None, source=(X_source, y_source)).objective_
        K = np.vstack([X_source, X]) @ np.vstack([X_source, X]).T
        objectives = []
        for chosen in combinations(range(8), machine.n_positive_):
            signs = np.concatenate([2.0 * y_source - 1, np.full(8, -1.0)])
            signs[6 + np.array(chosen)] = 1
            objectives.append(train_svc(K, signs, np.ones(len(K)))[1])
        assert machine.n_positive_ == 4
        assert found >= min(objectives) - 1e-5
        n_best += found <= min(objectives) + 1e-5
    assert n_best >= 6


@pytest.mark.parametrize("max_swaps", [None, 3, 1])
def test_every_exchange_lowers_the_objective(max_swaps, monkeypatch):
    rests = []
    switch = TSVM._switch

    def remember(self, *args):
        rests.append(switch(self, *args))
        return rests[-1]

    monkeypatch.setattr(TSVM, "_switch", remember)
    n_swaps = 0
    for seed in range(6):
        X, _, _, source = two_domains(seed, gap=1.0, n_source=10)
        machine = TSVM(C_target=0.5, gamma=0.4, max_swaps=max_swaps)
        machine.fit(X, None, source=source)
        assert machine.objective_history_[-1] == machine.objective_
        assert machine.converged_
        n_swaps += machine.n_swaps_
    assert all(np.all(np.diff(rest.history) < 0) for rest in rests)
    assert all(rest.settled for rest in rests)
    assert {int(np.sum(rest.machine.signs[10:] > 0)) for rest in rests} == {36}
    assert sum(rest.n_swaps for rest in rests) == n_swaps > 10


def test_several_swaps_end_about_as_low_as_one_at_a_time():
    one, all_at_once = (
        np.array(
            [
                TSVM(gamma=0.4, max_swaps=most).fit(X, None, source=source).objective_
                for X, _, _, source in (two_domains(seed, gap=0.8) for seed in range(6))
            ]
        )
        for most in (1, None)
    )
    np.testing.assert_allclose(all_at_once, one, rtol=0.05)


def test_no_cost_of_unlabelled_rows_is_the_support_vector_machine():
    X, bags, _, source = two_domains()
    wanted = SVC(C=2.0, gamma=0.4, tol=1e-9).fit(*source).decision_function(X)
    for y in (None, bags, Bags.unlabelled(len(X))):
        machine = TSVM(2.0, 0.0, **KERNEL).fit(X, y, source=source)
        np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-4)
        assert machine.n_swaps_ == 0


def test_two_clouds_with_one_label_each_are_told_apart():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + np.outer(labels, [7.0, 0.0])
    known = [0, 1, *[None] * 58]
    machine = TSVM(kernel="linear").fit(X, Bags.unlabelled(60).with_labels(known))
    assert machine.score(X, labels) == 1
    assert machine.n_positive_ == 29


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"gamma": 0.4}, {"kernel": "poly"}])
def test_plain_labels_are_an_svc(kernel):
    X, _, labels, _ = two_domains()
    weight = np.linspace(0.2, 2.0, len(X))
    svc = SVC(C=2.0, tol=1e-9, gamma=kernel.get("gamma", 0.3), kernel=kernel.get("kernel", "rbf"))
    for fraction in ("source", "target"):
        machine = TSVM(2.0, fraction=fraction, tol=1e-9, **{"gamma": 0.3, **kernel})
        for given in ({}, {"sample_weight": weight}):
            wanted = svc.fit(X, labels, **given).decision_function(X)
            scores = machine.fit(X, labels, **given).decision_function(X)
            np.testing.assert_allclose(scores, wanted, atol=1e-4)


def test_share_of_positives_is_that_of_the_source_or_of_the_bags():
    X, bags, labels, (X_source, y_source) = two_domains()
    few = np.concatenate([np.flatnonzero(y_source == 0), np.flatnonzero(y_source == 1)[:5]])
    source = X_source[few], y_source[few]
    assert TSVM().fit(X, None, source=source).n_positive_ == round(0.2 * len(X))
    weighted = (X_source, y_source, np.where(y_source == 1, 3.0, 1.0))
    assert TSVM().fit(X, None, source=weighted).n_positive_ == round(0.75 * len(X))
    machine = TSVM(fraction="target").fit(X, bags, source=source)
    assert machine.n_positive_ == labels.sum()
    other = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)), positive=0)
    machine = TSVM(fraction="target").fit(X, other, source=source)
    assert machine.positive_class_ == 0
    assert machine.n_positive_ == np.sum(labels == 0)


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_bags_of_another_share_than_the_source_are_said(positive):
    X, bags, _, (X_source, y_source) = two_domains()
    source = X_source, np.array(["no", "yes"])[y_source]
    negative = {"yes": "no", "no": "yes"}[positive]
    names = {"positive": positive, "negative": negative}
    few = Bags.from_arrays(bags.bag_index, dict(enumerate(0.1 + 0.02 * np.arange(12))), **names)
    with pytest.warns(BagWarning, match=r"rows, 0.50, but that of the bags is 0.21; set fraction"):
        machine = TSVM(**KERNEL).fit(X, few, source=source)
    without = TSVM(**KERNEL).fit(X, None, source=source)
    np.testing.assert_array_equal(machine.decision_function(X), without.decision_function(X))
    near = Bags.from_arrays(bags.bag_index, dict(enumerate(0.3 + 0.02 * np.arange(12))), **names)
    for quiet, y in (
        (TSVM(**KERNEL), near),
        (TSVM(fraction="target", **KERNEL), few),
        (TSVM(C_target=0.0, **KERNEL), few),
    ):
        quiet.fit(X, y, source=source)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_of_each_class_there_is_a_row(share):
    X, bags, _, source = two_domains()
    pure = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), share))
    with pytest.warns(UserWarning, match="bags are pure|same share|other class"):
        machine = TSVM(fraction="target").fit(X, pure, source=source)
    assert machine.n_positive_ == (1 if share == 0 else len(X) - 1)
    assert TSVM().fit(X[:1], None, source=source).n_positive_ in (0, 1)


def test_swapping_the_classes_turns_the_scores():
    X, _, _, (X_source, y_source) = two_domains()
    one = TSVM(**KERNEL).fit(X, None, source=(X_source, y_source))
    other = TSVM(**KERNEL).fit(X, None, source=(X_source, 1 - y_source))
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-6)


def test_precomputed_kernel_equals_the_kernel_itself():
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    K, n = rbf_kernel(Xa, gamma=0.4), len(y_source)
    wanted = TSVM(**KERNEL).fit(Xa, ya).decision_function(X)
    machine = TSVM(kernel="precomputed", tol=1e-9)
    beside = machine.fit(K[n:], bags, source=(K[:n], y_source)).decision_function(K[n:])
    np.testing.assert_allclose(beside, wanted, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(K))
    mixed = machine.fit(K[np.ix_(order, order)], ya[order])
    np.testing.assert_allclose(mixed.decision_function(K[n:][:, order]), wanted, atol=1e-6)


def test_bags_are_not_used_unless_their_shares_are_asked_for():
    X, bags, _, source = two_domains()
    one, two = (TSVM(**KERNEL).fit(X, y, source=source) for y in (None, bags))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert not get_bag_tags(TSVM()).uses_bags
    assert get_bag_tags(TSVM(fraction="target")).uses_bags
    assert get_bag_tags(TSVM()).needs_source


def test_labelled_target_rows_are_learnt_from():
    X, _, labels, source = two_domains(gap=1.0)
    free = TSVM(**KERNEL).fit(X, None, source=source)
    known = Bags.unlabelled(len(X)).with_labels([*labels[:60], *[None] * 12])
    told = TSVM(**KERNEL).fit(X, known, source=source)
    assert told.score(X, labels) > free.score(X, labels)
    assert told.n_positive_ in (5, 6, 7)


def test_too_few_rounds_are_said():
    X, _, _, source = two_domains(gap=1.0, n_source=10)
    machine = TSVM(C_target=0.5, gamma=0.4, max_swaps=1, max_rounds=1)
    with pytest.warns(ConvergenceWarning, match="max_rounds"):
        machine.fit(X, None, source=source)
    assert not machine.converged_


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="needs labelled rows of both classes"):
        TSVM().fit(X, bags)
    with pytest.raises(ValueError, match=r"fraction=\"target\" needs bags"):
        TSVM(fraction="target").fit(X, None, source=source)
    with pytest.raises(ValueError, match="max_swaps"):
        TSVM(max_swaps=0).fit(X, labels)
    assert not hasattr(TSVM(), "predict_proba")
    assert SourceSVM(gamma=0.4).fit(X, labels).objective_ > 0


def test_noise_of_single_shares_evens_out():
    X, bags, labels, source = two_domains()
    shares = bags.positive_shares + np.where(np.arange(12) % 2, 0.4, -0.4)
    noisy = Bags.from_arrays(
        bags.bag_index, dict(enumerate(shares)), noise=LaplaceNoise(0.4, unit="shares")
    )
    machine = TSVM(fraction="target").fit(X, noisy, source=source)
    assert machine.n_positive_ == labels.sum()


def test_the_smallest_cost_of_all_comes_to_an_end():
    X, _, _, source = two_domains()
    wanted = TSVM(1.0, 0.0, **KERNEL).fit(X, None, source=source).decision_function(X)
    machine = TSVM(1.0, 5e-324, **KERNEL).fit(X, None, source=source)
    np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-5, 1e12, 1e60])
def test_scale_of_the_features_does_not_matter(scale):
    X, _, _, (X_source, y_source) = two_domains()
    wanted = TSVM(kernel="linear", tol=1e-9).fit(X, None, source=(X_source, y_source))
    machine = TSVM(scale**-2, scale**-2, kernel="linear", tol=1e-9)
    machine.fit(scale * X, None, source=(scale * X_source, y_source))
    np.testing.assert_allclose(
        machine.decision_function(scale * X), wanted.decision_function(X), atol=1e-5
    )


def test_source_cost_of_zero_is_refused():
    X, _, _, source = two_domains()
    with pytest.raises(ValueError, match="'C_source' parameter"):
        TSVM(C_source=0.0).fit(X, None, source=source)
