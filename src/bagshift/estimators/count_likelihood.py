# SPDX-License-Identifier: BSD-3-Clause
r"""The count-likelihood machine: logistic regression from the number of positives in each bag.

Inverse calibration asks that the *mean score* of a bag be the logit of its share. The data say
more: exactly :math:`c_k` members of bag :math:`k` are positive. With
:math:`P(y_j = 1 \mid z_j) = \sigma(f_c(z_j))` and labels independent given the features, that
count has a Poisson-binomial distribution, and its likelihood takes the place of the tube around
the mean. Regulariser and coupling are those of TGPLM [1]_:

.. math::

    \min_{w_h, b_h, w_c, b_c}\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)
    + C_h \sum_i \omega_i \log\bigl(1 + e^{-y_i f_h(x_i)}\bigr)
    - C_c \sum_k \omega_k \log P\bigl(c_k \mid \{f_c(z_j)\}_{j \in S_k}\bigr).

A labelled target row is a bag of one; bags of one make it logistic regression. A share that is
noisy, rounded or of a sample weighs the possible counts by its law
(:mod:`bagshift.noise`). The derivative in the score of a row is :math:`\sigma(f_j) - r_j` with
:math:`r_j` the probability of the row given its bag's number, so a gradient step is one of
logistic regression on posterior labels, as in expectation-maximisation. The likelihood is derived
in :mod:`bagshift.solvers.count_likelihood`, the optimiser in
:mod:`bagshift.solvers.coupled_logistic`.

Learning from counts by likelihood is known [2]_ [3]_; its coupling with a labelled source is a
proposal of this library.

References
----------
.. [1] TGPLM, Acta Electronica Sinica 41(11), 2013, equation (7).
.. [2] Y. Zhang, N. Charoenphakdee, Z. Wu, M. Sugiyama. Learning from aggregate observations.
   Advances in Neural Information Processing Systems 33, 2020.
.. [3] V. Shukla, Z. Zeng, K. Ahmed, G. Van den Broeck. A unified approach to count-based weakly
   supervised learning. Advances in Neural Information Processing Systems 36, 2023.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._class_count_fit import mean_features, softmax_problem, solve_from
from bagshift.estimators._class_scores import normalise
from bagshift.estimators._class_training import ClassTraining, read_classes
from bagshift.estimators._class_units import ClassUnits, class_units
from bagshift.estimators._count_starts import (
    End,
    best_end,
    starts_of,
    warn_about,
)
from bagshift.estimators._count_units import CountUnits, count_units
from bagshift.estimators._feature_space import ColumnScale, FeatureSpace, standardize
from bagshift.estimators._fit_report import fit_report
from bagshift.estimators._kernel_machine import TransferKernelMachine
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.estimators._threads import n_threads_of
from bagshift.estimators._training import TrainingData
from bagshift.exceptions import warn_caller
from bagshift.solvers import LinearMachine
from bagshift.solvers.coupled_logistic import (
    CoupledLogisticProblem,
    CoupledLogisticResult,
    Machines,
    solve_coupled_logistic,
)
from bagshift.solvers.coupled_softmax import CoupledSoftmaxResult

Floats = NDArray[np.float64]


class CountLikelihoodClassifier(LogisticMachine, TransferKernelMachine):
    r"""Logistic classifier trained on the count of positives in every bag.

    Learns from bags of target rows with known shares and, when given, from labelled history of a
    similar domain. The problem solved stands in the module
    :mod:`bagshift.estimators.count_likelihood`.

    Parameters
    ----------
    C_source : float, default=1.0
        Factor on the log loss of each source row. Zero is not the same as no source: its machine
        then learns nothing, but the coupling still ties the target machine to it.
    C_target : float, default=64.0
        Factor on the log-likelihood of the count of each bag and of each labelled target row.
        Without a source the machine is the most probable one when C_target times the kernel of a
        row with itself is the prior variance of its score.
    coupling : float, default=1.0
        Strength :math:`\lambda` of the pull between the two machines: 0 leaves them separate,
        ``numpy.inf`` makes them one. Inactive without a source.
    kernel : {"auto", "linear", "rbf", "poly", "precomputed"} or callable, default="auto"
        Kernel of both machines; "auto" is "linear" for sparse rows and "rbf" for dense ones.
        "precomputed" takes rows of the kernel matrix of all training rows, source rows first.
        Kernels other than "linear" go through a low-rank map, see `n_components`.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly", as in :class:`TGPLM`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns of both domains together. "auto" does so for dense
        rows when the largest standard deviation of a column is more than a hundred times the
        middle one, or the centres of the columns lie far apart; sparse rows and precomputed
        kernels are never standardised.
    n_components : int or None, default=1000
        Rows that span the features of a kernel other than "linear", half of them drawn from each
        domain (Nyström). With as many landmarks as rows the kernel is exact; None takes all.
    start : {"auto", "source", "inverse_calibration"}, default="auto"
        Where the optimiser starts; "source" needs a source. "auto" starts from the source machine
        and from inverse calibration (without a source: from inverse calibration and its mirror
        image) and, where the ends differ, takes the one that is likelier on held-out bags. Equal
        shares without a source start from the axis along which rows of a bag differ most.
    tol : float, default=1e-6
        The optimiser stops when the gradient is this small relative to the weights.
    max_iter : int, default=500
        Limit on steps of the optimiser from each start.
    n_jobs : int or None, default=None
        Threads for the likelihood, over bags; the result does not depend on it.
    random_state : int or RandomState, default=0
        For the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    intercept_, source_intercept_ : ndarray of shape (1,)
        Intercepts :math:`b_c` and :math:`b_h`.
    coef_, source_coef_ : ndarray of shape (1, n_features)
        Weights :math:`w_c` and :math:`w_h` on the columns as given, with a linear kernel only.
    support_vectors_ : matrix of shape (n_components, n_features)
        Landmark rows (standardised, where columns are), with other kernels.
    dual_coef_, source_dual_coef_ : ndarray of shape (1, n_components)
        Coefficients of :math:`f_c` and :math:`f_h` on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    feature_center_, feature_scale_ : ndarray of shape (n_features,)
        Centre and spread of the columns, where they were standardised and the kernel is not
        linear; with a linear kernel they are part of ``coef_`` and ``intercept_``.
    start_ : str
        The start whose end was taken: "source", "inverse_calibration", "mirrored", or "zero" when
        all labels are known and there is one minimum.
    n_iter_ : int
        Steps of the optimiser from that start.
    objective_ : float
        Value of the problem.
    gradient_norm_ : float
        Norm of its gradient.
    converged_ : bool
        Whether the optimiser reached ``tol``.
    fit_report_ : dict
        Which solver was taken ("passes" over chunks of many dense rows, "newton" on all rows at
        once), for how many source rows, target rows and units, on how many components of a map,
        and, where rows are many, how far its inner products are from the kernel (root mean square
        over pairs of rows, relative to the kernel of a row with itself).
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    CountLikelihoodCV : Chooses the parameters by whole-bag cross-validation.
    TGPLM : The same coupling with inverse calibration.

    Notes
    -----
    The problem is not convex unless every label is known, and what is found depends on the start.
    Probabilities are the model's own: sigma of the score, or the softmax of the scores of more
    than two classes, which sum to zero (:mod:`bagshift.solvers.coupled_softmax`). Counts of many
    rows of many classes are then approximate (:mod:`bagshift.solvers.class_counts`), and
    ``start="auto"`` is the source machine where there is one, else inverse calibration.

    References
    ----------
    Regulariser and coupling: TGPLM, Acta Electronica Sinica 41(11), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, CountLikelihoodClassifier
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(400) < 0.4  # never shown to the machine
    >>> X = rng.normal(size=(400, 5)) + labels[:, None]
    >>> bag_ids = np.repeat(np.arange(50), 8)
    >>> shares = {k: labels[bag_ids == k].mean() for k in range(50)}
    >>> machine = CountLikelihoodClassifier(kernel="linear", C_target=1.0)
    >>> machine = machine.fit(X, Bags.from_arrays(bag_ids, shares))
    >>> bool(machine.score(X, labels.astype(int)) > 0.85)
    True
    """

    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LogisticMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "coupling": [Interval(Real, 0.0, None, closed="both")],
        "start": [StrOptions({"auto", "source", "inverse_calibration"})],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 64.0,
        coupling: float = 1.0,
        *,
        kernel: Any = "auto",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: Any = "auto",
        n_components: int | None = 1000,
        start: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.coupling = coupling
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.standardize = standardize
        self.n_components = n_components
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; plain labels make it logistic regression.
        source : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When a bag was cut, or its number is impossible.
        KernelMemoryError
            When the features of the kernel would not fit into memory.
        ValueError
            When the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When ``max_iter`` steps did not reach ``tol``.
        ReversedScoresWarning
            When, without a source and with ``start="auto"``, the bags do not tell a machine from
            its mirror image.
        """
        self._check_parameters()
        given = read_classes(self, X, y, source=source, sample_weight=sample_weight)
        if isinstance(given, ClassTraining):
            return self._fit_classes(given)
        self._check_learnable(given)
        units = count_units(given)
        scale = self._column_scale(given)
        data = standardize(given, scale)
        space = self._space(data)
        end = self._solve(data, units, space)
        self._store(data, units.orientation, space, scale, end)
        warn_about(end, has_source=data.n_source > 0 and self.C_source > 0)
        return self

    # Training -----------------------------------------------------------------------------

    def _fit_classes(self, given: ClassTraining) -> Self:
        """Train the machine of more than two classes."""
        view = given.against_rest(0)
        self._check_learnable(view)
        units = class_units(given)
        scale = self._column_scale(view)
        data = given if scale is None else given.standardized(scale)
        space = self._space(data.against_rest(0))
        source = None
        if data.n_source:
            source = space.transform(data.X_source, data.X_source.dtype)
        target = space.transform(units.rows_from(data.X_target), data.X_target.dtype)
        problem = softmax_problem(self, data, units, source, target)
        start = self._class_start(data, units)
        means = None
        if start == "inverse_calibration":
            mapped = None if space.feature_map is None else space.transform
            means = mean_features(data, mapped)
        result = solve_from(start, self, data, problem, means)
        self._store_classes(data, space, scale, start, result)
        if not result.converged:
            warn_caller(
                f"The optimiser stopped after {result.n_iter} steps; set a higher max_iter.",
                ConvergenceWarning,
            )
        return self

    def _class_start(self, data: ClassTraining, units: ClassUnits) -> str:
        if units.is_labelled:
            return "zero"
        if self.start != "auto":
            return self.start
        return "source" if data.n_source and self.C_source > 0 else "inverse_calibration"

    def _store_classes(
        self,
        data: ClassTraining,
        space: FeatureSpace,
        scale: ColumnScale | None,
        start: str,
        result: CoupledSoftmaxResult,
    ) -> None:
        parts = [clone(self) for _ in data.classes]
        for place, part in enumerate(parts):
            part.n_features_in_ = self.n_features_in_
            own = result.machines.of_class(place)
            part._store_machine(data, space, "", own.target, scale)
            if data.n_source:
                part._store_machine(data, space, "source_", own.source, scale)
        self._begin(data, space.kernel)
        self._stack(parts)
        self.start_, self.n_iter_ = start, result.n_iter
        self.objective_, self.gradient_norm_ = result.objective, result.gradient_norm
        self.converged_ = result.converged
        self.fit_report_ = fit_report(data.against_rest(0), "newton", space, is_plain=True)

    def _chances(self, scores: Floats) -> Floats:
        return normalise(softmax(scores, axis=1), scores)

    def _check_learnable(self, data: TrainingData) -> None:
        """Refuse data that this machine cannot learn from; a search asks before it begins."""
        if self.start == "source" and data.n_source == 0 and data.bags.n_bags:
            raise ValueError('start="source" needs labelled history; give it as source=.')
        super()._check_learnable(data)

    def _solve(self, data: TrainingData, units: CountUnits, space: FeatureSpace) -> End:
        source = None
        if data.n_source:
            source = space.transform(data.X_source, data.X_source.dtype)
        target = space.transform(units.rows_from(data.X_target), data.X_target.dtype)
        problem = self._problem(data, units, source, target)
        # With all labels known the minimum is one, and two more of Newton's steps make it exact.
        tol = min(self.tol, 1e-10) if units.is_labelled else self.tol

        def solve(
            part: CoupledLogisticProblem, start: Machines, loosest: float
        ) -> CoupledLogisticResult:
            return solve_coupled_logistic(
                part, start=start, tol=max(tol, loosest), max_iter=self.max_iter
            )

        return best_end(problem, starts_of(self, problem, units), solve)

    def _problem(
        self, data: TrainingData, units: CountUnits, source: Any, target: Any
    ) -> CoupledLogisticProblem:
        """Return the problem on features of the source rows and of the rows of the units."""
        return CoupledLogisticProblem(
            source_features=source,
            source_signs=units.source_signs,
            source_costs=self.C_source * data.source_weight,
            target_features=target,
            counts=units.counts,
            bag_costs=self.C_target * units.weights,
            coupling=float(self.coupling),
            n_threads=n_threads_of(self.n_jobs),
        )

    def _store(
        self,
        data: TrainingData,
        orientation: float,
        space: FeatureSpace,
        scale: ColumnScale | None,
        end: End,
    ) -> None:
        """Turn the solution into fitted attributes, with scores towards ``classes_[1]``."""
        self._begin(data, space.kernel)
        result, machines = end.result, end.result.machines
        self.start_ = end.start
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.gradient_norm_ = result.gradient_norm
        self.converged_ = result.converged
        by_passes = result.n_passes > 0
        solver = "passes" if by_passes else "newton"
        self.fit_report_ = fit_report(data, solver, space, is_plain=not by_passes)
        parts = {"": machines.target}
        if data.n_source:
            parts["source_"] = machines.source
        for prefix, machine in parts.items():
            oriented = LinearMachine(
                orientation * machine.weights, orientation * machine.intercept
            )
            self._store_machine(data, space, prefix, oriented, scale)

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=True)
