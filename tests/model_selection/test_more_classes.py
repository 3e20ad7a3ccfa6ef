# SPDX-License-Identifier: BSD-3-Clause
"""Scorers, splitters and searches over machines of more than two classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from bagshift import (
    TGPLM,
    TGPLMCV,
    BagKFold,
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    bag_cross_val_predict,
)
from bagshift.model_selection import (
    count_log_likelihood,
    neg_share_error,
    neg_soft_share_error,
    path_search,
    share_error_soft_ties,
)

NAMES = np.array(["bear", "cat", "dog"])
GRID = {"C_target": [1.0, 16.0], "coupling": [0.125, 8.0]}


def problem(n_bags=20, bag_size=5, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    codes = rng.integers(3, size=n_bags * bag_size)
    X = centres[codes] + rng.normal(size=(len(codes), 2))
    ids = np.repeat(np.arange(n_bags), bag_size)
    shares = np.eye(3)[codes].reshape(n_bags, bag_size, 3).mean(axis=1)
    bags = Bags.from_arrays(ids, dict(enumerate(shares)), classes=NAMES)
    old = np.arange(30) % 3
    return X, bags, codes, (centres[old] + rng.normal(size=(30, 2)), NAMES[old])


def test_scorers():
    X, bags, _, source = problem()
    machine = TGPLM().fit(X, bags, source=source)
    hard = 1 - machine.score(X, bags)
    assert neg_share_error(machine, X, bags) == pytest.approx(-hard)
    means = bags.bag_means(machine.decision_function(X))
    sigma = 1 / (1 + np.exp(-means))
    soft = 0.5 * np.abs(sigma / sigma.sum(axis=1, keepdims=True) - bags.shares).sum(axis=1).mean()
    assert neg_soft_share_error(machine, X, bags) == pytest.approx(-soft)
    assert share_error_soft_ties(machine, X, bags) == pytest.approx(1 - hard - 1e-6 * soft)
    turned = Bags.from_arrays(
        bags.ids[bags.bag_index], dict(enumerate(bags.shares[:, ::-1])), classes=NAMES[::-1]
    )
    assert neg_soft_share_error(machine, X, turned) == pytest.approx(-soft)


def test_scikit_learn_searches_and_whole_bags():
    X, bags, codes, source = problem()
    found = GridSearchCV(TGPLM(), GRID, cv=BagKFold(4)).fit(X, bags, source=source)
    assert found.best_estimator_.score(X, NAMES[codes]) > 0.9
    scores = cross_val_score(
        TGPLM(), X, bags, cv=BagKFold(4), params={"source": source}, scoring=neg_share_error
    )
    assert (scores > -0.2).all()
    held_out = bag_cross_val_predict(TGPLM(), X, bags, source=source)
    assert held_out.shape == (len(X), 3)
    assert np.mean(NAMES[held_out.argmax(axis=1)] == NAMES[codes]) > 0.9
    labels = bag_cross_val_predict(TGPLM(), X, bags, source=source, method="predict")
    assert np.mean(labels == NAMES[codes]) > 0.9


def test_path_search_has_the_mean_score_of_the_classes():
    X, bags, _, (X_old, y_old) = problem()
    cv, done = BagKFold(4), []
    found = path_search(
        TGPLM(),
        X,
        bags,
        source=(X_old, y_old),
        grid=GRID,
        cv=cv,
        progress=lambda n, total: done.append((n, total)),
    )
    of_classes = [
        path_search(
            TGPLM(), X, bags.against_rest(name), source=(X_old, y_old == name), grid=GRID, cv=cv
        )
        for name in NAMES
    ]
    for setting, row in enumerate(found.table):
        expected = np.mean([each.table[setting]["score"] for each in of_classes])
        assert row["score"] == pytest.approx(expected)
    assert found.best_estimator.predict(X).shape == (len(X),)
    assert done[-1] == (12, 12)
    with pytest.raises(ValueError, match="max_rows is for two classes"):
        path_search(TGPLM(), X, bags, source=(X_old, y_old), grid=GRID, max_rows=50)


def test_the_machine_that_searches():
    X, bags, codes, source = problem()
    machine = TGPLMCV(grid=GRID).fit(X, bags, source=source)
    assert machine.predict_proba(X).shape == (len(X), 3)
    assert machine.score(X, NAMES[codes]) > 0.9
    assert set(machine.best_params_) == set(GRID)


@pytest.mark.parametrize("with_source", [True, False])
def test_the_count_machine_that_searches(with_source):
    X, bags, codes, source = problem()
    source = source if with_source else None
    grid = {"C_target": [1.0, 64.0]} | ({"coupling": [0.1, 10.0]} if with_source else {})
    machine = CountLikelihoodCV(grid=grid, cv=BagKFold(4)).fit(X, bags, source=source)
    assert machine.score(X, NAMES[codes]) > 0.9
    assert set(machine.best_params_) == set(grid)


def test_settings_of_the_count_machine_are_scored_as_by_hand():
    """A search solves on 300 landmarks to a looser tolerance, all of the rows here."""
    X, bags, _, source = problem(n_bags=12)
    cv = BagKFold(3)
    found = path_search(
        CountLikelihoodClassifier(kernel="linear"),
        X,
        bags,
        source=source,
        grid={"C_target": [1.0], "coupling": [0.5, 2.0]},
        cv=cv,
    )
    for row in found.table:
        machine = CountLikelihoodClassifier(kernel="linear").set_params(**row["params"])
        scores = []
        for train, test in cv.split(X, bags):
            part = machine.fit(X[train], bags[train], source=source)
            scores.append(count_log_likelihood(part, X[test], bags[test]))
        assert row["score"] == pytest.approx(np.mean(scores), abs=0.02)
