# SPDX-License-Identifier: BSD-3-Clause
"""Source and target as one matrix, for steps that must see both, such as a scaler.

A Pipeline transforms ``X`` but never a ``source=`` beside it. Stacked, both domains pass through
every step alike, and which row is of which domain travels inside the target object.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from bagshift._bags.ids import is_missing
from bagshift.bags import Bags
from bagshift.exceptions import BagError, TableError, name_some
from bagshift.labels import to_label_array

FloatArray = NDArray[np.float64]

_KIND_OF_DTYPE = dict.fromkeys("biufc", "numbers") | dict.fromkeys("UST", "text")
_KIND_OF_DTYPE |= {"M": "dates", "m": "durations"}
_KINDS = (  # of objects; text among them makes a column text
    ("text", str | bytes),
    ("dates", date),
    ("durations", timedelta),
    ("numbers", Number | Decimal),
)


def stack_domains(*, source: Any, target: Any) -> tuple[Any, Bags]:
    """Stack source rows upon target rows.

    Parameters
    ----------
    source : tuple (X, y) or (X, y, sample_weight)
        Labelled rows: dense, sparse, pandas or polars.
    target : tuple (X, bags)
        Target rows with the same columns, and their `Bags`; None for rows in no bag. The columns
        of frames are matched by name, whatever their order.

    Returns
    -------
    X : ndarray, CSR matrix or frame of shape (n_source + n_target, n_features)
    y : Bags of length n_source + n_target
        Knows the source rows and holds their labels and weights.

    Raises
    ------
    TableError
        If the two matrices differ in kind or columns, or do not fit to labels and bags.
    BagError
        If labels or weights of the source cannot be used.

    See Also
    --------
    split_domains : The inverse.

    Examples
    --------
    >>> from bagshift import Bags, stack_domains
    >>> bags = Bags.from_arrays(["a", "a"], {"a": 0.5})
    >>> X, y = stack_domains(source=([[0.0], [1.0]], [0, 1]), target=([[0.2], [0.9]], bags))
    >>> X.shape
    (4, 1)
    >>> y.is_source
    array([ True,  True, False, False])
    """
    X_source, labels, weight = _unpack(source, "source", "(X, y) or (X, y, sample_weight)", 2, 3)
    X_target, bags, _ = _unpack(target, "target", "(X, bags)", 2, 2)
    if isinstance(labels, Bags):
        raise BagError("source must hold labels, one per row, not Bags: Bags belong to target.")
    X_source, X_target = _as_matrix(X_source, "source"), _as_matrix(X_target, "target")
    source_part = Bags.for_source(labels, weight)
    target_part = Bags.unlabelled(X_target.shape[0]) if bags is None else bags
    if not isinstance(target_part, Bags):
        raise BagError(
            f"target must be (X, bags) with Bags or None, not {type(bags).__name__}: build them "
            "with Bags.from_arrays, and put known labels in with Bags.with_labels."
        )
    if target_part.is_source.any():
        raise BagError("the bags of target hold source rows already: stack each source once.")
    _check_length(X_source, source_part, "source", "labels")
    _check_length(X_target, target_part, "target", "rows of bags")
    return _stack(X_source, X_target), Bags.concatenate([source_part, target_part])


def split_domains(
    X: Any, y: Bags
) -> tuple[tuple[Any, NDArray[Any], FloatArray] | None, Any, Bags]:
    """Undo `stack_domains`.

    Parameters
    ----------
    X : ndarray, CSR matrix or frame of shape (n_rows, n_features)
    y : Bags of length n_rows

    Returns
    -------
    source : tuple (X, labels, weights) or None
        None when no row is a source row.
    X_target : of the type of `X`
        Rows that are not source rows, in their order.
    bags : Bags
        Of these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags
    >>> source, X, bags = split_domains(np.zeros((3, 1)), Bags.unlabelled(3))
    >>> source is None, X.shape, len(bags)
    (True, (3, 1), 3)
    """
    _check_length(X, y, "X", "rows of bags")
    if not y.is_source.any():
        return None, X, y
    source_rows, target_rows = np.flatnonzero(y.is_source), y.target_rows()
    labels = to_label_array(y.label_values[source_rows])
    source = (_take(X, source_rows), labels, y.row_weights[source_rows])
    return source, _take(X, target_rows), y[target_rows]


def _unpack(domain: Any, name: str, form: str, shortest: int, longest: int) -> tuple[Any, ...]:
    if not isinstance(domain, tuple | list) or not shortest <= len(domain) <= longest:
        raise TableError(f"{name} must be a tuple {form}.")
    return (*domain, *[None] * (3 - len(domain)))


def _check_length(X: Any, bags: Bags, name: str, what: str) -> None:
    if X.shape[0] != len(bags):
        raise TableError(f"{name} has {X.shape[0]:,} rows but {len(bags):,} {what}.")


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


# Stacking ---------------------------------------------------------------------------------


def _as_matrix(X: Any, name: str) -> Any:
    if np.ma.is_masked(X):
        raise TableError(
            f"the X of {name} has missing (masked) entries: fill them in or leave these rows out."
        )
    if not _is_frame(X) and not scipy.sparse.issparse(X):
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths
            X = None
    if len(getattr(X, "shape", ())) != 2:
        raise TableError(f"the X of {name} must be a matrix or frame of shape (rows, columns).")
    return X


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _stack(X_source: Any, X_target: Any) -> Any:
    if _is_frame(X_source) or _is_frame(X_target):
        return _stack_frames(X_source, X_target)
    n_columns = X_source.shape[1]
    if n_columns != X_target.shape[1]:
        raise TableError(
            f"source has {n_columns:,} columns but target has {X_target.shape[1]:,}: give both "
            "the same columns."
        )
    _check_kinds(X_source, X_target, range(n_columns))
    if scipy.sparse.issparse(X_source) or scipy.sparse.issparse(X_target):
        return scipy.sparse.vstack([X_source, X_target], format="csr")
    return np.concatenate([X_source, X_target])


def _stack_frames(X_source: Any, X_target: Any) -> Any:
    kinds = [type(X).__module__.partition(".")[0] for X in (X_source, X_target)]
    if type(X_source) is not type(X_target) or kinds[0] not in ("pandas", "polars"):
        raise TableError(
            f"source is a {_kind(X_source)} and target a {_kind(X_target)}: give two pandas "
            "frames, two polars frames or two matrices."
        )
    names = list(X_source.columns)
    for which, X in (("source", X_source), ("target", X_target)):
        repeated = [name for name, times in Counter(X.columns).items() if times > 1]
        if repeated:
            raise TableError(
                f"the X of {which} has more than one column of the name {name_some(repeated)}: "
                "give every column its own name."
            )
    if set(names) != set(X_target.columns):
        _refuse_columns(names, list(X_target.columns))
    _check_kinds(X_source, X_target, names)
    frames = [X_source, X_target[names]]
    if kinds[0] == "pandas":
        return sys.modules["pandas"].concat(frames, ignore_index=True)
    polars = sys.modules["polars"]
    try:
        return polars.concat(frames, how="vertical_relaxed")
    except polars.exceptions.PolarsError as error:
        raise TableError(
            "source and target have columns of one name but different types: "
            f"{str(error).partition(chr(10))[0]}."
        ) from error


def _kind(X: Any) -> str:
    module = type(X).__module__.partition(".")[0]
    return f"{module} {type(X).__name__}"


def _refuse_columns(in_source: list[Any], in_target: list[Any]) -> NoReturn:
    lacking = [name for name in in_source if name not in in_target]
    extra = [name for name in in_target if name not in in_source]
    parts = []
    if lacking:
        parts.append(f"target lacks {name_some(lacking)}")
    if extra:
        parts.append(f"source lacks {name_some(extra)}")
    what = " and ".join(parts)
    raise TableError(f"source and target must have the same columns, but {what}.")


# Kinds of columns -------------------------------------------------------------------------


def _check_kinds(X_source: Any, X_target: Any, names: Iterable[Any]) -> None:
    """Refuse to stack text upon numbers, or dates upon either: all would become text."""
    if all(_all_numbers(X) for X in (X_source, X_target)):
        return
    for name in names:
        in_source, in_target = _column_kind(X_source, name), _column_kind(X_target, name)
        if in_source != in_target and in_source and in_target:
            raise TableError(
                f"column {name!r} holds {in_source} in source but {in_target} in target: give "
                "both the same type."
            )


def _all_numbers(X: Any) -> bool:
    return not _is_frame(X) and X.dtype.kind in "biufc"


def _column_kind(X: Any, name: Any) -> str:
    """Say what a column holds; nothing where all is missing or of no known kind."""
    if scipy.sparse.issparse(X):
        return "numbers"
    values = np.asarray(X[name] if _is_frame(X) else X[:, name])
    if values.dtype.kind != "O":
        return _KIND_OF_DTYPE.get(values.dtype.kind, "")
    types = {type(entry) for entry in values.tolist() if not is_missing(entry)}
    return next((kind for kind, base in _KINDS if any(issubclass(t, base) for t in types)), "")
