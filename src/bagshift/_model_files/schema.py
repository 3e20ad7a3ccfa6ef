# SPDX-License-Identifier: BSD-3-Clause
"""The types that an archive asks for, looked up before anything is built."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bagshift._model_files.archive import check_sizes
from bagshift._model_files.faults import Fault
from bagshift._model_files.trusted_types import TRUSTED
from bagshift.exceptions import name_some


def check_schema(content: bytes, sizes: Mapping[str, int], n_bytes: int) -> None:
    """Raise when an archive asks for a type that bagshift does not write, or too much of one.

    Parameters
    ----------
    content : bytes
        The schema, JSON.
    sizes : mapping of str to int
        Unpacked size of every member of the archive.
    n_bytes : int
        Size of the archive.

    Raises
    ------
    Fault
    """
    from skops.io._protocol import PROTOCOL

    try:
        schema = json.loads(content)
        protocol = schema["protocol"]
        strangers = untrusted_types(schema)
        reads = _arrays_read(schema, sizes)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Fault("its contents cannot be read") from error
    # Older protocols are rebuilt by older code of skops, which our list says nothing about.
    if type(protocol) is not int or protocol != PROTOCOL:
        raise Fault(
            f"it uses protocol {protocol!r} of skops and {PROTOCOL} is installed; fit again"
        )
    if strangers:
        raise Fault(f"it asks for {name_some(strangers)}, which bagshift never writes")
    check_sizes(reads, n_bytes)


def untrusted_types(schema: Any) -> list[str]:
    """List types of an archive that are not trusted, or not to be rebuilt in that way.

    Parameters
    ----------
    schema : object
        The schema, read from JSON.

    Returns
    -------
    list of str
        Dotted names.
    """
    strangers = set()
    for node in _nodes(schema):
        loader = node.get("__loader__")
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        if not isinstance(loader, str) or name not in TRUSTED.get(loader, frozenset()):
            strangers.add(name)
    return sorted(strangers)


def _arrays_read(schema: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the size of every array that is read; nodes without a common id read it again."""
    reads = {}
    for position, node in enumerate(_nodes(schema)):
        if "file" in node:
            reads[f"{node['file']} {node.get('__id__', f'node {position}')}"] = sizes[node["file"]]
    return reads


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
