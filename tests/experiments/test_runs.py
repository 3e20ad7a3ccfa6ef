# SPDX-License-Identifier: BSD-3-Clause
"""Runs keep every cell, go on where they stopped, and lose none to an error."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bagshift.exceptions import BagError, BagWarning, TableError
from bagshift.experiments import runs
from bagshift.experiments.cells import CIRCUMSTANCES, Cell, append_cell, read_cells
from bagshift.experiments.methods import METHODS, Method
from bagshift.experiments.runs import Setting, cells_file, compute_cell, run

SETTINGS = [Setting("digits 50", "random", 8), Setting("breast cancer", "random", 8)]
NAMES = ["source-svm", "SourceSVM", "MeanMap", "ceiling"]


def results(cells: list[Cell]) -> list[dict[str, object]]:
    """Everything but time and version, NaN as text."""
    return [
        {name: str(value) for name, value in asdict(cell).items() if name not in CIRCUMSTANCES}
        for cell in cells
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Cell]]:
    output = tmp_path_factory.mktemp("whole")
    return output, run(SETTINGS, NAMES, 2, None, output)


def test_cells_come_in_order_and_are_kept(whole: tuple[Path, list[Cell]]) -> None:
    output, cells = whole
    expected = [
        (setting.task, method, draw)
        for draw in range(2)
        for setting in SETTINGS
        for method in NAMES
    ]
    assert [(cell.task, cell.method, cell.draw) for cell in cells] == expected
    assert all(cell.status == "done" and 0.5 < cell.in_sample <= 1 for cell in cells)
    assert list(read_cells(cells_file(output)).values()) == cells


def test_two_processes_find_the_same(whole: tuple[Path, list[Cell]], tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    cells = run(
        SETTINGS, NAMES, 2, None, tmp_path, n_jobs=2, progress=lambda *done: calls.append(done)
    )
    assert results(cells) == results(whole[1])
    assert calls == [(done, 16) for done in range(17)]


def test_what_is_there_is_not_computed_again(
    whole: tuple[Path, list[Cell]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, cells = whole
    for cell in cells[:10]:
        append_cell(replace(cell, fresh=0.123), cells_file(tmp_path))
    with cells_file(tmp_path).open("a", encoding="utf-8") as file:
        file.write("digits 50,random,8,Mean")  # killed while it wrote
    computed: list[Setting] = []
    compute = runs.compute_cell

    def counted(setting: Setting, method: str, draw: int, data: Path | None) -> Cell:
        computed.append(setting)
        return compute(setting, method, draw, data)

    monkeypatch.setattr(runs, "compute_cell", counted)
    found = run(SETTINGS, NAMES, 2, None, tmp_path)
    assert len(computed) == 6
    assert [cell.fresh for cell in found[:10]] == [0.123] * 10
    assert results(found[10:]) == results(cells[10:])


def refuse(error: Exception) -> Callable[[object], None]:
    def fit(draw: object) -> None:
        raise error

    return fit


@pytest.mark.parametrize(
    ("error", "status"), [(BagError("one bag\nonly"), "impossible"), (KeyError("x"), "failed")]
)
def test_an_error_becomes_a_reason(
    error: Exception, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = Method("broken", refuse(error), "bags")  # type: ignore[arg-type]
    monkeypatch.setitem(METHODS, "broken", method)
    cell = compute_cell(SETTINGS[0], "broken", 0, None)
    assert cell.status == status
    assert cell.reason == f"{type(error).__name__}: {' '.join(str(error).split())}"
    assert str(cell.fresh) == "nan"


def test_warnings_are_kept_with_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    fit = METHODS["source-svm"].fit

    def warn(draw: object) -> object:
        for _ in range(2):
            warnings.warn("shares are close", BagWarning, stacklevel=1)
        return fit(draw)  # type: ignore[arg-type]

    monkeypatch.setitem(METHODS, "careful", Method("careful", warn, "bags"))  # type: ignore[arg-type]
    cell = compute_cell(SETTINGS[0], "careful", 0, None)
    assert (cell.status, cell.reason) == ("done", "warned: BagWarning")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="cannot be made"):
        run(SETTINGS, NAMES, 1, None, tmp_path / "file" / "league")
