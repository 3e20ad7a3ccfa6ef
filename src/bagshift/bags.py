# SPDX-License-Identifier: BSD-3-Clause
"""The target that every estimator learns from: which bag a row is in, and the bags' shares."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from secrets import randbits
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from bagshift._bags.class_columns import read_declared_classes, two_columns
from bagshift._bags.data import BAG_FIELDS, ROW_FIELDS, BagData
from bagshift._bags.display import to_html, to_text
from bagshift._bags.indexing import by_first_appearance, count_rows, invert, look_up, row_numbers
from bagshift._bags.joining import join_tables
from bagshift._bags.labels import (
    is_known,
    read_class_labels,
    read_known_labels,
    read_labels,
)
from bagshift._bags.numbers import read_row_weights
from bagshift._bags.parts import agreed, list_parts, same_classes
from bagshift._bags.table import Dropped, read_bag_table
from bagshift.exceptions import BagError, name_bags, name_some


class _NoBag(enum.Enum):
    """The mark of a row in no bag; a member of an enumeration stays itself through pickle."""

    NO_BAG = enum.auto()

    def __repr__(self) -> str:
        return "Bags.NO_BAG"

    __str__ = __repr__


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bags(BagData):
    """Bags of target rows and the share of positives, or of every class, in each.

    One object is the whole target of a fit: it has as many rows as ``X``, and scikit-learn
    slices it as it slices ``X``. Build it with `from_arrays`, `unlabelled` or `concatenate`,
    not with the constructor. It never changes.

    Attributes
    ----------
    bag_index : ndarray of shape (n_rows,)
        Place of the row's bag in the bag table; -1 for a row in no bag.
    label_values : ndarray of shape (n_rows,)
        Known labels of rows, None where unknown.
    is_source : ndarray of shape (n_rows,)
        Whether the row belongs to the labelled source domain.
    row_weights : ndarray of shape (n_rows,)
        Weights of source rows; 1 elsewhere.
    ids : ndarray of shape (n_bags,)
        Ids of the bags that have rows here, in order of first appearance.
    shares : ndarray of shape (n_bags, n_classes)
        Share of every class in each bag, as published; two columns are negative and positive.
    classes : tuple or None
        Labels of more than two classes, in the order of the columns; None for two.
    positive_shares : ndarray of shape (n_bags,)
        Share of the positive class of two in each bag, as published.
    sizes : ndarray of shape (n_bags,)
        How many individuals each share speaks about: the declared size, else the number of rows
        the bag was built with.
    weights : ndarray of shape (n_bags,)
        Weight of each bag in a fit; 1 by default.
    noise : ndarray of shape (n_bags,)
        Noise law of each bag's number; None where it is exact.
    is_noisy : ndarray of shape (n_bags,)
        Whether something was added to the bag's number, so that its share may leave [0, 1].
    clipped_shares : ndarray of shape (n_bags,)
        `positive_shares`, clipped to [0, 1].
    positive, negative : object
        The declared labels; None where not declared.
    dropped : Dropped
        What ``on_unmatched="drop"`` left out when this object was built.
    counts : ndarray of shape (n_bags, n_classes)
        Shares times sizes.
    rows_per_bag : ndarray of shape (n_bags,)
        Number of rows here of each bag.
    has_label : ndarray of shape (n_rows,)
        Whether the row's label is known.
    n_bags, n_classes : int

    Notes
    -----
    Slicing keeps a bag's share and size even when it cuts the bag; `check_whole` then refuses,
    since the share of a whole need not hold for a part.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["north", "north", "south"], {"north": 0.5, "south": 1.0})
    >>> bags
    <Bags: 3 rows, 2 bags, sizes 1 to 2 (median 1.5), shares 0.5 to 1 (median 0.75)>
    >>> bags.shares
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> bags[[2, 0]].ids
    array(['south', 'north'], dtype=object)
    """

    NO_BAG: ClassVar[_NoBag] = _NoBag.NO_BAG

    # Building -----------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        bag_ids: Any,
        shares: Any = None,
        *,
        counts: Any = None,
        sizes: Any = None,
        weights: Any = None,
        noise: Any = None,
        positive: Any = None,
        negative: Any = None,
        classes: Any = None,
        other: Any = None,
        on_unmatched: str = "raise",
    ) -> Bags:
        """Build bags from the bag id of every row and a share or count for every bag.

        Parameters
        ----------
        bag_ids : array-like of shape (n_rows,)
            Any hashable ids. They match by equality: ``"1"`` is not ``1``, but ``1.0`` is.
            `Bags.NO_BAG` marks a row in no bag; a blank id (None, NaN, ``""``) is an error.
        shares : mapping, Series, frame or array-like
            Share of positives in [0, 1].

            * A mapping or pandas Series goes by bag id.
            * A frame has a column of ids (named as the Series `bag_ids`, or "bag" or "bag_id", or
              the index, or else the first column) and one column of shares, or one for every
              class, named so. A nameless index of whole numbers holds the ids where it has more of
              them than the first column.
            * An array, list or polars Series, or a pandas Series or frame with the index of
              `bag_ids`, has one number per row, constant within each bag.

            In place of a number there may be a pair ``[negative, positive]`` that sums to 1, one
            number for every class (bags x classes), or in a mapping another one, from class to
            number (0 if absent). Masked entries of NumPy arrays are missing, here and below.
        counts : mapping, Series, frame or array-like
            Whole numbers of positives, or of every class, in place of `shares` and in the same
            forms.
        sizes : mapping, Series, frame or array-like, optional
            How many individuals each share speaks about, when that is more than the rows here.
        weights : mapping, Series, frame or array-like, optional
            Positive weights of the bags.
        noise : law, or mapping or Series from bag id to law, optional
            How the published numbers came from the true ones: `LaplaceNoise`, `GeometricNoise`,
            `GaussianNoise` or `Rounding`; None for bags whose number is exact. Where noise was
            added, shares may lie outside [0, 1], and counts may be negative, above the size or
            (but for `GeometricNoise`) not whole; give them as published, never clipped.
        positive, negative : object, optional
            The label that the shares are shares of, and the other one; for two classes.
        classes : sequence of labels, optional
            Labels of all classes, in the order of nameless columns; of named ones those to take.
            Nameless ones of more than two classes are else 0, 1, 2, ... Two `classes` are the
            negative and the positive one.
        other : object, optional
            Label of one more class, such as "none", which has what the columns leave of 1, or of
            the size of the bag.
        on_unmatched : {"raise", "drop"}, default="raise"
            With "drop", bags without rows are left out, and rows whose bag has no share (or NaN)
            or whose id is blank become rows in no bag; `dropped` counts them.

        Returns
        -------
        Bags

        Raises
        ------
        BagError
            If ids, shares, counts, sizes or weights cannot be used; one sentence says why.

        Examples
        --------
        >>> bags = Bags.from_arrays([1, 1, 1, 2], counts={1: 2, 2: 30}, sizes={1: 3, 2: 100})
        >>> bags.positive_shares.round(2)
        array([0.67, 0.3 ])

        Votes for two parties, and the rest:

        >>> votes = {"north": {"left": 1, "right": 1}, "south": {"left": 1}}
        >>> ids = ["north"] * 4 + ["south"] * 2
        >>> bags = Bags.from_arrays(ids, counts=votes, other="none")
        >>> bags.classes
        ('left', 'right', 'none')
        >>> bags.shares
        array([[0.25, 0.25, 0.5 ],
               [0.5 , 0.  , 0.5 ]])
        """
        declared = read_declared_classes(positive, negative, classes, other)
        table = read_bag_table(
            bag_ids,
            shares,
            counts=counts,
            sizes=sizes,
            weights=weights,
            noise=noise,
            declared=declared,
            on_unmatched=on_unmatched,
            no_bag=cls.NO_BAG,
        )
        return replace(
            cls.unlabelled(len(table.bag_index), positive=table.positive, negative=table.negative),
            bag_index=table.bag_index,
            ids=table.ids,
            shares=table.shares,
            classes=table.classes,
            sizes=table.sizes,
            weights=table.weights,
            noise=table.noise,
            dropped=table.dropped,
            _rows_built=count_rows(table.bag_index, len(table.ids)),
            _origins=np.full(len(table.ids), randbits(63), dtype=np.int64),
        )

    @classmethod
    def unlabelled(cls, n_rows: int, *, positive: Any = None, negative: Any = None) -> Bags:
        """Build rows in no bag.

        Parameters
        ----------
        n_rows : int
        positive, negative : object, optional
            Labels of the two classes.

        Returns
        -------
        Bags

        Examples
        --------
        >>> Bags.unlabelled(3)
        <Bags: 3 rows, 0 bags, rows in no bag 3>
        """
        if not isinstance(n_rows, Integral) or isinstance(n_rows, bool) or n_rows < 0:
            raise BagError(f"n_rows must be a whole number that is not negative, not {n_rows!r}.")
        positive, negative = read_class_labels(positive, negative)
        return cls(
            bag_index=np.full(n_rows, -1, dtype=np.int64),
            label_values=np.full(n_rows, None, dtype=object),
            is_source=np.zeros(n_rows, dtype=bool),
            row_weights=np.ones(n_rows),
            ids=np.empty(0, dtype=object),
            shares=np.empty((0, 2)),
            sizes=np.empty(0),
            weights=np.empty(0),
            noise=np.empty(0, dtype=object),
            positive=positive,
            negative=negative,
            _row_numbers=np.arange(n_rows, dtype=np.int64),
            _rows_built=np.empty(0, dtype=np.int64),
            _origins=np.empty(0, dtype=np.int64),
        )

    @classmethod
    def for_source(cls, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> Bags:
        """Build labelled rows of the source domain.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            One label per row.
        sample_weight : array-like of shape (n_rows,), optional
            Finite weights that are not negative.

        Returns
        -------
        Bags

        Raises
        ------
        BagError
            If labels are missing, or the weights cannot be used.
        """
        values = read_known_labels(labels, "the source labels")
        n_rows = len(values)
        weights = (
            np.ones(n_rows)
            if sample_weight is None
            else read_row_weights(sample_weight, "sample_weight", n_rows)
        )
        return replace(
            cls.unlabelled(n_rows),
            label_values=values,
            is_source=np.ones(n_rows, dtype=bool),
            row_weights=weights,
        )

    @staticmethod
    def concatenate(parts: Iterable[Bags]) -> Bags:
        """Put rows below one another.

        Parameters
        ----------
        parts : iterable of Bags
            A bag in two parts is joined when both were sliced from one object: it was built
            there, its share, size, weight and noise law agree, and no more rows come together
            than it was built with.

        Returns
        -------
        Bags

        Raises
        ------
        BagError
            If an id stands for different bags in two parts, or the declared labels do not fit
            together.

        Examples
        --------
        >>> bags = Bags.from_arrays(["a", "a", "b"], {"a": 0.5, "b": 1.0})
        >>> Bags.concatenate([bags[:1], bags[1:]]).bag_index
        array([0, 0, 1])
        """
        joined = same_classes(list_parts(parts))
        stacked: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in joined])
            for name in (*ROW_FIELDS, *BAG_FIELDS)
        }
        table = join_tables(
            [part.bag_index for part in joined],
            [part.ids for part in joined],
            [stacked[name] for name in ("shares", "sizes", "weights", "noise")],
            stacked["_rows_built"],
            stacked["_origins"],
        )
        stacked |= {name: stacked[name][table.entries] for name in BAG_FIELDS}
        stacked["bag_index"] = table.bag_index
        positive, negative = read_class_labels(
            agreed(joined, "positive"), agreed(joined, "negative")
        )
        return Bags(**stacked, positive=positive, negative=negative, classes=joined[0].classes)

    def with_labels(self, labels: ArrayLike) -> Bags:
        """Add known labels of rows that are in no bag.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Blank (None, NaN, ``""``) where the label is unknown.

        Returns
        -------
        Bags
            In a fit each labelled row has the loss of its label, hinge or logistic, at the
            cost of a bag.

        Raises
        ------
        BagError
            If a row in a bag or a source row is given a label.

        Examples
        --------
        >>> bags = Bags.from_arrays(["a", "a", Bags.NO_BAG], {"a": 0.5})
        >>> bags.with_labels([None, None, 1]).has_label
        array([False, False,  True])
        """
        values = read_labels(labels, "labels")
        if len(values) != len(self):
            raise BagError(f"labels has {len(values):,} entries but there are {len(self):,} rows.")
        known = is_known(values)
        if (known & self.is_source).any():
            raise BagError("labels must be unknown in source rows, which have labels already.")
        taken = np.unique(self.bag_index[known & (self.bag_index >= 0)])
        if len(taken):
            raise BagError(
                f"labels are known in rows of {name_bags(self.ids[taken])}, whose shares "
                "already speak about these rows: give labelled rows the bag id Bags.NO_BAG."
            )
        return replace(self, label_values=np.where(known, values, self.label_values))

    def against_rest(self, label: Any) -> Bags:
        """Take the shares of one class, against those of all others together.

        Parameters
        ----------
        label : object
            One of the `classes`, or of two a declared one.

        Returns
        -------
        Bags
            Of two classes, called True and False; known labels are turned into these too.

        Raises
        ------
        BagError
            If the label is none of the classes.

        Examples
        --------
        >>> bags = Bags.from_arrays(["a", "b"], {"a": [0, 0.5, 0.5], "b": [1, 0, 0]})
        >>> bags.against_rest(2).positive_shares
        array([0.5, 0. ])
        """
        labels = self.classes or (self.negative, self.positive)
        if label is None or label not in labels:
            raise BagError(f"{label!r} is none of the classes {name_some(labels)}.")
        known = self.has_label
        values = np.full(len(self), None, dtype=object)
        values[known] = self.label_values[known] == label
        return replace(
            self,
            shares=two_columns(self.shares[:, labels.index(label)]),
            label_values=values,
            classes=None,
            positive=True,
            negative=False,
        )

    # Rows ---------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Bags:
        rows = row_numbers(key, len(self))
        kept = by_first_appearance(self.bag_index[rows], self.n_bags)
        part = {name: getattr(self, name)[rows] for name in ROW_FIELDS}
        part |= {name: getattr(self, name)[kept] for name in BAG_FIELDS}
        part["bag_index"] = look_up(invert(kept, self.n_bags), part["bag_index"])
        return replace(self, **part, dropped=Dropped())

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            "Bags are no array of labels, since they hold shares of groups: use cv=BagKFold(5) "
            "in place of a number of folds or of stratify=, bag_cross_val_predict in place of "
            "cross_val_predict, scoring=neg_share_error or another scorer of "
            "bagshift.model_selection, and estimators that learn from bags."
        )

    # Display ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)
