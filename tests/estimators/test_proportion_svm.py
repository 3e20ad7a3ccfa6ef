# SPDX-License-Identifier: BSD-3-Clause
"""Proportion-SVM: against trying all labels and a slow twin, its limits, and what it refuses."""

from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagshift import Bags, ProportionSVM, ReversedScoresWarning, stack_domains
from bagshift.estimators._alternation import Alternation, costs_up_to
from problems import two_domains

KERNEL = {"kernel": "rbf", "gamma": 0.4, "tol": 1e-9}


def best_labels(scores, bags, price, epsilon):
    """Return the labels, 0 or 1, of the plain method: try every number of positives."""
    labels = np.zeros(len(scores), dtype=int)
    for k, share in enumerate(bags.positive_shares):
        rows = np.flatnonzero(bags.bag_index == k)
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        losses = []
        for r in range(len(rows) + 1):
            signs = np.where(np.arange(len(rows)) < r, 1, -1)
            miss = max(0, abs(r / len(rows) - share) - epsilon)
            # A price without bound would be nothing times infinity at a share that holds.
            penalty = min(price, 1e6) * len(rows) * miss
            losses.append(np.maximum(0, 1 - signs * scores[rows]).sum() + penalty)
        labels[rows[: int(np.argmin(losses))]] = 1
    return labels


def slow_twin(X, bags, labels, *, C, C_share, epsilon=0.0):
    """Alternate at rising costs with scikit-learn's SVC; return its last scores."""
    for cost in costs_up_to(C):
        for _ in range(100):
            scores = SVC(C=cost, gamma=0.4, tol=1e-10).fit(X, labels).decision_function(X)
            new = best_labels(scores, bags, C_share / cost, epsilon)
            if np.array_equal(new, labels):
                break
            labels = new
        else:
            raise AssertionError
    return scores


@pytest.mark.parametrize("C_share", [0.3, 2.0, np.inf])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_slow_twin_ends_at_the_same_machine(C_share, epsilon):
    for seed in range(2):
        X, bags, _, source = two_domains(seed, gap=1.2)
        first = SVC(C=2.0, gamma=0.4, tol=1e-10).fit(*source).decision_function(X)
        labels = best_labels(first, bags, C_share / 2.0, epsilon)
        wanted = slow_twin(X, bags, labels, C=2.0, C_share=C_share, epsilon=epsilon)
        machine = ProportionSVM(2.0, C_share, epsilon=epsilon, start="source", **KERNEL)
        scores = machine.fit(X, bags, source=source).decision_function(X)
        np.testing.assert_allclose(scores, wanted, atol=1e-4)


# Two bags need not tell which class is which, and may be pure.
@pytest.mark.filterwarnings(
    "ignore::bagshift.BagWarning", "ignore::bagshift.ReversedScoresWarning"
)
@pytest.mark.parametrize(("C_share", "epsilon"), [(4.0, 0.0), (4.0, 0.3), (np.inf, 0.0)])
def test_end_is_hardly_ever_above_the_best_of_all_labels(C_share, epsilon):
    n_best = 0
    for seed in range(6):
        X, bags, _, _ = two_domains(seed, n_bags=2, bag_size=4)
        machine = ProportionSVM(2.0, C_share, epsilon=epsilon, n_init=20, gamma=0.4, tol=1e-8)
        found = machine.fit(X, bags).objective_
        best = min(objectives_of_all_labels(X, bags, C_share, epsilon))
        assert found >= best - 1e-5
        n_best += found <= best + 1e-5
    assert n_best >= 5


def objectives_of_all_labels(X, bags, C_share, epsilon):
    """Yield the value of the problem for every label vector, by scikit-learn's SVC."""
    K, sizes = rbf_kernel(X, gamma=0.4), bags.sizes
    for labels in product([0, 1], repeat=len(X)):
        shares = np.bincount(bags.bag_index, labels) / sizes
        miss = sizes @ np.maximum(0, np.abs(shares - bags.positive_shares) - epsilon - 1e-12)
        if C_share == np.inf and miss > 0:
            continue
        price = 0.0 if miss == 0 else C_share * miss
        if len(set(labels)) == 1:
            yield price
            continue
        svm = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(K, labels)
        dual, scores = svm.dual_coef_[0], svm.decision_function(K)
        margins = scores * (2 * np.array(labels) - 1)
        norm = dual @ K[np.ix_(svm.support_, svm.support_)] @ dual
        yield 0.5 * norm + 2.0 * np.maximum(0, 1 - margins).sum() + price


@pytest.mark.filterwarnings("ignore::bagshift.ReversedScoresWarning")
@pytest.mark.parametrize("start", ["source", "random"])
@pytest.mark.parametrize("C_share", [0.3, np.inf])
def test_objective_never_rises_at_one_cost(start, C_share, monkeypatch):
    rests = []
    settle = Alternation.settle

    def remember(self, *args):
        rests.append(settle(self, *args))
        return rests[-1]

    monkeypatch.setattr(Alternation, "settle", remember)
    for seed in range(3):
        X, bags, _, source = two_domains(seed, gap=0.6)
        machine = ProportionSVM(0.5, C_share, start=start, n_init=3)
        machine.fit(X, bags, source=source if start == "source" else None)
        history = machine.objective_history_
        assert len(history) == machine.n_rounds_
        assert history[-1] == machine.objective_
        assert machine.converged_
        assert machine.start_ == start
    assert all(np.all(np.diff(rest.history) < 0) for rest in rests)
    assert all(rest.settled for rest in rests)
    assert max(len(rest.history) for rest in rests) > 2


def test_high_price_of_shares_makes_counts_exact():
    X, bags, _, source = two_domains(gap=0.6)
    wanted = ProportionSVM(gamma=0.4).fit(X, bags, source=source)
    machine = ProportionSVM(C_share=1e6, gamma=0.4).fit(X, bags, source=source)
    np.testing.assert_array_equal(machine.decision_function(X), wanted.decision_function(X))
    assert machine.objective_ == wanted.objective_
    cheap = ProportionSVM(C_share=0.1, gamma=0.4).fit(X, bags, source=source)
    assert cheap.objective_ < wanted.objective_


def test_auto_keeps_the_lowest_of_all_starts():
    for seed in range(6):
        X, bags, _, source = two_domains(seed, gap=0.6)
        ends = [
            ProportionSVM(start="source", gamma=0.4).fit(X, bags, source=source),
            ProportionSVM(start="random", gamma=0.4).fit(X, bags),
        ]
        machine = ProportionSVM(gamma=0.4).fit(X, bags, source=source)
        best = min(end.objective_ for end in ends)
        assert machine.objective_ == pytest.approx(best, rel=1e-6)


def test_more_starts_never_end_higher():
    X, bags, _, _ = two_domains(3, gap=0.8)
    ends = [ProportionSVM(n_init=n, gamma=0.4).fit(X, bags).objective_ for n in (1, 5, 20)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > ends[-1]


def opposite_problem():
    """Return rows of two pairs of bags that are their own mirror image, labels and history."""
    rng = np.random.default_rng(0)
    half = rng.normal(loc=[2.5, 0.0], size=(20, 2))
    X = np.vstack([half, -half])
    bags = Bags.from_arrays(np.tile(np.arange(4), 10), dict.fromkeys(range(4), 0.5))
    labels = (X[:, 0] > 0).astype(int)
    return X, bags, labels, (X + rng.normal(size=X.shape), labels)


@pytest.mark.filterwarnings("ignore:all 4 bags have the same share")
def test_which_class_is_which_is_said_to_be_open_or_taken_from_the_source():
    X, bags, labels, (X_source, y_source) = opposite_problem()
    with pytest.warns(ReversedScoresWarning, match="about equally well"):
        ProportionSVM().fit(X, bags)
    for start in ("auto", "source"):
        machine = ProportionSVM(start=start)
        assert machine.fit(X, bags, source=(X_source, y_source)).score(X, labels) > 0.9
        assert machine.fit(X, bags, source=(X_source, 1 - y_source)).score(X, labels) < 0.1


@pytest.mark.filterwarnings("ignore:all .* bags are pure")
@pytest.mark.parametrize("with_source", [True, False])
def test_pure_bags_and_single_rows_are_labelled_rows(with_source):
    X, _, labels, source = two_domains()
    source = source if with_source else None
    # The width of the kernel is given: the rows of the source would take part in the rule for it.
    svc = SVC(C=2.0, tol=1e-9, gamma=0.4).fit(X, labels)
    pure = Bags.from_arrays(labels, {0: 0.0, 1: 1.0})
    single = Bags.from_arrays(np.arange(len(X)), dict(enumerate(labels)))
    known = Bags.unlabelled(len(X)).with_labels(list(labels))
    for bags in (pure, single, known):
        machine = ProportionSVM(C=2.0, **KERNEL).fit(X, bags, source=source)
        scores = machine.decision_function(X)
        np.testing.assert_allclose(scores, svc.decision_function(X), atol=1e-4)
        assert machine.n_rounds_ == 1
        assert machine.start_ == ""


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"gamma": 0.4}, {"kernel": "poly"}])
def test_plain_labels_are_an_svc(kernel):
    X, _, labels, _ = two_domains()
    weight = np.linspace(0.2, 2.0, len(X))
    svc = SVC(C=2.0, tol=1e-9, gamma=kernel.get("gamma", 0.3), kernel=kernel.get("kernel", "rbf"))
    machine = ProportionSVM(C=2.0, tol=1e-9, **{"gamma": 0.3, **kernel})
    for given in ({}, {"sample_weight": weight}):
        wanted = svc.fit(X, labels, **given).decision_function(X)
        scores = machine.fit(X, labels, **given).decision_function(X)
        np.testing.assert_allclose(scores, wanted, atol=1e-4)


@pytest.mark.parametrize("C_share", [0.4, np.inf])
@pytest.mark.parametrize("bag_size", [5, 6])
def test_swapping_the_classes_turns_the_scores(C_share, bag_size):
    X, bags, _, (X_source, y_source) = two_domains(bag_size=bag_size)
    shares = np.clip(bags.positive_shares + 0.1, 0, 1)  # counts end in one half
    one, other = (
        ProportionSVM(C_share=C_share, start="source", **KERNEL).fit(
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
        ProportionSVM(**KERNEL).fit(
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


@pytest.mark.parametrize("start", ["auto", "source"])
def test_precomputed_kernel_equals_the_kernel_itself(start):
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    K, n = rbf_kernel(Xa, gamma=0.4), len(y_source)
    wanted = ProportionSVM(start=start, **KERNEL).fit(Xa, ya).decision_function(X)
    machine = ProportionSVM(start=start, kernel="precomputed", tol=1e-9)
    beside = machine.fit(K[n:], bags, source=(K[:n], y_source)).decision_function(K[n:])
    np.testing.assert_allclose(beside, wanted, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(K))
    mixed = machine.fit(K[np.ix_(order, order)], ya[order])
    np.testing.assert_allclose(mixed.decision_function(K[n:][:, order]), wanted, atol=1e-6)


def test_rows_in_no_bag_change_nothing_and_labelled_rows_pull():
    X, bags, _, source = two_domains()
    more = np.vstack([X[:4] + 1, X])
    free = ProportionSVM(**KERNEL).fit(X, bags, source=source)
    mixed = Bags.concatenate([Bags.unlabelled(4), bags])
    same = ProportionSVM(**KERNEL).fit(more, mixed, source=source)
    np.testing.assert_allclose(same.decision_function(X), free.decision_function(X), atol=1e-8)
    blank = [None] * len(X)
    told = ProportionSVM(**KERNEL).fit(
        more, mixed.with_labels([0, None, 0, 0, *blank]), source=source
    )
    assert told.decision_function(more[:1])[0] < free.decision_function(more[:1])[0]


@pytest.mark.parametrize("C_share", [0.5, np.inf])
def test_weights_of_bags_multiply_both_costs_of_their_rows(C_share):
    X, bags, _, _ = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    heavy = Bags.from_arrays(bags.bag_index, shares, weights=dict.fromkeys(shares, 3.0))
    # The first cost differs, and with it where the random labels lead.
    one = ProportionSVM(2.0, C_share, n_init=20, **KERNEL).fit(X, heavy)
    two = ProportionSVM(6.0, 3 * C_share, n_init=20, **KERNEL).fit(X, bags)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-7)
    assert one.objective_ == pytest.approx(two.objective_)


def test_bags_declared_larger_take_their_share_of_the_rows_at_hand():
    X, bags, _, source = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    larger = Bags.from_arrays(bags.bag_index, shares, sizes=dict.fromkeys(shares, 600))
    one = ProportionSVM(**KERNEL).fit(X, larger, source=source)
    two = ProportionSVM(**KERNEL).fit(X, bags, source=source)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_worthless_shares_leave_one_class():
    X, bags, _, _ = two_domains()
    machine = ProportionSVM(C_share=0.0).fit(X, bags)
    assert machine.objective_ == 0
    assert len(set(machine.predict(X))) == 1


def test_too_few_rounds_are_said():
    X, bags, _, source = two_domains(gap=0.6)
    machine = ProportionSVM(max_rounds=1, n_init=1, start="source", C=0.3)
    with pytest.warns(ConvergenceWarning, match="settled after 1 round; set a higher max_rounds"):
        machine.fit(X, bags, source=source)
    assert not machine.converged_
    assert machine.n_rounds_ == 1


@pytest.mark.filterwarnings("ignore::bagshift.ReversedScoresWarning")
def test_labels_that_the_solver_cannot_train_on_are_not_blamed_on_the_rounds():
    X, bags, _, _ = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    weights = {k: 1e200 if k % 2 else 1.0 for k in shares}
    uneven = Bags.from_arrays(bags.bag_index, shares, weights=weights)
    with pytest.warns(ConvergenceWarning, match=r"solver did not reach tol .* round"):
        machine = ProportionSVM(n_init=3).fit(X, uneven)
    assert not machine.converged_


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match=r"start=\"source\" needs labelled history"):
        ProportionSVM(start="source").fit(X, bags)
    with pytest.raises(ValueError, match=r"start=\"random\" does not use the source"):
        ProportionSVM(start="random").fit(X, bags, source=source)
    with pytest.raises(ValueError, match="needs bags of the target beside the source"):
        ProportionSVM().fit(X, None, source=source)
    with pytest.raises(ValueError, match="nothing to learn from"):
        ProportionSVM().fit(X, Bags.unlabelled(len(X)))
    with pytest.raises(ValueError, match="The labels hold one class, 1; two classes"):
        ProportionSVM().fit(X, Bags.unlabelled(len(X)).with_labels([1] * len(X)))
    with pytest.raises(ValueError, match="n_init"):
        ProportionSVM(n_init=0).fit(X, labels)
    assert not hasattr(ProportionSVM(), "predict_proba")


def test_kernel_values_beyond_single_precision_stay_double():
    X, bags, _, _ = two_domains()
    scores = [
        ProportionSVM(C=unit**-2, kernel="linear", n_init=2).fit(unit * X, bags).coef_ * unit
        for unit in (1.0, 2.0**80)
    ]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-6)
