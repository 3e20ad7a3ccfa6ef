# SPDX-License-Identifier: BSD-3-Clause
"""Model files: what is written is exactly what is trusted, and nothing else is read."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bagshift import (
    DAKSVM,
    DASVM,
    LMPROJ,
    LSTGPLM,
    LWE,
    TGPLM,
    TGPLMCV,
    TSVM,
    AlternatingMeanMap,
    BagCSI,
    BagEM,
    BagKFold,
    Bags,
    BagShuffleSplit,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    EasyLLP,
    InverseCalibrationSVM,
    LaplacianMeanMap,
    LeaveOneBagOut,
    LLPKMeans,
    MeanMap,
    OneVsRestBagClassifier,
    PriorShift,
    ProportionMatching,
    ProportionSVM,
    RepeatedBagKFold,
    SourceSVM,
    TGPLMPlus,
    TrSVM,
    TrueLabelSVM,
    get_bag_tags,
)
from bagshift._model_files import archive
from bagshift._model_files.trusted_types import OBJECTS, TRUSTED
from bagshift.exceptions import ModelFileError
from bagshift.features import feature_pipeline
from bagshift.kernels import Kernel as NamedKernel
from bagshift.persistence import (
    Manifest,
    describe_model,
    load_model,
    save_model,
    version_differences,
)

MACHINES = {
    "tgplm": TGPLM(),
    "tgplm+": TGPLMPlus(),
    "counts": CountLikelihoodClassifier(),
    "counts, standardised": CountLikelihoodClassifier(standardize=True, n_components=20),
    "counts, linear": CountLikelihoodClassifier(kernel="linear", standardize=True),
    "counts, poly": CountLikelihoodClassifier(
        kernel="poly", coupling=float("inf"), random_state=3, n_jobs=1
    ),
    "ic-svm": InverseCalibrationSVM(),
    "lwe": LWE(standardize=True),
    "lwe, other models": LWE(
        [("logistic", make_pipeline(StandardScaler(), LogisticRegression()))], n_clusters=4
    ),
    "proportion svm": ProportionSVM(C_share=2.0, epsilon=0.01, n_init=2),
    "wrapped": OneVsRestBagClassifier(InverseCalibrationSVM(kernel="linear")),
    "em": BagEM(LogisticRegression(C=0.1), labels="posterior", tol=0.1),
    "k-means": LLPKMeans(15, n_weightings=2, standardize=True),
    "dasvm": DASVM(rows_per_side=3),
    "dasvm, probabilities": DASVM(probability=True),
    "tsvm": TSVM(fraction="target", max_swaps=1),
    "svm": SourceSVM(),
    "svm, prior": SourceSVM(threshold="prior"),
    "least squares": LSTGPLM(coupling=float("inf")),
    "least squares, linear": LSTGPLM(kernel="linear"),
    "lmproj": LMPROJ(penalty=float("inf")),
    "daksvm": DAKSVM(n_components=30),
    "mean map": MeanMap(bag_weight="equal"),
    "laplacian mean map": LaplacianMeanMap(kernel="linear", bandwidth=1.0),
    "alternating mean map": AlternatingMeanMap(standardize=True),
    "trsvm": TrSVM(weights="similarity"),
    "proportion matching": ProportionMatching(),
    "easy llp": EasyLLP(prior=0.5, correction="flood"),
    "prior shift": PriorShift(LogisticRegression(C=0.1)),
    "bag csi": BagCSI(),
    "true labels": TrueLabelSVM(),
    "linear": TGPLM(kernel="linear"),
    "poly": TGPLM(kernel="poly", degree=2),
    "paper": TGPLM(gamma="paper", tube="quotient", clip="bag", bag_weight="size"),
    "number": TGPLM(gamma=0.1, epsilon=0.05, coupling=float("inf")),
    "count search": CountLikelihoodCV({"coupling": [1.0]}, cv=LeaveOneBagOut()),
    "search": TGPLMCV(cv=LeaveOneBagOut(), kernel="linear"),
    "search, some grids": TGPLMCV([{"coupling": [1.0]}, {"kernel": ["poly", "rbf"]}], cv=3),
    "search, folds": TGPLMCV({"coupling": [1, 8.0]}, cv=BagKFold(3, shuffle=True, random_state=1)),
    "search, repeated": TGPLMCV({"coupling": [1.0]}, cv=RepeatedBagKFold(3, random_state=1)),
    "search, shuffled": TGPLMCV(
        {"coupling": [1.0, float("inf")]}, cv=BagShuffleSplit(3, random_state=1)
    ),
}


MANIFEST = Manifest(method="tgplm", classes=("no", "yes"), positive="yes")


def mixed_frame(n_rows: int, seed: int = 0) -> pl.DataFrame:
    """Every kind of column that a table may have."""
    random = np.random.default_rng(seed)
    start = datetime(2024, 1, 1)
    return pl.DataFrame(
        {
            "number": random.normal(size=n_rows),
            "gaps": [None if k % 7 == 0 else float(k % 5) for k in range(n_rows)],
            "flag": (random.random(n_rows) < 0.5).astype(float),
            "category": random.choice(["red", "green", "blue"], n_rows),
            "two_values": random.choice(["left", "right"], n_rows),
            "text": [f"free text {k} about {k * 7 % 13} things" for k in range(n_rows)],
            "date": [start + timedelta(days=int(k)) for k in random.integers(0, 900, n_rows)],
            "written_date": [f"{1 + k % 28:02d}/{1 + k % 12:02d}/2023" for k in range(n_rows)],
            "only_missing": pl.Series([None] * n_rows, dtype=pl.Float64),
        }
    )


@cache
def encoded() -> tuple[pl.DataFrame, Pipeline, np.ndarray]:
    frame = mixed_frame(120)
    features = feature_pipeline()
    return frame, features, features.fit_transform(frame)


def fitted(machine: Any, labels: tuple[Any, Any] = ("no", "yes")) -> tuple[Pipeline, pl.DataFrame]:
    frame, features, X = encoded()
    y = np.array(labels)[np.arange(60) % 2]
    bags = Bags.from_arrays(
        np.arange(60) // 6,
        counts=dict(enumerate([1, 1, 2, 2, 3, 3, 4, 4, 5, 5])),
        negative=labels[0],
        positive=labels[1],
    )
    tags = get_bag_tags(machine)
    if tags.needs_target_labels:
        unlabelled = Bags.unlabelled(60, positive=labels[1], negative=labels[0])
        bags = unlabelled.with_labels(y)
    source = (X[:60], y) if tags.uses_source else None
    last = clone(machine).fit(X[60:], bags, source=source)
    return Pipeline([*features.steps, ("machine", last)]), frame


def save(model: Any, path: Path) -> None:
    save_model(model, path, MANIFEST, fitted_rows=[3, 2**63])


def schema_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        content: dict[str, Any] = json.loads(archive.read("schema.json"))
    return content


def types_of(node: Any) -> set[tuple[str, str]]:
    found = set()
    if isinstance(node, dict):
        if "__loader__" in node:
            found.add((node["__loader__"], f"{node['__module__']}.{node['__class__']}"))
        for value in node.values():
            found |= types_of(value)
    elif isinstance(node, list):
        for value in node:
            found |= types_of(value)
    return found


@pytest.fixture(scope="module")
def models() -> dict[str, Pipeline]:
    """One fitted model per method."""
    return {name: fitted(machine)[0] for name, machine in MACHINES.items()}


@pytest.fixture(scope="module")
def files(
    models: dict[str, Pipeline], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """One model file per method."""
    folder = tmp_path_factory.mktemp("models")
    paths = {name: folder / f"{name}.skops" for name in models}
    for name, path in paths.items():
        save(models[name], path)
    return paths


@pytest.mark.parametrize("name", MACHINES)
def test_loaded_model_predicts_the_same(
    models: dict[str, Pipeline], files: dict[str, Path], name: str
) -> None:
    model = models[name]
    rows = mixed_frame(50, seed=1).with_columns(
        text=pl.lit(None, dtype=pl.String), number=pl.lit(None, dtype=pl.Float64)
    )
    loaded = load_model(files[name])
    np.testing.assert_array_equal(
        loaded.model.decision_function(rows), model.decision_function(rows)
    )
    np.testing.assert_array_equal(loaded.model.predict(rows), model.predict(rows))
    assert loaded.fitted_rows.tolist() == [3, 2**63]
    assert loaded.manifest == MANIFEST
    assert version_differences(loaded.manifest) == []


def test_same_rows_give_the_same_model(models: dict[str, Pipeline]) -> None:
    encoded.cache_clear()
    again, frame = fitted(MACHINES["tgplm"])
    np.testing.assert_array_equal(
        again.decision_function(frame), models["tgplm"].decision_function(frame)
    )


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("a", "b")])
def test_labels_keep_their_type(tmp_path: Path, labels: tuple[Any, Any]) -> None:
    model, frame = fitted(TGPLM(), labels)
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").model
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.classes_.dtype == model.classes_.dtype


def test_trusted_list_is_what_is_written(files: dict[str, Path]) -> None:
    written = set().union(*(types_of(schema_of(path)) for path in files.values()))
    strangers = {name for loader, name in written if name not in TRUSTED.get(loader, ())}
    assert not strangers
    objects = {name for loader, name in written if loader == "ObjectNode"}
    assert OBJECTS - objects <= {
        # Dates that polars reads are datetimes here; skrub keeps either.
        "polars.datatypes.classes.Date",
        "polars.datatypes.classes.Datetime",
        # Of sparse rows; saved and loaded in tests/estimators/test_lwe.py.
        "sklearn.naive_bayes.MultinomialNB",
        # Of files bigger than memory; saved and loaded in tests/cli/test_streamed_fit.py.
        "bagshift.scale.prepared_columns.PreparedColumns",
    }


def test_no_function_is_trusted() -> None:
    import importlib

    assert not {"FunctionNode", "PartialNode", "MethodNode", "OperatorFuncNode"} & set(TRUSTED)
    assert "ConstructorFromReduceNode" not in TRUSTED
    for name in set().union(*TRUSTED.values()) - {"builtins.NoneType"}:
        module, _, attribute = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), attribute), type), name


class Kernel:
    def __call__(self, A: Any, B: Any) -> Any:
        return A @ B.T


def product(A: Any, B: Any) -> Any:
    return A @ B.T


@pytest.mark.parametrize("kernel", [product, Kernel(), lambda A, B: A @ B.T])
def test_kernel_that_is_a_function_is_not_saved(tmp_path: Path, kernel: Any) -> None:
    model, _ = fitted(TGPLM(kernel=kernel))
    with pytest.raises(ModelFileError, match=r"cannot be saved.* must be given by name\.$"):
        save(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def small_bags() -> Bags:
    return Bags.from_arrays([0, 0, 1, 1, 2, 2], {0: 0.1, 1: 0.5, 2: 0.9})


def small(machine: Any = None, as_rows: Callable[[Any], Any] = np.asarray) -> Any:
    """Return a machine fitted to three bags of two rows."""
    X = as_rows(np.arange(12.0).reshape(6, 2) % 5)
    return (machine or InverseCalibrationSVM(gamma=0.5)).fit(X, small_bags())


def small_pipeline() -> Pipeline:
    scaler = StandardScaler()
    X = scaler.fit_transform(np.arange(12.0).reshape(6, 2) % 5)
    return make_pipeline(scaler, InverseCalibrationSVM().fit(X, small_bags()))


class Own(BaseEstimator):
    """An estimator of somebody else."""


UNSAVED: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "None is no classifier of bagshift and no Pipeline"),
    "object": (object, "an object is no classifier"),
    "other estimator": (Own, "an Own is no classifier"),
    "scaler": (lambda: StandardScaler().fit(np.eye(3)), "a StandardScaler is no classifier"),
    "not fitted": (TGPLM, "the TGPLM in it is not fitted; call fit"),
    "scaler not fitted": (
        lambda: make_pipeline(StandardScaler(), small()),
        "the StandardScaler in it is not fitted",
    ),
    "ends in a scaler": (
        lambda: make_pipeline(small(), StandardScaler()),
        "a Pipeline is no classifier of bagshift, as it ends in a StandardScaler",
    ),
    "cache": (lambda: small_pipeline().set_params(memory="cache"), "has memory="),
    "cache further in": (
        lambda: make_pipeline(small_pipeline().set_params(memory="cache")),
        "has memory=",
    ),
    "search": (
        lambda: GridSearchCV(InverseCalibrationSVM(), {"C": [1.0]}, cv=BagKFold(3)).fit(
            np.arange(12.0).reshape(6, 2), small_bags()
        ),
        "take its best_estimator_",
    ),
}


@pytest.mark.parametrize("kind", UNSAVED)
def test_what_would_not_be_read_is_not_saved(tmp_path: Path, kind: str) -> None:
    make, reason = UNSAVED[kind]
    model = make()
    for save_it in (save, save_model):
        with pytest.raises(ModelFileError, match=f"^This model cannot be saved: .*{reason}"):
            save_it(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["nothing", "object", "scaler", "not fitted", "search"])
def test_what_is_no_model_is_not_described(kind: str) -> None:
    make, reason = UNSAVED[kind]
    with pytest.raises(ModelFileError, match=reason):
        describe_model(make())


def test_type_of_somebody_else_is_named(tmp_path: Path) -> None:
    step = FunctionTransformer(np.log1p, validate=True).fit(np.eye(2))
    with pytest.raises(ModelFileError) as refused:
        save_model(make_pipeline(step, small()), tmp_path / "m.skops")
    assert "it holds 'log1p', 'FunctionTransformer', and" in str(refused.value)
    assert "kernel" not in str(refused.value)


@pytest.mark.parametrize(
    "rows", [["a"], [[1, 2]], 3, [np.nan], np.array([np.nan]), np.array([0.5]), [-1]], ids=str
)
def test_fingerprints_are_whole_numbers(tmp_path: Path, rows: Any) -> None:
    with pytest.raises(ModelFileError, match="fitted_rows does not hold one whole number"):
        save_model(small(), tmp_path / "m.skops", fitted_rows=rows)


def test_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    path.write_bytes(b"old")
    with pytest.raises(ModelFileError):
        save(FunctionTransformer(np.log), path)
    assert path.read_bytes() == b"old"


# --- reading what we did not write ------------------------------------------------------------


def rewritten(path: Path, target: Path, **members: bytes | None) -> Path:
    """Copy a model file with some members replaced; None leaves one out."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            key = name.partition(".")[0]
            content = members.get(key, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


def with_node(path: Path, target: Path, **node: Any) -> Path:
    """Put a node of another type in the place of the scaler's means."""
    schema = schema_of(path)
    steps = json.dumps(schema)
    replaced = json.loads(steps)

    def replace(item: Any) -> Any:
        if isinstance(item, dict):
            if "mean_" in item:
                return item | {"mean_": {"__id__": 1} | node}
            return {key: replace(value) for key, value in item.items()}
        return [replace(value) for value in item] if isinstance(item, list) else item

    changed = replace(replaced)
    assert changed != schema
    return rewritten(path, target, schema=json.dumps(changed).encode())


STRANGERS = {
    "function": {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
    "type": {"__class__": "Popen", "__module__": "subprocess", "__loader__": "TypeNode"},
    "object": {"__class__": "Popen", "__module__": "subprocess", "__loader__": "ObjectNode"},
    "ufunc": {"__class__": "exp", "__module__": "numpy", "__loader__": "FunctionNode"},
    "other estimator": {
        "__class__": "FunctionTransformer",
        "__module__": "sklearn.preprocessing._function_transformer",
        "__loader__": "ObjectNode",
    },
    "right type, wrong way": {
        "__class__": "StandardScaler",
        "__module__": "sklearn.preprocessing._data",
        "__loader__": "ConstructorFromReduceNode",
    },
    "operator": {
        "__class__": "methodcaller",
        "__module__": "operator",
        "__loader__": "OperatorFuncNode",
    },
    "no loader": {"__class__": "system", "__module__": "os"},
    "loader is no name": {"__class__": "str", "__module__": "builtins", "__loader__": ["x"]},
}


@pytest.mark.parametrize("kind", STRANGERS)
def test_type_that_is_not_ours_is_refused_before_anything_is_built(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = with_node(files["tgplm"], tmp_path / "m.skops", **STRANGERS[kind])
    monkeypatch.setattr("skops.io.loads", lambda *_, **__: pytest.fail("something was built"))
    name = f"{STRANGERS[kind]['__module__']}.{STRANGERS[kind]['__class__']}"
    with pytest.raises(ModelFileError, match=f"was refused: it asks for '{re.escape(name[:50])}"):
        load_model(path)


def test_node_hidden_under_an_unknown_key_is_seen(files: dict[str, Path], tmp_path: Path) -> None:
    schema = schema_of(files["tgplm"]) | {"hidden": [[{"deep": STRANGERS["function"]}]]}
    path = rewritten(files["tgplm"], tmp_path / "m.skops", schema=json.dumps(schema).encode())
    with pytest.raises(ModelFileError, match=r"'os\.system'"):
        load_model(path)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"manifest": None}, "not a model file of bagshift"),
        ({"schema": None}, "not a model file of bagshift"),
        ({"manifest": b"{"}, "manifest cannot be read"),
        ({"manifest": b"[]"}, "manifest cannot be read"),
        ({"manifest": b'{"method": 1}'}, "manifest cannot be read"),
        ({"schema": b"nonsense"}, "contents cannot be read"),
        ({"schema": b"{}"}, "contents cannot be read"),
        ({"schema": b'{"protocol": true}'}, "protocol True"),
        ({"schema": b'{"protocol": 99}'}, "protocol 99"),
        ({"schema": b"[" * 100_000}, "contents cannot be read"),
        ({"fitted_rows": b"xx"}, "list of fitted rows"),
    ],
)
def test_damaged_members(
    files: dict[str, Path], tmp_path: Path, members: dict[str, Any], reason: str
) -> None:
    path = rewritten(files["tgplm"], tmp_path / "m.skops", **members)
    with pytest.raises(ModelFileError, match=reason):
        load_model(path)


@pytest.mark.parametrize("found", [2, "1", True, 1.0, None])
def test_other_format_says_what_to_do(files: dict[str, Path], tmp_path: Path, found: Any) -> None:
    with zipfile.ZipFile(files["tgplm"]) as archive:
        manifest = json.loads(archive.read("manifest.json")) | {"format": found}
    path = rewritten(files["tgplm"], tmp_path / "m.skops", manifest=json.dumps(manifest).encode())
    with pytest.raises(ModelFileError, match=f"format {found!r} .* reads format 1; .* fit again"):
        load_model(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"method": 3},
        {"classes": ["a"]},
        {"classes": "ab"},
        {"classes": [["no"], "yes"]},
        {"positive": None},
        {"columns": {"age": "picture"}},
        {"columns": {"age": []}},
        {"columns": ["age"]},
        {"bag_column": 1},
        {"id_column": []},
        {"label_column": {}},
        {"holds_training_rows": "no"},
        {"fit": []},
        {"versions": {"numpy": 2}},
        {"versions": 1},
    ],
    ids=str,
)
def test_entry_of_the_manifest_that_cannot_be(
    files: dict[str, Path], tmp_path: Path, entry: dict[str, Any]
) -> None:
    with zipfile.ZipFile(files["tgplm"]) as archive:
        manifest = json.loads(archive.read("manifest.json")) | entry
    path = rewritten(files["tgplm"], tmp_path / "m.skops", manifest=json.dumps(manifest).encode())
    with pytest.raises(ModelFileError, match="manifest cannot be read"):
        load_model(path)


def test_pickled_array_inside_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([object()], dtype=object), allow_pickle=True)
    path = rewritten(files["tgplm"], tmp_path / "m.skops", fitted_rows=buffer.getvalue())
    with pytest.raises(ModelFileError, match="fitted rows"):
        load_model(path)


def test_flipped_bytes_are_noticed(files: dict[str, Path], tmp_path: Path) -> None:
    whole = files["tgplm"].read_bytes()
    random = np.random.default_rng(0)
    path = tmp_path / "m.skops"
    for position in random.integers(0, len(whole), 40):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            load_model(path)  # bytes of the zip that mean nothing may change
        except ModelFileError as error:
            assert "refused" in str(error)  # noqa: PT017


def saved_unchecked(
    model: Any, path: Path, monkeypatch: pytest.MonkeyPatch, manifest: Manifest | None = None
) -> Path:
    """Write a model that `save_model` refuses."""
    sound = describe_model(small())
    with monkeypatch.context() as patch:
        patch.setattr("bagshift.persistence.check_model", lambda *_: None)
        save_model(model, path, manifest or sound)
    return path


@pytest.mark.parametrize("kind", ["nothing", "scaler", "not fitted", "ends in a scaler", "cache"])
def test_file_without_a_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    make, reason = UNSAVED[kind]
    path = saved_unchecked(make(), tmp_path / "m.skops", monkeypatch)
    with pytest.raises(ModelFileError, match=f"was refused: .*{reason}"):
        load_model(path)


def with_attributes(model: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def without(model: Any, name: str) -> Any:
    delattr(model, name)
    return model


def sparse_with_a_column_beyond_the_end() -> Any:
    model = small(as_rows=sparse.csr_matrix)
    model.support_vectors_.indices[0] = 10**6
    return model


def scaled_by(**attributes: Any) -> Any:
    model = small_pipeline()
    with_attributes(model[0], **attributes)
    return model


def rbf(**changed: Any) -> Any:
    return with_attributes(small(), **changed)


def linear(**changed: Any) -> Any:
    return with_attributes(small(InverseCalibrationSVM(kernel="linear")), **changed)


def coupled(**changed: Any) -> Any:
    X = np.arange(12.0).reshape(6, 2) % 5
    model = TGPLM().fit(X, small_bags(), source=(X[:4], [0, 1, 0, 1]))
    return with_attributes(model, **changed)


def counts(**changed: Any) -> Any:
    X = np.arange(12.0).reshape(6, 2) % 5
    model = CountLikelihoodClassifier(standardize=True).fit(X, [0, 1, 0, 1, 0, 1])
    return with_attributes(model, **changed)


def search(**changed: Any) -> Any:
    return with_attributes(small(TGPLMCV({"coupling": [1.0]}, cv=2)), **changed)


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "three classes": (lambda: rbf(classes_=np.arange(3)), r"intercept_ has shape \(1,\)"),
    "one class twice": (lambda: rbf(classes_=np.array([1, 1])), "not two or more different"),
    "classes in a list": (lambda: rbf(classes_=[0, 1]), "not two or more different"),
    "positive class": (lambda: rbf(positive_class_=7), "positive_class_ is none of"),
    "intercept": (lambda: rbf(intercept_=np.array([np.nan])), "intercept_ holds values"),
    "two intercepts": (lambda: rbf(intercept_=np.zeros(2)), r"shape \(2,\) where \(1,\)"),
    "no intercept": (lambda: without(rbf(), "intercept_"), "intercept_"),
    "coefficients": (lambda: rbf(dual_coef_=np.zeros((1, 99))), r"dual_coef_ has shape \(1, 99"),
    "rows": (lambda: rbf(support_vectors_=np.zeros((6, 3))), "support_vectors_ has shape"),
    "rows of text": (lambda: rbf(support_vectors_=np.full((6, 2), "x")), "not finite numbers"),
    "infinite rows": (lambda: rbf(support_vectors_=np.full((6, 2), np.inf)), "not finite"),
    "sparse rows": (sparse_with_a_column_beyond_the_end, "indices|index"),
    "weights": (lambda: linear(coef_=np.zeros((2, 2))), "coef_ has shape"),
    "infinite weights": (lambda: linear(coef_=np.full((1, 2), np.inf)), "not finite"),
    "columns": (lambda: linear(n_features_in_=10**12), "coef_ has shape"),
    "source": (lambda: coupled(source_dual_coef_=np.zeros((1, 1))), "source_dual_coef_"),
    "score scale": (lambda: coupled(score_scale=np.nan), "score_scale"),
    "column scale": (lambda: counts(feature_scale_=np.ones(3)), "feature_scale_ has shape"),
    "no column scale": (lambda: without(counts(), "feature_center_"), "feature_center_"),
    "kernel": (lambda: rbf(kernel_="rbf"), "none of bagshift's kernels"),
    "kernel width": (lambda: rbf(kernel_=NamedKernel("rbf", gamma=np.nan)), "none of bagshift's"),
    "degree": (lambda: rbf(kernel_=NamedKernel("poly", degree=10**9)), "none of bagshift's"),
    "hidden method": (lambda: rbf(predict="no method"), "cannot predict"),
    "search without a machine": (lambda: without(search(), "best_estimator_"), "best_estimator_"),
    "search of another machine": (
        lambda: search(best_estimator_=linear()),
        "best_estimator_ is an",
    ),
    "search with a broken machine": (
        lambda: search(best_estimator_=coupled(intercept_=np.zeros(2))),
        "intercept_ has shape",
    ),
    "search for other classes": (lambda: search(classes_=np.array([1, 2])), "other columns, cla"),
    "search that hides rows": (
        lambda: search(best_estimator_=small(TGPLM(kernel="linear"))),
        "rows",
    ),
    "scaler": (lambda: scaled_by(mean_=np.array([np.nan, 0.0])), "cannot predict"),
    "scaler of other columns": (lambda: scaled_by(n_features_in_=3), "cannot predict"),
    "scaler of many columns": (lambda: scaled_by(n_features_in_=10**12), "which no model does"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_model_that_cannot_predict_is_neither_saved_nor_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    make, reason = BROKEN[kind]
    model = make()
    with pytest.raises(ModelFileError, match=f"^This model cannot be saved: .*{reason}"):
        save_model(model, tmp_path / "m.skops")
    path = saved_unchecked(model, tmp_path / "m.skops", monkeypatch)
    with pytest.raises(ModelFileError, match=f"was refused: .*{reason}"):
        load_model(path)


WRONG_PAPERS: dict[str, tuple[dict[str, Any], str]] = {
    "classes": ({"classes": (0, 2)}, "names the classes 0, 2 and the model has 0, 1"),
    "types of classes": ({"classes": (False, True)}, "names the classes False, True"),
    "order of classes": ({"classes": (1, 0)}, "names the classes 1, 0"),
    "positive": ({"positive": 0}, "names 0 as the positive class and the model has 1"),
    "columns": (
        {"columns": dict.fromkeys("abc", "number")},
        "lists 3 columns and the model takes 2",
    ),
    "rows inside": ({"holds_training_rows": False}, "no training rows are inside"),
}


@pytest.mark.parametrize("kind", WRONG_PAPERS)
def test_papers_of_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    changes, reason = WRONG_PAPERS[kind]
    model = small()
    papers = replace(describe_model(model), **changes)
    with pytest.raises(ModelFileError, match=f"^This model cannot be saved: .*{reason}"):
        save_model(model, tmp_path / "m.skops", papers)
    path = saved_unchecked(model, tmp_path / "m.skops", monkeypatch, papers)
    with pytest.raises(ModelFileError, match=f"was refused: .*{reason}"):
        load_model(path)


def test_table_model_is_tried_on_a_row_without_values(
    models: dict[str, Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed_frame(1)
    kinds = {
        name: "number" if dtype.is_numeric() else "date" if dtype.is_temporal() else "text"
        for name, dtype in frame.schema.items()
    }
    papers = replace(describe_model(models["tgplm"]), columns=kinds)
    path = tmp_path / "m.skops"
    save_model(models["tgplm"], path, papers)
    assert load_model(path).manifest.columns == kinds
    renamed = {f"{name}2": kind for name, kind in kinds.items()}
    saved_unchecked(models["tgplm"], path, monkeypatch, replace(papers, columns=renamed))
    with pytest.raises(ModelFileError, match="lists other columns than the model takes"):
        load_model(path)


# --- files that unpack to more than they are --------------------------------------------------


def with_member(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return path


@pytest.fixture
def small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a model of a few thousand bytes, to be judged like a large one."""
    path = tmp_path / "small.skops"
    save_model(small(as_rows=sparse.csr_matrix), path)
    monkeypatch.setattr(archive, "SMALL", 2**20)
    return path


def test_bomb_is_refused_before_anything_is_unpacked(
    small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_model(small_file)
    with_member(small_file, "9.npy", bytes(8 * 2**20))
    for method in ("read", "open", "testzip"):
        monkeypatch.setattr(zipfile.ZipFile, method, lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(ModelFileError, match=r"unpacks from 0\.0 MiB to 8 MiB, which no model"):
        load_model(small_file)


def test_bomb_in_a_sparse_array(small_file: Path, tmp_path: Path) -> None:
    bomb = io.BytesIO()
    np.savez_compressed(bomb, data=np.zeros(2**20))
    (name,) = (n for n in zipfile.ZipFile(small_file).namelist() if n.endswith(".npz"))
    key = name.partition(".")[0]
    path = rewritten(small_file, tmp_path / "m.skops", **{key: bomb.getvalue()})
    with pytest.raises(ModelFileError, match="MiB to 8 MiB, which no model does"):
        load_model(path)


def test_array_read_many_times(small_file: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0).random(2**14)
    buffer = io.BytesIO()
    np.save(buffer, random)
    with_member(small_file, "9.npy", buffer.getvalue())
    again = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "9.npy",
    }
    schema = schema_of(small_file) | {"content": [again] * 500}
    path = rewritten(small_file, tmp_path / "m.skops", schema=json.dumps(schema).encode())
    with pytest.raises(ModelFileError, match="MiB to 63 MiB, which no model does"):
        load_model(path)


@pytest.mark.parametrize("name", ["schema", "manifest"])
def test_large_papers(small_file: Path, tmp_path: Path, name: str) -> None:
    limit = archive.LARGEST_MEMBER[f"{name}.json"]
    archive.check_sizes({f"{name}.json": limit}, limit)
    with pytest.raises(archive.Fault, match="which no model needs"):
        archive.check_sizes({f"{name}.json": limit + 1}, limit)


def test_model_larger_than_memory(small_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SMALL", 100)
    monkeypatch.setattr(archive, "LARGEST_RATIO", 10**6)
    monkeypatch.setattr(archive, "free_memory", lambda: 1000)
    with pytest.raises(ModelFileError, match="GiB of memory but"):
        load_model(small_file)


def test_file_larger_than_any_model(small_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST", 1000)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("it was read"))
    with pytest.raises(ModelFileError, match="larger than any model"):
        load_model(small_file)


def test_member_larger_than_it_says(small_file: Path) -> None:
    with_member(small_file, "9.npy", bytes(5000))
    content = small_file.read_bytes()
    assert content.count((5000).to_bytes(4, "little")) == 2
    small_file.write_bytes(
        content.replace((5000).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    )
    with pytest.raises(ModelFileError, match="is damaged or not a model file"):
        load_model(small_file)


def array_bytes(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def claiming(shape: tuple[int, ...]) -> bytes:
    """Return an array file whose header promises more than follows."""
    buffer = io.BytesIO()
    header = {"descr": "<u8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(16)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (array_bytes(["a", "b"]), "does not hold one whole number for each row"),
        (array_bytes(np.zeros((2, 2), np.uint64)), "does not hold one whole number for each row"),
        (array_bytes(np.uint64(3)), "does not hold one whole number for each row"),
        (array_bytes([np.nan]), "does not hold one whole number for each row"),
        (claiming((10**11,)), "is not the array it claims to be"),
        (claiming((-1, -2)), "is not the array it claims to be"),
    ],
    ids=["text", "table", "number", "nan", "long", "negative"],
)
def test_fitted_rows_that_are_none(
    small_file: Path, tmp_path: Path, content: bytes, reason: str
) -> None:
    path = rewritten(small_file, tmp_path / "m.skops", fitted_rows=content)
    with pytest.raises(ModelFileError, match=f"was refused: its list of fitted rows {reason}"):
        load_model(path)


def test_array_of_the_model_that_claims_too_much(small_file: Path, tmp_path: Path) -> None:
    name = next(n for n in zipfile.ZipFile(small_file).namelist() if n[0].isdigit())
    key = name.partition(".")[0]
    path = rewritten(small_file, tmp_path / "m.skops", **{key: claiming((10**11,))})
    with pytest.raises(
        ModelFileError, match=rf"its array '{key}\.np.' is not the array it claims"
    ):
        load_model(path)


# --- what the papers say ------------------------------------------------------------------------


@pytest.mark.parametrize("positive", ["Aye", "no"])
def test_positive_class_is_the_models_own(tmp_path: Path, positive: str) -> None:
    negative = "no" if positive == "Aye" else "Aye"
    bags = Bags.from_arrays(
        [0, 0, 1, 1, 2, 2], {0: 0.0, 1: 0.5, 2: 1.0}, negative=negative, positive=positive
    )
    model = InverseCalibrationSVM().fit(np.arange(6.0)[:, None], bags)
    save_model(model, tmp_path / "m.skops")
    manifest = load_model(tmp_path / "m.skops").manifest
    assert (manifest.classes, manifest.positive) == (("Aye", "no"), positive)


def test_folder_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"is a folder; name a model file\.$"):
        load_model(tmp_path)


def test_model_describes_itself(models: dict[str, Pipeline], tmp_path: Path) -> None:
    for name, method in (("tgplm", "TGPLM"), ("linear", "TGPLM"), ("svm", "SourceSVM")):
        save_model(models[name], tmp_path / "m.skops")
        manifest = load_model(tmp_path / "m.skops").manifest
        assert (manifest.method, manifest.classes, manifest.positive) == (
            method,
            ("no", "yes"),
            "yes",
        )
        assert manifest.holds_training_rows == (name != "linear")


def test_versions_are_told(files: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(files["tgplm"]) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    manifest["versions"] |= {"scikit-learn": "0.1"}
    path = rewritten(files["tgplm"], tmp_path / "m.skops", manifest=json.dumps(manifest).encode())
    (difference,) = version_differences(load_model(path).manifest)
    assert difference.startswith("scikit-learn 0.1 (here ")


def test_a_generator_as_random_state_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    machine = CountLikelihoodClassifier(random_state=np.random.RandomState(0))
    machine.fit(rng.normal(size=(20, 2)), np.arange(20) % 2)
    with pytest.raises(ModelFileError, match="fit it with a whole number, such as random_state=0"):
        save_model(machine, tmp_path / "model.skops")
