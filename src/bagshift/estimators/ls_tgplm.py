# SPDX-License-Identifier: BSD-3-Clause
r"""LSTGPLM, the least-squares transfer group-probabilities machine, for any number of classes.

TGPLM's two machines, coupled as there, with squared losses in place of hinge and tube. For each
output, one of two classes and :math:`C` of :math:`C > 2` classes,

.. math::

    \min\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + \tfrac{C_h}2\sum_i \omega_i\,(y_i - f_h(x_i))^2
    + \tfrac{C_c}2\sum_k \omega_k\,(t_k - f_c(m_k))^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)

with :math:`m_k` the mean feature vector of bag :math:`k`. The target :math:`t_k` of a bag is the
logit of its clipped share, and of more classes the centred log-ratio of its clipped shares,

.. math::

    t_{kc} = \log p_{kc} - \frac1{C-1}\sum_{c' \ne c}\log p_{kc'} ;

source rows, and labelled target rows, have :math:`y_{ic} = 1` for their class and
:math:`-1/(C-1)` for the others. The targets of a unit sum to zero over the classes, and so do the
scores of any row, by linearity; two classes are the case :math:`f_1 = -f_0`.

One linear system serves all classes (:mod:`bagshift.solvers.coupled_least_squares`): more classes
are more right-hand sides. From its inverse follows what each bag's target exceeds its score by
under the machine trained without the bag, exactly, without training again.

References
----------
.. [1] J. A. K. Suykens, J. Vandewalle, Least squares support vector machine classifiers, Neural
   Processing Letters 9, 1999.
.. [2] TGPLM, Acta Electronica Sinica 41(11), 2013, for the coupling.
.. [3] S. Rueping, SVM classifier estimation from group probabilities, ICML 2010.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from bagshift.calibration import (
    centred_log_ratio,
    class_codes,
    class_probabilities,
    inverse_calibrate,
)
from bagshift.estimators._base import BagTags, SigmoidProbabilities, log_odds
from bagshift.estimators._class_scores import normalise
from bagshift.estimators._class_training import ClassTraining, read_classes
from bagshift.estimators._coupled import finite_gram, row_coefficients
from bagshift.estimators._in_bags import InBagPosteriors
from bagshift.estimators._inverse_calibrated_loss import CALIBRATION_CONSTRAINTS, bag_weights
from bagshift.estimators._kernel_machine import TransferKernelMachine, one_or_more
from bagshift.estimators._training import TrainingData
from bagshift.exceptions import warn_caller
from bagshift.kernels import require_gram
from bagshift.solvers import (
    CoupledLeastSquaresProblem,
    CoupledLeastSquaresResult,
    solve_coupled_least_squares,
)

Floats = NDArray[np.float64]

# Scores that are further from what the solution says than this part of the largest target are
# not to be relied upon.
_TOLERANCE = 1e-3


class LSTGPLM(SigmoidProbabilities, InBagPosteriors, TransferKernelMachine):
    r"""Least-squares transfer group-probabilities machine.

    Learns from bags of target rows with known shares and, when given, from labelled history of a
    similar domain: TGPLM with squared losses, solved by one factorisation for any number of
    classes. The problem solved stands in the module :mod:`bagshift.estimators.ls_tgplm`.

    Parameters
    ----------
    C_source : float, default=1.0
        Cost of half the squared error of a source row; multiplies a sum over rows.
    C_target : float, default=4.0
        Cost of half the squared error of a bag or a labelled target row; multiplies a sum.
    coupling : float, default=0.125
        Strength :math:`\lambda` of the pull between the two machines: 0 leaves them separate,
        ``numpy.inf`` makes them one. Inactive without a source.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of both machines. "precomputed" takes rows of the kernel matrix of all training
        rows, source rows first.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly". "scale" is 1 / (n_features * X.var()) over both domains,
        "paper" is 1 / s with s the squared mean norm of the source rows, or of the target rows
        when there is no source.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    clip : {"auto", "bag"} or float, default="auto"
        Shares are kept this far from 0 and 1 in the targets: "auto" is one over the number of
        target rows but at least 0.001, "bag" is half an individual of each bag; both at most 1/4.
    bag_weight : {"equal", "size"}, default="equal"
        Whether every bag costs the same or in proportion to its size.
    score_scale : float, default=1.0
        Factor on the bags' targets. Probabilities undo it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes, sorted. Scores of two grow towards the second.
    positive_class_ : label
        Of two classes, the one that shares are of.
    intercept_, source_intercept_ : ndarray of shape (n_outputs,)
        Biases :math:`b_c` and :math:`b_h`; there is one output for two classes, and one for each
        of more.
    coef_, source_coef_ : ndarray of shape (n_outputs, n_features)
        Weights :math:`w_c` and :math:`w_h`, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision functions are expanded on, with other kernels: all that
        are in a unit.
    dual_coef_, source_dual_coef_ : ndarray of shape (n_outputs, n_support)
        Coefficients of :math:`f_c` and :math:`f_h` on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    objective_ : float or ndarray of shape (n_classes,)
        Value of the problem, of each of more than two classes.
    score_error_ : float
        How far scores of units are from what the solution of the system says of them: rounding.
    leave_one_bag_out_ : ndarray of shape (n_bags,) or (n_bags, n_classes)
        What each bag's target exceeds the mean score of its rows by under the machine trained
        without the bag, with the same kernel, clipping and weights.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    TGPLM : The machine of the paper, with hinge and tube.
    CountLikelihoodClassifier : The count likelihood on the same coupling.

    Notes
    -----
    The kernel matrix of all source rows, bags and labelled rows is kept in memory twice. With few
    of them the factorisation takes no time beside it; it grows with their number cubed.

    Every zero among the shares of more than two classes moves the targets of all of them: raise
    ``clip`` where many bags miss classes. A class that the source has no row of is taken there for
    one that none of its rows is of, and the coupling carries that over.

    References
    ----------
    J. A. K. Suykens, J. Vandewalle, Least squares support vector machine classifiers, Neural
    Processing Letters 9, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import LSTGPLM, Bags
    >>> rng = np.random.default_rng(0)
    >>> X_history = rng.normal(size=(60, 2)) + np.repeat([[-1, -1], [1, 1]], 30, axis=0)
    >>> y_history = np.repeat([0, 1], 30)
    >>> labels = rng.random(80) < np.repeat(rng.random(10), 8)  # never shown to the machine
    >>> X = rng.normal(size=(80, 2)) + np.where(labels, 1.5, -0.5)[:, None]
    >>> bag_ids = np.repeat(np.arange(10), 8)
    >>> shares = {k: labels[bag_ids == k].mean() for k in range(10)}
    >>> bags = Bags.from_arrays(bag_ids, shares)
    >>> machine = LSTGPLM().fit(X, bags, source=(X_history, y_history))
    >>> bool(machine.score(X, labels.astype(int)) > 0.8)
    True
    >>> machine.leave_one_bag_out_.shape
    (10,)
    """

    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransferKernelMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "coupling": [Interval(Real, 0.0, None, closed="both")],
        "clip": CALIBRATION_CONSTRAINTS["clip"],
        "bag_weight": CALIBRATION_CONSTRAINTS["bag_weight"],
        "score_scale": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 4.0,
        coupling: float = 0.125,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        clip: Any = "auto",
        bag_weight: str = "equal",
        score_scale: float = 1.0,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.coupling = coupling
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.clip = clip
        self.bag_weight = bag_weight
        self.score_scale = score_scale

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; plain labels make it an ordinary least-squares classifier.
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
            When a bag was cut, for example by a plain KFold.
        KernelMemoryError
            When two kernel matrices would not fit into memory; raised before they are allocated.
        ValueError
            When the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When costs are so high that rounding decides about the scores.
        """
        self._check_parameters()
        data = read_classes(self, X, y, source=source, sample_weight=sample_weight)
        if data.n_source and not data.n_target_units:
            raise ValueError(
                "LSTGPLM needs bags or labelled rows of the target beside the source; use "
                "SourceSVM to learn from the source alone."
            )
        return self._train(data)

    def _train(self, data: TrainingData | ClassTraining) -> Self:
        """Train on all outputs at once."""
        # The units are the same for all classes.
        units = data.against_rest(0) if isinstance(data, ClassTraining) else data
        kernel = self._kernel(units)
        require_gram(data.n_source, data.n_target_units, np.float64, n_kernels=2)
        problem = self._problem(data, finite_gram(kernel, units))
        result = solve_coupled_least_squares(problem)
        self._begin(data, kernel)
        self._store(units, result)
        if not result.score_error <= _TOLERANCE * np.abs(problem.targets).max(initial=1.0):
            warn_caller(
                f"Rounding moves scores by {result.score_error:.2g}; lower the costs, or scale "
                "the features.",
                ConvergenceWarning,
            )
        return self

    def _problem(
        self, data: TrainingData | ClassTraining, gram: NDArray[Any]
    ) -> CoupledLeastSquaresProblem:
        """Return the least-squares problem of all units and outputs."""
        costs = [
            self.C_source * data.source_weight,
            self.C_target * bag_weights(data.bags, self.bag_weight),
            self.C_target * data.labelled_weight,
        ]
        return CoupledLeastSquaresProblem(
            gram=gram,
            n_source=data.n_source,
            targets=_targets(data, self.clip, self.score_scale),
            costs=np.concatenate(costs),
            coupling=self.coupling if data.n_source else 0.0,
        )

    def _store(self, units: TrainingData, result: CoupledLeastSquaresResult) -> None:
        """Turn the solution into fitted attributes."""
        self.leave_one_bag_out_ = one_or_more(result.left_out_residuals[: units.bags.n_bags])
        objective = result.objective
        self.objective_ = float(objective[0]) if len(objective) == 1 else objective
        self.score_error_ = result.score_error
        self.intercept_ = result.intercept_target
        coefficients = {"": _by_row(result.target_coefficients, units)}
        if units.n_source:
            self.source_intercept_ = result.intercept_source
            coefficients["source_"] = _by_row(result.source_coefficients, units)
        self._store_expansion(units, coefficients)

    def _chances(self, scores: Floats) -> Floats:
        return normalise(class_probabilities(log_odds(self, scores)), scores)

    def _score_scale(self) -> float:
        return float(self.score_scale)

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=True)


def _targets(data: TrainingData | ClassTraining, clip: Any, scale: float) -> Floats:
    """Return the wanted scores of all units: of the second of two classes, or of each of more."""
    bags = data.bags
    settings: dict[str, Any] = {
        "clip": clip,
        "sizes": bags.sizes,
        "n_rows": len(bags),
        "noisy": bags.is_noisy,
    }
    if isinstance(data, ClassTraining):
        ratios = centred_log_ratio(data.class_shares, **settings)
        source, rows = data.source_codes, data.labelled_codes
        of_source, of_rows = class_codes(source, data.n_classes), class_codes(rows, data.n_classes)
        return np.concatenate([of_source, scale * ratios, of_rows])
    logits = inverse_calibrate(data.shares, **settings).centres
    return np.concatenate([data.source_signs, scale * logits, data.labelled_signs])[:, None]


def _by_row(unit_coefficients: Floats, units: TrainingData) -> Floats:
    """Return coefficients of all rows, of shape (n_outputs, n_rows)."""
    return np.array([row_coefficients(column, units) for column in unit_coefficients.T])
