# SPDX-License-Identifier: BSD-3-Clause
"""What cannot be used is refused in one sentence that names the argument and the bags."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bagshift import BagError, Bags

IDS = ["a", "a", "a", "b", "b", "c"]
SHARES = {"a": 1 / 3, "b": 0.5, "c": 0.0}
COUNTS = {"a": 1, "b": 1, "c": 0}


def refusal(*args, **kwargs):
    """Return the sentence with which Bags.from_arrays refuses."""
    with pytest.raises(BagError) as raised:
        Bags.from_arrays(*args, **kwargs)
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert not re.search(r"[.!?] [A-Z]", sentence), sentence
    return sentence


def check(sentence, *parts):
    for part in parts:
        assert part in sentence, sentence


# Shares -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [-0.1, 1.2, 1.00001, np.inf, -np.inf, Decimal("1.5")])
def test_share_out_of_range(bad):
    check(refusal(IDS, SHARES | {"b": bad}), "shares", "bag 'b'", f"{float(bad):.6g}")


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, Decimal("NaN")])
def test_missing_share(missing):
    check(refusal(IDS, SHARES | {"b": missing}), "shares is missing (NaN) in bag 'b'")


def test_rounding_is_not_out_of_range():
    bags = Bags.from_arrays(["a", "b"], {"a": 1.0 + 1e-9, "b": -1e-9})
    assert bags.positive_shares.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "shares",
    [{"a": 33, "b": 50, "c": 0}, {"a": 99.5, "b": 2, "c": 0.5}, {"a": 1, "b": 75, "c": 0}],
)
def test_percentages(shares):
    check(refusal(IDS, shares), "looks like 0-100", "divide by 100")
    pairs = {bag: [100 - share, share] for bag, share in shares.items()}
    check(refusal(IDS, pairs), "looks like 0-100", "divide by 100")


@pytest.mark.parametrize("shares", [{"a": 2, "b": 1, "c": 0}, {"a": 300, "b": 0, "c": 20}])
def test_counts_in_place_of_shares(shares):
    check(refusal(IDS, shares), "pass counts= if these whole numbers are counts")


@pytest.mark.parametrize(
    "shares", [SHARES | {"a": 1.2}, SHARES | {"a": 45}, {"a": -3, "b": 50, "c": 4}]
)
def test_not_percentages(shares):
    check(refusal(IDS, shares), "must lie in [0, 1]", "bag")


def test_five_bags_are_named_and_the_others_counted():
    ids = list(range(12))
    sentence = refusal(ids, dict.fromkeys(ids, -1.0))
    check(sentence, "bags 0, 1, 2, 3, 4 and 7 more", "-1")


@pytest.mark.parametrize("text", ["0.5", "50%", b"0.5"])
def test_text_is_no_share(text):
    check(refusal(IDS, SHARES | {"b": text}), "shares", "text", repr(text), "'b'")
    check(refusal(IDS, [text] * 6), "text", "rows 0, 1, 2, 3, 4 and 1 more")


@pytest.mark.parametrize("odd", [1j, datetime.date(2020, 1, 1), object()])
def test_no_number_at_all(odd):
    check(refusal(IDS, SHARES | {"b": odd}), "must hold numbers", type(odd).__name__, "'b'")


def test_shares_vary_within_a_bag():
    check(refusal(IDS, [0.1, 0.1, 0.2, 0.5, 0.5, 0.0]), "shares", "varies within bag 'a'")
    check(refusal(IDS, [0.1, 0.1, np.nan, 0.5, 0.5, 0.0]), "varies within bag 'a'")
    check(refusal(IDS, SHARES, sizes=[3, 4, 4, 2, 2, 1]), "sizes", "varies within bag 'a'")


DATES = np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]")
DURATIONS = np.array([0, 1], "timedelta64[ns]")


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
@pytest.mark.parametrize("values", [DATES, DURATIONS], ids=["dates", "durations"])
def test_dates_and_durations_are_no_shares(values, kind):
    check(refusal([1, 2], kind(values)), "shares must hold numbers", "convert")
    check(
        refusal([1, 2], dict(zip([1, 2], values, strict=True))), "must hold numbers", "bags 1, 2"
    )


@pytest.mark.parametrize(
    "shares", [np.full((6, 1, 2), 0.5), {bag: [[0.5, 0.5]] for bag in SHARES}]
)
def test_tables_are_no_shares(shares):
    check(refusal(IDS, shares), "shares holds tables in place of numbers", "[negative, positive]")


def masked(values, places):
    return np.ma.array(values, mask=np.isin(np.arange(len(values)), places))


ENTRY_MASKED = {"a": [0.5, 0.5], "b": masked([0.5, 0.5], [1]), "c": [1.0, 0.0]}
MASKED_FORMS = {
    "per row": masked([0.5, 0.5, 0.5, 0.25, 0.25, 1.0], [3, 4]),
    "of objects": masked(np.array([0.5, 0.5, 0.5, 0.25, 0.25, 1.0], dtype=object), [3, 4]),
    "pairs per row": np.ma.array(
        np.full((6, 2), 0.5), mask=[[0, 0]] * 3 + [[1, 0]] * 2 + [[0, 0]]
    ),
    "entry": SHARES | {"b": np.ma.masked},
    "entry of no dimension": SHARES | {"b": np.ma.array(0.5, mask=True)},
    "pair": ENTRY_MASKED,
}


@pytest.mark.parametrize("form", MASKED_FORMS)
def test_masked_means_missing(form):
    check(refusal(IDS, MASKED_FORMS[form]), "shares is missing (NaN) in bag 'b'")
    bags = Bags.from_arrays(IDS, MASKED_FORMS[form], on_unmatched="drop")
    assert bags.ids.tolist() == ["a", "c"]


def test_masked_counts_sizes_weights_and_ids():
    whole = masked([3, 3, 3, 2, 2, 1], [3, 4])
    check(refusal(IDS, counts=whole), "counts is missing (NaN) in bag 'b'")
    check(refusal(IDS, SHARES, sizes=whole), "sizes is missing (NaN) in bag 'b'")
    check(refusal(IDS, SHARES, weights=whole), "weights is missing (NaN) in bag 'b'")
    check(refusal(whole, {3: 0.5, 1: 0.5}), "bag_ids is blank in 2 of 6 rows")
    check(refusal(masked(DATES, [1]), {}), "bag_ids is blank in 1 of 2 rows")
    bags = Bags.from_arrays(IDS, np.ma.array([0.5, 0.5, 0.5, 0.25, 0.25, 1.0]))
    assert bags.positive_shares.tolist() == [0.5, 0.25, 1.0]
    with pytest.raises(BagError, match="masked"):
        bags.bag_means(whole)


# Classes ----------------------------------------------------------------------------------


SPREAD = np.linspace(0, 1, 99)
MANY = [f"bag {place}" for place in range(99)]


@pytest.mark.parametrize(
    "shares",
    [
        np.array([1 - SPREAD, SPREAD]),
        {"no": 1 - SPREAD, "yes": SPREAD},
        pd.DataFrame([1 - SPREAD, SPREAD], index=["no", "yes"], columns=MANY),
        pl.DataFrame({"class": ["no", "yes"], **{bag: [0.5, 0.5] for bag in MANY}}),
    ],
    ids=["array", "mapping", "pandas", "polars"],
)
def test_transposed(shares):
    check(refusal(MANY * 2, shares), "transposed")


def test_transposed_with_whole_numbers_as_ids():
    frame = pd.DataFrame([1 - SPREAD, SPREAD])
    check(refusal(list(range(99)) * 2, frame), "transposed")


def test_entries_without_a_number():
    check(refusal(IDS, {bag: [] for bag in SHARES}), "entries without a number")
    check(refusal(IDS, np.empty((6, 0))), "entries without a number")


def test_pairs_that_do_not_sum_to_one():
    check(refusal(IDS, SHARES | {bag: [0.3, 0.3] for bag in SHARES}), "must sum to 1", "'a'")


def test_entries_of_different_kinds():
    check(refusal(IDS, SHARES | {"a": [0.5, 0.5]}), "different kinds or lengths")
    check(refusal(IDS, {"a": [0.5, 0.5], "b": [1.0], "c": [0, 1]}), "different kinds or lengths")
    check(refusal(IDS, {bag: {"yes": 0.5} for bag in SHARES}), "name the one class 'yes'")


def test_two_columns_of_unknown_class():
    frame = pd.DataFrame({"bag": list("abc"), "yes": [0.1] * 3, "no": [0.9] * 3})
    for declared in ({}, {"positive": "Yes"}, {"positive": "yes", "negative": "maybe"}):
        check(refusal(IDS, frame, **declared), "two columns", "'yes', 'no'", "positive=")


def test_positive_equals_negative():
    check(refusal(IDS, SHARES, positive=1, negative=True), "must differ")


@pytest.mark.parametrize(
    "label",
    [(1, 2), [1], {1}, np.array(1), np.array([1, 2]), np.nan, pd.NA, pd.NaT, "", Bags.NO_BAG],
    ids=repr,
)
@pytest.mark.parametrize("name", ["positive", "negative"])
def test_class_labels_are_scalars(name, label):
    check(refusal(IDS, SHARES, **{name: label}), f"{name} must be one label (text, number")
    with pytest.raises(BagError, match=f"{name} must be one label"):
        Bags.unlabelled(1, **{name: label})


@pytest.mark.parametrize(
    "label", ["yes", b"yes", 1, 0.5, True, Decimal(1), np.int8(1), DATES[0], datetime.date.min]
)
def test_scalars_are_class_labels(label):
    assert Bags.from_arrays(IDS, SHARES, positive=label).positive == label


# Ids --------------------------------------------------------------------------------------


def test_bag_without_share_and_share_without_bag():
    shares = {"a": 0.5, "b": 0.5, "d": 0.5}
    sentence = refusal(IDS, shares)
    check(sentence, "no entry for bag 'c' of the rows", "an entry but no row for bag 'd'")
    check(sentence, "on_unmatched")


@pytest.mark.parametrize(
    ("ids", "shares"),
    [(["1", "2"], {1: 0.5, 2: 0.5}), (["x "], {"x": 0.5}), (["X"], {"x": 0.5})],
)
def test_near_misses_are_pointed_out(ids, shares):
    bag, other = ids[0], next(iter(shares))
    check(refusal(ids, shares), f"{bag!r} in the rows is not {other!r}", "type and spelling")


@pytest.mark.parametrize(
    ("bag", "other", "what"),
    [
        ("\xe9", "e\u0301", "Unicode form"),
        ("a\u200b", "a", "invisible characters"),
        ("a", "\ufeffa", "invisible characters"),
        ("A ", "a", "spaces and letter case"),
        ("07", "7", "zeros before or after the number"),
        ("007", 7, "type and zeros before or after the number"),
        (1, "1.0", "type and zeros before or after the number"),
        (b"a", "a", "type"),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("on_unmatched", ["raise", "drop"])
def test_near_misses_say_what_differs(bag, other, what, on_unmatched):
    sentence = refusal([bag], {other: 0.5}, on_unmatched=on_unmatched)
    check(sentence, f"{bag!a} in the rows is not {other!a} (they differ in {what})")


DUPLICATES = {"bag": ["a", "b", "c", "a"], "share": [0.1, 0.2, 0.3, 0.1]}


@pytest.mark.parametrize(
    "shares",
    [
        pd.DataFrame(DUPLICATES),
        pl.DataFrame(DUPLICATES),
        pd.DataFrame(DUPLICATES).set_index("bag")["share"],
        {"a": 0.1, "b": 0.2, "c": 0.3, datetime.date(2020, 1, 1): 0.1, "d": 0.1}
        | {datetime.datetime(2020, 1, 1): 0.1},
    ],
    ids=["pandas", "polars", "Series", "date and midnight"],
)
@pytest.mark.parametrize("on_unmatched", ["raise", "drop"])
def test_duplicate_ids(shares, on_unmatched):
    check(refusal(IDS, shares, on_unmatched=on_unmatched), "more than one entry for bag")


BLANKS = [None, np.nan, "", "  ", b"", b" ", pd.NA, pd.NaT, np.datetime64("NaT")]
BLANKS += [("a", np.nan), ("a", None), ("a", ("b", pd.NaT)), frozenset({np.nan})]


@pytest.mark.parametrize("blank", BLANKS, ids=repr)
def test_blank_id_of_a_row(blank):
    check(refusal([*IDS, blank, blank], SHARES), "blank in 2 of 8 rows", "6, 7", "Bags.NO_BAG")


def test_blank_id_in_columns():
    check(refusal(np.array([1, np.nan]), {1: 0.5}), "blank in 1 of 2 rows")
    check(refusal(pd.Series(["a", None]), {"a": 0.5}), "blank in 1 of 2 rows")
    check(refusal(pl.Series(["a", None]), {"a": 0.5}), "blank in 1 of 2 rows")
    check(refusal(np.array(["NaT"], dtype="datetime64[ns]"), {}), "blank in 1 of 1 rows")


@pytest.mark.parametrize("blank", [None, np.nan, "", pd.NA])
def test_blank_id_of_an_entry(blank):
    check(refusal(IDS, SHARES | {blank: 0.3}), "blank bag id in 1 of 4 entries")


@pytest.mark.parametrize("name", ["TOTAL", "total", "Total:", "All", "sum", "Kings County total"])
def test_total_row_by_its_name(name):
    check(refusal(IDS, SHARES | {name: 0.3}), "total row", repr(name), "leave it out")
    check(refusal(IDS, SHARES, sizes={"a": 9, "b": 9, "c": 9, name: 20}), "sizes", "total row")


@pytest.mark.parametrize("name", ["county", None, 99])
def test_total_row_by_its_number(name):
    check(refusal(IDS, counts=COUNTS | {name: 2}), "counts", "total row", repr(name))
    check(refusal(IDS, SHARES, sizes={"a": 9, "b": 9, "c": 9, name: 27}), "sizes", "total row")


def test_a_bag_may_be_called_total():
    """One bag that covers everything is a legitimate bag when rows are in it."""
    bags = Bags.from_arrays(["all"] * 4, {"all": 0.25})
    assert bags.n_bags == 1
    Bags.from_arrays(["a", "a", "b", "b", "total"], counts={"a": 1, "b": 0, "total": 1})


@pytest.mark.parametrize(
    ("ids", "part"),
    [
        ("abc", "type str"),
        ({"a": 1}, "type dict"),
        (None, "type NoneType"),
        (3, "type int"),
        ({"a", "b"}, "type set"),
        (np.array([["a"]]), "one-dimensional"),
        (np.array("a"), "one-dimensional"),
        ([["a"], ["b"]], "hashable"),
        ([Decimal("sNaN")], "hashable"),
        (pd.DataFrame({"bag": ["a"]}), "select the column"),
        (pl.DataFrame({"bag": ["a"]}), "select the column"),
    ],
)
def test_no_ids_at_all(ids, part):
    check(refusal(ids, SHARES), "bag_ids", part)


@pytest.mark.parametrize(
    "shares",
    [
        0.5,
        "abc",
        {0.1, 0.2},
        np.array(0.5),
        pl.LazyFrame({"bag": list("abc"), "share": [0.1, 0.2, 0.3]}),
        pl.DataFrame({"bag": list("abc"), "share": [0.1, 0.2, 0.3]}).to_arrow(),
    ],
    ids=lambda shares: type(shares).__name__,
)
def test_no_shares_at_all(shares):
    check(refusal(IDS, shares), "shares must be a mapping or Series", type(shares).__name__)


def test_lengths_disagree():
    check(refusal(IDS, [0.1, 0.2, 0.3]), "3 numbers", "6 rows", "never matched by position")
    check(refusal(IDS, np.full((3, 2), 0.5)), "3 numbers", "6 rows")
    check(refusal(IDS, SHARES, sizes=np.ones(5)), "sizes", "5 numbers", "6 rows")


def test_both_or_neither():
    check(refusal(IDS), "exactly one of shares and counts", "neither")
    check(refusal(IDS, SHARES, counts=COUNTS), "exactly one of shares and counts", "both")


def test_unknown_choice():
    check(refusal(IDS, SHARES, on_unmatched="ignore"), "on_unmatched", "'ignore'")


def test_frames_that_are_no_table():
    frame = pd.DataFrame({"bag": [["a"], ["b"]], "share": [0.1, 0.2]})
    check(refusal(IDS, frame), "bag ids of shares must be hashable")
    frame = pd.DataFrame([["a", 0.1, 0.2]], columns=["bag", "share", "share"])
    check(refusal(IDS, frame), "two columns of one name")
    check(refusal(IDS, pd.DataFrame({"bag": list("abc")})), "no column of numbers")


# Counts, sizes, weights -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (1.5, "whole numbers"),
        (-1, "negative"),
        (4, "exceed the size"),
        (np.nan, "missing"),
        (np.inf, "finite"),
    ],
)
def test_bad_counts(bad, part):
    check(refusal(IDS, counts=COUNTS | {"a": bad}), "counts", part, "bag 'a'")
    check(refusal(IDS, counts=COUNTS | {"a": bad}, sizes={"a": 3, "b": 2, "c": 1}), part)


def test_bad_counts_of_both_classes():
    pairs = {"a": [1, 1], "b": [1, 1], "c": [1, 0]}
    check(refusal(IDS, counts=pairs), "less than the rows seen", "bag 'a'")
    sizes = {"a": 9, "b": 2, "c": 1}
    check(refusal(IDS, counts=pairs | {"a": [4, 4]}, sizes=sizes), "must sum to sizes", "bag 'a'")
    pairs = {"a": [3.5, -0.5], "b": [1, 1], "c": [1, 0]}
    check(refusal(IDS, counts=pairs), "counts", "negative", "bag 'a'")


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (2, "smaller than the rows seen"),
        (0, "positive"),
        (-5, "positive"),
        (3.5, "whole numbers"),
        (np.nan, "missing"),
        (np.inf, "finite"),
    ],
)
def test_bad_sizes(bad, part):
    check(refusal(IDS, SHARES, sizes={"a": bad, "b": 2, "c": 1}), "sizes", part, "bag 'a'")


@pytest.mark.parametrize(("bad", "part"), [(0, "positive"), (-1, "positive"), (None, "missing")])
def test_bad_weights(bad, part):
    check(refusal(IDS, SHARES, weights={"a": bad, "b": 2, "c": 1}), "weights", part, "bag 'a'")


def test_sizes_must_cover_the_bags_and_no_others():
    check(refusal(IDS, SHARES, sizes={"a": 3, "b": 2}), "sizes has no entry for bag 'c'")
    sizes = {"a": 3, "b": 2, "c": 1, "d": 1}
    check(refusal(IDS, SHARES, sizes=sizes), "sizes has an entry but no row for bag 'd'")
    Bags.from_arrays(IDS, SHARES, sizes=sizes, on_unmatched="drop")
    check(refusal(IDS, SHARES, sizes={"a": 3}, on_unmatched="drop"), "no entry for bags 'b', 'c'")
    check(refusal(IDS, SHARES, sizes={bag: [1, 2] for bag in SHARES}), "one number per bag")


# Dropping ---------------------------------------------------------------------------------


def test_drop_keeps_what_matches_and_counts_the_rest():
    shares = {"a": 0.5, "c": None, "x": 0.1, "TOTAL": 0.3, None: 0.2}
    bags = Bags.from_arrays([*IDS, None, " "], shares, on_unmatched="drop", sizes={"a": 5, "x": 3})
    assert bags.ids.tolist() == ["a"]
    assert bags.bag_index.tolist() == [0, 0, 0, -1, -1, -1, -1, -1]
    assert bags.sizes.tolist() == [5.0]
    assert bags.dropped.bags_without_rows == ("x", "TOTAL")
    assert bags.dropped.bags_without_share == ("b", "c")
    assert bags.dropped.n_rows_without_share == 3
    assert bags.dropped.n_rows_without_id == 2
    assert bags.dropped.n_blank_entries == 1


def test_drop_refuses_to_drop_everything():
    check(refusal(IDS, {1: 0.5}, on_unmatched="drop"), "no bag of shares is left", "'a', 'b'")


def test_rows_in_no_bag_need_no_share():
    bags = Bags.from_arrays([Bags.NO_BAG, "a", Bags.NO_BAG], [np.nan, 0.5, 7.0])
    assert bags.bag_index.tolist() == [-1, 0, -1]
    assert Bags.from_arrays([Bags.NO_BAG] * 2, {}).n_bags == 0
    assert len(Bags.from_arrays([], {})) == 0
