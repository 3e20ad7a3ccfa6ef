# SPDX-License-Identifier: BSD-3-Clause
"""Bags made from labels: each row in one bag, exact shares, and shares as far apart as asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from bagshift import Bags
from bagshift.datasets import (
    make_bags,
    make_clustered_bags,
    make_feature_bags,
    make_natural_bags,
    make_skewed_bags,
)

LABELS = np.random.default_rng(0).integers(0, 2, 403)
ROWS = np.random.default_rng(1).normal(size=(403, 4)) + 2 * LABELS[:, None]
WIDE_ROWS = np.random.default_rng(2).normal(size=(403, 30)) + LABELS[:, None]
Maker = Callable[[Any, int, Any], Any]
EQUAL_BAGS: dict[str, Maker] = {
    "clustered": lambda labels, size, seed: make_clustered_bags(ROWS, labels, size, seed),
    "clustered wide": lambda labels, size, seed: make_clustered_bags(
        WIDE_ROWS, labels, size, seed
    ),
    "clustered sparse": lambda labels, size, seed: make_clustered_bags(
        csr_matrix(WIDE_ROWS * (WIDE_ROWS > 1)), labels, size, seed
    ),
    "skewed": lambda labels, size, seed: make_skewed_bags(labels, size, 1.0, seed),
    "very skewed": lambda labels, size, seed: make_skewed_bags(labels, size, 1e-9, seed),
    "hardly skewed": lambda labels, size, seed: make_skewed_bags(labels, size, 1e9, seed),
}


def check_shares(bag_ids: Any, shares: dict[int, float], labels: Any) -> None:
    """Shares are those of the labels, and make bags of every row."""
    assert set(shares) == {bag for bag in bag_ids if bag is not Bags.NO_BAG}
    assert all(type(bag) is int and type(share) is float for bag, share in shares.items())
    for bag, share in shares.items():
        assert share == np.mean(np.asarray(labels)[bag_ids == bag])
    bags = Bags.from_arrays(bag_ids, shares)
    assert len(bags) == len(labels)
    assert bags.ids.tolist() == list(dict.fromkeys(b for b in bag_ids if b is not Bags.NO_BAG))


def spread(shares: dict[int, float]) -> float:
    return float(np.std(list(shares.values())))


@pytest.mark.parametrize("maker", EQUAL_BAGS.values(), ids=EQUAL_BAGS)
def test_every_row_is_in_one_bag_of_the_size(maker: Maker) -> None:
    bag_ids, shares = maker(LABELS, 8, 0)
    assert bag_ids.dtype == np.int64
    assert np.bincount(bag_ids).tolist() == [8] * 50 + [3]
    check_shares(bag_ids, shares, LABELS)


@pytest.mark.parametrize("maker", EQUAL_BAGS.values(), ids=EQUAL_BAGS)
def test_same_seed_same_bags(maker: Maker) -> None:
    first, again, other = (maker(LABELS, 8, seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("maker", EQUAL_BAGS.values(), ids=EQUAL_BAGS)
def test_codes_of_labels_do_not_matter(maker: Maker) -> None:
    for labels in (LABELS == 1, 2 * LABELS - 1, LABELS.tolist(), LABELS.astype(np.float32)):
        bag_ids, shares = maker(labels, 8, 0)
        np.testing.assert_array_equal(bag_ids, maker(LABELS, 8, 0)[0])
        assert shares == maker(LABELS, 8, 0)[1]


@pytest.mark.parametrize("maker", EQUAL_BAGS.values(), ids=EQUAL_BAGS)
def test_bags_of_one_and_one_bag(maker: Maker) -> None:
    bag_ids, shares = maker(LABELS, 1, 0)
    assert sorted(bag_ids) == list(range(403))
    assert [shares[bag] for bag in bag_ids] == LABELS.tolist()
    bag_ids, shares = maker(LABELS, 1000, 0)
    assert (bag_ids == 0).all()
    assert shares == {0: LABELS.mean()}


@pytest.mark.parametrize("maker", EQUAL_BAGS.values(), ids=EQUAL_BAGS)
@pytest.mark.parametrize("bag_size", [0, -1, 2.5, True])
def test_bag_size_is_a_number_of_rows(maker: Maker, bag_size: Any) -> None:
    with pytest.raises(ValueError, match="bag_size must be a whole number and at least 1"):
        maker(LABELS, bag_size, 0)


@pytest.mark.parametrize("label", [0, 1])
def test_a_single_class(label: int) -> None:
    labels = np.full(21, label)
    for _, shares in (
        make_skewed_bags(labels, 4, 2.0, 0),
        make_clustered_bags(ROWS[:21], labels, 4),
    ):
        assert set(shares.values()) == {float(label)}


def test_no_rows() -> None:
    assert make_skewed_bags([], 4, 1.0)[1] == {}
    assert make_clustered_bags(np.empty((0, 3)), [], 4)[1] == {}
    assert make_natural_bags([], [])[1] == {}
    assert make_feature_bags(np.empty((0, 2)), [])[1] == {}


@pytest.mark.parametrize("bag_size", [8, 32])
def test_clustered_shares_spread_more_than_random_ones(bag_size: int) -> None:
    for X in (ROWS, WIDE_ROWS, csr_matrix(WIDE_ROWS)):
        clustered = spread(make_clustered_bags(X, LABELS, bag_size, 0)[1])
        assert clustered > 2 * spread(make_bags(LABELS, bag_size, 0)[1])


def test_rows_of_a_clustered_bag_are_alike() -> None:
    def within(bag_ids: Any) -> float:
        return float(np.mean([ROWS[bag_ids == bag].var(axis=0).sum() for bag in set(bag_ids)]))

    clustered, cut = make_clustered_bags(ROWS, LABELS, 8, 0)[0], make_bags(LABELS, 8, 0)[0]
    assert within(clustered) < 0.35 * within(cut)


def test_rows_on_a_line_are_cut_in_their_order() -> None:
    place = np.random.default_rng(3).permutation(24).astype(float)
    bag_ids, _ = make_clustered_bags(place[:, None] * [1.0, 2.0], np.zeros(24), 6, 0)
    for bag in range(4):
        assert np.ptp(place[bag_ids == bag]) == 5


def test_clusters_do_not_see_where_the_rows_lie_or_their_labels() -> None:
    bag_ids, _ = make_clustered_bags(ROWS, LABELS, 8, 0)
    np.testing.assert_array_equal(make_clustered_bags(ROWS + 50, LABELS, 8, 0)[0], bag_ids)
    np.testing.assert_array_equal(make_clustered_bags(ROWS, 1 - LABELS, 8, 0)[0], bag_ids)


def test_equal_rows_are_cut_at_random() -> None:
    shares = make_clustered_bags(np.ones((403, 2)), LABELS, 8, 0)[1]
    assert spread(shares) < 1.3 * spread(make_bags(LABELS, 8, 0)[1])
    assert len(make_clustered_bags(csr_matrix((40, 20)), LABELS[:40], 8, 0)[1]) == 5


def test_skewed_shares_spread_as_the_distributions_say() -> None:
    labels = np.arange(40_000) < 12_000
    for concentration in (0.5, 3.0, 20.0):
        shares = make_skewed_bags(labels, 10, concentration, 0)[1]
        of_probabilities = 0.3 * 0.7 / (concentration + 1)
        expected = of_probabilities + (0.3 * 0.7 - of_probabilities) / 10
        assert np.var(list(shares.values())) == pytest.approx(expected, rel=0.08)


def test_concentration_goes_from_pure_to_random() -> None:
    labels = np.arange(8000) % 2
    pure, skewed, even = (make_skewed_bags(labels, 8, c, 0)[1] for c in (1e-9, 2.0, 1e9))
    assert np.mean([share in (0, 1) for share in pure.values()]) > 0.99
    assert spread(pure) > 1.2 * spread(skewed) > 1.5 * spread(even)
    assert spread(even) == pytest.approx(spread(make_bags(labels, 8, 0)[1]), rel=0.1)


@pytest.mark.parametrize("concentration", [0.0, -1.0, np.nan, np.inf])
def test_concentration_is_above_zero(concentration: float) -> None:
    with pytest.raises(ValueError, match="concentration must be a finite number above 0"):
        make_skewed_bags(LABELS, 8, concentration)


def test_rows_and_labels_must_agree() -> None:
    with pytest.raises(ValueError, match="one label for each of 403 rows"):
        make_clustered_bags(ROWS, LABELS[:-1], 8)
    with pytest.raises(ValueError, match="one label for each of 402 rows"):
        make_natural_bags(LABELS[:-1], LABELS)
    with pytest.raises(ValueError, match="one label per row"):
        make_skewed_bags(LABELS[:, None], 8, 1.0)
    with pytest.raises(ValueError, match="NaN"):
        make_clustered_bags([[np.nan], [1.0]], [0, 1], 1)


@pytest.mark.parametrize(
    "labels",
    [["yes", "no"], ["1", "0"], [None, 1], [0.5, 1], [1, 2], [-1, 0], [-1, 0, 1], [np.nan, 1]],
)
def test_other_labels_are_refused(labels: list[Any]) -> None:
    labels = labels * 4
    for make in (
        lambda: make_bags(labels, 2),
        lambda: make_skewed_bags(labels, 2, 1.0),
        lambda: make_clustered_bags(np.zeros((len(labels), 1)), labels, 2),
        lambda: make_natural_bags(range(len(labels)), labels),
        lambda: make_feature_bags(range(len(labels)), labels),
    ):
        with pytest.raises(ValueError, match="labels must be truth values, or 0 and 1, or -1"):
            make()


@pytest.mark.parametrize("label", [0, 1, -1, True, False, 1.0, np.int8(-1)])
def test_labels_of_one_kind_are_labels(label: Any) -> None:
    assert make_bags([label] * 4, 2, 0)[1] == dict.fromkeys(range(2), float(label == 1))
    nullable = pd.array([True, False], dtype="boolean")
    assert make_bags(nullable, 2, 0)[1] == {0: 0.5}


def test_groups_are_bags_in_order_of_first_appearance() -> None:
    groups = ["b", "a", "b", 3, (1, 2), 3.0, "a"]
    labels = [1, 0, 0, 1, 1, 0, 0]
    bag_ids, shares = make_natural_bags(groups, labels)
    assert bag_ids.dtype == np.int64
    assert bag_ids.tolist() == [0, 1, 0, 2, 3, 2, 1]
    assert shares == {0: 0.5, 1: 0.0, 2: 0.5, 3: 1.0}
    check_shares(bag_ids, shares, labels)


def test_small_and_blank_groups_are_no_bags() -> None:
    groups = ["a", "b", None, "b", "c", "", "c", "c"]
    labels = [1, 0, 0, 1, 1, 0, 0, 1]
    bag_ids, shares = make_natural_bags(groups, labels, min_size=2)
    none = Bags.NO_BAG
    assert bag_ids.tolist() == [none, 0, none, 0, 1, none, 1, 1]
    assert shares == {0: 0.5, 1: 2 / 3}
    assert Bags.from_arrays(bag_ids, shares).bag_index.tolist() == [-1, 0, -1, 0, 1, -1, 1, 1]
    bag_ids, shares = make_natural_bags(groups, labels, min_size=9)
    assert set(bag_ids) == {none}
    assert shares == {}


def test_feature_bags_are_combinations() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, size=(403, 3))
    bag_ids, shares = make_feature_bags(table, LABELS)
    combined = make_natural_bags(list(map(tuple, table.tolist())), LABELS)
    np.testing.assert_array_equal(bag_ids, combined[0])
    assert shares == combined[1]
    check_shares(bag_ids, shares, LABELS)


def test_feature_bags_of_many_columns_and_small_ones_left_out() -> None:
    table = np.random.default_rng(0).integers(0, 2, size=(403, 90)) * 10**9
    assert len(make_feature_bags(table, LABELS)[1]) == len(np.unique(table, axis=0))
    bag_ids, shares = make_feature_bags(table[:, :8], LABELS, min_size=3)
    expected = make_natural_bags(list(map(tuple, table[:, :8].tolist())), LABELS, min_size=3)
    assert bag_ids.tolist() == expected[0].tolist()
    assert shares == expected[1]
    check_shares(bag_ids, shares, LABELS)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_bags_of_frames(frame: Any) -> None:
    table = frame({"work": ["nurse", "cook", None, "cook"], "years": [9, 12, 9, 12]})
    bag_ids, shares = make_feature_bags(table, [1, 1, 1, 0])
    assert bag_ids.tolist() == [0, 1, Bags.NO_BAG, 1]
    assert shares == {0: 1.0, 1: 0.5}


def test_feature_bags_of_one_column() -> None:
    for column in (LABELS * 3 + 1, (LABELS * 3 + 1)[:, None]):
        np.testing.assert_array_equal(
            make_feature_bags(column, LABELS)[0], make_natural_bags(LABELS, LABELS)[0]
        )


@pytest.mark.parametrize("min_size", [0, 1.5, True])
def test_min_size_is_a_number_of_rows(min_size: Any) -> None:
    with pytest.raises(ValueError, match="min_size must be a whole number and at least 1"):
        make_feature_bags([1, 2], [0, 1], min_size=min_size)


def test_columns_must_be_columns() -> None:
    for columns in (np.empty((2, 0)), np.empty((2, 2, 2)), csr_matrix((2, 2))):
        with pytest.raises(ValueError, match="columns must be one column or a table"):
            make_feature_bags(columns, [0, 1])
