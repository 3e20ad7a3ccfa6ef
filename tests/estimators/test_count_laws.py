# SPDX-License-Identifier: BSD-3-Clause
"""The count-likelihood machine: what is published of bags, starts, warnings, refusals."""

import time

import numpy as np
import pytest
from sklearn.base import clone

from bagshift import (
    BagError,
    Bags,
    BagWarning,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    GaussianNoise,
    LaplaceNoise,
    ReversedScoresWarning,
    Rounding,
    noise_counts,
    stack_domains,
)
from bagshift.solvers.count_likelihood import BagCounts, count_posterior
from problems import two_domains

LINEAR = {"kernel": "linear", "C_target": 2.0, "tol": 1e-9}


def machine(**settings):
    return CountLikelihoodClassifier(**{**LINEAR, **settings})


def log_likelihood_by_laws(scores, bags):
    """Weigh the counts of every bag by its law, one bag after the other."""
    values = []
    for k, law in enumerate(bags.noise):
        own = scores[bags.bag_index == k]
        size = int(bags.sizes[k])
        first, weights = law.log_weights(bags.positive_shares[k], size, len(own))
        counts = BagCounts(
            starts=np.array([0, len(own)]),
            first_counts=np.array([first]),
            weight_starts=np.array([0, len(weights)]),
            log_weights=weights,
        )
        values.append(count_posterior(own, counts).log_likelihood[0])
    return np.array(values)


# What is published ------------------------------------------------------------------------


def laws():
    return {
        "laplace, counts": LaplaceNoise(scale=0.7, unit="counts"),
        "laplace, shares": LaplaceNoise(scale=0.1, unit="shares"),
        "gaussian": GaussianNoise(scale=0.05, unit="shares"),
        "rounding": Rounding(digits=1),
    }


def publish(bags, law, seed=0):
    """Publish shares of bags under a law, some of them outside [0, 1]."""
    rng = np.random.default_rng(seed)
    shares = bags.positive_shares
    if isinstance(law, Rounding):
        shares = shares.round(law.digits)
    else:
        shares = shares + 0.1 * rng.laplace(size=len(shares))
        shares[0] = -0.05
        shares[1] = 1.1
    return Bags.from_arrays(bags.bag_index, dict(enumerate(shares)), noise=law)


@pytest.mark.parametrize("kind", laws())
@pytest.mark.parametrize("with_source", [True, False])
def test_laws_work_from_end_to_end(kind, with_source):
    X, bags, labels, source = two_domains(n_bags=30)
    noisy = publish(bags, laws()[kind])
    fitted = machine(coupling=np.inf).fit(X, noisy, source=source if with_source else None)
    values = log_likelihood_by_laws(fitted.decision_function(X), noisy)
    assert fitted.score(X, noisy) == pytest.approx(values.mean(), rel=1e-9)
    if not with_source:
        # The objective is the regulariser and these likelihoods, nothing else.
        objective = 0.5 * np.sum(fitted.coef_**2) - 2.0 * values.sum()
        assert fitted.objective_ == pytest.approx(objective, rel=1e-9)
    assert fitted.score(X, labels) > 0.75
    in_bags = fitted.predict_proba_in_bags(X, noisy)
    assert np.mean((in_bags[:, 1] > 0.5) == labels) > 0.75


@pytest.mark.parametrize(
    "law", [LaplaceNoise(scale=1e-4, unit="counts"), GaussianNoise(scale=1e-4, unit="shares")]
)
def test_law_with_all_its_mass_on_one_count_is_exact(law):
    X, bags, _, source = two_domains()
    sharp = Bags.from_arrays(bags.bag_index, dict(enumerate(bags.positive_shares)), noise=law)
    exact = machine().fit(X, bags, source=source)
    told = machine().fit(X, sharp, source=source)
    np.testing.assert_allclose(told.decision_function(X), exact.decision_function(X), atol=1e-6)


def test_rounded_shares_that_tell_the_count_are_that_count():
    X, bags, _, source = two_domains()
    shares = dict(enumerate(bags.positive_shares.round(2)))
    taken = machine().fit(X, Bags.from_arrays(bags.bag_index, shares), source=source)
    exact = machine().fit(X, bags, source=source)
    np.testing.assert_allclose(taken.decision_function(X), exact.decision_function(X), atol=1e-6)


def test_declared_sizes_are_samples_and_large_ones_say_less():
    X, bags, labels, source = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    fitted = {}
    for size in (6, 12, 600):
        sized = Bags.from_arrays(bags.bag_index, shares, sizes=dict.fromkeys(shares, size))
        fitted[size] = machine().fit(X, sized, source=source)
    exact = machine().fit(X, bags, source=source).decision_function(X)
    np.testing.assert_allclose(fitted[6].decision_function(X), exact, atol=1e-6)
    assert np.abs(fitted[12].decision_function(X) - exact).max() > 1e-3
    assert fitted[600].score(X, labels) > 0.8


def test_released_counts_are_understood():
    X, bags, labels, source = two_domains(n_bags=30)
    released = noise_counts(bags, epsilon=1.0, testing=True, seed=0)
    assert released.positive_shares.min() < 0 or released.positive_shares.max() > 1
    fitted = machine().fit(X, released, source=source)
    assert fitted.score(X, labels) > 0.8


def test_weights_of_bags_multiply_their_cost():
    X, bags, _, source = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    heavy = Bags.from_arrays(bags.bag_index, shares, weights=dict.fromkeys(shares, 3.0))
    one = machine().fit(X, heavy, source=source)
    two = machine(C_target=6.0).fit(X, bags, source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)
    weights = dict(enumerate(np.arange(12.0) % 3 + 1))
    uneven = Bags.from_arrays(bags.bag_index, shares, weights=weights)
    values = [one.score(X[bags.bag_index == k], bags[bags.bag_index == k]) for k in range(12)]
    average = np.average(values, weights=list(weights.values()))
    assert one.score(X, uneven) == pytest.approx(average)


def test_rows_in_no_bag_change_nothing_and_labelled_rows_pull():
    X, bags, _, source = two_domains()
    more = np.vstack([X[:4] + 1, X])
    free = machine().fit(X, bags, source=source)
    mixed = Bags.concatenate([Bags.unlabelled(4), bags])
    same = machine().fit(more, mixed, source=source)
    np.testing.assert_allclose(same.decision_function(X), free.decision_function(X), atol=1e-7)
    told = machine().fit(more, mixed.with_labels([0, None, 0, 0, *[None] * len(X)]), source=source)
    assert told.decision_function(more[:1])[0] < free.decision_function(more[:1])[0]
    # A labelled row is a bag of one.
    ones = Bags.from_arrays(["a", "b", "c"], dict.fromkeys("abc", 0.0))
    as_bags = Bags.concatenate([ones, bags])
    expected = machine().fit(more[[0, 2, 3, *range(4, len(more))]], as_bags, source=source)
    np.testing.assert_allclose(told.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_posterior_in_bags_is_that_of_the_scores():
    X, bags, labels, source = two_domains()
    fitted = machine().fit(X, bags, source=source)
    counts = np.rint(bags.positive_shares * bags.rows_per_bag).astype(int)
    scores = fitted.decision_function(X)
    posterior = count_posterior(scores, BagCounts.exact(counts, bags.rows_per_bag))
    in_bags = fitted.predict_proba_in_bags(X, bags)
    np.testing.assert_allclose(in_bags[:, 1], posterior.probability, atol=1e-12)
    assert fitted.score(X, bags) == pytest.approx(posterior.log_likelihood.mean())
    known = np.mean(fitted.predict_in_bags(X, bags) == labels)
    assert known > 0.85


def test_bags_of_1_to_100_000_rows_in_one_fit():
    rng = np.random.default_rng(0)
    sizes = np.array([1, 2, 3, 10, 100, 1_000, 10_000, 100_000, *[5] * 40])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    labels = rng.random(sizes.sum()) < rng.uniform(0.1, 0.9, size=len(sizes))[ids]
    X = rng.normal(size=(len(labels), 3)) + 1.5 * labels[:, None]
    counts = np.bincount(ids, labels)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)))
    started = time.perf_counter()
    fitted = machine(start="inverse_calibration", tol=1e-6).fit(X, bags)
    assert time.perf_counter() - started < 60
    assert fitted.converged_
    assert fitted.score(X, labels.astype(int)) > 0.85


def test_number_of_jobs_changes_no_bit():
    X, bags, _, source = two_domains(n_bags=40)
    one, two = (machine(n_jobs=n).fit(X, bags, source=source) for n in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_stacked_rows_equal_a_separate_source():
    X, bags, _, (X_source, y_source) = two_domains()
    weight = np.linspace(0.5, 2.0, len(y_source))
    one = machine().fit(X, bags, source=(X_source, y_source, weight))
    Xa, ya = stack_domains(source=(X_source, y_source, weight), target=(X, bags))
    two = machine().fit(Xa, ya)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


# Starts -----------------------------------------------------------------------------------


def test_names_of_starts():
    X, bags, _, source = two_domains()
    for start in ("source", "inverse_calibration"):
        assert machine(start=start).fit(X, bags, source=source).start_ == start
    assert machine().fit(X, bags, source=source).start_ in {"source", "inverse_calibration"}
    assert machine().fit(X, bags).start_ in {"inverse_calibration", "mirrored"}
    without = machine(C_source=0.0, coupling=0.0).fit(X, bags, source=source)
    assert without.start_ in {"inverse_calibration", "mirrored"}
    with pytest.raises(ValueError, match=r'start="source" needs labelled history'):
        machine(start="source").fit(X, bags)


def in_bags_of_equal_share(positive, negative, n_bags=40, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.tile(np.repeat([1, 0], [positive, negative]), n_bags)
    X = rng.normal(size=(len(labels), 3)) + 2 * labels[:, None]
    ids = np.arange(len(labels)) // (positive + negative)
    return X, Bags.from_arrays(ids, counts=dict.fromkeys(range(n_bags), positive)), labels


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf", "gamma": 0.2}], ids=["linear", "rbf"])
def test_halves_tell_the_classes_apart_but_not_which_is_which(settings):
    X, bags, labels = in_bags_of_equal_share(2, 2)
    with (
        pytest.warns(BagWarning, match="same share"),
        pytest.warns(ReversedScoresWarning, match=r"mirror image.*source="),
    ):
        fitted = machine(**settings).fit(X, bags)
    accuracy = fitted.score(X, labels)
    assert max(accuracy, 1 - accuracy) > 0.9


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf", "gamma": 0.2}], ids=["linear", "rbf"])
def test_equal_shares_other_than_one_half_tell_which_is_which(settings):
    X, bags, labels = in_bags_of_equal_share(1, 3)
    with pytest.warns(BagWarning, match="same share"):
        fitted = machine(**settings).fit(X, bags)
    assert fitted.score(X, labels) > 0.9


def test_bags_published_both_ways_carry_no_sign():
    X, bags, _, source = two_domains(bag_size=3)
    ids = np.concatenate([bags.bag_index, bags.bag_index + bags.n_bags])
    shares = np.concatenate([bags.positive_shares, 1 - bags.positive_shares])
    both = Bags.from_arrays(ids, dict(enumerate(shares)))
    twice = np.vstack([X, X])
    with pytest.warns(ReversedScoresWarning):
        machine().fit(twice, both)
    # A source, or one labelled row, says which is which.
    machine().fit(twice, both, source=source)


# Refusals ---------------------------------------------------------------------------------


def test_what_it_cannot_learn_from_is_refused():
    X, bags, labels, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match=r"needs bags or labelled rows.*\.$"):
        machine().fit(X, None, source=(X_source, y_source))
    with pytest.raises(ValueError, match=r"nothing to learn|class"):
        machine().fit(X, Bags.unlabelled(len(X)))
    with pytest.raises(ValueError, match="one class"):
        machine().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="class"):
        machine().fit(X, bags, source=(X_source, np.ones(len(X_source))))
    with pytest.raises(ValueError, match="NaN"):
        machine().fit(np.where(X > 1, np.nan, X), bags)
    with pytest.raises(ValueError, match="ambiguous"):
        machine().fit(X, labels, source=(X_source, y_source))
    with pytest.raises(ValueError, match="sample_weight"):
        machine().fit(X, bags, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="sample_weight"):
        machine().fit(X, bags).score(X, bags, sample_weight=np.ones(len(X)))
    with pytest.raises(BagError, match="needs bags"):
        machine().fit(X, bags).score(X, Bags.unlabelled(len(X)))
    with pytest.raises(BagError):
        machine().fit(X[1:], bags[1:])


@pytest.mark.parametrize(
    "wrong",
    [
        {"C_source": -1.0},
        {"C_target": np.nan},
        {"coupling": -0.1},
        {"kernel": "sigmoid"},
        {"standardize": "yes"},
        {"n_components": 0},
        {"start": "tgplm"},
        {"tol": 0.0},
        {"max_iter": 0},
        {"n_jobs": "all"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_parameters_that_cannot_be_are_refused(wrong):
    X, bags, _, _ = two_domains()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        clone(machine()).set_params(**wrong).fit(X, bags)


def test_no_cost_gives_a_machine_without_an_opinion():
    X, bags, _, source = two_domains()
    alone = machine(C_target=0.0).fit(X, bags)
    np.testing.assert_allclose(alone.coef_, 0.0, atol=1e-8)
    follower = machine(C_target=0.0, coupling=0.7, C_source=2.0).fit(X, bags, source=source)
    np.testing.assert_allclose(follower.coef_, 0.7 / 1.7 * follower.source_coef_, atol=1e-6)
    np.testing.assert_allclose(follower.intercept_, follower.source_intercept_, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}], ids=["linear", "rbf"])
def test_equal_rows_give_equal_scores(settings):
    X, bags, _, _ = two_domains()
    fitted = machine(**settings).fit(np.ones_like(X), bags)
    scores = fitted.decision_function(X[:1] * 0 + 1)
    rate = bags.positive_shares.mean()
    assert scores == pytest.approx(np.log(rate / (1 - rate)), abs=0.2)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("settings", "factor", "says"),
    [
        ({"C_target": 1e300}, 1.0, "lower the costs"),
        ({"C_source": 1e150}, 1.0, "lower the costs"),
        ({}, 1e-160, "squares vanish"),
        ({}, 1e-300, "squares vanish"),
        ({}, 1e200, "squares are not finite"),
    ],
)
def test_numbers_out_of_range_get_a_sentence(kernel, settings, factor, says):
    X, bags, _, source = two_domains()
    grid = {name: [value] for name, value in settings.items()} or "quick"
    for wide in (
        machine(kernel=kernel, **settings),
        CountLikelihoodCV(grid, cv=3, kernel=kernel),
    ):
        with pytest.raises(ValueError, match=rf"{says}.*\.$"):
            wide.fit(factor * X, bags, source=(factor * source[0], source[1]))


@pytest.mark.parametrize("factor", [1e-29, 1e10, 1e30])
def test_numbers_within_range_are_learnt_from(factor):
    X, bags, labels, source = two_domains()
    search = CountLikelihoodCV(cv=3, kernel="linear")
    search.fit(factor * X, bags, source=(factor * source[0], source[1]))
    assert search.score(factor * X, labels) > 0.8


def test_large_features_are_learnt_from_or_refused():
    X, bags, labels, _ = two_domains()
    assert machine().fit(1e5 * X, bags).score(1e5 * X, labels) > 0.85
    for rule in (True, False, "auto"):
        with pytest.raises(ValueError, match=r"so large that their squares are not finite.*\.$"):
            machine(standardize=rule).fit(1e200 * X, bags)
