# SPDX-License-Identifier: BSD-3-Clause
"""Tables of rows from files: what is read, which domains are cut, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bagshift.datasets import (
    RowTable,
    data_folder,
    find_data_sets,
    one_hot_columns,
    read_row_table,
    stack_tables,
)
from bagshift.exceptions import TableError

X = np.arange(24.0).reshape(8, 3)
ARRAYS: dict[str, Any] = {
    "X": X,
    "y": np.array([-1, 1, 1, -1, 1, -1, 1, -1], dtype=np.int8),
    "domain": np.array([0, 0, 0, 1, 1, 1, 2, 2], dtype=np.int8),
    "domain_names": np.array(["old", "new", "far"]),
    "group": np.array([1, 0, 1, 0, 1, 0, 1, 0]),
    "group_names": np.array(["a", "b"]),
    "y_names": np.array(["-1=no", "+1=yes"]),
    "feature_names": np.array(["age", "job", "sex"]),
    "region": np.array([0, 0, 1, 1, 1, 0, 0, 1]),
    "region_names": np.array(["South", "West"]),
    "votes": np.arange(8) * 10,
}


def saved(folder: Path, name: str = "people.npz", **changes: Any) -> Path:
    arrays = {key: value for key, value in (ARRAYS | changes).items() if value is not None}
    (folder / name).parent.mkdir(exist_ok=True)
    np.savez_compressed(folder / name, **arrays)
    return folder / name


def read(folder: Path, **changes: Any) -> RowTable:
    return read_row_table(saved(folder, **changes))


# Reading ----------------------------------------------------------------------------------


def test_codes_become_names(tmp_path: Path) -> None:
    table = read(tmp_path)
    assert (table.name, len(table)) == ("people", 8)
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == ARRAYS["y"].tolist()
    assert table.domains.tolist() == ["old"] * 3 + ["new"] * 3 + ["far"] * 2
    assert table.domain_names == ("old", "new", "far")
    assert table.groups is not None
    assert table.groups.tolist() == ["b", "a"] * 4
    assert table.feature_names == ("age", "job", "sex")
    assert table.class_names == ("-1=no", "+1=yes")
    assert list(table.columns) == ["region", "votes"]
    assert table.columns["region"].tolist()[:3] == ["South", "South", "West"]
    assert table.columns["votes"].tolist() == (np.arange(8) * 10).tolist()


def test_little_is_needed(tmp_path: Path) -> None:
    needed = ("X", "y", "domain", "domain_names")
    table = read(tmp_path, **{key: None for key in ARRAYS if key not in needed})
    assert table.groups is None
    assert (table.feature_names, table.class_names, table.levels, table.columns) == (
        (),
        (),
        {},
        {},
    )


def test_sparse_pieces(tmp_path: Path) -> None:
    matrix = sparse.random(8, 5, density=0.4, format="csr", random_state=0)
    pieces = {f"X_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    table = read(tmp_path, X=None, feature_names=None, X_shape=np.array([8, 5]), **pieces)
    assert sparse.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), matrix.toarray())
    domains = table.between("old", "new")
    np.testing.assert_array_equal(domains.X_target.toarray(), matrix[3:6].toarray())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"y": None}, "has no 'y'"),
        ({"X": None}, "has no 'X'"),
        ({"domain": None}, "has no 'domain'"),
        ({"domain_names": None}, "has no 'domain_names'"),
        ({"domain": np.zeros(7, int)}, "has no 'domain'"),
        ({"y": np.zeros(7, int)}, "y is of shape"),
        ({"y": np.zeros(8)}, "y holds float64, not whole numbers"),
        ({"domain": np.full(8, 3)}, "domain holds codes that domain_names has no name for"),
        ({"group": np.full(8, -1)}, "group holds codes that group_names has no name for"),
        ({"X": np.zeros(8)}, "not a table of numbers"),
        ({"X": np.full((8, 3), "a")}, "not a table of numbers"),
        ({"feature_names": np.array(["age"])}, "1 feature_names for 3 columns"),
        ({"levels_json": np.array("{")}, "not a table of rows"),
        ({"levels_json": np.array("[1]")}, "not a table of rows"),
        ({"levels_json": np.array('{"town": ["x"]}')}, "'town', which is no column"),
        (
            {
                "X": None,
                "X_data": np.ones(1),
                "X_indices": np.array([9]),
                "X_indptr": np.array([0] + [1] * 8),
                "X_shape": np.array([8, 3]),
            },
            "not a table of rows",
        ),
    ],
)
def test_another_table_is_refused(tmp_path: Path, changes: Any, reason: str) -> None:
    with pytest.raises(TableError, match=reason) as caught:
        read(tmp_path, **changes)
    assert str(caught.value).startswith(str(tmp_path / "people.npz"))
    assert "\n" not in str(caught.value)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="pickled objects, which are never loaded"):
        read(tmp_path, group=np.array([None] * 8, dtype=object))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="does not exist"):
        read_row_table(tmp_path / "none.npz")
    np.save(tmp_path / "one.npy", X)
    for name, content in (
        ("text.npz", b"a,b\n1,2\n"),
        ("empty.npz", b""),
        ("single.npz", (tmp_path / "one.npy").read_bytes()),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match="cannot be read as an"):
            read_row_table(tmp_path / name)


def test_damaged_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    content = saved(tmp_path).read_bytes()
    damaged = tmp_path / "damaged.npz"
    for cut in range(0, len(content), 97):
        damaged.write_bytes(content[:cut])
        with pytest.raises(TableError):
            read_row_table(damaged)
    random = np.random.default_rng(0)
    n_refused = 0
    for _ in range(150):
        changed = np.frombuffer(content, dtype=np.uint8).copy()
        changed[random.integers(len(changed), size=4)] = random.integers(256, size=4)
        damaged.write_bytes(changed.tobytes())
        try:
            read_row_table(damaged)
        except TableError:
            n_refused += 1
    assert n_refused > 75


# Folders ----------------------------------------------------------------------------------


def test_the_folder_is_named_or_in_the_environment(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("BAGSHIFT_DATA", raising=False)
    assert data_folder() is None
    assert data_folder(tmp_path) == tmp_path
    monkeypatch.setenv("BAGSHIFT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(str(tmp_path.parent)) == tmp_path.parent
    monkeypatch.setenv("BAGSHIFT_DATA", str(tmp_path / "none"))
    with pytest.raises(TableError, match=r"BAGSHIFT_DATA: .*none is not a folder"):
        data_folder()
    with pytest.raises(TableError, match="there is not a folder"):
        data_folder(tmp_path / "there")


def test_sets_lie_in_the_folder_and_one_level_down(tmp_path: Path) -> None:
    for name in ("b.npz", "a.npz", "uci/sonar.npz"):
        saved(tmp_path, name)
    (tmp_path / "readme.md").write_text("no data")
    (tmp_path / "uci" / "deep").mkdir()
    saved(tmp_path / "uci", "deep/hidden.npz")
    for hidden in ("._a.npz", ".a.npz", ".uci/sonar.npz"):
        saved(tmp_path, hidden)
    (tmp_path / "uci" / "deep" / "folder.npz").mkdir()
    found = find_data_sets(tmp_path)
    assert list(found) == ["a", "b", "uci/sonar"]
    assert found["uci/sonar"] == tmp_path / "uci" / "sonar.npz"
    assert find_data_sets(tmp_path / "uci" / "deep" / "folder.npz") == {}
    for no_folder in (tmp_path / "none", tmp_path / "a.npz"):
        with pytest.raises(TableError, match="is not a folder; name the one"):
            find_data_sets(no_folder)


# Domains ----------------------------------------------------------------------------------


def test_between_two_domains(tmp_path: Path) -> None:
    domains = read(tmp_path).between("new", "old")
    np.testing.assert_array_equal(domains.X_source, X[3:6])
    np.testing.assert_array_equal(domains.X_target, X[:3])
    assert domains.y_source.tolist() == [-1, 1, -1]
    assert domains.y_target.dtype == np.int8
    assert domains.groups is not None
    assert domains.groups.tolist() == ["b", "a", "b"]


def test_between_two_regions(tmp_path: Path) -> None:
    domains = read(tmp_path).between("South", "West", by="region")
    np.testing.assert_array_equal(domains.X_source, X[[0, 1, 5, 6]])
    np.testing.assert_array_equal(domains.X_target, X[[2, 3, 4, 7]])


@pytest.mark.parametrize("rows", [[5, 0], np.array([1, 0, 1, 0, 0, 0, 0, 0], dtype=bool), []])
def test_take_is_indexing(tmp_path: Path, rows: Any) -> None:
    table = read(tmp_path)
    taken, rows = (
        table.take(rows),
        np.arange(8)[np.asarray(rows, dtype=None if len(rows) else int)],
    )
    np.testing.assert_array_equal(taken.X, X[rows])
    assert taken.y.tolist() == table.y[rows].tolist()
    assert taken.domains.tolist() == table.domains[rows].tolist()
    assert taken.columns["votes"].tolist() == (rows * 10).tolist()


@pytest.mark.parametrize("rows", [[True, False], [0.0, 1.0], ["a"], [[0, 1]], 3, [8], [-9], None])
def test_take_refuses_what_names_no_rows(tmp_path: Path, rows: Any) -> None:
    with pytest.raises(ValueError, match="rows must hold row numbers below 8, or 8 truth values"):
        read(tmp_path).take(rows)


def test_pairs_of_classes(tmp_path: Path) -> None:
    codes = np.array([0, 2, 1, 2, 0, 0, 1, 2])
    table = read(tmp_path, y=codes, y_names=np.array(["bus", "car", "van"]))
    for negative, positive in ((2, 0), ("van", "bus")):
        domains = table.pair(negative, positive, source="old", target="new")
        np.testing.assert_array_equal(domains.X_source, X[:2])
        assert domains.y_source.tolist() == [1, -1]
        assert domains.y_target.tolist() == [-1, 1, 1]
    assert table.as_binary(2, 0).class_names == ("-1=2", "+1=0")
    with pytest.raises(
        TableError, match=r"has the labels 0, 1, 2 \('bus', 'car', 'van'\), not -1"
    ):
        table.between("old", "new")
    with pytest.raises(TableError, match="has no class 'tram'; it has 0, 1, 2, 'bus'"):
        table.pair("tram", "bus", "old", "new")
    with pytest.raises(TableError, match="two different classes"):
        table.pair(1, 1, "old", "new")
    with pytest.raises(TableError, match=r"rows of 'far' have only the labels \[-1\]"):
        table.take([0, 2, 4, 6]).pair("car", "bus", "old", "far")


def test_classes_by_groups(tmp_path: Path) -> None:
    table = read(tmp_path, y=np.zeros(8, dtype=int))
    rows = table.by_groups(["a"], ["b"])
    assert rows.y.tolist() == [-1, 1] * 4
    domains = rows.take(rows.domains == "old").with_target(rows.take(rows.domains != "old"))
    np.testing.assert_array_equal(domains.X_target, X[3:])
    with pytest.raises(TableError, match="no group 'c'; it has 'a', 'b'"):
        table.by_groups(["a"], ["c"])
    with pytest.raises(TableError, match="'a' cannot be both"):
        table.by_groups(["a"], ["a", "b"])
    with pytest.raises(TableError, match="has no groups"):
        read(tmp_path, group=None).by_groups(["a"], ["b"])


def test_domains_that_are_not_there(tmp_path: Path) -> None:
    table = read(tmp_path)
    with pytest.raises(TableError, match="no domain 'odd'; it has 'old', 'new', 'far'"):
        table.between("odd", "new")
    with pytest.raises(TableError, match="both the domain 'new'"):
        table.between("new", "new")
    with pytest.raises(TableError, match="no column 'state'; it has 'region', 'votes'"):
        table.between("South", "West", by="state")
    bare = read(tmp_path, region=None, region_names=None, votes=None)
    with pytest.raises(TableError, match="no column 'state'; it has none"):
        bare.between("South", "West", by="state")
    with pytest.raises(TableError, match="has no rows in one of the domains"):
        table.take(table.domains != "far").between("old", "far")


def test_stacked_tables(tmp_path: Path) -> None:
    whole = read(tmp_path)
    parts = [whole.take(whole.groups == name) for name in ("a", "b")]
    stacked = stack_tables(part for part in parts)
    order = [1, 3, 5, 7, 0, 2, 4, 6]
    np.testing.assert_array_equal(stacked.X, X[order])
    assert stacked.domains.tolist() == whole.domains[order].tolist()
    assert stacked.domain_names == whole.domain_names
    assert stacked.columns["region"].tolist() == whole.columns["region"][order].tolist()
    assert stacked.by_groups(["a"], ["b"]).y.tolist() == [1] * 4 + [-1] * 4
    narrow = read(tmp_path, X=X[:, :2], feature_names=None)
    with pytest.raises(TableError, match="do not have the same columns"):
        stack_tables([whole, narrow])
    with pytest.raises(TableError, match="no tables to stack"):
        stack_tables([])
    with pytest.raises(TableError, match="do not have the same columns"):
        whole.with_target(narrow)


def test_one_column_per_category(tmp_path: Path) -> None:
    levels = {"job": ["nurse", "cook", "tailor"], "sex": ["f", "m"]}
    codes = np.column_stack([np.arange(8), [0, 1, 2, 0, 1, 2, 0, 1], [0, 1] * 4])
    table = read(tmp_path, X=codes, levels_json=np.array(json.dumps(levels)))
    assert table.levels == {"job": ("nurse", "cook", "tailor"), "sex": ("f", "m")}
    wide = one_hot_columns(table)
    assert wide.feature_names == ("age", "job=nurse", "job=cook", "job=tailor", "sex=f", "sex=m")
    assert wide.X[:3].tolist() == [[0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 1], [2, 0, 0, 1, 1, 0]]
    np.testing.assert_array_equal(one_hot_columns(table.take([4, 7])).X, wide.X[[4, 7]])
    assert one_hot_columns(wide) is wide
    wrong = read(tmp_path, X=codes + 1, levels_json=np.array(json.dumps(levels)))
    with pytest.raises(TableError, match="people holds codes that have no category"):
        one_hot_columns(wrong)
    with pytest.raises(TableError, match="people has categories for 'town', which is no column"):
        one_hot_columns(replace(table, levels={"town": ("a",)}))
