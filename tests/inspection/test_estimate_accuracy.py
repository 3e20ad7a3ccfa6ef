# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy without labels: against enumeration, closed formulas, and labels that it never saw."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import (
    accuracy_score,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    BagError,
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    GeometricNoise,
    InverseCalibrationSVM,
    bag_cross_val_predict,
    stack_domains,
)
from bagshift.inspection import estimate_accuracy
from bagshift.inspection._bounded_newton import minimise
from bagshift.inspection._count_calibration import CountCalibration, bags_differ
from bagshift.inspection._evaluation import Evaluation
from bagshift.inspection._figures import NAMES, ScoredRows, goodman_figures
from bagshift.solvers.count_likelihood import BagCounts


def scored(seed, n_bags=60, size=8, spread=3.0, too_bold=1.0):
    """Scores that are log odds times a factor, labels, and bags."""
    random = np.random.default_rng(seed)
    scores = spread * random.normal(size=n_bags * size) - 0.5
    labels = random.random(len(scores)) < expit(scores)
    ids = np.repeat(np.arange(n_bags), size)
    counts = np.bincount(ids, weights=labels).astype(int)
    return too_bold * scores, labels, Bags.from_arrays(ids, counts=dict(enumerate(counts)))


def estimates(figures):
    return np.array([getattr(figures, name).estimate for name in NAMES])


def judge(scores, bags, **options):
    return estimate_accuracy(None, None, bags, scores=scores, **{"n_bootstrap": 40, **options})


# --- the parts -------------------------------------------------------------------------------


def test_accuracy_is_its_expectation_over_all_labellings_with_these_counts():
    random = np.random.default_rng(0)
    sizes, counts = [8, 3, 5], [3, 1, 0]
    scores = random.normal(size=sum(sizes))
    ids = np.repeat([0, 1, 2], sizes)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)))
    evaluation = Evaluation.of(scores, bags, flipped=False, n_threads=1)
    coefficients = np.array([1.3, -0.4])
    log_odds = coefficients @ evaluation.calibration.terms
    right = 0.0
    for bag, count in enumerate(counts):
        odds, called = log_odds[ids == bag], scores[ids == bag] > 0
        labels = np.array([y for y in product([0, 1], repeat=len(odds)) if sum(y) == count])
        chances = np.exp(labels @ odds)
        right += chances @ (labels == called).sum(axis=1) / chances.sum()
    found = evaluation.figures_at(coefficients, np.ones(3))
    assert found[0] == pytest.approx(right / len(scores), rel=1e-12)


def test_figures_of_known_labels_are_those_of_scikit_learn():
    random = np.random.default_rng(1)
    scores = random.normal(size=200).round(1)  # with ties
    labels, weights = random.random(200) < 0.3, random.integers(1, 4, size=200).astype(float)
    called = scores > 0
    found = ScoredRows.of(scores, called).figures(labels.astype(float), weights)
    options = {"sample_weight": weights}
    expected = [
        accuracy_score(labels, called, **options),
        recall_score(labels, called, **options),
        recall_score(~labels, ~called, **options),
        precision_score(labels, called, **options),
        precision_score(~labels, ~called, **options),
        roc_auc_score(labels, scores, **options),
    ]
    assert found == pytest.approx(expected)


def test_figures_that_are_not_defined_are_nan():
    rows = ScoredRows.of(np.zeros(4), np.zeros(4, dtype=bool))
    found = dict(zip(NAMES, rows.figures(np.full(4, 0.5), np.ones(4)), strict=True))
    assert np.isnan(found["positive_predictive_value"])
    assert found["auc"] == 0.5


def test_goodman_is_weighted_least_squares():
    random = np.random.default_rng(2)
    predicted, sizes = random.random(30), random.integers(1, 9, size=30).astype(float)
    given = 0.8 * predicted + 0.15 * (1 - predicted) + 0.02 * random.normal(size=30)
    root = np.sqrt(sizes)
    design = np.column_stack([predicted, 1 - predicted])
    among_called, among_others = np.linalg.lstsq(root[:, None] * design, root * given)[0]
    share = sizes @ predicted / sizes.sum()
    found = dict(zip(NAMES, goodman_figures(predicted, given, sizes), strict=True))
    assert found["positive_predictive_value"] == pytest.approx(among_called)
    assert found["negative_predictive_value"] == pytest.approx(1 - among_others)
    expected = share * among_called + (1 - share) * (1 - among_others)
    assert found["accuracy"] == pytest.approx(expected)


def test_goodman_says_nothing_where_predicted_shares_are_equal():
    assert np.isnan(goodman_figures(np.full(5, 0.5), np.linspace(0, 1, 5), np.ones(5))).all()


def test_predictive_values_stay_between_none_and_all():
    found = goodman_figures(np.array([0.4, 0.6]), np.array([0.0, 1.0]), np.ones(2))
    assert found[:5] == pytest.approx(np.ones(5))


@pytest.mark.parametrize("seed", range(5))
def test_newton_finds_what_scipy_finds(seed):
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(6, 3)), 3 * random.normal(size=6)
    lower, upper = np.array([0.0, -0.5, -9.0]), np.array([9.0, 0.5, 9.0])

    def function(x):
        rest = A @ x - b
        return float(np.logaddexp(rest, -rest).sum()), A.T @ np.tanh(rest)

    found, value = minimise(function, np.ones(3), lower, upper)
    bounds = list(zip(lower, upper, strict=True))
    expected = minimize(function, np.ones(3), jac=True, bounds=bounds, tol=1e-12)
    assert value == pytest.approx(expected.fun, abs=1e-6)
    assert found == pytest.approx(expected.x, abs=1e-2)


def test_newton_leaves_a_hill():
    found, _ = minimise(
        lambda x: (float(np.cos(x[0])), -np.sin(x)), np.array([0.1]), np.zeros(1), np.array([4.0])
    )
    assert found == pytest.approx([np.pi], abs=1e-3)


def test_coefficients_are_likelier_than_their_neighbours():
    scores, _, bags = scored(3)
    counts = Evaluation.of(scores, bags, flipped=False, n_threads=1).calibration.counts
    for split in (False, True):
        problem = CountCalibration.of_scores(scores, counts, split=split)
        best = problem.fit(np.ones(counts.n_bags))
        value = problem.posterior(best.coefficients).log_likelihood.sum()
        for direction in np.eye(len(problem.terms)):
            for sign in (-0.05, 0.05):
                moved = best.coefficients + sign * direction
                assert problem.posterior(moved).log_likelihood.sum() < value + 1e-3


# --- against labels that it never saw -----------------------------------------------------------


@pytest.mark.parametrize("too_bold", [1.0, 4.0])
def test_known_probabilities(too_bold):
    scores, labels, bags = scored(4, n_bags=150, too_bold=too_bold)
    found = judge(scores, bags, n_bootstrap=200)
    truth = np.mean((scores > 0) == labels)
    assert found.can_tell
    assert found.agree
    assert not found.bags_differ
    assert truth in found.accuracy
    assert abs(found.accuracy.estimate - truth) < 0.03
    assert too_bold * found.temperature.estimate == pytest.approx(1.0, abs=0.3)
    assert found.count_posterior.auc.estimate == pytest.approx(
        roc_auc_score(labels, scores), abs=0.03
    )
    assert found.accuracy.low > found.chance


@pytest.mark.nightly
@pytest.mark.parametrize(("n_bags", "size", "spread"), [(60, 8, 3.0), (20, 32, 6.0), (60, 8, 1.5)])
def test_intervals_hold_the_truth(n_bags, size, spread):
    held, errors = [], []
    for seed in range(100):
        scores, labels, bags = scored(seed, n_bags, size, spread)
        found = judge(scores, bags, n_bootstrap=200)
        truth = np.mean((scores > 0) == labels)
        held.append(truth in found.accuracy)
        errors.append(found.accuracy.estimate - truth)
    assert np.mean(held) >= 0.9
    assert abs(np.mean(errors)) < 0.02


def test_noise_is_no_knowledge():
    random = np.random.default_rng(105)
    _, labels, bags = scored(5)
    found = judge(random.normal(size=len(labels)), bags)
    assert not found.can_tell
    assert found.temperature.low == 0.0
    assert found.warnings[0].startswith("cannot tell")
    assert "cannot tell" in str(found)


@pytest.mark.nightly
def test_noise_is_hardly_ever_taken_for_knowledge():
    can_tell = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        ids, labels = np.repeat(np.arange(40), 8), random.random(320) < 0.4
        counts = np.bincount(ids, weights=labels).astype(int)
        bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)))
        machine = InverseCalibrationSVM(kernel="linear")
        found = estimate_accuracy(machine, random.normal(size=(320, 5)), bags, n_bootstrap=50)
        can_tell.append(found.can_tell)
    assert np.mean(can_tell) <= 0.1


def test_what_holds_between_bags_is_not_taken_for_what_holds_within():
    random = np.random.default_rng(6)
    shares = np.repeat(random.random(60), 8)
    labels = random.random(480) < shares
    scores = 3 * shares - 1.5 + random.normal(size=480)  # of the bag, and nothing of the row
    ids = np.repeat(np.arange(60), 8)
    counts = np.bincount(ids, weights=labels).astype(int)
    found = judge(scores, Bags.from_arrays(ids, counts=dict(enumerate(counts))), n_bootstrap=100)
    assert found.bags_differ
    assert not found.agree
    assert not found.can_tell
    assert np.mean((scores > 0) == labels) in found.accuracy
    assert found.goodman.accuracy.estimate > found.accuracy.high


def test_random_bags_do_not_differ():
    differ = [
        bags_differ(
            np.random.default_rng(seed).normal(size=320), BagCounts.exact([0] * 40, [8] * 40)
        )
        for seed in range(50)
    ]
    assert sum(differ) <= 1


def test_noisy_counts_weigh_what_they_may_mean():
    scores, labels, exact = scored(7, n_bags=150)
    random = np.random.default_rng(7)
    law = GeometricNoise(epsilon=2.0)
    q = np.exp(-2.0)
    added = random.geometric(1 - q, size=150) - random.geometric(1 - q, size=150)
    noisy = dict(enumerate((exact.counts[:, 1] + added).astype(int)))
    bags = Bags.from_arrays(exact.ids[exact.bag_index], counts=noisy, noise=law)
    found = judge(scores, bags, n_bootstrap=100)
    assert np.mean((scores > 0) == labels) in found.accuracy
    assert found.temperature.estimate == pytest.approx(1.0, abs=0.5)


def test_counts_as_predicted_leave_room_for_error():
    scores = np.tile([-3.0, -2.0, 2.0, 3.0], 20)
    bags = Bags.from_arrays(np.repeat(np.arange(20), 4), dict.fromkeys(range(20), 0.5))
    found = judge(scores, bags)
    assert found.accuracy.estimate > 0.99
    assert found.accuracy.low < found.accuracy.estimate


# --- what must not matter -----------------------------------------------------------------------


def test_order_of_rows_and_bags():
    scores, _, bags = scored(8)
    order = np.random.default_rng(8).permutation(len(scores))
    found, shuffled = judge(scores, bags), judge(scores[order], bags[order])
    for name in ("count_posterior", "goodman"):
        assert estimates(getattr(found, name)) == pytest.approx(
            estimates(getattr(shuffled, name)), rel=1e-4, nan_ok=True
        )


def test_names_of_bags():
    scores, _, bags = scored(9)
    names = np.array([f"bag {number}" for number in bags.ids], dtype=object)
    shares = dict(zip(names, bags.positive_shares, strict=True))
    renamed = Bags.from_arrays(names[bags.bag_index], shares)
    assert str(judge(scores, bags)) == str(judge(scores, renamed))


def test_which_class_is_positive():
    scores, labels, bags = scored(10, n_bags=120)
    ids, shares = bags.ids[bags.bag_index], bags.positive_shares
    others = Bags.from_arrays(ids, dict(enumerate(1 - shares)), positive=0, negative=1)
    found, mirrored = judge(scores, bags), judge(scores, others)
    assert mirrored.positive_class == 0
    pairs = [
        ("accuracy", "accuracy"),
        ("sensitivity", "specificity"),
        ("positive_predictive_value", "negative_predictive_value"),
        ("auc", "auc"),
    ]
    for one, other in pairs:
        own = getattr(found.count_posterior, one).estimate
        assert own == pytest.approx(getattr(mirrored.count_posterior, other).estimate, rel=1e-4)
    assert np.mean((scores > 0) == labels) in mirrored.accuracy


def test_part_of_many_bags_gives_the_intervals_of_all(monkeypatch):
    scores, labels, bags = scored(20, n_bags=400)
    every = judge(scores, bags, n_bootstrap=300)
    monkeypatch.setattr("bagshift.inspection._evaluation._MOST_BAGS", 200)
    part = judge(scores, bags, n_bootstrap=300)
    assert part.accuracy.estimate == every.accuracy.estimate
    for name in ("accuracy", "auc"):
        one, other = (getattr(each.count_posterior, name) for each in (part, every))
        assert one.width == pytest.approx(other.width, rel=0.3)
    assert part.goodman.accuracy.width == pytest.approx(every.goodman.accuracy.width, rel=0.3)
    assert np.mean((scores > 0) == labels) in part.accuracy


def test_same_seed_same_intervals():
    scores, _, bags = scored(11)
    assert str(judge(scores, bags, random_state=3)) == str(judge(scores, bags, random_state=3))


# --- machines ----------------------------------------------------------------------------------


def rows(seed, n_bags=40, size=6):
    random = np.random.default_rng(seed)
    labels = random.random(n_bags * size) < 0.4
    X = random.normal(size=(len(labels), 3)) + 1.5 * labels[:, None]
    ids = np.repeat(np.arange(n_bags), size)
    counts = np.bincount(ids, weights=labels).astype(int)
    return X, labels.astype(int), Bags.from_arrays(ids, counts=dict(enumerate(counts)))


@pytest.mark.parametrize(
    "machine",
    [
        CountLikelihoodCV({"C_target": [0.1, 1.0]}, cv=3, kernel="linear"),
        InverseCalibrationSVM(kernel="linear"),
        make_pipeline(StandardScaler(), CountLikelihoodClassifier(kernel="linear", C_target=1.0)),
    ],
    ids=["search", "hinge", "pipeline"],
)
def test_machines(machine):
    X, labels, bags = rows(12)
    found = estimate_accuracy(machine, X, bags, cv=4, n_bootstrap=50)
    assert np.array_equal(found.scores, bag_cross_val_predict(machine, X, bags, cv=4))
    assert not hasattr(machine, "classes_")
    assert np.mean((found.scores > 0) == labels) in found.accuracy
    again = estimate_accuracy(machine, X, bags, scores=found.scores, n_bootstrap=50)
    assert str(again) == str(found)


def test_source_and_rows_in_no_bag_are_not_judged():
    X, labels, bags = rows(13)
    extra, known, _ = rows(14, n_bags=10)
    X_all, both = stack_domains(source=(extra, known), target=(X, bags))
    machine = make_pipeline(StandardScaler(), CountLikelihoodClassifier(kernel="linear"))
    found = estimate_accuracy(machine, X_all, both, cv=4, n_bootstrap=20)
    assert found.n_rows == len(labels)
    assert found.n_bags == bags.n_bags
    assert np.isnan(found.scores).sum() == len(known)
    beside = estimate_accuracy(
        CountLikelihoodClassifier(kernel="linear"), X, bags, (extra, known), cv=4, n_bootstrap=20
    )
    assert beside.accuracy.estimate > 0.7


def test_text():
    scores, _, bags = scored(15)
    found = judge(scores, bags)
    text = str(found)
    for part in ("480 rows in 60 bags", "accuracy", "sensitivity", "temperature", "better than"):
        assert part in text
    for assumption in found.assumptions:
        assert assumption in text
    assert max(map(len, text.splitlines()[:-1])) < 100


def test_few_bags_are_warned_of():
    scores, _, bags = scored(16, n_bags=5)
    assert any("only 5 bags" in warning for warning in judge(scores, bags).warnings)


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstrap": 0}, "n_bootstrap must be a whole number"),
        ({"n_bootstrap": 2.5}, "n_bootstrap must be a whole number"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"level": "high"}, "level must lie between 0 and 1"),
        ({"scores": np.zeros(3)}, "one for each row of the bags"),
    ],
)
def test_arguments(options, message):
    scores, _, bags = scored(17)
    with pytest.raises(ValueError, match=message):
        estimate_accuracy(None, None, bags, **{"scores": scores, **options})


def test_bags_must_be_bags():
    with pytest.raises(TypeError, match=r"make one with Bags\.from_arrays"):
        estimate_accuracy(None, None, np.zeros(3), scores=np.zeros(3))


def test_scores_of_half_a_bag():
    scores, _, bags = scored(18)
    with pytest.raises(BagError, match="scores are missing in some rows of bag 0"):
        judge(np.where(np.arange(len(scores)) == 1, np.nan, scores), bags)


def test_one_bag_is_too_few():
    scores, _, bags = scored(19)
    with pytest.raises(BagError, match="at least 2 bags with out-of-bag scores; there is 1"):
        judge(np.where(bags.bag_index == 0, scores, np.nan), bags)
