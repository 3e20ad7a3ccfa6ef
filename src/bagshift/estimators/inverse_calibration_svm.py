# SPDX-License-Identifier: BSD-3-Clause
r"""The inverse-calibrated support vector machine (IC-SVM, InvCal).

A support vector regression on bags: the score of a bag's mean feature vector :math:`m_k` is fitted
to the logit :math:`t_k` of its share [1]_,

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2 + C\sum_k \omega_k\,
    \bigl[|w^\top m_k + b - t_k| - \varepsilon_k\bigr]_+ ,

whose dual is the target block of the coupled program in :mod:`bagshift.solvers.coupled_qp`. With a
constant tube it is epsilon-SVR on the bags' mean kernel.

References
----------
.. [1] S. Rueping, SVM classifier estimation from group probabilities, ICML 2010.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from bagshift.estimators._base import BagTags, SigmoidProbabilities
from bagshift.estimators._coupled import Losses, hinge_loss
from bagshift.estimators._in_bags import InBagPosteriors
from bagshift.estimators._inverse_calibrated_loss import CALIBRATION_CONSTRAINTS, bag_loss
from bagshift.estimators._scalable import ScalableMachine
from bagshift.estimators._training import TrainingData


class InverseCalibrationSVM(SigmoidProbabilities, InBagPosteriors, ScalableMachine):
    r"""Support vector machine trained on the shares of bags.

    The problem solved stands in the module :mod:`bagshift.estimators.inverse_calibration_svm`.

    Parameters
    ----------
    C : float, default=4.0
        Cost of a unit of slack of a bag or a labelled row; multiplies a sum.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between rows; "precomputed" takes the kernel matrix of the rows.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly": 1 / (n_features * X.var()), 1 over the squared mean norm
        of the rows, or the number given.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    tube : {"product", "quotient", "constant"}, default="product"
        The tube that the mean score of a bag of share p should lie in, from ``epsilon`` = e:
        logit(p) plus or minus e p (1 - p); the scores of a tolerance e in share, logit(p - e) to
        logit(p + e); or logit(p) plus or minus e.
    epsilon : float, optional
        Size of the tube; default 0.1 for "product" and "constant", 0.01 for "quotient".
    clip : {"auto", "bag"} or float, default="auto"
        Shares are kept this far from 0 and 1, in the logit and in the "product" tube: "auto" is
        one over the number of rows but at least 0.001, "bag" is half an individual of each
        bag; both at most 1/4.
    bag_weight : {"equal", "size"}, default="equal"
        Whether every bag costs the same or in proportion to its size.
    solver : {"auto", "exact", "newton", "coordinate"}, default="auto"
        "exact" computes the kernel matrix of all units. The others solve the same program on
        explicit features, the columns themselves with a linear kernel, else a low-rank map of
        the kernel: "newton" by Newton's method, for dense rows; "coordinate" by dual coordinate
        descent, for sparse or very wide ones. "auto" is exact up to 10,000 units and says in
        ``fit_report_`` what it took.
    feature_map : {"nystroem", "fourier"}, default="nystroem"
        Map of a kernel other than "linear", where one is taken: through landmark rows, half of
        them drawn from each domain, or through random frequencies, for "rbf" only, which need no
        rows.
    n_components : "auto", int or None, default="auto"
        Landmarks, or features of the frequencies. "auto" is 300 up to 20,000 rows and 1,000
        beyond; with as many landmarks as rows the kernel is exact, and None takes all.
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations, which are passes over all units where features are
        explicit; -1 is none.
    n_jobs : int or None, default=None
        Threads for passes over explicit features; the result does not depend on it.
    random_state : int or RandomState, default=0
        For the choice of landmarks or frequencies.

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
    n_iter_ : int
        Iterations of the solver.
    objective_ : float
        Value of the primal problem.
    dual_gap_ : float
        Primal minus dual value; an upper bound on the distance to the optimum.
    converged_ : bool
        Whether the solver reached ``tol``.
    fit_report_ : dict
        Which solver was taken, for how many source rows, target rows and units, on how many
        components of a map, and how far its inner products are from the kernel (root mean square
        over pairs of rows, relative to the kernel of a row with itself).
    frequencies_ : ndarray of shape (n_features, n_components / 2)
        Of a Fourier map; ``coef_`` then holds the weights of its cosines and sines.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    TGPLM : The same machine coupled with one for labelled history.

    Notes
    -----
    The sign of the machine rests on the bags alone: with few bags of nearly equal shares it may
    come out reversed. With all shares equal it is a constant, and a warning says so.

    References
    ----------
    S. Rueping, SVM classifier estimation from group probabilities, ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, InverseCalibrationSVM
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> bags = Bags.from_arrays(["a", "a", "b", "b", "c", "c"], {"a": 0.0, "b": 0.5, "c": 1.0})
    >>> InverseCalibrationSVM(kernel="linear").fit(X, bags).predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScalableMachine._parameter_constraints,
        **CALIBRATION_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 4.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tube: str = "product",
        epsilon: float | None = None,
        clip: Any = "auto",
        bag_weight: str = "equal",
        solver: str = "auto",
        feature_map: str = "nystroem",
        n_components: Any = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tube = tube
        self.epsilon = epsilon
        self.clip = clip
        self.bag_weight = bag_weight
        self.solver = solver
        self.feature_map = feature_map
        self.n_components = n_components
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
            Rows in bags, dense or CSR.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; plain labels make it an ordinary support vector machine.
        source : None
            Refused: this machine learns from bags alone.
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
            When a source is given, or the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When the solver stopped before its end.
        """
        return super().fit(X, y, source=source, sample_weight=sample_weight)

    def _select(self, data: TrainingData) -> TrainingData:
        if data.n_source:
            raise ValueError(
                "InverseCalibrationSVM learns from bags alone and cannot use source rows; leave "
                "them out, or use TGPLM."
            )
        return data

    def _losses(self, data: TrainingData) -> Losses:
        return Losses(
            hinge_loss(data.source_signs, data.source_weight),
            [
                bag_loss(self, data, self.C),
                hinge_loss(data.labelled_signs, self.C * data.labelled_weight),
            ],
            coupling=0.0,
        )

    def _bag_tags(self) -> BagTags:
        return BagTags()
