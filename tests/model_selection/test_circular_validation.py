# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagshift import (
    DASVM,
    TGPLM,
    TSVM,
    BagCSI,
    BagEM,
    Bags,
    CountLikelihoodClassifier,
    MeanMap,
    PriorShift,
    ProportionMatching,
    SourceSVM,
    stack_domains,
)
from bagshift.model_selection import circular_search, circular_validation
from problems import two_domains


def circle_by_hand(X, bags, source, *, back, **settings):
    """Return accuracy and target labels of a source SVM's circle, step by step."""
    X_source, y_source = source
    scores = SVC(**settings).fit(X_source, y_source).decision_function(X)
    labels = np.zeros(len(X), dtype=int)
    for bag in range(bags.n_bags):
        rows = np.flatnonzero(bags.bag_index == bag)
        count = round(bags.shares[bag, 1] * len(rows))
        labels[rows[np.argsort(-scores[rows])[:count]]] = 1
    return np.mean(back.fit(X, labels).predict(X_source) == y_source), labels


def test_agrees_with_steps_taken_by_hand():
    X, bags, _, source = two_domains()
    settings = {"C": 2.0, "gamma": 0.3}
    accuracy, labels = circle_by_hand(X, bags, source, back=SVC(**settings), **settings)
    found = circular_validation(SourceSVM(**settings), X, bags, source=source)
    assert found.accuracy == accuracy
    np.testing.assert_array_equal(found.target_labels, labels)
    predicted = SourceSVM(**settings).fit(X, bags, source=source).predict(X)
    errors = [abs(predicted[bags.bag_index == k].mean() - bags.shares[k, 1]) for k in range(12)]
    assert found.share_error == pytest.approx(np.mean(errors))
    assert found.score == pytest.approx(accuracy - np.mean(errors))


def test_a_machine_of_shares_goes_back_by_the_source_machine_with_its_kernel():
    X, bags, _, source = two_domains()
    found = circular_validation(TGPLM(C_source=3.0, gamma=0.2), X, bags, source=source)
    assert isinstance(found.backward, SourceSVM)
    assert (found.backward.C, found.backward.gamma) == (3.0, 0.2)
    given = circular_validation(TGPLM(), X, bags, source=source, backward=SourceSVM(C=7.0))
    assert given.backward.C == 7.0


@pytest.mark.parametrize(
    "machine",
    [ProportionMatching(), CountLikelihoodClassifier(), MeanMap(), BagCSI(), PriorShift()],
    ids=lambda m: type(m).__name__,
)
def test_machines_with_kernels_of_their_own_choice(machine):
    X, bags, _, source = two_domains(gap=3.0)
    found = circular_validation(machine, X, bags, source=source)
    assert isinstance(found.backward, SourceSVM)
    assert found.accuracy > 0.7


@pytest.mark.parametrize("machine", [TSVM(), DASVM()], ids=lambda m: type(m).__name__)
def test_without_shares_machines_go_both_ways_and_labels_are_predictions(machine):
    X, _, _, source = two_domains(gap=4.0)
    found = circular_validation(machine, X, None, source=source)
    assert type(found.backward) is type(machine)
    assert found.share_error is None
    assert found.score == found.accuracy > 0.9
    np.testing.assert_array_equal(found.target_labels, found.forward.predict(X))


def test_equal_domains_come_home_and_a_source_of_noise_does_not():
    X, bags, labels, _ = two_domains(gap=4.0)
    good = circular_validation(SourceSVM(), X, bags, source=(X, labels))
    noise = np.random.default_rng(0).permutation(labels)
    bad = circular_validation(SourceSVM(C=0.01), X, bags, source=(X, noise))
    assert good.accuracy > 0.95 > bad.accuracy


def test_a_reversal_comes_home_and_the_share_error_tells():
    X, bags, labels, _ = two_domains(gap=4.0)
    found = circular_validation(SourceSVM(), X, None, source=(X, 1 - labels))
    assert found.accuracy > 0.95
    told = circular_validation(SourceSVM(), X, bags, source=(X, 1 - labels))
    assert told.share_error > 0.3


def test_stacked_domains_and_pipelines():
    X, bags, _, source = two_domains()
    Xa, ya = stack_domains(source=source, target=(X, bags))
    alone = circular_validation(SourceSVM(gamma=0.3), X, bags, source=source)
    stacked = circular_validation(SourceSVM(gamma=0.3), Xa, ya)
    assert stacked.accuracy == alone.accuracy
    scaled = circular_validation(make_pipeline(StandardScaler(), SourceSVM(gamma=0.3)), Xa, ya)
    assert isinstance(scaled.backward[0], StandardScaler)
    assert 0.0 < scaled.accuracy <= 1.0


def test_weights_of_the_source_and_known_labels_are_heeded():
    X, bags, labels, source = two_domains()
    weight = np.where(np.arange(len(source[1])) < 10, 1.0, 0.0)
    found = circular_validation(SourceSVM(), X, bags, source=(*source, weight))
    home = found.backward.predict(source[0]) == source[1]
    assert found.accuracy == np.mean(home[:10])
    known = Bags.from_arrays([Bags.NO_BAG] * len(X), {}).with_labels(
        [1 - labels[0], *[None] * (len(X) - 1)]
    )
    found = circular_validation(TSVM(), X, known, source=source)
    assert found.target_labels[0] == 1 - labels[0]


def test_labels_of_one_class_are_scored_and_not_trained_on():
    X, _, _, source = two_domains()
    found = circular_validation(SourceSVM(kernel="linear"), X + 4.0, None, source=source)
    assert found.backward is None
    assert found.accuracy == np.mean(source[1] == found.target_labels[0])


def test_search_scores_every_setting_and_returns_the_machine_of_the_way_there():
    X, bags, _, source = two_domains()
    grid = {"C": [0.1, 1.0], "gamma": [0.05, 0.5]}
    seen = []
    found = circular_search(
        SourceSVM(), X, bags, source=source, grid=grid, progress=lambda *at: seen.append(at)
    )
    assert seen == [(i + 1, 4) for i in range(4)]
    for entry in found.table:
        circle = circular_validation(SourceSVM(**entry["params"]), X, bags, source=source)
        assert entry["score"] == circle.score
        assert entry["circular_accuracy"] == circle.accuracy
    assert found.best_score == max(entry["score"] for entry in found.table)
    expected = SourceSVM(**found.best_params).fit(X, bags, source=source)
    np.testing.assert_array_equal(
        found.best_estimator.decision_function(X), expected.decision_function(X)
    )
    assert "rank_test_score" in found.cv_results
    by_accuracy = circular_search(
        SourceSVM(), X, bags, source=source, grid=grid, share_error_weight=0.0, n_jobs=2
    )
    assert [e["score"] for e in by_accuracy.table] == [e["circular_accuracy"] for e in found.table]


def test_search_without_bags():
    X, _, _, source = two_domains()
    found = circular_search(TSVM(), X, None, source=source, grid={"C_target": [0.1, 1.0]})
    assert set(found.best_params) == {"C_target"}
    assert "share_error" not in found.table[0]


def test_what_cannot_be_done_is_said():
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match="needs labelled history"):
        circular_validation(BagEM(), X, bags)
    with pytest.raises(ValueError, match="precomputed"):
        circular_validation(SourceSVM(kernel="precomputed"), X, bags, source=source)
    with pytest.raises(ValueError, match="backward must be a classifier of bagshift"):
        circular_validation(SourceSVM(), X, bags, source=source, backward=SVC())
    with pytest.raises(ValueError, match="grid is empty"):
        circular_search(SourceSVM(), X, bags, source=source, grid=[])
