# SPDX-License-Identifier: BSD-3-Clause
r"""Proportion matching: the mean probability of a bag is to be its share.

The loss of deep learning from label proportions [1]_ on a linear machine. With
:math:`\bar h_k = \frac{1}{m_k} \sum_{j \in S_k} \sigma(f_c(z_j))` the mean probability over the
:math:`m_k` rows of a bag,

.. math::

    \min_{w_h, b_h, w_c, b_c}\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)
    + C_h \sum_i \omega_i \log\bigl(1 + e^{-y_i f_h(x_i)}\bigr)
    - C_c \sum_k \omega_k m_k \bigl(p_k \log \bar h_k + (1 - p_k) \log(1 - \bar h_k)\bigr).

Regulariser and coupling are those of TGPLM; without a source :math:`w_h` and the coupling play no
part. A bag of one is a labelled row of logistic regression. The problem is not convex with larger
bags; its derivatives stand in :mod:`bagshift.solvers.score_losses`, the optimiser in
:mod:`bagshift.solvers.linear_heads`.

The loss sees of a bag its mean probability alone, while the count of the bag says more
(:mod:`bagshift.estimators.count_likelihood`): many machines have the right mean in every bag, and
where none of them is the true one, the best of them need not classify well.

References
----------
.. [1] E. M. Ardehaly, A. Culotta. Co-training for demographic classification using deep learning
   from label proportions. ICDM Workshops, 2017.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._kernel_machine import TransferKernelMachine
from bagshift.estimators._linear_head import (
    LinearHead,
    Prepared,
    Trained,
    calibrated_machine,
    source_machine,
)
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.estimators._training import TrainingData
from bagshift.solvers.linear_heads import HeadProblem, Machines, solve_heads
from bagshift.solvers.score_losses import (
    LossBlocks,
    MeanProbabilityLoss,
    ScoreLoss,
    TargetedLogistic,
    cross_entropy,
)

# With all labels known the minimum is one, and two more of Newton's steps make it exact.
_EXACT = 1e-10


class ProportionMatching(LinearHead, TransferKernelMachine):
    r"""Logistic classifier whose mean probability in every bag matches its share.

    Learns from bags of target rows with known shares and, when given, from labelled history of a
    similar domain. The problem solved stands in the module
    :mod:`bagshift.estimators.proportion_matching`.

    Parameters
    ----------
    C_source : float, default=1.0
        Factor on the log loss of each source row.
    C_target : float, default=64.0
        Factor on the cross-entropy of each bag, which is multiplied by its number of rows, and on
        the log loss of each labelled target row.
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
        Whether to centre and scale the columns, as in :class:`CountLikelihoodClassifier`.
    n_components : int or None, default=1000
        Rows that span the features of a kernel other than "linear" (Nyström), half of them drawn
        from each domain; None takes all.
    start : {"auto", "source", "inverse_calibration"}, default="auto"
        Where the optimiser starts: from logistic regression on the source, or from a regression of
        the logits of shares on bag means. "auto" takes the lower end of both, without a source
        that of the second.
    tol : float, default=1e-6
        The optimiser stops when the gradient is this small relative to the weights.
    max_iter : int, default=500
        Limit on steps of the optimiser from each start.
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
        linear.
    start_ : str
        The start whose end was taken: "source", "inverse_calibration", or "zero" when all labels
        are known and there is one minimum.
    n_iter_ : int
        Steps of the optimiser from that start.
    objective_ : float
        Value of the problem.
    gradient_norm_ : float
        Norm of its gradient.
    converged_ : bool
        Whether the optimiser reached ``tol``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    CountLikelihoodClassifier : The same coupling with the likelihood of the counts.
    BagCSI : One machine for both domains, with a term that compares them.

    Notes
    -----
    Noise laws of shares play no part: a noisy share is clipped to [0, 1].

    Without a source, which class is which rests on the differences between the shares of bags
    alone, and with equal shares all rows get one score. The loss has no second minimum to be
    warned of: on random bags of 8 to 64 rows of digits and of breast cancer, the mirror image of
    the start led back to a machine of the same direction, or to one that fits far worse. Few bags
    whose shares hardly differ can still point the wrong way.

    References
    ----------
    E. M. Ardehaly, A. Culotta, Co-training for demographic classification using deep learning from
    label proportions, ICDM Workshops 2017. Cited from memory. The linear machine, the factor of
    the number of rows and the coupling with a source are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, ProportionMatching
    >>> history = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> X = np.array([[0.0], [0.2], [3.0], [0.1], [2.8], [3.1]])
    >>> bags = Bags.from_arrays(["a", "a", "a", "b", "b", "b"], counts={"a": 1, "b": 2})
    >>> machine = ProportionMatching(kernel="linear").fit(X, bags, source=history)
    >>> machine.predict(X)
    array([0, 0, 1, 0, 1, 1])
    >>> bags.bag_means(machine.predict_proba(X)[:, 1]).round(2)
    array([0.38, 0.63])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LogisticMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "coupling": [Interval(Real, 0.0, None, closed="both")],
        "start": [StrOptions({"auto", "source", "inverse_calibration"})],
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
        self.random_state = random_state

    def _check_learnable(self, data: TrainingData) -> None:
        if self.start == "source" and data.n_source == 0 and data.bags.n_bags:
            raise ValueError('start="source" needs labelled history; give it as source=.')
        super()._check_learnable(data)

    def _train(self, ready: Prepared) -> Trained:
        problem = self._problem(ready)
        is_labelled = bool(np.all(ready.rows.bags.sizes == 1))
        tol = min(self.tol, _EXACT) if is_labelled else self.tol
        ends = {
            name: solve_heads(problem, start=start, tol=tol, max_iter=self.max_iter)
            for name, start in self._starts(ready, is_labelled).items()
        }
        best = min(ends, key=lambda name: ends[name].objective)
        return Trained(ends[best], {"start_": best})

    def _problem(self, ready: Prepared) -> HeadProblem:
        """Return the problem on the features of both domains."""
        rows, data = ready.rows, ready.data
        loss: ScoreLoss = MeanProbabilityLoss(
            rows.bags, self.C_target * rows.weights, cross_entropy
        )
        if data.n_source:
            labels = 0.5 * (1.0 + data.source_signs)
            of_source = TargetedLogistic(labels, self.C_source * data.source_weight)
            loss = LossBlocks((of_source, loss), (data.n_source, len(rows.rows)))
        return HeadProblem(
            ready.target_features, loss, ready.source_features, float(self.coupling)
        )

    def _starts(self, ready: Prepared, is_labelled: bool) -> dict[str, Machines | None]:
        """Return where to start, by name."""
        if is_labelled:
            return {"zero": None}
        starts: dict[str, Machines | None] = {}
        has_source = ready.data.n_source > 0 and self.C_source > 0
        if has_source and self.start != "inverse_calibration":
            starts["source"] = source_machine(self, ready)
        if self.start != "source" or not starts:
            starts["inverse_calibration"] = calibrated_machine(self, ready)
        return starts

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=True)
