# SPDX-License-Identifier: BSD-3-Clause
"""Shares and counts of more than two classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bagshift import BagError, Bags, RoundedShareWarning
from bagshift._bags.redrawing import redraw_bags
from bagshift.domains import stack_domains

IDS = ["a", "a", "b", "b", "c", "c"]
TABLE = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
NAMES = ["left", "right", "green"]
FRAME = pd.DataFrame(TABLE, index=["a", "b", "c"], columns=NAMES)
COUNTS = pd.DataFrame([[1, 0, 1], [0, 2, 0], [0, 0, 2]], index=["a", "b", "c"], columns=NAMES)


def refusal(*args, **kwargs):
    with pytest.raises(BagError) as raised:
        Bags.from_arrays(*args, **kwargs)
    return str(raised.value)


@pytest.mark.parametrize(
    "shares",
    [
        dict(zip("abc", TABLE.tolist(), strict=True)),
        np.repeat(TABLE, 2, axis=0),
        np.repeat(TABLE, 2, axis=0).tolist(),
    ],
    ids=["mapping", "array per row", "list per row"],
)
def test_nameless_columns(shares):
    bags = Bags.from_arrays(IDS, shares)
    assert (bags.n_classes, bags.classes) == (3, (0, 1, 2))
    np.testing.assert_array_equal(bags.shares, TABLE)
    assert Bags.from_arrays(IDS, shares, classes=NAMES).classes == tuple(NAMES)


@pytest.mark.parametrize(
    "shares",
    [
        FRAME,
        FRAME.rename_axis("bag").reset_index(),
        pl.DataFrame({"bag": ["a", "b", "c"], **dict(zip(NAMES, TABLE.T, strict=True))}),
        FRAME.T.to_dict(),
    ],
    ids=["index", "column", "polars", "mapping of mappings"],
)
def test_named_columns(shares):
    bags = Bags.from_arrays(IDS, shares)
    assert bags.classes == tuple(NAMES)
    np.testing.assert_array_equal(bags.shares, TABLE)
    turned = Bags.from_arrays(IDS, shares, classes=["green", "left", "right"])
    np.testing.assert_array_equal(turned.shares, TABLE[:, [2, 0, 1]])


def test_an_absent_class_of_a_mapping_has_nothing():
    bags = Bags.from_arrays(["a", "b"], {"a": {"x": 1.0}, "b": {"y": 0.5, "z": 0.5}})
    assert bags.classes == ("x", "y", "z")
    assert bags.shares.tolist() == [[1, 0, 0], [0, 0.5, 0.5]]


def test_counts_give_shares_and_back():
    bags = Bags.from_arrays(IDS, counts=COUNTS)
    np.testing.assert_array_equal(bags.counts, COUNTS)
    np.testing.assert_array_equal(bags.shares, COUNTS / 2)
    many = Bags.from_arrays(IDS, counts=10 * COUNTS)
    assert many.sizes.tolist() == [20, 20, 20]


def test_the_rest_is_a_class():
    some = FRAME[["left", "right"]]
    bags = Bags.from_arrays(IDS, some, other="none")
    assert bags.classes == ("left", "right", "none")
    np.testing.assert_allclose(bags.shares, TABLE)
    counted = Bags.from_arrays(IDS, counts=COUNTS[["left", "right"]], other="none")
    np.testing.assert_array_equal(counted.counts, COUNTS)
    assert Bags.from_arrays(IDS, some, classes=["right"], other="z", positive=None).negative == "z"
    one = Bags.from_arrays(IDS, FRAME["left"], positive="left", other="none")
    assert (one.n_classes, one.negative) == (2, "none")


def test_two_classes_are_as_before():
    frame = pd.DataFrame({"yes": [0.5, 1.0], "no": [0.5, 0.0]}, index=["a", "b"])
    bags = Bags.from_arrays(["a", "b"], frame, classes=["no", "yes"])
    assert (bags.classes, bags.positive, bags.negative) == (None, "yes", "no")
    np.testing.assert_array_equal(bags.positive_shares, [0.5, 1.0])
    three = Bags.from_arrays(["a", "b"], frame.assign(total=1.0), classes=["no", "yes"])
    np.testing.assert_array_equal(three.shares, bags.shares)


def test_rows_and_parts():
    bags = Bags.from_arrays(IDS, FRAME)
    part = bags[[4, 5, 0, 1]]
    assert part.ids.tolist() == ["c", "a"]
    np.testing.assert_array_equal(part.shares, TABLE[[2, 0]])
    both = Bags.concatenate([bags[:2], bags[2:]])
    np.testing.assert_array_equal(both.shares, TABLE)
    assert both.classes == bags.classes
    rows, drawn = redraw_bags(bags, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.shares, bags.shares[bags.bag_index[rows]][::2])


def test_with_a_source():
    X = np.zeros((6, 2))
    bags = Bags.from_arrays(IDS, FRAME)
    _, stacked = stack_domains(source=(np.ones((3, 2)), NAMES), target=(X, bags))
    assert stacked.classes == tuple(NAMES)
    np.testing.assert_array_equal(stacked.shares, TABLE)


def test_one_class_against_the_others():
    bags = Bags.concatenate([Bags.from_arrays(IDS, FRAME), Bags.unlabelled(2)])
    bags = bags.with_labels([None] * 6 + ["left", "green"])
    one = bags.against_rest("green")
    np.testing.assert_array_equal(one.positive_shares, TABLE[:, 2])
    assert one.label_values[6:].tolist() == [False, True]
    assert (one.positive, one.negative, one.n_classes) == (True, False, 2)
    with pytest.raises(BagError, match="'blue' is none of the classes 'left', 'right', 'green'"):
        bags.against_rest("blue")


def test_no_class_is_the_positive_one():
    with pytest.raises(BagError, match=r"there are 3 classes .* Bags\.against_rest\(label\)"):
        _ = Bags.from_arrays(IDS, FRAME).positive_shares


def test_decimals_are_scaled_and_said():
    shares = {"a": [0.33, 0.33, 0.33], "b": [1, 0, 0]}
    with pytest.warns(RoundedShareWarning, match=r"the shares of bag 'a' sum to 1 only but for"):
        bags = Bags.from_arrays(["a", "b"], shares)
    np.testing.assert_allclose(bags.shares.sum(axis=1), 1, atol=1e-15)


def test_shown():
    bags = Bags.from_arrays(IDS, FRAME)
    assert "classes 3 (left 0.233, right 0.517, green 0.25)" in repr(bags)
    assert "<th>left</th><th>right</th><th>green</th>" in bags._repr_html_()
    wide = Bags.from_arrays(["a"], {"a": [1.0] + [0.0] * 25})
    assert "26 (0 1, 1 0, " in repr(wide)
    assert "and 18 more)" in repr(wide)


@pytest.mark.parametrize(
    ("shares", "options", "words"),
    [
        ({"a": [0.5, 0.3, 0.3], "b": [1, 0, 0], "c": [1, 0, 0]}, {}, "must sum to 1, unlike in"),
        ({"a": [-0.5, 1, 0.5], "b": [1, 0, 0], "c": [1, 0, 0]}, {}, "shares must lie in [0, 1]"),
        ({"a": [50, 30, 20], "b": [100, 0, 0], "c": [0, 5, 95]}, {}, "looks like 0-100"),
        (FRAME, {"positive": "left"}, "3 columns of numbers, 'left', 'right', 'green', but posi"),
        (FRAME, {"classes": ["left", "blue", "x"]}, "no column for the classes 'blue', 'x'"),
        (FRAME, {"classes": "left"}, "classes must be a list of labels"),
        (FRAME, {"classes": ["left"]}, "at least two different labels"),
        (FRAME, {"classes": NAMES, "positive": "left"}, "leave positive= and negative= out"),
        (FRAME, {"other": "left"}, "is a column of shares already"),
        (FRAME * 1.5, {"other": "none"}, "must not sum to more than 1 where other="),
        (FRAME.iloc[:, 0], {"classes": NAMES}, "has one number but there are the 3 classes"),
        (FRAME.iloc[:, 0], {"other": "none"}, "declare with positive= which class"),
        (FRAME.iloc[:2], {}, "no entry for bag 'c'"),
        (FRAME.T, {}, "transposed"),
    ],
)
def test_refusals(shares, options, words):
    assert words in refusal(IDS, shares, **options)


def test_counts_must_be_those_of_the_bag():
    assert "must not sum to less than the rows" in refusal(IDS, counts=COUNTS // 2)
    sizes = dict.fromkeys("abc", 3)
    assert "counts of all classes must sum to sizes" in refusal(IDS, counts=COUNTS, sizes=sizes)


def test_parts_of_different_classes():
    one = Bags.from_arrays(["a"], {"a": [1, 0, 0]})
    other = Bags.from_arrays(["b"], {"b": [1, 0, 0]}, classes=NAMES)
    with pytest.raises(BagError, match="the parts have different classes"):
        Bags.concatenate([one, other])
