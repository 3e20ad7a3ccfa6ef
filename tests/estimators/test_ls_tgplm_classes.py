# SPDX-License-Identifier: BSD-3-Clause
"""LSTGPLM of more than two classes: one system for all, of which two classes are the least."""

import pickle

import numpy as np
import pytest
from scipy.special import logit, softmax
from sklearn.linear_model import Ridge

from bagshift import LSTGPLM, Bags, BagWarning, InverseCalibrationSVM, stack_domains
from bagshift.calibration import centred_log_ratio, class_codes
from bagshift.estimators._class_training import ClassTraining, read_classes

NAMES = np.array(["bear", "cat", "dog", "elk"])
SETTINGS = {"clip": 0.02, "gamma": 0.3}


def domains(n_classes=4, n_bags=30, bag_size=6, n_features=3, seed=0):
    """Return target rows, ids of their bags, codes, and source rows with their codes."""
    rng = np.random.default_rng(seed)
    centres = 2.5 * rng.normal(size=(n_classes, n_features))
    codes = rng.integers(n_classes, size=n_bags * bag_size)
    X = centres[codes] + rng.normal(size=(len(codes), n_features))
    old = np.arange(80) % n_classes
    X_old = centres[old] + 0.5 + rng.normal(size=(80, n_features))
    return X, np.repeat(np.arange(n_bags), bag_size), codes, (X_old, old)


def shares_of(ids, codes, n_classes):
    table = np.zeros((ids.max() + 1, n_classes))
    np.add.at(table, (ids, codes), 1.0)
    return table / table.sum(axis=1, keepdims=True)


def bags_of(ids, codes, names=NAMES):
    shares = shares_of(ids, codes, len(names))
    return Bags.from_arrays(ids, dict(enumerate(shares)), classes=names)


def task(n_classes=4, **settings):
    """Return X, bags, labels and source."""
    X, ids, codes, (X_old, old) = domains(n_classes, **settings)
    names = NAMES if n_classes == 4 else np.array([f"class {k:02d}" for k in range(n_classes)])
    return X, bags_of(ids, codes, names), names[codes], (X_old, names[old])


@pytest.mark.parametrize("n_classes", [3, 4, 10])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_outputs_agree_and_scores_sum_to_zero(n_classes, kernel):
    X, bags, labels, source = task(n_classes)
    machine = LSTGPLM(kernel=kernel, **SETTINGS).fit(X, bags, source=source)
    scores = machine.decision_function(X)
    assert scores.shape == (len(X), n_classes)
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(machine.source_decision_function(X).sum(axis=1), 0.0, atol=1e-10)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[scores.argmax(axis=1)])
    probability = machine.predict_proba(X)
    np.testing.assert_allclose(probability, softmax((1 - 1 / n_classes) * scores, axis=1))
    assert machine.score(X, labels) > 0.6
    coefficients = machine.coef_ if kernel == "linear" else machine.dual_coef_
    assert len(coefficients) == len(machine.intercept_) == len(machine.objective_) == n_classes
    assert machine.leave_one_bag_out_.shape == (bags.n_bags, n_classes)
    np.testing.assert_allclose(machine.leave_one_bag_out_.sum(axis=1), 0.0, atol=1e-9)
    assert not hasattr(machine, "positive_class_")


@pytest.mark.parametrize("coupling", [0.0, 0.125, np.inf])
def test_two_classes_are_the_binary_machine_exactly(coupling):
    X, ids, codes, (X_old, old) = domains(2)
    shares = shares_of(ids, codes, 2)
    binary = LSTGPLM(coupling=coupling, **SETTINGS)
    binary.fit(X, Bags.from_arrays(ids, dict(enumerate(shares[:, 1]))), source=(X_old, old))
    each = LSTGPLM(coupling=coupling, **SETTINGS)
    data = two_classes_in_the_form_for_more(X, ids, shares, (X_old, old), each)
    gram = np.exp(-0.3 * ((_units(X_old, X, ids)[:, None] - 0) ** 2).sum(axis=2))
    problem = each._problem(data, gram @ gram.T)
    np.testing.assert_allclose(problem.targets[:, 0], -problem.targets[:, 1], atol=1e-14)
    one = binary._problem(read_classes(binary, X, Bags.from_arrays(ids, dict(enumerate(shares[:, 1]))), source=(X_old, old)), gram @ gram.T)
    np.testing.assert_allclose(problem.targets[:, [1]], one.targets, atol=1e-14)
    np.testing.assert_array_equal(problem.costs, one.costs)
