# SPDX-License-Identifier: BSD-3-Clause
"""Which class the shares are of, and what is warned about."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bagshift import BagError, Bags, BagWarning, LaplaceNoise, PositiveClassWarning
from bagshift.labels import resolve_classes, to_label_array, warn_if_flipped, warn_uninformative


def bags_of(*shares, **declared):
    ids = np.repeat(np.arange(len(shares)), 10)
    return Bags.from_arrays(ids, dict(enumerate(shares)), **declared)


# Classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([1, 0, 1], [0, 1]),
        ([1, -1], [-1, 1]),
        ([True, False], [False, True]),
        (np.array([1.0, 0.0]), [0.0, 1.0]),
        (np.array([0, 1], dtype=np.uint8), [0, 1]),
        (pd.Series([1, 0], dtype="Int64"), [0, 1]),
        (pl.Series([True, False]), [False, True]),
    ],
)
def test_pairs_that_explain_themselves(labels, classes):
    resolved = resolve_classes(labels, bags_of(0.2, 0.8))
    assert resolved.tolist() == classes
    assert type(resolved[0].item()) is type(classes[0])


@pytest.mark.parametrize("labels", [["no", "Yes"], [1, 2], [0, -1], [0.5, 1.0], ["0", "1"]])
def test_other_pairs_have_to_be_declared(labels):
    with pytest.raises(BagError, match="positive=") as raised:
        resolve_classes(labels, bags_of(0.2, 0.8))
    for label in labels:
        assert repr(label) in str(raised.value)
    for positive, negative in (labels, labels[::-1]):
        for declared in (
            {"positive": positive},
            {"negative": negative},
            {"positive": positive, "negative": negative},
        ):
            resolved = resolve_classes(labels * 3, bags_of(0.2, 0.8, **declared))
            assert resolved.tolist() == [negative, positive]


def test_declaring_turns_a_pair_that_explains_itself():
    assert resolve_classes([0, 1], bags_of(0.2, 0.8, positive=0)).tolist() == [1, 0]
    assert resolve_classes([0, 1], bags_of(0.2, 0.8, positive=True)).tolist() == [0, 1]


@pytest.mark.parametrize("argument", ["positive", "negative"])
def test_declared_label_that_no_source_row_has(argument):
    bags = bags_of(0.2, 0.8, **{argument: "yes"})
    with pytest.raises(BagError, match=f"{argument}='yes' is not among.*'No', 'Yes'"):
        resolve_classes(["Yes", "No"], bags)


@pytest.mark.parametrize(
    ("declared", "classes"),
    [
        ({}, [0, 1]),
        ({"positive": "yes"}, ["not yes", "yes"]),
        ({"positive": "yes", "negative": "no"}, ["no", "yes"]),
        ({"positive": 1}, [0, 1]),
        ({"positive": 1.0}, [0.0, 1.0]),
        ({"positive": True}, [False, True]),
        ({"positive": 7, "negative": 3}, [3, 7]),
    ],
)
def test_without_a_source(declared, classes):
    resolved = resolve_classes(None, bags_of(0.2, 0.8, **declared))
    assert resolved.tolist() == classes
    assert resolved.dtype.kind == np.array(classes).dtype.kind


@pytest.mark.parametrize(
    ("declared", "part"), [({"positive": 7}, "negative="), ({"negative": "no"}, "positive=")]
)
def test_without_a_source_one_label_may_not_be_enough(declared, part):
    with pytest.raises(BagError, match=f"declare {part}"):
        resolve_classes(None, bags_of(0.2, 0.8, **declared))


@pytest.mark.parametrize("labels", [["yes"] * 4, [], np.array([1, 1])])
def test_one_class(labels):
    with pytest.raises(ValueError, match="one class only"):
        resolve_classes(labels, bags_of(0.2, 0.8))


def test_three_classes():
    sentence = "Only binary classification is supported. The type of the target is multiclass"
    with pytest.raises(ValueError, match=sentence):
        resolve_classes([0, 1, 2], bags_of(0.2, 0.8))


@pytest.mark.parametrize("missing", [None, np.nan, ""])
def test_missing_source_labels(missing):
    with pytest.raises(ValueError, match=r"missing in 1 rows \(rows 2\)"):
        resolve_classes(["yes", "no", missing], bags_of(0.2, 0.8, positive="yes"))


def test_mixed_types():
    with pytest.raises(ValueError, match="one type to name the classes"):
        resolve_classes([1, "no"], bags_of(0.2, 0.8))


def test_source_inside_the_bags():
    bags = Bags.concatenate([Bags.for_source(["b", "a"]), bags_of(0.2, positive="a")])
    assert resolve_classes(None, bags).tolist() == ["b", "a"]


def test_without_shares_the_order_means_nothing():
    assert resolve_classes(["no", "Yes"], None).tolist() == ["Yes", "no"]
    assert resolve_classes(["no", "Yes"], Bags.unlabelled(3)).tolist() == ["Yes", "no"]
    bags = Bags.unlabelled(3, positive="Yes")
    assert resolve_classes(["no", "Yes"], bags).tolist() == ["no", "Yes"]


def with_labels(labels, **declared):
    ids = ["a", "a", *[Bags.NO_BAG] * len(labels)]
    return Bags.from_arrays(ids, {"a": 0.5}, **declared).with_labels([None, None, *labels])


@pytest.mark.parametrize(
    ("labels", "declared", "classes"),
    [
        ([1], {}, [0, 1]),
        ([0, 1], {}, [0, 1]),
        ([-1], {}, [-1, 1]),
        (["no"], {"positive": "yes"}, ["no", "yes"]),
        (["yes"], {"positive": "yes"}, ["not yes", "yes"]),
        (["yes", "no"], {"positive": "yes"}, ["no", "yes"]),
        ([3], {"positive": 7}, [3, 7]),
    ],
)
def test_labels_of_target_rows_name_classes_too(labels, declared, classes):
    assert resolve_classes(None, with_labels(labels, **declared)).tolist() == classes


def test_labels_of_target_rows_must_be_classes():
    with pytest.raises(BagError, match="with_labels gave rows the labels 2, but the source has 0"):
        resolve_classes([0, 1], with_labels([2]))
    with pytest.raises(BagError, match="'maybe', but the classes are 'no', 'yes'"):
        resolve_classes(None, with_labels(["maybe"], positive="yes", negative="no"))
    with pytest.raises(BagError, match="declare it with"):
        resolve_classes(None, with_labels(["yes", "no"]))


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([1, 0], "i"), ([True], "b"), (["a", "bc"], "U"), ([1, "a"], "O"), ([], "f")],
)
def test_natural_type_of_labels(labels, kind):
    array = to_label_array(np.array(labels, dtype=object))
    assert array.dtype.kind == kind
    assert array.tolist() == labels


# Warnings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "part"),
    [
        ([0.3], "one bag only, 0"),
        ([1.0], "one bag only"),
        ([0.3, 0.3, 0.3], "all 3 bags have the same share, 0.3"),
        ([0.0, 0.0], "all 2 bags have the same share, 0"),
        ([0.0, 1.0, 1.0], "all 3 bags are pure"),
    ],
)
def test_bags_that_say_little(shares, part):
    with pytest.warns(BagWarning, match=part) as caught:
        warn_uninformative(bags_of(*shares))
    assert len(caught) == 1


def test_noise_that_drowns_the_bags_is_told_once():
    law = LaplaceNoise(30.0, unit="counts")
    with pytest.warns(BagWarning, match="noise is larger than the bag in every bag") as caught:
        warn_uninformative(bags_of(0.2, 3.0, -1.0, noise=law))
    assert len(caught) == 1
    some = {0: law, 1: None}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_uninformative(bags_of(0.2, 0.3, noise=some))
        warn_uninformative(bags_of(*np.linspace(0.1, 0.9, 2000), noise=law))


def test_bags_that_say_something():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_uninformative(bags_of(0.2, 0.3))
        warn_uninformative(bags_of(0.0, 0.5, 1.0))
        warn_uninformative(Bags.unlabelled(5))


@pytest.mark.parametrize(
    ("rate", "shares"), [(0.1, [0.9, 0.8, 1.0]), (0.7, [0.3, 0.2, 0.4]), (0.95, [0.0, 0.1])]
)
def test_shares_of_the_other_class(rate, shares):
    with pytest.warns(PositiveClassWarning, match="which class the shares are of"):
        warn_if_flipped(rate, bags_of(*shares))


@pytest.mark.parametrize(
    ("rate", "shares"),
    [
        (0.5, [0.1, 0.9]),
        (0.5, [0.1, 0.1]),
        (0.5, [1.0, 0.9]),
        (0.4, [0.6]),
        (0.1, [0.5]),
        (0.2, [0.2]),
    ],
)
def test_shares_that_merely_differ(rate, shares):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_flipped(rate, bags_of(*shares))
        warn_if_flipped(rate, Bags.unlabelled(3))
