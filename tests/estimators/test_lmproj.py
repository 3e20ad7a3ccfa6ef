# SPDX-License-Identifier: BSD-3-Clause
"""LMPROJ against a conic solver and against its own two other forms; its limits and refusals."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from bagshift import DAKSVM, LMPROJ, Bags, get_bag_tags
from conic import conic_machine
from problems import two_domains

KERNELS = [
    ({"kernel": "linear"}, linear_kernel),
    ({"gamma": 0.4}, lambda A, B: rbf_kernel(A, B, gamma=0.4)),
    ({"kernel": "poly", "gamma": 0.4}, lambda A, B: polynomial_kernel(A, B, 3, 0.4, 0.0)),
]
WEIGHT = np.linspace(0.5, 2.0, 40)


def shift_of(X_source, X, weight=None):
    """Return the difference of the means of two domains."""
    return np.average(X_source, axis=0, weights=weight) - X.mean(axis=0)


def reduced_kernel(kernel, A, B, X_source, X, penalty):
    """Return the kernel of the ordinary machine that LMPROJ is, written as in the literature."""
    squared = (
        kernel(X_source, X_source).mean() - 2 * kernel(X_source, X).mean() + kernel(X, X).mean()
    )
    factor = penalty / squared
    left, right = (
        kernel(rows, X_source).mean(axis=1) - kernel(rows, X).mean(axis=1) for rows in (A, B)
    )
    return kernel(A, B) - 2 * factor / (1 + 2 * factor * squared) * np.outer(left, right)


@pytest.mark.parametrize("penalty", [0.0, 0.5, 30.0])
def test_equals_a_conic_solver_on_the_primal(penalty):
    X, bags, _, (X_source, y_source) = two_domains()
    delta = shift_of(X_source, X, WEIGHT)
    conic = conic_machine(
        X_source,
        2 * y_source - 1,
        1.5 * WEIGHT,
        penalty=penalty * np.outer(delta, delta) / (delta @ delta),
    )
    machine = LMPROJ(C=1.5, penalty=penalty, kernel="linear", tol=1e-9)
    machine.fit(X, bags, source=(X_source, y_source, WEIGHT))
    assert machine.objective_ == pytest.approx(conic.objective, rel=1e-8)
    np.testing.assert_allclose(machine.coef_[0], conic.weights, atol=1e-6)
    np.testing.assert_allclose(machine.decision_function(X), conic.scores(X), atol=1e-4)
    assert machine.mean_distance_ == pytest.approx(np.linalg.norm(delta))
    assert machine.projected_distance_ == pytest.approx(abs(conic.weights @ delta), abs=1e-6)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 1e4])
@pytest.mark.parametrize(("settings", "kernel"), KERNELS)
def test_is_an_svc_with_another_kernel(settings, kernel, penalty):
    X, _, _, (X_source, y_source) = two_domains()
    machine = LMPROJ(C=2.0, penalty=penalty, tol=1e-9, **settings)
    machine.fit(X, None, source=(X_source, y_source))
    gram = reduced_kernel(kernel, X_source, X_source, X_source, X, penalty)
    assert np.linalg.eigvalsh(gram).min() > -1e-10 * np.trace(gram)
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(gram, y_source)
    for rows in (X, X_source, X[::-1] + 1.0):
        wanted = svc.decision_function(
            reduced_kernel(kernel, rows, X_source, X_source, X, penalty)
        )
        np.testing.assert_allclose(machine.decision_function(rows), wanted, atol=1e-4)


@pytest.mark.parametrize("penalty", [0.7, 50.0, np.inf])
def test_linear_machine_is_an_svc_on_rows_shortened_along_the_shift(penalty):
    X, _, _, (X_source, y_source) = two_domains()
    delta = shift_of(X_source, X)
    direction = delta / np.linalg.norm(delta)
    shortening = np.eye(3) - (1 - 1 / np.sqrt(1 + 2 * penalty)) * np.outer(direction, direction)
    svc = SVC(kernel="linear", tol=1e-9).fit(X_source @ shortening, y_source)
    machine = LMPROJ(penalty=penalty, kernel="linear", tol=1e-9)
    machine.fit(X, None, source=(X_source, y_source))
    np.testing.assert_allclose(
        machine.decision_function(X), svc.decision_function(X @ shortening), atol=1e-4
    )


@pytest.mark.parametrize(("settings", "kernel"), KERNELS)
def test_without_penalty_it_is_an_svc(settings, kernel):
    X, bags, labels, source = two_domains()
    weighted = (*source, WEIGHT)
    svc = SVC(kernel=kernel, tol=1e-9).fit(*weighted)
    machine = LMPROJ(penalty=0.0, tol=1e-9, **settings).fit(X, bags, source=weighted)
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)
    svc.fit(X, labels)
    machine = LMPROJ(penalty=7.0, tol=1e-9, **settings).fit(X, labels)
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)
    assert not hasattr(machine, "mean_distance_")


@pytest.mark.parametrize(("settings", "kernel"), KERNELS)
def test_mean_scores_are_as_far_apart_as_it_says(settings, kernel):
    X, _, _, (X_source, y_source) = two_domains()
    X = X + np.array([1.0, 0.0, 0.0])
    distances = []
    for penalty in (0.0, 1.0, 100.0, 1e9, np.inf):
        machine = LMPROJ(penalty=penalty, tol=1e-9, **settings)
        machine.fit(X, None, source=(X_source, y_source))
        scores = machine.decision_function(X_source).mean() - machine.decision_function(X).mean()
        assert machine.projected_distance_ == pytest.approx(abs(scores), abs=1e-9)
        distances.append(machine.projected_distance_)
    assert distances[0] > 0.05
    assert np.all(np.diff(distances) < 1e-12)
    assert distances[-2] < 1e-6
    assert distances[-1] < 1e-12


def test_penalty_means_the_same_at_every_scale():
    X, _, _, (X_source, y_source) = two_domains()
    small = LMPROJ(C=1.0, penalty=3.0, kernel="linear", tol=1e-9)
    large = LMPROJ(C=1e-4, penalty=3.0, kernel="linear", tol=1e-9)
    one = small.fit(X, None, source=(X_source, y_source)).decision_function(X)
    other = large.fit(100 * X, None, source=(100 * X_source, y_source)).decision_function(100 * X)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_shares_are_not_used():
    X, bags, _, source = two_domains()
    turned = Bags.from_arrays(bags.bag_index, dict(enumerate(bags.positive_shares[::-1])))
    wanted = LMPROJ().fit(X, None, source=source).decision_function(X)
    for given in (bags, turned, Bags.unlabelled(len(X))):
        scores = LMPROJ().fit(X, given, source=source).decision_function(X)
        np.testing.assert_array_equal(scores, wanted)
    tags = get_bag_tags(LMPROJ())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (True, True, False)


def test_a_weight_is_a_number_of_copies():
    X, _, _, (X_source, y_source) = two_domains()
    copies = np.arange(40) % 3
    machine = LMPROJ(penalty=5.0, gamma=0.4, tol=1e-9)
    one = machine.fit(X, None, source=(X_source, y_source, copies)).decision_function(X)
    repeated = np.repeat(np.arange(40), copies)
    two = machine.fit(X, None, source=(X_source[repeated], y_source[repeated]))
    np.testing.assert_allclose(one, two.decision_function(X), atol=1e-6)


def test_precomputed_kernel_equals_the_kernel_itself():
    X, _, _, (X_source, y_source) = two_domains()
    gram = rbf_kernel(np.vstack([X_source, X]), gamma=0.4)
    direct = LMPROJ(penalty=5.0, gamma=0.4, tol=1e-9).fit(X, None, source=(X_source, y_source))
    given = LMPROJ(penalty=5.0, kernel="precomputed", tol=1e-9)
    given.fit(gram[40:], None, source=(gram[:40], y_source))
    np.testing.assert_allclose(
        given.decision_function(gram[40:]), direct.decision_function(X), atol=1e-7
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("penalty", [1.0, np.inf])
def test_domains_without_a_shift_are_not_penalised(dtype, penalty):
    _, _, _, (X_source, y_source) = two_domains()
    X_source = (X_source + 3.0).astype(dtype)
    machine = LMPROJ(penalty=penalty, gamma=0.4, tol=1e-6)
    machine.fit(X_source[::-1].copy(), None, source=(X_source, y_source))
    svc = SVC(gamma=0.4, tol=1e-9).fit(X_source, y_source)
    assert machine.mean_distance_ == machine.projected_distance_ == 0.0
    np.testing.assert_allclose(
        machine.decision_function(X_source), svc.decision_function(X_source), atol=1e-4
    )


def test_swapping_the_classes_turns_the_scores():
    X, _, _, (X_source, y_source) = two_domains()
    machine = LMPROJ(penalty=5.0, tol=1e-9)
    one = machine.fit(X, None, source=(X_source, y_source)).decision_function(X)
    other = machine.fit(X, None, source=(X_source, 1 - y_source)).decision_function(X)
    np.testing.assert_allclose(one, -other, atol=1e-7)


def test_what_it_cannot_use_is_refused():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="needs labelled history of both classes; give it"):
        LMPROJ().fit(X, bags)
    known = Bags.unlabelled(len(X)).with_labels(labels)
    with pytest.raises(ValueError, match="put labelled target rows into source="):
        LMPROJ().fit(X, known, source=source)
    with pytest.raises(ValueError, match="'penalty' parameter"):
        LMPROJ(penalty=-1.0).fit(X, bags, source=source)


@pytest.mark.parametrize("machine", [LMPROJ(), DAKSVM()])
def test_labels_of_one_class_are_refused(machine):
    X, _, labels, _ = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(np.where(labels == 1, labels, None))
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        machine.fit(X, known)
    ids = [Bags.NO_BAG if label else j % 2 for j, label in enumerate(labels)]
    beside_bags = Bags.from_arrays(ids, {0: 0.1, 1: 0.5}).with_labels(
        np.where(labels == 1, labels, None)
    )
    with pytest.raises(ValueError, match="needs labelled history of both classes"):
        machine.fit(X, beside_bags)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("machine", [LMPROJ(C=1e8), DAKSVM(C=1e8)])
def test_costs_that_leave_the_range_of_numbers_are_refused(machine):
    X, _, _, source = two_domains()
    with pytest.raises(ValueError, match="costs of the rows, weights included, leave the range"):
        machine.fit(X, None, source=(*source, np.full(40, 1e300)))
