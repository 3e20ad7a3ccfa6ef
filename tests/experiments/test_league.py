# SPDX-License-Identifier: BSD-3-Clause
"""What a league consists of, and that it survives being killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from bagshift.exceptions import TableError
from bagshift.experiments.cells import CIRCUMSTANCES
from bagshift.experiments.league import (
    Setting,
    check_methods,
    league_settings,
    plan_league,
    run_league,
)
from bagshift.experiments.methods import CEILING, FLOOR, METHODS


def test_tasks_take_part_where_they_have_rows() -> None:
    settings = league_settings(None, ["random", "natural"], [8, 32, 100], None)
    assert settings == [
        Setting("digits 30", "random", 8),
        Setting("digits 50", "random", 8),
        Setting("breast cancer", "random", 8),
        Setting("breast cancer", "random", 32),
    ]


def test_tasks_of_the_protocol(shared_data: Path) -> None:
    settings = league_settings(None, ["random", "natural"], [8, 32, 100], shared_data)
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
    with pytest.raises(TableError, match="No task has rows"):
        league_settings(["digits 50"], ["random"], [100], None)


def test_a_league_ends_with_a_page(tmp_path: Path) -> None:
    plan = plan_league(
        tasks=["digits 50"], methods=["MeanMap"], sizes=[8], n_draws=2, output=tmp_path
    )
    assert (plan.n_cells, plan.n_done()) == (6, 0)
    league = run_league(plan, command="bagshift league --draws 2")
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
