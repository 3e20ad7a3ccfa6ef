# SPDX-License-Identifier: BSD-3-Clause
"""Bags that carry noise laws: read, sliced, joined, shown, learned from, refused."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from bag_equality import assert_same_bags
from bagshift import (
    TGPLM,
    BagError,
    Bags,
    BagWarning,
    GaussianNoise,
    GeometricNoise,
    InverseCalibrationSVM,
    LaplaceNoise,
    Rounding,
)
from bagshift.calibration import inverse_calibrate
from bagshift.labels import warn_uninformative
from bagshift.metrics import share_error, share_errors, soft_share_error
from problems import two_domains

IDS = ["a", "a", "a", "b", "b", "c"]
SHARES = {"a": -0.2, "b": 0.5, "c": 1.7}
LAPLACE = LaplaceNoise(0.3, unit="shares")
GEOMETRIC = GeometricNoise(1.0)
LAWS = {"a": LAPLACE, "b": None, "c": GEOMETRIC}


def refusal(*args, **kwargs):
    """Return the sentence with which Bags.from_arrays refuses."""
    with pytest.raises(BagError) as raised:
        Bags.from_arrays(*args, **kwargs)
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert not re.search(r"[.!?] [A-Z]", sentence), sentence
    return sentence


# Reading ----------------------------------------------------------------------------------


def test_one_law_for_all_or_one_for_each():
    bags = Bags.from_arrays(IDS, SHARES, noise=LAPLACE)
    assert bags.noise.tolist() == [LAPLACE] * 3
    assert bags.positive_shares.tolist() == list(SHARES.values())
    for noise in (LAWS, dict(reversed(LAWS.items())), pd.Series(LAWS, dtype=object)):
        bags = Bags.from_arrays(IDS, SHARES, noise=noise)
        assert bags.noise.tolist() == list(LAWS.values())
        assert bags.is_noisy.tolist() == [True, False, True]
    assert Bags.from_arrays(IDS, {"a": 0, "b": 1, "c": 0}).noise.tolist() == [None] * 3
    assert Bags.from_arrays(IDS, {"a": 0, "b": 1, "c": 0}, noise=Rounding(1)).is_noisy.sum() == 0


def test_counts_as_noisy_as_shares():
    counts = {"a": -2, "b": 7.5, "c": 1}
    bags = Bags.from_arrays(IDS, counts=counts, noise=GaussianNoise(2, unit="counts"))
    np.testing.assert_allclose(bags.counts[:, 1], [-2, 7.5, 1])
    np.testing.assert_allclose(bags.shares.sum(axis=1), 1)
    pairs = {bag: [IDS.count(bag) - count, count] for bag, count in counts.items()}
    twin = Bags.from_arrays(IDS, counts=pairs, noise=GaussianNoise(2, unit="counts"))
    np.testing.assert_allclose(twin.positive_shares, bags.positive_shares)
    pairs = {bag: [1 - share, share] for bag, share in SHARES.items()}
    twin = Bags.from_arrays(IDS, pairs, noise=LAPLACE)
    np.testing.assert_allclose(twin.positive_shares, list(SHARES.values()))


def test_rows_of_dropped_bags_need_no_law():
    noise = LAWS | {"x": LAPLACE}
    bags = Bags.from_arrays([*IDS, "d"], SHARES, noise=noise, on_unmatched="drop")
    assert bags.noise.tolist() == list(LAWS.values())


# Rows, joining, copies --------------------------------------------------------------------


def test_laws_follow_their_bags():
    bags = Bags.from_arrays(IDS, SHARES, noise=LAWS)
    assert bags[[5, 0, 1, 2]].noise.tolist() == [GEOMETRIC, LAPLACE]
    assert_same_bags(Bags.concatenate([bags[:2], bags[2:]]), bags)
    for twin in (pickle.loads(pickle.dumps(bags)), copy.deepcopy(bags)):
        assert_same_bags(twin, bags)
    assert not bags.noise.flags.writeable


def test_joined_bags_agree_in_their_law():
    bags = Bags.from_arrays(["a", "a"], {"a": 0.5}, noise=LAPLACE)
    state = pickle.loads(pickle.dumps(bags))
    object.__setattr__(state, "noise", np.array([GEOMETRIC], dtype=object))
    with pytest.raises(BagError, match=r"'a' stand for different bags .*noise"):
        Bags.concatenate([bags[:1], state[1:]])


# Showing ----------------------------------------------------------------------------------


def test_the_law_is_shown():
    assert "noise" not in repr(Bags.from_arrays(IDS, {"a": 0, "b": 1, "c": 0}))
    assert repr(Bags.from_arrays(IDS, SHARES, noise=LAPLACE)).endswith(
        ", noise LaplaceNoise(scale=0.3, unit='shares')>"
    )
    bags = Bags.from_arrays(IDS, SHARES, noise=LAWS)
    assert "noise LaplaceNoise(scale=0.3, unit='shares') in 1 bag, Geometric" in repr(bags)
    assert "GeometricNoise(epsilon=1.0) in 1 bag" in bags._repr_html_()
    noise = {"a": LAPLACE, "b": Rounding(1), "c": GEOMETRIC}
    assert "noise of 3 laws in 3 bags" in repr(Bags.from_arrays(IDS, SHARES, noise=noise))
    only_outside = Bags.from_arrays(["a"], {"a": 1.7}, noise=LAPLACE)
    assert "1.7" in only_outside._repr_html_()


# What learns from them --------------------------------------------------------------------


@pytest.mark.parametrize("tube", ["product", "quotient", "constant"])
def test_inverse_calibration_clips_declared_noise_alone(tube):
    settings = {"sizes": [8, 8, 8], "n_rows": 24, "tube": tube, "clip": 0.01}
    noisy = inverse_calibrate([-0.3, 0.4, 1.2], noisy=[True, False, True], **settings)
    plain = inverse_calibrate([0.0, 0.4, 1.0], **settings)
    np.testing.assert_array_equal(noisy.centres, plain.centres)
    np.testing.assert_array_equal(noisy.half_widths, plain.half_widths)
    for flags in (False, [False, True, True]):
        with pytest.raises(BagError, match="must lie in"):
            inverse_calibrate([-0.3, 0.4, 1.2], noisy=flags, **settings)
    with pytest.raises(BagError, match="must lie in"):
        inverse_calibrate([np.nan, 0.4, 1.2], noisy=True, **settings)


@pytest.mark.parametrize("machine", [TGPLM(), InverseCalibrationSVM()])
def test_machines_of_shares_learn_from_noisy_ones(machine):
    X, bags, _, _ = two_domains()
    ids = bags.ids[bags.bag_index]
    shares = dict(zip(bags.ids, 3 * (bags.positive_shares - 0.5) + 0.5, strict=True))
    assert min(shares.values()) < 0
    noisy = Bags.from_arrays(ids, shares, noise=LAPLACE)
    clipped = Bags.from_arrays(ids, {bag: np.clip(share, 0, 1) for bag, share in shares.items()})
    scores = machine.fit(X, noisy).decision_function(X)
    np.testing.assert_allclose(scores, machine.fit(X, clipped).decision_function(X))
    assert machine.score(X, noisy) == pytest.approx(machine.score(X, clipped))


def test_share_errors_are_against_possible_shares():
    bags = Bags.from_arrays(IDS, SHARES, noise=LAPLACE)
    truth = np.array([False, False, False, True, False, True])
    np.testing.assert_allclose(share_errors(bags, truth), 0.0)
    assert share_error(bags, truth) == 0.0
    assert share_error(bags, ~truth) == pytest.approx(4 / 6)
    scores = np.where([True, True, True, False, False, True], 50.0 * (2 * truth - 1), 0.0)
    assert soft_share_error(bags, scores) == pytest.approx(0.0)


def test_noisy_bags_are_not_called_pure():
    pure = {"a": 0.0, "b": 1.0, "c": 0.0}
    with pytest.warns(BagWarning, match="pure"):
        warn_uninformative(Bags.from_arrays(IDS, pure))
    warn_uninformative(Bags.from_arrays(IDS, pure, noise=Rounding(0)))


# Refusals ---------------------------------------------------------------------------------


def test_undeclared_noise_is_refused_with_the_way_out():
    assert "noise= with its law" in refusal(IDS, SHARES)
    assert "bag 'c' (it has 1.7)" in refusal(IDS, SHARES, noise=LAWS | {"c": None})
    assert "bags 'a', 'c'" in refusal(IDS, SHARES, noise=Rounding(1))
    for bad in (-1, 5, 1.5):
        counts = {"a": bad, "b": 0, "c": 0}
        assert "noise= with its law" in refusal(IDS, counts=counts)


def test_geometric_noise_leaves_counts_whole():
    sentence = refusal(IDS, counts={"a": -1.5, "b": 3, "c": 0}, noise=GEOMETRIC)
    assert "counts must be whole numbers, unlike in bag 'a' (it has -1.5)" in sentence


def test_noisy_numbers_are_finite_and_pairs_fit():
    for bad, says in ((np.nan, "missing"), (np.inf, "finite")):
        assert says in refusal(IDS, SHARES | {"a": bad}, noise=LAPLACE)
        assert says in refusal(IDS, counts=SHARES | {"a": bad}, noise=LAPLACE)
    pairs = {"a": [1.2, -0.1], "b": [0.5, 0.5], "c": [0, 1]}
    assert "must sum to 1" in refusal(IDS, pairs, noise=LAPLACE)


def test_percentages_are_recognised_through_noise():
    shares = {"a": 33.0, "b": 50.0, "c": 0.0}
    assert "divide by 100" in refusal(IDS, shares, noise=LAPLACE)
    wide = LaplaceNoise(20, unit="shares")
    assert Bags.from_arrays(IDS, shares, noise=wide).positive_shares[0] == 33


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (0.1, "something of type float"),
        ("laplace", "something of type str"),
        (LaplaceNoise, "the class LaplaceNoise itself"),
        ([LAPLACE] * 6, "something of type list"),
        (pd.DataFrame({"law": [LAPLACE]}), "something of type DataFrame"),
        (LAWS | {"b": 0.1}, "something of type float for bag 'b'"),
        (LAWS | {"b": Rounding}, "the class Rounding itself for bag 'b'"),
        ({"a": LAPLACE, "b": None}, "noise has no entry for bag 'c'"),
        (LAWS | {"d": LAPLACE}, "noise has an entry but no row for bag 'd'"),
        (pd.Series([LAPLACE] * 2, index=["a", "a"]), "more than one entry for bag 'a'"),
        (LAWS | {None: None}, "noise has a blank bag id"),
    ],
)
def test_what_is_no_law(noise, says):
    assert says in refusal(IDS, SHARES, noise=noise)


# Numbers that cannot be meant ---------------------------------------------------------------

TEN_BAGS = np.repeat(np.arange(10), 50)


def test_percentages_are_seen_through_a_law_in_percent_points():
    percents = {k: 30.0 + 3 * k for k in range(10)}
    with pytest.raises(BagError, match="looks like 0-100"):
        Bags.from_arrays(TEN_BAGS, percents, noise=LaplaceNoise(10, unit="shares"))


def test_shares_given_as_counts_are_seen_through_a_law():
    shares = {k: 0.3 + 0.03 * k for k in range(10)}
    with pytest.raises(BagError, match="counts look like shares"):
        Bags.from_arrays(TEN_BAGS, counts=shares, noise=LaplaceNoise(1.0, unit="counts"))


@pytest.mark.parametrize("by", ["shares", "counts"])
def test_numbers_that_the_law_cannot_explain_are_refused(by):
    size = 50 if by == "counts" else 1
    numbers = dict.fromkeys(range(10), 0.4 * size) | {3: 7.0 * size}
    with pytest.raises(BagError, match="published number of bag 3 lies more than 50 scales"):
        Bags.from_arrays(TEN_BAGS, **{by: numbers}, noise=LaplaceNoise(0.01, unit="shares"))


def test_a_bag_without_a_law_is_asked_for_one():
    with pytest.raises(BagError, match="exactly one law, or None, per bag"):
        Bags.from_arrays(["a", "b"], {"a": 0, "b": 1}, noise={"a": None})
