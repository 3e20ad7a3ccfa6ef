# SPDX-License-Identifier: BSD-3-Clause
r"""Proportion-SVM, a support vector machine on hidden labels that fit the shares of bags.

The labels :math:`\hat y_j` of the rows of bags and the machine are looked for together [1]_:

.. math::

    \min_{\hat y}\ \min_{w, b}\ \tfrac12\|w\|^2
    + C\sum_k \omega_k \sum_{j \in S_k} [1 - \hat y_j f(z_j)]_+
    + C_p\sum_k \omega_k\,|S_k|\,\bigl[\,|\hat p_k(\hat y) - p_k| - \varepsilon\bigr]_+,
    \qquad \hat p_k(\hat y) = \tfrac{1}{|S_k|}\#\{j \in S_k : \hat y_j = 1\},

so that :math:`C_p` is the price of a row too many or too few in a bag; without bound, the counts
hold. Labelled target rows add their hinge loss, at :math:`C` too. By turns,

* the machine is trained on the labels, which is an ordinary support vector machine;
* the labels of every bag are chosen for the scores, exactly: the highest scores become positive,
  as many as are worth it (:mod:`bagshift.estimators._exact_counts`).

Neither step raises the objective, and there are finitely many labels, so it ends, but the problem
is not convex and the end depends on the first labels. Two things help, as in [1]_ and its
published code: the cost of slack rises from :math:`10^{-4}C` to :math:`C` by factors of 1.5, each
time going on with the labels so far (at first, labels are by their distance to the class means,
more and more by the margin); and several first labels are tried, of which the lowest end is kept.
First labels are random, half of each class, or those of the support vector machine on labelled
history, which is the only use made of it and this library's addition. So is what happens where a
machine and one that points the other way end nearly equally low: the history decides, or else a
warning is given.

References
----------
.. [1] F. X. Yu, D. Liu, S. Kumar, T. Jebara, S.-F. Chang, Proportion-SVM for learning with label
   proportions, ICML 2013. Seen as an abstract and as the authors' code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._alternation import Alternation, End, choose_end
from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._hidden_labels import HiddenLabels
from bagshift.estimators._retraining import Trainer, rough_copy
from bagshift.estimators._training import TrainingData, require_two_classes
from bagshift.exceptions import plural
from bagshift.kernels import Kernel

Floats = NDArray[np.float64]


class ProportionSVM(CoupledMachine):
    r"""Support vector machine on row labels that fit the shares of bags, found by alternation.

    The problem solved stands in the module :mod:`bagshift.estimators.proportion_svm`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack of a target row; multiplies a sum over rows. The weight of a bag
        multiplies the cost of each of its rows.
    C_share : float, default=inf
        Cost of each row too many or too few in a bag, in the same units: :math:`C_p`. ``inf``
        makes the number of positives the nearest to the share that there is; lower it where
        shares are uncertain. The original's grid is 1, 10 and 100 with `C` of 0.1, 1 and 10.
    epsilon : float, default=0.0
        Distance of shares that costs nothing.
    start : {"auto", "source", "random"}, default="auto"
        Where the first labels come from: the SVM on the source, with the same cost and kernel,
        or chance. "auto" tries both and keeps what ends lowest; without a source it is "random".
    n_init : int, default=10
        Number of random first labels.
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
    max_rounds : int, default=100
        Largest number of times that the machine is trained at each of the 24 costs.
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations in every round; -1 is none.
    random_state : int or RandomState, default=0
        Seed of the random first labels.

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
        Target rows that the decision function is expanded on, with other kernels.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    start_ : str
        Where the first labels of the result came from; empty when shares leave no choice.
    n_rounds_ : int
        Rounds at the full cost that lowered the objective, the first one included.
    objective_history_ : ndarray of shape (n_rounds,)
        Value of the problem, the price of shares included, after each of them.
    objective_ : float
        The last of these.
    n_iter_ : int
        Iterations of the solver from that start, at all costs.
    dual_gap_ : float
        Primal minus dual value for the last labels.
    converged_ : bool
        Whether the solver reached ``tol`` and the labels settled.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    Warns
    -----
    ReversedScoresWarning
        When two ends that point opposite ways are nearly equally low and no source decides.

    See Also
    --------
    TGPLMPlus : Keeps the machine near one of the source while it looks for the labels.
    CountLikelihoodClassifier : The likelihood of the counts in place of labels that fit them.
    InverseCalibrationSVM : Fits the mean score of a bag; one convex problem.

    Notes
    -----
    The labels found have the counts asked for; predictions by the sign of the score need not, by
    the rows inside the margin.

    The kernel matrix is over all rows in bags, and those of the source where there is one.
    Counts are share times the number of rows at hand, also in bags declared larger.

    Scores of a hinge loss are no logits, so the machine offers no probabilities.

    References
    ----------
    F. X. Yu, D. Liu, S. Kumar, T. Jebara, S.-F. Chang, Proportion-SVM for learning with label
    proportions, ICML 2013. Seen as an abstract and as the authors' code. The start from a source,
    and the choice between ends that point opposite ways, are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, ProportionSVM
    >>> X = np.array([[1.0], [1.5], [3.0], [1.2], [2.8], [1.1], [0.9], [1.3], [1.0]])
    >>> ids = ["a", "a", "a", "b", "b", "b", "c", "c", "c"]
    >>> bags = Bags.from_arrays(ids, {"a": 1 / 3, "b": 1 / 3, "c": 0})
    >>> ProportionSVM(kernel="linear").fit(X, bags).predict(X)
    array([0, 0, 1, 0, 1, 0, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "C_share": [Interval(Real, 0.0, None, closed="both")],
        "epsilon": [Interval(Real, 0.0, 1.0, closed="both")],
        "start": [StrOptions({"auto", "source", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _is_one_program: ClassVar[bool] = False

    def __init__(
        self,
        C: float = 1.0,
        C_share: float = np.inf,
        *,
        epsilon: float = 0.0,
        start: str = "auto",
        n_init: int = 10,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_rounds: int = 100,
        tol: float = 1e-3,
        max_iter: int = -1,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.C_share = C_share
        self.epsilon = epsilon
        self.start = start
        self.n_init = n_init
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rounds = max_rounds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the labels of the rows, and train the machine on them.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows, needed beside a source too; plain labels make it an ordinary support
            vector machine.
        source : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns, for
            one more start. Refused with ``start="random"``, needed with ``start="source"``.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the slack of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When a bag was cut, for example by a plain KFold.
        KernelMemoryError
            When the kernel matrix would not fit into memory; raised before it is allocated.
        ValueError
            When the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When the solver stopped before its end, or the labels did not settle.
        """
        return super().fit(X, y, source=source, sample_weight=sample_weight)

    def _select(self, data: TrainingData) -> HiddenLabels:
        if data.n_source and self.start == "random":
            raise ValueError(
                'start="random" does not use the source; leave source= out, or set start="source" '
                'or "auto".'
            )
        if data.n_source and not data.n_target_units:
            raise ValueError(
                "ProportionSVM needs bags of the target beside the source; use SourceSVM to learn "
                "from the source alone."
            )
        if self.start == "source" and data.bags.n_bags and not data.n_source:
            raise ValueError(
                'start="source" needs labelled history as source=(X, y); use start="random" '
                "without it."
            )
        require_two_classes(data)
        return HiddenLabels.of(data)

    def _kernel(self, data: Any) -> Kernel:
        # Weights of bags are costs; they do not move the kernel width.
        return super()._kernel(data.given)

    def _solve(self, data: Any, gram: NDArray[Any]) -> End:
        n = data.n_source
        target = gram[n:, n:]
        source_scores = self._scores_of_source(data, gram) if n else None
        alternation = Alternation(
            data,
            cost=self.C,
            share_cost=self.C_share,
            epsilon=self.epsilon,
            max_rounds=self.max_rounds,
        )
        rough = rough_copy(target) if alternation.has_choice else None
        ends = []
        for start, signs in self._starts(data, target, source_scores, alternation):
            end = alternation.anneal(signs, self._trainer(target, rough), start)
            ends += [] if end is None else [end]
        end = choose_end(ends, source_scores)
        return replace(end, dual=np.concatenate([np.zeros(n), end.dual]))

    def _trainer(self, gram: NDArray[Any], rough: NDArray[Any] | None = None) -> Trainer:
        return Trainer(gram, tol=self.tol, max_iter=self.max_iter, rough=rough)

    def _scores_of_source(self, data: HiddenLabels, gram: NDArray[Any]) -> Floats:
        """Return the scores of the target units by the SVM on the source."""
        n = data.n_source
        trainer = self._trainer(gram[:n, :n])
        machine = trainer.train(data.source_signs, self.C * data.source_weight)
        return machine.scores_of(gram[n:, :n])

    def _starts(
        self,
        data: HiddenLabels,
        gram: NDArray[Any],
        source_scores: Floats | None,
        alternation: Alternation,
    ) -> Iterator[tuple[str, Floats]]:
        """Yield first labels and where they come from; "" where there is nothing to guess."""
        known = data.labelled_signs
        if not alternation.has_choice:
            yield "", alternation.relabel(known, np.zeros(len(gram)))
            return
        if source_scores is not None:
            yield "source", alternation.relabel(known, source_scores)
        if self.start == "source":
            return
        rng = check_random_state(self.random_state)
        rows = _in_lasting_order(data, gram)
        for _ in range(self.n_init):
            signs = known.copy()
            is_first_half = rng.permutation(len(rows)) < len(rows) / 2
            signs[rows] = np.where(is_first_half, 1.0, -1.0)
            yield "random", signs

    def _store(self, data: TrainingData, kernel: Kernel, result: Any) -> None:
        super()._store(data, kernel, result)
        self.start_ = result.start
        self.n_rounds_ = len(result.history)
        self.objective_history_ = np.array(result.history)
        self.converged_ = result.converged and result.settled

    def _complaint(self, result: Any) -> str | None:
        if result.settled or not result.converged:
            return super()._complaint(result)
        rounds = plural(len(result.history), "round")
        if len(result.history) < self.max_rounds:
            return (
                f"The solver did not reach tol on the labels found after {rounds}, so those of "
                "the round before were kept; scale the features, lower the costs, or set a higher "
                "max_iter."
            )
        return (
            f"The labels of rows in bags were not settled after {rounds}; set a higher max_rounds."
        )

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=self.start != "random", needs_source=self.start == "source")


def _in_lasting_order(data: HiddenLabels, gram: NDArray[Any]) -> NDArray[np.intp]:
    """Return the units with hidden labels in an order that does not depend on that of the rows."""
    hidden = data.hidden
    typical = gram.sum(axis=1, dtype=np.float64)[hidden]
    share = data.given.shares[data.bag_of_unit[hidden]]
    return hidden[np.lexsort((share, typical))]
