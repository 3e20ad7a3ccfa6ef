# SPDX-License-Identifier: BSD-3-Clause
"""Model files: what is written is exactly what is trusted, and nothing else is read."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bagshift import TGPLM, Bags, InverseCalibrationSVM, SourceSVM
from bagshift._trusted_types import OBJECTS, TRUSTED
from bagshift.exceptions import ModelFileError
from bagshift.features import feature_pipeline
from bagshift.persistence import (
    Manifest,
    load_model,
    save_model,
    version_differences,
)

MACHINES = {
    "tgplm": TGPLM(),
    "ic-svm": InverseCalibrationSVM(),
    "svm": SourceSVM(),
    "svm, prior": SourceSVM(threshold="prior"),
    "linear": TGPLM(kernel="linear"),
    "poly": TGPLM(kernel="poly", degree=2),
    "paper": TGPLM(gamma="paper", tube="quotient", clip="bag", bag_weight="size"),
    "number": TGPLM(gamma=0.1, epsilon=0.05, coupling=float("inf")),
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
        dict(enumerate(np.linspace(0.1, 0.9, 10))),
        negative=labels[0],
        positive=labels[1],
    )
    source = None if isinstance(machine, InverseCalibrationSVM) else (X[:60], y)
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
    save(model, tmp_path / "m.skops")
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
    with pytest.raises(ModelFileError, match="cannot be saved"):
        save(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_other_estimators_are_not_saved(tmp_path: Path) -> None:
    class Own(BaseEstimator):
        pass

    for model in (Own(), FunctionTransformer(np.log), object()):
        with pytest.raises(ModelFileError, match="cannot be saved"):
            save(model, tmp_path / "m.skops")


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


def test_other_format_says_what_to_do(files: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(files["tgplm"]) as archive:
        manifest = json.loads(archive.read("manifest.json")) | {"format": 2}
    path = rewritten(files["tgplm"], tmp_path / "m.skops", manifest=json.dumps(manifest).encode())
    with pytest.raises(ModelFileError, match=r"format 2 .* fit again"):
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


def test_model_without_predictions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    save(StandardScaler().fit(np.eye(3)), path)
    with pytest.raises(ModelFileError, match="holds no model"):
        load_model(path)


def test_pipeline_with_a_cache_is_refused(tmp_path: Path) -> None:
    model, _ = fitted(TGPLM())
    path = tmp_path / "m.skops"
    save(model.set_params(memory=str(tmp_path / "cache")), path)
    with pytest.raises(ModelFileError, match="holds no model"):
        load_model(path)


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
