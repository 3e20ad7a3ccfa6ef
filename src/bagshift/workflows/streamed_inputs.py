# SPDX-License-Identifier: BSD-3-Clause
"""Read what a fit needs from files bigger than memory, within a limit, and keep it in a folder.

Every step keeps what it found. A run that was interrupted or killed begins again with the same
command, finds the finished steps, and goes on in the middle of the unfinished one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bagshift.columns import NamedTable
from bagshift.exceptions import TableError
from bagshift.scale import (
    BagIndex,
    DecodedRows,
    LabelColumn,
    Preparation,
    PreparedTables,
    Rows,
    SampledBags,
    ShareTable,
    StoredRows,
    bag_means,
    connect,
    decode_rows,
    draw_bags,
    index_bags,
    label_counts,
    plan,
    prepare_tables,
    rows_from,
    sample_bags,
    stored_rows,
)
from bagshift.scale._relation import file_marks
from bagshift.workflows.bag_check import what_shares_tell
from bagshift.workflows.findings import Finding
from bagshift.workflows.inputs import bag_classes, class_doubts, reserved_columns
from bagshift.workflows.labels import read_labels
from bagshift.workflows.noise_check import unit_doubts
from bagshift.workflows.requests import FitRequest

# From the name of a step to a block in which (done, total) can be told.
Steps = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]

# Rows of whole bags, and rows of history, that settings are compared on.
SAMPLED_ROWS = 4_000


@dataclass(frozen=True)
class StreamRequest:
    """Within which limits files are read.

    Attributes
    ----------
    memory : str
        What the process may hold, such as "4GB".
    folder : Path
        Where results of steps are kept: those of one set of files and columns at a time.
    n_threads : int or None
        Threads; as many as there are processors if None.
    """

    memory: str
    folder: Path
    n_threads: int | None = None


@dataclass(frozen=True)
class StreamedInputs:
    """What was read for a fit.

    Attributes
    ----------
    request : FitRequest
        What was asked for.
    preparation : Preparation
        How columns become features.
    bags : BagIndex
        Bags with their shares.
    n_target : int
        Rows of the target, those in no used bag among them.
    negative, positive : str, int, float or bool
        The two classes.
    label_counts : dict
        How often either class occurs in the history.
    n_unlabelled : int
        Rows of history without a label, which are left out.
    folder : Path
        Where results of these files are kept.
    X_target : StoredRows
        Means of the bags, or rows bag by bag.
    X_source : StoredRows or None
        Rows of history.
    source_labels : ndarray of int8 or None
        1 for the positive class and 0 for the other.
    sample : SampledBags
        Some whole bags with all their rows.
    findings : list of Finding
        What is worth knowing about shares and classes.
    """

    request: FitRequest
    preparation: Preparation
    bags: BagIndex
    n_target: int
    negative: Any
    positive: Any
    label_counts: dict[Any, int]
    n_unlabelled: int
    folder: Path
    X_target: StoredRows
    X_source: StoredRows | None
    source_labels: NDArray[np.int8] | None
    sample: SampledBags
    findings: list[Finding]


def read_streamed_inputs(
    request: FitRequest,
    stream: StreamRequest,
    steps: Steps,
    *,
    rows_needed: bool,
    n_components: int = 0,
    on_read: Callable[[int], None] | None = None,
) -> StreamedInputs:
    """Read the files of a fit, or go on with it.

    Parameters
    ----------
    request : FitRequest
        Files and columns.
    stream : StreamRequest
        Limits, and the folder of results.
    steps : callable
        Shows how far each step is.
    rows_needed : bool
        Whether the machine needs the rows of the target bag by bag, and not only their means.
    n_components : int, default=0
        Features of a map that goes over the rows before they are averaged, which needs them, too;
        0 for no map.
    on_read : callable, optional
        Called with the number of rows whenever rows are read from the folder later.

    Returns
    -------
    StreamedInputs

    Raises
    ------
    TableError, BagError
        When the files cannot be used, or the limits do not suffice; one sentence says why.
    """
    check_streamable(request)
    target = rows_at(request.bags.target)
    source = None if request.source is None else rows_at(request.source)
    shares = _share_table(request)
    folder = _own_folder(stream, request, [target] if source is None else [target, source])
    with connect(stream.memory, folder, stream.n_threads) as connection:
        labels, counts = _label_column(connection, source, request)
        negative, positive = bag_classes(labels, request)
        with steps("Looking at the columns") as tell:
            tables = prepare_tables(
                connection,
                target,
                source,
                folder / "columns",
                reserved=reserved_columns(request),
                only=request.only,
                progress=tell,
            )
        with steps("Counting the rows of bags") as tell:
            bags = index_bags(
                connection,
                target,
                request.bags.bag,
                shares,
                on_unmatched=request.bags.on_unmatched,
                n_rows=tables.n_target,
                progress=tell,
            )
        n_source = sum(counts.values())
        assert bags.shares is not None
        findings = list(_findings(request, bags))
        _check_memory(stream, target, tables, bags, rows_needed, n_components)
        by_rows = rows_needed or n_components > 0
        X_target = _target(
            connection, target, tables.preparation, bags, folder, steps, by_rows, on_read
        )
        X_source, codes = None, None
        if source is not None and labels is not None:
            column = LabelColumn(str(request.label), negative, positive)
            with steps("Decoding the history") as tell:
                decoded = decode_rows(
                    connection,
                    source,
                    tables.preparation,
                    folder / f"source-{_mark([str(negative), str(positive)])}",
                    labels=column,
                    n_rows=tables.n_source,
                    progress=tell,
                )
            X_source = _in_files(decoded, on_read)
            codes = np.concatenate([decoded.labels(part) for part in range(decoded.n_parts)])
        with steps("Reading a sample of bags") as tell:
            chosen = draw_bags(bags, SAMPLED_ROWS)
            sample = sample_bags(
                connection, target, bags, tables.preparation, chosen, progress=tell
            )
    return StreamedInputs(
        request=request,
        preparation=tables.preparation,
        bags=bags,
        n_target=tables.n_target,
        negative=negative,
        positive=positive,
        label_counts=counts,
        n_unlabelled=tables.n_source - n_source,
        folder=folder,
        X_target=X_target,
        X_source=X_source,
        source_labels=codes,
        sample=sample,
        findings=[*findings, *class_doubts(request, negative, positive)],
    )


def check_streamable(request: FitRequest) -> None:
    """Refuse what a fit on files bigger than memory cannot do.

    Parameters
    ----------
    request : FitRequest

    Raises
    ------
    TableError
        In one sentence, with what to do instead.
    """
    if request.bags.shares is None:
        raise TableError(
            "A fit with --memory takes the shares from a table of their own, with one row for "
            "each bag; give it with --shares."
        )


def rows_at(path: Path | None) -> Rows:
    """Find the rows of a table; a path has lost one of the slashes of an address.

    Parameters
    ----------
    path : Path
        File, folder, pattern or address.

    Returns
    -------
    Rows

    Raises
    ------
    TableError
        When there are none, or files that do not belong together.
    """
    return rows_from(re.sub(r"^(\w{2,}):/(?=[^/])", r"\1://", str(path)))


def _own_folder(stream: StreamRequest, request: FitRequest, tables: list[Rows]) -> Path:
    """Return the folder of these files and columns; what files that changed left is removed."""
    roles = [request.bags.bag, request.label, reserved_columns(request), list(request.only)]
    name = f"files-{_mark([[file_marks(table) for table in tables], roles])}"
    try:
        stream.folder.mkdir(parents=True, exist_ok=True)
        for other in stream.folder.glob("files-*"):
            if other.name != name:
                shutil.rmtree(other)
        own = stream.folder / name
        own.mkdir(exist_ok=True)
    except OSError as error:
        raise TableError(
            f"{stream.folder} cannot be used as a folder: {error.strerror or error}."
        ) from error
    return own


def _mark(facts: list[Any]) -> str:
    """Return a short text that stands for facts."""
    return blake2b(json.dumps(facts, default=str).encode(), digest_size=6).hexdigest()


def _label_column(
    connection: Any, source: Rows | None, request: FitRequest
) -> tuple[Any, dict[Any, int]]:
    """Return the two labels, and how often each occurs."""
    if source is None or request.label is None:
        return None, {}
    found = label_counts(connection, source, request.label)
    written = pl.Series(list(found), dtype=pl.String)
    table = NamedTable(pl.DataFrame({request.label: written}), source.name)
    labels = read_labels(table, request.label, request.positive)
    counts = dict(zip(labels.values.tolist(), found.values(), strict=True))
    return labels, counts


def _share_table(request: FitRequest) -> ShareTable:
    bags, noise = request.bags, request.bags.noise
    by_column = noise is not None and noise.column is not None
    return ShareTable(
        rows_at(bags.shares),
        bags.bag_in_shares,
        bags.value_column,
        by_count=bags.by_count,
        size=bags.size_column,
        noise=None if noise is None or by_column else noise.law_of(),
        noise_column=bags.noise_column,
        law_of=noise.law_of if noise is not None and by_column else None,
    )


def _findings(request: FitRequest, bags: BagIndex) -> Iterator[Finding]:
    """Say what is worth knowing about the shares."""
    noise = request.bags.noise
    assert bags.shares is not None
    is_noisy = noise is not None and noise.is_additive
    yield from what_shares_tell(bags.shares, bags.n_rows, is_noisy=is_noisy)
    if noise is not None and noise.unit is not None and bags.noise is not None:
        yield from unit_doubts(noise, max(getattr(law, "scale", 0.0) for law in set(bags.noise)))


def _check_memory(
    stream: StreamRequest,
    target: Rows,
    tables: PreparedTables,
    bags: BagIndex,
    rows_needed: bool,
    n_components: int,
) -> None:
    """Raise before the long steps when one of them cannot be done."""
    plan(
        stream.memory,
        stream.folder,
        n_features=len(tables.preparation.features),
        n_target=tables.n_target,
        n_bags=bags.n_bags,
        n_source=tables.n_source,
        largest_bag=int(bags.n_rows.max()),
        decode_target=rows_needed or n_components > 0,
        from_csv=target.kind == "csv",
        fits=True,
        n_components=n_components,
        means_of_mapped=n_components > 0 and not rows_needed,
    ).check()


def _target(
    connection: Any,
    target: Rows,
    preparation: Preparation,
    bags: BagIndex,
    folder: Path,
    steps: Steps,
    rows_needed: bool,
    on_read: Callable[[int], None] | None,
) -> StoredRows:
    if not rows_needed:
        with steps("Computing the means of bags") as tell:
            means = bag_means(
                connection,
                target,
                bags,
                preparation,
                folder / f"means-{_mark(bags.mark)}",
                progress=tell,
            )
        return stored_rows([means.file], on_read=on_read)
    with steps("Putting rows in the order of bags") as tell:
        decoded = decode_rows(
            connection,
            target,
            preparation,
            folder / f"target-{_mark(bags.mark)}",
            bags=bags,
            order_by_bag=True,
            progress=tell,
        )
    return _in_files(decoded, on_read)


def _in_files(decoded: DecodedRows, on_read: Callable[[int], None] | None) -> StoredRows:
    return stored_rows(decoded.files("features"), on_read=on_read)
