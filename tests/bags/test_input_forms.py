# SPDX-License-Identifier: BSD-3-Clause
"""Every form of input gives the same bags."""

import datetime
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bag_equality import assert_same_bags
from bagshift import BagError, Bags

IDS = ["west", "north", "west", "east", "north", "west"]
SHARES = {"north": 0.5, "east": 1.0, "west": 0.25}
COUNTS = {"north": 1, "east": 1, "west": 2}
NAMES = list(SHARES)
VALUES = list(SHARES.values())
PER_ROW = [SHARES[bag] for bag in IDS]
SIZES = {"north": 20, "east": 10, "west": 3}


@pytest.fixture
def expected():
    """Bags of the plainest form."""
    return Bags.from_arrays(IDS, SHARES)


def test_attributes(expected):
    assert expected.ids.tolist() == ["west", "north", "east"]
    assert expected.bag_index.tolist() == [0, 1, 0, 2, 1, 0]
    assert expected.positive_shares.tolist() == [0.25, 0.5, 1.0]
    assert expected.sizes.tolist() == [3.0, 2.0, 1.0]
    assert expected.rows_per_bag.tolist() == [3, 2, 1]
    assert expected.weights.tolist() == [1.0, 1.0, 1.0]
    assert expected.row_weights.tolist() == [1.0] * 6
    assert not expected.has_label.any()
    assert not expected.is_source.any()
    assert expected.positive is None
    assert expected.negative is None


def test_shapes_are_bags_by_classes(expected):
    """The contract that lets more classes come later: tables are (bags x classes)."""
    for bags in (expected, expected[:3], Bags.unlabelled(4)):
        assert bags.n_classes == 2
        assert bags.shares.shape == (bags.n_bags, bags.n_classes)
        assert bags.counts.shape == (bags.n_bags, bags.n_classes)
        assert bags.shape == (len(bags),)
        assert bags.ndim == 1
        np.testing.assert_allclose(bags.shares.sum(axis=1), 1.0)
        np.testing.assert_array_equal(bags.shares[:, 1], bags.positive_shares)
        np.testing.assert_allclose(bags.counts.sum(axis=1), bags.sizes)


@pytest.mark.parametrize(
    "ids",
    [
        tuple(IDS),
        np.array(IDS),
        np.array(IDS, dtype=object),
        np.array(IDS, dtype=np.dtypes.StringDType()) if hasattr(np.dtypes, "StringDType") else IDS,
        pd.Series(IDS, index=range(10, 16)),
        pd.Series(IDS, dtype="category"),
        pd.Series(IDS, dtype="string"),
        pd.Index(IDS),
        pl.Series(IDS),
        pl.Series(IDS, dtype=pl.Categorical),
        pl.Series(IDS).to_arrow(),
        (bag for bag in IDS),
    ],
    ids=lambda ids: f"{type(ids).__name__}-{getattr(ids, 'dtype', '')}",
)
def test_forms_of_ids(ids, expected):
    assert_same_bags(Bags.from_arrays(ids, SHARES), expected)


SHARE_FORMS = {
    "Series": pd.Series(SHARES),
    "Series in another order": pd.Series(SHARES)[::-1],
    "Series of Float64": pd.Series(SHARES, dtype="Float64"),
    "float32 mapping": {bag: np.float32(share) for bag, share in SHARES.items()},
    "Decimal mapping": {bag: Decimal(str(share)) for bag, share in SHARES.items()},
    "Fraction mapping": {bag: Fraction(share) for bag, share in SHARES.items()},
    "pairs": {bag: [1 - share, share] for bag, share in SHARES.items()},
    "arrays of pairs": {bag: np.array([1 - share, share]) for bag, share in SHARES.items()},
    "frame with index": pd.DataFrame({"yes": VALUES}, index=NAMES),
    "frame with named index": pd.DataFrame(
        {"yes": VALUES, "no": 1.0 - np.array(VALUES)}, index=pd.Index(NAMES, name="precinct")
    ).drop(columns="no"),
    "frame with a column bag": pd.DataFrame({"yes": VALUES, "bag": NAMES}),
    "frame with a column bag_id": pl.DataFrame({"yes": VALUES, "bag_id": NAMES}),
    "frame with ids first": pd.DataFrame({"precinct": NAMES, "yes": VALUES}),
    "filtered frame": pd.DataFrame({"precinct": ["x", *NAMES], "yes": [0.1, *VALUES]})[1:],
    "polars frame": pl.DataFrame({"precinct": NAMES, "yes": VALUES}),
    "frame with classes 1, 0": pd.DataFrame({1: VALUES, 0: 1.0 - np.array(VALUES)}, index=NAMES),
    "polars frame of float32": pl.DataFrame(
        {"bag": NAMES, "yes": pl.Series(VALUES, dtype=pl.Float32)}
    ),
    "list per row": PER_ROW,
    "array per row": np.array(PER_ROW),
    "float16 array per row": np.array(PER_ROW, dtype=np.float16),
    "object array per row": np.array(PER_ROW, dtype=object),
    "column per row": np.array(PER_ROW)[:, None],
    "pairs per row": np.column_stack([1.0 - np.array(PER_ROW), PER_ROW]),
    "lists of pairs per row": [[1.0 - share, share] for share in PER_ROW],
    "polars Series per row": pl.Series(PER_ROW),
    "pandas Series per row": pd.Series(PER_ROW),
    "Arrow array per row": pl.Series(PER_ROW).to_arrow(),
}


@pytest.mark.parametrize("form", SHARE_FORMS)
def test_forms_of_shares(form, expected):
    assert_same_bags(Bags.from_arrays(IDS, SHARE_FORMS[form]), expected)


def test_two_named_columns_go_by_the_declared_class():
    frame = pd.DataFrame({"bag": NAMES, "yes": VALUES, "no": 1.0 - np.array(VALUES)})
    for declared in ({"positive": "yes"}, {"negative": "no"}):
        bags = Bags.from_arrays(IDS, frame, **declared)
        assert bags.positive_shares.tolist() == [0.25, 0.5, 1.0]
    bags = Bags.from_arrays(IDS, frame, positive="no", negative="yes")
    assert bags.positive_shares.tolist() == [0.75, 0.5, 0.0]


def test_id_column_named_as_the_series_of_ids(expected):
    ids = pd.Series(IDS, name="precinct")
    frame = pd.DataFrame({"yes": VALUES, "precinct": NAMES})
    assert_same_bags(Bags.from_arrays(ids, frame), expected)
    ids = pl.Series("precinct", IDS)
    assert_same_bags(Bags.from_arrays(ids, pl.from_pandas(frame)), expected)


def test_bool_shares():
    bags = Bags.from_arrays(["a", "b"], {"a": True, "b": np.bool_(False)})
    assert bags.positive_shares.tolist() == [1.0, 0.0]


COUNT_FORMS = {
    "mapping": COUNTS,
    "Series": pd.Series(COUNTS),
    "whole floats": {bag: float(count) for bag, count in COUNTS.items()},
    "Decimals": {bag: Decimal(count) for bag, count in COUNTS.items()},
    "pairs": {"north": [1, 1], "east": [0, 1], "west": [1, 2]},
    "frame": pl.DataFrame({"bag": list(COUNTS), "n": list(COUNTS.values())}),
    "frame of both": pd.DataFrame({"bag": NAMES, 0: [1, 0, 1], 1: [1, 1, 2]}),
    "per row": [COUNTS[bag] for bag in IDS],
}


@pytest.mark.parametrize("form", COUNT_FORMS)
def test_forms_of_counts(form):
    bags = Bags.from_arrays(IDS, counts=COUNT_FORMS[form])
    assert bags.positive_shares.tolist() == [2 / 3, 0.5, 1.0]
    assert bags.counts.tolist() == [[1.0, 2.0], [1.0, 1.0], [0.0, 1.0]]
    assert bags.sizes.tolist() == [3.0, 2.0, 1.0]


def test_counts_of_declared_sizes():
    bags = Bags.from_arrays(IDS, counts={"north": 7, "east": 1, "west": 0}, sizes=SIZES)
    assert bags.positive_shares.tolist() == [0.0, 0.35, 0.1]
    assert bags.counts.tolist() == [[3.0, 0.0], [13.0, 7.0], [9.0, 1.0]]


def test_counts_of_both_classes_declare_the_size():
    bags = Bags.from_arrays(["a", "a"], counts={"a": [30, 10]})
    assert bags.sizes.tolist() == [40.0]
    assert bags.positive_shares.tolist() == [0.25]


def test_counts_come_back_whole():
    sizes = np.arange(1, 400)
    for count in (1, 3, 49):
        whole = np.minimum(count, sizes)
        bags = Bags.from_arrays(
            sizes, counts=dict(zip(sizes, whole, strict=True)), sizes=sizes.astype(float)
        )
        np.testing.assert_array_equal(bags.counts[:, 1], whole)


@pytest.mark.parametrize(
    "sizes",
    [
        SIZES,
        pd.Series(SIZES),
        pl.DataFrame({"bag": list(SIZES), "voters": list(SIZES.values())}),
        [SIZES[bag] for bag in IDS],
    ],
    ids=["mapping", "Series", "frame", "per row"],
)
def test_forms_of_sizes_and_weights(sizes):
    bags = Bags.from_arrays(IDS, SHARES, sizes=sizes, weights=sizes)
    assert bags.sizes.tolist() == [3.0, 20.0, 10.0]
    assert bags.weights.tolist() == [3.0, 20.0, 10.0]
    bags.check_whole()


# How ids match ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_rows", "in_table"),
    [
        (1, 1.0),
        (np.int64(1), 1),
        (1, np.float32(1)),
        (np.str_("a"), "a"),
        (("a", 1), ("a", 1)),
        (b"a", b"a"),
        (Decimal(1), 1),
        (frozenset({1}), frozenset({1})),
        (np.datetime64("2020-11-03"), datetime.date(2020, 11, 3)),
        (np.datetime64("2020-11-03", "ns"), pd.Timestamp("2020-11-03")),
        (
            np.datetime64("2020-11-03T01:02:03.000000004"),
            pd.Timestamp("2020-11-03T01:02:03.000000004"),
        ),
        (pd.Timestamp("2020-11-03"), datetime.date(2020, 11, 3)),
        (pd.Timestamp("2020-11-03 10:00"), datetime.datetime(2020, 11, 3, 10)),
        (datetime.date(2020, 11, 3), datetime.datetime(2020, 11, 3)),
    ],
    ids=repr,
)
def test_equal_ids_match(in_rows, in_table):
    bags = Bags.from_arrays([in_rows, "b"], {in_table: 0.5, "b": 0.0})
    assert bags.positive_shares.tolist() == [0.5, 0.0]
    bags = Bags.from_arrays([in_table, "b", in_rows], {in_rows: 0.5, "b": 0.0})
    assert bags.bag_index.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("in_rows", "in_table"),
    [
        ("1", 1),
        ("a", "A"),
        ("a ", "a"),
        ("a", "ab"),
        (1, (1,)),
        ("2020-11-03", datetime.date(2020, 11, 3)),
        (b"a", "a"),
    ],
    ids=repr,
)
def test_unequal_ids_do_not_match(in_rows, in_table):
    with pytest.raises(BagError, match="no entry for bag "):
        Bags.from_arrays([in_rows], {in_table: 0.5})
    both = Bags.from_arrays([in_rows, in_table], {in_table: 0.5, in_rows: 0.0})
    assert both.positive_shares.tolist() == [0.0, 0.5]


def test_one_and_its_text_are_two_bags():
    bags = Bags.from_arrays([1, "1", 1.0], {"1": 0.25, 1: 0.75})
    assert bags.ids.tolist() == [1, "1"]
    assert bags.bag_index.tolist() == [0, 1, 0]
    assert bags.positive_shares.tolist() == [0.75, 0.25]


def test_dates_of_pandas_polars_and_numpy_are_the_same():
    days = [datetime.date(2020, 11, day) for day in (3, 4, 3)]
    table = pl.DataFrame({"day": days[:2], "share": [0.25, 0.75]})
    for ids in (days, pl.Series(days), pd.to_datetime(days), np.array(days, "datetime64[D]")):
        assert Bags.from_arrays(ids, table).positive_shares.tolist() == [0.25, 0.75]
        assert Bags.from_arrays(ids, table).bag_index.tolist() == [0, 1, 0]


def test_ids_are_plain_objects():
    bags = Bags.from_arrays(np.array([2, 1]), {1: 0.5, 2: 0.5})
    assert [type(bag) for bag in bags.ids] == [int, int]
    bags = Bags.from_arrays([("a", 1), ("b", 2)], {("a", 1): 0.5, ("b", 2): 0.5})
    assert bags.ids.tolist() == [("a", 1), ("b", 2)]


# A Series along the rows or along the bags ------------------------------------------------


def test_series_with_the_index_of_the_ids_runs_along_the_rows():
    frame = pd.DataFrame({"bag": [1, 1, 0], "share": [0.5, 0.5, 0.0]})
    for rows in (frame, frame[::-1], frame.set_index(pd.Index(["x", "y", "z"]))):
        bags = Bags.from_arrays(rows["bag"], rows["share"])
        assert dict(zip(bags.ids, bags.positive_shares, strict=True)) == {1: 0.5, 0: 0.0}


def test_series_that_counts_rows_runs_along_them():
    bags = Bags.from_arrays(["a", "a", "b"], pd.Series([0.5, 0.5, 0.0]))
    assert bags.positive_shares.tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("ids", "shares"),
    [
        (pd.Series([1, 0]), pd.Series([0.5, 0.0])),
        ([1, 0], pd.Series([0.5, 0.0])),
        ([1, 0, 0], pd.Series([0.5, 0.0, 0.0])),
    ],
)
def test_series_with_two_readings_is_refused(ids, shares):
    with pytest.raises(BagError, match=r"shares\.to_numpy\(\)"):
        Bags.from_arrays(ids, shares)
    Bags.from_arrays(ids, shares.to_numpy())


def test_series_with_two_equal_readings_is_read():
    ids = pd.Series([0, 1])
    assert Bags.from_arrays(ids, pd.Series([0.5, 0.25])).positive_shares.tolist() == [0.5, 0.25]


def test_frames_are_read_without_importing_their_libraries():
    script = (
        "import sys; from bagshift import Bags; Bags.from_arrays(['a'], {'a': 0.5}); "
        "print({'pandas', 'polars', 'pyarrow'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout.strip() == "set()", found.stderr


# Where a frame of pandas has the ids ------------------------------------------------------


def test_nameless_index_that_has_the_ids():
    counts = pd.DataFrame({"no": [2, 1], "yes": [1, 2]}, index=[1, 2])
    bags = Bags.from_arrays([1, 1, 1, 2, 2, 2], counts=counts, positive="yes")
    assert bags.counts.tolist() == [[2.0, 1.0], [1.0, 2.0]]
    shares = pd.DataFrame.from_dict({101: [0.5, 0.5], 102: [0.25, 0.75]}, orient="index")
    assert Bags.from_arrays([102, 101], shares).positive_shares.tolist() == [0.75, 0.5]


def test_first_column_that_has_the_ids():
    numbered = pd.DataFrame({"precinct": [5, 6], "yes": [0.25, 0.75]})
    for frame in (numbered, numbered[::-1], numbered.set_index(pd.Index([6, 9]))):
        assert Bags.from_arrays([6, 5], frame).positive_shares.tolist() == [0.75, 0.25]
    text = pd.DataFrame({"precinct": ["1", "2"], "yes": [0.25, 0.75]})
    with pytest.raises(BagError, match="1 in the rows is not '1'"):
        Bags.from_arrays([1, 2], text)
    headless = pd.DataFrame([["a", 0.5], ["b", 0.25]])
    assert Bags.from_arrays(["a", "b"], headless).positive_shares.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_declared_classes_never_have_the_ids(make):
    frame = make({"yes": [0.25, 1.0], "precinct": [0, 1]})
    bags = Bags.from_arrays([1, 0], frame, positive="yes")
    assert bags.positive_shares.tolist() == [1.0, 0.25]
    frame = make({"yes": [0.25, 0.25, 1.0], "no": [0.75, 0.75, 0.0]})
    bags = Bags.from_arrays(["a", "a", "b"], frame, positive="yes", negative="no")
    assert bags.positive_shares.tolist() == [0.25, 1.0]


def test_frame_along_the_rows():
    rows = pd.DataFrame({"bag": ["a", "b", "a"], "share": [0.5, 0.0, 0.5]}, index=[7, 8, 9])
    for ids, shares in (
        (rows["bag"], rows[["share"]]),
        (rows["bag"].tolist(), rows[["share"]].reset_index(drop=True)),
    ):
        assert Bags.from_arrays(ids, shares).positive_shares.tolist() == [0.5, 0.0]


@pytest.mark.parametrize("on_unmatched", ["raise", "drop"])
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"share": [0.1, 0.2, 0.3]}),
        pd.DataFrame({0: [0.9, 0.8, 0.7], 1: [0.1, 0.2, 0.3]}),
    ],
    ids=["one column", "two classes"],
)
def test_frame_with_two_readings_is_refused(frame, on_unmatched):
    ids = [2, 0, 1]
    with pytest.raises(BagError, match=r"shares\.to_numpy\(\).*shares\.rename_axis"):
        Bags.from_arrays(ids, frame, on_unmatched=on_unmatched)
    assert Bags.from_arrays(ids, frame.to_numpy()).positive_shares.tolist() == [0.1, 0.2, 0.3]
    by_id = frame.rename_axis("bag").reset_index()
    assert Bags.from_arrays(ids, by_id).positive_shares.tolist() == [0.3, 0.1, 0.2]
    by_id = frame.rename_axis("bag")
    assert Bags.from_arrays(ids, by_id).positive_shares.tolist() == [0.3, 0.1, 0.2]


def test_ids_in_the_index_or_in_the_first_column():
    frame = pd.DataFrame({"precinct": [0, 2, 1], "share": [0.1, 0.2, 0.3]})
    with pytest.raises(BagError, match=r"in the index or in the column 'precinct'.*\"bag\""):
        Bags.from_arrays([2, 0, 1], frame)
    bags = Bags.from_arrays([2, 0, 1], frame.rename(columns={"precinct": "bag"}))
    assert bags.positive_shares.tolist() == [0.2, 0.1, 0.3]


def test_many_pairs_are_read_at_once():
    """Lists of numbers go through NumPy whole, and give what single entries give."""
    pairs = [[0.25, 0.75], [1, 0], (True, False), [0.5, 0.5]]
    expected = Bags.from_arrays(range(4), [[np.float32(entry) for entry in row] for row in pairs])
    assert_same_bags(Bags.from_arrays(range(4), pairs), expected)
