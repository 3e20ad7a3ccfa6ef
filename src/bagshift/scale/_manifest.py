# SPDX-License-Identifier: BSD-3-Clause
"""What of a long piece of work is done, so that it can be killed at any moment and gone on with.

A part is written first and entered into the manifest then; a part that is not in it is written
again. The manifest also says which files the rows came from, of which size and age, and with
which settings: parts of different inputs are never mixed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bagshift.atomic import whole_file
from bagshift.exceptions import TableError, name_some

FILE = "manifest.json"
FORMAT = "bagshift rows, version 1"


@dataclass(frozen=True)
class Manifest:
    """Work in a folder.

    Attributes
    ----------
    folder : Path
    settings : dict
        Whatever the result depends on besides the rows.
    inputs : list or None
        Name, size and time of change of every file; None for a frame, which cannot be told from
        another one.
    parts : list of dict
        What is done.
    done : bool
        Whether everything is.
    """

    folder: Path
    settings: dict[str, Any]
    inputs: list[list[Any]] | None
    parts: list[dict[str, Any]]
    done: bool = False

    def with_part(self, part: dict[str, Any]) -> Manifest:
        """Enter one more part."""
        return _written(replace(self, parts=[*self.parts, part]))

    def finished(self) -> Manifest:
        """Enter that there is no further part."""
        return _written(replace(self, done=True))

    def check_inputs(self, inputs: list[list[Any]] | None) -> None:
        """Raise when the files are not those that the work began with."""
        if inputs != self.inputs:
            changed = _changed(self.inputs or [], inputs or [])
            raise TableError(
                f"{changed} changed since {self.folder} was begun: put back what was there, or "
                "delete that folder to begin anew."
            )


def begin(
    folder: str | Path, settings: dict[str, Any], inputs: list[list[Any]] | None
) -> Manifest:
    """Begin work in a folder, or go on with it.

    Parameters
    ----------
    folder : str or Path
        It is made if it is not there.
    settings : dict
        Whatever the result depends on besides the rows; plain values.
    inputs : list or None
        Marks of the files; None to begin anew in any case.

    Returns
    -------
    Manifest

    Raises
    ------
    TableError
        When the folder was begun with other files or settings, or cannot be used.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(f"{folder} cannot be made a folder: {error.strerror}.") from error
    known = _read(folder)
    if known is None or inputs is None:
        return _written(Manifest(folder, settings, inputs, []))
    if known.settings != settings:
        keys = [*settings, *known.settings]
        other = dict.fromkeys(k for k in keys if settings.get(k) != known.settings.get(k))
        raise TableError(
            f"{folder} was begun with other settings ({name_some(other)}): name another folder, "
            "or delete it to begin anew."
        )
    known.check_inputs(inputs)
    return known


def digest(text: str) -> str:
    """Return a short text that stands for a long one."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _read(folder: Path) -> Manifest | None:
    path = folder / FILE
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.pop("format") != FORMAT:
            raise ValueError
        return Manifest(folder, **facts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise TableError(
            f"{path} is damaged, or of another version: delete {folder} to begin anew."
        ) from error


def _written(manifest: Manifest) -> Manifest:
    facts = asdict(manifest)
    del facts["folder"]
    with whole_file(manifest.folder / FILE) as draft:
        draft.write_text(json.dumps({"format": FORMAT, **facts}, indent=1), encoding="utf-8")
    return manifest


def _changed(before: list[list[Any]], now: list[list[Any]]) -> str:
    """Name files that are new, gone or different."""
    marks = {name: mark for name, *mark in before}
    marks_now = {name: mark for name, *mark in now}
    names = sorted(marks.keys() | marks_now.keys())
    return name_some([name for name in names if marks.get(name) != marks_now.get(name)])
