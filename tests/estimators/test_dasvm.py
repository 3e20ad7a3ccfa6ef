# SPDX-License-Identifier: BSD-3-Clause
"""DASVM: against a slow twin, where it ends, its probabilities, and what it refuses."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagshift import (
    DASVM,
    Bags,
    ReversedScoresWarning,
    SourceSVM,
    get_bag_tags,
    predict_proba_in_bags,
    stack_domains,
)
from bagshift.estimators._bag_sigmoid import fit_bag_sigmoid
from bagshift.solvers import BagCounts
from problems import two_domains

KERNEL = {"kernel": "rbf", "gamma": 0.4, "tol": 1e-9}


def turned_clouds(seed=0, n_rows=200, degrees=50.0, n_bags=20):
    """Return (X, bags, labels, source): two clouds, turned about the origin in the target."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    clouds = [rng.normal(size=(n_rows, 2)) + np.outer(2 * y - 1, [2.5, 0.0]) for _ in range(2)]
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    ids = rng.permutation(np.arange(n_rows) % n_bags)
    shares = np.bincount(ids, y) / np.bincount(ids)
    return clouds[1] @ turn, Bags.from_arrays(ids, dict(enumerate(shares))), y, (clouds[0], y)


def slow_twin(X, source, *, C_source, C_target, per_side, n_steps, open_share):
    """Follow the steps row by row, with scikit-learn's SVC."""
    X_source, y_source, weight = source

    def train(history, labels, costs):
        parts = [(X_source[i], 2 * y_source[i] - 1, c * weight[i]) for i, c in history]
        parts += [(X[j], labels[j], costs[j]) for j in labels]
        rows, signs, cost = zip(*parts, strict=True)
        svc = SVC(gamma=0.4, tol=1e-10).fit(np.array(rows), signs, sample_weight=cost)
        dual = np.zeros(len(rows))
        dual[svc.support_] = np.abs(svc.dual_coef_[0])
        return svc.decision_function, dict(zip([k for k, _ in history], dual, strict=False))

    def farthest_first(k):
        distance = abs(f_source[k])
        return (-1.0 if abs(distance - 1) < 1e-3 else -distance, dual[k])

    left, labels, ages, i = list(range(len(X_source))), {}, {}, 0
    score, dual = train([(k, C_source) for k in left], {}, {})
    while True:
        f, f_source = score(X), score(X_source)
        inside = [j for j in range(len(X)) if j not in labels and abs(f[j]) < 0.999]
        sides = [[j for j in inside if (f[j] > 0) == high] for high in (False, True)]
        if max(map(len, sides)) < max(1, np.ceil(open_share * len(X))):
            break
        i += 1
        for j in [j for j in labels if (labels[j] > 0) != (f[j] > 0)]:
            del labels[j], ages[j]
        for side, high in zip(sides, (False, True), strict=True):
            taken = sorted(side, key=lambda j: -abs(f[j]))[:per_side]
            for j in taken:
                labels[j], ages[j] = (1 if high else -1), 0
            on_side = [k for k in left if (f_source[k] > 0) == high]
            for k in sorted(on_side, key=farthest_first)[: len(taken)]:
                left.remove(k)
        ages = {j: age + 1 for j, age in ages.items()}
        falling = C_source * max((n_steps - i) / n_steps, 1 / n_steps) ** 2
        costs = {j: C_target * min(age / n_steps, 1) ** 2 for j, age in ages.items()}
        score, dual = train([(k, falling) for k in left], labels, costs)
    f = score(X)
    for j in range(len(X)):
        if j not in labels and abs(f[j]) >= 0.999:
            labels[j] = 1 if f[j] > 0 else -1
    return train([], labels, dict.fromkeys(labels, C_target))[0](X)


@pytest.mark.parametrize("per_side", [1, 4])
@pytest.mark.parametrize("n_steps", [3, 10])
def test_slow_twin_ends_at_the_same_machine(per_side, n_steps):
    n_rounds = 0
    for seed in (0, 1, 3):
        X, _, _, (X_source, y_source) = two_domains(seed, gap=2.0)
        # Uneven weights leave a support vector inside its box, which makes the bias unique.
        source = X_source, y_source, np.random.default_rng(seed).uniform(0.8, 1.2, len(y_source))
        settings = {"C_source": 2.0, "C_target": 1.0, "n_steps": n_steps, "open_share": 0.05}
        wanted = slow_twin(X, source, per_side=per_side, **settings)
        machine = DASVM(rows_per_side=per_side, **settings, **KERNEL).fit(X, None, source=source)
        np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-4)
        assert machine.n_source_left_ == 0
        assert machine.converged_
        n_rounds += machine.n_rounds_
    assert n_rounds > 10


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_a_shift_the_labels_are_those_of_the_support_vector_machine(kernel):
    for seed in range(4):
        X, _, _, source = turned_clouds(seed, degrees=0.0)
        for rows in (X, source[0]):
            machine = DASVM(kernel=kernel).fit(rows, None, source=source)
            svc = SourceSVM(kernel=kernel).fit(rows, None, source=source)
            assert np.mean(machine.predict(rows) == svc.predict(rows)) > 0.97
            assert machine.converged_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_a_shift_and_with_a_clear_gap_no_label_changes(kernel):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    rows = rng.uniform(-1.0, 1.0, size=(120, 2)) + np.outer(2 * y - 1, [2.0, 0.0])
    machine = DASVM(100.0, 100.0, kernel=kernel).fit(rows, None, source=(rows, y))
    svc = SVC(C=100.0, kernel=kernel).fit(rows, y)
    np.testing.assert_array_equal(machine.predict(rows), svc.predict(rows))
    np.testing.assert_array_equal(machine.predict(rows), y)
    assert machine.converged_
    assert machine.n_source_left_ == 0


def test_it_follows_a_turn_with_a_wide_margin():
    for seed in range(4):
        X, _, labels, source = turned_clouds(seed, degrees=55.0)
        before, after = (
            machine(C, kernel="linear").fit(X, None, source=source).score(X, labels)
            for machine, C in ((SourceSVM, 0.1), (partial(DASVM, C_target=0.1), 0.1))
        )
        ceiling = SVC(kernel="linear").fit(X, labels).score(X, labels)
        assert before < ceiling - 0.015
        assert after > ceiling - 0.015


def test_it_ends_on_problems_without_order():
    rng = np.random.default_rng(0)
    for seed in range(4):
        X, _, _, (X_source, y_source) = two_domains(seed, gap=0.3)
        noise = X_source, rng.permutation(y_source)
        machine = DASVM(C_target=3.0, rows_per_side=1, max_rounds=300)
        machine.fit(X, None, source=noise)
        assert machine.n_rounds_ < 300


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"gamma": 0.4}, {"kernel": "poly"}])
def test_plain_labels_are_an_svc(kernel):
    X, _, labels, _ = two_domains()
    weight = np.linspace(0.2, 2.0, len(X))
    svc = SVC(C=2.0, tol=1e-9, gamma=kernel.get("gamma", 0.3), kernel=kernel.get("kernel", "rbf"))
    machine = DASVM(C_target=2.0, tol=1e-9, **{"gamma": 0.3, **kernel})
    for given in ({}, {"sample_weight": weight}):
        wanted = svc.fit(X, labels, **given).decision_function(X)
        scores = machine.fit(X, labels, **given).decision_function(X)
        np.testing.assert_allclose(scores, wanted, atol=1e-4)
        assert machine.n_rounds_ == 0


def test_known_target_labels_stand():
    X, _, labels, source = two_domains(gap=1.0)
    known = Bags.unlabelled(len(X)).with_labels(list(labels))
    wanted = SVC(gamma=0.4, tol=1e-9).fit(X, labels).decision_function(X)
    machine = DASVM(**KERNEL).fit(X, known, source=source)
    np.testing.assert_allclose(machine.decision_function(X), wanted, atol=1e-4)
    some = Bags.unlabelled(len(X)).with_labels([*labels[:40], *[None] * 32])
    free = DASVM(**KERNEL).fit(X, None, source=source).score(X, labels)
    assert DASVM(**KERNEL).fit(X, some, source=source).score(X, labels) > free
    assert DASVM(**KERNEL).fit(X, some).converged_


def test_swapping_the_classes_turns_the_scores():
    X, _, _, (X_source, y_source) = two_domains()
    one = DASVM(**KERNEL).fit(X, None, source=(X_source, y_source))
    other = DASVM(**KERNEL).fit(X, None, source=(X_source, 1 - y_source))
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("probability", [False, True])
def test_precomputed_kernel_equals_the_kernel_itself(probability):
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    K, n = rbf_kernel(Xa, gamma=0.4), len(y_source)
    settings = {"probability": probability, "tol": 1e-9}
    wanted = DASVM(gamma=0.4, **settings).fit(Xa, ya).decision_function(X)
    machine = DASVM(kernel="precomputed", **settings)
    beside = machine.fit(K[n:], bags, source=(K[:n], y_source)).decision_function(K[n:])
    np.testing.assert_allclose(beside, wanted, atol=1e-5)
    order = np.random.default_rng(0).permutation(len(K))
    mixed = machine.fit(K[np.ix_(order, order)], ya[order])
    np.testing.assert_allclose(mixed.decision_function(K[n:][:, order]), wanted, atol=1e-5)


# Probabilities ----------------------------------------------------------------------------


def test_probabilities_are_offered_on_request_only():
    X, bags, _, source = two_domains()
    plain = DASVM().fit(X, bags, source=source)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "predict_in_bags")
    assert not get_bag_tags(plain).uses_bags
    machine = DASVM(probability=True).fit(X, bags, source=source)
    assert get_bag_tags(machine).uses_bags
    probability = machine.predict_proba(X)
    scores = machine.decision_function(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(probability[:, 1], expit(machine.slope_ * scores))
    np.testing.assert_array_equal(machine.predict(X), probability.argmax(axis=1))
    np.testing.assert_allclose(np.ptp(scores - plain.decision_function(X)), 0, atol=1e-12)
    in_bags = predict_proba_in_bags(machine, X, bags)
    np.testing.assert_allclose(bags.bag_means(in_bags), bags.shares, atol=1e-9)
    np.testing.assert_array_equal(machine.predict_proba_in_bags(X, bags), in_bags)


def test_probabilities_fit_fresh_labels():
    for seed in range(3):
        X, bags, _, source = turned_clouds(seed, degrees=30.0)
        X_new, _, y_new, _ = turned_clouds(seed + 10, n_rows=2000, degrees=30.0)
        machine = DASVM(kernel="linear", probability=True).fit(X, bags, source=source)
        found = log_loss(y_new, machine.predict_proba(X_new))
        best = LogisticRegression().fit(X_new, y_new).predict_proba(X_new)
        assert found < log_loss(y_new, best) + 0.1


def test_shares_of_the_first_class_give_the_same_probabilities():
    X, bags, _, (X_source, y_source) = two_domains()
    names = np.array(["no", "yes"])
    one, other = (
        DASVM(probability=True, **KERNEL).fit(
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
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_sigmoid_of_single_rows_is_the_one_of_platt():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400)
    labels = (rng.random(400) < expit(2.0 * scores - 1.0)).astype(int)
    counts = BagCounts.exact(labels, np.ones(400, dtype=int))
    slope, shift = fit_bag_sigmoid(scores, counts, np.ones(400))
    # The doubt about every row is that of further rows of both classes.
    doubled = np.tile(scores, 3)[:, None], np.repeat([0, 1], [400, 800])
    doubled[1][800:] = labels
    weight = np.repeat([1 / 400, 1 / 400, 1.0], 400)
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(*doubled, sample_weight=weight)
    assert slope == pytest.approx(platt.coef_[0, 0], rel=1e-3)
    assert shift == pytest.approx(platt.intercept_[0], rel=1e-3)


def test_sigmoid_is_finite_where_scores_make_no_mistake():
    scores = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    slope, shift = fit_bag_sigmoid(scores, BagCounts.exact([1, 2], [3, 3]), np.ones(2))
    assert 0.5 < slope < 10
    assert abs(shift) < 1e-3
    flat = fit_bag_sigmoid(np.zeros(6), BagCounts.exact([1, 1], [3, 3]), np.ones(2))
    assert expit(flat[1]) == pytest.approx((2 + 1) / (6 + 2), abs=1e-3)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_too_large_for_probabilities_are_refused():
    X, bags, _, (X_source, y_source) = two_domains()
    K, n = 1e250 * rbf_kernel(np.vstack([X_source, X]), gamma=0.4), len(y_source)
    machine = DASVM(kernel="precomputed", probability=True)
    with pytest.raises(ValueError, match="so large that their squares are not finite"):
        machine.fit(K[n:], bags, source=(K[:n], y_source))


def test_shares_against_the_scores_are_said():
    X, bags, _, (X_source, y_source) = turned_clouds(degrees=0.0)
    with pytest.warns(ReversedScoresWarning, match="do not grow with the scores"):
        DASVM(kernel="linear", probability=True).fit(X, bags, source=(X_source, 1 - y_source))


# Refusals ---------------------------------------------------------------------------------


def test_too_few_rounds_are_said():
    X, _, _, source = two_domains()
    with pytest.warns(ConvergenceWarning, match="after 1 round; set a higher max_rounds"):
        machine = DASVM(max_rounds=1, rows_per_side=1).fit(X, None, source=source)
    assert not machine.converged_
    assert machine.n_rounds_ == 1


def test_target_of_one_class_is_said():
    X, _, _, source = two_domains()
    with pytest.warns(ConvergenceWarning, match="labelled as one class"):
        machine = DASVM().fit(X[:1], None, source=source)
    assert machine.n_source_left_ > 0
    assert not machine.converged_


def many_rows_beside_few():
    """Return two overlapping classes in ten columns: 1,000 target rows, and 100 of the source."""
    rng = np.random.default_rng(0)
    y = np.arange(1100) % 2
    rows = rng.normal(size=(1100, 10)) + 0.8 * y[:, None]
    return rows[100:], y[100:], (rows[:100], y[:100])


def test_few_source_rows_are_not_used_up_before_the_target_has_taken_over():
    X, labels, source = many_rows_beside_few()
    before = SourceSVM().fit(X, None, source=source).score(X, labels)
    machine = DASVM().fit(X, None, source=source)
    assert machine.converged_
    assert machine.score(X, labels) > before - 0.02


def test_predictions_of_one_class_are_said():
    X, _, (X_source, y_source) = many_rows_beside_few()
    with pytest.warns(ConvergenceWarning, match="All target rows came to be predicted as one"):
        machine = DASVM(rows_per_side=20).fit(X, None, source=(X_source[:60], y_source[:60]))
    assert len(set(machine.predict(X))) == 1
    assert not machine.converged_


def test_what_is_said_of_a_small_source_helps():
    X, y = make_classification(600, n_features=10, n_informative=5, flip_y=0.02, random_state=0)
    source, rows, labels = (X[:30], y[:30]), X[30:], y[30:]
    with pytest.warns(ConvergenceWarning, match="set a higher C_target and C_source, take a lin"):
        assert len(set(DASVM().fit(rows, None, source=source).predict(rows))) == 1
    for settings in ({"C_target": 10.0, "C_source": 10.0}, {"kernel": "linear"}):
        machine = DASVM(**settings).fit(rows, None, source=source)
        assert machine.converged_
        assert machine.score(rows, labels) > 0.7


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="needs labelled rows of both classes"):
        DASVM().fit(X, bags)
    for y, history in ((None, source), (labels, None)):
        with pytest.raises(ValueError, match="probability=True needs bags"):
            DASVM(probability=True).fit(X, y, source=history)
    with pytest.raises(ValueError, match="rows_per_side"):
        DASVM(rows_per_side=0).fit(X, labels)
