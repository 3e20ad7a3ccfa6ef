# SPDX-License-Identifier: BSD-3-Clause
"""Rows given the published number of their own bag."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagshift import (
    TGPLM,
    BagError,
    BagKFold,
    Bags,
    GaussianNoise,
    InverseCalibrationSVM,
    LaplaceNoise,
    RoundedShareWarning,
    Rounding,
    SourceSVM,
    TGPLMPlus,
    path_search,
    predict_in_bags,
    predict_proba_in_bags,
    stack_domains,
)
from bagshift.estimators._in_bags import (
    count_log_likelihoods,
    mean_count_log_likelihood,
    posterior_in_bags,
)
from problems import two_domains


def enumerated(log_odds, weight_of_count):
    """Return log P(published) and the posterior of one bag by a sum over all labellings."""
    labellings = np.array(list(product([0, 1], repeat=len(log_odds))))
    log_probability = log_expit(np.where(labellings, log_odds, -log_odds)).sum(axis=1)
    weight = np.exp(log_probability) * [weight_of_count(n) for n in labellings.sum(axis=1)]
    return np.log(weight.sum()), weight @ labellings / weight.sum()


def scattered_bags(sizes, seed=0):
    """Return (ids, counts, log odds) of bags whose rows stand in random order."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    counts = {k: int(rng.integers(0, size + 1)) for k, size in enumerate(sizes)}
    return ids, counts, rng.normal(scale=2, size=len(ids))


# Against enumeration ----------------------------------------------------------------------


@pytest.mark.parametrize("flipped", [False, True])
def test_exact_counts_of_scattered_rows(flipped):
    ids, counts, log_odds = scattered_bags([1, 2, 5, 8, 1, 7])
    bags = Bags.from_arrays(ids, counts=counts)
    second = posterior_in_bags(log_odds, bags, flipped=flipped)
    likelihood = count_log_likelihoods(log_odds, bags, flipped=flipped)
    for place, bag in enumerate(bags.ids):
        rows = ids == bag
        count = rows.sum() - counts[bag] if flipped else counts[bag]
        log, expected = enumerated(log_odds[rows], lambda n, count=count: n == count)
        np.testing.assert_allclose(second[rows], expected, atol=1e-12)
        assert likelihood[place] == pytest.approx(log, abs=1e-12)


def test_a_noise_law_weighs_the_counts():
    log_odds = np.array([1.0, -0.5, 0.2, 2.0])
    law = LaplaceNoise(scale=0.7, unit="counts")
    bags = Bags.from_arrays(["a"] * 4, counts={"a": -0.8}, noise=law)
    log, expected = enumerated(log_odds, lambda n: np.exp(-abs(-0.8 - n) / 0.7) / 1.4)
    np.testing.assert_allclose(posterior_in_bags(log_odds, bags, flipped=False), expected)
    likelihood = count_log_likelihoods(log_odds, bags, flipped=False)[0]

    assert likelihood == pytest.approx(log)


def test_a_rounded_share_leaves_several_counts():
    log_odds = np.linspace(-1, 1, 11)
    bags = Bags.from_arrays(["a"] * 11, {"a": 0.5}, noise=Rounding(digits=1))
    log, expected = enumerated(log_odds, lambda n: 0.45 <= n / 11 <= 0.55)
    np.testing.assert_allclose(posterior_in_bags(log_odds, bags, flipped=False), expected)
    assert count_log_likelihoods(log_odds, bags, flipped=False)[0] == pytest.approx(log)


def test_a_declared_size_makes_the_rows_a_sample():
    log_odds = np.array([0.3, -1.0, 0.8])
    bags = Bags.from_arrays(["a"] * 3, {"a": 0.9}, sizes={"a": 1_000_000})
    _, expected = enumerated(log_odds, lambda n: binom.pmf(n, 3, 0.9))
    found = posterior_in_bags(log_odds, bags, flipped=False)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_share_of_no_whole_count_warns_unless_told_not_to():
    bags = Bags.from_arrays(["a"] * 3, {"a": 0.4})
    with pytest.warns(RoundedShareWarning):
        posterior_in_bags(np.zeros(3), bags, flipped=False)
    found = posterior_in_bags(np.zeros(3), bags, flipped=False, warn=False)
    np.testing.assert_allclose(found, 1 / 3)
    assert count_log_likelihoods(np.zeros(3), bags, flipped=False, warn=False).shape == (1,)


# Through a machine ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def problem():
    """A machine fitted to bags, and rows of other bags."""
    X, bags, _, source = two_domains()
    X_new, new_bags, labels, _ = two_domains(seed=5)
    return TGPLM(score_scale=2.0).fit(X, bags, source=source), X_new, new_bags, labels


def test_probabilities_of_a_bag_add_up_to_its_count(problem):
    machine, X, bags, _ = problem
    probability = machine.predict_proba_in_bags(X, bags)
    sums = bags.bag_means(probability) * bags.rows_per_bag[:, None]
    np.testing.assert_allclose(sums, bags.counts, atol=1e-9)
    np.testing.assert_array_equal(probability, predict_proba_in_bags(machine, X, bags))
    labels = machine.predict_in_bags(X, bags)
    np.testing.assert_array_equal(labels, predict_in_bags(machine, X, bags))
    np.testing.assert_array_equal(labels, machine.classes_[probability.argmax(axis=1)])


def test_log_odds_are_those_of_predict_proba(problem):
    machine, X, bags, _ = problem
    plain = machine.predict_proba(X)
    log_odds = np.log(plain[:, 1]) - np.log(plain[:, 0])
    expected = posterior_in_bags(log_odds, bags, flipped=False)
    np.testing.assert_allclose(machine.predict_proba_in_bags(X, bags)[:, 1], expected, atol=1e-9)


def test_the_count_helps(problem):
    machine, X, bags, labels = problem
    in_bags = np.mean(machine.predict_in_bags(X, bags) == labels)
    assert in_bags > np.mean(machine.predict(X) == labels)


def test_bags_of_one_row_and_pure_bags_are_known(problem):
    machine, X, _, labels = problem
    alone = Bags.from_arrays(np.arange(len(X)), counts=dict(enumerate(labels)))
    np.testing.assert_array_equal(machine.predict_proba_in_bags(X, alone)[:, 1], labels)
    pure = Bags.from_arrays(labels, counts={0: 0, 1: int(labels.sum())})
    np.testing.assert_array_equal(machine.predict_proba_in_bags(X, pure)[:, 1], labels)
    np.testing.assert_array_equal(machine.predict_in_bags(X, pure), labels)


def test_rows_in_no_bag_have_their_plain_probability(problem):
    machine, X, _, _ = problem
    nowhere = Bags.unlabelled(len(X))
    plain = machine.predict_proba(X)
    np.testing.assert_array_equal(machine.predict_proba_in_bags(X, nowhere), plain)
    np.testing.assert_array_equal(machine.predict_in_bags(X, nowhere), machine.predict(X))
    some = Bags.from_arrays(["a"] * 6 + [Bags.NO_BAG] * (len(X) - 6), counts={"a": 2})
    mixed = machine.predict_proba_in_bags(X, some)
    np.testing.assert_array_equal(mixed[6:], plain[6:])
    assert mixed[:6, 1].sum() == pytest.approx(2)


def test_tiny_scores_keep_the_side_of_predict():
    second = posterior_in_bags(np.array([1e-300, 0.0]), Bags.unlabelled(2), flipped=False)
    np.testing.assert_array_equal(second > 0.5, [True, False])


def test_rows_with_a_known_label_have_it(problem):
    machine, X, bags, labels = problem
    known = Bags.unlabelled(2).with_labels([1, 0])
    probability = machine.predict_proba_in_bags(X[:2], known)
    np.testing.assert_array_equal(probability, [[0, 1], [1, 0]])
    X_all, stacked = stack_domains(source=(X, labels), target=(X, bags))
    probability = machine.predict_proba_in_bags(X_all, stacked)
    np.testing.assert_array_equal(probability[: len(X), 1], labels)
    expected = machine.predict_proba_in_bags(X, bags)
    np.testing.assert_allclose(probability[len(X) :], expected)
    with pytest.raises(ValueError, match="'spam', which is none of the classes"):
        machine.predict_in_bags(X[:1], Bags.unlabelled(1).with_labels(["spam"]))


def test_row_order_does_not_matter(problem):
    machine, X, bags, _ = problem
    order = np.random.default_rng(2).permutation(len(X))
    shuffled = machine.predict_proba_in_bags(X[order], bags[order])
    np.testing.assert_allclose(shuffled, machine.predict_proba_in_bags(X, bags)[order], atol=1e-9)
    mean = mean_count_log_likelihood(machine, X, bags)
    assert mean_count_log_likelihood(machine, X[order], bags[order]) == pytest.approx(mean)


def test_wide_noise_leaves_the_plain_probability(problem):
    machine, X, bags, _ = problem
    wide = Bags.from_arrays(
        bags.bag_index,
        dict(enumerate(bags.positive_shares)),
        noise=GaussianNoise(scale=1e4, unit="counts"),
    )
    found = machine.predict_proba_in_bags(X, wide)
    np.testing.assert_allclose(found, machine.predict_proba(X), atol=1e-6)


def named(bags, positive, negative, *, other_way=False):
    shares = 1 - bags.positive_shares if other_way else bags.positive_shares
    return Bags.from_arrays(
        bags.bag_index, dict(enumerate(shares)), positive=positive, negative=negative
    )


def test_a_positive_label_that_sorts_first_mirrors_the_columns():
    X, bags, _, _ = two_domains()
    plain = InverseCalibrationSVM(tol=1e-9).fit(X, bags)
    flipped = clone(plain).fit(X, named(bags, "Aye", "no"))
    expected = plain.predict_proba_in_bags(X, bags)
    # Bags that declare nothing have shares of the class that was fitted.
    for given in (bags, named(bags, "Aye", "no"), named(bags, "no", "Aye", other_way=True)):
        found = flipped.predict_proba_in_bags(X, given)
        np.testing.assert_allclose(found, expected[:, ::-1], atol=1e-6)
        assert mean_count_log_likelihood(flipped, X, given) == pytest.approx(
            mean_count_log_likelihood(plain, X, bags)
        )
    labels = np.array(["no", "Aye"])[plain.predict_in_bags(X, bags)]
    np.testing.assert_array_equal(flipped.predict_in_bags(X, bags), labels)


# Around a machine -------------------------------------------------------------------------


def test_pipelines_and_searches():
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    scaled = make_pipeline(StandardScaler(), TGPLM(score_scale=3.0)).fit(Xa, ya)
    expected = scaled[-1].predict_proba_in_bags(scaled[:-1].transform(X), bags)
    np.testing.assert_array_equal(predict_proba_in_bags(scaled, X, bags), expected)
    search = GridSearchCV(scaled, {"tgplm__coupling": [0.125]}, cv=BagKFold(3)).fit(Xa, ya)
    np.testing.assert_allclose(predict_proba_in_bags(search, X, bags), expected)
    np.testing.assert_array_equal(
        predict_in_bags(search, X, bags), predict_in_bags(scaled, X, bags)
    )
    found = path_search(TGPLM(), Xa, ya, grid={"coupling": [0.1, 1.0]}, cv=BagKFold(3))
    assert predict_proba_in_bags(found.best_estimator, X, bags).shape == (len(X), 2)


def test_a_search_remembers_the_class_that_shares_are_of():
    X, bags, _, _ = two_domains()
    inside = InverseCalibrationSVM().fit(X, named(bags, "Aye", "no"))
    search = GridSearchCV(inside, {"C": [4.0]}, cv=BagKFold(3)).fit(X, named(bags, "Aye", "no"))
    expected = predict_proba_in_bags(inside, X, bags)
    np.testing.assert_allclose(predict_proba_in_bags(search, X, bags), expected, atol=1e-9)


def test_classifiers_from_elsewhere_with_probabilities():
    X, bags, labels, _ = two_domains()
    model = LogisticRegression().fit(X, labels)
    expected = posterior_in_bags(model.decision_function(X), bags, flipped=False)
    np.testing.assert_allclose(predict_proba_in_bags(model, X, bags)[:, 1], expected, atol=1e-9)

    class Certain:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1.0 - labels, labels]).astype(float)

    np.testing.assert_allclose(predict_proba_in_bags(Certain(), X, bags)[:, 1], labels)
    three = LogisticRegression().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="two classes"):
        predict_proba_in_bags(three, X, bags)


# Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SourceSVM(), TGPLMPlus(), SVC()], ids=["svm", "plus", "svc"])
def test_scores_that_are_no_probabilities_are_refused(machine):
    X, bags, labels, _ = two_domains()
    machine.fit(X, labels)
    assert not hasattr(machine, "predict_in_bags")
    for function in (predict_in_bags, predict_proba_in_bags, mean_count_log_likelihood):
        for model in (machine, make_pipeline(StandardScaler(), machine)):
            with pytest.raises(TypeError, match=f"^{type(machine).__name__} has no predict_proba"):
                function(model, X, bags)


def test_what_does_not_fit_is_refused(problem):
    machine, X, bags, labels = problem
    with pytest.raises(BagError, match="slicing has cut"):
        machine.predict_in_bags(X[1:], bags[1:])
    with pytest.raises(ValueError, match="X has 5 rows but the bags describe 72 rows"):
        machine.predict_in_bags(X[:5], bags)
    with pytest.raises(TypeError, match="bags must be a Bags, got ndarray"):
        machine.predict_in_bags(X, labels)
    with pytest.raises(BagError, match="'maybe'"):
        machine.predict_in_bags(X, named(bags, "maybe", "no"))
    with pytest.raises(BagError, match="no row is in a bag"):
        mean_count_log_likelihood(machine, X, Bags.unlabelled(len(X)))
    with pytest.raises(NotFittedError):
        TGPLM().predict_in_bags(X, bags)


# Mean likelihood --------------------------------------------------------------------------


def test_mean_count_log_likelihood_weighs_bags():
    X = np.array([[0.5], [-1.0], [2.0], [0.1], [9.0]])
    machine = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    machine.coef_, machine.intercept_ = np.array([[1.0]]), np.array([0.0])
    ids = ["a", "a", "b", "b", Bags.NO_BAG]
    bags = Bags.from_arrays(ids, counts={"a": 1, "b": 2}, weights={"a": 3.0, "b": 1.0})
    p = expit(X[:, 0])
    a = np.log(p[0] * (1 - p[1]) + p[1] * (1 - p[0]))
    b = np.log(p[2] * p[3])
    assert mean_count_log_likelihood(machine, X, bags) == pytest.approx((3 * a + b) / 4)


def test_foreign_models_are_asked_which_class_the_shares_are_of():
    X, ids = np.arange(8.0)[:, None], ["a", "b"] * 4
    model = LogisticRegression().fit(X, np.repeat(["no", "yes"], 4))
    counts = {"a": 2, "b": 2}
    with pytest.raises(BagError, match="which of 'no' and 'yes' the shares are of"):
        predict_in_bags(model, X, Bags.from_arrays(ids, counts=counts))
    said = Bags.from_arrays(ids, counts=counts, positive="yes")
    assert set(predict_in_bags(model, X, said)) == {"no", "yes"}
