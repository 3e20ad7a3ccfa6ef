# SPDX-License-Identifier: BSD-3-Clause
"""Passes over labelled rows and rows in bags: what they sum up, where they cut, what they draw."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._passes_newton import PassesObjective
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses, drawn
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.coupled_logistic import _coordinates, _Objective
from solvers.logistic_problems import COUPLINGS, SIZES, make_problem, with_law

MACHINE = LinearMachine(np.array([0.6, -1.1, 0.3]), 0.2)
NOISE = -np.arange(8) / 2.0


def rows_of(problem):
    source = LabelledRows(problem.source_features, problem.source_signs, problem.source_costs)
    return source, CountedRows(problem.target_features, problem.counts, problem.bag_costs)


def kinds():
    """Labelled rows, and rows in bags of exact, of noisy and of partly noisy counts."""
    exact = make_problem(sizes=np.tile(SIZES, 7))
    noisy = with_law(exact, NOISE)
    source, target = rows_of(exact)
    _, under_noise = rows_of(noisy)
    parts = [target.take(np.arange(30)), under_noise.take(np.arange(30, 70))]
    mixed = CountedRows.concatenate(parts)
    return {"labelled": source, "exact": target, "noisy": under_noise, "mixed": mixed}


KINDS = kinds()


def same_sums(one, two, tolerance=1e-12):
    assert one.loss == pytest.approx(two.loss, rel=tolerance)
    for name in ("slope", "curvature"):
        first, second = getattr(one, name), getattr(two, name)
        scale = np.abs(second).max()
        np.testing.assert_allclose(first, second, atol=tolerance * scale, rtol=0)


def identical_sums(one, two):
    assert one.loss == two.loss
    np.testing.assert_array_equal(one.slope, two.slope)
    np.testing.assert_array_equal(one.curvature, two.curvature)


# Sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [None, NOISE], ids=["exact", "noisy"])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_passes_give_the_objective_of_truncated_newton(coupling, with_source, law):
    problem = make_problem(coupling=coupling, with_source=with_source)
    problem = problem if law is None else with_law(problem, law)
    coordinates = _coordinates(problem, 4.0)
    v = np.random.default_rng(1).normal(size=coordinates.size)
    in_units = replace(
        problem, source_costs=16 * problem.source_costs, bag_costs=16 * problem.bag_costs
    )
    whole = _Objective(in_units, coordinates)
    expected = whole.at(v)
    hessian = [whole.hessian_product(expected, axis) for axis in np.eye(len(v))]
    source, target = rows_of(problem)
    found = PassesObjective(
        RowPasses(source, chunk_rows=7) if with_source else None,
        RowPasses(target, chunk_rows=7),
        coordinates,
        np.zeros((len(v), len(v))),
    ).at(v)
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-11)
    np.testing.assert_allclose(found.curvature, hessian, atol=1e-10)


def sums_around(rows, axis, **options):
    """Return what passes say a step ahead of the machine and a step behind it."""
    for sign in (1, -1):
        weights, intercept = MACHINE.weights + sign * axis[:3], MACHINE.intercept + sign * axis[3]
        yield rows.sums(LinearMachine(weights, intercept), **options)


@pytest.mark.parametrize("kind", KINDS)
def test_slope_is_the_derivative_of_the_loss(kind):
    rows, step = KINDS[kind], 1e-5
    quotients = []
    for axis in step * np.eye(4):
        ahead, behind = sums_around(rows, axis, with_curvature=False)
        quotients.append((ahead.loss - behind.loss) / (2 * step))
    np.testing.assert_allclose(rows.sums(MACHINE).slope, quotients, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("kind", ["labelled", "bags of two"])
def test_curvature_is_the_derivative_of_the_slope_where_it_is_exact(kind):
    rows = KINDS["labelled"]
    if kind == "bags of two":
        rows = rows_of(make_problem(sizes=np.full(20, 2)))[1]
    step = 1e-5
    quotients = []
    for axis in step * np.eye(4):
        ahead, behind = sums_around(rows, axis)
        quotients.append((ahead.slope - behind.slope) / (2 * step))
    np.testing.assert_allclose(rows.sums(MACHINE).curvature, quotients, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_curvature_is_left_out_on_request(kind):
    full, less = (RowPasses(KINDS[kind]).sums(MACHINE, with_curvature=c) for c in (True, False))
    assert less.curvature is None
    assert less.loss == full.loss
    np.testing.assert_array_equal(less.slope, full.slope)
    assert full.gap == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_one_chunk_whatever_its_size(kind):
    whole = KINDS[kind].sums(MACHINE)
    for chunk_rows in (1, 5, 64, 100_000):
        same_sums(RowPasses(KINDS[kind], chunk_rows=chunk_rows).sums(MACHINE), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_number_of_threads_changes_no_bit(kind):
    alone = RowPasses(KINDS[kind], chunk_rows=16).sums(MACHINE)
    for n_threads in (1, 3):
        with ThreadPoolExecutor(n_threads) as pool:
            identical_sums(RowPasses(KINDS[kind], pool, chunk_rows=16).sums(MACHINE), alone)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_sum_up_like_dense_ones(kind):
    rows = KINDS[kind]
    other = replace(rows, features=sparse.csr_matrix(rows.features))
    passes = RowPasses(other, chunk_rows=16)
    same_sums(passes.sums(MACHINE), rows.sums(MACHINE))
    assert sparse.issparse(passes.sample(0.5).features)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_computed_in_double(kind):
    single = replace(KINDS[kind], features=KINDS[kind].features.astype(np.float32))
    double = replace(single, features=single.features.astype(np.float64))
    one, two = (RowPasses(rows, chunk_rows=16).sums(MACHINE) for rows in (single, double))
    identical_sums(one, two)
    assert one.slope.dtype == np.float64
    assert RowPasses(single).sample(1.0).features.dtype == np.float32


@pytest.mark.parametrize("kind", KINDS)
def test_layout_of_the_rows_changes_no_bit(kind):
    rows = KINDS[kind]
    by_column = replace(rows, features=np.asfortranarray(rows.features))
    one, two = (RowPasses(r, chunk_rows=16).sums(MACHINE) for r in (rows, by_column))
    identical_sums(one, two)


class Watched:
    """Rows that can be read a part at a time only; remembers the largest."""

    def __init__(self, features):
        self.features, self.shape, self.largest = features, features.shape, 0

    def __getitem__(self, rows):
        part = self.features[rows]
        self.largest = max(self.largest, len(part))
        return part


@pytest.mark.parametrize("kind", ["labelled", "exact"])
def test_rows_in_a_file_are_read_chunk_by_chunk(kind, tmp_path):
    rows = KINDS[kind]
    mapped = np.memmap(tmp_path / "rows", np.float32, "w+", shape=rows.features.shape)
    mapped[:] = rows.features
    mapped.flush()
    in_file = np.memmap(tmp_path / "rows", np.float32, "r", shape=rows.features.shape)
    watched = Watched(in_file)
    in_memory = RowPasses(replace(rows, features=np.array(in_file)), chunk_rows=16)
    passes = RowPasses(replace(rows, features=watched), chunk_rows=16)
    identical_sums(passes.sums(MACHINE), in_memory.sums(MACHINE))
    identical_sums(passes.sample(0.4).sums(MACHINE), in_memory.sample(0.4).sums(MACHINE))
    assert 0 < watched.largest <= 16


# Chunks -----------------------------------------------------------------------------------


def test_chunks_have_whole_bags_and_no_more_rows_than_fit():
    rows = KINDS["exact"]
    for chunk_rows in (1, 7, 20, 50, 1000):
        borders = rows.borders(chunk_rows)
        assert borders[0] == 0
        assert borders[-1] == rows.n_units
        assert (np.diff(borders) > 0).all()
        n_rows = np.diff(rows.counts.starts[borders])
        assert (n_rows[np.diff(borders) > 1] <= chunk_rows).all()
        # The next bag would not have fitted.
        following = rows.counts.sizes[borders[1:-1]]
        assert (n_rows[:-1] + following > chunk_rows).all()


def test_labelled_rows_are_cut_evenly():
    np.testing.assert_array_equal(KINDS["labelled"].borders(16), [0, 16, 30])
    np.testing.assert_array_equal(KINDS["labelled"].borders(15), [0, 15, 30])


def test_a_bag_larger_than_a_chunk_is_a_chunk_and_read_block_by_block():
    rng = np.random.default_rng(0)
    sizes = np.array([3, CHUNK_ROWS + 900, 5, 2 * CHUNK_ROWS, 4])
    n_rows = sizes.sum()
    problem = replace(
        make_problem(with_source=False),
        target_features=rng.normal(size=(n_rows, 3)),
        counts=BagCounts.exact(sizes // 3, sizes),
        bag_costs=np.arange(1.0, 6.0),
    )
    _, rows = rows_of(problem)
    np.testing.assert_array_equal(rows.borders(CHUNK_ROWS), np.arange(6))
    coordinates = _coordinates(problem)
    whole = _Objective(problem, coordinates)
    expected = whole.at(np.append(MACHINE.weights, MACHINE.intercept))
    penalty = np.append(MACHINE.weights, 0.0)
    found = RowPasses(rows).sums(MACHINE)
    np.testing.assert_allclose(found.slope, expected.gradient - penalty, atol=1e-9)
    hessian = [whole.hessian_product(expected, axis) for axis in np.eye(4)]
    regulariser = np.diag([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(found.curvature, hessian - regulariser, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_put_together_are_the_rows(kind):
    rows = KINDS[kind]
    borders = rows.borders(16)
    parts = [rows.between(a, b) for a, b in pairwise(borders)]
    assert np.shares_memory(parts[1].features, rows.features)
    again = type(rows).concatenate(parts)
    assert (again.n_rows, again.n_units) == (rows.n_rows, rows.n_units)
    identical_sums(again.sums(MACHINE), rows.sums(MACHINE))


def test_partitions_at_a_power_of_two_of_chunks_add_up_to_the_same_bits():
    rows = KINDS["noisy"]
    whole = RowPasses(rows, chunk_rows=30)
    cut = rows.borders(30)[8]
    assert 8 < len(rows.borders(30)) - 1 <= 16
    parts = [rows.between(0, cut), rows.between(cut, rows.n_units)]
    first, second = (RowPasses(part, chunk_rows=30).sums(MACHINE) for part in parts)
    identical_sums(first + second, whole.sums(MACHINE))


# Samples ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_sample_is_of_whole_units_whose_costs_stand_for_all(kind):
    passes = RowPasses(KINDS[kind], chunk_rows=16)
    sample = passes.sample(0.5)
    assert 0.2 * passes.n_units < sample.n_units < 0.8 * passes.n_units
    identical_sums(sample.sums(MACHINE), passes.sample(0.5).sums(MACHINE))
    factor = passes.n_units / sample.n_units
    if kind == "labelled":
        assert set(sample.costs) <= set(factor * passes.rows.costs)
    else:
        assert set(sample.bag_costs) <= set(factor * passes.rows.bag_costs)
        assert set(sample.counts.sizes) <= set(passes.rows.counts.sizes)
    with ThreadPoolExecutor(3) as pool:
        threaded = RowPasses(KINDS[kind], pool, chunk_rows=16).sample(0.5)
    identical_sums(sample.sums(MACHINE), threaded.sums(MACHINE))


@pytest.mark.parametrize("kind", KINDS)
def test_sample_of_all_is_all_and_of_nothing_is_none(kind):
    passes = RowPasses(KINDS[kind], chunk_rows=16)
    identical_sums(passes.sample(1.0).sums(MACHINE), passes.rows.sums(MACHINE))
    assert passes.sample(0.0) is None


def test_what_is_drawn_of_a_chunk_depends_on_its_number():
    found = [drawn(number, 1000, 0.3) for number in (0, 1, 1)]
    assert not np.array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[1], found[2])
    counts = [len(drawn(number, 1000, 0.3)) for number in range(50)]
    assert 290 < np.mean(counts) < 310
