# SPDX-License-Identifier: BSD-3-Clause
"""Save fitted models without pickle, and load them without trusting the file.

A model file is a skops archive (a zip of JSON and NumPy arrays) with two more members: a
``manifest.json`` that says what the model is, and ``fitted_rows.npy``, fingerprints of the rows
it was fitted on. Before anything of the archive is built, each type named in it is looked up in an
explicit list; a type outside the list, a damaged archive or a foreign file is refused.
"""

from __future__ import annotations

import io
import json
import platform
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._trusted_types import TRUSTED
from bagshift.atomic import whole_file
from bagshift.exceptions import ModelFileError, name_some

FORMAT = 1
MANIFEST = "manifest.json"
FITTED_ROWS = "fitted_rows.npy"
SCHEMA = "schema.json"
VERSIONED = ("bagshift", "numpy", "scikit-learn", "skrub", "skops")


@dataclass(frozen=True)
class Manifest:
    """What a model file says about the model inside.

    Attributes
    ----------
    method : str
        Name of the method, such as "tgplm".
    classes : tuple
        Negative and positive class.
    positive : str, int, float or bool
        The class that shares are of.
    columns : dict
        Columns that the model needs and their kinds ("number", "date", "text").
    bag_column, id_column, label_column : str or None
        Names the columns had in the files the model was fitted on.
    holds_training_rows : bool
        Whether rows of the training data can be read from the file, as with every kernel other
        than the linear one.
    fit : dict
        Report of the fit: settings, sizes, errors.
    versions : dict
        Packages and Python that wrote the file.
    format : int
        Version of this layout.
    """

    method: str
    classes: tuple[Any, ...]
    positive: Any
    columns: dict[str, Any] = field(default_factory=dict)
    bag_column: str | None = None
    id_column: str | None = None
    label_column: str | None = None
    holds_training_rows: bool = True
    fit: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=lambda: installed_versions())
    format: int = FORMAT


@dataclass(frozen=True)
class SavedModel:
    """A fitted model and its papers.

    Attributes
    ----------
    model : estimator
        Usually a Pipeline from table columns to the classifier.
    manifest : Manifest
        What the model is and was fitted on.
    fitted_rows : ndarray of uint64
        Fingerprints of the target rows it was fitted on; see
        :func:`bagshift.fingerprints.row_fingerprints`.
    """

    model: Any
    manifest: Manifest
    fitted_rows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a model depends on.

    Returns
    -------
    dict of str to str
    """
    found = {"python": platform.python_version()}
    for package in VERSIONED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def describe_model(model: Any) -> Manifest:
    """Say about a model what it says itself; a fit from files knows more.

    Parameters
    ----------
    model : estimator
        A fitted classifier, or a Pipeline that ends in one.

    Returns
    -------
    Manifest
    """
    machine = model[-1] if hasattr(model, "steps") else model
    classes = tuple(_plain(label) for label in getattr(machine, "classes_", (0, 1)))
    return Manifest(
        method=type(machine).__name__,
        classes=classes,
        positive=classes[-1],
        holds_training_rows=hasattr(machine, "support_vectors_"),
    )


def save_model(
    model: Any,
    path: str | Path,
    manifest: Manifest | None = None,
    *,
    fitted_rows: ArrayLike = (),
) -> None:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted classifier, or a Pipeline that ends in one.
    path : str or Path
        Where to write; ``.skops`` is the usual ending.
    manifest : Manifest, optional
        What the model is; by default what it says itself.
    fitted_rows : array-like of uint64, default=()
        Fingerprints of the target rows it was fitted on; see
        :func:`bagshift.fingerprints.row_fingerprints`.

    Raises
    ------
    ModelFileError
        When the model holds something that a model file must not hold, such as a kernel that is
        a Python function.
    TableError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from bagshift import SourceSVM
    >>> from bagshift.persistence import load_model, save_model
    >>> machine = SourceSVM(kernel="linear").fit(np.array([[0.0], [1.0]]), ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(machine, f"{folder}/model.skops")
    ...     loaded = load_model(f"{folder}/model.skops")
    >>> loaded.manifest.classes, loaded.model.predict([[2.0]]).tolist()
    (('no', 'yes'), ['yes'])
    """
    import skops.io

    try:
        data = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    except Exception as error:  # skops lets errors of the objects themselves through
        raise ModelFileError(f"This model cannot be saved: {_first_line(error)}.") from error
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        strangers = _untrusted(json.loads(archive.read(SCHEMA)))
    if strangers:
        raise ModelFileError(
            f"This model cannot be saved: it holds {name_some(strangers)}, and a model file holds "
            "no functions and no types other than our own; a kernel must be given by name."
        )
    with whole_file(path) as draft:
        draft.write_bytes(_with_papers(data, manifest or describe_model(model), fitted_rows))


def load_model(path: str | Path) -> SavedModel:
    """Read a model file that :func:`save_model` wrote; refuse any other.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    SavedModel

    Raises
    ------
    ModelFileError
        When the file is missing, damaged, not a model file, or names a type we do not write.
        Nothing of it has been built then.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist; `bagshift fit ... -o {path}` writes one.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    members = _checked_members(data, path)
    manifest = _read_manifest(members, path)
    _check_schema(members, path)
    return SavedModel(
        model=_build(data, path),
        manifest=manifest,
        fitted_rows=_read_fitted_rows(members, path),
    )


def version_differences(manifest: Manifest) -> list[str]:
    """List packages that have another version here than where the model was written.

    Parameters
    ----------
    manifest : Manifest
        Of the loaded model.

    Returns
    -------
    list of str
        Such as "scikit-learn 1.6.1 (here 1.7.0)".
    """
    here = installed_versions()
    return [
        f"{package} {there} (here {here.get(package, 'missing')})"
        for package, there in manifest.versions.items()
        if package != "python" and here.get(package) != there
    ]


def _with_papers(data: bytes, manifest: Manifest, fitted_rows: ArrayLike) -> bytes:
    buffer = io.BytesIO(data)
    rows = io.BytesIO()
    np.save(rows, np.asarray(fitted_rows, np.uint64), allow_pickle=False)
    with zipfile.ZipFile(buffer, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2, default=_plain))
        archive.writestr(FITTED_ROWS, rows.getvalue())
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it does."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) else str(value)


def _checked_members(data: bytes, path: Path) -> dict[str, bytes]:
    """Read the papers and the schema; the checksum of every member must hold."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            damaged = archive.testzip()
            papers = {name: archive.read(name) for name in (MANIFEST, SCHEMA, FITTED_ROWS)}
    except KeyError as error:
        raise _refusal(path, "it is not a model file of bagshift") from error
    except Exception as error:  # zipfile raises many kinds on damaged archives
        raise _refusal(path, "it is damaged or not a model file") from error
    if damaged is not None:
        raise _refusal(path, "it is damaged")
    if len(set(names)) != len(names):
        raise _refusal(path, "it holds two members of one name")
    return papers


def _read_manifest(members: Mapping[str, bytes], path: Path) -> Manifest:
    try:
        content = json.loads(members[MANIFEST])
        known = {f.name for f in fields(Manifest)}
        found = {name: content[name] for name in content if name in known}
        manifest = Manifest(**found | {"classes": tuple(found["classes"])})
        right_types = (
            isinstance(manifest.columns, dict)
            and isinstance(manifest.versions, dict)
            and isinstance(manifest.fit, dict)
            and len(manifest.classes) == 2
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _refusal(path, "its manifest cannot be read") from error
    if not right_types:
        raise _refusal(path, "its manifest cannot be read")
    if manifest.format != FORMAT:
        raise _refusal(
            path,
            f"it has format {manifest.format} and this bagshift reads format {FORMAT}; use the "
            "version it was written with, or fit again",
        )
    return manifest


def _check_schema(members: Mapping[str, bytes], path: Path) -> None:
    from skops.io._protocol import PROTOCOL

    try:
        schema = json.loads(members[SCHEMA])
        protocol = schema["protocol"]
        strangers = _untrusted(schema)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _refusal(path, "its contents cannot be read") from error
    # Older protocols are rebuilt by older code of skops, which our list says nothing about.
    if type(protocol) is not int or protocol != PROTOCOL:
        raise _refusal(
            path, f"it uses protocol {protocol!r} of skops and {PROTOCOL} is installed; fit again"
        )
    if strangers:
        raise _refusal(path, f"it asks for {name_some(strangers)}, which bagshift never writes")


def _untrusted(schema: Any) -> list[str]:
    """List types of an archive that are not trusted, or not to be rebuilt in that way."""
    strangers = set()
    for node in _nodes(schema):
        loader = node.get("__loader__")
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        if not isinstance(loader, str) or name not in TRUSTED.get(loader, frozenset()):
            strangers.add(name)
    return sorted(strangers)


def _nodes(item: Any) -> Iterator[dict[str, Any]]:
    """Walk everything, so that no node can hide where none is expected."""
    if isinstance(item, dict):
        if not {"__loader__", "__class__", "__module__"}.isdisjoint(item):
            yield item
        for value in item.values():
            yield from _nodes(value)
    elif isinstance(item, list):
        for value in item:
            yield from _nodes(value)


def _build(data: bytes, path: Path) -> Any:
    import skops.io

    trusted = sorted(set().union(*TRUSTED.values()))
    try:
        with warnings.catch_warnings():
            # Versions are compared, and told, from the manifest.
            warnings.simplefilter("ignore")
            model = skops.io.loads(data, trusted=trusted)
    except Exception as error:  # a file made to break may break anything
        raise _refusal(path, f"it cannot be rebuilt ({_first_line(error)})") from error
    # A cache of a pipeline is a folder of pickles.
    if not hasattr(model, "predict") or getattr(model, "memory", None) is not None:
        raise _refusal(path, "it holds no model")
    return model


def _read_fitted_rows(members: Mapping[str, bytes], path: Path) -> NDArray[np.uint64]:
    try:
        rows = np.load(io.BytesIO(members[FITTED_ROWS]), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise _refusal(path, "its list of fitted rows cannot be read") from error
    return np.asarray(rows, np.uint64)


def _refusal(path: Path, reason: str) -> ModelFileError:
    return ModelFileError(f"{path} was refused: {reason}.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
