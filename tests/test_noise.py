# SPDX-License-Identifier: BSD-3-Clause
"""Noise laws against direct computations of the probability of what was published."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from bagshift import (
    BagError,
    Bags,
    GaussianNoise,
    GeometricNoise,
    LaplaceNoise,
    RoundedShareWarning,
    Rounding,
)
from bagshift._bags import sampling
from bagshift._bags.published import published_counts
from bagshift._bags.sampling import hypergeometric_log_pmf

DROP = 80.0
SCALES = st.floats(0.05, 50)
UNITS = st.sampled_from(["counts", "shares"])


def dense(law, share, size, n_rows):
    """Give log weights of all counts from 0 to n_rows, minus infinity where left out."""
    first, log_weights = law.log_weights(share, size, n_rows)
    assert first >= 0
    assert first + len(log_weights) <= n_rows + 1
    full = np.full(n_rows + 1, -np.inf)
    full[first : first + len(log_weights)] = log_weights
    return full


def assert_same_weights(found, expected, *, drop=DROP, **tolerance):
    """Compare, where what is further below the largest than `drop` may be left out."""
    kept = expected >= expected.max() - drop
    np.testing.assert_allclose(found[kept], expected[kept], **tolerance)
    left_out = np.isneginf(found)
    assert (expected[left_out] < expected.max() - drop + 1e-6).all()


# Laws -------------------------------------------------------------------------------------


@given(st.floats(-20, 40), st.integers(1, 25), SCALES)
def test_laplace_is_the_density_of_the_published_count(count, size, scale):
    found = dense(LaplaceNoise(scale, unit="counts"), count / size, size, size)
    expected = stats.laplace.logpdf(count, loc=np.arange(size + 1), scale=scale)
    assert_same_weights(found, expected, rtol=1e-9, atol=1e-9)


@given(st.floats(-20, 40), st.integers(1, 25), SCALES)
def test_gaussian_is_the_density_of_the_published_count(count, size, scale):
    found = dense(GaussianNoise(scale, unit="counts"), count / size, size, size)
    expected = stats.norm.logpdf(count, loc=np.arange(size + 1), scale=scale)
    assert_same_weights(found, expected, rtol=1e-9, atol=1e-9)


@given(st.integers(-20, 40), st.integers(1, 25), st.floats(0.05, 5))
def test_geometric_is_the_probability_of_the_published_count(count, size, epsilon):
    found = dense(GeometricNoise(epsilon), count / size, size, size)
    expected = stats.dlaplace.logpmf(count - np.arange(size + 1), epsilon)
    assert_same_weights(found, expected, rtol=1e-9, atol=1e-9)


@given(st.floats(0.01, 1), st.integers(1, 30), st.sampled_from([LaplaceNoise, GaussianNoise]))
def test_a_scale_in_shares_is_one_in_counts_times_the_size(scale, size, law):
    in_shares = dense(law(scale, unit="shares"), 0.3, size, size)
    in_counts = dense(law(scale * size, unit="counts"), 0.3, size, size)
    np.testing.assert_allclose(in_shares, in_counts, rtol=1e-9, atol=1e-9)


@given(st.integers(1, 400), st.integers(0, 4), st.data())
def test_rounding_keeps_the_counts_that_round_to_the_share(size, digits, data):
    published = round(data.draw(st.integers(0, size)) / size, digits)
    found = dense(Rounding(digits), published, size, size)
    shares = np.arange(size + 1) / size
    inside = np.abs(shares - published) <= 0.5 * 10.0**-digits + 1e-12
    np.testing.assert_array_equal(found, np.where(inside, 0.0, -np.inf))


def test_both_ways_to_round_a_tie_are_allowed():
    """One of eight is 0.125: 0.12 to the even digit, 0.13 upwards."""
    for published in (0.12, 0.13):
        assert dense(Rounding(2), published, 8, 8)[1] == 0.0
    assert len(Rounding(0).log_weights(1.0, 4, 4)[1]) == 3


@pytest.mark.parametrize("share", [0.333, np.float32(0.333), 1 / 3 - 1 / 3 + 0.333])
def test_single_precision_is_not_more_decimals(share):
    assert Rounding(3).log_weights(share, 9, 9)[0] == 3


@pytest.mark.parametrize(
    ("share", "size", "digits"), [(0.37, 10, 2), (0.3333, 9, 2), (0.333, 1000, 1), (0.5, 1, 1)]
)
def test_rounding_that_no_count_explains(share, size, digits):
    with pytest.raises(BagError, match=rf"no whole count of {size:,} has the share"):
        Rounding(digits).log_weights(share, size, size)


@given(st.sampled_from([-1e6, -3.7, 5.2, 1e9]), st.integers(1, 50))
def test_numbers_far_outside_point_to_the_edge(share, size):
    laws = (
        LaplaceNoise(0.01, unit="counts"),
        GaussianNoise(0.001, unit="shares"),
        GeometricNoise(20),
    )
    for law in laws:
        found = dense(law, share, size, size)
        edge = 0 if share < 0 else size
        assert np.isfinite(found[edge])
        assert np.argmax(found) == edge


@given(st.floats(-3, 4), st.integers(1, 2000), st.floats(1e-9, 1e6))
def test_any_scale_gives_a_finite_largest_weight(share, size, scale):
    for law in (LaplaceNoise(scale, unit="counts"), GaussianNoise(scale, unit="counts")):
        first, log_weights = law.log_weights(share, size, size)
        assert np.isfinite(log_weights).all()
        nearest = np.clip(np.rint(share * size), 0, size)
        assert log_weights[int(nearest) - first] == log_weights.max()


def test_vectors_are_short_for_large_bags():
    assert len(LaplaceNoise(2, unit="counts").log_weights(0.5, 10**6, 10**6)[1]) == 321
    assert len(GaussianNoise(2, unit="counts").log_weights(0.5, 10**6, 10**6)[1]) == 51
    assert len(GeometricNoise(1.0).log_weights(0.0, 10**6, 10**6)[1]) == 81


@settings(max_examples=15)
@given(st.integers(1, 60), st.floats(0.3, 3), st.floats(0.3, 20))
def test_probabilities_of_all_publications_sum_to_one(size, epsilon, scale):
    true = size // 3
    law = GeometricNoise(epsilon)
    far = int(100 / epsilon)
    found = [
        dense(law, count / size, size, size)[true] for count in range(true - far, true + far + 1)
    ]
    assert logsumexp(found) == pytest.approx(0.0, abs=1e-9)
    law, step = GaussianNoise(scale, unit="counts"), scale / 4
    grid = np.arange(true - 10 * scale, true + 10 * scale, step)
    found = [dense(law, count / size, size, size)[true] for count in grid]
    assert logsumexp(found) + np.log(step) == pytest.approx(0.0, abs=1e-9)


# Samples ----------------------------------------------------------------------------------


def brute_force(log_of_population, size, n_rows):
    """Average over the population counts under a flat prior, with SciPy's hypergeometric."""
    counts, populations = np.ogrid[: n_rows + 1, : size + 1]
    with np.errstate(divide="ignore"):
        table = stats.hypergeom.logpmf(counts, size, populations, n_rows)
    joint = table + log_of_population
    return logsumexp(joint, axis=1) + np.log((n_rows + 1) / (size + 1))


@given(st.integers(1, 60), st.data())
def test_hypergeometric_probabilities(size, data):
    n_rows = data.draw(st.integers(0, size))
    positives = data.draw(st.integers(0, size))
    counts = np.arange(-1, n_rows + 2)
    found = np.exp(hypergeometric_log_pmf(counts, size, positives, n_rows))
    expected = stats.hypergeom.pmf(counts, size, positives, n_rows)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)
    assert found.sum() == pytest.approx(1.0)


def test_hypergeometric_of_large_populations():
    counts = np.arange(2000, 4000, 7)
    found = hypergeometric_log_pmf(counts, 10**6, 3 * 10**5, 10**4)
    expected = stats.hypergeom.logpmf(counts, 10**6, 3 * 10**5, 10**4)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)


@given(st.integers(2, 40), st.data())
def test_sample_of_a_known_population_count(size, data):
    n_rows = data.draw(st.integers(1, size - 1))
    positives = data.draw(st.integers(0, size))
    ids = ["a"] * n_rows
    bags = Bags.from_arrays(ids, counts={"a": positives}, sizes={"a": size})
    found = published_counts(bags)
    full = np.full(n_rows + 1, -np.inf)
    full[found.first_counts[0] :][: len(found.log_weights)] = found.log_weights
    known = np.where(np.arange(size + 1) == positives, 0.0, -np.inf)
    assert_same_weights(full, brute_force(known, size, n_rows), rtol=1e-9, atol=1e-9)


@given(st.integers(2, 40), st.floats(-0.4, 1.4), st.floats(0.1, 4), st.data())
def test_sample_of_a_noisy_population_count(size, share, scale, data):
    n_rows = data.draw(st.integers(1, size - 1))
    for law in (
        LaplaceNoise(scale, unit="counts"),
        GaussianNoise(scale, unit="counts"),
        GeometricNoise(1 / scale),
    ):
        in_population = dense(law, share, size, size)
        expected = brute_force(in_population, size, n_rows)
        assert_same_weights(dense(law, share, size, n_rows), expected, rtol=1e-8, atol=1e-8)


@given(st.integers(2, 60), st.integers(0, 2), st.data())
def test_sample_of_a_rounded_population_count(size, digits, data):
    n_rows = data.draw(st.integers(1, size - 1))
    law = Rounding(digits)
    published = round(data.draw(st.integers(0, size)) / size, digits)
    expected = brute_force(dense(law, published, size, size), size, n_rows)
    assert_same_weights(dense(law, published, size, n_rows), expected, rtol=1e-8, atol=1e-8)


@given(st.integers(1, 30), st.integers(1, 30))
def test_the_count_of_a_sample_is_uniform_when_nothing_is_published(n_rows, extra):
    """The flat prior on the population makes the count among the rows uniform too."""
    size = n_rows + extra
    found = dense(Rounding(0), 0.0, size, n_rows)
    other = dense(Rounding(0), 1.0, size, n_rows)
    np.testing.assert_allclose(found, other[::-1], atol=1e-9)
    if size % 2:  # no share is at the tie
        np.testing.assert_allclose(np.logaddexp(found, other), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("law", "share", "size", "n_rows"),
    [
        (LaplaceNoise(0.02, unit="shares"), 0.3, 20_000, 200),
        (LaplaceNoise(0.02, unit="shares"), -0.1, 20_000, 200),
        (LaplaceNoise(10, unit="counts"), 0.001, 20_000, 200),
        (GaussianNoise(0.05, unit="shares"), 0.98, 8_000, 300),
        (GaussianNoise(0.01, unit="shares"), 1.3, 8_000, 300),
        (GeometricNoise(0.02), 0.5, 5_000, 400),
        (Rounding(1), 0.3, 20_000, 200),
        (Rounding(0), 0.0, 3_000, 2_990),
    ],
)
def test_cells_of_counts_stand_for_all_of_them(law, share, size, n_rows, monkeypatch):
    by_cells = dense(law, share, size, n_rows)
    monkeypatch.setattr(sampling, "_MOST_TERMS", 10**9)
    assert_same_weights(by_cells, dense(law, share, size, n_rows), drop=60, rtol=0, atol=1e-4)


def test_a_survey_of_a_nation_is_weighed_quickly_and_as_its_limit():
    """The larger the population, the more it matters by the share of positives alone."""
    law = GaussianNoise(0.01, unit="shares")
    large, larger = (dense(law, 0.4, size, 500) for size in (10**7, 10**9))
    kept = large > large.max() - 30
    difference = large[kept] - larger[kept]  # a density per count: a share spans more of them
    np.testing.assert_allclose(difference, np.log(100), atol=2e-3)


# Values -----------------------------------------------------------------------------------


def test_laws_are_values():
    laws = [
        LaplaceNoise(2, unit="counts"),
        LaplaceNoise(2, unit="shares"),
        GaussianNoise(2, unit="counts"),
        GeometricNoise(2),
        Rounding(2),
    ]
    assert len(set(laws)) == len(laws)
    for law in laws:
        assert pickle.loads(pickle.dumps(law)) == law
        assert eval(repr(law)) == law
    assert LaplaceNoise(2, unit="counts") == LaplaceNoise(2.0, unit="counts")
    with pytest.raises(AttributeError):
        laws[0].scale = 3


def test_the_unit_is_never_guessed():
    for law in (LaplaceNoise, GaussianNoise):
        with pytest.raises(TypeError, match="unit"):
            law(0.1)
        with pytest.raises(TypeError):
            law(0.1, "counts")
        with pytest.raises(ValueError, match='"counts" or "shares", not \'percent\''):
            law(0.1, unit="percent")


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "1", None, True])
def test_scales_are_positive_numbers(bad):
    for make in (
        lambda: LaplaceNoise(bad, unit="counts"),
        lambda: GaussianNoise(bad, unit="shares"),
        lambda: GeometricNoise(bad),
    ):
        with pytest.raises((TypeError, ValueError), match=r"(scale|epsilon) of .*Noise must be"):
            make()


@pytest.mark.parametrize("bad", [-1, 16, 2.0, True, "2", None])
def test_digits_are_a_small_whole_number(bad):
    with pytest.raises((TypeError, ValueError), match="digits of Rounding must be"):
        Rounding(bad)


# All bags of a Bags -----------------------------------------------------------------------


def weights_of(found, bag):
    start, stop = found.weight_starts[bag : bag + 2]
    return found.first_counts[bag], found.log_weights[start:stop]


def test_every_bag_has_its_own_law():
    ids = np.repeat(list("abcdef"), 6)
    laws = {
        "a": None,
        "b": LaplaceNoise(0.1, unit="shares"),
        "c": GeometricNoise(0.5),
        "d": Rounding(1),
        "e": LaplaceNoise(0.1, unit="shares"),
        "f": None,
    }
    shares = {"a": 0.5, "b": -0.2, "c": 1.5, "d": 0.3, "e": 0.4, "f": 0.25}
    sizes = dict.fromkeys("abcde", 6) | {"e": 20, "f": 8}
    found = published_counts(Bags.from_arrays(ids, shares, sizes=sizes, noise=laws))
    assert found.weight_starts[-1] == len(found.log_weights)
    for bag, name in enumerate("abcdef"):
        first, log_weights = weights_of(found, bag)
        if laws[name] is None:
            exact = ("a", 3, 1) if name == "a" else ("f", 0, 3)
            assert (name, first, len(log_weights)) == exact
        else:
            alone = laws[name].log_weights(shares[name], sizes[name], 6)
            assert first == alone[0]
            np.testing.assert_array_equal(log_weights, alone[1])


def test_many_exact_counts():
    counts = np.random.default_rng(0).integers(0, 6, 20_000)
    bags = Bags.from_arrays(np.repeat(np.arange(20_000), 5), counts=dict(enumerate(counts % 6)))
    found = published_counts(bags)
    np.testing.assert_array_equal(found.first_counts, counts)
    np.testing.assert_array_equal(found.log_weights, np.zeros(20_000))
    np.testing.assert_array_equal(found.weight_starts, np.arange(20_001))


def test_no_bags():
    found = published_counts(Bags.unlabelled(3))
    assert found.weight_starts.tolist() == [0]
    assert len(found.first_counts) == len(found.log_weights) == 0


@pytest.mark.parametrize(
    ("share", "size", "counts"),
    [(0.34, 9, [3]), (0.34, 3, [1]), (0.5, 5, [2, 3]), (0.01, 3, [0]), (0.999, 3, [3])],
)
def test_a_share_of_no_whole_count_is_taken_as_rounded(share, size, counts):
    bags = Bags.from_arrays(["a"] * size + ["b"], {"a": share, "b": 1.0})
    with pytest.warns(
        RoundedShareWarning, match=rf"bag 'a' .*it is {share:g} of {size}"
    ) as caught:
        found = published_counts(bags)
    assert len(caught) == 1
    first, log_weights = weights_of(found, 0)
    assert [first + place for place in range(len(log_weights))] == counts
    assert not log_weights.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = published_counts(bags, warn=False)
    np.testing.assert_array_equal(again.first_counts, found.first_counts)


@given(st.integers(1, 400), st.integers(3, 6), st.data())
def test_a_rounded_share_that_one_count_fits_is_silent(size, digits, data):
    counts = data.draw(st.lists(st.integers(0, size), min_size=2, max_size=5))
    counts[0] = min(1, size - 1)
    shares = {bag: round(count / size, digits) for bag, count in enumerate(counts)}
    found = published_counts(Bags.from_arrays(np.repeat(np.arange(len(counts)), size), shares))
    assert found.first_counts.tolist() == counts
    assert not found.log_weights.any()


@pytest.mark.parametrize(
    ("shares", "size", "named"),
    [
        ({"a": 0.127, "b": 0.5}, 2999, "'a', 'b' is"),  # three decimals leave several counts
        ({"a": 0.333, "b": 0.5}, 3, "'b' is"),  # none of three has a share of 0.500
        ({"a": 0.3331, "b": 0.5}, 9, "'a', 'b' is"),
        ({"a": 0.3, "b": 0.123456789}, 9, "'a', 'b' is"),
    ],
)
def test_decimals_that_do_not_tell_the_count_are_named(shares, size, named):
    bags = Bags.from_arrays(np.repeat(list(shares), size), shares)
    with pytest.warns(RoundedShareWarning, match=named):
        published_counts(bags)


@given(st.integers(1, 5000), st.data())
def test_whole_counts_are_exact_without_a_warning(size, data):
    count = data.draw(st.integers(0, size))
    for share in (count / size, float(np.float32(count / size))):
        found = published_counts(Bags.from_arrays(["a"] * size, {"a": share}))
        assert found.first_counts.tolist() == [count]
        assert found.log_weights.tolist() == [0.0]


def test_geometric_noise_is_whole():
    bags = Bags.from_arrays(["a"] * 3, {"a": 1.2}, noise=GeometricNoise(1.0))
    with pytest.warns(RoundedShareWarning, match="bag 'a'"):
        found = published_counts(bags)
    np.testing.assert_array_equal(
        found.log_weights, GeometricNoise(1.0).log_weights(4 / 3, 3, 3)[1]
    )


def test_misfits_are_named():
    ids = np.repeat(list("abc"), 10)
    bags = Bags.from_arrays(ids, {"a": 0.3, "b": 0.37, "c": 0.55}, noise=Rounding(2))
    with pytest.raises(BagError, match=r"bags 'b', 'c' \(the first is 0.37 of 10 under Rounding"):
        published_counts(bags)


def test_a_cut_bag_is_no_sample():
    bags = Bags.from_arrays(["a"] * 4, {"a": 0.5})
    with pytest.raises(BagError, match="slicing has cut bag 'a'"):
        published_counts(bags[:3])
