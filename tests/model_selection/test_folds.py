# SPDX-License-Identifier: BSD-3-Clause
"""What `cv` may be is the same wherever bags are held out."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedKFold

from bagshift import Bags, InverseCalibrationSVM, SourceSVM, stack_domains
from bagshift.exceptions import BagError
from bagshift.model_selection import (
    BagKFold,
    BagShuffleSplit,
    bag_cross_val_predict,
    path_search,
)
from bagshift.model_selection._folds import bag_folds, bag_splits


def search(X, bags, cv):
    return path_search(SourceSVM(), X, bags, grid={"C": [1.0]}, cv=cv)


def predict(X, bags, cv):
    return bag_cross_val_predict(SourceSVM(), X, bags, cv=cv)


both = pytest.mark.parametrize("call", [search, predict])


@pytest.fixture
def rows(domains):
    """Source rows, then bags, then five rows in no bag."""
    X = np.vstack([domains.X, domains.X[:5]])
    bags = Bags.from_arrays([*domains.bag_ids, *[Bags.NO_BAG] * 5], domains.shares)
    return stack_domains(source=domains.source, target=(X, bags))


@both
@pytest.mark.parametrize(
    "cv",
    ["5", b"5", 2.5, True, BagKFold, object(), np.float64(3)],
    ids=["str", "bytes", "float", "bool", "class", "object", "float64"],
)
def test_what_is_no_cv(call, cv, rows):
    with pytest.raises(TypeError, match="cv must be a splitter such as BagKFold") as caught:
        call(*rows, cv)
    assert "\n" not in str(caught.value)


@both
@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut(), StratifiedKFold(3)])
def test_splitters_of_scikit_learn_that_need_groups_or_labels(call, cv, rows):
    with pytest.raises(TypeError, match="themselves: give a number of folds, or BagKFold"):
        call(*rows, cv)


@both
@pytest.mark.parametrize(
    "split",
    [
        5,
        [np.arange(3)],
        "ab",
        (["a"], ["b"]),
        (np.arange(3), np.array([1000])),
        (np.arange(3), np.array([1.5])),
        (np.arange(3), np.array([True, False])),
        (np.array([0, 0, 1]), np.array([2])),
        (np.arange(3), 7),
    ],
    ids=str,
)
def test_what_is_no_split(call, split, rows):
    with pytest.raises(ValueError, match=r"cv must give pairs \(train, test\)"):
        call(*rows, [split])


@both
def test_bags_trained_on_cannot_be_held_out(call, rows):
    X, bags = rows
    train, test = next(BagKFold(4).split(X, bags))
    with pytest.raises(BagError, match=r"cv trains on bags .* in the same fold"):
        call(X, bags, [(np.arange(len(X)), test)])
    with pytest.raises(BagError, match="slicing has cut"):
        call(X, bags, [(train, test[1:])])


@both
def test_rows_in_no_bag_stay_in_training(call, rows):
    X, bags = rows
    train, test = next(BagKFold(4).split(X, bags))
    message = "source rows and rows in no bag in every training set and hold out none"
    for extra in (np.flatnonzero(bags.is_source)[:2], np.array([len(X) - 1])):
        with pytest.raises(ValueError, match=message):
            call(X, bags, [(train, np.append(test, extra))])
        with pytest.raises(ValueError, match=message):
            call(X, bags, [(np.setdiff1d(train, extra), np.append(test, extra))])
        with pytest.raises(ValueError, match=message):
            call(X, bags, [(np.setdiff1d(train, extra), test)])


@both
def test_folds_without_rows(call, rows, domains):
    X, bags = rows
    train, _ = next(BagKFold(4).split(X, bags))
    with pytest.raises(BagError, match="no bag at all"):
        call(X, bags, [])
    with pytest.raises(BagError, match="holds out no bag"):
        call(X, bags, [(train, [])])
    with pytest.raises(BagError, match="trains on no row"):
        call(domains.X, domains.bags, [([], np.arange(len(domains.X)))])


@both
def test_rows_and_bags_must_be_as_many(call, rows):
    X, bags = rows
    splits = list(BagKFold(4).split(X, bags))
    with pytest.raises(ValueError, match=r"inconsistent numbers|bags describe"):
        call(X[1:], bags, splits)


def test_number_of_folds_and_lists_of_splits(domains):
    X, bags = domains.X, domains.bags
    cv = BagKFold(4, shuffle=True, random_state=0)
    machine = InverseCalibrationSVM()
    expected = bag_cross_val_predict(machine, X, bags, cv=cv)
    for same in (4, np.int64(4), list(cv.split(X, bags)), cv.split(X, bags)):
        np.testing.assert_array_equal(bag_cross_val_predict(machine, X, bags, cv=same), expected)


def test_folds_are_in_the_numbering_of_the_target(rows):
    """Some bags are neither trained on nor held out; source rows have no number."""
    X, bags = rows
    splits = bag_splits(BagShuffleSplit(3, test_size=3, train_size=8, random_state=0), X, bags)
    target = bags[bags.target_rows()]
    n_source = len(bags) - len(target)
    for (train, test), fold in zip(splits, bag_folds(splits, bags), strict=True):
        np.testing.assert_array_equal(fold.train_rows, train[~bags.is_source[train]] - n_source)
        np.testing.assert_array_equal(fold.test_rows, test - n_source)
        held_out = np.unique(target.bag_index[fold.test_rows])
        np.testing.assert_array_equal(fold.test_bags, held_out)
        assert (len(fold.train_bags), len(fold.test_bags)) == (8, 3)
        assert not np.isin(fold.test_bags, fold.train_bags).any()
