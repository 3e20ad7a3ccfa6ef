# SPDX-License-Identifier: BSD-3-Clause
r"""The transductive support vector machine, which guesses the labels of the target rows.

From labelled rows :math:`x_i` (of the source, and of the target where known) and unlabelled
target rows :math:`z_j`, of which a number is to be positive [1]_:

.. math::

    \min_{\hat y}\ \min_{w, b}\ \tfrac12\|w\|^2 + C_h\sum_i \omega_i\,[1 - y_i f(x_i)]_+
    + C_c\sum_j [1 - \hat y_j f(z_j)]_+,
    \qquad \#\{j : \hat y_j = 1\} = m .

The number :math:`m` is the number of rows times the share of positives among the labelled rows,
or the share of the target where it is known. The problem is not convex; it is solved as in [1]_:

1. a machine is trained on the labelled rows, and the :math:`m` highest scores become positive;
2. the unlabelled rows enter with small costs, :math:`C_- = 10^{-5}C_c` for negative and
   :math:`C_+ = C_-\,m / (N - m)` for positive ones;
3. while there are a positive row and a negative row within the margin whose slacks together
   exceed 2, their labels are exchanged and the machine is trained anew: every exchange lowers the
   objective;
4. both costs are doubled, up to :math:`C_c`, and 3 is repeated until they are there.

In 3 the pair with the largest slacks is exchanged. Exchanges add up as long as the machine stays,
so all such pairs can be exchanged before it is trained anew, and this library does so; where
the objective then does not fall, half as many are.

References
----------
.. [1] T. Joachims, Transductive inference for text classification using support vector machines,
   ICML 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._hidden_labels import every_row_a_unit
from bagshift.estimators._label_switching import (
    Rest,
    label_highest,
    pairs_to_exchange,
    rising_costs,
)
from bagshift.estimators._retraining import TrainedMachine, Trainer, rough_copy
from bagshift.estimators._training import TrainingData
from bagshift.exceptions import BagWarning, warn_caller
from bagshift.kernels import Kernel
from bagshift.solvers import CoupledResult

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Shares of the source and of the bags that differ by more are not the same share by chance.
_LARGEST_GAP = 0.1


@dataclass(frozen=True, eq=False)
class _SwitchedResult(CoupledResult):
    """Solution for the last labels.

    Attributes
    ----------
    history : tuple of float
        Objective at the last cost after the first training and after every exchange.
    n_swaps : int
        Pairs of labels exchanged, at all costs.
    settled : bool
        Whether no exchange was left.
    """

    history: tuple[float, ...]
    n_swaps: int
    settled: bool


@dataclass(frozen=True, kw_only=True)
class _TransductiveData(TrainingData):
    """Training data with one target unit per row; labels that are not known are 0.

    Attributes
    ----------
    share : float
        Share of ``classes[1]`` that the unlabelled rows are given.
    """

    share: float

    @classmethod
    def of(cls, given: TrainingData, share: float) -> Self:
        """Return training data with a row where there was a bag."""
        data = every_row_a_unit(given)
        return cls(**data.entries(), share=share)

    @property
    def n_unlabelled(self) -> int:
        """Number of rows whose label is a guess."""
        return int(np.sum(self.labelled_signs == 0))

    @property
    def n_second(self) -> int:
        """Number of these that are to be of ``classes[1]``: at least one of each class."""
        n_rows = self.n_unlabelled
        return min(max(round(self.share * n_rows), 1), max(n_rows - 1, 1))


class TSVM(CoupledMachine):
    r"""Transductive support vector machine: labels of target rows by switching.

    The problem solved stands in the module :mod:`bagshift.estimators.tsvm`. Bags are not needed;
    all target rows without a label take part, in bags or not.

    Parameters
    ----------
    C_source : float, default=1.0
        Cost of a unit of slack of a labelled row, of the source or the target; multiplies a sum
        over rows.
    C_target : float, default=1.0
        Cost of a unit of slack of an unlabelled target row. With 0 it is the support vector
        machine on the labelled rows.
    fraction : {"source", "target"}, default="source"
        Share of positives that the unlabelled rows are given: that among the labelled rows, by
        their weights, as in the original; or that of the target in all, from the shares of its
        bags, which the original does not know.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between rows. "precomputed" takes rows of the kernel matrix of all training rows,
        source rows first.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly": 1 / (n_features * X.var()) of all rows, 1 over the
        squared mean norm of the source rows (of target rows without a source), or the number
        given.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    max_swaps : int or None, default=None
        Most pairs of labels that are exchanged between two trainings; None is all that exceed
        the bound, 1 the original.
    max_rounds : int, default=1000
        Largest number of trainings at each cost.
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations in every training; -1 is none.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    intercept_ : ndarray of shape (1,)
        Bias.
    intercept_interval_ : tuple of float
        All biases that are optimal with the weights found, up to `tol`.
    coef_ : ndarray of shape (1, n_features)
        Weights, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision function is expanded on, with other kernels.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    n_positive_ : int
        Number of unlabelled rows that were given the positive class.
    n_swaps_ : int
        Pairs of labels exchanged, at all costs.
    objective_history_ : ndarray of shape (n_rounds,)
        Value of the problem at the full cost: for the labels that the last smaller cost left, and
        after every exchange.
    objective_ : float
        The last of these.
    n_iter_ : int
        Iterations of the solver in all trainings.
    dual_gap_ : float
        Primal minus dual value for the last labels.
    converged_ : bool
        Whether the solver reached ``tol`` and no exchange was left.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    Warns
    -----
    BagWarning
        In ``fit`` with ``fraction="source"``, when the overall share of the bags given is more
        than 0.1 away from that of the labelled rows. The machine is the same with other bags.

    See Also
    --------
    ProportionSVM : Guesses labels under the share of every bag instead of one share in all.
    TGPLMPlus : Does so and lets the machine of the target differ from that of the source.
    SourceSVM : The machine that it begins with.

    Notes
    -----
    The share of positives is taken as a fact. Where it differs between the domains,
    ``fraction="source"`` forces the wrong number of rows over the margin and can be far worse than
    no guesses at all.

    It predicts new rows like any machine; their scores need not have the share of the training
    rows. Scores of a hinge loss are no logits, so it offers no probabilities.

    References
    ----------
    T. Joachims, Transductive inference for text classification using support vector machines,
    ICML 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import TSVM
    >>> history = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
    >>> X = np.array([[-1.0, 1.0], [-0.6, 2.0], [-0.1, 3.0], [0.8, 1.0], [0.5, 2.0], [0.9, 3.0]])
    >>> TSVM(kernel="linear", C_target=10).fit(X, None, source=history).predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="neither")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "fraction": [StrOptions({"source", "target"})],
        "max_swaps": [None, Interval(Integral, 1, None, closed="left")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }
    _is_one_program: ClassVar[bool] = False

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 1.0,
        *,
        fraction: str = "source",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_swaps: int | None = None,
        max_rounds: int = 1000,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.fraction = fraction
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_swaps = max_swaps
        self.max_rounds = max_rounds
        self.tol = tol
        self.max_iter = max_iter

    def _select(self, data: TrainingData) -> _TransductiveData:
        if not data.knows_both_classes:
            raise ValueError(
                "TSVM needs labelled rows of both classes beside the unlabelled ones; give "
                "labelled history as source=(X, y), or known labels by Bags.with_labels."
            )
        if self.fraction == "source" or len(data.labelled_rows) == len(data.bags):
            signs = np.concatenate([data.source_signs, data.labelled_signs])
            weight = np.concatenate([data.source_weight, data.labelled_weight])
            share = float(np.average(signs > 0, weights=weight))
            if data.bags.n_bags and self.C_target > 0:
                _warn_if_shares_differ(share, _overall_share(data), data.is_flipped)
            return _TransductiveData.of(data, share)
        if not data.bags.n_bags:
            raise ValueError('fraction="target" needs bags with shares; y holds none.')
        return _TransductiveData.of(data, _overall_share(data))

    def _solve(self, data: Any, gram: NDArray[Any]) -> _SwitchedResult:
        known = np.concatenate([data.source_signs, data.labelled_signs])
        weight = np.concatenate([data.source_weight, data.labelled_weight])
        guessed = np.flatnonzero(known == 0)
        has_guesses = len(guessed) > 0 and self.C_target > 0
        rough = rough_copy(gram) if has_guesses else None
        trainer = Trainer(gram, tol=self.tol, max_iter=self.max_iter, rough=rough)

        def train(
            signs: Floats, negative: float, positive: float, after: TrainedMachine | None
        ) -> TrainedMachine:
            costs = self.C_source * weight
            costs[guessed] = np.where(signs[guessed] > 0, positive, negative)
            exactly = negative == positive == self.C_target or not has_guesses
            return trainer.train(signs, costs, after=after, exactly=exactly)

        machine = train(np.where(known == 0, 1.0, known), 0.0, 0.0, None)
        rest, n_swaps = Rest(machine, (machine.result.objective,), 0, True), 0
        if has_guesses and machine.result.converged:
            signs = known.copy()
            signs[guessed] = label_highest(machine.scores[guessed], data.n_second)
            costs = rising_costs(self.C_target, data.n_second, data.n_unlabelled)
            for negative, positive in costs:
                step = partial(train, negative=negative, positive=positive)
                rest = self._switch(step, signs, guessed, rest.machine)
                signs, n_swaps = rest.machine.signs, n_swaps + rest.n_swaps
                if not rest.machine.result.converged:
                    break
        values = {**vars(rest.machine.result), "n_iter": trainer.n_iter}
        return _SwitchedResult(
            **values, history=rest.history, n_swaps=n_swaps, settled=rest.settled
        )

    def _switch(
        self,
        train: Callable[..., TrainedMachine],
        signs: Floats,
        guessed: Rows,
        before: TrainedMachine,
    ) -> Rest:
        """Exchange labels of pairs of rows, at one pair of costs, until no pair is left."""
        machine = train(signs, after=before)
        history, n_swaps, most, settled = [machine.result.objective], 0, self.max_swaps, False
        for _ in range(self.max_rounds if machine.result.converged else 0):
            falling, rising = pairs_to_exchange(machine, guessed)
            n_pairs = len(falling) if most is None else min(len(falling), most)
            settled = n_pairs == 0
            if settled:
                break
            swapped = machine.signs.copy()
            swapped[falling[:n_pairs]], swapped[rising[:n_pairs]] = -1.0, 1.0
            attempt = train(swapped, after=machine)
            if attempt.result.objective < history[-1]:
                machine, most = attempt, self.max_swaps
                history.append(machine.result.objective)
                n_swaps += n_pairs
            elif n_pairs > 1:
                most = n_pairs // 2
            else:
                # Scores that differ by less than the solver's tolerance would swap for ever.
                settled = attempt.result.converged
                break
        return Rest(machine, tuple(history), n_swaps, settled)

    def _store(self, data: Any, kernel: Kernel, result: Any) -> None:
        super()._store(data, kernel, result)
        n_second = data.n_second if data.n_unlabelled else 0
        self.n_positive_ = data.n_unlabelled - n_second if data.is_flipped else n_second
        self.n_swaps_ = result.n_swaps
        self.objective_history_ = np.array(result.history)
        self.converged_ = result.converged and result.settled

    def _complaint(self, result: Any) -> str | None:
        if result.settled or not result.converged:
            return super()._complaint(result)
        return (
            f"Labels of target rows were still exchanged after {self.max_rounds} trainings; set a "
            "higher max_rounds, or raise max_iter when it is limited."
        )

    def _bag_tags(self) -> BagTags:
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=self.fraction == "target",
            uses_unlabelled_rows=True,
        )


def _overall_share(data: TrainingData) -> float:
    """Return the share of ``classes[1]`` among all rows in bags."""
    # Not clipped before, so that noise of single shares evens out.
    share = float(np.average(data.shares, weights=data.bags.rows_per_bag))
    return min(max(share, 0.0), 1.0)


def _warn_if_shares_differ(of_labelled: float, of_bags: float, is_flipped: bool) -> None:
    if abs(of_labelled - of_bags) <= _LARGEST_GAP:
        return
    if is_flipped:
        of_labelled, of_bags = 1.0 - of_labelled, 1.0 - of_bags
    warn_caller(
        f"TSVM gives the target the share of positives of the labelled rows, {of_labelled:.2f}, "
        f'but that of the bags is {of_bags:.2f}; set fraction="target" to use it.',
        BagWarning,
    )
