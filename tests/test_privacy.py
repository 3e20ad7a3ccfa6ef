# SPDX-License-Identifier: BSD-3-Clause
"""Releases of noisy counts: exactly distributed, whole, unclipped, and refused where unsafe."""

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from scipy import stats

from bagshift import BagError, Bags, GeometricNoise, LaplaceNoise, Rounding, noise_counts, privacy
from bagshift._bags.published import published_counts
from bagshift.privacy import draw_two_sided_geometric


class ScriptedRandom:
    """Random numbers from a script; runs out with IndexError."""

    def __init__(self, script):
        self.script, self.chance = list(script), Fraction(1)

    def randrange(self, n):
        self.chance /= n
        value = self.script.pop(0)
        if value >= n:
            raise IndexError("not a choice")
        return value


def bags_of(counts, size=10):
    ids = np.repeat(np.arange(len(counts)), size)
    return Bags.from_arrays(ids, counts=dict(enumerate(counts)))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5, 0.7])
def test_distribution_of_the_noise(epsilon):
    random = Random(7)
    draws = np.array([draw_two_sided_geometric(epsilon, random) for _ in range(20_000)])
    far = int(6 / epsilon)
    values = np.arange(-far, far + 1)
    observed = np.bincount(np.clip(draws, -far - 1, far + 1) + far + 1, minlength=2 * far + 3)
    expected = np.concatenate(
        [
            [stats.dlaplace.cdf(-far - 1, epsilon)],
            stats.dlaplace.pmf(values, epsilon),
            [stats.dlaplace.sf(far, epsilon)],
        ]
    )
    assert stats.chisquare(observed, expected * len(draws)).pvalue > 1e-3


def test_the_coin_of_the_exponential_is_exact():
    """Summed over all sequences of random numbers, True has the alternating series of exp."""
    chance = Fraction(0)
    for length in range(1, 5):
        for script in product(range(8), repeat=length):
            random = ScriptedRandom(script)
            try:
                outcome = privacy._is_exponentially_rare(1, 2, random)
            except IndexError:
                continue
            if not random.script and outcome:
                chance += random.chance
    # One trial more than `length` at the most: 1 - x + x²/2 - x³/6, with x = 1/2.
    x = Fraction(1, 2)
    assert chance == (1 - x) + (x**2 / 2 - x**3 / 6)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 40.0, 1e6])
def test_extreme_privacy(epsilon):
    random = Random(0)
    draws = [draw_two_sided_geometric(epsilon, random) for _ in range(200)]
    assert all(type(draw) is int for draw in draws)
    if epsilon >= 40:
        assert not any(draws)
    else:
        assert 0.5 < np.mean(np.abs(draws)) * epsilon < 2


def test_the_release():
    bags = bags_of(np.arange(11).repeat(30))
    noisy = noise_counts(bags, 0.5, testing=True, seed=3)
    noise = noisy.counts[:, 1] - bags.counts[:, 1]
    np.testing.assert_array_equal(noise, np.rint(noise))
    assert noise.any()
    assert abs(noise.mean()) < 5 * np.sqrt(2) / 0.5 / np.sqrt(330)
    assert noisy.counts[:, 1].min() < 0, "not clipped"
    assert noisy.counts[:, 1].max() > 10, "not clipped"
    assert set(noisy.noise) == {GeometricNoise(0.5)}
    assert noisy.is_noisy.all()
    for name in ("bag_index", "ids", "sizes", "weights"):
        np.testing.assert_array_equal(getattr(noisy, name), getattr(bags, name))
    noisy.check_whole()
    assert len(published_counts(noisy).first_counts) == 330
    assert not bags.is_noisy.any()


def test_noise_is_new_every_time_but_for_tests():
    bags = bags_of([5] * 100)
    releases = [noise_counts(bags, 0.1).positive_shares for _ in range(2)]
    assert (releases[0] != releases[1]).any()
    first, again, other = (
        noise_counts(bags, 0.1, testing=True, seed=seed).positive_shares for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    with pytest.raises(ValueError, match=r"seed makes the noise removable .*testing=True"):
        noise_counts(bags, 0.1, seed=1)


def test_releases_are_not_joined_with_what_they_protect():
    bags = bags_of([5, 6])
    noisy = noise_counts(bags, 30.0)
    for other in (bags, noise_counts(bags, 30.0)):
        with pytest.raises(BagError, match="stand for different bags"):
            Bags.concatenate([noisy[:5], other[5:]])


def test_source_rows_pass():
    source = Bags.for_source([0, 1, 1])
    stacked = Bags.concatenate([source, bags_of([5])])
    noisy = noise_counts(stacked, 1.0)
    np.testing.assert_array_equal(noisy.label_values, stacked.label_values)
    assert noise_counts(Bags.unlabelled(2), 1.0).n_bags == 0


@pytest.mark.parametrize("epsilon", [0, -1.0, np.nan, np.inf])
def test_epsilon_is_positive(epsilon):
    with pytest.raises(ValueError, match="epsilon of GeometricNoise must be"):
        noise_counts(bags_of([5]), epsilon)


def test_what_is_not_released():
    ids = ["a", "a", "b", "b"]
    exact = {"a": 1, "b": 2}
    for bags, says in (
        (Bags.from_arrays(ids, counts=exact, sizes={"a": 2, "b": 9}), "declared size .* bag 'b'"),
        (Bags.from_arrays(ids, {"a": 0.3, "b": 0.5}), "no whole count in bag 'a'"),
        (
            Bags.from_arrays(ids, counts=exact, noise={"a": None, "b": Rounding(2)}),
            "a noise law in bag 'b'",
        ),
        (
            Bags.from_arrays(ids, counts=exact, noise=LaplaceNoise(1, unit="counts")),
            "a noise law in bags 'a', 'b'",
        ),
        (
            Bags.from_arrays([*ids, Bags.NO_BAG], counts=exact).with_labels([None] * 4 + [1]),
            "known in 1 target rows",
        ),
        (Bags.from_arrays(ids, counts=exact)[:3], "slicing has cut bag 'b'"),
    ):
        with pytest.raises(BagError, match=says):
            noise_counts(bags, 1.0)
