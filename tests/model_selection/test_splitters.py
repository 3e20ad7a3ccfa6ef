# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.svm import SVC

from bagshift import Bags, InverseCalibrationSVM, stack_domains
from bagshift.exceptions import BagError
from bagshift.model_selection import (
    BagKFold,
    BagShuffleSplit,
    LeaveOneBagOut,
    RepeatedBagKFold,
)

SPLITTERS = [
    BagKFold(3),
    BagKFold(3, shuffle=True, random_state=0),
    RepeatedBagKFold(3, n_repeats=2, random_state=0),
    BagShuffleSplit(4, test_size=0.4, random_state=0),
    BagShuffleSplit(4, test_size=1, train_size=2, random_state=0),
    LeaveOneBagOut(),
]
DETERMINISTIC_KFOLDS = [SPLITTERS[0], SPLITTERS[1], SPLITTERS[5]]


def make_bags(bag_of_row, ids=None):
    """Bags with positions given per row, -1 for a row in no bag."""
    bag_of_row = np.asarray(bag_of_row)
    ids = list(range(bag_of_row.max() + 1)) if ids is None else ids
    shares = {ids[k]: (k % 3) / 2 for k in set(bag_of_row[bag_of_row >= 0])}
    return Bags.from_arrays([Bags.NO_BAG if k < 0 else ids[k] for k in bag_of_row], shares)


@st.composite
def bag_layouts(draw):
    n_bags = draw(st.integers(3, 8))
    extra = draw(st.lists(st.integers(-1, n_bags - 1), max_size=25))
    return draw(st.permutations(list(range(n_bags)) + extra))


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@settings(max_examples=30, deadline=None)
@given(layout=bag_layouts())
def test_only_whole_bags_are_held_out(splitter, layout):
    bags = make_bags(layout)
    X = np.zeros((len(layout), 1))
    for train, test in splitter.split(X, bags):
        assert not set(train) & set(test)
        held_out = set(bags.bag_index[test])
        assert held_out
        assert -1 not in held_out
        assert not held_out & set(bags.bag_index[train])
        assert set(test) == set(np.flatnonzero(np.isin(bags.bag_index, list(held_out))))
        assert set(np.flatnonzero(bags.bag_index < 0)) <= set(train)
        bags[test].check_whole()
        bags[train].check_whole()


@pytest.mark.parametrize("splitter", DETERMINISTIC_KFOLDS, ids=repr)
@settings(max_examples=30, deadline=None)
@given(layout=bag_layouts())
def test_folds_hold_every_bag_once(splitter, layout):
    bags = make_bags(layout)
    tests = [test for _, test in splitter.split(np.zeros((len(layout), 1)), bags)]
    assert sorted(np.concatenate(tests)) == list(bags.rows_in_bags())


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@settings(max_examples=30, deadline=None)
@given(layout=bag_layouts(), names=st.permutations([f"bag {k}" for k in range(8)]))
def test_ids_do_not_matter(splitter, layout, names):
    X = np.zeros((len(layout), 1))
    numbered = list(splitter.split(X, make_bags(layout)))
    named = list(splitter.split(X, make_bags(layout, ids=names)))
    for (train, test), (train_named, test_named) in zip(numbered, named, strict=True):
        np.testing.assert_array_equal(train, train_named)
        np.testing.assert_array_equal(test, test_named)


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_source_and_labelled_rows_stay_in_training(splitter):
    target = make_bags([0, 0, 1, 1, 2, 2, 3, 3, 4, -1, -1])
    target = target.with_labels([None] * 9 + [1, None])
    X, y = stack_domains(
        source=(np.zeros((4, 1)), np.array([0, 1, 0, 1])), target=(np.zeros((11, 1)), target)
    )
    always = set(np.flatnonzero(y.is_source | y.has_label | (y.bag_index < 0)))
    assert len(always) == 6
    for train, _ in splitter.split(X, y):
        assert always <= set(train)


@pytest.mark.parametrize(
    ("splitter", "count"),
    list(zip(SPLITTERS, [3, 3, 6, 4, 4, 5], strict=True)),
    ids=repr,
)
def test_number_of_splits(splitter, count):
    bags = make_bags([0, 1, 2, 3, 4, 4])
    X = np.zeros((6, 1))
    assert splitter.get_n_splits(X, bags) == count
    assert len(list(splitter.split(X, bags))) == count


def test_repr_names_the_parameters():
    assert repr(BagKFold(4, shuffle=True, random_state=1)) == (
        "BagKFold(n_splits=4, random_state=1, shuffle=True)"
    )
    assert repr(LeaveOneBagOut()) == "LeaveOneBagOut()"


def test_random_state_fixes_the_folds():
    bags, X = make_bags(np.arange(20)), np.zeros((20, 1))

    def tests(splitter):
        return [tuple(test) for _, test in splitter.split(X, bags)]

    fixed = BagKFold(4, shuffle=True, random_state=3)
    assert tests(fixed) == tests(fixed)
    assert tests(fixed) != tests(BagKFold(4, shuffle=True, random_state=4))
    moving = BagKFold(4, shuffle=True, random_state=np.random.RandomState(3))
    assert tests(moving) != tests(moving)
    first, second = np.array_split(tests(RepeatedBagKFold(4, n_repeats=2, random_state=0)), 2)
    assert not np.array_equal(first, second)


def test_shuffle_split_sizes_are_numbers_of_bags():
    bags, X = make_bags(np.repeat(np.arange(10), 3)), np.zeros((30, 1))
    for train, test in BagShuffleSplit(3, test_size=2, train_size=5).split(X, bags):
        assert len(np.unique(bags.bag_index[test])) == 2
        assert len(np.unique(bags.bag_index[train])) == 5


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_labels_instead_of_bags(splitter):
    with pytest.raises(TypeError, match=r"needs y to be a Bags, got ndarray"):
        next(splitter.split(np.zeros((6, 1)), np.zeros(6)))
    with pytest.raises(TypeError, match=r"needs y to be a Bags, got NoneType"):
        next(splitter.split(np.zeros((6, 1))))


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_too_few_bags(splitter):
    with pytest.raises(BagError, match=r"needs at least [23] bags in y but there are 1;"):
        next(splitter.split(np.zeros((3, 1)), make_bags([0, 0, 0])))


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_groups_are_ignored_with_a_warning(splitter):
    bags, X = make_bags([0, 1, 2, 3, 4]), np.zeros((5, 1))
    with pytest.warns(UserWarning, match="groups is ignored"):
        next(splitter.split(X, bags, groups=np.arange(5)))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BagKFold(1), ValueError, "at least 2; got 1"),
        (lambda: BagKFold(2.5), ValueError, "whole number"),
        (lambda: BagKFold(3, shuffle=1), TypeError, "shuffle must be True or False"),
        (lambda: BagKFold(3, random_state=0), ValueError, "set shuffle=True"),
        (lambda: RepeatedBagKFold(3, n_repeats=0), ValueError, "n_repeats"),
        (lambda: BagShuffleSplit(0), ValueError, "at least 1; got 0"),
    ],
)
def test_arguments_that_cannot_be_used(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_bag_cut_by_kfold_raises_in_fit():
    rng = np.random.default_rng(0)
    X, bags = rng.normal(size=(24, 2)), make_bags(np.repeat(np.arange(6), 4))
    search = GridSearchCV(InverseCalibrationSVM(), {"C": [1.0]}, cv=KFold(5), error_score="raise")
    with pytest.raises(BagError, match="BagKFold"):
        search.fit(X, bags)


def test_splitters_can_be_cloned_inside_a_search():
    search = GridSearchCV(SVC(), {"C": [1.0]}, cv=BagKFold(3))
    assert repr(clone(search).cv) == repr(search.cv)


def test_labels_cannot_be_split_by_an_integer_cv():
    X, bags = np.zeros((12, 1)), make_bags(np.repeat(np.arange(6), 2))
    with pytest.raises(TypeError):
        cross_validate(InverseCalibrationSVM(), X, bags, cv=3)
