# SPDX-License-Identifier: BSD-3-Clause
"""The reconstruction of DAKSVM against a conic solver; its limits and refusals."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagshift import DAKSVM, LMPROJ, Bags, get_bag_tags
from bagshift.estimators.daksvm import discrepancy
from conic import conic_machine
from problems import two_domains

KERNELS = [{"kernel": "linear"}, {"gamma": 0.4}, {"kernel": "poly"}]
WEIGHT = np.linspace(0.5, 2.0, 40)


def stretched_domains():
    """Return a problem whose target is spread differently along two axes."""
    X, bags, labels, source = two_domains()
    return X * [1.0, 3.0, 0.5], bags, labels, source


def penalty_matrix(X_source, X, theta, weight=None):
    """Return M of the primal problem, and the difference of the scatters in absolute value."""
    delta = np.average(X_source, axis=0, weights=weight) - X.mean(axis=0)
    difference = np.cov(X_source.T, ddof=0, aweights=weight) - np.cov(X.T, ddof=0)
    absolute = np.real(sqrtm(difference @ difference))
    part = np.outer(delta, delta) / (delta @ delta), absolute / np.linalg.norm(absolute, 2)
    return (1 - theta) * part[0] + theta * part[1], absolute


@pytest.mark.parametrize("theta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("penalty", [0.5, 30.0])
def test_equals_a_conic_solver_on_the_primal(theta, penalty):
    X, bags, _, (X_source, y_source) = stretched_domains()
    matrix, absolute = penalty_matrix(X_source, X, theta, WEIGHT)
    conic = conic_machine(X_source, 2 * y_source - 1, 1.5 * WEIGHT, penalty=penalty * matrix)
    machine = DAKSVM(C=1.5, penalty=penalty, theta=theta, kernel="linear", tol=1e-9)
    machine.fit(X, bags, source=(X_source, y_source, WEIGHT))
    assert machine.objective_ == pytest.approx(conic.objective, rel=1e-8)
    np.testing.assert_allclose(machine.coef_[0], conic.weights, atol=1e-6)
    np.testing.assert_allclose(machine.decision_function(X), conic.scores(X), atol=1e-4)
    scatter = conic.weights @ absolute @ conic.weights
    assert machine.projected_scatter_ == pytest.approx(scatter, abs=1e-6)


def test_kernel_machine_is_the_linear_one_on_explicit_features():
    X, bags, _, (X_source, y_source) = stretched_domains()

    def square(A, B):
        return (A @ B.T) ** 2

    def features(rows):
        return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)

    settings = {"penalty": 3.0, "theta": 0.4, "tol": 1e-9}
    kernel = DAKSVM(kernel=square, **settings).fit(X, bags, source=(X_source, y_source))
    linear = DAKSVM(kernel="linear", **settings)
    linear.fit(features(X), bags, source=(features(X_source), y_source))
    np.testing.assert_allclose(
        kernel.decision_function(X), linear.decision_function(features(X)), atol=1e-6
    )
    assert kernel.objective_ == pytest.approx(linear.objective_)


@pytest.mark.parametrize("penalty", [0.5, 100.0])
@pytest.mark.parametrize("settings", KERNELS)
def test_means_alone_are_lmproj(settings, penalty):
    X, bags, _, source = stretched_domains()
    one = DAKSVM(penalty=penalty, theta=0.0, tol=1e-9, **settings).fit(X, bags, source=source)
    two = LMPROJ(penalty=penalty, tol=1e-9, **settings).fit(X, bags, source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)
    assert one.mean_distance_ == pytest.approx(two.mean_distance_)
    assert one.projected_distance_ == pytest.approx(two.projected_distance_, abs=1e-8)


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
def test_without_penalty_or_shift_it_is_an_svc(theta):
    X, bags, labels, (X_source, y_source) = stretched_domains()
    svc = SVC(gamma=0.4, tol=1e-9).fit(X_source, y_source)
    settings = {"theta": theta, "gamma": 0.4, "tol": 1e-9}
    free = DAKSVM(penalty=0.0, **settings).fit(X, bags, source=(X_source, y_source))
    same = DAKSVM(penalty=9.0, **settings)
    same.fit(X_source[::-1].copy(), None, source=(X_source, y_source))
    for machine in (free, same):
        np.testing.assert_allclose(
            machine.decision_function(X), svc.decision_function(X), atol=1e-4
        )
    assert same.mean_distance_ == same.projected_scatter_ == 0.0
    alone = DAKSVM(penalty=9.0, **settings).fit(X, labels).decision_function(X)
    svc.fit(X, labels)
    np.testing.assert_allclose(alone, svc.decision_function(X), atol=1e-4)


def test_absolute_scatter_bounds_the_difference_of_variances():
    X, bags, _, (X_source, y_source) = stretched_domains()
    machine = DAKSVM(gamma=0.4, theta=0.8, penalty=4.0, tol=1e-9)
    machine.fit(X, bags, source=(X_source, y_source))
    variances = [machine.decision_function(rows).var() for rows in (X_source, X)]
    assert abs(variances[0] - variances[1]) <= machine.projected_scatter_ + 1e-9
    means = [machine.decision_function(rows).mean() for rows in (X_source, X)]
    assert machine.projected_distance_ == pytest.approx(abs(means[0] - means[1]), abs=1e-8)
    found = discrepancy(X_source, X, np.ones(40))
    difference = np.cov(X_source.T, ddof=0) - np.cov(X.T, ddof=0)
    np.testing.assert_allclose(found.scatter @ found.scatter, difference @ difference, atol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, X_source = rng.normal(size=(30, 200)), rng.normal(size=(20, 200)) + 0.1
    machine = DAKSVM(kernel="linear", penalty=3.0, tol=1e-9)
    machine.fit(X, None, source=(X_source, np.arange(20) % 2))
    wide = DAKSVM(kernel=lambda A, B: A @ B.T, penalty=3.0, tol=1e-9)
    wide.fit(X, None, source=(X_source, np.arange(20) % 2))
    np.testing.assert_allclose(machine.decision_function(X), wide.decision_function(X), atol=1e-8)


def test_few_landmarks_come_near():
    X, bags, _, source = stretched_domains()
    exact = DAKSVM(gamma=0.1).fit(X, bags, source=source).decision_function(X)
    near = DAKSVM(gamma=0.1, n_components=80).fit(X, bags, source=source)
    assert near.support_vectors_.shape == (80, 3)
    assert np.corrcoef(exact, near.decision_function(X))[0, 1] > 0.99


def test_precomputed_kernel_equals_the_kernel_itself():
    X, _, _, (X_source, y_source) = stretched_domains()
    gram = rbf_kernel(np.vstack([X_source, X]), gamma=0.4)
    direct = DAKSVM(gamma=0.4, tol=1e-9).fit(X, None, source=(X_source, y_source))
    given = DAKSVM(kernel="precomputed", tol=1e-9)
    given.fit(gram[40:], None, source=(gram[:40], y_source))
    np.testing.assert_allclose(
        given.decision_function(gram[40:]), direct.decision_function(X), atol=1e-6
    )


def test_a_weight_is_a_number_of_copies():
    X, _, _, (X_source, y_source) = stretched_domains()
    copies = np.arange(40) % 3
    machine = DAKSVM(penalty=5.0, gamma=0.4, tol=1e-9)
    one = machine.fit(X, None, source=(X_source, y_source, copies)).decision_function(X)
    repeated = np.repeat(np.arange(40), copies)
    two = machine.fit(X, None, source=(X_source[repeated], y_source[repeated]))
    np.testing.assert_allclose(one, two.decision_function(X), atol=1e-5)


def test_what_it_cannot_use_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="DAKSVM needs labelled history"):
        DAKSVM().fit(X, bags)
    known = Bags.unlabelled(len(X)).with_labels(labels)
    with pytest.raises(ValueError, match="put labelled target rows into source="):
        DAKSVM().fit(X, known, source=source)
    for bad in ({"penalty": np.inf}, {"theta": 1.5}):
        with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter"):
            DAKSVM(**bad).fit(X, bags, source=source)
    tags = get_bag_tags(DAKSVM())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (True, True, False)
