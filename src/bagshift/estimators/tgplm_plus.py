# SPDX-License-Identifier: BSD-3-Clause
r"""TGPLM+, coupled machines on hidden labels with an exact count in every bag.

TGPLM asks of a bag that the score of its mean fit the logit of its share: one number per bag,
although the share fixes how many of its rows are positive. TGPLM+ keeps the coupling and looks for
the labels :math:`\hat y_j` of the rows of bags themselves, of which each bag :math:`S_k` has
:math:`c_k = \mathrm{round}(p_k |S_k|)` positives:

.. math::

    \min_{\hat y}\ \min_{w, b}\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + C_h\sum_i \omega_i\,[1 - y_i f_h(x_i)]_+
    + C_c\sum_k \omega_k \sum_{j \in S_k} [1 - \hat y_j f_c(z_j)]_+
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr),
    \qquad \#\{j \in S_k : \hat y_j = 1\} = c_k .

Labelled target rows add their hinge loss, at :math:`C_c` too. The problem is solved by turns:

1. scores of a first machine: the source SVM, TGPLM or the inverse-calibrated SVM;
2. in every bag the :math:`c_k` highest scores become positive, which is the best choice of labels
   for given scores (:mod:`bagshift.estimators._exact_counts`);
3. both machines are trained on all labels, which is the coupled program of
   :mod:`bagshift.solvers.coupled_qp` with one unit per row, begun from the last solution;
4. back to 2 with the scores of the target machine, until the labels stay.

No step raises the objective, and there are finitely many labels, so it ends; where it ends
depends on the start, for the problem over the labels is not convex. Of several starts the one that
ends lowest is kept.

The method is this library's own. Its parts are known: alternating over labels under given shares
is proportion-SVM [1]_ (here without a source, with the counts exact), and with a coupling without
bound and one bag it is the transductive SVM under a class count [2]_. The coupling is TGPLM's.

References
----------
.. [1] F. X. Yu, D. Liu, S. Kumar, T. Jebara, S.-F. Chang, Proportion-SVM for learning with label
   proportions, ICML 2013.
.. [2] T. Joachims, Transductive inference for text classification using support vector machines,
   ICML 1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import (
    TransferMachine,
    coupled_problem,
    hinge_loss,
    row_coefficients,
)
from bagshift.estimators._hidden_labels import HiddenLabels
from bagshift.estimators._training import TrainingData
from bagshift.estimators.source_svm import SourceSVM
from bagshift.estimators.tgplm import TGPLM
from bagshift.kernels import Kernel, unit_gram
from bagshift.solvers import CoupledProblem, CoupledResult, solve_coupled

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _AlternatedResult(CoupledResult):
    """Solution for the last labels.

    Attributes
    ----------
    start : str
        Name of the machine that gave the first labels.
    history : tuple of float
        Objective after every round that lowered it.
    settled : bool
        Whether no other labels were better for the last scores.
    """

    start: str
    history: tuple[float, ...]
    settled: bool


class TGPLMPlus(TransferMachine):
    r"""Coupled machines on row labels that agree with the count of every bag.

    A margin-based relative of TGPLM that uses the whole count of a bag instead of its mean score.
    It is this library's own method; the problem solved stands in the module
    :mod:`bagshift.estimators.tgplm_plus`.

    Parameters
    ----------
    C_source : float, default=1.0
        Cost of a unit of slack of a source row; multiplies a sum over rows.
    C_target : float, default=1.0
        Cost of a unit of slack of a target row, in a bag or labelled; multiplies a sum over rows.
        The weight of a bag multiplies the cost of each of its rows.
    coupling : float, default=0.125
        Strength :math:`\lambda` of the pull between the two machines: 0 leaves them separate,
        ``numpy.inf`` makes them one. Inactive without a source.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of both machines. "precomputed" takes rows of the kernel matrix of all training
        rows, source rows first.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly", as in :class:`TGPLM`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    max_rounds : int, default=15
        Largest number of times that both machines are trained.
    start : {"auto", "source", "inverse_calibration", "tgplm"}, default="auto"
        Machine whose scores give the first labels: the SVM on the source, the inverse-calibrated
        SVM on the bags, or TGPLM on both, with the costs, coupling and kernel of this machine.
        "auto" starts from each of them and keeps the result with the lowest objective; without
        a source it is "inverse_calibration".
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
    intercept_, source_intercept_ : ndarray of shape (1,)
        Biases :math:`b_c` and :math:`b_h`.
    intercept_interval_ : tuple of float
        All values of :math:`b_c` that are optimal with the weights found, up to `tol`.
    coef_, source_coef_ : ndarray of shape (1, n_features)
        Weights :math:`w_c` and :math:`w_h`, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision functions are expanded on, with other kernels.
    dual_coef_, source_dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of :math:`f_c` and :math:`f_h` on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    start_ : str
        Machine that gave the first labels; empty when the counts leave no choice.
    n_rounds_ : int
        Rounds that lowered the objective, the first one included.
    objective_history_ : ndarray of shape (n_rounds,)
        Value of the primal problem after each of them.
    objective_ : float
        The last of these.
    n_iter_ : int
        Iterations of the solver in all rounds from that start.
    dual_gap_ : float
        Primal minus dual value for the last labels.
    converged_ : bool
        Whether the solver reached ``tol`` and the labels settled.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    TGPLM : The same coupling with the inverse-calibrated loss of bags; one convex problem.
    InverseCalibrationSVM : The first machine when there is no source.
    SourceSVM : One of the first machines when there is one.

    Notes
    -----
    The kernel matrix is over all source rows and all rows in bags, where TGPLM's is over source
    rows and bags. Where a bag's share times its number of rows is not whole, as with rounded
    shares or bags declared larger than the rows at hand, the count is the nearest whole number.

    The result depends on the first labels. Those from the source alone are good when the domains
    are alike and do not recover when they are far apart; "inverse_calibration" needs bags with
    different shares. With a strong coupling between domains far apart the lowest objective
    itself lies near the source, and "auto" with it.

    Scores of a hinge loss are no logits, so the machine offers no probabilities.

    References
    ----------
    F. X. Yu, D. Liu, S. Kumar, T. Jebara, S.-F. Chang, Proportion-SVM for learning with label
    proportions, ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, TGPLMPlus
    >>> history = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> X = np.array([[1.0], [1.5], [3.0], [1.2], [2.8], [3.1]])
    >>> bags = Bags.from_arrays(["a", "a", "a", "b", "b", "b"], {"a": 1 / 3, "b": 2 / 3})
    >>> machine = TGPLMPlus(kernel="linear", C_target=10).fit(X, bags, source=history)
    >>> machine.predict(X)
    array([0, 0, 1, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransferMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "coupling": [Interval(Real, 0.0, None, closed="both")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "start": [StrOptions({"auto", "source", "inverse_calibration", "tgplm"})],
    }
    _is_one_program: ClassVar[bool] = False

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 1.0,
        coupling: float = 0.125,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_rounds: int = 15,
        start: str = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.coupling = coupling
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rounds = max_rounds
        self.start = start
        self.tol = tol
        self.max_iter = max_iter

    def _select(self, data: TrainingData) -> HiddenLabels:
        if data.n_source and not data.n_target_units:
            raise ValueError(
                "TGPLMPlus needs bags or labelled rows of the target beside the source; use "
                "SourceSVM to learn from the source alone."
            )
        if self.start == "source" and data.bags.n_bags and not data.n_source:
            raise ValueError(
                'start="source" needs labelled history as source=(X, y); use start="auto" or '
                '"inverse_calibration" without it.'
            )
        return HiddenLabels.of(data)

    def _kernel(self, data: Any) -> Kernel:
        # Weights of bags are costs; they do not move the kernel width, as in TGPLM.
        return super()._kernel(data.given)

    def _problem(self, data: TrainingData, gram: NDArray[Any]) -> CoupledProblem:
        return coupled_problem(
            gram,
            hinge_loss(data.source_signs, self.C_source * data.source_weight),
            [hinge_loss(data.labelled_signs, self.C_target * data.labelled_weight)],
            coupling=self.coupling if data.n_source else 0.0,
        )

    def _solve(self, data: Any, gram: NDArray[Any]) -> _AlternatedResult:
        results = [
            self._alternate(data.labelled_by(self._first_scores(start, data, gram)), start, gram)
            for start in self._starts(data)
        ]
        return min(results, key=lambda result: result.objective)

    def _starts(self, data: HiddenLabels) -> list[str]:
        """Return the names of the machines to start from; "" where there is nothing to guess."""
        if not data.has_choice:
            return [""]
        if self.start != "auto":
            return [self.start]
        # Equal shares make inverse calibration a constant, which puts no row above another.
        shares_differ = bool(np.ptp(data.given.shares) > 0)
        if not data.n_source or self.C_source == 0:
            return ["inverse_calibration"]
        return ["source", "tgplm", *(["inverse_calibration"] if shares_differ else [])]

    def _alternate(self, rows: HiddenLabels, start: str, gram: NDArray[Any]) -> _AlternatedResult:
        """Train machines and choose labels by turns, from the labels given."""
        result = self._solve_exactly(self._problem(rows, gram))
        history, n_iter, settled = [result.objective], result.n_iter, False
        while result.converged:
            relabelled = rows.labelled_by(target_scores(result, gram))
            settled = np.array_equal(relabelled.labelled_signs, rows.labelled_signs)
            if settled or len(history) == self.max_rounds:
                break
            attempt = self._solve_exactly(self._problem(relabelled, gram), start=result.dual)
            n_iter += attempt.n_iter
            if not attempt.objective < result.objective:
                # Scores that differ by less than the solver's tolerance would swap for ever.
                settled = attempt.converged
                break
            rows, result = relabelled, attempt
            history.append(result.objective)
        values = {**vars(result), "n_iter": n_iter}
        return _AlternatedResult(**values, start=start, history=tuple(history), settled=settled)

    def _first_scores(self, start: str, data: HiddenLabels, gram: NDArray[Any]) -> Floats:
        """Return scores of the target units by the machine that the method starts from."""
        if not start:
            return np.zeros(data.n_target_units)
        if start == "source":
            return self._scores_of_source(data, gram)
        return self._scores_of_bags(data, gram, with_source=start == "tgplm")

    def _scores_of_source(self, data: HiddenLabels, gram: NDArray[Any]) -> Floats:
        n = data.n_source
        machine = SourceSVM(C=self.C_source)
        problem = machine._problem(data.source_as_labelled(), gram[:n, :n])
        result = solve_coupled(problem, tol=self.tol, max_iter=self.max_iter)
        return products(gram[n:, :n], result.dual) + result.intercept_target

    def _scores_of_bags(
        self, data: HiddenLabels, gram: NDArray[Any], *, with_source: bool
    ) -> Floats:
        """Return the scores of TGPLM, which without a source is the inverse-calibrated SVM."""
        given, n = data.given, data.n_source
        if not with_source:
            given, gram, n = given.without_source(), gram[n:, n:], 0
        units = unit_gram(
            Kernel("precomputed"),
            gram[:n] if n else None,
            gram[n:],
            given.unit_of_row[data.labelled_rows],
            given.n_target_units,
        )
        machine = TGPLM(C_source=self.C_source, C_target=self.C_target, coupling=self.coupling)
        result = solve_coupled(
            machine._problem(given, units), tol=self.tol, max_iter=self.max_iter
        )
        coefficients = row_coefficients(result.target_coefficients, given)
        used = np.concatenate([np.arange(n), n + data.labelled_rows])
        return products(gram[n:], coefficients[used]) + result.intercept_target

    def _store(self, data: TrainingData, kernel: Kernel, result: Any) -> None:
        super()._store(data, kernel, result)
        self.start_ = result.start
        self.n_rounds_ = len(result.history)
        self.objective_history_ = np.array(result.history)
        self.converged_ = result.converged and result.settled

    def _complaint(self, result: Any) -> str | None:
        if result.settled or not result.converged:
            return super()._complaint(result)
        return (
            f"The labels of rows in bags were not settled after {len(result.history)} rounds; set "
            "a higher max_rounds, or raise max_iter when it is limited."
        )

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=True)


def target_scores(result: CoupledResult, gram: NDArray[Any]) -> Floats:
    """Return the scores of the target units by the target machine.

    Parameters
    ----------
    result : CoupledResult
        Solution on the units of ``gram``.
    gram : ndarray of shape (n_units, n_units)
        Kernel matrix, source units first.

    Returns
    -------
    ndarray of shape (n_target_units,)
    """
    rows = gram[result.n_source :]
    return products(rows, result.target_coefficients) + result.intercept_target


def products(block: NDArray[Any], coefficients: Floats) -> Floats:
    """Multiply kernel values by coefficients, without a copy of them in another precision.

    Parameters
    ----------
    block : ndarray of shape (n_rows, n_units)
        Kernel values, float32 or float64.
    coefficients : ndarray of shape (n_units,)
        Expansion on the units.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    return np.asarray(block @ coefficients.astype(block.dtype), dtype=np.float64)
