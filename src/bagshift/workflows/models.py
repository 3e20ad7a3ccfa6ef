# SPDX-License-Identifier: BSD-3-Clause
"""Open model files that the command line wrote."""

from __future__ import annotations

from pathlib import Path

from bagshift.exceptions import ModelFileError, TableError, name_some
from bagshift.persistence import SavedModel, load_model, version_differences


def require_two_classes(saved: SavedModel, what: str) -> None:
    """Refuse a model of more than two classes.

    Parameters
    ----------
    saved : SavedModel
    what : str
        What cannot be done with it, as the beginning of a sentence.

    Raises
    ------
    TableError
    """
    classes = saved.manifest.classes
    if len(classes) > 2:
        raise TableError(
            f"{what} is for two classes, and the model has {name_some(classes)}; in Python "
            "score() compares shares or labels of any number of classes."
        )


def open_model(path: Path) -> tuple[SavedModel, list[str]]:
    """Load a model and say if it was written by other versions.

    Parameters
    ----------
    path : Path
        The model file.

    Returns
    -------
    saved : SavedModel
        The model.
    notes : list of str
        Empty, or one sentence about versions.

    Raises
    ------
    ModelFileError
        When the file is refused.
    """
    saved = load_model(path)
    if not saved.manifest.columns:
        raise ModelFileError(
            f"{path} holds a model that was not fitted on a table; load it in Python with "
            "bagshift.persistence.load_model."
        )
    others = version_differences(saved.manifest)
    if not others:
        return saved, []
    return saved, [f"{path.name} was written with {', '.join(others)}; fit again if in doubt."]
