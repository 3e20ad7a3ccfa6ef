# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validators that hold out whole bags.

A row says nothing about its label by itself; only a bag does, through its share. A split that
cuts a bag would therefore put the same share on both sides, and a model would be tested on what
it was told. The splitters below hold out whole bags, and nothing but bags: source rows, rows in
no bag and rows with a known label stay in every training set.

Bags are numbered by first appearance of their rows, never by their ids, so renaming the bags
changes no split.
"""

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit, ShuffleSplit
from sklearn.utils import check_random_state

from bagshift.bags import Bags
from bagshift.exceptions import BagError, warn_caller

Rows = NDArray[np.int64]
RandomState = int | np.random.RandomState | None


class _BagCrossValidator(BaseCrossValidator):
    """Turns sets of held-out bags into sets of held-out rows."""

    def split(
        self, X: Any, y: Bags | None = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield the row indices of each training set and of the bags held out from it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Only its number of rows is used.
        y : Bags of length n_rows
            The bag of every row.
        groups : object, default=None
            Ignored; `y` already holds the bags.

        Yields
        ------
        train : ndarray of shape (n_train,), int
            Rows of the other bags, and every row in no bag (source, labelled, unlabelled).
        test : ndarray of shape (n_test,), int
            Rows of the held-out bags.

        Raises
        ------
        TypeError
            If `y` is not a :class:`~bagshift.Bags`.
        BagError
            If there are too few bags.
        """
        _warn_about_groups(self, groups)
        yield from super().split(X, _require_bags(self, y))

    def _iter_test_masks(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[NDArray[np.bool_]]:
        for test_bags in self._iter_test_bags(y.n_bags):
            yield _rows_of_bags(y, test_bags)

    def _iter_test_bags(self, n_bags: int) -> Iterator[Rows]:
        raise NotImplementedError


class BagKFold(_BagCrossValidator):
    """K-fold cross-validation over whole bags.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of bags.
    shuffle : bool, default=False
        Shuffle the bags before they are cut into folds; otherwise a fold is a run of bags in
        their order of appearance.
    random_state : int, RandomState instance or None, default=None
        Order of the bags when `shuffle` is True.

    See Also
    --------
    RepeatedBagKFold : The same with several shuffles.
    LeaveOneBagOut : One fold per bag.

    Notes
    -----
    Folds hold equal numbers of bags (the first ones hold one more when they do not divide), not
    of rows. Source rows, rows in no bag and labelled rows are in every training set.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags
    >>> from bagshift.model_selection import BagKFold
    >>> bags = Bags.from_arrays(["a", "a", "b", "b", "c"], {"a": 0.5, "b": 1.0, "c": 0.0})
    >>> for train, test in BagKFold(3).split(np.zeros((5, 1)), bags):
    ...     print(train, test)
    [2 3 4] [0 1]
    [0 1 4] [2 3]
    [0 1 2 3] [4]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: RandomState = None
    ) -> None:
        self.n_splits = _check_count("n_splits", n_splits, at_least=2)
        if not isinstance(shuffle, bool):
            raise TypeError(f"shuffle must be True or False; got {shuffle!r}")
        if not shuffle and random_state is not None:
            raise ValueError(
                "random_state has no effect while shuffle is False; set shuffle=True or leave "
                "random_state out."
            )
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits

    def _iter_test_bags(self, n_bags: int) -> Iterator[Rows]:
        _require_enough_bags(self, n_bags, self.n_splits)
        order = np.arange(n_bags)
        if self.shuffle:
            check_random_state(self.random_state).shuffle(order)
        yield from np.array_split(order, self.n_splits)


class RepeatedBagKFold(_BagCrossValidator):
    """K-fold cross-validation over whole bags, repeated with another shuffle each time.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of bags.
    n_repeats : int, default=10
        Number of shuffles.
    random_state : int, RandomState instance or None, default=None
        Order of the bags in every repeat.

    See Also
    --------
    BagKFold : One pass over the bags.

    Examples
    --------
    >>> from bagshift.model_selection import RepeatedBagKFold
    >>> RepeatedBagKFold(n_splits=5, n_repeats=3).get_n_splits()
    15
    """

    def __init__(
        self, n_splits: int = 5, n_repeats: int = 10, random_state: RandomState = None
    ) -> None:
        self.n_splits = _check_count("n_splits", n_splits, at_least=2)
        self.n_repeats = _check_count("n_repeats", n_repeats, at_least=1)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds in all repeats.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits * self.n_repeats

    def _iter_test_bags(self, n_bags: int) -> Iterator[Rows]:
        _require_enough_bags(self, n_bags, self.n_splits)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_repeats):
            yield from np.array_split(rng.permutation(n_bags), self.n_splits)


class LeaveOneBagOut(_BagCrossValidator):
    """Cross-validation with one fold per bag.

    See Also
    --------
    BagKFold : Fewer folds than bags.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags
    >>> from bagshift.model_selection import LeaveOneBagOut
    >>> bags = Bags.from_arrays(["a", "a", "b", "c"], {"a": 0.5, "b": 1.0, "c": 0.0})
    >>> LeaveOneBagOut().get_n_splits(np.zeros((4, 1)), bags)
    3
    """

    def get_n_splits(self, X: Any = None, y: Bags | None = None, groups: Any = None) -> int:
        """Return the number of bags.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : Bags
            The bags to be left out one at a time.
        groups : object, default=None
            Ignored.

        Returns
        -------
        int

        Raises
        ------
        TypeError
            If `y` is not a :class:`~bagshift.Bags`.
        """
        return _require_bags(self, y).n_bags

    def _iter_test_bags(self, n_bags: int) -> Iterator[Rows]:
        _require_enough_bags(self, n_bags, 2)
        for bag in range(n_bags):
            yield np.array([bag])


class BagShuffleSplit(BaseShuffleSplit):
    """Random splits of the bags into training bags and test bags.

    Parameters
    ----------
    n_splits : int, default=10
        Number of random splits.
    test_size : float or int, default=None
        Part of the bags (float) or number of bags (int) held out; 0.1 when neither size is given.
    train_size : float or int, default=None
        Part or number of the bags trained on; all that are not held out when None. With both
        sizes given some bags may be in neither set.
    random_state : int, RandomState instance or None, default=None
        Choice of the bags.

    See Also
    --------
    BagKFold : Every bag held out exactly once.

    Notes
    -----
    Source rows, rows in no bag and labelled rows are in every training set.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags
    >>> from bagshift.model_selection import BagShuffleSplit
    >>> bags = Bags.from_arrays([1, 1, 2, 2, 3, 3, 4, 4], {1: 0.5, 2: 0.5, 3: 0.0, 4: 1.0})
    >>> splitter = BagShuffleSplit(2, test_size=1, random_state=0)
    >>> [len(test) for _, test in splitter.split(np.zeros((8, 1)), bags)]
    [2, 2]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | int | None = None,
        train_size: float | int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            _check_count("n_splits", n_splits, at_least=1),
            test_size=test_size,
            train_size=train_size,
            random_state=random_state,
        )

    def split(
        self, X: Any, y: Bags | None = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield the row indices of each training set and of the bags held out from it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Only its number of rows is used.
        y : Bags of length n_rows
            The bag of every row.
        groups : object, default=None
            Ignored; `y` already holds the bags.

        Yields
        ------
        train : ndarray of shape (n_train,), int
            Rows of the training bags, and every row in no bag.
        test : ndarray of shape (n_test,), int
            Rows of the held-out bags.

        Raises
        ------
        TypeError
            If `y` is not a :class:`~bagshift.Bags`.
        BagError
            If there are fewer than two bags.
        """
        _warn_about_groups(self, groups)
        yield from super().split(X, _require_bags(self, y))

    def _iter_indices(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        _require_enough_bags(self, y.n_bags, 2)
        over_bags = ShuffleSplit(
            self.n_splits,
            test_size=self.test_size,
            train_size=self.train_size,
            random_state=self.random_state,
        )
        in_no_bag = y.bag_index < 0
        for train_bags, test_bags in over_bags.split(np.empty(y.n_bags)):
            in_training = in_no_bag | _rows_of_bags(y, train_bags)
            yield np.flatnonzero(in_training), np.flatnonzero(_rows_of_bags(y, test_bags))


def _rows_of_bags(bags: Bags, positions: Rows) -> NDArray[np.bool_]:
    # One place more than there are bags: rows in no bag carry -1 and so read the last place.
    chosen = np.zeros(bags.n_bags + 1, dtype=bool)
    chosen[positions] = True
    rows: NDArray[np.bool_] = chosen[bags.bag_index]
    return rows


def _require_bags(splitter: object, y: Any) -> Bags:
    if not isinstance(y, Bags):
        raise TypeError(
            f"{type(splitter).__name__} holds out whole bags and needs y to be a Bags, got "
            f"{type(y).__name__}; make one with Bags.from_arrays."
        )
    return y


def _require_enough_bags(splitter: object, n_bags: int, needed: int) -> None:
    if n_bags < needed:
        raise BagError(
            f"{splitter!r} needs at least {needed} bags in y but there are {n_bags}; use fewer "
            "folds or more bags."
        )


def _check_count(name: str, value: Any, at_least: int) -> int:
    if not isinstance(value, numbers.Integral) or int(value) < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}; got {value!r}.")
    return int(value)


def _warn_about_groups(splitter: object, groups: Any) -> None:
    if groups is not None:
        warn_caller(
            f"groups is ignored by {type(splitter).__name__}: y already holds the bags.",
            UserWarning,
        )
