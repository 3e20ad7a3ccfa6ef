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
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._model_files.archive import (
    FITTED_ROWS,
    MANIFEST,
    SCHEMA,
    check_file_size,
    read_fitted_rows,
    read_papers,
)
from bagshift._model_files.faults import Fault, first_line
from bagshift._model_files.model import check_model, machine_of, plain, positive_of
from bagshift._model_files.schema import check_schema, untrusted_types
from bagshift._model_files.trusted_types import TRUSTED
from bagshift.atomic import whole_file
from bagshift.exceptions import ModelFileError, name_some

FORMAT = 1
KINDS = ("number", "date", "text")
VERSIONED = ("bagshift", "numpy", "scikit-learn", "skrub", "skops")


@dataclass(frozen=True)
class Manifest:
    """What a model file says about the model inside.

    Attributes
    ----------
    method : str
        Name of the method, such as "tgplm".
    classes : tuple
        All classes, in the order of the model's ``classes_``.
    positive : str, int, float, bool or None
        The one of two that shares are of; None where there are more.
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

    Raises
    ------
    ModelFileError
        When it is neither, or is not fitted.
    """
    try:
        machine = machine_of(model)
    except Fault as fault:
        raise _not_saved(fault) from fault
    return Manifest(
        method=type(machine).__name__,
        classes=tuple(plain(label) for label in machine.classes_),
        positive=positive_of(machine),
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
        When :func:`load_model` would refuse the file: when the model is not fitted, is no
        classifier of bagshift or Pipeline that ends in one, holds something that a model file
        must not hold, such as a kernel that is a Python function, or is not what the manifest
        says.
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
    papers = manifest or describe_model(model)
    try:
        check_model(model, papers)
        data = _with_papers(_dump(model), papers, fitted_rows)
        read_papers(data)
    except Fault as fault:
        raise _not_saved(fault) from fault
    with whole_file(path) as draft:
        draft.write_bytes(data)


def load_model(path: str | Path) -> SavedModel:
    """Read a model file that :func:`save_model` wrote; refuse any other.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    SavedModel
        The classifier is its ``model``, as in ``load_model(path).model.predict(X)``; beside it
        are the manifest and the fingerprints of the rows it was fitted on.

    Raises
    ------
    ModelFileError
        When the file is missing, damaged, not a model file, unpacks to more than a model does,
        or names a type we do not write: nothing of it has been built then. Or when the model in
        it could not predict, or is not what its manifest says.

    Examples
    --------
    >>> import tempfile
    >>> from bagshift import SourceSVM
    >>> from bagshift.persistence import load_model, save_model
    >>> machine = SourceSVM(kernel="linear").fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(machine, f"{folder}/model.skops")
    ...     loaded = load_model(f"{folder}/model.skops")
    >>> loaded.model.predict([[2.0]])
    array([1])
    """
    path = Path(path)
    data = _read(path)
    try:
        members, sizes = read_papers(data)
        manifest = _read_manifest(members[MANIFEST])
        fitted_rows = read_fitted_rows(members[FITTED_ROWS])
        check_schema(members[SCHEMA], sizes, len(data))
        model = _build(data)
        check_model(model, manifest)
    except Fault as fault:
        raise _refused(path, fault) from fault
    return SavedModel(model=model, manifest=manifest, fitted_rows=fitted_rows)


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


def _dump(model: Any) -> bytes:
    """Return the archive of a model that holds nothing but trusted types."""
    import skops.io

    try:
        data: bytes = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
    except Exception as error:  # skops lets errors of the objects themselves through
        raise Fault(first_line(error)) from error
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        strangers = untrusted_types(json.loads(archive.read(SCHEMA)))
    if strangers:
        if any(name.endswith("RandomState") for name in strangers):
            raise Fault(
                "its random_state is a RandomState, which a model file never holds; fit it with a "
                "whole number, such as random_state=0"
            )
        names = name_some(name.rpartition(".")[2] for name in strangers)
        raise Fault(
            f"it holds {names}, and a model file holds no functions and only the types that "
            "bagshift itself writes"
        )
    return data


def _with_papers(data: bytes, manifest: Manifest, fitted_rows: ArrayLike) -> bytes:
    buffer = io.BytesIO(data)
    rows = io.BytesIO()
    np.save(rows, _as_fingerprints(fitted_rows), allow_pickle=False)
    with zipfile.ZipFile(buffer, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2, default=plain))
        archive.writestr(FITTED_ROWS, rows.getvalue())
    return buffer.getvalue()


def _as_fingerprints(fitted_rows: ArrayLike) -> NDArray[np.uint64]:
    try:
        rows = np.asarray(fitted_rows, None if isinstance(fitted_rows, np.ndarray) else np.uint64)
    except (ValueError, TypeError, OverflowError):
        rows = np.empty(())
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise Fault("fitted_rows does not hold one whole number for each row")
    return rows.astype(np.uint64)


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder; name a model file.")
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist; `bagshift fit ... -o {path}` writes one.")
    try:
        check_file_size(path.stat().st_size)
        return path.read_bytes()
    except Fault as fault:
        raise _refused(path, fault) from fault
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_manifest(content: bytes) -> Manifest:
    try:
        read = json.loads(content)
        known = {f.name for f in fields(Manifest)}
        found = {name: read[name] for name in read if name in known}
        manifest = Manifest(**found)
        is_sound = isinstance(manifest.classes, list) and all(
            check(getattr(manifest, name)) for name, check in SOUND.items()
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Fault("its manifest cannot be read") from error
    if not is_sound:
        raise Fault("its manifest cannot be read")
    if (manifest.positive is None) != (len(manifest.classes) > 2):
        raise Fault("its manifest cannot be read")
    if type(manifest.format) is not int or manifest.format != FORMAT:
        raise Fault(
            f"it has format {manifest.format!r} and this bagshift reads format {FORMAT}; use the "
            "version it was written with, or fit again"
        )
    return replace(manifest, classes=tuple(manifest.classes))


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


# What each entry of a manifest must be.
SOUND: dict[str, Callable[[Any], bool]] = {
    "method": _is_text,
    "classes": lambda classes: len(classes) >= 2 and all(map(_is_label, classes)),
    "positive": lambda label: label is None or _is_label(label),
    "columns": lambda columns: set(columns.values()) <= set(KINDS),
    "bag_column": _is_text_or_none,
    "id_column": _is_text_or_none,
    "label_column": _is_text_or_none,
    "holds_training_rows": lambda answer: isinstance(answer, bool),
    "fit": lambda report: isinstance(report, dict),
    "versions": lambda versions: all(map(_is_text, versions.values())),
}


def _build(data: bytes) -> Any:
    import skops.io

    trusted = sorted(set().union(*TRUSTED.values()))
    try:
        with warnings.catch_warnings():
            # Versions are compared, and told, from the manifest.
            warnings.simplefilter("ignore")
            return skops.io.loads(data, trusted=trusted)
    except Exception as error:  # a file made to break may break anything
        raise Fault(f"it cannot be rebuilt ({first_line(error)})") from error


def _not_saved(fault: Fault) -> ModelFileError:
    return ModelFileError(f"This model cannot be saved: {fault}.")


def _refused(path: Path, fault: Fault) -> ModelFileError:
    return ModelFileError(f"{path} was refused: {fault}.")
