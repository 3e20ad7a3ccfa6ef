# SPDX-License-Identifier: BSD-3-Clause
"""From shares to targets of the mean decision value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from bagshift import BagError
from bagshift.calibration import (
    centred_log_ratio,
    class_codes,
    class_probabilities,
    clip_levels,
    clip_shares,
    inverse_calibrate,
)

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


# More than two classes --------------------------------------------------------------------


def compositions(draw_shares, n_bags=6):
    shares = np.random.default_rng(len(draw_shares)).dirichlet(draw_shares, size=n_bags)
    return np.clip(shares, 1e-4, None) / np.clip(shares, 1e-4, None).sum(axis=1, keepdims=True)


def ratios(shares, **settings):
    settings = {"clip": 1e-6, "sizes": np.full(len(shares), 8), "n_rows": 100} | settings
    return centred_log_ratio(shares, **settings)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10, 32])
def test_log_ratio_sums_to_zero_and_the_way_back_is_exact(n_classes):
    shares = compositions(np.ones(n_classes))
    found = ratios(shares)
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(class_probabilities(found), shares, atol=1e-14)
    # The other way to write it: against the mean of the others.
    logs = np.log(shares)
    others = (logs.sum(axis=1, keepdims=True) - logs) / (n_classes - 1)
    np.testing.assert_allclose(found, logs - others, atol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1), st.sampled_from(["auto", "bag", 0.07]))
def test_log_ratio_of_two_classes_is_the_logit(second, clip):
    shares = np.column_stack([1 - np.array(second), second])
    expected = inverse_calibrate(shares[:, 1], clip=clip, sizes=[8] * len(shares), n_rows=100)
    found = ratios(shares, clip=clip)
    np.testing.assert_allclose(found[:, 1], expected.centres, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0], -expected.centres, rtol=0, atol=1e-12)


def test_two_opposite_scores_have_the_sigmoid():
    scores = np.array([-800.0, -2.0, 0.0, 1e-300, 3.0, 800.0])
    found = class_probabilities(np.column_stack([-scores, scores]))
    np.testing.assert_allclose(found[:, 1], expit(scores), atol=1e-15)


def test_log_ratio_follows_the_names_of_classes():
    shares = compositions(np.ones(4))
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(ratios(shares[:, order]), ratios(shares)[:, order], atol=1e-14)


def test_a_share_of_zero_is_clipped_and_moves_all_classes():
    found = ratios([[0.0, 0.5, 0.5]], clip=0.01)[0]
    expected = np.array([0.01, 0.5, 0.5]) / 1.01
    np.testing.assert_allclose(class_probabilities(found[None])[0], expected, atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_log_ratio_of_one_class_alone_is_its_code_times_a_number(n_classes):
    """So that bags of one ask for the same as labelled rows, but for the scale."""
    found = ratios(np.eye(n_classes), clip=0.02)
    expected = logit(0.98) * class_codes(np.arange(n_classes), n_classes)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_codes_sum_to_zero():
    np.testing.assert_array_equal(class_codes([0, 1], 2), [[1, -1], [-1, 1]])
    np.testing.assert_allclose(class_codes([3, 1, 1], 5).sum(axis=1), 0.0, atol=1e-15)
    assert class_codes([], 3).shape == (0, 3)


def test_log_ratio_refuses_what_is_no_share_and_clips_what_is_noisy():
    with pytest.raises(BagError, match=r"shares must lie in \[0, 1\]"):
        ratios([[1.2, -0.2, 0.0]])
    with pytest.raises(BagError, match=r"positions 1: correct"):
        ratios([[1.0, 0.0, 0.0], [1.2, -0.2, 0.0]])
    noisy = ratios([[1.2, -0.2, 0.0]], clip=0.1, noisy=[True])
    np.testing.assert_allclose(noisy, ratios([[1.0, 0.0, 0.0]], clip=0.1))
    for shares in ([0.2, 0.8], [[1.0]]):
        with pytest.raises(ValueError, match="shares must have a column for each of two classes"):
            ratios(shares)
