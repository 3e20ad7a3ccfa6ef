# SPDX-License-Identifier: BSD-3-Clause
"""From shares to targets of the mean decision value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from bagshift import BagError
from bagshift.calibration import clip_levels, clip_shares, inverse_calibrate

TUBES = ["product", "quotient", "constant"]
shares_inside = st.floats(0.05, 0.95)


def targets(shares, **settings):
    settings = {"clip": 1e-6, "sizes": np.full(len(shares), 8), "n_rows": 100} | settings
    return inverse_calibrate(shares, **settings)


@given(st.lists(st.floats(1e-3, 1 - 1e-3), min_size=1), st.sampled_from(["product", "constant"]))
def test_centre_is_the_logit(shares, tube):
    centres = targets(shares, tube=tube).centres
    np.testing.assert_allclose(centres, logit(shares), rtol=0, atol=1e-12)
    np.testing.assert_allclose(expit(centres), shares, rtol=0, atol=1e-12)


@given(shares_inside, st.floats(0, 10))
def test_widths_by_formula(share, epsilon):
    assert targets([share], tube="constant", epsilon=epsilon).half_widths[0] == epsilon
    product = targets([share], tube="product", epsilon=epsilon).half_widths[0]
    np.testing.assert_allclose(product, epsilon * share * (1 - share))


@given(shares_inside)
def test_quotient_tube_is_the_quotient_to_first_order(share):
    epsilon = 1e-6
    found = targets([share], tube="quotient", epsilon=epsilon)
    slope = 1 / (share * (1 - share))
    np.testing.assert_allclose(found.half_widths, epsilon * slope, rtol=1e-4)
    np.testing.assert_allclose(found.centres, logit(share), atol=1e-8)


@given(shares_inside, st.floats(1e-3, 0.04))
def test_quotient_tube_is_a_tolerance_in_units_of_the_share(share, epsilon):
    """It reaches from logit(p - e) to logit(p + e), further out on the side of the pure bag."""
    found = targets([share], tube="quotient", epsilon=epsilon)
    low, high = found.centres - found.half_widths, found.centres + found.half_widths
    np.testing.assert_allclose(expit(low), share - epsilon, atol=1e-12)
    np.testing.assert_allclose(expit(high), share + epsilon, atol=1e-12)
    shift = found.centres[0] - logit(share)
    assert np.sign(np.round(shift, 9)) == np.sign(np.round(share - 0.5, 9)) or abs(shift) < 1e-4


def test_quotient_tube_does_not_swallow_pure_bags():
    found = targets([0.0, 1.0], tube="quotient", epsilon=0.01, clip=1e-3)
    assert found.centres[1] - found.half_widths[1] > 4
    assert found.centres[0] + found.half_widths[0] < -4
    np.testing.assert_allclose(found.centres + found.half_widths, [logit(0.01), logit(0.999)])


@given(st.floats(0, 1), st.sampled_from(TUBES), st.sampled_from(["auto", "bag", 0.02]))
def test_turning_shares_turns_targets(share, tube, clip):
    left = targets([share], tube=tube, clip=clip)
    right = targets([1 - share], tube=tube, clip=clip)
    np.testing.assert_allclose(left.centres, -right.centres, atol=1e-9)
    np.testing.assert_allclose(left.half_widths, right.half_widths, atol=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2), st.sampled_from(TUBES))
def test_targets_grow_with_shares(pair, tube):
    low, high = targets(sorted(pair), tube=tube).centres
    assert low <= high


def test_default_widths():
    for tube, epsilon in (("product", 0.1), ("quotient", 0.01), ("constant", 0.1)):
        default = targets([0.3], tube=tube)
        stated = targets([0.3], tube=tube, epsilon=epsilon)
        assert default.half_widths == stated.half_widths
        assert default.centres == stated.centres


def test_tube_of_no_width():
    for tube in TUBES:
        found = targets([0.0, 0.3, 1.0], tube=tube, epsilon=0.0)
        np.testing.assert_array_equal(found.half_widths, 0.0)
        np.testing.assert_allclose(found.centres, logit([1e-6, 0.3, 1 - 1e-6]))


@pytest.mark.parametrize(
    ("clip", "n_rows", "sizes", "levels"),
    [
        ("auto", 100, [8, 2], [0.01, 0.01]),
        ("auto", 10**6, [8, 2], [1e-3, 1e-3]),
        ("auto", 2, [1, 1], [0.25, 0.25]),
        ("auto", 0, [], []),
        ("bag", 100, [8, 2, 1], [1 / 16, 0.25, 0.25]),
        (0.03, 100, [8, 2], [0.03, 0.03]),
    ],
)
def test_clip_levels(clip, n_rows, sizes, levels):
    found = clip_levels(clip, sizes=sizes, n_rows=n_rows)
    np.testing.assert_allclose(found, levels)
    assert found.shape == (len(sizes),)


@given(st.floats(0, 1), st.integers(1, 50))
def test_a_clipped_share_keeps_its_side(share, size):
    for clip in ("auto", "bag"):
        levels = clip_levels(clip, sizes=[size], n_rows=size)
        clipped = clip_shares([share], levels)[0]
        assert np.sign(clipped - 0.5) == np.sign(share - 0.5)


@pytest.mark.parametrize("clip", ["Auto", 0.0, 0.5, -1, np.nan])
def test_unknown_clip(clip):
    with pytest.raises(ValueError, match="clip must be"):
        targets([0.5], clip=clip)


@pytest.mark.parametrize("epsilon", [-0.1, np.nan, np.inf])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        targets([0.5], epsilon=epsilon)


def test_unknown_tube():
    with pytest.raises(ValueError, match="tube must be one of 'product', 'quotient', 'constant'"):
        targets([0.5], tube="wide")


@pytest.mark.parametrize("tube", TUBES)
@pytest.mark.parametrize("bad", [-0.01, 1.01, np.nan])
def test_bad_shares(bad, tube):
    with pytest.raises(BagError, match=r"\[0, 1\] but do not at positions 1"):
        targets([0.5, bad], tube=tube)


@pytest.mark.parametrize("tube", TUBES)
def test_masked_shares_are_missing(tube):
    with pytest.raises(BagError, match=r"\[0, 1\] but do not at positions 1"):
        targets(np.ma.array([0.5, 0.5], mask=[False, True]), tube=tube)
