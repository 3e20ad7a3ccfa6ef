# SPDX-License-Identifier: BSD-3-Clause
"""The tasks: what a folder holds, and what is source and target of each."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from bagshift.exceptions import TableError
from bagshift.experiments.draws import make_draw
from bagshift.experiments.tasks import TASKS, find_task, load_task, tasks_in

BUNDLED = {"digits 30", "digits 50", "breast cancer"}


def write_set(
    path: Path, n_domains: int, labels: tuple[int, ...] = (-1, 1), *, is_sparse: bool = False
) -> None:
    n_rows = 40
    X = np.random.default_rng(0).poisson(1.0, size=(n_rows, 3)).astype(float)
    pieces = {"X": X}
    if is_sparse:
        matrix = sparse.csr_matrix(X)
        pieces = {f"X_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
        pieces["X_shape"] = np.array(X.shape)
    np.savez(
        path,
        **pieces,
        y=np.resize(labels, n_rows),
        domain=np.arange(n_rows) // 2 % n_domains,
        domain_names=np.array([f"d{k}" for k in range(n_domains)]),
    )


def test_without_a_folder_there_is_what_comes_with_sklearn() -> None:
    assert set(tasks_in(None).tasks) == BUNDLED


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_bundled_tasks_have_disjoint_domains(name: str) -> None:
    domains = load_task(TASKS[name], None, draw=1)
    both = np.concatenate([domains.X_source, domains.X_target])
    assert len(np.unique(both, axis=0)) == len(both)
    for labels in (domains.y_source, domains.y_target):
        assert set(labels.tolist()) == {-1, 1}
    other = load_task(TASKS[name], None, draw=2)
    assert not np.array_equal(other.X_source, domains.X_source)


def test_a_file_of_the_user_is_a_task(tmp_path: Path) -> None:
    write_set(tmp_path / "mine.npz", 2)
    write_set(tmp_path / "alone.npz", 1)
    found = tasks_in(tmp_path).tasks
    assert set(found) == BUNDLED | {"mine", "alone"}
    assert found["mine"].about == "mine: d0, then d1"
    assert found["mine"].has_shift
    assert not found["alone"].has_shift
    for name, n_source in {"mine": 20, "alone": 13}.items():
        domains = load_task(find_task(name, tmp_path), tmp_path)
        assert domains.X_source.shape == (n_source, 3)
        assert domains.X_target.shape == (40 - n_source, 3)


def test_named_files_are_not_listed_twice(tmp_path: Path) -> None:
    write_set(tmp_path / "kdd99_intrusion.npz", 3)
    found = tasks_in(tmp_path).tasks
    assert set(found) == BUNDLED | {"dos/r2l", "r2l/probe", "dos/probe"}
    with pytest.raises(TableError, match="'dos'"):
        load_task(found["dos/r2l"], tmp_path)


@pytest.mark.parametrize("n_domains", [1, 2])
@pytest.mark.parametrize("labels", [(1, 2, 3), (0, 1), (1,), (-1, 1, 7)])
def test_files_with_other_labels_are_refused(
    tmp_path: Path, n_domains: int, labels: tuple[int, ...]
) -> None:
    write_set(tmp_path / "mine.npz", n_domains, labels)
    expected = "only the labels" if labels == (1,) else "not -1 and \\+1"
    with pytest.raises(TableError, match=expected):
        find_task("mine", tmp_path)
    found = tasks_in(tmp_path)
    assert set(found.tasks) == BUNDLED
    assert list(found.left_out) == ["mine"]


@pytest.mark.parametrize("n_domains", [1, 2])
def test_sparse_files_stay_sparse(tmp_path: Path, n_domains: int) -> None:
    write_set(tmp_path / "words.npz", n_domains, is_sparse=True)
    task = find_task("words", tmp_path)
    assert task.kind == "text"
    domains = load_task(task, tmp_path)
    assert sparse.issparse(domains.X_source)
    draw = make_draw(domains, task.kind, 3, 0)
    assert draw.X_bagged.shape[0] == len(draw.y_bagged)


def test_a_file_of_no_use_leaves_the_others_alone(tmp_path: Path) -> None:
    write_set(tmp_path / "mine.npz", 2)
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    for hidden in ("._mine.npz", ".x.npz"):
        (tmp_path / hidden).write_bytes(b"nothing")
    (tmp_path / "folder.npz").mkdir()
    found = tasks_in(tmp_path)
    assert set(found.tasks) == BUNDLED | {"mine"}
    assert list(found.left_out) == ["broken"]
    assert "broken.npz cannot be read" in found.left_out["broken"]
    with pytest.raises(TableError, match=r"broken\.npz cannot be read"):
        find_task("broken", tmp_path)


@pytest.mark.parametrize("name", ["a,b", " a", "a ", "a\nb", "a\x1b[2Jb", "a\udcff"])
def test_names_that_cannot_be_asked_for_are_left_out(tmp_path: Path, name: str) -> None:
    write_set(tmp_path / "mine.npz", 2)
    (tmp_path / "mine.npz").rename(tmp_path / f"{name}.npz")
    found = tasks_in(tmp_path)
    assert set(found.tasks) == BUNDLED
    assert "cannot be asked for by its name; rename it" in found.left_out[name]


@pytest.mark.parametrize("name", ["sonar", "digits 50", "credit"])
def test_no_file_is_taken_for_a_task_of_its_name(tmp_path: Path, name: str) -> None:
    write_set(tmp_path / f"{name}.npz", 2)
    found = tasks_in(tmp_path).tasks
    assert set(found) == BUNDLED | {f"{name}.npz"}
    assert found[f"{name}.npz"].about == f"{name}: d0, then d1"
    for task in (found[f"{name}.npz"], find_task(f"{name}.npz", tmp_path)):
        assert load_task(task, tmp_path).X_source.shape == (20, 3)
    assert find_task(name, tmp_path) is TASKS[name]


@pytest.mark.parametrize(
    ("name", "file"),
    [("adult", "adult"), ("counties south/west", "us_counties"), ("comp/sci", "news20_words")],
)
def test_other_data_under_a_known_name_are_told(tmp_path: Path, name: str, file: str) -> None:
    write_set(tmp_path / f"{file}.npz", 2)
    with pytest.raises(TableError) as told:
        load_task(TASKS[name], tmp_path)
    assert file in str(told.value)
    assert "it has ." not in str(told.value)


def test_unknown_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no task 'moon'"):
        find_task("moon", tmp_path)


def test_without_a_folder_a_task_says_what_it_needs() -> None:
    with pytest.raises(TableError, match=r"reads reuters_orgs_people\.npz; name the folder"):
        load_task(TASKS["orgs/people"], None)


def test_tasks_of_the_folder(shared_data: Path) -> None:
    found = tasks_in(shared_data).tasks
    assert list(found) == list(TASKS)
    assert not tasks_in(shared_data).left_out
    for name, task in found.items():
        domains = load_task(task, shared_data)
        assert set(np.unique(domains.y_source)) == {-1, 1}, name
        assert set(np.unique(domains.y_target)) == {-1, 1}, name
        assert domains.X_source.shape[1] == domains.X_target.shape[1], name
        assert task.has_groups == (domains.groups is not None) or not task.has_groups, name


@pytest.mark.parametrize(
    ("name", "source", "target"),
    # Rows as the manifest of the folder counts them.
    [
        ("orgs/people", (1237, 649), (1208, 621)),
        ("orgs/places", (1016, 588), (1043, 587)),
        ("comp/sci", (4000, 2000), (5000, 3000)),
        ("rec/sci", (4000, 2000), (4000, 2000)),
        ("comp/rec", (5000, 3000), (4000, 2000)),
        ("comp/talk", (5000, 3000), (4000, 2000)),
        ("spam u00/u01", (2500, 1250), (2500, 1250)),
        ("dos/r2l", (3000, 1500), (1998, 999)),
        ("pie 30", (84, 42), (84, 42)),
        ("adult", (32561, 7841), (16281, 3846)),
        ("credit", (14030, 3330), (15970, 3306)),
        ("counties 2008/2020", (3111, None), (3111, None)),
    ],
)
def test_rows_of_the_manifest(
    shared_data: Path, name: str, source: tuple[int, int | None], target: tuple[int, int | None]
) -> None:
    domains = load_task(TASKS[name], shared_data)
    for labels, (n_rows, n_positive) in ((domains.y_source, source), (domains.y_target, target)):
        assert len(labels) == n_rows
        assert n_positive is None or np.sum(labels == 1) == n_positive


def test_adult_groups_are_occupation_by_education(shared_data: Path) -> None:
    groups = load_task(TASKS["adult"], shared_data).groups
    assert groups is not None
    assert "Sales x Bachelors" in set(groups)
