# SPDX-License-Identifier: BSD-3-Clause
"""Results of a statement piece by piece, with word of how far it is."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bagshift.scale._errors import explained
from bagshift.scale.rows import Rows

Progress = Callable[[int, int], None]

BATCH_BYTES = 16 * 2**20
FEWEST_ROWS, MOST_ROWS = 2_048, 131_072
SECONDS_BETWEEN_LOOKS = 0.5
BATCHES_AHEAD = 2


def batch_rows(n_columns: int) -> int:
    """Return how many rows of doubles come at a time."""
    return min(max(BATCH_BYTES // (8 * max(n_columns, 1)), FEWEST_ROWS), MOST_ROWS)


def stream(
    connection: Any,
    statement: str,
    *tables: Rows,
    n_columns: int = 20,
    waiting: Callable[[float], None] | None = None,
) -> Generator[Any, None, None]:
    """Run a statement and yield its result in pieces.

    DuckDB works in a thread of its own, so that an interrupt is heard at once, and so that
    `waiting` is called from the thread that asked.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    statement : str
        A query, or one that makes a table and yields nothing.
    *tables : Rows
        What it reads, for messages.
    n_columns : int, default=20
        Columns of the result; the more, the fewer rows are in a piece.
    waiting : callable, optional
        Called now and then with the share of the work that DuckDB says is done.

    Yields
    ------
    pyarrow.RecordBatch
    """
    with explained(*tables):
        pieces: queue.Queue[Any] = queue.Queue(BATCHES_AHEAD)
        ended = threading.Event()
        arguments = (connection, statement, batch_rows(n_columns), pieces, ended)
        worker = threading.Thread(target=_read, args=arguments, daemon=True)
        worker.start()
        try:
            while (piece := _next_piece(pieces, connection, waiting)) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            ended.set()
            if worker.is_alive():
                connection.interrupt()
            worker.join()


def as_matrix(columns: list[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Put columns of numbers without missing values side by side.

    Parameters
    ----------
    columns : list of pyarrow.Array
    dtype : dtype

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    matrix = np.empty((len(columns[0]), len(columns)), dtype=dtype)
    for place, column in enumerate(columns):
        matrix[:, place] = column.to_numpy()
    return matrix


def _read(
    connection: Any,
    statement: str,
    n_rows: int,
    pieces: queue.Queue[Any],
    ended: threading.Event,
) -> None:
    """Put the pieces of a result into a queue, then the error or None."""
    last: BaseException | None = None
    try:
        result = connection.sql(statement)
        # What makes a table is done by then, and has no result.
        reader: Any = result.to_arrow_reader(n_rows) if result is not None else ()
        for piece in reader:
            if not _put(piece, pieces, ended):
                reader.close()
                return
    except BaseException as error:
        last = error
    _put(last, pieces, ended)


def _put(piece: Any, pieces: queue.Queue[Any], ended: threading.Event) -> bool:
    """Wait for a free place; False when nobody wants the piece any more."""
    while not ended.is_set():
        try:
            pieces.put(piece, timeout=SECONDS_BETWEEN_LOOKS)
        except queue.Full:
            continue
        return True
    return False


def _next_piece(
    pieces: queue.Queue[Any], connection: Any, waiting: Callable[[float], None] | None
) -> Any:
    while True:
        try:
            return pieces.get(timeout=SECONDS_BETWEEN_LOOKS)
        except queue.Empty:
            if waiting:
                waiting(max(connection.query_progress(), 0.0) / 100)
