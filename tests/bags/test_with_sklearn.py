# SPDX-License-Identifier: BSD-3-Clause
"""Bags inside scikit-learn: sliced as X is, and refused where labels are needed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import (
    StratifiedKFold,
    check_cv,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import check_consistent_length, indexable, resample, shuffle
from sklearn.utils.multiclass import type_of_target

from bag_equality import assert_same_bags
from bagshift import BagError, Bags

ROWS = 12
X = np.arange(float(ROWS))[:, None]


@pytest.fixture
def bags():
    """Three bags of four rows."""
    return Bags.from_arrays(np.repeat(["a", "b", "c"], 4), {"a": 0.0, "b": 0.5, "c": 1.0})


def test_scikit_learn_sees_a_sequence_of_rows(bags):
    check_consistent_length(X, bags)
    assert indexable(X, bags)[1] is bags
    part = train_test_split(np.arange(ROWS), X, bags, random_state=0)
    assert_same_bags(part[4], bags[part[0]])
    assert_same_bags(part[5], bags[part[1]])
    rows, mixed = shuffle(np.arange(ROWS), bags, random_state=0)
    assert_same_bags(mixed, bags[rows])
    rows, drawn = resample(np.arange(ROWS), bags, random_state=0)
    assert_same_bags(drawn, bags[rows])


ONE_SENTENCE = r"^Bags are no array of labels, .*cv=BagKFold\(5\) .*stratify=.*scoring="


@pytest.mark.parametrize(
    "needs_labels",
    [
        np.asarray,
        np.array,
        np.mean,
        type_of_target,
        lambda bags: check_cv(5, bags, classifier=True),
        lambda bags: cross_validate(SVC(), X, bags, cv=3),
        lambda bags: next(StratifiedKFold(3).split(X, bags)),
        lambda bags: SelectKBest(k=1).fit(X, bags),
        lambda bags: make_pipeline(SelectKBest(k=1), SVC()).fit(X, bags),
        lambda bags: SVC().fit(X, bags),
    ],
)
def test_what_needs_labels_raises_one_sentence(bags, needs_labels):
    with pytest.raises(TypeError, match=ONE_SENTENCE):
        needs_labels(bags)


@pytest.mark.parametrize("row", [0, np.int64(3), -1, (2, ...)])
def test_a_single_row_is_no_bags(bags, row):
    with pytest.raises(TypeError, match=r"write bags\[\[row\]\]"):
        bags[row]


@pytest.mark.parametrize("key", ["a", 1.5, [1.5], (0, 1), None, np.zeros(3, bool), [99]])
def test_other_keys_are_refused_as_numpy_refuses_them(bags, key):
    with pytest.raises((IndexError, TypeError)):
        bags[key]


def test_bags_are_not_iterated(bags):
    with pytest.raises(TypeError, match="taken by an array"):
        list(bags)


def test_series_and_ellipsis_as_keys(bags):
    assert_same_bags(bags[pd.Series([True] * ROWS)], bags)
    assert_same_bags(bags[...], bags)
    assert_same_bags(bags[(...,)], bags)
    assert_same_bags(bags[[]], bags[:0])


def test_a_cut_bag_names_the_splitter(bags):
    bags.check_whole()
    bags[4:].check_whole()
    bags[::-1].check_whole()
    for cut in (bags[1:], bags[[0, 1, 2, 2]], bags[[0, 1, 2, 3, 3]], bags[::2]):
        with pytest.raises(BagError, match=r"slicing has cut bag.*'a'.*BagKFold"):
            cut.check_whole()


def test_a_declared_size_is_no_cut():
    bags = Bags.from_arrays(["a", "a"], {"a": 0.5}, sizes={"a": 1000})
    bags.check_whole()
    assert bags.sizes.tolist() == [1000.0]
    assert bags[:1].sizes.tolist() == [1000.0]


def test_bags_never_change(bags):
    for name in ("bag_index", "positive_shares", "ids", "sizes", "weights", "label_values"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(bags, name)[0] = 1
    with pytest.raises(AttributeError):
        bags.positive = 1
    assert bags == bags
    assert bags != bags[:]
    assert len({bags, bags}) == 1


def test_input_is_left_alone():
    ids, shares = np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0])
    bags = Bags.from_arrays(ids, shares, sizes=np.array([2.0, 2.0, 1.0]))
    ids[0], shares[:] = 9, 7.0
    assert bags.bag_index.tolist() == [0, 0, 1]
    assert bags.positive_shares.tolist() == [0.5, 1.0]
    weights = np.ones(2)
    source = Bags.for_source([0, 1], weights)
    weights[0] = 5.0
    assert source.row_weights.tolist() == [1.0, 1.0]


# Display ----------------------------------------------------------------------------------


def test_text(bags):
    assert repr(bags) == ("<Bags: 12 rows, 3 bags, sizes 4, shares 0 to 1 (median 0.5)>")
    mixed = Bags.concatenate(
        [Bags.for_source([0, 1]), Bags.unlabelled(2, positive="yes").with_labels([1, None])]
    )
    assert repr(mixed) == (
        "<Bags: 4 rows, 0 bags, positive 'yes', source rows 2, labelled rows 1, rows in no bag 1>"
    )
    assert repr(Bags.from_arrays(["a"], {"a": 1})) == "<Bags: 1 row, 1 bag, sizes 1, shares 1>"


def test_html_shows_the_first_bags(bags):
    text = bags._repr_html_()
    for part in (">a</td>", "<td>4</td>", "0.500", "█", "median 0.5"):
        assert part in text
    many = Bags.from_arrays(range(2000), dict.fromkeys(range(2000), 0.5))
    assert "and 1,995 more" in many._repr_html_()
    assert "<td" in Bags.unlabelled(0)._repr_html_()


def test_html_escapes_ids_and_labels():
    wicked = "<script>alert('&')</script>"
    bags = Bags.from_arrays([wicked], {wicked: 0.5}, positive=wicked)
    text = bags._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)" in text


def test_long_ids_are_shortened():
    long = "x" * 1000
    bags = Bags.from_arrays([long], {long: 0.5})
    assert "x" * 100 not in bags._repr_html_()
    with pytest.raises(BagError) as raised:
        Bags.from_arrays([long], {long: 5.5})
    assert len(str(raised.value)) < 200
