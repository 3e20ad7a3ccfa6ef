# SPDX-License-Identifier: BSD-3-Clause
"""PriorShift against Bayes' rule on exact tables, its limits, priors of bags, and refusals."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bagshift import (
    BagError,
    Bags,
    LaplaceNoise,
    PriorShift,
    get_bag_tags,
    predict_proba_in_bags,
)
from bagshift.metrics import overall_share
from problems import two_domains

# How often each of four values is seen in each class; the classes look alike in both domains.
TABLE = np.array([[6, 3, 2, 1], [1, 2, 4, 5]])

DEFAULT = LogisticRegression(tol=1e-6, max_iter=1000)


def by_table(n_negative=5, n_positive=2):
    """Return source rows with the frequencies of the table, and copies of its classes."""
    copies = np.array([[n_negative], [n_positive]]) * TABLE
    values, labels = np.tile(np.arange(4.0), 2), np.repeat([0, 1], 4)
    rows = np.repeat(np.arange(8), copies.ravel())
    return values[rows, None], labels[rows]


@pytest.mark.parametrize("prior", [0.05, 0.3, 0.9])
def test_is_bayes_rule_where_the_classifier_is_exact(prior):
    X = np.arange(4.0)[:, None]
    machine = PriorShift(DecisionTreeClassifier(), target_prior=prior)
    machine.fit(X, None, source=by_table())
    likelihood = TABLE / TABLE.sum(axis=1, keepdims=True)
    joint = likelihood * [[1 - prior], [prior]]
    wanted = (joint / joint.sum(axis=0)).T
    np.testing.assert_allclose(machine.predict_proba(X), wanted, atol=1e-12)
    assert machine.source_prior_ == pytest.approx(2 / 7)
    other = PriorShift(DecisionTreeClassifier(), target_prior=0.5)
    other.fit(X, None, source=by_table())
    np.testing.assert_allclose(other.predict_proba_at_prior(X, prior), wanted, atol=1e-12)


def test_takes_the_overall_share_of_the_bags():
    X, bags, labels, source = two_domains()
    machine = PriorShift().fit(X, bags, source=source)
    assert machine.target_prior_ == pytest.approx(labels.mean())
    before = DEFAULT.fit(*source).predict_proba(X)
    after = before * [[(1 - labels.mean()) / 0.5, labels.mean() / 0.5]]
    after /= after.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(machine.predict_proba(X), after, atol=1e-8)
    sizes = {k: 6 + 10 * k for k in range(12)}
    declared = Bags.from_arrays(bags.bag_index, dict(enumerate(bags.positive_shares)), sizes=sizes)
    machine.fit(X, declared, source=source)
    assert machine.target_prior_ == pytest.approx(overall_share(declared))


def test_without_a_shift_it_is_the_classifier():
    X, _, labels, source = two_domains()
    logistic = LogisticRegression(tol=1e-6, max_iter=1000)
    plain = clone(logistic).fit(*source)
    machine = PriorShift(logistic, target_prior=0.5).fit(X, None, source=source)
    np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X))
    plain.fit(X, labels, sample_weight=np.arange(72) % 3)
    machine = PriorShift(logistic).fit(X, labels, sample_weight=np.arange(72) % 3)
    np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-5)
    moved = PriorShift(target_prior=0.2).fit(X, labels)
    assert moved.shift_[0] == pytest.approx(logit(0.2) - logit(labels.mean()))


@pytest.mark.parametrize("declared", [0, 1])
def test_shares_may_be_of_either_class(declared):
    X, bags, _, source = two_domains()
    shares = bags.positive_shares if declared else 1 - bags.positive_shares
    turned = Bags.from_arrays(
        bags.bag_index, dict(enumerate(shares)), positive=declared, negative=1 - declared
    )
    one, two = (PriorShift().fit(X, given, source=source) for given in (bags, turned))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-12)
    wanted = one.predict_proba_at_prior(X, bags)
    for machine in (one, two):
        np.testing.assert_allclose(machine.predict_proba_at_prior(X, turned), wanted)
    by_number = two.predict_proba_at_prior(X, 0.1 if declared else 0.9)
    np.testing.assert_allclose(by_number, one.predict_proba_at_prior(X, 0.1), atol=1e-12)


def test_prior_of_a_bag_takes_the_place_of_the_overall_one():
    X, bags, _, source = two_domains()
    outside = Bags.concatenate([bags, Bags.unlabelled(3)])
    Z = np.vstack([X, X[:3]])
    machine = PriorShift().fit(X, bags, source=source)
    probability = machine.predict_proba_at_prior(Z, outside)
    np.testing.assert_allclose(probability[72:], machine.predict_proba(Z[72:]), atol=1e-12)
    for k, share in enumerate(np.clip(bags.positive_shares, 1 / 12, 11 / 12)):
        rows = np.flatnonzero(bags.bag_index == k)
        alone = PriorShift(target_prior=share).fit(X, None, source=source)
        np.testing.assert_allclose(probability[rows], alone.predict_proba(X[rows]), atol=1e-12)
    of_rows = np.full(75, 0.3)
    np.testing.assert_allclose(
        machine.predict_proba_at_prior(Z, of_rows), machine.predict_proba_at_prior(Z, 0.3)
    )


def test_count_of_a_bag_makes_the_prior_irrelevant():
    X, bags, _, source = two_domains()
    machine = PriorShift(target_prior=0.03).fit(X, bags, source=source)
    np.testing.assert_allclose(
        machine.predict_proba_in_bags(X, bags),
        predict_proba_in_bags(machine.estimator_, X, bags),
        atol=1e-9,
    )
    assert np.abs(machine.predict_proba(X) - machine.estimator_.predict_proba(X)).max() > 0.3


def test_a_weight_is_a_number_of_copies():
    X, _, _, (X_source, y_source) = two_domains()
    copies = np.arange(40) % 3
    machine = PriorShift(target_prior=0.2)
    one = machine.fit(X, None, source=(X_source, y_source, copies)).decision_function(X)
    rows = np.repeat(np.arange(40), copies)
    two = machine.fit(X, None, source=(X_source[rows], y_source[rows])).decision_function(X)
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_prior_of_a_classifier_that_balances_its_classes_can_be_told():
    X, source = np.arange(4.0)[:, None], by_table()
    balanced = DecisionTreeClassifier(class_weight="balanced")
    told = PriorShift(balanced, target_prior=0.3, source_prior=0.5).fit(X, None, source=source)
    plain = PriorShift(DecisionTreeClassifier(), target_prior=0.3).fit(X, None, source=source)
    np.testing.assert_allclose(told.predict_proba(X), plain.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_priors_of_nothing_and_everything_are_kept_inside(share):
    X, bags, _, source = two_domains()
    pure = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(12), share))
    with pytest.warns(UserWarning, match="same share"):
        machine = PriorShift().fit(X, pure, source=source)
    assert machine.target_prior_ == pytest.approx(abs(share - 0.5 / 72))
    assert np.all(np.isfinite(machine.decision_function(X)))


def test_noisy_shares_average_out():
    X, bags, _, source = two_domains()
    shares = bags.positive_shares + np.where(np.arange(12) % 2, 0.4, -0.4)
    noise = LaplaceNoise(0.4, unit="shares")
    noisy = Bags.from_arrays(bags.bag_index, dict(enumerate(shares)), noise=noise)
    machine = PriorShift().fit(X, noisy, source=source)
    assert machine.target_prior_ == pytest.approx(overall_share(bags))
    assert np.all(np.isfinite(machine.predict_proba_at_prior(X, noisy)))


def test_any_classifier_will_do():
    X, bags, _, (X_source, y_source) = two_domains()
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    scores = PriorShift(scaled).fit(X, bags, source=(X_source, y_source)).decision_function(X)
    shift, scale = np.array([5.0, 0.0, -3.0]), np.array([1.0, 2.0, 3.0])
    moved = PriorShift(scaled).fit(
        scale * X + shift, bags, source=(scale * X_source + shift, y_source)
    )
    np.testing.assert_allclose(moved.decision_function(scale * X + shift), scores, atol=1e-6)
    near = PriorShift(KNeighborsClassifier(1)).fit(X, bags, source=(X_source, y_source))
    assert np.all(np.isfinite(near.decision_function(X)))
    assert set(near.predict(X)) == {0, 1}


def test_what_it_cannot_use_is_refused():
    X, bags, labels, (X_source, y_source) = two_domains()
    source = X_source, y_source
    with pytest.raises(ValueError, match="RidgeClassifier has no predict_proba"):
        PriorShift(RidgeClassifier()).fit(X, bags, source=source)
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        PriorShift(Ridge()).fit(X, bags, source=source)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        PriorShift(KNeighborsClassifier()).fit(X, bags, source=(*source, np.arange(40)))
    with pytest.raises(ValueError, match="needs labelled history of both classes; give it"):
        PriorShift().fit(X, bags)
    with pytest.raises(ValueError, match="needs a prior of the target"):
        PriorShift().fit(X, None, source=source)
    known = Bags.unlabelled(len(X)).with_labels(labels)
    with pytest.raises(ValueError, match="put labelled target rows into source="):
        PriorShift().fit(X, known, source=source)
    with pytest.raises(ValueError, match="'target_prior' parameter"):
        PriorShift(target_prior=1.0).fit(X, bags, source=source)
    assert get_bag_tags(PriorShift()).uses_bags
    assert not get_bag_tags(PriorShift(target_prior=0.2)).uses_bags


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.2, np.nan, [0.2, 0.3], np.full((72, 1), 0.5)])
def test_priors_that_are_none_are_refused(prior):
    X, bags, _, source = two_domains()
    machine = PriorShift().fit(X, bags, source=source)
    with pytest.raises(ValueError, match="prior must be one share strictly between 0 and 1"):
        machine.predict_proba_at_prior(X, prior)
    with pytest.raises(BagError, match="X has 3 rows but the bags describe 72 rows"):
        machine.predict_proba_at_prior(X[:3], bags)


def test_labels_of_one_class_are_refused():
    X, _, labels, _ = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(np.where(labels == 1, labels, None))
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        PriorShift(target_prior=0.5).fit(X, known)


class NeverSure(LogisticRegression):
    """A classifier whose probabilities are none."""

    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_classifier_without_finite_probabilities_is_named():
    X, bags, _, source = two_domains()
    machine = PriorShift(NeverSure()).fit(X, bags, source=source)
    with pytest.raises(ValueError, match="NeverSure gives probabilities that are not finite"):
        machine.predict(X)
