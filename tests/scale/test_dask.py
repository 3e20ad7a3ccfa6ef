# SPDX-License-Identifier: BSD-3-Clause
"""Passes and fits on a Dask cluster: those of one process, whatever happens to its workers."""

import logging
import os
import signal
import subprocess
import sys
from itertools import pairwise
from threading import Lock

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

from bagshift import TGPLM, Bags, CountLikelihoodClassifier, InverseCalibrationSVM, SourceSVM
from bagshift.exceptions import BagError, PositiveClassWarning, TableError
from bagshift.scale import _dask_blocks, dask_passes, fit_dask
from bagshift.scale.dask_passes import Blocks, DaskRowPasses, DaskUnitPasses, aligned
from bagshift.solvers import coupled_linear, unit_passes
from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.coupled_linear import solve_coupled_linear_passes
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses

QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "threads_per_worker": 1}
MACHINE = LinearMachine(np.array([0.6, -1.1, 0.3]), 0.2)
LINE = LinearMachine(np.array([-0.2, 0.4, 0.1]), -0.3)
NAMES = list("abcd")


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, **QUIET) as cluster, Client(cluster) as found:
        yield found


# Passes -----------------------------------------------------------------------------------


def units(n_units=5 * CHUNK_ROWS + 77, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_units, 3))
    targets = X @ MACHINE.weights + rng.normal(size=n_units)
    cost = rng.uniform(0.5, 1.5, size=n_units) / n_units
    return LinearUnits(X, targets, np.full(n_units, 0.1), -cost, cost)


def labelled(n_rows=5 * CHUNK_ROWS + 77):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    return LabelledRows(X, np.where(rng.random(n_rows) < 0.4, 1.0, -1.0), np.full(n_rows, 0.3))


def counted(n_bags=6000):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 12, size=n_bags)
    counts = BagCounts.exact(rng.binomial(sizes, 0.4), sizes)
    return CountedRows(rng.normal(size=(sizes.sum(), 3)), counts, rng.random(n_bags))


def on_cluster(client, rows, n_chunks_each):
    """Return blocks that a task makes where it runs."""
    if isinstance(rows, LinearUnits):
        borders = np.append(np.arange(0, rows.n_units, CHUNK_ROWS), rows.n_units)
        parts = [rows.take(slice(a, b)) for a, b in pairwise(borders_of(borders, n_chunks_each))]
    else:
        borders = borders_of(rows.borders(CHUNK_ROWS), n_chunks_each)
        parts = [rows.between(a, b) for a, b in pairwise(borders)]
    futures = [client.submit(aligned, part, pure=False) for part in parts]
    n_rows = getattr(rows, "n_rows", rows.n_units)
    return Blocks(client, futures, n_chunks_each, n_rows, rows.n_units, rows.n_features)


def borders_of(borders, n_chunks_each):
    return np.append(borders[:-1:n_chunks_each], borders[-1])


def identical(one, two):
    """Assert that dataclasses, tuples and arrays agree to the last digit."""
    assert type(one) is type(two)
    if hasattr(one, "__dataclass_fields__"):
        for name in one.__dataclass_fields__:
            if name not in ("pool", "first_chunk"):
                identical(getattr(one, name), getattr(two, name))
    else:
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_chunks_each", [1, 2, 8])
def test_unit_passes_answer_as_in_one_process(client, n_chunks_each, monkeypatch):
    one = UnitPasses(units())
    other = DaskUnitPasses(on_cluster(client, one.units, n_chunks_each))
    assert (other.n_units, other.n_features) == (one.n_units, one.n_features)
    assert other.square_sum() == one.square_sum()
    assert other.total_cost == one.total_cost
    identical(other.sums(MACHINE, 0.1), one.sums(MACHINE, 0.1))
    identical(other.sample(0.1), one.sample(0.1))
    identical(other.gathered().units, one.units)
    identical(other.settled(MACHINE, 0.2, LINE), one.settled(MACHINE, 0.2, LINE))
    for mine, theirs in zip(other.near(MACHINE, 0.2), one.near(MACHINE, 0.2), strict=True):
        identical(mine, theirs)
    for up in (False, True):
        assert other.room(MACHINE, up=up) == one.room(MACHINE, up=up)
    lengths = np.array([0.0, 0.3, 1.7])
    expected = one.line(MACHINE, LINE, 0.1)(lengths)
    for most in (2**20, 1000):
        monkeypatch.setattr(unit_passes, "_MOST_HELD", most)
        assert other.holds_lines == (most > 1000)
        np.testing.assert_array_equal(other.line(MACHINE, LINE, 0.1)(lengths), expected)


@pytest.mark.parametrize("n_chunks_each", [1, 4])
@pytest.mark.parametrize("rows", [labelled(), counted()], ids=["labelled", "counted"])
def test_row_passes_answer_as_in_one_process(client, rows, n_chunks_each):
    one = RowPasses(rows)
    other = DaskRowPasses(on_cluster(client, rows, n_chunks_each))
    assert (other.n_rows, other.n_units, other.n_features) == (one.n_rows, one.n_units, 3)
    identical(other.sums(MACHINE), one.sums(MACHINE))
    identical(other.sample(0.1), one.sample(0.1))
    assert other.sample(0.0) is None


def test_more_blocks_than_one_task_adds_up(client):
    one = UnitPasses(units(19 * CHUNK_ROWS + 5))
    other = DaskUnitPasses(on_cluster(client, one.units, 1))
    assert len(other.blocks.futures) == 20 > dask_passes._ADDENDS
    identical(other.sums(MACHINE, 0.1), one.sums(MACHINE, 0.1))


def test_many_units_are_solved_as_in_one_process(client):
    source, target = units(70_000), units(9_000, seed=3)
    one = solve_coupled_linear_passes(UnitPasses(source), UnitPasses(target), 1.0, tol=1e-10)
    others = (DaskUnitPasses(on_cluster(client, part, 2)) for part in (source, target))
    identical(solve_coupled_linear_passes(*others, 1.0, tol=1e-10), one)


def test_blocks_that_begin_at_any_byte_are_set_right():
    memory = np.zeros(8 * 30 + 1, dtype=np.uint8)
    odd = memory[1:].view(np.float64).reshape(10, 3)
    assert not odd.flags.aligned
    rows = LabelledRows(odd, np.ones(10), np.ones(10))
    assert aligned(rows).features.flags.aligned
    assert aligned(rows).signs is rows.signs


def test_dask_knows_how_large_blocks_are():
    n_bytes = dask.sizeof.sizeof(counted())
    rows = counted()
    assert n_bytes > rows.features.nbytes + rows.counts.starts.nbytes


def test_blocks_are_some_for_each_thread_and_no_larger_than_memory_likes(client):
    assert _dask_blocks.n_chunks_each(client, 100, 3) == 16
    assert _dask_blocks.n_chunks_each(client, 3, 3) == 1
    assert _dask_blocks.n_chunks_each(client, 10_000, 20) == 32
    assert _dask_blocks.n_chunks_each(client, 10_000, 20_000) == 1


@pytest.fixture
def many(monkeypatch):
    """Let few units be many, so that passes over them are made where they lie."""
    monkeypatch.setattr(coupled_linear, "_MANY_UNITS", 500)


# Fits -------------------------------------------------------------------------------------


def make_frames(*, ids=lambda numbers: numbers, dtype=np.float64, n_bags=300, n_source=1500):
    """Return rows in any order, history, shares by id."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4)
    sizes = rng.integers(3, 12, size=n_bags)
    place = rng.permutation(np.repeat(np.arange(n_bags), sizes))
    X = rng.normal(size=(len(place), 4)) + rng.normal(size=(n_bags, 4))[place]
    is_positive = X @ truth + rng.logistic(size=len(X)) > 0
    bag = np.asarray(ids(7 * np.arange(n_bags) + 3))[place]
    target = pd.DataFrame(X.astype(dtype), columns=NAMES).assign(bag=bag)
    X_source = rng.normal(size=(n_source, 4))
    votes = np.where(X_source @ (truth + 0.3) + rng.logistic(size=n_source) > 0, "yes", "no")
    source = pd.DataFrame(X_source.astype(dtype), columns=NAMES).assign(voted=votes)
    return target, source, pd.Series(is_positive).groupby(bag).mean()


def fit_in_memory(machine, target, source, shares):
    rows = target.sort_values("bag", kind="stable")
    bags = Bags.from_arrays(rows.bag.to_numpy(), shares, positive="yes", negative="no")
    given = None if source is None else (source[NAMES], source.voted.to_numpy())
    return clone(machine).fit(rows[NAMES], bags, source=given)


def fit_on(cluster, machine, target, source, shares, *, n_partitions=3, **options):
    given = {"bag": "bag", "shares": shares, "positive": "yes", **options}
    if source is not None:
        given |= {"source": dd.from_pandas(source, npartitions=n_partitions), "label": "voted"}
    frame = dd.from_pandas(target, npartitions=n_partitions)
    return fit_dask(clone(machine), frame, cluster=cluster, **given)


TGPLM_MACHINE = TGPLM(kernel="linear", solver="newton", C_source=0.01, tol=1e-6)
COUNTS = CountLikelihoodClassifier(kernel="linear", C_target=1.0, tol=1e-10)
SCALED = clone(COUNTS).set_params(standardize=True)
BAGS_ALONE = InverseCalibrationSVM(kernel="linear", solver="newton", tol=1e-6)


def identical_machines(one, two):
    for name in ("coef_", "intercept_", "source_coef_", "source_intercept_", "objective_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.fixture(scope="module")
def fitted(client):
    """Return a machine fitted on two workers; each is fitted once."""
    known = {}

    def fit(machine, with_source=True):
        key = (repr(machine), with_source)
        if key not in known:
            target, source, shares = make_frames()
            source = source if with_source else None
            known[key] = fit_on(client, machine, target, source, shares)
        return known[key]

    return fit


@pytest.mark.parametrize(
    ("machine", "with_source"),
    [(TGPLM_MACHINE, True), (BAGS_ALONE, False), (COUNTS, True), (COUNTS, False), (SCALED, True)],
    ids=["tgplm", "bags alone", "counts", "counts alone", "standardised"],
)
def test_fit_is_that_in_memory(machine, with_source, many, fitted):
    target, source, shares = make_frames()
    source = source if with_source else None
    expected = fit_in_memory(machine, target, source, shares)
    found = fitted(machine, with_source)
    assert found.converged_
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=0, atol=1e-10)
    is_positive = [machine.predict(target[NAMES]) == "yes" for machine in (found, expected)]
    np.testing.assert_array_equal(*is_positive)
    assert found.feature_names_in_.tolist() == NAMES
    assert found.positive_class_ == "yes"
    if with_source:
        np.testing.assert_allclose(
            found.source_decision_function(source[NAMES]),
            expected.source_decision_function(source[NAMES]),
            atol=1e-9,
        )


def test_partitions_and_workers_change_nothing_that_they_must_not(client, many, fitted):
    frames = make_frames()
    counts = [fitted(COUNTS), fit_on(client, COUNTS, *frames, n_partitions=5)]
    with LocalCluster(n_workers=1, **QUIET) as alone:
        address = alone.scheduler_address
        counts.append(fit_on(address, COUNTS, *frames, n_partitions=1))
        tgplm = fit_on(address, TGPLM_MACHINE, *frames)
    pairs = [(counts[1], counts[0]), (counts[2], counts[0]), (tgplm, fitted(TGPLM_MACHINE))]
    for pair in pairs:
        identical_machines(*pair)


def test_means_of_bags_are_those_of_other_partitions_up_to_rounding(client, many, fitted):
    found = fit_on(client, TGPLM_MACHINE, *make_frames(), n_partitions=7)
    np.testing.assert_allclose(found.coef_, fitted(TGPLM_MACHINE).coef_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("machine", [TGPLM_MACHINE, COUNTS], ids=["tgplm", "counts"])
def test_ids_may_be_text_and_rows_of_single_precision(client, machine):
    frames = make_frames(ids=lambda numbers: [f"bag {n}" for n in numbers], dtype=np.float32)
    expected = fit_in_memory(machine, *frames)
    np.testing.assert_allclose(
        fit_on(client, machine, *frames).coef_, expected.coef_, rtol=0, atol=1e-6
    )


def test_counts_in_place_of_shares(client, many, fitted):
    target, source, shares = make_frames()
    numbers = (shares * target.groupby("bag").size()).round().astype(int)
    found = fit_on(client, TGPLM_MACHINE, target, source, None, counts=numbers)
    np.testing.assert_allclose(found.coef_, fitted(TGPLM_MACHINE).coef_, rtol=0, atol=1e-10)


def test_unmatched_bags_are_left_out_on_request(client):
    target, source, shares = make_frames()
    fewer = shares.iloc[3:]
    found = fit_on(client, COUNTS, target, source, fewer, on_unmatched="drop")
    expected = fit_in_memory(COUNTS, target[target.bag.isin(fewer.index)], source, fewer)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("machine", [TGPLM_MACHINE, COUNTS], ids=["tgplm", "counts"])
def test_a_killed_worker_changes_no_digit(client, machine, many, fitted, monkeypatch):
    expected = fitted(machine)
    passes = DaskUnitPasses if machine is TGPLM_MACHINE else DaskRowPasses
    question = "sums" if machine is TGPLM_MACHINE else "sample"
    ask, killed, one_at_a_time = getattr(passes, question), [], Lock()

    def kill_and_ask(self, *arguments):
        with one_at_a_time:  # both machines' passes are asked at once
            if not killed:
                worker = next(iter(client.who_has(self.blocks.futures).values()))[0]
                killed.append(client.run(os.getpid, workers=[worker])[worker])
                os.kill(killed[0], signal.SIGKILL)
        return ask(self, *arguments)

    monkeypatch.setattr(passes, question, kill_and_ask)
    found = fit_on(client, machine, *make_frames())
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    identical_machines(found, expected)


SCRIPT = """
import dask.dataframe as dd, pandas as pd, numpy as np
from bagshift import InverseCalibrationSVM
from bagshift.scale import fit_dask

if __name__ == "__main__":
    X = np.arange(60.0)
    frame = pd.DataFrame({"bag": np.arange(60) // 6, "x": X})
    shares = {k: k / 9 for k in range(10)}
    machine = InverseCalibrationSVM(kernel="linear")
    fit_dask(machine, dd.from_pandas(frame, npartitions=2), bag="bag", shares=shares)
    print(machine.coef_[0, 0] > 0)
"""


def test_a_cluster_of_this_machine_is_silent_and_ends_with_the_fit(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=300
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "True\n", "")


# Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"machine": TGPLM()}, ValueError, "set kernel='linear' in place of 'rbf'"),
        ({"machine": SourceSVM()}, ValueError, "not SourceSVM"),
        ({"target": pd.DataFrame({"bag": [1]})}, TableError, "target must be a Dask data frame"),
        ({"label": None}, ValueError, "source= and label="),
        ({"label": "vote"}, TableError, "The source has no column 'vote'"),
        ({"bag": "ward"}, TableError, "The target has no column 'ward'"),
        ({"columns": ["a", "e"]}, TableError, "The target has no column 'e'"),
        ({"machine": BAGS_ALONE}, ValueError, "bags alone"),
        ({"cluster": 3}, ValueError, "address of a scheduler"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(change, error, words):
    target, source, shares = make_frames(n_bags=20)
    given = {
        "machine": TGPLM_MACHINE,
        "target": dd.from_pandas(target, npartitions=2),
        "bag": "bag",
        "shares": shares,
        "source": dd.from_pandas(source, npartitions=2),
        "label": "voted",
        "positive": "yes",
    }
    given |= change
    with pytest.raises(error, match=words):
        fit_dask(given.pop("machine"), given.pop("target"), **given)


def test_columns_that_are_no_numbers_are_refused(client):
    target, source, shares = make_frames(n_bags=50)
    with pytest.raises(TableError, match="Column 'a' of the target is of type"):
        fit_on(client, COUNTS, target.assign(a="x"), source, shares)
    holed = target.assign(b=target.b.where(target.index != 7))
    with pytest.raises(TableError, match="Column 'b' of the target holds missing"):
        fit_on(client, TGPLM_MACHINE, holed, source, shares)
    holed = source.assign(c=source.c.where(source.index != 7, np.inf))
    with pytest.raises(TableError, match="Column 'c' of the source holds missing"):
        fit_on(client, COUNTS, target, holed, shares)


def test_bags_that_do_not_fit_are_refused(client):
    target, source, shares = make_frames(n_bags=50)
    n_rows = target.groupby("bag").size()
    with pytest.raises(BagError, match="3"):
        fit_on(client, COUNTS, target, source, shares.iloc[3:])
    sizes = n_rows - (n_rows.index == 17)
    with pytest.raises(BagError, match="fewer individuals than there are rows in bag 17"):
        fit_on(client, COUNTS, target, source, shares, sizes=sizes)


def test_ids_and_labels_that_cannot_be_used_are_refused(client):
    target, source, shares = make_frames(n_bags=50)
    holed = target.assign(bag=target.bag.where(target.index != 7).astype("Int64"))
    with pytest.raises(BagError, match="missing in 1 rows of the target"):
        fit_on(client, COUNTS, holed, source, shares)
    with pytest.raises(BagError, match="whole numbers or text"):
        fit_on(client, COUNTS, target.assign(bag=target.bag + 0.5), source, shares)
    holed = source.assign(voted=source.voted.where(source.index != 7))
    with pytest.raises(TableError, match="missing in 1 rows of the source"):
        fit_on(client, COUNTS, target, holed, shares)


def test_shares_of_the_other_class_are_warned_of(client):
    target, source, shares = make_frames(n_bags=200)
    mostly = source[(source.voted == "yes") | (source.index % 20 == 0)]
    with pytest.warns(PositiveClassWarning, match="shares of the other class"):
        fit_on(client, TGPLM_MACHINE, target, mostly, shares * 0.1)


def test_without_dask_the_line_to_install_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "bagshift\[dask\]"'):
        fit_dask(TGPLM_MACHINE, None, bag="bag")
