# SPDX-License-Identifier: BSD-3-Clause
"""The target that every estimator learns from: which bag a row is in, and the bags' shares."""

import enum
import html
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._bag_input.ids import canonical_id, is_blank
from bagshift._bag_input.table import Dropped, read_bag_table
from bagshift.exceptions import BagError, name_some

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[np.object_]


class _NoBag(enum.Enum):
    """The mark of a row in no bag; an enumeration stays itself through pickle."""

    NO_BAG = "no bag"

    def __repr__(self) -> str:
        return "Bags.NO_BAG"


@dataclass(frozen=True, eq=False, repr=False)
class Bags:
    """Bags of target rows and the share of positives in each.

    One object stands for the whole target of a fit: it has as many rows as ``X`` and
    scikit-learn slices it as it slices ``X``. Build it with `from_arrays`, `unlabelled` or
    `concatenate`, never by the constructor.

    Attributes
    ----------
    bag_index : ndarray of shape (n_rows,)
        Position of the row's bag in the bag table; -1 for a row in no bag.
    ids : ndarray of shape (n_bags,)
        Bag ids in order of first appearance; only bags that have rows here.
    positive_shares : ndarray of shape (n_bags,)
        Share of the positive class in each bag.
    sizes : ndarray of shape (n_bags,)
        How many individuals each share speaks about: the declared size, else the rows the bag
        had when it was built.
    weights : ndarray of shape (n_bags,)
        Weight of each bag in a fit; 1 by default.
    label_values : ndarray of shape (n_rows,)
        Known labels of rows, None where unknown.
    is_source : ndarray of shape (n_rows,)
        Whether the row belongs to the labelled source domain.
    row_weights : ndarray of shape (n_rows,)
        Weights of source rows; 1 elsewhere.
    positive, negative : object
        The declared labels, None where not declared.
    dropped : Dropped
        What ``on_unmatched="drop"`` left out.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["north", "north", "south"], {"north": 0.5, "south": 1.0})
    >>> bags.shares
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> bags[[2, 0]].ids
    array(['south', 'north'], dtype=object)
    """

    bag_index: IntArray
    ids: ObjectArray
    positive_shares: FloatArray
    sizes: FloatArray
    weights: FloatArray
    label_values: ObjectArray
    is_source: BoolArray
    row_weights: FloatArray
    positive: Any = None
    negative: Any = None
    dropped: Dropped = field(default_factory=Dropped)
    # Which row a row was when its bag was built, and how many the bag had then:
    _row_numbers: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _rows_built: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    NO_BAG: ClassVar[_NoBag] = _NoBag.NO_BAG
    ndim: ClassVar[int] = 1

    # Construction -------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        bag_ids: Any,
        shares: Any = None,
        *,
        counts: Any = None,
        sizes: Any = None,
        weights: Any = None,
        positive: Any = None,
        negative: Any = None,
        on_unmatched: str = "raise",
    ) -> Self:
        """Build bags from the bag id of every row and a share or count for every bag.

        Parameters
        ----------
        bag_ids : array-like of shape (n_rows,)
            Any hashable ids. They match by equality: ``"1"`` is not ``1``, ``1.0`` is. Write
            `Bags.NO_BAG` for a row that is in no bag; a blank id is an error.
        shares : mapping, Series, frame or array-like
            Share of positives in [0, 1]. A mapping or pandas Series goes by bag id. A frame has
            a column of ids (named as the Series `bag_ids`, or "bag" or "bag_id", or else the
            index or the first column) and one column of shares, or two, one per class. An array,
            list or polars Series has one number per row, constant within each bag. Pairs
            ``[negative, positive]`` that sum to 1 serve too.
        counts : mapping, Series, frame or array-like
            Whole numbers of positives, in place of `shares` and in the same forms.
        sizes : mapping, Series, frame or array-like, optional
            How many individuals each share speaks about, when that is more than the rows here.
        weights : mapping, Series, frame or array-like, optional
            Positive weights of the bags.
        positive, negative : object, optional
            The label that the shares are shares of, and the other one.
        on_unmatched : {"raise", "drop"}, default="raise"
            With "drop", bags without rows are left out, and rows whose bag has no share or
            whose id is blank become rows in no bag; `dropped` counts them.

        Returns
        -------
        Bags

        Raises
        ------
        BagError
            If ids, shares, counts, sizes or weights cannot be used; one sentence says why.
        """
        if positive is not None and positive == negative:
            raise BagError(f"positive and negative must differ; both are {positive!r}.")
        table = read_bag_table(
            bag_ids,
            shares,
            counts=counts,
            sizes=sizes,
            weights=weights,
            positive=positive,
            negative=negative,
            on_unmatched=on_unmatched,
            no_bag=cls.NO_BAG,
        )
        n_rows = len(table.bag_index)
        return cls(
            **_blank_rows(n_rows) | {"bag_index": table.bag_index},
            ids=table.ids,
            positive_shares=table.shares,
            sizes=table.sizes,
            weights=table.weights,
            positive=positive,
            negative=negative,
            dropped=table.dropped,
            _rows_built=_count_rows(table.bag_index, len(table.ids)),
        )

    @classmethod
    def unlabelled(cls, n_rows: int, *, positive: Any = None, negative: Any = None) -> Self:
        """Rows in no bag.

        Examples
        --------
        >>> Bags.unlabelled(3).n_bags
        0
        """
        return cls(**_blank_rows(n_rows), **_no_bags(), positive=positive, negative=negative)

    @classmethod
    def for_source(cls, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Labelled rows of the source domain.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        Bags
        """
        values = _as_labels(labels, "source labels")
        missing = np.array([value is None for value in values], dtype=bool)
        if missing.any():
            raise BagError(
                f"source labels are missing in {missing.sum():,} rows (rows "
                f"{name_some(np.flatnonzero(missing))}): every source row needs a label."
            )
        rows = _blank_rows(len(values))
        rows["label_values"] = values
        rows["is_source"] = np.ones(len(values), dtype=bool)
        if sample_weight is not None:
            rows["row_weights"] = _check_row_weights(sample_weight, len(values))
        return cls(**rows, **_no_bags())

    @classmethod
    def concatenate(cls, parts: Sequence["Bags"]) -> "Bags":
        """Put rows below one another.

        A bag id found in two parts is joined when the parts were sliced from one object, that
        is, when share, size and weight agree and no row occurs twice.
        """
        parts = list(parts)
        if not parts:
            raise BagError("parts is empty: give at least one Bags.")
        declared = {
            name: _agreed([getattr(part, name) for part in parts], name)
            for name in ("positive", "negative")
        }
        place_of: dict[Hashable, int] = {}
        entries: list[tuple[float, ...]] = []
        index_parts = []
        for part in parts:
            places = np.full(part.n_bags + 1, -1, dtype=np.int64)
            table = zip(
                part.positive_shares.tolist(),
                part.sizes.tolist(),
                part.weights.tolist(),
                part._rows_built.tolist(),
                strict=True,
            )
            for at, (bag, entry) in enumerate(zip(part.ids, table, strict=True)):
                key = canonical_id(bag)
                place = place_of.setdefault(key, len(entries))
                if place == len(entries):
                    entries.append(entry)
                elif entries[place] != entry:
                    raise BagError(
                        f"bag {bag!r} is in two parts with different shares, sizes or weights: "
                        "give the bags different ids."
                    )
                places[at] = place
            index_parts.append(places[part.bag_index])
        table_columns = np.array(entries).reshape(-1, 4).T
        joined = cls(
            bag_index=np.concatenate(index_parts),
            ids=np.concatenate([part.ids for part in parts])[:0],
            positive_shares=table_columns[0],
            sizes=table_columns[1],
            weights=table_columns[2],
            label_values=np.concatenate([part.label_values for part in parts]),
            is_source=np.concatenate([part.is_source for part in parts]),
            row_weights=np.concatenate([part.row_weights for part in parts]),
            _row_numbers=np.concatenate([part._row_numbers for part in parts]),
            _rows_built=table_columns[3].astype(np.int64),
            **declared,
        )
        ids = {
            place: bag
            for part in parts
            for bag, place in ((bag, place_of[canonical_id(bag)]) for bag in part.ids)
        }
        return replace(
            joined,
            ids=np.fromiter((ids[i] for i in range(len(ids))), dtype=object, count=len(ids)),
        )

    def with_labels(self, labels: ArrayLike) -> Self:
        """Add known labels of rows that are in no bag.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            None or NaN where the label is unknown.

        Returns
        -------
        Bags
            Its labelled rows count as bags of one.
        """
        values = _as_labels(labels, "labels")
        if len(values) != len(self):
            raise BagError(f"labels has {len(values):,} entries but there are {len(self):,} rows.")
        known = np.array([value is not None for value in values], dtype=bool)
        taken = np.unique(self.bag_index[known & (self.bag_index >= 0)])
        if len(taken):
            raise BagError(
                f"labels are known for rows of bags {name_some(self.ids[taken])}, whose share "
                "already speaks about them: set the bag id of labelled rows to Bags.NO_BAG."
            )
        if (known & self.is_source).any():
            raise BagError("labels are given for source rows, which have labels already.")
        return replace(self, label_values=np.where(known, values, self.label_values))

    # The bag table ------------------------------------------------------------------------

    @property
    def n_bags(self) -> int:
        """Number of bags that have rows here."""
        return len(self.ids)

    @property
    def n_classes(self) -> int:
        """Number of classes; 2."""
        return 2

    @property
    def shares(self) -> FloatArray:
        """Shares of shape (n_bags, n_classes), columns negative and positive."""
        return np.column_stack([1.0 - self.positive_shares, self.positive_shares])

    @property
    def counts(self) -> FloatArray:
        """Counts of shape (n_bags, n_classes): shares times sizes."""
        positives = self.positive_shares * self.sizes
        whole = np.rint(positives)
        positives = np.where(np.abs(positives - whole) < 1e-9 * self.sizes, whole, positives)
        return np.column_stack([self.sizes - positives, positives])

    @property
    def rows_per_bag(self) -> IntArray:
        """Number of rows here of each bag, of shape (n_bags,)."""
        return _count_rows(self.bag_index, self.n_bags)

    @property
    def has_label(self) -> BoolArray:
        """Whether the row's label is known, of shape (n_rows,)."""
        return np.array([value is not None for value in self.label_values], dtype=bool)

    def rows_in_bags(self) -> IntArray:
        """Numbers of the rows that are in a bag."""
        return np.flatnonzero(self.bag_index >= 0)

    def target_rows(self) -> IntArray:
        """Numbers of the rows that are not source rows."""
        return np.flatnonzero(~self.is_source)

    def bag_means(self, values: ArrayLike) -> FloatArray:
        """Mean over each bag's rows.

        Parameters
        ----------
        values : array-like of shape (n_rows,) or (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_columns)

        Examples
        --------
        >>> bags = Bags.from_arrays(["a", "b", "a"], {"a": 0.5, "b": 1.0})
        >>> bags.bag_means([1.0, 2.0, 4.0])
        array([2.5, 2. ])
        """
        array = np.asarray(values)
        if array.shape[:1] != self.shape:
            raise BagError(
                f"values has shape {array.shape} but there are {len(self):,} rows of bags."
            )
        rows = self.rows_in_bags()
        order = rows[np.argsort(self.bag_index[rows], kind="stable")]
        starts = np.cumsum(self.rows_per_bag) - self.rows_per_bag
        if not len(starts):
            return np.zeros((0, *array.shape[1:]))
        sums = np.add.reduceat(array[order].astype(np.float64, copy=False), starts, axis=0)
        means: FloatArray = (sums.T / self.rows_per_bag).T
        return means

    def check_whole(self) -> None:
        """Refuse bags that were cut, whose share no longer speaks about the rows here.

        Raises
        ------
        BagError
            Naming the cut bags and BagKFold.
        """
        rows = self.rows_in_bags()
        pairs = np.column_stack([self.bag_index[rows], self._row_numbers[rows]])
        distinct = _count_rows(np.unique(pairs, axis=0)[:, 0], self.n_bags)
        cut = (self.rows_per_bag != self._rows_built) | (distinct != self._rows_built)
        if cut.any():
            raise BagError(
                f"bags {name_some(self.ids[cut])} were cut by slicing, so their shares no longer "
                "hold for the rows left: split with BagKFold or another splitter of "
                "bagshift.model_selection."
            )

    # A sequence of rows -------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.bag_index)

    @property
    def shape(self) -> tuple[int]:
        """Shape ``(n_rows,)``."""
        return (len(self),)

    def __getitem__(self, key: Any) -> Self:
        rows = np.arange(len(self))[_row_key(key)]
        if rows.ndim != 1:
            raise TypeError(
                "rows of Bags are taken by an array, a mask or a slice: write bags[[row]] for "
                "one row."
            )
        bag_index, kept = _renumber(self.bag_index[rows], self.n_bags)
        return replace(
            self,
            bag_index=bag_index,
            ids=self.ids[kept],
            positive_shares=self.positive_shares[kept],
            sizes=self.sizes[kept],
            weights=self.weights[kept],
            label_values=self.label_values[rows],
            is_source=self.is_source[rows],
            row_weights=self.row_weights[rows],
            _row_numbers=self._row_numbers[rows],
            _rows_built=self._rows_built[kept],
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            "Bags hold shares of groups, not one label per row, and cannot become an array: use "
            "estimators of bagshift, and cv=BagKFold(5) in place of a number of folds."
        )

    # Display ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Bags({', '.join(f'{name}={value}' for name, value in self._summary().items())})"

    def _summary(self) -> dict[str, str]:
        return {"rows": f"{len(self):,}", "bags": f"{self.n_bags:,}"}

    def _repr_html_(self) -> str:
        return html.escape(repr(self))


def _row_key(key: Any) -> Any:
    """The row part of an index such as ``bags[rows, ...]``."""
    if isinstance(key, tuple):
        parts = [part for part in key if part is not Ellipsis]
        if len(parts) > 1:
            raise IndexError("Bags have one axis, that of the rows.")
        key = parts[0] if parts else slice(None)
    if isinstance(key, slice) or key is Ellipsis:
        return key
    array = np.asarray(key)
    return array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array


def _renumber(bag_index: IntArray, n_bags: int) -> tuple[IntArray, IntArray]:
    """Number the bags by first appearance; return the new index and the bags kept."""
    rows = np.flatnonzero(bag_index >= 0)
    first = np.full(n_bags, len(bag_index), dtype=np.int64)
    first[bag_index[rows[::-1]]] = rows[::-1]
    order = np.argsort(first, kind="stable")
    kept = order[first[order] < len(bag_index)]
    new = np.full(n_bags + 1, -1, dtype=np.int64)  # the last one serves index -1
    new[kept] = np.arange(len(kept))
    return new[bag_index], kept


def _count_rows(bag_index: IntArray, n_bags: int) -> IntArray:
    return np.bincount(bag_index[bag_index >= 0], minlength=n_bags).astype(np.int64)


def _agreed(values: list[Any], name: str) -> Any:
    declared = [value for value in values if value is not None]
    if any(value != declared[0] for value in declared):
        raise BagError(f"the parts declare different {name} labels {name_some(declared)}.")
    return declared[0] if declared else None


def _blank_rows(n_rows: int) -> dict[str, Any]:
    return {
        "bag_index": np.full(n_rows, -1, dtype=np.int64),
        "label_values": np.full(n_rows, None, dtype=object),
        "is_source": np.zeros(n_rows, dtype=bool),
        "row_weights": np.ones(n_rows),
        "_row_numbers": np.arange(n_rows),
    }


def _no_bags() -> dict[str, Any]:
    return {
        "ids": np.empty(0, dtype=object),
        "positive_shares": np.empty(0),
        "sizes": np.empty(0),
        "weights": np.empty(0),
    }


def _as_labels(labels: Any, name: str) -> ObjectArray:
    """Labels as plain objects, None where missing."""
    if hasattr(labels, "to_list"):
        entries = labels.to_list()
    else:
        entries = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    missing = {entry for entry in set(entries) if is_blank(entry) and entry != ""}
    return np.fromiter(
        (None if entry in missing or entry != entry else entry for entry in entries),
        dtype=object,
        count=len(entries),
    )


def _check_row_weights(sample_weight: ArrayLike, n_rows: int) -> FloatArray:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise BagError(
            f"sample_weight has shape {weights.shape} but the source has {n_rows:,} rows."
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise BagError("sample_weight must hold finite numbers that are not negative.")
    return weights
