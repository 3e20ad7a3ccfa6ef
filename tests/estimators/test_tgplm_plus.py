# SPDX-License-Identifier: BSD-3-Clause
"""TGPLM+: its steps, its limits, and what it refuses."""

from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagshift import (
    TGPLM,
    Bags,
    KernelMemoryError,
    SourceSVM,
    TGPLMPlus,
    path_search,
    stack_domains,
)
from problems import two_domains

KERNEL = {"kernel": "rbf", "gamma": 0.4, "tol": 1e-9}
STARTS = ["source", "inverse_calibration", "tgplm"]


def top_labels(scores, bags):
    """Return the labels, 0 or 1, of the plain method: sort every bag."""
    labels = np.zeros(len(scores), dtype=int)
    for k, share in enumerate(bags.positive_shares):
        rows = np.flatnonzero(bags.bag_index == k)
        n_positive = round(share * len(rows))
        labels[rows[np.argsort(-scores[rows])[:n_positive]]] = 1
    return labels


def alternate(fit, first_scores, X, bags):
    """Alternate labels and machine until the labels stay."""
    labels = top_labels(first_scores, bags)
    for _ in range(50):
        machine = fit(labels)
        new = top_labels(machine.decision_function(X), bags)
        if np.array_equal(new, labels):
            return machine
        labels = new
    raise AssertionError


def test_no_coupling_is_the_alternation_on_the_target_alone():
    X, bags, _, source = two_domains()
    first = SVC(gamma=0.4, tol=1e-9).fit(*source).decision_function(X)
    wanted = alternate(lambda y: SVC(C=3.0, gamma=0.4, tol=1e-9).fit(X, y), first, X, bags)
    for coupling in (0.0, 1e-7):
        machine = TGPLMPlus(C_target=3.0, coupling=coupling, start="source", **KERNEL)
        machine.fit(X, bags, source=source)
        np.testing.assert_allclose(
            machine.decision_function(X), wanted.decision_function(X), atol=1e-4
        )


def test_strong_coupling_is_the_alternation_of_the_pooled_machine():
    X, bags, _, (X_source, y_source) = two_domains()

    class Pooled:
        def __init__(self, labels):
            self.rows = np.vstack([X_source, X])
            # The penalty is |w|^2 instead of |w|^2 / 2, so the kernel counts half.
            gram = 0.5 * rbf_kernel(self.rows, gamma=0.4)
            self.svc = SVC(C=1.5, kernel="precomputed", tol=1e-9)
            self.svc.fit(gram, np.concatenate([y_source, labels]))

        def decision_function(self, Z):
            return self.svc.decision_function(0.5 * rbf_kernel(Z, self.rows, gamma=0.4))

    first = SVC(C=1.5, gamma=0.4, tol=1e-9).fit(X_source, y_source).decision_function(X)
    wanted = alternate(Pooled, first, X, bags).decision_function(X)
    for coupling in (1e7, np.inf):
        machine = TGPLMPlus(
            C_source=1.5, C_target=1.5, coupling=coupling, start="source", **KERNEL
        )
        machine.fit(X, bags, source=(X_source, y_source))
        np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-4)


@pytest.mark.parametrize("with_source", [True, False])
def test_pure_bags_are_labelled_rows(with_source):
    X, _, labels, source = two_domains()
    pure = Bags.from_arrays(labels, {0: 0.0, 1: 1.0})
    single = Bags.from_arrays(np.arange(len(X)), labels.astype(float))
    known = Bags.unlabelled(len(X)).with_labels(labels)
    source = source if with_source else None
    wanted = TGPLM(C_target=2.0, **KERNEL).fit(X, known, source=source).decision_function(X)
    for bags in (pure, single, known):
        machine = TGPLMPlus(C_target=2.0, **KERNEL)
        if bags is known:
            machine.fit(X, bags, source=source)
        else:
            with pytest.warns(UserWarning, match="pure"):
                machine.fit(X, bags, source=source)
        np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-8)
        assert machine.n_rounds_ == 1
        assert machine.start_ == ""
    if not with_source:
        svc = SVC(C=2.0, gamma=0.4, tol=1e-9).fit(X, labels)
        np.testing.assert_allclose(wanted, svc.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"gamma": 0.4}, {"kernel": "poly"}])
def test_plain_labels_are_an_svc(kernel):
    X, _, labels, _ = two_domains()
    weight = np.linspace(0.2, 2.0, len(X))
    svc = SVC(C=2.0, tol=1e-9, gamma=kernel.get("gamma", 0.3), kernel=kernel.get("kernel", "rbf"))
    machine = TGPLMPlus(C_target=2.0, tol=1e-9, **{"gamma": 0.3, **kernel})
    for given in ({}, {"sample_weight": weight}):
        wanted = svc.fit(X, labels, **given).decision_function(X)
        scores = machine.fit(X, labels, **given).decision_function(X)
        np.testing.assert_allclose(scores, wanted, atol=1e-4)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("bag_size", [5, 6])
def test_swapping_the_classes_turns_the_scores(start, bag_size):
    X, bags, _, (X_source, y_source) = two_domains(bag_size=bag_size)
    shares = np.clip(bags.positive_shares + 0.1, 0, 1)  # counts end in one half
    one, other = (
        TGPLMPlus(start=start, **KERNEL).fit(
            X,
            Bags.from_arrays(bags.bag_index, dict(enumerate(given))),
            source=(X_source, labels),
        )
        for given, labels in ((shares, y_source), (1 - shares, 1 - y_source))
    )
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-6)


def test_shares_of_the_first_class_are_understood():
    X, bags, _, (X_source, y_source) = two_domains()
    names = np.array(["no", "yes"])
    one, other = (
        TGPLMPlus(**KERNEL).fit(
            X,
            Bags.from_arrays(
                bags.bag_index, dict(enumerate(shares)), positive=name, negative=different
            ),
            source=(X_source, names[y_source]),
        )
        for shares, name, different in (
            (bags.positive_shares, "yes", "no"),
            (1 - bags.positive_shares, "no", "yes"),
        )
    )
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("coupling", [0.0, 0.125, 8.0, np.inf])
def test_objective_never_rises(start, coupling):
    longest = 0
    for seed in range(6):
        X, bags, _, source = two_domains(seed, gap=0.6)
        machine = TGPLMPlus(C_target=0.3, coupling=coupling, start=start, max_rounds=50)
        machine.fit(X, bags, source=source)
        history = machine.objective_history_
        assert np.all(np.diff(history) < 0)
        assert len(history) == machine.n_rounds_
        assert history[-1] == machine.objective_
        assert machine.converged_
        longest = max(longest, machine.n_rounds_)
    assert longest > 1


def test_best_of_all_starts_is_the_best_of_all_labels():
    X, bags, _, source = two_domains(n_bags=3, bag_size=3, n_source=10)
    settings = {"coupling": 0.5, "C_target": 2.0, "gamma": 0.4, "tol": 1e-6}
    objectives = []
    for signs in product([0, 1], repeat=len(X)):
        counts = np.bincount(bags.bag_index, signs)
        if np.allclose(counts, bags.positive_shares * 3):
            known = Bags.unlabelled(len(X)).with_labels(list(signs))
            objectives.append(TGPLM(**settings).fit(X, known, source=source).objective_)
    found = [
        TGPLMPlus(start=start, **settings).fit(X, bags, source=source).objective_
        for start in STARTS
    ]
    assert min(found) == pytest.approx(min(objectives), rel=1e-5)


def test_lowest_of_the_starts_is_kept():
    kept = set()
    for seed in range(8):
        X, bags, _, source = two_domains(seed, gap=0.6)
        settings = {"C_target": 0.3, "max_rounds": 50}
        by_start = {
            start: TGPLMPlus(start=start, **settings).fit(X, bags, source=source).objective_
            for start in STARTS
        }
        machine = TGPLMPlus(**settings).fit(X, bags, source=source)
        assert machine.objective_ == by_start[machine.start_] == min(by_start.values())
        kept.add(machine.start_)
    assert len(kept) > 1


def test_equal_shares_do_not_start_from_inverse_calibration():
    X, bags, _, source = two_domains(n_bags=1, bag_size=40)
    with pytest.warns(UserWarning, match="one bag"):
        machine = TGPLMPlus(coupling=1.0, **KERNEL).fit(X, bags, source=source)
    assert machine.start_ in {"source", "tgplm"}
    n_positive = np.sum(machine.decision_function(X) > 0)
    assert n_positive == pytest.approx(40 * bags.positive_shares[0], abs=6)


@pytest.mark.parametrize("start", ["auto", *STARTS])
def test_precomputed_kernel_equals_the_kernel_itself(start):
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    K, n = rbf_kernel(Xa, gamma=0.4), len(y_source)
    wanted = TGPLMPlus(start=start, **KERNEL).fit(Xa, ya).decision_function(X)
    machine = TGPLMPlus(start=start, kernel="precomputed", tol=1e-9)
    beside = machine.fit(K[n:], bags, source=(K[:n], y_source)).decision_function(K[n:])
    np.testing.assert_allclose(beside, wanted, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(K))
    mixed = machine.fit(K[np.ix_(order, order)], ya[order])
    np.testing.assert_allclose(mixed.decision_function(K[n:][:, order]), wanted, atol=1e-6)


@pytest.mark.parametrize("start", ["auto", "tgplm"])
def test_rows_in_no_bag_change_nothing_and_labelled_rows_pull(start):
    X, bags, _, source = two_domains()
    more = np.vstack([X[:4] + 1, X])
    free = TGPLMPlus(start=start, **KERNEL).fit(X, bags, source=source)
    mixed = Bags.concatenate([Bags.unlabelled(4), bags])
    same = TGPLMPlus(start=start, **KERNEL).fit(more, mixed, source=source)
    np.testing.assert_allclose(same.decision_function(X), free.decision_function(X), atol=1e-8)
    blank = [None] * len(X)
    told = TGPLMPlus(start=start, **KERNEL).fit(
        more, mixed.with_labels([0, None, 0, 0, *blank]), source=source
    )
    assert told.decision_function(more[:1])[0] < free.decision_function(more[:1])[0]


def test_weights_of_bags_multiply_the_cost_of_their_rows():
    X, bags, _, source = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    heavy = Bags.from_arrays(bags.bag_index, shares, weights=dict.fromkeys(shares, 3.0))
    one = TGPLMPlus(C_target=2.0, **KERNEL).fit(X, heavy, source=source)
    two = TGPLMPlus(C_target=6.0, **KERNEL).fit(X, bags, source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-7)


def test_bags_declared_larger_take_their_share_of_the_rows_at_hand():
    X, bags, _, source = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    larger = Bags.from_arrays(bags.bag_index, shares, sizes=dict.fromkeys(shares, 600))
    one = TGPLMPlus(**KERNEL).fit(X, larger, source=source)
    two = TGPLMPlus(**KERNEL).fit(X, bags, source=source)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_source_without_cost_is_no_start():
    X, bags, _, source = two_domains()
    one = TGPLMPlus(C_source=0.0, **KERNEL).fit(X, bags, source=source)
    assert one.start_ == "inverse_calibration"
    two = TGPLMPlus(C_source=0.0, start="inverse_calibration", **KERNEL)
    two.fit(X, bags, source=source)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_source_machine_is_kept():
    X, bags, _, source = two_domains()
    machine = TGPLMPlus(coupling=0.0, **KERNEL).fit(X, bags, source=source)
    wanted = SourceSVM(**KERNEL).fit(X, None, source=source).decision_function(X)
    np.testing.assert_allclose(machine.source_decision_function(X), wanted, atol=1e-6)
    with pytest.raises(ValueError, match="TGPLMPlus was fitted without a source"):
        TGPLMPlus().fit(X, bags).source_decision_function(X)


def test_too_few_rounds_are_said():
    X, bags, _, source = two_domains(gap=0.6)
    settings = {"C_target": 0.3, "coupling": 0.0, "start": "source"}
    assert TGPLMPlus(**settings).fit(X, bags, source=source).n_rounds_ > 1
    machine = TGPLMPlus(max_rounds=1, **settings)
    with pytest.warns(ConvergenceWarning, match="max_rounds"):
        machine.fit(X, bags, source=source)
    assert not machine.converged_
    assert machine.n_rounds_ == 1


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match=r"start=\"source\" needs labelled history"):
        TGPLMPlus(start="source").fit(X, bags)
    with pytest.raises(ValueError, match="needs bags or labelled rows"):
        TGPLMPlus().fit(X, None, source=source)
    with pytest.raises(ValueError, match="max_rounds"):
        TGPLMPlus(max_rounds=0).fit(X, labels)
    assert not hasattr(TGPLMPlus(), "predict_proba")
    with pytest.raises(TypeError, match="GridSearchCV"):
        path_search(TGPLMPlus(), X, bags, source=source, grid={"coupling": [0.1]})


def test_kernel_matrix_over_all_rows_is_refused_before_it_is_made():
    n = 2_000_000
    bags = Bags.from_arrays(np.arange(n) // 1000, dict.fromkeys(range(n // 1000), 0.5))
    with pytest.warns(UserWarning, match="same share"), pytest.raises(KernelMemoryError):
        TGPLMPlus().fit(np.zeros((n, 1), dtype=np.float32) + np.arange(n)[:, None] % 2, bags)
