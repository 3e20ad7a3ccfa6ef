# SPDX-License-Identifier: BSD-3-Clause
"""LLPKMeans: labels of clusters against every labelling, the choice of clusters, bad input."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from bagshift import (
    Bags,
    BagWarning,
    LLPKMeans,
    ModelFileError,
    ReversedScoresWarning,
    get_bag_tags,
)
from bagshift.estimators._cluster_labels import BagClusters, label_clusters
from bagshift.persistence import load_model, save_model
from problems import two_domains


def blobs(n_bags=30, bag_size=8, distance=6.0, seed=0):
    """Return (X, bags, labels): two clusters, which are the classes."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_bags * bag_size) < np.repeat(rng.random(n_bags), bag_size)).astype(int)
    X = rng.normal(size=(len(labels), 2)) + distance * labels[:, None]
    ids = np.repeat(np.arange(n_bags), bag_size)
    return X, Bags.from_arrays(ids, dict(enumerate(np.bincount(ids, labels) / bag_size))), labels


def random_clusters(n_clusters, n_bags, seed):
    rng = np.random.default_rng([n_clusters, n_bags, seed])
    parts = rng.dirichlet(np.full(n_clusters, 0.3), size=n_bags)
    weights = rng.random(n_bags) + 0.1
    return BagClusters(parts, rng.random(n_bags), weights / weights.sum())


def error_of(clusters, labels):
    """The weighted squared error, bag by bag."""
    total = 0.0
    for part, share, weight in zip(clusters.parts, clusters.shares, clusters.weights, strict=True):
        total += weight * (sum(a for a, s in zip(part, labels, strict=True) if s) - share) ** 2
    return total


@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 5))
def test_few_clusters_get_the_best_of_all_labels(n_clusters, n_bags, seed):
    clusters = random_clusters(n_clusters, n_bags, seed)
    best = min(error_of(clusters, labels) for labels in product([False, True], repeat=n_clusters))
    found = label_clusters(clusters)
    assert error_of(clusters, found) == pytest.approx(best, abs=1e-12)
    assert float(clusters.errors(found) @ clusters.weights) == pytest.approx(best, abs=1e-12)


@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 5))
def test_flipping_ends_where_no_flip_helps(n_clusters, n_bags, seed):
    clusters = random_clusters(n_clusters, n_bags, seed)
    found = label_clusters(clusters, most_exhaustive=0)
    reached = error_of(clusters, found)
    assert reached >= error_of(clusters, label_clusters(clusters)) - 1e-12
    for c in range(n_clusters):
        flipped = found.copy()
        flipped[c] = ~flipped[c]
        assert error_of(clusters, flipped) >= reached - 1e-12


def test_flipping_mostly_finds_the_best():
    gaps = []
    for seed in range(60):
        clusters = random_clusters(10, 20, seed)
        errors = [error_of(clusters, label_clusters(clusters, n)) for n in (0, 12)]
        gaps.append(errors[0] - errors[1])
    assert np.mean(np.array(gaps) < 1e-12) > 0.6


def test_fitness_is_the_weighted_error_of_the_shares_predicted():
    X, bags, _ = blobs(distance=2.0)
    weights = dict(enumerate(np.linspace(1, 4, bags.n_bags)))
    weighted = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), weights=weights
    )
    machine = LLPKMeans(n_clusters=5).fit(X, weighted)
    predicted = weighted.bag_means(machine.predict(X).astype(float))
    expected = np.average((predicted - bags.positive_shares) ** 2, weights=weighted.weights)
    assert machine.fitness_ == pytest.approx(expected, abs=1e-12)
    assert (
        machine.n_clusters_ == len(machine.cluster_centers_) == len(machine.cluster_labels_) == 5
    )


def test_number_of_clusters_has_the_least_fitness():
    X, bags, _, _ = two_domains(n_bags=44)
    machine = LLPKMeans().fit(X, bags)
    assert len(machine.fitness_path_) == 19
    assert machine.fitness_ == machine.fitness_path_.min()
    assert machine.n_clusters_ == 2 + machine.fitness_path_.argmin()
    perfect, bags, labels = blobs(distance=20.0)
    machine = LLPKMeans().fit(perfect, bags)
    assert (machine.n_clusters_, machine.fitness_) == (2, pytest.approx(0, abs=1e-12))
    assert machine.score(perfect, labels) == 1.0


def test_there_are_at_least_two_bags_for_each_cluster():
    X, bags, _, _ = two_domains(n_bags=12)
    assert len(LLPKMeans().fit(X, bags).fitness_path_) == 5
    assert len(LLPKMeans().fit(X[:18], bags[:18]).fitness_path_) == 1
    assert LLPKMeans(9).fit(X, bags).n_clusters_ == 9


def test_rows_get_the_label_of_the_nearest_centre():
    X, bags, _, _ = two_domains(n_bags=30)
    machine = LLPKMeans(n_clusters=7).fit(X, bags)
    distance = ((X[:, None] - machine.cluster_centers_[None]) ** 2).sum(axis=2)
    nearest = machine.cluster_labels_[distance.argmin(axis=1)]
    np.testing.assert_array_equal(machine.predict(X), nearest)
    score = distance[:, machine.cluster_labels_ == 0].min(axis=1)
    score -= distance[:, machine.cluster_labels_ == 1].min(axis=1)
    np.testing.assert_allclose(machine.decision_function(X), score, atol=1e-12)


def test_one_cluster_and_one_label():
    X, bags, _, _ = two_domains()
    few = Bags.from_arrays(bags.bag_index, dict(enumerate(0.3 * bags.positive_shares)))
    machine = LLPKMeans(n_clusters=1).fit(X, few)
    np.testing.assert_array_equal(machine.decision_function(X), -1.0)
    most = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - 0.3 * bags.positive_shares)))
    machine = LLPKMeans(n_clusters=1).fit(X, most)
    np.testing.assert_array_equal(machine.decision_function(X), 1.0)


def test_swapped_classes_give_swapped_scores():
    X, bags, _, _ = two_domains(n_bags=30)
    swapped = Bags.from_arrays(bags.bag_index, dict(enumerate(1 - bags.positive_shares)))
    declared = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), positive=0, negative=1
    )
    one, two, three = (LLPKMeans(4).fit(X, given) for given in (bags, swapped, declared))
    np.testing.assert_array_equal(one.decision_function(X), -two.decision_function(X))
    np.testing.assert_array_equal(two.decision_function(X), three.decision_function(X))


def test_weights_of_features_find_the_column_that_matters():
    rng = np.random.default_rng(0)
    labels = (rng.random(400) < np.repeat(rng.random(50), 8)).astype(int)
    X = rng.normal(size=(400, 6)) * [1, 3, 3, 3, 3, 3]
    X[:, 0] += 8.0 * labels
    ids = np.repeat(np.arange(50), 8)
    bags = Bags.from_arrays(ids, dict(enumerate(np.bincount(ids, labels) / 8)))
    plain = LLPKMeans(4, standardize=True).fit(X, bags)
    np.testing.assert_array_equal(plain.feature_weights_, 1.0)
    drawn = LLPKMeans(4, standardize=True, n_weightings=40).fit(X, bags)
    assert drawn.fitness_ < 0.5 * plain.fitness_
    assert drawn.score(X, labels) > plain.score(X, labels)
    assert drawn.feature_weights_[0] > np.mean(drawn.feature_weights_)
    rows = StandardScaler().fit_transform(X) * drawn.feature_weights_
    distance = ((rows[:, None] - drawn.cluster_centers_[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(drawn.predict(X), drawn.cluster_labels_[distance.argmin(axis=1)])
    more = LLPKMeans(4, standardize=True, n_weightings=60).fit(X, bags)
    assert more.fitness_ <= drawn.fitness_


def test_sparse_rows_with_weights_of_features_equal_dense_rows():
    X, bags, _, _ = two_domains(n_bags=30)
    X = np.where(X > 0, X, 0)
    settings = {"n_clusters": 4, "n_weightings": 3, "standardize": False}
    one = LLPKMeans(**settings).fit(X, bags)
    two = LLPKMeans(**settings).fit(sparse.csr_array(X), bags)
    np.testing.assert_allclose(
        one.decision_function(X), two.decision_function(sparse.csr_array(X)), atol=1e-9
    )


def test_labelled_rows_are_bags_of_one():
    X, bags, labels = blobs(distance=3.0)
    ids = np.where(np.arange(len(X)) < 80, bags.bag_index, Bags.NO_BAG).tolist()
    some = Bags.from_arrays(ids, dict(enumerate(bags.positive_shares[:10])))
    known = np.where(np.arange(len(X)) < 80, None, labels)
    one = LLPKMeans(4).fit(X, some.with_labels(known))
    ids = [k if k is not Bags.NO_BAG else 100 + j for j, k in enumerate(ids)]
    shares = dict(enumerate(bags.positive_shares[:10]))
    shares |= {100 + j: float(labels[j]) for j in range(80, len(X))}
    two = LLPKMeans(4).fit(X, Bags.from_arrays(ids, shares))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_plain_labels_are_the_majority_of_each_cluster():
    X, _, labels, _ = two_domains()
    machine = LLPKMeans(n_clusters=6).fit(X, labels)
    distance = ((X[:, None] - machine.cluster_centers_[None]) ** 2).sum(axis=2)
    nearest = distance.argmin(axis=1)
    for c, label in enumerate(machine.cluster_labels_):
        share = labels[nearest == c].mean()
        assert share == 0.5 or label == (share > 0.5)


@pytest.mark.filterwarnings("ignore::bagshift.BagWarning")
def test_bags_that_leave_the_classes_open_are_said():
    X, bags, labels = blobs(distance=20.0)
    half = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.5))
    with pytest.warns(ReversedScoresWarning, match="these labels of the clusters and the opp"):
        LLPKMeans(2).fit(X, half)
    LLPKMeans(2).fit(X, labels)


@pytest.mark.filterwarnings("ignore::bagshift.ReversedScoresWarning")
def test_fewer_rows_than_clusters():
    X, bags, _, _ = two_domains()
    with pytest.warns(BagWarning, match="one bag only"):
        machine = LLPKMeans().fit(X[:6], Bags.from_arrays(["a"] * 6, {"a": 1 / 6}))
    assert machine.n_clusters_ <= 6
    assert LLPKMeans(12).fit(X[:12], bags[:12]).n_clusters_ == 12
    with pytest.raises(ValueError, match="n_clusters=50 asks for more clusters than there are"):
        LLPKMeans(50).fit(X[:12], bags[:12])
    assert LLPKMeans(3).fit(np.ones((12, 2)), bags[:12]).n_clusters_ == 1


def test_model_file_that_does_not_fit_is_refused(tmp_path):
    X, bags, _, _ = two_domains()
    path = tmp_path / "model.skops"
    machine = LLPKMeans(4, n_weightings=2, standardize=True).fit(X, bags)
    save_model(machine, path)
    loaded = load_model(path).model
    np.testing.assert_array_equal(loaded.decision_function(X), machine.decision_function(X))
    machine.cluster_centers_ = machine.cluster_centers_[:, :2]
    with pytest.raises(ModelFileError, match="cluster_centers_ has shape"):
        save_model(machine, path)


def test_tags_and_what_cannot_be_used():
    tags = get_bag_tags(LLPKMeans())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (False, False, True)
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match="cannot use source rows; leave them out"):
        LLPKMeans().fit(X, bags, source=source)
    with pytest.raises(ValueError, match="nothing to learn from"):
        LLPKMeans().fit(X, Bags.unlabelled(len(X)))
    with pytest.raises(ValueError, match="The labels hold one class, 1; two classes"):
        LLPKMeans().fit(X, Bags.unlabelled(len(X)).with_labels([1] * len(X)))
