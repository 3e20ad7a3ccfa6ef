# SPDX-License-Identifier: BSD-3-Clause
"""What bags hold for every row and every bag, and what follows from it."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift._bags.indexing import count_distinct_rows, count_rows, group_means
from bagshift._bags.labels import is_known
from bagshift._bags.noise_column import is_additive
from bagshift._bags.table import Dropped
from bagshift.exceptions import BagError, name_bags

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[np.object_]

ROW_FIELDS = ("bag_index", "label_values", "is_source", "row_weights", "_row_numbers")
BAG_FIELDS = ("ids", "shares", "sizes", "weights", "noise", "_rows_built", "_origins")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BagData:
    """Rows, bags and which row is in which bag; `bagshift.Bags` documents the attributes."""

    bag_index: IntArray
    label_values: ObjectArray
    is_source: BoolArray
    row_weights: FloatArray
    ids: ObjectArray
    shares: FloatArray
    sizes: FloatArray
    weights: FloatArray
    noise: ObjectArray
    positive: Any = None
    negative: Any = None
    classes: tuple[Any, ...] | None = None
    dropped: Dropped = field(default_factory=Dropped)
    # Which row a row was when its bag was built, how many rows the bag had then, and a random
    # mark that bags built together share:
    _row_numbers: IntArray
    _rows_built: IntArray
    _origins: IntArray

    ndim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in (*ROW_FIELDS, *BAG_FIELDS):
            values = getattr(self, name).view()
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickle and deepcopy lose the mark that arrays are read-only

    # Rows ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.bag_index)

    @property
    def shape(self) -> tuple[int]:
        """Shape ``(n_rows,)``, as of an array of labels."""
        return (len(self),)

    @property
    def has_label(self) -> BoolArray:
        """Whether the row's label is known, of shape (n_rows,)."""
        return is_known(self.label_values)

    def rows_in_bags(self) -> IntArray:
        """Return the numbers of the rows that are in a bag."""
        return np.flatnonzero(self.bag_index >= 0)

    def target_rows(self) -> IntArray:
        """Return the numbers of the rows that are not source rows."""
        return np.flatnonzero(~self.is_source)

    # Bags ---------------------------------------------------------------------------------

    @property
    def n_bags(self) -> int:
        """Number of bags that have rows here."""
        return len(self.ids)

    @property
    def n_classes(self) -> int:
        """Number of classes that shares are given of."""
        return int(self.shares.shape[1])

    @property
    def positive_shares(self) -> FloatArray:
        """Share of the positive class in each bag, of shape (n_bags,).

        Raises
        ------
        BagError
            When there are more than two classes.
        """
        if self.n_classes > 2:
            raise BagError(
                f"there are {self.n_classes} classes and none of them is the positive one: take "
                "the shares of one class against the others with Bags.against_rest(label)."
            )
        return np.asarray(self.shares[:, 1])

    @property
    def is_noisy(self) -> BoolArray:
        """Whether something was added to the bag's number, of shape (n_bags,).

        Such a share may lie outside [0, 1].
        """
        return is_additive(self.noise)

    @property
    def clipped_shares(self) -> FloatArray:
        """The published shares of positives, noisy ones clipped to [0, 1]; shape (n_bags,)."""
        return np.clip(self.positive_shares, 0.0, 1.0)

    @property
    def counts(self) -> FloatArray:
        """Counts of shape (n_bags, n_classes), shares times sizes."""
        counts = self.shares * self.sizes[:, None]
        whole = np.rint(counts)
        is_whole = np.abs(counts - whole) <= 1e-12 * self.sizes[:, None]  # but for rounding
        counts = np.where(is_whole, whole, counts)
        if self.n_classes == 2:
            counts[:, 0] = self.sizes - counts[:, 1]
        return counts

    @property
    def rows_per_bag(self) -> IntArray:
        """Number of rows here of each bag, of shape (n_bags,)."""
        return count_rows(self.bag_index, self.n_bags)

    def bag_means(self, values: ArrayLike) -> FloatArray:
        """Average over the rows of each bag.

        Parameters
        ----------
        values : array-like of shape (n_rows,) or (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_columns)

        Examples
        --------
        >>> from bagshift import Bags
        >>> bags = Bags.from_arrays(["a", "b", "a"], {"a": 0.5, "b": 1.0})
        >>> bags.bag_means([1.0, 2.0, 4.0])
        array([2.5, 2. ])
        """
        array = np.asanyarray(values)
        if np.ma.is_masked(array):
            raise BagError("values are missing (masked) in some rows: fill them in.")
        array = np.asarray(array)
        if array.ndim not in (1, 2) or len(array) != len(self):
            raise BagError(
                f"values must have {len(self):,} rows, one per row of the bags, but have shape "
                f"{array.shape}."
            )
        return group_means(array, self.bag_index, self.n_bags)

    def check_whole(self) -> None:
        """Refuse bags that slicing has cut: their share need not hold for the rows left.

        Raises
        ------
        BagError
            Naming the bags and the splitters that keep bags whole.
        """
        distinct = count_distinct_rows(self.bag_index, self._row_numbers, self.n_bags)
        cut = (self.rows_per_bag != self._rows_built) | (distinct != self._rows_built)
        if cut.any():
            raise BagError(
                f"slicing has cut {name_bags(self.ids[cut])}, whose share need not hold for the "
                "rows left: split with BagKFold or another splitter of bagshift.model_selection, "
                "which keep bags whole."
            )
