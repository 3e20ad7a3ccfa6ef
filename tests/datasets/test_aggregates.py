# SPDX-License-Identifier: BSD-3-Clause
"""Tables of aggregated units: each layout, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bagshift.datasets import read_aggregates
from bagshift.exceptions import TableError

REGISTRATION = "X,Y,N,W1,W2\n0.25,0.6,40,0.3,0.7\n1.0,0.5,10,0.5,0.0\n"
COUNTED = (
    "GEOID20,R_one,D_two,other_gov,total_gov,R_three,total_sos,total_vap,hisp,white,black,race_other\n"
    "007,30,10,0,40,5,10,100,10,60,20,10\n"
    "008,0,0,0,0,0,0,0,0,0,0,0\n"
)
SHARED = (
    "precinct,total_turnout,total2,pct_for_ann2,total5,pct_for_bob5,"
    "pct_asian_vote,pct_ind_vote,pct_e_asian_vote,pct_non_asian_vote\n"
    "4201,700,600,0.25,500,0.5,0.2,0.05,0.15,0.8\n"
)


def written(folder: Path, text: str) -> Path:
    path = folder / "units.csv"
    path.write_text(text)
    return path


def test_registration_has_true_rates(tmp_path: Path) -> None:
    units = read_aggregates(written(tmp_path, REGISTRATION))
    assert units.name == "units"
    assert units.sizes.tolist() == [40, 10]
    assert units.group_names == ("Black", "other")
    assert units.group_shares.tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert units.outcome_shares.tolist() == [[0.6], [0.5]]
    assert units.outcome_sizes.tolist() == [[40], [10]]
    assert units.rates is not None
    np.testing.assert_array_equal(units.rates, [[0.3, 0.7], [0.5, np.nan]])
    rates = np.nan_to_num(units.rates)
    np.testing.assert_allclose(
        np.sum(units.group_shares * rates, axis=1), units.outcome_shares[:, 0]
    )


def test_counted_votes_become_shares(tmp_path: Path) -> None:
    units = read_aggregates(written(tmp_path, COUNTED))
    assert units.unit_ids.tolist() == ["007", "008"]
    assert units.outcome_names == ("R_one", "D_two", "other_gov", "R_three")
    assert units.outcome_sizes.tolist() == [[40, 40, 40, 10], [0, 0, 0, 0]]
    assert units.outcome_shares[0].tolist() == [0.75, 0.25, 0.0, 0.5]
    assert units.group_shares[0].tolist() == [0.1, 0.6, 0.2, 0.1]
    assert np.isnan(units.outcome_shares[1]).all()
    assert units.rates is None


def test_shares_of_votes_are_taken_as_they_are(tmp_path: Path) -> None:
    units = read_aggregates(written(tmp_path, SHARED))
    assert units.unit_ids.tolist() == ["4201"]
    assert units.outcome_names == ("ann2", "bob5")
    assert units.outcome_sizes.tolist() == [[600, 500]]
    assert units.outcome_shares.tolist() == [[0.25, 0.5]]
    assert units.group_names == ("Asian", "Indian", "East Asian", "not Asian")
    assert units.group_shares.tolist() == [[0.2, 0.05, 0.15, 0.8]]


def test_other_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no table of aggregates that is known here"):
        read_aggregates(written(tmp_path, "a,b\n1,2\n"))
    with pytest.raises(TableError, match=r"units\.csv: .*must be numbers are not: 'Y'"):
        read_aggregates(written(tmp_path, REGISTRATION.replace("0.6", "many")))
    with pytest.raises(TableError, match="does not exist"):
        read_aggregates(tmp_path / "none.csv")


def test_columns_that_are_not_used_may_hold_anything(tmp_path: Path) -> None:
    lines = zip(REGISTRATION.splitlines(), ("county", "Adams", "Bibb"), strict=True)
    text = "".join(f"{line},{more}\n" for line, more in lines)
    assert read_aggregates(written(tmp_path, text)).sizes.tolist() == [40, 10]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("GEOID20,total_vap,hisp,white,black,race_other\n1,4,1,1,1,1\n", "no columns of outcomes"),
        (
            "precinct,total_turnout,total2,total5,pct_asian_vote\n1,4,1,1,0.5\n",
            "has no columns 'pct_ind_vote', 'pct_e_asian_vote', 'pct_non_asian_vote'",
        ),
        (SHARED.replace("pct_non_asian_vote", "others"), "has no column 'pct_non_asian_vote'"),
        (SHARED.replace("pct_for_bob5", "pct_for_bob7"), "has no column 'total7'"),
        (REGISTRATION.replace("0.25", "25"), r"shares that do not lie in 0 to 1: -24\.0, 25\.0"),
        (REGISTRATION.replace("0.6", "-0.6"), r"shares that do not lie in 0 to 1: -0\.6"),
        (REGISTRATION.replace("0.7", "1.7"), r"shares that do not lie in 0 to 1: 1\.7"),
        (COUNTED.replace(",30,", ",50,"), "do not lie in 0 to 1"),
        (REGISTRATION.replace("40", "-40"), r"numbers of people that are none: -40\.0"),
    ],
)
def test_tables_in_part_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TableError, match=sentence) as told:
        read_aggregates(written(tmp_path, text))
    assert str(told.value).startswith(str(tmp_path / "units.csv"))
