# SPDX-License-Identifier: BSD-3-Clause
"""What a league consists of, and that it survives being killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bagshift.exceptions import TableError
from bagshift.experiments.cells import CIRCUMSTANCES
from bagshift.experiments.league import check_methods, plan_league, run_league
from bagshift.experiments.league_settings import Setting, league_settings
from bagshift.experiments.methods import CEILING, FLOOR, METHODS


def test_tasks_take_part_where_they_have_rows() -> None:
    settings = league_settings(None, ["random", "natural"], [8, 32, 100], None).settings
    assert settings == [
        Setting("digits 30", "random", 8),
        Setting("digits 50", "random", 8),
        Setting("breast cancer", "random", 8),
        Setting("breast cancer", "random", 32),
    ]


def test_tasks_of_the_protocol(shared_data: Path) -> None:
    settings = league_settings(None, ["random", "natural"], [8, 32, 100], shared_data).settings
    of_100 = {setting.task for setting in settings if setting.bag_size == 100}
    assert {"comp/sci", "dos/r2l", "r2l/probe"} <= of_100
    assert not {"orgs/people", "digits 50", "pie 30"} & of_100
    natural = [setting.task for setting in settings if setting.bags == "natural"]
    assert natural == ["counties 2008/2020", "counties south/west", "adult"]


def test_floor_and_ceiling_always_take_part() -> None:
    assert check_methods(["TGPLMCV", "MeanMap"]) == [FLOOR, "MeanMap", "TGPLMCV", CEILING]
    assert check_methods(None) == list(METHODS)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(TableError, match="no method 'SVMM'; there are source-svm, "):
        check_methods(["SVMM"])
    with pytest.raises(TableError, match=r"no task 'moon'.*only those of scikit-learn"):
        league_settings(["moon"], ["random"], [8], None)
    with pytest.raises(
        TableError,
        match=r"No task has rows .*\(digits 50: 237 target rows are too few for 10 random bags of "
        r"100\); take smaller",
    ):
        league_settings(["digits 50"], ["random"], [100], None)
    with pytest.raises(TableError, match="digits 50: its rows come in no groups"):
        league_settings(["digits 50"], ["natural"], [8], None)
    with pytest.raises(ValueError, match="bag_size must be a whole number and at least 1, not 0"):
        league_settings(["digits 50"], ["random"], [0], None)


def test_what_is_left_out_for_want_of_rows_is_told() -> None:
    found = league_settings(["digits 50", "breast cancer"], ["random", "natural"], [8, 32], None)
    assert found.left_out == {"digits 50": "237 target rows are too few for 5 random bags of 32"}
    found = league_settings(None, ["random"], [32], None)
    assert {setting.task for setting in found.settings} == {"breast cancer"}
    assert set(found.left_out) == {"digits 30", "digits 50"}
    assert not league_settings(None, ["random", "natural"], [8, 32], None).left_out


def test_names_given_twice_count_once() -> None:
    twice = league_settings(["digits 50"] * 2, ["random"] * 2, [8, 8], None)
    assert twice.settings == [Setting("digits 50", "random", 8)]
    assert check_methods(["MeanMap", "MeanMap"]) == [FLOOR, "MeanMap", CEILING]


def write_set(path: Path, groups: np.ndarray) -> None:
    n_rows = 2 * len(groups)
    np.savez(
        path,
        X=np.random.default_rng(0).normal(size=(n_rows, 3)),
        y=np.resize([-1, 1], n_rows),
        domain=np.arange(n_rows) % 4 // 2,
        domain_names=np.array(["old", "new"]),
        group=np.repeat(groups, 2),
        group_names=np.arange(groups.max() + 1).astype(str),
    )


def test_natural_bags_need_five_large_groups(tmp_path: Path) -> None:
    write_set(tmp_path / "five.npz", np.arange(200) % 5)
    write_set(tmp_path / "four.npz", np.arange(200) % 4)
    write_set(tmp_path / "tiny.npz", np.arange(200) // 4)
    found = league_settings(None, ["natural"], [8], tmp_path)
    assert found.settings == [Setting("five", "natural", 0)]
    assert set(found.left_out) == {"four", "tiny"}
    assert found.left_out["tiny"] == (
        "200 target rows are too few for 5 natural bags of 5 or more"
    )


def test_unfit_files_are_left_out_unless_named(tmp_path: Path) -> None:
    write_set(tmp_path / "mine.npz", np.arange(200) % 5)
    write_set(tmp_path / "adult.npz", np.arange(200) % 5)
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    found = league_settings(None, ["random"], [8], tmp_path)
    assert {setting.task for setting in found.settings} >= {"mine", "digits 50"}
    assert set(found.left_out) == {"broken", "adult"}
    assert "another data set than the task adult reads" in found.left_out["adult"]
    for name in ("broken", "adult"):
        with pytest.raises(TableError, match=f"{name}.npz"):
            league_settings([name], ["random"], [8], tmp_path)
    assert not league_settings(["mine"], ["random"], [8], tmp_path).left_out


def test_an_output_that_cannot_be_written_to_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").mkdir()
    plan = plan_league(tasks=["digits 50"], methods=["MeanMap"], sizes=[8], output=tmp_path)
    with pytest.raises(TableError, match=r"cells\.csv is a folder"):
        run_league(plan, command="bagshift league")


def test_a_league_ends_with_a_page(tmp_path: Path) -> None:
    plan = plan_league(
        tasks=["digits 50"], methods=["MeanMap"], sizes=[8], n_draws=2, output=tmp_path
    )
    assert (plan.n_cells, plan.n_done()) == (6, 0)
    league = run_league(plan, command="bagshift league --draws 2")
    fewer = plan_league(
        tasks=["digits 50"], methods=["LWE"], sizes=[8], n_draws=1, output=tmp_path
    )
    assert (fewer.n_cells, fewer.n_done()) == (3, 2)
    assert plan.n_done() == 6
    assert league.files[0] == tmp_path / "league.html"
    html = league.files[0].read_text(encoding="utf-8")
    assert "bagshift league --draws 2" in html
    assert "MeanMap" in html
    (overview,) = league.overviews
    assert {row[0] for row in overview.rows} == {FLOOR, "MeanMap", CEILING}


COMMAND = [
    *(sys.executable, "-m", "bagshift", "league", "--quick", "--draws", "2", "--jobs", "2"),
    *("--methods", "SourceSVM,LWE,MeanMap,BagEM,TGPLMCV"),
]


def start(output: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "--output", str(output)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def n_lines(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.exists() else 0


@pytest.mark.nightly
def test_killed_five_times_and_resumed(tmp_path: Path) -> None:
    assert start(tmp_path / "whole").wait() == 0
    moments = random.Random(20261130)
    killed = tmp_path / "killed"
    for _ in range(5):
        before = n_lines(killed / "cells.csv")
        process = start(killed)
        while n_lines(killed / "cells.csv") <= before and process.poll() is None:
            time.sleep(0.05)
        time.sleep(moments.uniform(0.0, 2.0))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    n_cells = 3 * 7 * 2
    assert n_lines(killed / "cells.csv") - 1 < n_cells, "it was over before it was killed"
    assert start(killed).wait() == 0
    tables = [
        pd.read_csv(folder / "cells.csv", keep_default_na=False)
        .drop(columns=list(CIRCUMSTANCES))
        .drop_duplicates(["task", "bags", "bag_size", "method", "draw"], keep="last")
        .sort_values(["draw", "task", "method"], ignore_index=True)
        for folder in (tmp_path / "whole", killed)
    ]
    assert len(tables[0]) == n_cells
    pd.testing.assert_frame_equal(*tables)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="processes: no /proc here")
def test_ended_like_interrupted(tmp_path: Path) -> None:
    process = start(tmp_path)
    while n_lines(tmp_path / "cells.csv") < 3 and process.poll() is None:
        time.sleep(0.05)
    workers = children(process.pid)
    process.terminate()
    assert process.wait(timeout=60) == 130
    assert len(workers) >= 2
    for _ in range(100):
        if not any(map(is_alive, workers)):
            return
        time.sleep(0.1)
    pytest.fail("workers go on")
