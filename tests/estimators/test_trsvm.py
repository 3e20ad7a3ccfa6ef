# SPDX-License-Identifier: BSD-3-Clause
"""The reconstruction of TrSVM: its problem, its limits, where its labels come from."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagshift import Bags, BagWarning, LaplaceNoise, TrSVM, get_bag_tags
from conic import conic_machine
from problems import two_domains

KERNEL = {"kernel": "rbf", "gamma": 0.4, "tol": 1e-9}
WEIGHT = np.linspace(0.5, 2.0, 40)
SOME = np.arange(0, 72, 5)


def few_labels(labels, rows=SOME):
    """Return bags that hold nothing but the labels of some rows."""
    known = np.full(len(labels), None)
    known[rows] = labels[rows]
    return Bags.unlabelled(len(labels)).with_labels(known)


def pure_and_mixed():
    """Return a problem whose first three bags are pure, and the rows of these."""
    X, bags, labels, source = two_domains()
    labels = labels.copy()
    labels[:6], labels[6:12], labels[12:18] = 1, 0, 1
    ids = bags.bag_index
    shares = np.bincount(ids, labels) / 6
    keep = np.flatnonzero((ids < 3) | ~np.isin(shares, (0, 1))[ids])
    return X[keep], ids[keep], labels[keep], source


@pytest.mark.parametrize("margin", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("cost", [0.1, 5.0])
def test_equals_a_conic_solver_on_the_primal(margin, cost):
    X, _, labels, (X_source, y_source) = two_domains()
    conic = conic_machine(
        np.vstack([X_source, X[SOME]]),
        2 * np.concatenate([y_source, labels[SOME]]) - 1,
        np.concatenate([cost * WEIGHT, np.full(len(SOME), 2.0)]),
        margins=np.repeat([margin, 1.0], [40, len(SOME)]),
    )
    machine = TrSVM(cost, 2.0, source_margin=margin, kernel="linear", tol=1e-9)
    machine.fit(X, few_labels(labels), source=(X_source, y_source, WEIGHT))
    assert machine.objective_ == pytest.approx(conic.objective, rel=1e-8)
    np.testing.assert_allclose(machine.coef_[0], conic.weights, atol=1e-6)
    low, high = machine.intercept_interval_
    assert low - 1e-6 <= conic.bias <= high + 1e-6


@pytest.mark.parametrize("cost", [0.2, 1.5])
def test_with_the_full_margin_it_is_the_pooled_svc(cost):
    X, _, labels, (X_source, y_source) = two_domains()
    rows = np.vstack([X_source, X[SOME]])
    y = np.concatenate([y_source, labels[SOME]])
    costs = np.repeat([cost, 1.5], [40, len(SOME)])
    svc = SVC(gamma=0.4, tol=1e-9).fit(rows, y, sample_weight=costs)
    machine = TrSVM(cost, 1.5, source_margin=1.0, **KERNEL)
    machine.fit(X, few_labels(labels), source=(X_source, y_source))
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)


def test_without_source_cost_it_is_an_svc_on_the_target_labels():
    X, _, labels, source = two_domains()
    svc = SVC(C=3.0, gamma=0.4, tol=1e-9).fit(X[SOME], labels[SOME])
    machine = TrSVM(0.0, 3.0, **KERNEL).fit(X, few_labels(labels), source=source)
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)
    assert machine.n_target_labels_ == len(SOME)
    svc.fit(X, labels, sample_weight=np.arange(72) % 4)
    machine.fit(X, labels, sample_weight=np.arange(72) % 4)
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("positive", [0, 1])
def test_pure_bags_are_labelled_rows(positive):
    X, ids, labels, source = pure_and_mixed()
    shares = {k: np.mean(labels[ids == k] == positive) for k in np.unique(ids)}
    bags = Bags.from_arrays(ids, shares, positive=positive, negative=1 - positive)
    rows = np.flatnonzero(ids < 3)
    wanted = TrSVM(**KERNEL).fit(X, few_labels(labels, rows), source=source)
    for rule in ("auto", "bags"):
        machine = TrSVM(target_labels=rule, **KERNEL).fit(X, bags, source=source)
        np.testing.assert_allclose(
            machine.decision_function(X), wanted.decision_function(X), atol=1e-6
        )
        assert machine.n_target_labels_ == 18
        assert not machine.labels_guessed_


@pytest.mark.parametrize("positive", [0, 1])
def test_pure_bags_of_one_class_do_not_pull_the_boundary(positive):
    X, ids, labels, source = pure_and_mixed()
    # The one pure bag of the other class is said to be mixed.
    shares = {k: np.mean(labels[ids == k] == positive) for k in np.unique(ids)}
    shares[1] = 4 / 6 if shares[1] else 2 / 6
    bags = Bags.from_arrays(ids, shares, positive=positive, negative=1 - positive)
    machine = TrSVM(**KERNEL).fit(X, bags, source=source)
    assert machine.labels_guessed_
    without = TrSVM(**KERNEL).fit(X, None, source=source)
    np.testing.assert_array_equal(machine.decision_function(X), without.decision_function(X))
    pulled = TrSVM(target_labels="bags", **KERNEL).fit(X, bags, source=source)
    assert not pulled.labels_guessed_
    assert machine.score(X, labels) > pulled.score(X, labels)


def test_weight_of_a_pure_bag_is_the_cost_of_its_rows():
    X, ids, labels, source = pure_and_mixed()
    shares = {k: labels[ids == k].mean() for k in np.unique(ids)}
    bags = Bags.from_arrays(ids, shares, weights={k: 2.0 if k < 3 else 1.0 for k in shares})
    one = TrSVM(C_target=1.5, **KERNEL).fit(X, bags, source=source)
    two = TrSVM(C_target=3.0, **KERNEL)
    two.fit(X, few_labels(labels, np.flatnonzero(ids < 3)), source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)


def test_noisy_shares_label_nothing():
    X, ids, labels, source = pure_and_mixed()
    shares = {k: labels[ids == k].mean() for k in np.unique(ids)}
    bags = Bags.from_arrays(ids, shares, noise=LaplaceNoise(0.1, unit="shares"))
    assert TrSVM().fit(X, bags, source=source).labels_guessed_
    with pytest.raises(ValueError, match='"bags" finds no label: there are no pure bags'):
        TrSVM(target_labels="bags").fit(X, bags, source=source)
    with pytest.raises(ValueError, match='"labelled" finds no label: there are no labelled'):
        TrSVM(target_labels="labelled").fit(X, bags, source=source)


def guess(scores, known, part):
    """Return labels of the most confident part of the rows on each side; 0 for the others."""
    signs = known.copy()
    for side in (scores > 0, scores <= 0):
        rows = np.flatnonzero(side & (known == 0))
        n_chosen = int(np.ceil(part * len(rows)))
        best = rows[np.argsort(-np.abs(scores[rows]))[:n_chosen]]
        signs[best] = np.where(scores[best] > 0, 1.0, -1.0)
    return signs


@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("part", [0.1, 0.5, 1.0])
def test_guesses_are_plain_self_training(part, with_labels):
    X, _, labels, (X_source, y_source) = two_domains(seed=3)
    known = np.zeros(72)
    if with_labels:
        known[SOME] = 2 * labels[SOME] - 1
    svc = SVC(gamma=0.4, tol=1e-9).fit(X_source, y_source)
    signs = guess(svc.decision_function(X), known, part)
    n_rounds = 0
    while n_rounds < 10:
        n_rounds += 1
        used = np.flatnonzero(signs)
        svc.fit(np.vstack([X_source, X[used]]), np.append(2 * y_source - 1, signs[used]))
        again = guess(svc.decision_function(X), known, part)
        if np.array_equal(again, signs):
            break
        signs = again
    machine = TrSVM(source_margin=1.0, confident=part, target_labels="pseudo", **KERNEL)
    machine.fit(X, few_labels(labels) if with_labels else None, source=(X_source, y_source))
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)
    assert machine.labels_guessed_
    assert machine.n_rounds_ == n_rounds
    assert machine.n_target_labels_ == np.count_nonzero(signs)


def test_equal_rows_are_guessed_alike():
    X, _, _, source = two_domains()
    twice = np.repeat(X, 2, axis=0)
    machine = TrSVM(**KERNEL).fit(twice, None, source=source)
    assert machine.n_target_labels_ % 2 == 0


def test_guesses_that_do_not_settle_are_said():
    X, _, _, source = two_domains(seed=10)
    with pytest.warns(ConvergenceWarning, match="guessed labels still changed after 1"):
        machine = TrSVM(max_rounds=1, confident=0.5).fit(X, None, source=source)
    assert not machine.converged_
    assert machine.n_rounds_ == 1


@pytest.mark.parametrize("precomputed", [False, True])
def test_similar_source_rows_cost_more(precomputed):
    X, _, labels, (X_source, y_source) = two_domains()
    gram = rbf_kernel(np.vstack([X_source, X]), gamma=0.4)
    similarity = gram[:40, 40:].mean(axis=1)
    similarity *= WEIGHT.sum() / (WEIGHT @ similarity)
    bags = few_labels(labels)
    plain = TrSVM(**KERNEL).fit(X, bags, source=(X_source, y_source, similarity * WEIGHT))
    if precomputed:
        machine = TrSVM(weights="similarity", kernel="precomputed", tol=1e-9)
        machine.fit(gram[40:], bags, source=(gram[:40], y_source, WEIGHT))
        scores = machine.decision_function(gram[40:])
    else:
        machine = TrSVM(weights="similarity", **KERNEL)
        scores = machine.fit(X, bags, source=(X_source, y_source, WEIGHT)).decision_function(X)
    np.testing.assert_allclose(scores, plain.decision_function(X), atol=1e-5)


def test_domains_without_any_similarity_are_refused():
    X, _, labels, source = two_domains()
    machine = TrSVM(weights="similarity", gamma=1e3)
    with pytest.raises(ValueError, match="no source row that is similar"):
        machine.fit(X + 5.0, few_labels(labels), source=source)


def test_swapping_the_classes_turns_the_scores():
    X, _, labels, (X_source, y_source) = two_domains()
    for bags, turned in ((few_labels(labels), few_labels(1 - labels)), (None, None)):
        one = TrSVM(**KERNEL).fit(X, bags, source=(X_source, y_source))
        two = TrSVM(**KERNEL).fit(X, turned, source=(X_source, 1 - y_source))
        np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-6)


def test_what_it_cannot_use_is_refused():
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match="TrSVM needs labelled history of both classes; give it"):
        TrSVM().fit(X, bags)
    with pytest.raises(ValueError, match="Guesses of target labels come from the source"):
        TrSVM(C_source=0.0).fit(X, None, source=source)
    # Without target labels and a margin of the source no score differs from zero.
    with pytest.raises(ValueError, match="'C_target' parameter"):
        TrSVM(C_target=0.0).fit(X, bags, source=source)
    with pytest.raises(ValueError, match="'source_margin' parameter"):
        TrSVM(source_margin=2.0).fit(X, bags, source=source)
    tags = get_bag_tags(TrSVM())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (True, True, True)


def test_labels_of_one_class_are_not_enough():
    X, _, labels, source = two_domains()
    one_class = few_labels(labels, np.flatnonzero(labels == 1)[:5])
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        TrSVM().fit(X, one_class)
    with pytest.raises(ValueError, match="labels of target rows are of one class; set"):
        TrSVM(C_source=0.0, target_labels="labelled").fit(X, one_class, source=source)
    kept = TrSVM(target_labels="labelled").fit(X, one_class, source=source)
    assert set(kept.predict(X)) == {0, 1}
    with pytest.warns(BagWarning, match='one class, which target_labels="auto" passes over'):
        guessed = TrSVM(**KERNEL).fit(X, one_class, source=source)
    without = TrSVM(**KERNEL).fit(X, None, source=source)
    np.testing.assert_array_equal(guessed.decision_function(X), without.decision_function(X))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_squares_of_the_kernel_may_leave_the_range_of_numbers():
    X, bags, _, (X_source, y_source) = two_domains()
    machine = TrSVM(weights="similarity", kernel="linear")
    machine.fit(1e100 * X, bags, source=(1e100 * X_source, y_source))
    assert np.all(np.isfinite(machine.decision_function(1e100 * X)))
