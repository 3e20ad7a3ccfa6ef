# SPDX-License-Identifier: BSD-3-Clause
r"""The support vector machine on the true labels of the target, a ceiling for benchmarks.

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2 + C\sum_j \omega_j\,[1 - y_j(w^\top\varphi(z_j) + b)]_+

with the label :math:`y_j` of every target row, which no user of this library has: who has them
needs no shares. In a table of methods it stands for what better use of shares could reach at most.
It is the machine of :class:`bagshift.SourceSVM` on other rows, the solution that of scikit-learn's
``SVC``.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import CoupledMachine, labelled_rows_problem
from bagshift.estimators._training import TrainingData
from bagshift.exceptions import plural
from bagshift.solvers import CoupledProblem


class TrueLabelSVM(CoupledMachine):
    """Support vector machine on target labels that no user has, for benchmarks only.

    The ceiling beside which methods that see shares are shown; never a method of its own. The
    problem solved stands in the module :mod:`bagshift.estimators.true_label_svm`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack of a row; multiplies a sum.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between rows; "precomputed" takes the kernel matrix of the rows.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly": 1 / (n_features * X.var()), 1 over the squared mean norm
        of the rows, or the number given.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations; -1 is none.

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
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    SourceSVM : The floor, the same machine on labelled history.

    Notes
    -----
    ``fit(X, y)`` takes plain labels, or ``Bags.unlabelled(n_rows).with_labels(y)``; bags with
    shares and a source are refused. Its tag ``needs_target_labels`` keeps it out of comparisons
    in which every method is given shares.

    Columns are taken as they are, and one of large values outweighs the others: scale them first,
    as in a Pipeline with StandardScaler. What is compared with this ceiling must be on columns of
    the same scale; many methods standardise theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import TrueLabelSVM
    >>> X, y = np.array([[1.0], [1.5], [3.0], [3.5]]), np.array([0, 0, 1, 1])
    >>> TrueLabelSVM(kernel="linear").fit(X, y).score(X, y)
    1.0
    """

    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR.
        y : array-like of shape (n_rows,) or Bags
            The true label of every row, plain or as
            ``Bags.unlabelled(n_rows).with_labels(labels)``; bags with shares are refused.
        source : None
            Refused: this machine learns from the labels of the target alone.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the slack of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        KernelMemoryError
            When the kernel matrix would not fit into memory; raised before it is allocated.
        ValueError
            When the label of a row is not known, or a source is given, or the arguments do not fit
            together.

        Warns
        -----
        ConvergenceWarning
            When the solver stopped before its end.
        """
        return super().fit(X, y, source=source, sample_weight=sample_weight)

    def _select(self, data: TrainingData) -> TrainingData:
        if data.n_source:
            raise ValueError(
                "TrueLabelSVM learns from the true labels of the target alone; leave source= out."
            )
        n_rows = len(data.bags)
        n_unknown = n_rows - len(data.labelled_rows)
        if n_unknown:
            raise ValueError(
                f"TrueLabelSVM needs the true label of every target row, and {n_unknown:,} of "
                f"{plural(n_rows, 'row')} have none; give labels as y, or use a method that "
                "learns from shares."
            )
        if not data.knows_both_classes:
            raise ValueError(
                "TrueLabelSVM needs labels of both classes, and these rows hold one class only."
            )
        return data

    def _problem(self, data: TrainingData, gram: NDArray[Any]) -> CoupledProblem:
        return labelled_rows_problem(data, gram, self.C)

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_bags=False, needs_target_labels=True)
