# SPDX-License-Identifier: BSD-3-Clause
"""Generated domains: moments as stated, best accuracies by formula, repeatable draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

from bagshift.datasets import GeneratedDomains, paper_gaussians, rotated_digits, turned_directions

MAKERS: dict[str, Callable[..., GeneratedDomains]] = {
    "mild": lambda *args, **sizes: paper_gaussians("mild", *args, **sizes),
    "strong": lambda *args, **sizes: paper_gaussians("strong", *args, **sizes),
    "turned": lambda *args, **sizes: turned_directions(5, 30.0, *args, **sizes),
}
LARGE: dict[str, Any] = {"n_source": 200_000, "n_target": 200_000, "n_fresh": 100_000}


def class_direction(X: Any, y: Any) -> Any:
    difference = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    return difference / np.linalg.norm(difference)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_classes_are_balanced_and_rows_mixed(maker: Callable[..., GeneratedDomains]) -> None:
    domains = maker(0, n_source=60, n_target=41, n_fresh=0)
    assert domains.X_source.shape[0] == len(domains.y_source) == 60
    assert domains.y_source.dtype == np.int8
    assert domains.y_source.sum() == 0
    assert domains.y_target.sum() == 1
    assert len(domains.X_fresh) == len(domains.y_fresh) == 0
    assert 10 < np.sum(domains.y_source[1:] != domains.y_source[:-1]) < 50
    assert domains.groups is None


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_same_seed_same_rows(maker: Callable[..., GeneratedDomains]) -> None:
    first, again, other = (maker(seed) for seed in (3, 3, 4))
    for name in ("X_source", "y_source", "X_target", "y_target", "X_fresh", "y_fresh"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert (first.X_source != other.X_source).any()
    np.testing.assert_array_equal(maker(3, n_fresh=5).X_target, first.X_target)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_no_rule_does_better_than_the_best(maker: Callable[..., GeneratedDomains]) -> None:
    domains = maker(0, **LARGE)
    rule = LinearDiscriminantAnalysis().fit(domains.X_target, domains.y_target)
    accuracy = rule.score(domains.X_fresh, domains.y_fresh)
    assert accuracy == pytest.approx(domains.best_accuracy, abs=0.003)


@pytest.mark.parametrize("assumption", ["mild", "strong"])
def test_domains_have_the_printed_variances(assumption: Any) -> None:
    domains = paper_gaussians(assumption, 0, **LARGE, source_mean=(1.0, -2.0))
    np.testing.assert_allclose(domains.X_source.var(axis=0), [2.905, 2.753], rtol=0.015)
    np.testing.assert_allclose(domains.X_source.mean(axis=0), [1.0, -2.0], atol=0.015)
    for X in (domains.X_target, domains.X_fresh):
        np.testing.assert_allclose(X.var(axis=0), [2.342, 0.990], rtol=0.015)
        np.testing.assert_allclose(X.mean(axis=0), [0.18, 0.17], atol=0.015)


@pytest.mark.parametrize(
    ("assumption", "variance", "half", "accuracy"),
    [("mild", 0.9, (1.201, 0.3), 0.903), ("strong", 0.5, (1.357, -0.7), 0.984)],
)
def test_best_accuracies_of_the_paper_gaussians(
    assumption: Any, variance: float, half: tuple[float, float], accuracy: float
) -> None:
    domains = paper_gaussians(assumption, 1, **LARGE)
    expected = norm.cdf(np.hypot(*half) / np.sqrt(variance))
    assert domains.best_accuracy == pytest.approx(expected)
    assert domains.best_accuracy == pytest.approx(accuracy, abs=0.002)
    for label in (-1, 1):
        rows = domains.X_target[domains.y_target == label]
        np.testing.assert_allclose(rows.var(axis=0), variance, rtol=0.02)
        np.testing.assert_allclose(
            rows.mean(axis=0), [0.18, 0.17] + label * np.array(half), atol=0.02
        )
        correlation = np.corrcoef(rows.T)[0, 1]
        assert abs(correlation) < 0.02


def test_a_machine_of_the_source_reaches_what_was_measured() -> None:
    accuracies = []
    for seed in range(10):
        domains = paper_gaussians("mild", seed)
        machine = SVC(gamma=0.2).fit(domains.X_source, domains.y_source)
        accuracies.append(machine.score(domains.X_fresh, domains.y_fresh))
    assert 0.83 < np.mean(accuracies) < 0.87


def test_there_are_two_assumptions_and_two_axes() -> None:
    with pytest.raises(ValueError, match='"mild" or "strong"'):
        paper_gaussians("weak")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="two numbers each"):
        paper_gaussians(target_mean=(1.0, 2.0, 3.0))


@pytest.mark.parametrize("angle", [0.0, 20.0, 70.0, 180.0])
def test_directions_lie_the_angle_apart(angle: float) -> None:
    domains = turned_directions(8, angle, 0, **LARGE)
    of_source = class_direction(domains.X_source, domains.y_source)
    of_target = class_direction(domains.X_target, domains.y_target)
    assert of_source @ of_target == pytest.approx(np.cos(np.deg2rad(angle)), abs=0.01)
    assert domains.best_accuracy == pytest.approx(norm.cdf(1.5))
    rule = (domains.X_fresh @ of_source > 0) * 2 - 1
    expected = norm.cdf(1.5 * np.cos(np.deg2rad(angle)))
    assert np.mean(rule == domains.y_fresh) == pytest.approx(expected, abs=0.01)


def test_noise_is_of_unit_variance() -> None:
    domains = turned_directions(4, 45.0, 0, **LARGE)
    for label in (-1, 1):
        rows = domains.X_source[domains.y_source == label]
        np.testing.assert_allclose(np.cov(rows.T), np.eye(4), atol=0.03)


def test_true_labels_are_worth_what_was_measured() -> None:
    accuracies = []
    for seed in range(6):
        domains = turned_directions(10, 20.0, seed)
        machine = SVC(kernel="linear", C=0.01).fit(domains.X_target, domains.y_target)
        accuracies.append(machine.score(domains.X_fresh, domains.y_fresh))
    assert np.mean(accuracies) == pytest.approx(0.925, abs=0.01)


@pytest.mark.parametrize("n_features", [1, 0, 2.5])
def test_a_plane_needs_two_features(n_features: Any) -> None:
    with pytest.raises(ValueError, match="at least 2"):
        turned_directions(n_features, 20.0)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    "sizes", [{"n_source": 0}, {"n_target": -1}, {"n_fresh": -1}, {"n_source": 2.5}]
)
def test_numbers_of_rows_are_whole(
    maker: Callable[..., GeneratedDomains], sizes: dict[str, Any]
) -> None:
    (name,) = sizes
    with pytest.raises(ValueError, match=f"{name} must be a whole number and at least"):
        maker(0, **sizes)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_angles_and_means_are_finite(value: float) -> None:
    for make in (turned_directions, rotated_digits):
        with pytest.raises(ValueError, match="angle must be a finite number"):
            make(angle=value, **({"n_features": 5} if make is turned_directions else {}))
    with pytest.raises(ValueError, match="two numbers each, and finite"):
        paper_gaussians(target_mean=(0.0, value))


@pytest.mark.parametrize("sizes", [{"n_source": -1}, {"n_source": 2.5}, {"bag_size": 0}])
def test_digits_come_in_whole_numbers(sizes: dict[str, Any]) -> None:
    (name,) = sizes
    with pytest.raises(ValueError, match=f"{name} must be a whole number and at least 1"):
        rotated_digits(**sizes)
