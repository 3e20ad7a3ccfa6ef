# SPDX-License-Identifier: BSD-3-Clause
r"""The support vector machine on labelled history alone.

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2 + C\sum_i \omega_i\,[1 - y_i(w^\top\varphi(x_i) + b)]_+

It is the floor that transfer has to beat. Its dual is a block of the coupled program in
:mod:`bagshift.solvers.coupled_qp`; the solution is that of scikit-learn's ``SVC``.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import Losses, labelled_rows_losses
from bagshift.estimators._scalable import ScalableMachine
from bagshift.estimators._training import TrainingData, require_one_history

Floats = NDArray[np.float64]

_CLEARANCE = 1e-9


class SourceSVM(ScalableMachine):
    """Support vector machine trained on labelled history, applied to the target.

    The problem solved stands in the module :mod:`bagshift.estimators.source_svm`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack of a row; multiplies a sum.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between rows.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly": 1 / (n_features * X.var()) of the source, 1 over the
        squared mean norm of its rows, or the number given.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    threshold : {None, "prior"}, default=None
        "prior" shifts the bias so that as many target rows of each class are predicted as the
        bags' shares say in all. It uses no more than the overall share of the target.
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
        Bias, the shift for the target's prior included.
    intercept_interval_ : tuple of float
        All biases that are optimal with the weights found, before that shift.
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
    TGPLM : The same machine coupled with one for bags.
    sklearn.svm.SVC : The same machine without bags and source.

    Notes
    -----
    Scores of a hinge loss are no logits; the machine offers no probabilities.

    Columns are taken as they are, and one of large values outweighs the others: scale them first,
    both domains together, by :func:`bagshift.stack_domains` and a Pipeline. What is compared with
    this floor must be on columns of the same scale; many methods standardise theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, SourceSVM
    >>> history = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> bags = Bags.from_arrays(["a", "a", "b", "b"], {"a": 0.0, "b": 0.5})
    >>> SourceSVM(kernel="linear").fit(X, bags, source=history).predict(X)
    array([1, 1, 1, 1])
    >>> prior = SourceSVM(kernel="linear", threshold="prior")
    >>> prior.fit(X, bags, source=history).predict(X)
    array([0, 0, 0, 1])
    """

    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ScalableMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="left")],
        "threshold": [StrOptions({"prior"}), None],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        threshold: str | None = None,
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
        self.threshold = threshold
        self.solver = solver
        self.feature_map = feature_map
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _select(self, data: TrainingData) -> TrainingData:
        require_one_history(data, "SourceSVM")
        return data.source_as_labelled() if data.n_source else data

    def _losses(self, data: TrainingData) -> Losses:
        return labelled_rows_losses(data, self.C)

    def _finish(self, data: TrainingData) -> None:
        if self.threshold is None:
            return
        rows = data.bags.rows_in_bags()
        if len(rows) == 0:
            raise ValueError('threshold="prior" needs bags with shares; y holds none.')
        wanted = round(float(data.shares @ data.bags.rows_per_bag))
        scores = self._scores(data.target_rows(rows))
        self.intercept_ = self.intercept_ - threshold_for(scores, wanted)

    def _bag_tags(self) -> BagTags:
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=self.threshold is not None,
            uses_target_labels=False,
        )


def threshold_for(scores: Floats, n_positive: int) -> float:
    """Return a threshold that ``n_positive`` of the scores exceed.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Decision values.
    n_positive : int
        How many are to lie above; with ties at the border fewer do.

    Returns
    -------
    float
        Half way between the two scores at the border; just outside all of them for none or all.
    """
    ordered = np.sort(scores)[::-1]
    # Clear of the last score, since the threshold becomes part of the bias and is rounded there.
    gap = _CLEARANCE * max(1.0, float(np.abs(scores).max()))
    if n_positive <= 0:
        return float(ordered[0] + gap)
    if n_positive >= len(ordered):
        return float(ordered[-1] - gap)
    return float(0.5 * (ordered[n_positive - 1] + ordered[n_positive]))
