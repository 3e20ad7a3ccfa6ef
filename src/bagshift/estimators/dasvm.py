# SPDX-License-Identifier: BSD-3-Clause
r"""DASVM, a support vector machine that moves from the source to the target row by row.

Beginning with the support vector machine on the source, every round [1]_

1. takes, on either side of the boundary, those :math:`\rho` target rows without a label that are
   nearest to the bound of the margin from inside, :math:`|f| < 1` and :math:`|f|` largest, and
   gives them the label predicted;
2. drops as many source rows on that side, those farthest from the boundary;
3. takes back the labels of rows that are by now predicted to be of the other class;
4. trains the machine anew, at costs that move over :math:`\gamma` rounds: those of the source fall
   and those of a row labelled :math:`a` rounds ago rise,

   .. math::

       C_h\max\Bigl(\tfrac{\gamma - i}{\gamma}, \tfrac1\gamma\Bigr)^2, \qquad
       C_c\min\Bigl(\tfrac{a}{\gamma}, 1\Bigr)^2 ,

until fewer than :math:`\beta N` rows without a label are inside the margin on either side. Then
the rest of the source is dropped and the machine is trained on labelled target rows alone.

The steps are those of [1]_ as remembered: its abstract was seen, not its text, so where the
constants of the costs differ, they are ours. Three things are ours by intent. A label taken back
is not given anew in the same round. Of source rows at the bound of the margin, which are equally
far from the boundary, those with the smallest dual variables go first. And the last training also
has, with the label predicted, the rows that lie outside the margin: to the machine before it they
cost nothing and change nothing, but without them and the source nothing would hold the boundary
in its place.

Every round trains once, begun from the last solution; all rows of a round are chosen together.

**Probabilities.** A score of the adapted machine is no probability, and there is nothing in the
method to make it one: labels of the source speak of the other domain, and the machine's own
labels agree with it by construction. Shares of bags, which the method does not use, do speak of
the target. With ``probability=True`` a slope :math:`a > 0` and a shift :math:`b` are chosen under
which, with :math:`P(y = 1 \mid z) = \sigma(a f(z) + b)`, the published numbers of the bags are
likeliest, by their exact likelihood (:mod:`bagshift.solvers.count_likelihood`), and the bias of
the machine moves by :math:`b / a`, so that labels and probabilities agree.

References
----------
.. [1] L. Bruzzone, M. Marconcini, Domain adaptation problems: a DASVM classification technique and
   a circular validation strategy, IEEE Transactions on Pattern Analysis and Machine Intelligence
   32(5), 2010. Seen as an abstract only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from bagshift.estimators._bag_sigmoid import fit_bag_sigmoid
from bagshift.estimators._base import BagTags
from bagshift.estimators._count_units import bag_counts
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._hidden_labels import every_row_a_unit
from bagshift.estimators._optional_probabilities import OptionalProbabilities
from bagshift.estimators._progressive_rows import ProgressiveRows
from bagshift.estimators._retraining import TrainedMachine, Trainer, rough_copy
from bagshift.estimators._training import TrainingData
from bagshift.exceptions import plural
from bagshift.kernels import Kernel
from bagshift.solvers import CoupledResult

Floats = NDArray[np.float64]

_PER_SIDE = 0.01
_CAUSES = (
    "source rows may be too few or the domains too far apart: set a higher C_target and C_source, "
    "take a linear kernel, or give more source rows"
)


@dataclass(frozen=True, eq=False)
class _AdaptedResult(CoupledResult):
    """Solution on the last rows.

    Attributes
    ----------
    n_rounds : int
        Rounds of labelling.
    n_labelled : int
        Target rows that the last training had, with guessed or known labels.
    n_source_left : int
        Source rows that it had.
    settled : bool
        Whether the rounds came to their end.
    is_one_sided : bool
        Whether all target rows whose label was not known are predicted to be of one class.
    """

    n_rounds: int
    n_labelled: int
    n_source_left: int
    settled: bool
    is_one_sided: bool


class DASVM(OptionalProbabilities, CoupledMachine):
    r"""Progressive support vector machine: source rows give way to self-labelled target rows.

    The steps stand in the module :mod:`bagshift.estimators.dasvm`. Bags are not needed; all
    target rows take part, in bags or not.

    Parameters
    ----------
    C_source : float, default=1.0
        Cost of a unit of slack of a source row in the beginning; multiplies a sum over rows.
    C_target : float, default=1.0
        Cost of a unit of slack of a target row in the end.
    rows_per_side : int or None, default=None
        Most target rows that are labelled in a round on either side of the boundary,
        :math:`\rho`; None is one in a hundred, but so few that the source rows of either class,
        which are dropped as fast, last for `n_steps` rounds; at least one.
    n_steps : int, default=10
        Rounds in which the costs move, :math:`\gamma`.
    open_share : float, default=0.03
        Share of the target rows below which those inside the margin without a label are too few
        for another round, on either side: :math:`\beta`.
    probability : bool, default=False
        Whether to offer probabilities, from the shares of bags, which are needed then. Bias and
        predictions heed these shares too.
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
    max_rounds : int, default=1000
        Largest number of rounds.
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
        Bias; with ``probability=True`` moved to where the probability is one half.
    intercept_interval_ : tuple of float
        All biases that are optimal with the weights found, before it is moved.
    slope_ : float
        Log odds per unit of score, with ``probability=True`` and bags.
    coef_ : ndarray of shape (1, n_features)
        Weights, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision function is expanded on, with other kernels.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    n_rounds_ : int
        Rounds of labelling.
    n_labelled_ : int
        Target rows that the last training had, with guessed or known labels.
    n_source_left_ : int
        Source rows that it had: none, unless the target rows would have been of one class.
    objective_ : float
        Value of the primal problem of the last training.
    n_iter_ : int
        Iterations of the solver in all trainings.
    dual_gap_ : float
        Primal minus dual value of the last training.
    converged_ : bool
        Whether the solver reached ``tol`` and the rounds came to their end, without source rows
        and with target rows of both classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    Warns
    -----
    ReversedScoresWarning
        When ``probability=True`` and the shares do not grow with the scores.

    See Also
    --------
    TSVM : Labels all target rows and keeps the source.
    bagshift.model_selection.circular_validation : Its authors' way to judge an adaptation.

    Notes
    -----
    Only rows inside the margin move the machine, so low costs, which make the margin wide, let it
    follow the target further, and astray too where source rows are few.

    It needs a source of more than a few dozen rows. On ten problems of ten columns with 30 source
    rows the default settings ended with one class nine times, and four times with 60; never with
    ten times the costs, or with ten times `C_target` alone, or a linear kernel. Such an end is
    warned of.

    Its labels come from itself. Nothing stops it when the domains are far apart and it labels the
    wrong rows; see circular validation, and what that cannot notice.

    ``predict_proba``, ``predict_proba_in_bags`` and ``predict_in_bags`` exist with
    ``probability=True`` only. The rows of the bags were trained on, so that their scores are a
    little too far from zero, and the slope for fresh rows with them.

    References
    ----------
    L. Bruzzone, M. Marconcini, Domain adaptation problems: a DASVM classification technique and a
    circular validation strategy, IEEE Transactions on Pattern Analysis and Machine Intelligence
    32(5), 2010. Seen as an abstract only.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import DASVM, SourceSVM
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> turn = np.array([[0.5, 0.87], [-0.87, 0.5]])
    >>> history = rng.normal(size=(200, 2)) + np.outer(2 * y - 1, [3.0, 0.0]), y
    >>> X = (rng.normal(size=(200, 2)) + np.outer(2 * y - 1, [3.0, 0.0])) @ turn
    >>> before = SourceSVM(kernel="linear").fit(X, None, source=history).score(X, y)
    >>> after = DASVM(kernel="linear").fit(X, None, source=history).score(X, y)
    >>> bool(before < after)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="neither")],
        "C_target": [Interval(Real, 0.0, None, closed="neither")],
        "rows_per_side": [None, Interval(Integral, 1, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "open_share": [Interval(Real, 0.0, 1.0, closed="both")],
        "probability": ["boolean"],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }
    _is_one_program: ClassVar[bool] = False

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 1.0,
        *,
        rows_per_side: int | None = None,
        n_steps: int = 10,
        open_share: float = 0.03,
        probability: bool = False,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_rounds: int = 1000,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.rows_per_side = rows_per_side
        self.n_steps = n_steps
        self.open_share = open_share
        self.probability = probability
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rounds = max_rounds
        self.tol = tol
        self.max_iter = max_iter

    def _select(self, data: TrainingData) -> TrainingData:
        if self.probability and not data.bags.n_bags:
            raise ValueError("probability=True needs bags with shares; y holds none.")
        if not data.knows_both_classes:
            raise ValueError(
                "DASVM needs labelled rows of both classes to begin with; give labelled history "
                "as source=(X, y), or known labels by Bags.with_labels."
            )
        return every_row_a_unit(data)

    def _solve(self, data: TrainingData, gram: NDArray[Any]) -> _AdaptedResult:
        rows = ProgressiveRows(data)
        n_open = int(np.sum(~rows.is_known))
        per_side = self.rows_per_side or self._default_per_side(data, n_open)
        fewest = max(1, math.ceil(self.open_share * n_open))
        rough = rough_copy(gram) if n_open else None
        trainer = Trainer(gram, tol=self.tol, max_iter=self.max_iter, rough=rough)
        machine = self._train_round(trainer, rows, None)
        settled = n_open == 0
        while machine.result.converged and not settled and rows.n_rounds < self.max_rounds:
            settled = not rows.advance(machine, per_side, fewest)
            if not settled:
                before, machine = machine, self._train_round(trainer, rows, machine)
                settled = machine is before
        if machine.result.converged:
            machine = self._train_last(trainer, rows, machine)
        n = data.n_source
        is_high = machine.scores[n:][~rows.is_known] > 0
        return _AdaptedResult(
            **{**vars(machine.result), "n_iter": trainer.n_iter},
            n_rounds=rows.n_rounds,
            n_labelled=int(np.sum(machine.costs[n:] > 0)),
            n_source_left=int(np.sum(machine.costs[:n] > 0)),
            settled=settled,
            is_one_sided=n_open > 0 and bool(is_high.all() or not is_high.any()),
        )

    def _default_per_side(self, data: TrainingData, n_open: int) -> int:
        per_side = round(_PER_SIDE * n_open)
        if data.n_source:
            n_second = int(np.sum(data.source_signs > 0))
            per_side = min(per_side, min(n_second, data.n_source - n_second) // self.n_steps)
        return max(1, per_side)

    def _train_round(
        self,
        trainer: Trainer,
        rows: ProgressiveRows,
        before: TrainedMachine | None,
    ) -> TrainedMachine:
        """Train on the rows of a round; stay with the machine before where they are one class."""
        costs = rows.costs(self.C_source, self.C_target, self.n_steps)
        signs = rows.signs
        if before is not None and not _has_two_classes(signs, costs):
            return before
        return trainer.train(np.where(signs == 0, 1.0, signs), costs, after=before)

    def _train_last(
        self, trainer: Trainer, rows: ProgressiveRows, before: TrainedMachine
    ) -> TrainedMachine:
        """Train on the target alone, exactly; on the rows as before where it is of one class."""
        signs, weight = rows.close(before.scores)
        costs = self.C_target * weight
        if not _has_two_classes(signs, costs):
            signs, costs = before.signs, before.costs
        return trainer.train(signs, costs, after=before, exactly=True)

    def _store(self, data: TrainingData, kernel: Kernel, result: Any) -> None:
        super()._store(data, kernel, result)
        self.n_rounds_ = result.n_rounds
        self.n_labelled_ = result.n_labelled
        self.n_source_left_ = result.n_source_left
        self.converged_ = (
            result.converged
            and result.settled
            and not result.n_source_left
            and not result.is_one_sided
        )

    def _finish(self, data: TrainingData) -> None:
        if not self.probability:
            return
        in_bags, counts = bag_counts(data.bags, warn=False)
        orientation = -1.0 if data.is_flipped else 1.0
        scores = orientation * self._scores(data.target_rows(in_bags))
        slope, shift = fit_bag_sigmoid(scores, counts, data.bags.weights)
        self.slope_ = slope
        self.intercept_ = self.intercept_ + orientation * shift / slope

    def _complaint(self, result: Any) -> str | None:
        if not result.converged:
            return super()._complaint(result)
        if result.n_source_left:
            return (
                "The target rows came to be labelled as one class, so the machine did not leave "
                f"the last {plural(result.n_source_left, 'source row')}; {_CAUSES}."
            )
        if result.is_one_sided:
            return f"All target rows came to be predicted as one class; {_CAUSES}."
        if not result.settled:
            return (
                f"Rows were still being labelled after {plural(result.n_rounds, 'round')}; set a "
                "higher max_rounds, rows_per_side or open_share."
            )
        return None

    def _score_scale(self) -> float:
        return 1.0 / getattr(self, "slope_", 1.0)

    def _has_probabilities(self) -> bool:
        return bool(self.probability)

    def _bag_tags(self) -> BagTags:
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=self.probability,
            uses_unlabelled_rows=True,
        )


def _has_two_classes(signs: Floats, costs: Floats) -> bool:
    return len(set(signs[costs > 0])) == 2
