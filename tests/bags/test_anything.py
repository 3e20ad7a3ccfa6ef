# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is given is read, or refused with a BagError; nothing else ever comes out."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from bagshift import BagError, Bags

ODD = [0, 0.5, 1, -1, True, None, np.nan, np.inf, "a", "", "1", b"x", 1j, 10**400, Decimal("NaN")]
ODD += [
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    np.datetime64("9999999-01-01"),
    np.timedelta64(1, "D"),
]
ODD += [("a", 1), (np.nan,), frozenset({1}), Bags.NO_BAG, np.float32(0.5), np.array(0.5)]
ODD += [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]
UNHASHABLE = [
    Decimal("sNaN"),
    [],
    [0.5, 0.5],
    np.array([0.5, 0.5]),
    np.array([]),
    pd.Series([1.0]),
    {"x": 1},
]

odd_ids = st.lists(st.sampled_from([entry for entry in ODD if not isinstance(entry, np.ndarray)]))
odd_values = st.sampled_from([0.5] * 20 + ODD + UNHASHABLE)


@given(odd_ids, st.data())
def test_anything_is_read_or_refused_in_one_line(ids, data):
    values = data.draw(
        st.one_of(
            st.just(dict.fromkeys(ids, 0.5)),
            st.fixed_dictionaries(dict.fromkeys(ids, odd_values)),
            st.lists(odd_values, min_size=len(ids), max_size=len(ids)),
            odd_values,
        )
    )
    argument = data.draw(st.sampled_from(["shares", "counts"]))
    on_unmatched = data.draw(st.sampled_from(["raise", "drop"]))
    try:
        bags = Bags.from_arrays(ids, **{argument: values}, on_unmatched=on_unmatched)
    except BagError as error:
        sentence = str(error)
    else:
        sentence = repr(bags)
        assert ((bags.shares >= 0) & (bags.shares <= 1)).all()
        assert (bags.sizes >= bags.rows_per_bag).all()
        bags.check_whole()
    assert "\n" not in sentence
