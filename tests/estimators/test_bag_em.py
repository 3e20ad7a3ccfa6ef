# SPDX-License-Identifier: BSD-3-Clause
"""BagEM: the steps written out, what does not fall, first labels, and bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bagshift import (
    BagEM,
    Bags,
    BagWarning,
    CountLikelihoodClassifier,
    LaplaceNoise,
    ModelFileError,
    get_bag_tags,
    stack_domains,
)
from bagshift.persistence import load_model, save_model
from problems import two_domains


def by_hand(classifier, X, ids, counts, labels, rounds=50):
    """Train, and label the top of every bag, until labels stay; what the module head says."""
    known = labels != 0
    for _ in range(rounds):
        machine = clone(classifier).fit(X[known], labels[known])
        scores = machine.decision_function(X)
        new = -np.ones(len(X))
        for k, count in enumerate(counts):
            rows = np.flatnonzero(ids == k)
            new[rows[np.argsort(-scores[rows], kind="stable")[:count]]] = 1
        if np.array_equal(new, labels):
            break
        labels, known = new, np.ones(len(X), dtype=bool)
    return machine


@pytest.mark.parametrize("classifier", [SVC(C=2.0), LogisticRegression()], ids=["svc", "logistic"])
@pytest.mark.parametrize("start", ["majority", "source"])
def test_labels_by_counts_are_the_alternation_written_out(classifier, start):
    X, bags, _, source = two_domains(gap=1.0)
    ids, counts = bags.bag_index, np.rint(bags.positive_shares * 6).astype(int)
    if start == "majority":
        labels = np.sign(bags.positive_shares - 0.5)[ids]
        machine = BagEM(classifier).fit(X, bags)
    else:
        scores = clone(classifier).fit(*source).decision_function(X)
        labels = -np.ones(len(X))
        for k, count in enumerate(counts):
            rows = np.flatnonzero(ids == k)
            labels[rows[np.argsort(-scores[rows])[:count]]] = 1
        machine = BagEM(classifier).fit(X, bags, source=source)
    assert machine.start_ == start
    assert machine.n_iter_ > 1
    expected = by_hand(classifier, X, ids, counts, labels)
    ours = machine.estimator_.decision_function(X)
    np.testing.assert_allclose(ours, expected.decision_function(X), atol=1e-4)
    assert machine.changes_[-1] == 0
    assert machine.converged_
    assert len(machine.changes_) == machine.n_iter_
    # At rest the labels of the classifier's own training are the best for its scores.
    again = by_hand(classifier, X, ids, counts, labels, rounds=200).decision_function(X)
    np.testing.assert_allclose(ours, again, atol=1e-4)


def test_sum_of_hinge_losses_does_not_rise():
    X, bags, _, _ = two_domains(seed=3, gap=0.6, n_bags=40)
    svc = SVC(kernel="linear", C=1.0, tol=1e-8)
    last = BagEM(svc).fit(X, bags)
    assert last.n_iter_ >= 5
    objectives = []
    # Bags at one half are not in the first training.
    for n_rounds in range(2, last.n_iter_):
        with pytest.warns(ConvergenceWarning, match=f"after {n_rounds} rounds; set a higher"):
            machine = BagEM(svc, max_iter=n_rounds).fit(X, bags)
        objectives.append(_objective_after_relabelling(machine, X, bags))
    objectives.append(_objective_after_relabelling(last, X, bags))
    assert np.all(np.diff(objectives) <= 1e-6)
    assert objectives[-1] < objectives[0]


def _objective_after_relabelling(machine, X, bags):
    scores = machine.decision_function(X)
    labels = -np.ones(len(X))
    for k, share in enumerate(bags.positive_shares):
        rows = np.flatnonzero(bags.bag_index == k)
        labels[rows[np.argsort(-scores[rows])[: round(share * len(rows))]]] = 1
    weights = machine.estimator_.coef_
    return 0.5 * np.sum(weights**2) + np.maximum(0, 1 - labels * scores).sum()


def test_posterior_climbs_the_likelihood_of_the_counts():
    X, bags, _, source = two_domains(gap=1.0)
    machine = BagEM(LogisticRegression(C=1e6, tol=1e-8, max_iter=1000), labels="posterior")
    machine.fit(X, bags, source=source)
    assert machine.converged_
    assert np.all(np.diff(machine.log_likelihoods_) >= -1e-6)
    assert np.all(machine.log_likelihoods_ <= 0)
    assert machine.changes_[-1] <= machine.tol


def test_posterior_rests_where_the_count_machine_does():
    """EM on penalised logistic regression has the stationary points of the count machine."""
    X, bags, _, source = two_domains(gap=1.5)
    logistic = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000)
    machine = BagEM(logistic, labels="posterior", tol=1e-9, max_iter=5000)
    machine.fit(X, bags, source=source)
    direct = CountLikelihoodClassifier(
        C_target=1.0, kernel="linear", start="inverse_calibration", tol=1e-10
    ).fit(X, bags)
    np.testing.assert_allclose(machine.estimator_.coef_, direct.coef_, atol=1e-4)
    np.testing.assert_allclose(machine.estimator_.intercept_, direct.intercept_, atol=1e-4)


def test_posterior_is_the_weighted_training_written_out():
    X, bags, _, source = two_domains()
    machine = BagEM(GaussianNB(), labels="posterior", max_iter=2)
    with pytest.warns(ConvergenceWarning, match="had not settled after 2 rounds"):
        machine.fit(X, bags, source=source)
    model = GaussianNB().fit(*source)
    for _ in range(2):
        second = _posterior(model.predict_proba(X)[:, 1], bags)
        model = GaussianNB().fit(
            np.vstack([X, X]),
            np.repeat([1, 0], len(X)),
            sample_weight=np.concatenate([second, 1 - second]),
        )
    np.testing.assert_allclose(machine.predict_proba(X), model.predict_proba(X), atol=1e-8)


def _posterior(chance, bags):
    """P(y_j = 1 | count) by enumerating all labels of a bag."""
    found = np.empty(len(chance))
    for k, share in enumerate(bags.positive_shares):
        rows = np.flatnonzero(bags.bag_index == k)
        labels = (np.arange(2 ** len(rows))[:, None] >> np.arange(len(rows))) & 1
        labels = labels[labels.sum(axis=1) == round(share * len(rows))]
        weight = np.prod(np.where(labels, chance[rows], 1 - chance[rows]), axis=1)
        found[rows] = weight @ labels / weight.sum()
    return found


@pytest.mark.parametrize("labels", ["counts", "posterior"])
def test_bags_of_one_and_labelled_rows_train_the_classifier_alone(labels):
    X, _, y, _ = two_domains()
    alone = LogisticRegression(tol=1e-6, max_iter=1000).fit(X, y)
    ones = Bags.from_arrays(np.arange(len(X)), dict(enumerate(y.astype(float))))
    with pytest.warns(BagWarning, match="pure"):
        machine = BagEM(labels=labels).fit(X, ones)
    np.testing.assert_allclose(machine.decision_function(X), alone.decision_function(X), atol=1e-3)
    known = BagEM(labels=labels).fit(X, Bags.unlabelled(len(X)).with_labels(y))
    np.testing.assert_allclose(known.decision_function(X), alone.decision_function(X), atol=1e-8)
    assert known.start_ == ""
    assert known.n_iter_ == 1


@pytest.mark.parametrize("labels", ["counts", "posterior"])
def test_labelled_rows_keep_their_label(labels):
    X, bags, y, _ = two_domains(gap=2.0)
    ids = np.where(np.arange(len(X)) < 36, bags.bag_index, Bags.NO_BAG)
    some = Bags.from_arrays(ids.tolist(), dict(enumerate(bags.positive_shares[:6])))
    known = np.where(np.arange(len(X)) < 36, None, 1 - y)  # wrong on purpose
    follows = BagEM(labels=labels).fit(X, some.with_labels(known))
    alone = BagEM(labels=labels).fit(X[:36], some[:36])
    assert follows.score(X, y) < alone.score(X, y) - 0.2


@pytest.mark.parametrize("labels", ["counts", "posterior"])
def test_swapped_classes_give_swapped_scores(labels):
    X, bags, _, _ = two_domains()
    swapped = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    one = BagEM(labels=labels).fit(X, bags)
    two = BagEM(labels=labels).fit(X, swapped)
    np.testing.assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-3)
    declared = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), positive=0, negative=1
    )
    three = BagEM(labels=labels).fit(X, declared)
    np.testing.assert_allclose(three.decision_function(X), two.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("labels", ["counts", "posterior"])
def test_bags_on_one_side_of_half_are_compared_with_each_other(labels):
    rng = np.random.default_rng(0)
    y = rng.random(240) < np.repeat(np.linspace(0.0, 0.4, 20), 12)
    X = rng.normal(size=(240, 2)) + 3.0 * y[:, None]
    ids = np.repeat(np.arange(20), 12)
    shares = np.bincount(ids, y) / 12
    assert shares.max() < 0.5 or np.sum(shares > 0.5) == 0
    machine = BagEM(labels=labels).fit(X, Bags.from_arrays(ids, dict(enumerate(shares))))
    assert machine.score(X, y.astype(int)) > 0.9


@pytest.mark.filterwarnings("ignore::bagshift.BagWarning")
def test_equal_shares_need_a_source():
    X, bags, y, source = two_domains()
    equal = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.5))
    with pytest.raises(ValueError, match="no bag can be labelled by its majority; give labelled"):
        BagEM().fit(X, equal)
    assert BagEM().fit(X, equal, source=source).score(X, y) > 0.7


def test_noise_of_shares_is_part_of_the_posterior():
    X, bags, _, source = two_domains()
    law = LaplaceNoise(0.3, unit="shares")
    noisy = Bags.from_arrays(bags.bag_index, dict(enumerate(bags.positive_shares)), noise=law)
    exact = BagEM(labels="posterior").fit(X, bags, source=source)
    loose = BagEM(labels="posterior").fit(X, noisy, source=source)
    assert np.abs(exact.decision_function(X) - loose.decision_function(X)).max() > 0.05


@pytest.mark.parametrize(
    "classifier",
    [
        SVC(),
        LinearSVC(),
        RandomForestClassifier(20, min_samples_leaf=10, random_state=0),
        KNeighborsClassifier(15),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_of_every_kind(classifier):
    X, bags, y, source = two_domains(gap=2.5)
    machine = BagEM(classifier).fit(X, bags, source=source)
    assert machine.score(X, y) > 0.85
    assert machine.score(X, bags) > 0.9
    has_probabilities = hasattr(classifier, "predict_proba")
    for name in ("predict_proba", "predict_in_bags", "predict_proba_in_bags"):
        assert hasattr(machine, name) == hasattr(BagEM(classifier), name) == has_probabilities
    if has_probabilities:
        chance = machine.predict_proba(X)
        np.testing.assert_allclose(chance, machine.estimator_.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(expit(machine.decision_function(X)), chance[:, 1], atol=1e-9)
        in_bags = machine.predict_proba_in_bags(X, bags)[:, 1]
        np.testing.assert_allclose(bags.bag_means(in_bags), bags.positive_shares, atol=1e-9)


def test_weights_of_bags_reach_the_classifier():
    X, bags, _, source = two_domains()
    weights = dict(enumerate(np.linspace(1, 3, bags.n_bags)))
    weighted = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), weights=weights
    )
    machine = BagEM(SVC(kernel="linear")).fit(X, weighted, source=source)
    twice = Bags.from_arrays(
        bags.bag_index,
        dict(enumerate(bags.positive_shares)),
        weights=dict.fromkeys(range(bags.n_bags), 2.0),
    )
    two = BagEM(SVC(kernel="linear", C=1.0)).fit(X, twice)
    expected = BagEM(SVC(kernel="linear", C=2.0)).fit(X, bags)
    np.testing.assert_allclose(two.decision_function(X), expected.decision_function(X), atol=1e-2)
    plain = BagEM(SVC(kernel="linear")).fit(X, bags, source=source)
    assert np.abs(machine.decision_function(X) - plain.decision_function(X)).max() > 1e-3
    with pytest.raises(ValueError, match="takes no sample_weight; leave the weights"):
        BagEM(KNeighborsClassifier()).fit(X, weighted)


class Contrary(ClassifierMixin, BaseEstimator):
    """A classifier that ranks rows against its labels, so that labels never come to rest."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.slope_ = -np.sign(X[y == 1, 0].mean() - X[y == 0, 0].mean())
        return self

    def decision_function(self, X):
        return self.slope_ * X[:, 0]

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


@pytest.mark.parametrize("start", ["majority", "source"])
@pytest.mark.parametrize("gap", [1.0, 6.0])
def test_classifiers_that_give_back_any_labels_are_said(start, gap):
    X, bags, _, source = two_domains(gap=gap)
    given = {"source": source} if start == "source" else {}
    forest = RandomForestClassifier(20, bootstrap=False, random_state=0)
    for classifier in (DecisionTreeClassifier(random_state=0), forest):
        with pytest.warns(BagWarning, match=f"{type(classifier).__name__} gives back any labels"):
            BagEM(classifier).fit(X, bags, **given)
        small = clone(classifier).set_params(min_samples_leaf=10)
        BagEM(small).fit(X, bags, **given)
    # Labels that are plain to see settle as soon, and nothing is wrong.
    for smooth in (None, SVC(), make_pipeline(StandardScaler(), GaussianNB())):
        machine = BagEM(smooth).fit(X, bags, **given)
    assert gap < 6.0 or machine.n_iter_ == (1 if start == "source" else 2)


def test_labels_that_go_in_a_circle_are_said():
    X, bags, _, _ = two_domains(gap=3.0)
    with pytest.warns(ConvergenceWarning, match="go in a circle"):
        machine = BagEM(Contrary()).fit(X, bags)
    assert not machine.converged_
    assert machine.n_iter_ < 10


def test_stacked_domains_equal_two_arguments():
    X, bags, _, source = two_domains()
    Xa, ya = stack_domains(source=source, target=(X, bags))
    one, two = BagEM().fit(Xa, ya), BagEM().fit(X, bags, source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-12)


def test_sparse_rows_go_to_classifiers_that_take_them():
    X, bags, _, _ = two_domains()
    rows = sparse.csr_array(np.where(X > 0, X, 0))
    machine = BagEM(SVC(kernel="linear")).fit(rows, bags)
    dense = BagEM(SVC(kernel="linear")).fit(rows.toarray(), bags)
    np.testing.assert_allclose(
        machine.decision_function(rows), dense.decision_function(rows.toarray()), atol=1e-6
    )
    assert BagEM(SVC()).__sklearn_tags__().input_tags.sparse
    assert not BagEM(GaussianNB()).__sklearn_tags__().input_tags.sparse


def test_source_and_target_rows_may_be_of_two_kinds():
    X, bags, _, (X_source, y_source) = two_domains()
    expected = BagEM(SVC()).fit(X, bags, source=(X_source, y_source)).decision_function(X)
    for as_target, as_source in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_array)):
        machine = BagEM(SVC()).fit(as_target(X), bags, source=(as_source(X_source), y_source))
        np.testing.assert_allclose(machine.decision_function(as_target(X)), expected, atol=1e-6)


def test_what_a_model_file_holds(tmp_path):
    X, bags, _, _ = two_domains()
    path = tmp_path / "model.skops"
    for classifier in (None, make_pipeline(StandardScaler(), GaussianNB())):
        machine = BagEM(classifier).fit(X, bags)
        save_model(machine, path)
        loaded = load_model(path).model
        np.testing.assert_array_equal(loaded.decision_function(X), machine.decision_function(X))
    with pytest.raises(ModelFileError, match="SVC"):
        save_model(BagEM(SVC()).fit(X, bags), path)


def test_tags_follow_the_start():
    def tags(**settings):
        found = get_bag_tags(BagEM(**settings))
        return found.uses_source, found.needs_source, found.uses_bags

    assert tags() == (True, False, True)
    assert tags(start="source") == (True, True, True)
    assert tags(start="majority") == (False, False, True)


@pytest.mark.parametrize(
    ("settings", "with_source", "says"),
    [
        ({"start": "source"}, False, 'start="source" needs labelled history'),
        ({"start": "majority"}, True, 'start="majority" makes no use of a source'),
        ({"estimator": Ridge()}, False, "Ridge is none"),
        ({"estimator": LinearSVC(), "labels": "posterior"}, False, "needs predict_proba, which"),
        (
            {"estimator": KNeighborsClassifier(), "labels": "posterior"},
            False,
            "needs sample_weight, which KNeighborsClassifier",
        ),
    ],
)
def test_what_cannot_be_asked(settings, with_source, says):
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match=says):
        BagEM(**settings).fit(X, bags, source=source if with_source else None)


@pytest.mark.filterwarnings("ignore::bagshift.BagWarning")
def test_bags_of_one_class_are_refused():
    X, bags, _, source = two_domains()
    none = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.0))
    with pytest.warns(UserWarning, match="share"), pytest.raises(ValueError, match="one class"):
        BagEM().fit(X, none, source=source)
    with pytest.raises(ValueError, match="By their shares all rows of the bags are of one class"):
        BagEM().fit(X, none)
    with pytest.raises(ValueError, match="The labels hold one class"):
        BagEM().fit(X, Bags.unlabelled(len(X)).with_labels([1] * len(X)))
    with pytest.raises(ValueError, match="needs bags or labelled rows"):
        BagEM().fit(X, None, source=source)


@pytest.mark.filterwarnings("ignore::bagshift.BagWarning")
def test_noisy_shares_above_one_are_no_pure_bags():
    X, bags, _, source = two_domains()
    law = LaplaceNoise(0.3, unit="shares")
    shares = dict.fromkeys(range(bags.n_bags), 1.2)
    noisy = Bags.from_arrays(bags.bag_index, shares, noise=law)
    with pytest.raises(ValueError, match="give labelled history"):
        BagEM(labels="posterior").fit(X, noisy)
    assert BagEM(labels="posterior").fit(X, noisy, source=source).converged_


@pytest.mark.filterwarnings("ignore::bagshift.BagWarning")
def test_bags_of_one_class_beside_labelled_rows_of_the_other():
    X, bags, _, _ = two_domains()
    none = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.0))
    more = Bags.concatenate([none, Bags.unlabelled(5).with_labels([1] * 5)])
    machine = BagEM().fit(np.vstack([X, X[:5] + 9.0]), more)
    np.testing.assert_array_equal(machine.predict(X), 0)
    np.testing.assert_array_equal(machine.predict(X[:5] + 9.0), 1)
