# SPDX-License-Identifier: BSD-3-Clause
"""Searches, league and paper grid find the same wherever joblib does the work.

Each backend has two processes with one thread. What is found is compared to the last digit with
what one process finds without joblib's help.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from bagshift import (
    TGPLM,
    TGPLMCV,
    Bags,
    CountLikelihoodClassifier,
    InverseCalibrationSVM,
    SourceSVM,
)
from bagshift.experiments.cells import CIRCUMSTANCES
from bagshift.experiments.league import plan_league
from bagshift.experiments.paper.parts import Request, chosen_file
from bagshift.experiments.paper.protocols import Protocol
from bagshift.experiments.paper.synthetic import SYNTHETIC
from bagshift.experiments.runs import Job, run_jobs
from bagshift.kernels import Kernel, unit_gram
from bagshift.model_selection import (
    BagKFold,
    bag_cross_val_predict,
    circular_search,
    path_search,
)
from bagshift.model_selection._parallel import Common
from recorded_kernel import recorded, values_by_process

N_WORKERS = 2
QUICK = Protocol("paper", "oracle", "quick")


@contextmanager
def dask_cluster() -> Iterator[dict[str, Any]]:
    reason = "Dask is not installed: pip install dask distributed"
    distributed = pytest.importorskip("distributed", reason=reason)
    with (
        distributed.LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield {"backend": "dask"}


@contextmanager
def ray_cluster() -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
        from ray.util.joblib import register_ray

        # Its sockets need a short path, and what it writes down should not stay.
        with tempfile.TemporaryDirectory(prefix="ray") as folder:
            ray.init(
                num_cpus=N_WORKERS,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
                _temp_dir=folder,
                # To find what tests have in common, as Dask does.
                runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}},
            )
            try:
                register_ray()
                yield {"backend": "ray", "n_jobs": -1}
            finally:
                ray.shutdown()


@contextmanager
def processes() -> Iterator[dict[str, Any]]:
    yield {"backend": "loky", "n_jobs": N_WORKERS}


CLUSTERS = {"loky": processes, "dask": dask_cluster, "ray": ray_cluster}


# Ray starts new processes for every call, which import all anew.
@pytest.fixture(
    scope="module", params=["loky", "dask", pytest.param("ray", marks=pytest.mark.nightly)]
)
def backend(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Give what ``joblib.parallel_config`` takes to reach two workers."""
    with CLUSTERS[request.param]() as config:
        yield config


# --- searches -------------------------------------------------------------------------------


class Problem:
    """Two clouds in either domain; 70 target rows in 14 bags."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        self.source = rng.normal(size=(60, 3)) + y[:, None], y
        labels = rng.random(70) < np.repeat(rng.random(14), 5)
        self.X = rng.normal(size=(70, 3)) + labels[:, None] + 0.3
        ids = np.repeat(np.arange(14), 5)
        self.bags = Bags.from_arrays(ids, dict(enumerate(labels.reshape(14, 5).mean(axis=1))))

    def search(self, machine: Any, grid: Any, **settings: Any) -> list[dict[str, Any]]:
        source = None if isinstance(machine, InverseCalibrationSVM) else self.source
        return path_search(
            machine, self.X, self.bags, source=source, grid=grid, cv=BagKFold(4), **settings
        ).table


PROBLEM = Problem()


@pytest.mark.parametrize(
    ("machine", "grid"),
    [
        (TGPLM(), "quick"),
        (InverseCalibrationSVM(), {"gamma": [0.1, 0.2, 0.3], "C": [0.5, 2.0]}),
        (SourceSVM(threshold="prior"), {"gamma": [0.1, 1.0], "C": [0.5, 2.0]}),
        (
            CountLikelihoodClassifier(random_state=np.random.RandomState(3)),
            {"gamma": [0.1, 0.3], "coupling": [0.1, 1.0]},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_search_finds_the_same(backend: dict[str, Any], machine: Any, grid: Any) -> None:
    calls: list[tuple[int, int]] = []
    expected = PROBLEM.search(machine, grid)
    with joblib.parallel_config(**backend):
        found = PROBLEM.search(machine, grid, progress=lambda *state: calls.append(state))
    assert found == expected
    assert calls == [(done, calls[-1][1]) for done in range(1, calls[-1][1] + 1)]


def test_an_estimator_that_searches_finds_the_same(backend: dict[str, Any]) -> None:
    def fitted() -> TGPLMCV:
        return TGPLMCV(cv=BagKFold(4)).fit(PROBLEM.X, PROBLEM.bags, source=PROBLEM.source)

    expected = fitted()
    with joblib.parallel_config(**backend):
        found = fitted()
    np.testing.assert_equal(found.cv_results_, expected.cv_results_)
    np.testing.assert_array_equal(
        found.decision_function(PROBLEM.X), expected.decision_function(PROBLEM.X)
    )


def test_a_worker_computes_the_kernel_matrix_once(backend: dict[str, Any], tmp_path: Path) -> None:
    kernel = recorded(tmp_path, 0.3)
    machine, grid = TGPLM(kernel=kernel), {"C_source": [0.5, 2.0], "coupling": [0.1, 1.0]}
    units = np.repeat(np.arange(14), 5)
    unit_gram(Kernel(kernel), PROBLEM.source[0], PROBLEM.X, units, 14)
    [of_matrix] = values_by_process(tmp_path).values()
    expected = PROBLEM.search(machine, grid)
    # That of the search and that of the fit of what was chosen.
    [alone] = values_by_process(tmp_path).values()
    of_held_out = alone - 2 * of_matrix
    with joblib.parallel_config(**backend):
        assert PROBLEM.search(machine, grid) == expected
    found = values_by_process(tmp_path)
    assert found.pop(os.getpid()) == of_matrix  # of the fit
    assert 1 <= len(found) <= N_WORKERS
    assert sum(found.values()) == len(found) * of_matrix + of_held_out


def test_circular_search_finds_the_same(backend: dict[str, Any]) -> None:
    def table() -> list[dict[str, Any]]:
        return circular_search(
            TGPLM(),
            PROBLEM.X,
            PROBLEM.bags,
            source=PROBLEM.source,
            grid={"coupling": [0.1, 1.0, 10.0]},
        ).table

    expected = table()
    with joblib.parallel_config(**backend):
        assert table() == expected


def test_held_out_scores_are_the_same(backend: dict[str, Any]) -> None:
    predict = partial(
        bag_cross_val_predict, InverseCalibrationSVM(), PROBLEM.X, PROBLEM.bags, cv=BagKFold(4)
    )
    expected = predict()
    with joblib.parallel_config(**backend):
        np.testing.assert_array_equal(predict(), expected)


def test_backends_are_told_how_much_is_to_be_sent() -> None:
    X = np.ones((1000, 50))
    common = Common(partial(np.linalg.norm, X), X, None)
    assert X.nbytes <= sys.getsizeof(common) < 1.1 * X.nbytes


# --- cells ----------------------------------------------------------------------------------


def table(jobs: list[Job], file: Path) -> list[dict[str, object]]:
    """Run jobs; return everything but time and version, NaN as text."""
    return [
        {name: str(value) for name, value in asdict(cell).items() if name not in CIRCUMSTANCES}
        for cell in run_jobs(jobs, file)
    ]


def paper_jobs() -> list[Job]:
    """Every choice of the Gaussians by the paper's protocol, on its quick grid."""
    jobs = SYNTHETIC.jobs(Request(QUICK, Path()), 1)
    return jobs[chosen_file(SYNTHETIC.name, QUICK)]


def league_jobs() -> list[Job]:
    return plan_league(
        tasks=["digits 50"], methods=["TGPLMCV", "MeanMap"], sizes=[8], n_draws=1, output=Path()
    ).jobs()


@pytest.fixture(scope="module", params=[paper_jobs, league_jobs], ids=["paper", "league"])
def cells(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Job], list[dict[str, object]]]:
    """Give jobs and what one process makes of them."""
    jobs = request.param()
    return jobs, table(jobs, tmp_path_factory.mktemp("alone") / "cells.csv")


def test_cells_are_the_same(
    backend: dict[str, Any], cells: tuple[list[Job], list[dict[str, object]]], tmp_path: Path
) -> None:
    jobs, expected = cells
    with joblib.parallel_config(**backend):
        found = table(jobs, tmp_path / "cells.csv")
    assert found == expected
    assert all(cell["status"] == "done" for cell in found)
