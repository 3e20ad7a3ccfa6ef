# SPDX-License-Identifier: BSD-3-Clause
r"""TGPLM, the transfer group-probabilities learning machine.

A source SVM :math:`f_h` on labelled history and an inverse-calibrated SVM :math:`f_c` [2]_ on bags
with known shares are coupled [1]_:

.. math::

    \min\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + C_h\sum_i \omega_i\,[1 - y_i f_h(x_i)]_+
    + C_c\sum_k \omega_k\,\bigl[|f_c(m_k) - t_k| - \varepsilon_k\bigr]_+
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)

with :math:`m_k` the mean feature vector of bag :math:`k` and :math:`t_k` the logit of its clipped
share. Labelled target rows, when there are any, add :math:`C_c\sum_j [1 - y_j f_c(z_j)]_+`. The
dual is one convex quadratic program in one signed variable per source row and bag; see
:mod:`bagshift.solvers.coupled_qp`. Misprints of the paper that are corrected here:

* equation (8): the linear term of the source variables is -1, printed as 0;
* equation (8): the source block carries :math:`yy^\top/\lambda`, printed as the scalar
  :math:`1/\lambda`;
* equation (8): the letter :math:`y` in the linear term of the bag variables is the bag's logit,
  :math:`\varepsilon` the vector of tube widths, and the constraint vector called :math:`f` is
  not the decision function;
* equation (18) gives :math:`w_c` only; :math:`w_h` follows by exchanging the two domains;
* equation (19) lacks the tube :math:`\mp\varepsilon_k` and a rule for the case that no variable is
  free; :math:`b_h = b_c + \sum_i z_i/\lambda` (sum over source rows) is not given;
* "the" bias of the constraints is :math:`b_c`, and the Lagrangian's :math:`x_j` is :math:`x_i`;
* the program has n + 2d variables (n + d in signed form), the text counts n + d;
* with large :math:`\lambda` both machines tend to the pooled machine, not to the source SVM;
* the tube :math:`\varepsilon' p(1-p)` is probably a misprint of :math:`\varepsilon' / (p(1-p))`:
  see ``tube``.

References
----------
.. [1] TGPLM, Acta Electronica Sinica 41(11), 2013, equations (7) to (19).
.. [2] S. Rueping, SVM classifier estimation from group probabilities, ICML 2010.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from bagshift.estimators._base import BagTags, SigmoidProbabilities
from bagshift.estimators._coupled import Losses, hinge_loss
from bagshift.estimators._in_bags import InBagPosteriors
from bagshift.estimators._inverse_calibrated_loss import CALIBRATION_CONSTRAINTS, bag_loss
from bagshift.estimators._kernel_machine import TransferKernelMachine
from bagshift.estimators._scalable import ScalableMachine
from bagshift.estimators._training import TrainingData


class TGPLM(SigmoidProbabilities, InBagPosteriors, TransferKernelMachine, ScalableMachine):
    r"""Transfer group-probabilities learning machine.

    Learns from bags of target rows with known shares and, when given, from labelled history of a
    similar domain. The problem solved and the corrected misprints stand in the module
    :mod:`bagshift.estimators.tgplm`.

    Parameters
    ----------
    C_source : float, default=1.0
        Cost of a unit of slack of a source row; multiplies a sum over rows, as in the paper.
    C_target : float, default=4.0
        Cost of a unit of slack of a bag or a labelled target row; multiplies a sum.
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
    tube : {"product", "quotient", "constant"}, default="product"
        The tube that the mean score of a bag of share p should lie in, from ``epsilon`` = e:
        logit(p) plus or minus e p (1 - p) as printed in the paper; the scores of a tolerance e
        in share, logit(p - e) to logit(p + e); or logit(p) plus or minus e.
    epsilon : float, optional
        Size of the tube; default 0.1 for "product" and "constant", 0.01 for "quotient".
    clip : {"auto", "bag"} or float, default="auto"
        Shares are kept this far from 0 and 1, in the logit and in the "product" tube: "auto" is
        one over the number of target rows but at least 0.001, "bag" is half an individual of each
        bag; both at most 1/4.
    bag_weight : {"equal", "size"}, default="equal"
        Whether every bag costs the same, as in the paper, or in proportion to its size.
    score_scale : float, default=1.0
        Factor on the bags' logits and tubes; 1 is the paper. Probabilities undo it.
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
    intercept_, source_intercept_ : ndarray of shape (1,)
        Biases :math:`b_c` and :math:`b_h`.
    intercept_interval_ : tuple of float
        All values of :math:`b_c` that are optimal with the weights found, up to `tol`; a single
        point when a dual variable is strictly between its bounds and, for a bag, not zero.
    coef_, source_coef_ : ndarray of shape (1, n_features)
        Weights :math:`w_c` and :math:`w_h`, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision functions are expanded on, with other kernels.
    dual_coef_, source_dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of :math:`f_c` and :math:`f_h` on them.
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
    InverseCalibrationSVM : The target machine alone.
    SourceSVM : The source machine alone.

    Notes
    -----
    As the coupling grows from 0 to infinity the machine goes from the inverse-calibrated SVM with
    an unrelated source SVM to one pooled machine. Probabilities come from the same inverse
    calibration: the score of a bag's mean is fitted to the logit of its share, so sigma of a
    row's score (over ``score_scale``) is read as its probability; being fitted to means, it is
    cautious for single rows.

    References
    ----------
    TGPLM, Acta Electronica Sinica 41(11), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import TGPLM, Bags
    >>> rng = np.random.default_rng(0)
    >>> X_history = rng.normal(size=(60, 2)) + np.repeat([[-1, -1], [1, 1]], 30, axis=0)
    >>> y_history = np.repeat([0, 1], 30)
    >>> labels = rng.random(80) < np.repeat(rng.random(10), 8)  # never shown to the machine
    >>> X = rng.normal(size=(80, 2)) + np.where(labels, 1.5, -0.5)[:, None]
    >>> bag_ids = np.repeat(np.arange(10), 8)
    >>> shares = {k: labels[bag_ids == k].mean() for k in range(10)}
    >>> bags = Bags.from_arrays(bag_ids, shares)
    >>> machine = TGPLM(gamma="paper").fit(X, bags, source=(X_history, y_history))
    >>> bool(machine.score(X, labels.astype(int)) > 0.8)
    True
    """

    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScalableMachine._parameter_constraints,
        **CALIBRATION_CONSTRAINTS,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "coupling": [Interval(Real, 0.0, None, closed="both")],
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
        tube: str = "product",
        epsilon: float | None = None,
        clip: Any = "auto",
        bag_weight: str = "equal",
        score_scale: float = 1.0,
        solver: str = "auto",
        feature_map: str = "nystroem",
        n_components: Any = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
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
        self.tube = tube
        self.epsilon = epsilon
        self.clip = clip
        self.bag_weight = bag_weight
        self.score_scale = score_scale
        self.solver = solver
        self.feature_map = feature_map
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _select(self, data: TrainingData) -> TrainingData:
        if data.n_source and not data.n_target_units:
            raise ValueError(
                "TGPLM needs bags or labelled rows of the target beside the source; use SourceSVM "
                "to learn from the source alone."
            )
        return data

    def _losses(self, data: TrainingData) -> Losses:
        return Losses(
            hinge_loss(data.source_signs, self.C_source * data.source_weight),
            [
                bag_loss(self, data, self.C_target, score_scale=self.score_scale),
                hinge_loss(data.labelled_signs, self.C_target * data.labelled_weight),
            ],
            coupling=self.coupling if data.source_contrasts else 0.0,
        )

    def _score_scale(self) -> float:
        return float(self.score_scale)

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=True)
