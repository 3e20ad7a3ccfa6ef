# SPDX-License-Identifier: BSD-3-Clause
"""Intervals by the bootstrap over bags: whole bags, the same for the same seed, as wide as due."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    BagError,
    Bags,
    CountLikelihoodClassifier,
    ProportionSVM,
    SourceSVM,
    stack_domains,
)
from bagshift._bags.redrawing import redraw_bags
from bagshift.inspection import bag_bootstrap


def make_data(seed, n_bags=60, bag_rows=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_bags * bag_rows, 2))
    labels = X @ [1.5, -0.5] + rng.logistic(size=len(X)) > 0
    ids = np.repeat(np.arange(n_bags), bag_rows)
    counts = dict(enumerate(np.bincount(ids, labels).astype(int)))
    return X, Bags.from_arrays(ids, counts=counts), labels


@pytest.fixture(scope="module")
def data():
    return make_data(0)


MACHINE = CountLikelihoodClassifier(kernel="linear", coupling=0.5)


def source_of(seed=1, n_rows=80):
    X, _, labels = make_data(seed, n_rows, 1)
    return X + 0.2, labels.astype(int)


def test_whole_bags_are_drawn(data):
    _, bags, _ = data
    ids = np.array(["b", "a", "b", Bags.NO_BAG, "c", "a", "b"], dtype=object)
    mixed = Bags.from_arrays(ids, {"a": 0.5, "b": 1 / 3, "c": 1.0})
    for given in (bags, mixed):
        rows, drawn = redraw_bags(given, np.random.default_rng(4))
        drawn.check_whole()
        assert drawn.n_bags == given.n_bags
        for bag in range(drawn.n_bags):
            origin = np.unique(given.bag_index[rows[drawn.bag_index == bag]])
            assert len(origin) == 1
            assert drawn.positive_shares[bag] == given.positive_shares[origin[0]]
            assert drawn.rows_per_bag[bag] == given.rows_per_bag[origin[0]]
    np.testing.assert_array_equal(given.bag_index[rows[drawn.bag_index < 0]], [-1])


def test_same_seed_same_intervals_for_any_number_of_workers(data):
    X, bags, _ = data
    kind = {"source": source_of(), "n_replicates": 8, "random_state": 3}
    one = bag_bootstrap(MACHINE, X, bags, **kind)
    two = bag_bootstrap(MACHINE, X, bags, n_jobs=2, **kind)
    other = bag_bootstrap(MACHINE, X, bags, **{**kind, "random_state": 4})
    for name in ("probabilities", "scores", "shares", "coefficients"):
        np.testing.assert_array_equal(getattr(one, name).low, getattr(two, name).low)
        assert (getattr(one, name).low != getattr(other, name).low).any()
    assert one.intercept == two.intercept


def test_estimates_are_those_of_the_machine_on_all_data(data):
    X, bags, _ = data
    source = source_of()
    found = bag_bootstrap(MACHINE, X, bags, source=source, X_new=X[:7], n_replicates=10)
    model = CountLikelihoodClassifier(kernel="linear", coupling=0.5).fit(X, bags, source=source)
    np.testing.assert_allclose(found.probabilities.estimate, model.predict_proba(X[:7])[:, 1])
    np.testing.assert_allclose(found.scores.estimate, model.decision_function(X[:7]))
    shares = bags.bag_means(model.predict_proba(X)[:, 1])
    np.testing.assert_allclose(found.shares.estimate, shares)
    np.testing.assert_allclose(found.coefficients.estimate, np.ravel(model.coef_))
    for intervals in (found.probabilities, found.scores, found.shares, found.coefficients):
        assert (intervals.low <= intervals.high).all()
    assert found.intercept.estimate == pytest.approx(float(np.ravel(model.intercept_)[0]))
    assert "20" not in str(found)
    assert "10 replicates of the bootstrap over bags" in str(found)


def test_machine_without_probabilities(data):
    X, bags, _ = data
    found = bag_bootstrap(ProportionSVM(), X, bags, n_replicates=4)
    assert found.probabilities is None
    assert found.coefficients is None
    assert found.intercept is None
    assert set(np.round(5 * found.shares.estimate, 12)) <= set(range(6))


def test_stacked_domains_in_a_pipeline(data):
    X, bags, _ = data
    Xa, ya = stack_domains(source=source_of(), target=(X, bags))
    model = make_pipeline(StandardScaler(), CountLikelihoodClassifier(kernel="linear"))
    found = bag_bootstrap(model, Xa, ya, X_new=X[:3], n_replicates=5)
    assert len(found.scores) == 3
    assert len(found.shares) == bags.n_bags


def test_share_is_of_the_declared_class():
    X, bags, labels = make_data(2)
    counts = dict(enumerate((5 - bags.counts[:, 1]).astype(int)))
    no = Bags.from_arrays(bags.bag_index, counts=counts, positive="no", negative="yes")
    source = (X, np.where(labels, "yes", "no"))
    found = bag_bootstrap(MACHINE, X, no, source=source, n_replicates=3)
    assert np.corrcoef(found.shares.estimate, no.positive_shares)[0, 1] > 0.5
    assert np.corrcoef(found.probabilities.estimate, labels)[0, 1] < -0.3


def test_progress_is_told(data):
    X, bags, _ = data
    seen = []
    bag_bootstrap(
        MACHINE, X, bags, n_replicates=3, progress=lambda done, n: seen.append((done, n))
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_replicates": 1}, "n_replicates must be at least 2"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"source": [1, 2]}, "source must be a tuple"),
    ],
)
def test_arguments_out_of_range(data, change, message):
    X, bags, _ = data
    with pytest.raises(ValueError, match=message):
        bag_bootstrap(MACHINE, X, bags, **change)


def test_bags_that_cannot_be_drawn(data):
    X, bags, labels = data
    with pytest.raises(BagError, match="at least 2 bags"):
        bag_bootstrap(MACHINE, X[:5], bags[:5])
    with pytest.raises(BagError, match="slicing has cut"):
        bag_bootstrap(MACHINE, X[:7], bags[:7])
    with pytest.raises(TypeError, match="y must be a Bags"):
        bag_bootstrap(MACHINE, X, labels)
    with pytest.raises(ValueError, match="precomputed kernel"):
        bag_bootstrap(SourceSVM(kernel="precomputed"), X @ X.T, bags)


@pytest.mark.nightly
def test_intervals_are_as_wide_as_answers_spread():
    """Standard deviation over fresh samples, against that the intervals imply; ratio near one."""
    machine = CountLikelihoodClassifier(kernel="linear", C_target=10.0)
    X_new = np.array([[0.5, 0.5], [1.0, -1.0], [-1.0, 0.3]])
    estimates, widths = [], []
    for seed in range(50):
        X, bags, _ = make_data(seed, n_bags=150)
        # The ends of narrower intervals need fewer replicates.
        kind = {"X_new": X_new, "n_replicates": 60, "level": 0.8, "random_state": seed}
        found = bag_bootstrap(machine, X, bags, **kind)
        estimates.append(found.scores.estimate)
        widths.append(found.scores.width)
    implied = np.mean(widths, axis=0) / (2 * 1.2816)
    ratio = implied / np.std(estimates, axis=0)
    assert (ratio > 0.75).all()
    assert (ratio < 1.3).all()
