# SPDX-License-Identifier: BSD-3-Clause
"""Machines that choose their parameters by themselves, on held-out bags.

A subclass names its machine and lists the parameters that are not searched; see
:mod:`bagshift.model_selection.tgplm_cv`.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bagshift.bags import Bags
from bagshift.estimators._base import BagClassifier, BagTags, ClassifierTags, validate_rows
from bagshift.exceptions import BagError
from bagshift.model_selection._progress_bar import resolve_progress
from bagshift.model_selection._search_result import SearchResult
from bagshift.model_selection.path_search import path_search

Floats = NDArray[np.float64]

# Parameters that a grid varies; a search has none of them itself, except gamma.
_SEARCHED = ("C", "C_source", "C_target", "coupling")


def search_constraints(
    machine_class: type[Any], *, without: tuple[str, ...] = ()
) -> dict[str, list[Any]]:
    """Return what the parameters of a search over a machine may be.

    Parameters
    ----------
    machine_class : type
        The machine; its own constraints hold for the parameters that are not searched.
    without : tuple of str, default=()
        Parameters of the machine that the search does not have.

    Returns
    -------
    dict of str to list
    """
    of_machine = {
        name: allowed
        for name, allowed in machine_class._parameter_constraints.items()
        if name not in (*_SEARCHED, *without)
    }
    return {
        **of_machine,
        "gamma": [*of_machine["gamma"], StrOptions({"auto"})],
        "grid": "no_validation",
        "cv": "no_validation",
        "one_standard_error": ["boolean"],
        "max_rows": [Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "progress": [callable, StrOptions({"bar"}), None],
    }


def _machine_has(method: str) -> Callable[[Any], bool]:
    return lambda search: hasattr(search._machine_class, method)


class BagSearchCV(BagClassifier):
    """Classifier that searches the parameters of one machine by :func:`path_search`.

    Subclasses set ``_machine_class`` and, in their constructor, the parameters that the machine
    and the search take.
    """

    _machine_class: ClassVar[type[Any]]

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose parameters by the numbers of held-out bags, and train on everything.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows, at least two. Where there is no bag to hold out, as with plain
            labels, the machine is trained with its default parameters.
        source : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row, with plain labels only.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        BagError
            When there is one bag only, or one was cut.
        KernelMemoryError
            When the kernel matrix, or the features of a map, and the copies of running folds
            would not fit into memory.
        ValueError
            When the arguments do not fit together.
        """
        self._check_parameters()
        machine = self._machine()
        if isinstance(y, Bags) and y.n_bags and sample_weight is None:
            found = self._search(machine, X, y, source)
            self._store(found.best_estimator)
            self._store_search(found)
        else:
            self._store(machine.fit(X, y, source=source, sample_weight=sample_weight))
            self.best_params_ = {
                name: getattr(machine, name)
                for name in (*_SEARCHED, "gamma")
                if hasattr(machine, name)
            }
            self.n_splits_ = 0
        return self

    def _machine(self) -> Any:
        """Return the machine with the parameters that it shares with this search."""
        machine = self._machine_class()
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in machine.get_params(deep=False) if name in own}
        if self.gamma == "auto":
            del shared["gamma"]
        return machine.set_params(**shared)

    def _search(self, machine: Any, X: Any, bags: Bags, source: Any) -> SearchResult:
        if bags.n_bags < 2:
            raise BagError(
                f"{type(self).__name__} holds out bags and needs at least 2; there is 1. Train "
                f"{type(machine).__name__} with parameters of your choice instead."
            )
        return path_search(
            machine,
            X,
            bags,
            source=source,
            grid=self.grid,
            fixed=() if self.gamma == "auto" else ("gamma",),
            cv=self.cv,
            one_standard_error=self.one_standard_error,
            max_rows=self.max_rows,
            random_state=self.random_state,
            progress=resolve_progress(self.progress, type(self).__name__),
            n_jobs=self.n_jobs,
        )

    def _store(self, machine: Any) -> None:
        """Take over the attributes of the fitted machine, and forget those of an earlier fit."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        for name, value in vars(machine).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        self.best_estimator_ = machine
        for name in _SEARCHED:
            if hasattr(machine, name):
                setattr(self, f"{name}_", getattr(machine, name))
        if machine.kernel_.name in ("rbf", "poly"):
            self.gamma_ = float(machine.kernel_.gamma)

    def _store_search(self, found: SearchResult) -> None:
        self.best_params_ = found.best_params
        self.best_score_ = found.best_score
        self.best_index_ = found.best_index
        self.cv_results_ = found.cv_results
        self.n_splits_ = found.n_splits
        self.search_report_ = found.report

    def _scores(self, X: Any) -> Floats:
        return np.asarray(self.best_estimator_._scores(X))

    @available_if(_machine_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for every row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``; the larger one is the predicted class.
        """
        return np.asarray(self._ask("predict_proba", X))

    @available_if(_machine_has("source_decision_function"))  # type: ignore[untyped-decorator]
    def source_decision_function(self, X: Any) -> Floats:
        """Return the score of the source machine for every row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows of the source domain.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            When the machine was fitted without a source.
        """
        return np.asarray(self._ask("source_decision_function", X))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return what ``score`` of the machine returns: accuracy on labels, its own on bags.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.
        y : labels of shape (n_rows,) or Bags
            True labels, or bags with known shares.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, with labels only.

        Returns
        -------
        float
            Greater is better.
        """
        return float(self._ask("score", X, y, sample_weight=sample_weight))

    def _ask(self, method: str, X: Any, *others: Any, **named: Any) -> Any:
        """Call a method of the machine, after a check of the rows in the name of this class."""
        check_is_fitted(self)
        validate_rows(self, X, reset=False)
        return getattr(self.best_estimator_, method)(X, *others, **named)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # A function that shows progress belongs to the session at hand, not into a file.
        return {**state, "progress": None} if callable(self.progress) else state

    def _bag_tags(self) -> BagTags:
        tags: BagTags = self._machine_class()._bag_tags()
        return tags

    def __sklearn_tags__(self) -> ClassifierTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
