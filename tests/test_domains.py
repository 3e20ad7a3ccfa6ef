# SPDX-License-Identifier: BSD-3-Clause
"""Stacking source upon target and taking them apart again."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bag_equality import assert_same_bags, is_whole
from bagshift import TGPLM, BagError, Bags, TableError, stack_domains
from bagshift.domains import split_domains

RNG = np.random.default_rng(0)
X_SOURCE = RNG.normal(size=(5, 3))
X_TARGET = RNG.normal(size=(7, 3)) + 1
LABELS = ["no", "yes", "no", "yes", "yes"]
WEIGHTS = [1.0, 2.0, 0.0, 1.0, 0.5]
COLUMNS = ["age", "income", "size"]


@pytest.fixture
def bags():
    """Bags of every kind of target row."""
    ids = ["a", "b", "a", "b", Bags.NO_BAG, Bags.NO_BAG, "b"]
    built = Bags.from_arrays(ids, {"a": 0.5, "b": 0.25}, positive="yes", sizes={"a": 9, "b": 3})
    return built.with_labels([None] * 4 + ["no", None, None])


KINDS = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "float32": np.float32,
    "csr matrix": scipy.sparse.csr_matrix,
    "csr array": scipy.sparse.csr_array,
    "csc matrix": scipy.sparse.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS, index=range(40, 40 + len(X))),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
}


def dense(X):
    X = X.toarray() if scipy.sparse.issparse(X) else X
    return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind, bags):
    make = KINDS[kind]
    source, target = (make(X_SOURCE), LABELS, WEIGHTS), (make(X_TARGET), bags)
    X, y = stack_domains(source=source, target=target)
    assert X.shape == (12, 3)
    assert len(y) == 12
    assert y.is_source.tolist() == [True] * 5 + [False] * 7
    assert y.positive == "yes"
    assert is_whole(y)
    (X_source, labels, weights), X_target, target_bags = split_domains(X, y)
    np.testing.assert_allclose(dense(X_source), X_SOURCE, rtol=1e-6)
    np.testing.assert_allclose(dense(X_target), X_TARGET, rtol=1e-6)
    assert type(X_target) is type(X)
    assert labels.tolist() == LABELS
    assert labels.dtype.kind == "U"
    assert weights.tolist() == WEIGHTS
    assert_same_bags(target_bags, bags)


def test_kinds_are_kept():
    for kind, expected in (
        ("float32", np.float32),
        ("csr array", scipy.sparse.csr_array),
        ("csc matrix", scipy.sparse.csr_matrix),
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
    ):
        make = KINDS[kind]
        X, _ = stack_domains(source=(make(X_SOURCE), LABELS), target=(make(X_TARGET), None))
        assert X.dtype == expected if expected is np.float32 else isinstance(X, expected)


def test_sparse_and_dense_give_csr():
    X, _ = stack_domains(
        source=(scipy.sparse.csr_matrix(X_SOURCE), LABELS), target=(X_TARGET, None)
    )
    assert X.format == "csr"
    np.testing.assert_array_equal(X.toarray(), np.vstack([X_SOURCE, X_TARGET]))


def test_rows_in_any_order(bags):
    X, y = stack_domains(source=(X_SOURCE, LABELS, WEIGHTS), target=(X_TARGET, bags))
    order = RNG.permutation(12)
    (X_source, labels, weights), X_target, target_bags = split_domains(X[order], y[order])
    np.testing.assert_array_equal(X_source, X_SOURCE[order[order < 5]])
    assert labels.tolist() == [LABELS[row] for row in order if row < 5]
    assert weights.tolist() == [WEIGHTS[row] for row in order if row < 5]
    np.testing.assert_array_equal(X_target, X_TARGET[order[order >= 5] - 5])
    assert_same_bags(target_bags, bags[order[order >= 5] - 5])


def test_without_source_rows(bags):
    source, X, target_bags = split_domains(X_TARGET, bags)
    assert source is None
    assert X is X_TARGET
    assert target_bags is bags


def test_without_target_rows():
    (X_source, labels, _), X_target, bags = split_domains(X_SOURCE, Bags.for_source(LABELS))
    assert X_source.shape == (5, 3)
    assert labels.tolist() == LABELS
    assert X_target.shape == (0, 3)
    assert len(bags) == 0


def test_target_without_bags():
    _, y = stack_domains(source=(X_SOURCE, LABELS), target=(X_TARGET, None))
    assert y.n_bags == 0
    assert len(y.target_rows()) == 7


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_of_frames_match_by_name(kind):
    source, target = KINDS[kind](X_SOURCE), KINDS[kind](X_TARGET)
    X, _ = stack_domains(source=(source, LABELS), target=(target[COLUMNS[::-1]], None))
    assert list(X.columns) == COLUMNS
    np.testing.assert_array_equal(dense(X), np.vstack([X_SOURCE, X_TARGET]))
    with pytest.raises(TableError, match="target lacks 'age'"):
        stack_domains(source=(source, LABELS), target=(target[COLUMNS[1:]], None))
    with pytest.raises(TableError, match="source lacks 'age'"):
        stack_domains(source=(source[COLUMNS[1:]], LABELS), target=(target, None))


def test_polars_columns_of_different_type():
    source = pl.DataFrame({"a": [1, 2]})
    X, _ = stack_domains(source=(source, [0, 1]), target=(pl.DataFrame({"a": [0.5]}), None))
    assert X["a"].to_list() == [1.0, 2.0, 0.5]
    with pytest.raises(TableError, match="different types"):
        stack_domains(source=(source, [0, 1]), target=(pl.DataFrame({"a": [[1]]}), None))


GOOD = {"source": (X_SOURCE, LABELS), "target": (X_TARGET, None)}


@pytest.mark.parametrize(
    ("given", "error", "part"),
    [
        ({"source": X_SOURCE}, TableError, "source must be a tuple"),
        ({"source": (X_SOURCE,)}, TableError, "source must be a tuple"),
        ({"target": X_TARGET}, TableError, "target must be a tuple"),
        ({"target": (X_TARGET, None, None)}, TableError, "target must be a tuple"),
        ({"source": (X_SOURCE, LABELS[1:])}, TableError, "source has 5 rows but 4 labels"),
        ({"source": (X_SOURCE, [*LABELS[1:], None])}, BagError, "missing in 1 rows"),
        ({"source": (X_SOURCE, LABELS, [1.0])}, BagError, "sample_weight must hold 5"),
        ({"source": (X_SOURCE, Bags.unlabelled(5))}, BagError, "not Bags"),
        ({"source": (X_SOURCE[:, 1:], LABELS)}, TableError, "2 columns but target has 3"),
        ({"source": (X_SOURCE[:, 0], LABELS)}, TableError, r"X of source .* \(rows, columns\)"),
        (
            {"source": ([[1.0], [1.0, 2.0]], [0, 1])},
            TableError,
            r"X of source .* \(rows, columns\)",
        ),
        ({"target": (X_TARGET, Bags.unlabelled(6))}, TableError, "target has 7 rows but 6 rows"),
        ({"target": (X_TARGET, [0] * 7)}, BagError, "not list"),
        ({"target": (X_TARGET, Bags.for_source([0] * 7))}, BagError, "hold source rows already"),
        ({"source": (KINDS["pandas"](X_SOURCE), LABELS)}, TableError, "source is a pandas Data"),
    ],
)
def test_refusals(given, error, part):
    with pytest.raises(error, match=part):
        stack_domains(**GOOD | given)


@pytest.mark.parametrize(
    ("in_source", "in_target"),
    [
        (["x"], [1.0]),
        ([1.0], ["x"]),
        (np.array(["2020-01-01"], "datetime64[ns]"), [1.0]),
        (np.array([1], "timedelta64[ns]"), [1.0]),
        (np.array(["2020-01-01"], "datetime64[ns]"), ["x"]),
    ],
    ids=["text", "text in target", "dates", "durations", "dates and text"],
)
@pytest.mark.parametrize(
    ("make", "column"),
    [
        (lambda values: pd.DataFrame({"age": values}), "'age'"),
        (lambda values: pl.DataFrame({"age": values}), "'age'"),
        (lambda values: np.array(values)[:, None], "0"),
        (lambda values: pd.Series(values).astype(object).to_numpy()[:, None], "0"),
    ],
    ids=["pandas", "polars", "array", "object array"],
)
def test_columns_of_different_kinds(make, column, in_source, in_target):
    with pytest.raises(
        TableError, match=rf"column {column} holds \w+ in source but \w+ in target"
    ):
        stack_domains(source=(make(in_source), [0]), target=(make(in_target), None))


def test_columns_of_one_kind():
    """Missing entries, categories and the width of numbers are no reason to refuse."""
    for in_source, in_target in (
        ([1], [None]),
        ([None], ["x"]),
        (pd.Categorical(["x"]), ["x"]),
        (pd.array([1, None], dtype="Int64"), [0.5]),
        (np.array([np.nan], dtype=object), ["x"]),
    ):
        source, target = pd.DataFrame({"a": in_source}), pd.DataFrame({"a": in_target})
        X, _ = stack_domains(source=(source, [0] * len(source)), target=(target, None))
        assert len(X) == len(source) + 1


def test_sparse_numbers_and_text():
    with pytest.raises(TableError, match="column 0 holds numbers in source but text in target"):
        stack_domains(
            source=(scipy.sparse.csr_matrix(X_SOURCE), LABELS), target=(X_TARGET.astype(str), None)
        )


@pytest.mark.parametrize("twice", ["source", "target"])
def test_repeated_columns(twice):
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "b"])
    repeated = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "b"])
    source, target = (repeated, frame) if twice == "source" else (frame, repeated)
    for other in (source, target):
        X_source, X_target = (other, other) if other is repeated else (source, target)
        with pytest.raises(TableError, match=r"more than one column of the name 'b'"):
            stack_domains(source=(X_source, [0]), target=(X_target, None))


def test_masks_are_never_dropped():
    X = np.ma.array(X_TARGET, mask=X_TARGET > 1)
    with pytest.raises(TableError, match="X of target has missing"):
        stack_domains(source=(X_SOURCE, LABELS), target=(X, None))
    with pytest.raises(TableError, match="X of source has missing"):
        stack_domains(source=(X[:5], LABELS), target=(X_TARGET, None))
    stack_domains(source=(np.ma.array(X_SOURCE), LABELS), target=(X_TARGET, None))


def test_two_kinds_of_frames():
    pair = {"source": (KINDS["polars"](X_SOURCE), LABELS)}
    with pytest.raises(TableError, match="polars DataFrame and target a pandas DataFrame"):
        stack_domains(**pair, target=(KINDS["pandas"](X_TARGET), None))


def test_scaling_stacked_rows_equals_scaling_both_domains(bags):
    """The reason for stacking: a step before the machine sees both domains."""
    bags = bags.with_labels([None] * 7)
    X, y = stack_domains(source=(X_SOURCE, LABELS), target=(X_TARGET, bags))
    pipeline = make_pipeline(StandardScaler(), TGPLM()).fit(X, y)
    scaler = StandardScaler().fit(X)
    alone = TGPLM().fit(
        scaler.transform(X_TARGET), bags, source=(scaler.transform(X_SOURCE), LABELS)
    )
    np.testing.assert_allclose(
        pipeline.decision_function(X_TARGET),
        alone.decision_function(scaler.transform(X_TARGET)),
        rtol=1e-9,
    )
