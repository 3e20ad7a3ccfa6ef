# SPDX-License-Identifier: BSD-3-Clause
"""Laws of slicing, joining and building, for any bags."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bag_equality import assert_same_bags, is_whole
from bagshift import BagError, Bags, GeometricNoise


@st.composite
def bags_and_parts(draw):
    """Draw bags with every kind of row, and what they were built from."""
    ids = draw(st.lists(st.sampled_from(["a", "b", 1, ("c", 2), Bags.NO_BAG]), max_size=12))
    distinct = [bag for bag in dict.fromkeys(ids) if bag is not Bags.NO_BAG]
    share = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    shares = {bag: draw(share) for bag in distinct}
    extra = {bag: draw(st.integers(0, 3)) for bag in distinct}
    sizes = {bag: ids.count(bag) + extra[bag] for bag in distinct}
    weights = {bag: draw(st.sampled_from([0.5, 1.0, 2.0])) for bag in distinct}
    label = st.sampled_from([None, 0, 1])
    labels = [draw(label) if bag is Bags.NO_BAG else None for bag in ids]
    return ids, shares, sizes, weights, labels


def build(parts):
    ids, shares, sizes, weights, labels = parts
    noise = {
        bag: GeometricNoise(1.0) if ids.count(bag) == 2 else None
        for bag in ids
        if bag is not Bags.NO_BAG
    }
    bags = Bags.from_arrays(ids, shares, sizes=sizes, weights=weights, noise=noise, positive=1)
    return bags.with_labels(labels)


def rows_of(bags):
    return st.lists(st.integers(0, max(len(bags) - 1, 0)), max_size=10 if len(bags) else 0)


@given(bags_and_parts(), st.data())
def test_slicing_composes(parts, data):
    bags = build(parts)
    first = data.draw(rows_of(bags))
    second = data.draw(rows_of(first))
    assert_same_bags(bags[first][second], bags[np.array(first, dtype=int)[second]])


@given(bags_and_parts(), st.data())
def test_all_ways_to_take_rows_agree(parts, data):
    bags = build(parts)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(bags), max_size=len(bags))))
    mask = mask.astype(bool)
    expected = bags[np.flatnonzero(mask)]
    for key in (mask, mask.tolist(), (mask, ...), np.flatnonzero(mask).tolist()):
        assert_same_bags(bags[key], expected)
    start, stop = data.draw(st.integers(-13, 13)), data.draw(st.integers(-13, 13))
    assert_same_bags(bags[start:stop], bags[np.arange(len(bags))[start:stop]])


@given(bags_and_parts(), st.data())
def test_slices_joined_are_the_whole(parts, data):
    bags = build(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(bags)), max_size=3)))
    pieces = [bags[low:high] for low, high in zip([0, *cuts], [*cuts, len(bags)], strict=True)]
    assert_same_bags(Bags.concatenate(pieces), bags)


@given(bags_and_parts(), st.data())
def test_a_part_is_whole_when_it_has_every_row_of_its_bags_once(parts, data):
    bags = build(parts)
    rows = data.draw(rows_of(bags))
    here = [row for row in rows if bags.bag_index[row] >= 0]
    touched = {bags.bag_index[row] for row in here}
    needed = [row for row in range(len(bags)) if bags.bag_index[row] in touched]
    assert is_whole(bags[rows]) == (sorted(here) == needed)


@given(bags_and_parts(), st.randoms())
def test_order_of_rows_is_irrelevant(parts, random):
    """Building from permuted rows is permuting what was built."""
    ids, shares, sizes, weights, labels = parts
    order = list(range(len(ids)))
    random.shuffle(order)
    permuted = ([ids[row] for row in order], shares, sizes, weights, [labels[r] for r in order])
    assert_same_bags(build(permuted), build(parts)[order])
    back = np.argsort(order)
    assert_same_bags(build(parts)[order][back], build(parts))


@given(bags_and_parts(), st.randoms())
def test_order_of_entries_is_irrelevant(parts, random):
    ids, shares, sizes, weights, labels = parts
    items = list(shares.items())
    random.shuffle(items)
    assert_same_bags(build((ids, dict(items), sizes, weights, labels)), build(parts))


@given(bags_and_parts())
def test_names_of_bags_are_irrelevant(parts):
    ids, shares, *_, labels = parts
    new = {bag: f"bag {place}" for place, bag in enumerate(shares)}
    tables = ({new[bag]: value for bag, value in table.items()} for table in parts[1:4])
    renamed = build(([new.get(bag, bag) for bag in ids], *tables, labels))
    bags = build(parts)
    assert renamed.ids.tolist() == [new[bag] for bag in bags.ids]
    for name in ("bag_index", "shares", "sizes", "weights", "label_values", "counts"):
        np.testing.assert_array_equal(getattr(renamed, name), getattr(bags, name))


@given(bags_and_parts(), st.data())
def test_pickle_and_copy_round_trips(parts, data):
    bags = build(parts)[data.draw(st.sampled_from([slice(None), slice(1, None)]))]
    for twin in (pickle.loads(pickle.dumps(bags)), copy.deepcopy(bags), copy.copy(bags)):
        assert_same_bags(twin, bags)
        assert_same_bags(twin[:0], bags[:0])
        arrays = [value for value in vars(twin).values() if isinstance(value, np.ndarray)]
        assert not any(array.flags.writeable for array in arrays)


@given(bags_and_parts())
def test_per_row_input_equals_mappings(parts):
    ids, shares, sizes, weights, labels = parts
    per_row = [[table.get(bag, 1.0) for bag in ids] for table in (shares, sizes, weights)]
    assert_same_bags(build((ids, *per_row, labels)), build(parts))


@given(bags_and_parts(), st.integers(0, 2**32 - 1), st.sampled_from([(), (3,)]))
def test_bag_means_against_a_loop(parts, seed, columns):
    bags = build(parts)
    values = np.random.default_rng(seed).normal(size=(len(bags), *columns))
    means = bags.bag_means(values)
    assert means.shape == (bags.n_bags, *columns)
    for bag in range(bags.n_bags):
        np.testing.assert_allclose(means[bag], values[bags.bag_index == bag].mean(axis=0))


def test_bag_means_are_taken_in_double_precision():
    bags = Bags.from_arrays(["a"] * 2**12, {"a": 0.5})
    values = np.full(2**12, 0.1, dtype=np.float32)
    means = bags.bag_means(values)
    assert means.dtype == np.float64
    np.testing.assert_allclose(means, np.float64(np.float32(0.1)), rtol=1e-15)
    np.testing.assert_allclose(bags.bag_means(values > 0), 1.0)


def test_bag_means_refuse_other_lengths():
    bags = Bags.from_arrays(["a", "b"], {"a": 0.5, "b": 0.5})
    for values in (np.ones(3), 1.0, np.ones((2, 1, 1))):
        with pytest.raises(BagError, match="must have 2 rows"):
            bags.bag_means(values)


# Joining ----------------------------------------------------------------------------------


def test_joined_bags_must_be_the_same():
    bags = Bags.from_arrays(["a", "a"], {"a": 0.5})
    others = [
        Bags.from_arrays(["a", "a"], {"a": 1.0}),
        Bags.from_arrays(["a", "a"], {"a": 0.5}, sizes={"a": 9}),
        Bags.from_arrays(["a", "a"], {"a": 0.5}, weights={"a": 2}),
        Bags.from_arrays(["a", "a"], {"a": 0.5}),
        bags,
    ]
    for other in others:
        with pytest.raises(BagError, match="'a' stand for different bags"):
            Bags.concatenate([bags, other])


def test_halves_of_bags_built_separately_are_not_one_bag():
    left, right = (Bags.from_arrays(["a", "a"], {"a": 0.5}) for _ in range(2))
    with pytest.raises(BagError, match=r"'a' stand for different bags .*built separately"):
        Bags.concatenate([left[:1], right[1:]])
    twin = pickle.loads(pickle.dumps(left))
    assert is_whole(Bags.concatenate([left[:1], twin[1:]]))


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ([Bags.unlabelled(1), None], "holds NoneType"),
        (Bags.unlabelled(1), "is one object"),
        (3, "is one object"),
        ("ab", "holds str"),
    ],
)
def test_only_bags_are_joined(parts, what):
    with pytest.raises(BagError, match=rf"parts {what}: give a list of Bags"):
        Bags.concatenate(parts)


@pytest.mark.parametrize("n_rows", [-1, 2.5, "3", None, True])
def test_number_of_rows_is_a_whole_number(n_rows):
    with pytest.raises(BagError, match=f"n_rows must be a whole number .*, not {n_rows!r}"):
        Bags.unlabelled(n_rows)


def test_joined_bags_keep_their_order_of_appearance():
    left = Bags.from_arrays(["b", Bags.NO_BAG], {"b": 0.5})
    right = Bags.from_arrays(["c", "a"], {"a": 0.0, "c": 1.0})
    joined = Bags.concatenate(part for part in (left, right))
    assert joined.ids.tolist() == ["b", "c", "a"]
    assert joined.bag_index.tolist() == [0, -1, 1, 2]
    assert is_whole(joined)


def test_declared_labels_are_joined():
    declared = Bags.from_arrays(["a"], {"a": 0.5}, positive="yes")
    silent = Bags.unlabelled(1)
    assert Bags.concatenate([silent, declared]).positive == "yes"
    with pytest.raises(BagError, match="different positive= labels, 'yes', 'no'"):
        Bags.concatenate([declared, Bags.unlabelled(1, positive="no")])
    with pytest.raises(BagError, match="must differ, but both are 'yes'"):
        Bags.concatenate([declared, Bags.unlabelled(1, negative="yes")])
    with pytest.raises(BagError, match="at least one"):
        Bags.concatenate([])


# Labels and source rows -------------------------------------------------------------------


def test_labels_only_of_rows_in_no_bag():
    bags = Bags.from_arrays(["a", Bags.NO_BAG, Bags.NO_BAG], {"a": 0.5})
    labelled = bags.with_labels([None, "yes", np.nan])
    assert labelled.label_values.tolist() == [None, "yes", None]
    assert labelled.has_label.tolist() == [False, True, False]
    assert not bags.has_label.any()
    assert labelled.with_labels(["", None, "no"]).label_values.tolist() == [None, "yes", "no"]
    with pytest.raises(BagError, match=r"bag 'a'.*Bags\.NO_BAG"):
        bags.with_labels([1, None, None])
    with pytest.raises(BagError, match="2 entries but there are 3 rows"):
        bags.with_labels([1, None])
    with pytest.raises(BagError, match="source rows"):
        Bags.for_source([0, 1]).with_labels([1, None])


def test_source_rows():
    source = Bags.for_source(np.array([0, 1, 1]), sample_weight=[1, 2, 0])
    assert source.is_source.all()
    assert source.label_values.tolist() == [0, 1, 1]
    assert source.row_weights.tolist() == [1.0, 2.0, 0.0]
    assert source.n_bags == 0
    assert source.target_rows().tolist() == []
    with pytest.raises(BagError, match="missing in 1 rows"):
        Bags.for_source(["yes", None])
    with pytest.raises(BagError, match="sample_weight must hold numbers but holds text"):
        Bags.for_source([0, 1], ["a", "b"])
    with pytest.raises(BagError, match="must be scalars"):
        Bags.for_source([(0, 1), (1, 2)])
    masked = np.ma.array([1, 2], mask=[True, False])
    with pytest.raises(BagError, match="missing in 1 rows"):
        Bags.for_source(masked)
    for weights in ([1], [1, np.nan], [1, -1], [[1], [1]], [[1], [1, 2]], [pd.NA, 1], masked, 3):
        with pytest.raises(BagError, match="sample_weight must hold 2 finite"):
            Bags.for_source([0, 1], weights)
