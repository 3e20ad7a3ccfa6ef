# SPDX-License-Identifier: BSD-3-Clause
"""Samples of whole bags, and columns that are prepared once."""

import numpy as np
import pandas as pd
import pytest
from scale_frames import mixed_frame, write

from bagshift.exceptions import TableError
from bagshift.scale import apply_preparation, column_statistics, index_bags, prepare, rows_from
from bagshift.scale.prepared_columns import PreparedColumns
from bagshift.scale.preparing import prepare_tables
from bagshift.scale.sampling import draw_bags, sample_bags


@pytest.fixture(params=["whole", "text"])
def frame(request):
    found = mixed_frame(600)
    ids = np.random.default_rng(1).integers(0, 80, 600)
    found["bag"] = ids if request.param == "whole" else [f"it's {k:02d}" for k in ids]
    return found


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_sample_has_all_rows_of_its_bags(connection, tmp_path, frame, ending):
    write(frame[:250], tmp_path / "rows" / f"a.{ending}")
    write(frame[250:], tmp_path / "rows" / f"b.{ending}")
    rows = rows_from(tmp_path / "rows")
    statistics = column_statistics(connection, rows, reserved={"bag": "bag id"})
    preparation = prepare(statistics)
    bags = index_bags(connection, rows, "bag")
    chosen = draw_bags(bags, 100, seed=3)
    assert 60 < bags.n_rows[chosen].sum() <= 100
    told = []
    sample = sample_bags(
        connection, rows, bags, preparation, chosen, progress=lambda *seen: told.append(seen)
    )
    assert told[-1] == (len(sample.features), len(sample.features))
    names = [bags.ids[place] for place in chosen]
    # Ids of CSV files are text.
    expected = [frame[frame["bag"].astype(str) == str(name)] for name in names]
    wanted = apply_preparation(preparation, pd.concat(expected))
    np.testing.assert_allclose(sample.features, wanted, rtol=1e-6, atol=1e-6)
    assert np.bincount(sample.bag_of_row).tolist() == [len(part) for part in expected]


def test_all_bags_of_few_rows_and_two_of_large_ones(connection, tmp_path, frame):
    rows = rows_from(write(frame, tmp_path / "rows.parquet"))
    bags = index_bags(connection, rows, "bag")
    assert draw_bags(bags, 600).tolist() == list(range(bags.n_bags))
    assert len(draw_bags(bags, 1)) == 2


def test_rows_that_changed(connection, tmp_path, frame):
    file = write(frame, tmp_path / "rows.parquet")
    preparation = prepare(
        column_statistics(connection, rows_from(file), reserved={"bag": "bag id"})
    )
    bags = index_bags(connection, rows_from(file), "bag")
    write(frame[:-100], file)
    with pytest.raises(TableError, match="changed since"):
        sample_bags(connection, rows_from(file), bags, preparation, np.arange(bags.n_bags))


def test_columns_are_looked_at_once(connection, tmp_path, frame):
    rows = rows_from(write(frame, tmp_path / "rows.parquet"), name="rows")
    reserved = {"bag": "bag id"}
    first = prepare_tables(connection, rows, None, tmp_path / "columns", reserved=reserved)
    assert (first.n_target, first.n_source) == (600, 0)
    told = []
    again = prepare_tables(
        connection, rows, None, tmp_path / "columns", reserved=reserved, progress=told.append
    )
    assert again == first
    assert told == []
    with pytest.raises(TableError, match="other settings"):
        prepare_tables(connection, rows, None, tmp_path / "columns")
    (tmp_path / "columns" / "columns.json").write_text("{}")
    with pytest.raises(TableError, match="damaged"):
        prepare_tables(connection, rows, None, tmp_path / "columns", reserved=reserved)


def test_prepared_columns_are_those_of_sql(connection, tmp_path, frame):
    rows = rows_from(write(frame, tmp_path / "rows.parquet"))
    tables = prepare_tables(
        connection, rows, None, tmp_path / "columns", reserved={"bag": "bag id"}
    )
    step = PreparedColumns(tables.preparation.to_json()).fit()
    assert step.feature_names_in_.tolist() == list(tables.preparation.kinds)
    assert step.get_feature_names_out().tolist() == tables.preparation.names
    assert np.array_equal(
        step.transform(frame), apply_preparation(tables.preparation, frame, dtype=np.float64)
    )
    with pytest.raises(TableError, match="damaged"):
        PreparedColumns("{").fit()
