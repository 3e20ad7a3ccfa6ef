# SPDX-License-Identifier: BSD-3-Clause
"""The folder of real data, where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from bagshift.datasets import (
    RowTable,
    find_data_sets,
    make_feature_bags,
    one_hot_columns,
    read_aggregates,
    read_row_table,
    stack_tables,
)

FOLDER = Path(
    os.environ.get("BAGSHIFT_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"real data: no folder {FOLDER}; set BAGSHIFT_DATA"
)


def table(name: str) -> RowTable:
    if not (FOLDER / f"{name}.npz").exists():
        pytest.skip(f"real data: no {name}.npz in {FOLDER}")
    return read_row_table(FOLDER / f"{name}.npz")


@pytest.mark.parametrize("name", find_data_sets(FOLDER) if FOLDER.is_dir() else [])
def test_every_file_is_a_table(name: str) -> None:
    rows = table(name)
    assert len(rows) == rows.X.shape[0] > 0
    assert set(rows.domains) == set(rows.domain_names)
    assert rows.groups is None or len(rows.groups) == len(rows)
    assert all(len(values) == len(rows) for values in rows.columns.values())


@pytest.mark.parametrize(
    ("name", "source", "target", "positives"),
    [
        ("reuters_orgs_people", "source", "target", (649, 621)),
        ("reuters_orgs_places", "source", "target", (588, 587)),
        ("adult", "data", "test", (7841, 3846)),
        ("credit_default", "university", "other_education", (3330, 3306)),
        ("pie_1_vs_35", "rot0", "rot50", (42, 42)),
    ],
)
def test_label_counts(name: str, source: str, target: str, positives: tuple[int, int]) -> None:
    domains = table(name).between(source, target)
    assert (np.sum(domains.y_source == 1), np.sum(domains.y_target == 1)) == positives


def test_regions_of_one_year() -> None:
    counties = table("us_counties")
    domains = counties.take(counties.domains == "2020").between("South", "West", by="region")
    assert domains.groups is not None
    assert {"CA", "WY"} <= set(domains.groups.tolist())
    assert np.mean(domains.y_target == 1) == pytest.approx(0.708, abs=0.001)


def test_newsgroups_of_two_files() -> None:
    both = stack_tables([table("news20_25804_comp"), table("news20_25804_rec")])
    assert sparse.issparse(both.X)
    rows = both.by_groups(["comp.graphics"], ["rec.autos"])
    assert set(rows.y.tolist()) == {-1, 1}
    assert len(rows) == np.isin(both.groups, ["comp.graphics", "rec.autos"]).sum()


def test_letters_have_names() -> None:
    rows = table("uci/letterrecognition").as_binary("O", "Q")
    assert len(rows) == 753 + 783


def test_people_by_occupation_and_education() -> None:
    adult = table("adult")
    assert one_hot_columns(adult).X.shape == (48842, 108)
    columns = [adult.feature_names.index(name) for name in ("occupation", "education")]
    assert len(make_feature_bags(adult.X[:, columns], adult.y)[1]) == 225
    assert len(make_feature_bags(adult.X[:, columns], adult.y, min_size=50)[1]) == 118


@pytest.mark.parametrize(
    ("name", "n_units", "n_groups", "n_outcomes"),
    [
        ("ei_registration_1968", 275, 2, 1),
        ("precincts_south_carolina", 750, 4, 12),
        ("precincts_santa_clara", 42, 4, 6),
    ],
)
def test_aggregates(name: str, n_units: int, n_groups: int, n_outcomes: int) -> None:
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"real data: no {path.name} in {FOLDER}")
    units = read_aggregates(path)
    assert len(units.unit_ids) == len(units.sizes) == n_units
    assert units.group_shares.shape == (n_units, n_groups)
    assert units.outcome_shares.shape == units.outcome_sizes.shape == (n_units, n_outcomes)
    for shares in (units.group_shares, units.outcome_shares):
        assert shares.min() >= 0
        assert shares.max() <= 1
    if units.rates is not None:
        mixed = np.sum(units.group_shares * units.rates, axis=1)
        np.testing.assert_allclose(mixed, units.outcome_shares[:, 0], atol=1e-6)
