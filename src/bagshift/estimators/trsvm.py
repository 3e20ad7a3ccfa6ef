# SPDX-License-Identifier: BSD-3-Clause
r"""TrSVM, a machine of few target labels that must still be mostly right on the source.

**A reconstruction from the published abstract** [1]_, which speaks of a weak similarity of the
domains that adds constraints on the target's classifier, and of a modified sequential minimal
optimisation; no more of the paper was seen. Our reading: a good classifier of the target need not
separate the source with a margin, but should get most of it right. With labelled target rows
:math:`T` and a margin :math:`\rho \le 1` for the source

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2
    + C_t\sum_{j \in T} \omega_j\,[1 - y_j (w^\top\varphi(z_j) + b)]_+
    + C_s\sum_i \omega_i v_i\,[\rho - y_i (w^\top\varphi(x_i) + b)]_+ ,

whose dual is that of the ordinary machine with :math:`\rho` in the place of one in the linear term
of the source rows, and other bounds:

.. math::

    \min_\beta\ \tfrac12\beta^\top Q\beta - \sum_{j \in T}\beta_j - \rho\sum_i \beta_i
    \quad\text{s.t.}\quad y^\top\beta = 0,\quad 0 \le \beta_j \le C_t\omega_j,\quad
    0 \le \beta_i \le C_s\omega_i v_i .

With :math:`\rho = 1` it is the ordinary machine on both domains with a cost for each, with
:math:`C_s = 0` the machine of the target alone. Optionally :math:`v_i` is the mean kernel of a
source row with all target rows, scaled to the mean one; otherwise it is one.

The original needs a few labels of the target. Here these come from labelled rows and from bags of
share 0 or 1, or else, as where these are of one class, are guessed: the most confident labels of
the source machine, then of the machine trained on them, until they stay.

References
----------
.. [1] J. Hong, J. Yin, Y. Huang, Y. Liu, J. Wang. TrSVM: a transfer learning algorithm using
   domain similarity. Journal of Computer Research and Development 48(10), 2011, in Chinese. Seen
   as an abstract only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import (
    CoupledMachine,
    coupled_problem,
    finite_gram,
    hinge_loss,
)
from bagshift.estimators._target_labels import TargetLabels
from bagshift.estimators._training import TrainingData
from bagshift.estimators.source_svm import SourceSVM
from bagshift.estimators.tgplm_plus import products
from bagshift.exceptions import BagWarning, warn_caller
from bagshift.kernels import Kernel, unit_cross
from bagshift.solvers import CoupledProblem, CoupledResult, solve_coupled

Floats = NDArray[np.float64]

# Scores that differ by less than this part of the larger one are equal.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class _LabelledResult(CoupledResult):
    """Solution on the labels of target rows, known or guessed last.

    Attributes
    ----------
    signs : ndarray of shape (n_target_units,)
        Labels that it was trained on, -1 or +1, and 0 for rows that were left out.
    n_rounds : int
        How often the machine was trained.
    settled : bool
        Whether the guesses would stay.
    """

    signs: Floats
    n_rounds: int
    settled: bool


class TrSVM(CoupledMachine):
    r"""Support vector machine of target labels with a weaker demand on labelled history.

    A reconstruction from the published abstract of TrSVM: its results must not be quoted as those
    of the original authors' method. Learns from labelled history and from labelled target rows,
    pure bags or guessed labels. The problem solved stands in the module
    :mod:`bagshift.estimators.trsvm`.

    Parameters
    ----------
    C_source : float, default=1.0
        Cost :math:`C_s` of a unit of slack of a source row; multiplies a sum over rows.
    C_target : float, default=1.0
        Cost :math:`C_t` of a unit of slack of a target row; multiplies a sum over rows. The
        weight of a bag multiplies the cost of each of its rows.
    source_margin : float, default=0.0
        Margin :math:`\rho` asked of the source, from 0 (the right side) to 1 (as of the target).
    weights : {None, "similarity"}, default=None
        "similarity" multiplies the cost of a source row by its mean kernel with the target rows,
        scaled to the mean one; a negative mean, which some kernels have, counts as zero.
    target_labels : {"auto", "labelled", "bags", "pseudo"}, default="auto"
        Where labels of target rows come from. "labelled": rows labelled by
        :meth:`bagshift.Bags.with_labels`, the use of the original. "bags": those, and the rows of
        bags of share 0 or 1 without a noise law. "pseudo": those, and guesses for the other rows,
        see `confident`. "auto" is "bags" where that gives labels of both classes; labels of one
        class alone would pull the boundary to their side, so all rows are guessed then, as if
        there were no labels.
    confident : float, default=0.1
        Part of the target rows of each predicted class, at least one, whose label is guessed:
        those with the largest scores. The first guesses are those of the support vector machine
        on the source.
    max_rounds : int, default=10
        Largest number of times that the machine is trained on guesses.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between rows. "precomputed" takes rows of the kernel matrix of all training rows,
        source rows first.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly": 1 / (n_features * X.var()) of both domains stacked, 1
        over the squared mean norm of the source rows, or the number given.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations in every round; -1 is none.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    intercept_ : ndarray of shape (1,)
        Bias.
    intercept_interval_ : tuple of float
        All biases that are optimal with the weights found.
    coef_ : ndarray of shape (1, n_features)
        Weights, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision function is expanded on, with other kernels.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    labels_guessed_ : bool
        Whether labels of target rows were guessed; says what "auto" did.
    n_target_labels_ : int
        Number of target rows whose label was trained on.
    n_rounds_ : int
        How often the machine was trained; 1 when labels are not guessed.
    n_iter_ : int
        Iterations of the solver in all rounds.
    objective_ : float
        Value of the primal problem for the last labels.
    dual_gap_ : float
        Primal minus dual value for them.
    converged_ : bool
        Whether the solver reached ``tol`` and guesses settled.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    Warns
    -----
    BagWarning
        In ``fit``, when "auto" passes over rows labelled by :meth:`bagshift.Bags.with_labels`,
        because all labels are of one class.

    See Also
    --------
    TGPLM : Two machines, one for each domain, with a pull between them; uses every share.
    TSVM : Guesses the labels of all target rows.

    Notes
    -----
    Parameters, their defaults, the guesses and the similarity are ours. The original was made for
    a small labelled part of the target; without any label the machine trusts the source as
    self-training does, and shares other than 0 and 1 are not used.

    With plain labels and no source it is the ordinary support vector machine of cost `C_target`.
    Scores of a hinge loss are no logits, so it offers no probabilities.

    References
    ----------
    J. Hong, J. Yin, Y. Huang, Y. Liu, J. Wang. TrSVM: a transfer learning algorithm using domain
    similarity. Journal of Computer Research and Development 48(10), 2011, in Chinese. Seen as an
    abstract only.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, TrSVM
    >>> history = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> X = np.array([[1.0], [1.5], [3.0], [1.2], [2.8], [3.1]])
    >>> bags = Bags.unlabelled(6).with_labels([0, None, 1, None, None, None])
    >>> machine = TrSVM(kernel="linear", C_source=0.1, C_target=10.0)
    >>> machine.fit(X, bags, source=history).predict(X)
    array([0, 0, 1, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="neither")],
        "source_margin": [Interval(Real, 0.0, 1.0, closed="both")],
        "weights": [StrOptions({"similarity"}), None],
        "target_labels": [StrOptions({"auto", "labelled", "bags", "pseudo"})],
        "confident": [Interval(Real, 0.0, 1.0, closed="right")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }
    _is_one_program: ClassVar[bool] = False

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 1.0,
        *,
        source_margin: float = 0.0,
        weights: str | None = None,
        target_labels: str = "auto",
        confident: float = 0.1,
        max_rounds: int = 10,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.source_margin = source_margin
        self.weights = weights
        self.target_labels = target_labels
        self.confident = confident
        self.max_rounds = max_rounds
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _select(self, data: TrainingData) -> TargetLabels:
        if not data.knows_both_classes:
            raise ValueError(
                "TrSVM needs labelled history of both classes; give it as source=(X, y)."
            )
        if not data.n_source:
            return TargetLabels.of(data, "labelled")
        chosen = TargetLabels.of(data, self.target_labels)
        if chosen.passes_over_labels:
            warn_caller(
                'Labels of target rows are of one class, which target_labels="auto" passes over; '
                'label rows of the other class too, or use target_labels="pseudo".',
                BagWarning,
            )
        if not len(chosen.labelled_rows):
            among = "labelled target rows" if self.target_labels == "labelled" else "pure bags"
            raise ValueError(
                f'target_labels="{self.target_labels}" finds no label: there are no {among}; '
                'label rows with Bags.with_labels, or use target_labels="pseudo".'
            )
        if chosen.is_guessed and self.C_source == 0:
            raise ValueError(
                "Guesses of target labels come from the source, which C_source=0 leaves out; set "
                "a higher C_source or label target rows of both classes with Bags.with_labels."
            )
        if self.C_source == 0 and not chosen.without_source().knows_both_classes:
            raise ValueError(
                "C_source=0 leaves the source out, and labels of target rows are of one class; "
                "set a higher C_source or label target rows of the other class."
            )
        return chosen

    def _kernel(self, data: Any) -> Kernel:
        # Weights of bags are costs; they do not move the kernel width, as in TGPLM.
        return super()._kernel(data.given)

    def _problem(self, data: TrainingData, gram: NDArray[Any]) -> CoupledProblem:
        source = hinge_loss(data.source_signs, self.C_source * data.source_weight)
        source = replace(source, targets=self.source_margin * data.source_signs)
        cost = self.C_target * data.labelled_weight * np.abs(data.labelled_signs)
        target = hinge_loss(data.labelled_signs, cost)
        nothing = hinge_loss(np.empty(0), np.empty(0))
        return coupled_problem(gram, nothing, [source, target], coupling=0.0)

    def _train(self, data: Any, kernel: Kernel) -> CoupledResult:
        if self.weights == "similarity" and data.n_source:
            factor = similarity_to_target(kernel, data)
            data = replace(data, source_weight=factor * data.source_weight)
        gram = finite_gram(kernel, data)
        if data.is_guessed:
            return self._train_on_guesses(data, gram)
        result = self._solve_exactly(self._problem(data, gram))
        return _LabelledResult(**vars(result), signs=data.labelled_signs, n_rounds=1, settled=True)

    def _train_on_guesses(self, data: TargetLabels, gram: NDArray[Any]) -> _LabelledResult:
        """Guess labels and train by turns, from the labels of the source machine."""
        scores, dual, n_iter = self._scores_of_source(data, gram), None, 0
        signs = self._with_guesses(data.labelled_signs, scores)
        for n_rounds in range(1, self.max_rounds + 1):
            problem = self._problem(replace(data, labelled_signs=signs), gram)
            result = self._solve_exactly(problem, start=dual)
            scores = products(gram[data.n_source :], result.dual) + result.intercept_target
            guesses = self._with_guesses(data.labelled_signs, scores)
            dual, n_iter = result.dual, n_iter + result.n_iter
            settled = np.array_equal(guesses, signs)
            if settled or not result.converged or n_rounds == self.max_rounds:
                break
            signs = guesses
        values = {**vars(result), "n_iter": n_iter}
        return _LabelledResult(**values, signs=signs, n_rounds=n_rounds, settled=settled)

    def _scores_of_source(self, data: TargetLabels, gram: NDArray[Any]) -> Floats:
        n = data.n_source
        machine = SourceSVM(C=self.C_source)
        problem = machine._problem(data.given.source_as_labelled(), gram[:n, :n])
        result = solve_coupled(problem, tol=self.tol, max_iter=self.max_iter)
        return products(gram[n:, :n], result.dual) + result.intercept_target

    def _with_guesses(self, known: Floats, scores: Floats) -> Floats:
        """Return known labels and, for the most confident of the other rows, guessed ones."""
        signs = known.copy()
        for side in (-1.0, 1.0):
            candidates = np.flatnonzero((known == 0) & (np.where(scores > 0, 1.0, -1.0) == side))
            if len(candidates):
                strength = np.abs(scores[candidates])
                n_chosen = int(np.ceil(self.confident * len(candidates)))
                weakest = np.sort(strength)[-n_chosen]
                signs[candidates[strength >= (1.0 - _EQUAL) * weakest]] = side
        return signs

    def _store(self, data: TrainingData, kernel: Kernel, result: Any) -> None:
        super()._store(data, kernel, result)
        self.labels_guessed_ = bool(getattr(data, "is_guessed", False))
        self.n_target_labels_ = int(np.count_nonzero(result.signs))
        self.n_rounds_ = result.n_rounds
        self.converged_ = result.converged and result.settled

    def _complaint(self, result: Any) -> str | None:
        if result.settled or not result.converged:
            return super()._complaint(result)
        return (
            f"The guessed labels still changed after {result.n_rounds} trainings; set a higher "
            "max_rounds or another part of confident rows, or label rows with Bags.with_labels."
        )

    def _bag_tags(self) -> BagTags:
        may_guess = self.target_labels in ("auto", "pseudo")
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=self.target_labels != "labelled",
            uses_unlabelled_rows=may_guess or self.weights == "similarity",
            needs_target_labels=self.target_labels == "labelled",
        )


def similarity_to_target(kernel: Kernel, data: TrainingData) -> Floats:
    """Return how similar every source row is to the target, one on average.

    Parameters
    ----------
    kernel : Kernel
    data : TrainingData

    Returns
    -------
    ndarray of shape (n_source,)
        In proportion to the mean kernel with the target rows, or zero where that is negative.

    Raises
    ------
    ValueError
        When no source row is similar to the target at all.
    """
    n, n_target = data.n_source, len(data.bags)
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.name == "precomputed":
            mean = np.asarray(data.X_source[:, n:].mean(axis=1), dtype=np.float64).ravel()
        else:
            one_unit = np.zeros(n_target, dtype=np.intp)
            mean = unit_cross(kernel, data.X_source, None, data.X_target, one_unit, 1)[:, 0]
    mean = np.maximum(mean.astype(np.float64), 0.0)
    total = float(data.source_weight @ mean)
    if not 0 < total < np.inf:
        raise ValueError(
            'weights="similarity" finds no source row that is similar to the target by this '
            "kernel; take a wider kernel, scale the features, or use weights=None."
        )
    return mean * (float(data.source_weight.sum()) / total)
