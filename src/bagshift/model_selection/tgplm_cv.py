# SPDX-License-Identifier: BSD-3-Clause
"""TGPLM that chooses its costs, coupling and kernel width on held-out bags."""

from __future__ import annotations

from typing import Any, ClassVar

from bagshift.estimators._in_bags import InBagPosteriors
from bagshift.estimators.tgplm import TGPLM
from bagshift.model_selection._search_cv import BagSearchCV, search_constraints


class TGPLMCV(InBagPosteriors, BagSearchCV):
    """TGPLM with parameters chosen by the shares of held-out bags.

    Whole bags are held out in turn, and the setting with the smallest share error on them is
    trained on everything. No label of a target row is needed.

    Parameters
    ----------
    grid : {"quick", "full", "paper"}, dict of str to list, or list of such, default="quick"
        Values of the parameters of :class:`~bagshift.TGPLM` to compare, as for
        ``ParameterGrid``; those not named keep the values given here, or the defaults of TGPLM.
        The named grids vary `C_source`, `C_target`, `coupling` and the width of the RBF kernel in
        units that mean the same at any number of rows and any feature scale, "paper" in those of
        the paper; see :func:`~bagshift.path_search`.
    cv : splitter, int or iterable of (train, test), default=None
        How bags are held out; None: ``BagKFold(10)`` with a fixed shuffle, repeated three times
        below thirty bags, and leave-one-bag-out below ten. A number is that of the folds.
    one_standard_error : bool, default=False
        Take the most regular machine among those whose score is within one standard error of
        the best: that with the smallest `C_target`, then the largest coupling, the smallest
        `C_source` and the smallest gamma.
    max_rows : int, default=None
        Compare settings on a sample of at most so many rows of each domain, the bags of the
        target whole, and train the chosen one on all rows; see :func:`~bagshift.path_search`.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel of both machines. "precomputed" takes rows of the kernel matrix of all training
        rows, source rows first.
    gamma : {"auto", "scale", "paper"} or float, default="auto"
        Coefficient of "rbf" and "poly". With "auto" the named grids vary that of "rbf", and it
        is "scale" otherwise; any other value stays as it is unless a dict of `grid` names it.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    tube : {"product", "quotient", "constant"}, default="product"
        Shape of the tube around a bag's logit, as in :class:`~bagshift.TGPLM`.
    epsilon : float, optional
        Size of the tube; default 0.1 for "product" and "constant", 0.01 for "quotient".
    clip : {"auto", "bag"} or float, default="auto"
        How far shares are kept from 0 and 1 before the logit, as in :class:`~bagshift.TGPLM`.
    bag_weight : {"equal", "size"}, default="equal"
        Whether every bag costs the same, or in proportion to its size.
    score_scale : float, default=1.0
        Factor on the bags' logits and tubes; 1 is the paper. Probabilities undo it.
    solver : {"auto", "exact", "newton", "coordinate"}, default="auto"
        As in :class:`~bagshift.TGPLM`, for the search as well: "auto" takes the kernel matrix up
        to 10,000 source rows and bags, and explicit features beyond.
    feature_map : {"nystroem", "fourier"}, default="nystroem"
        Map of a kernel other than "linear", where one is taken.
    n_components : "auto", int or None, default="auto"
        Components of the map. "auto" is 300 in the search, and as in TGPLM in the chosen machine.
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations; -1 is none.
    n_jobs : int or None, default=None
        Folds worked on at the same time, in threads unless a joblib backend is in force. The
        result does not depend on it.
    random_state : int or RandomState, default=0
        For the map and the sample of `max_rows`.
    progress : callable, "bar" or None, default=None
        Called as ``progress(done, total)`` during the search; "bar" draws a bar on the standard
        error stream. A function is left out of pickles and model files.

    Attributes
    ----------
    best_estimator_ : TGPLM
        The machine with the chosen parameters, trained on everything. Its fitted attributes
        (``coef_``, ``intercept_``, ``support_vectors_``, ``n_iter_``, ``converged_``, ...) are
        attributes of the search as well.
    best_params_ : dict
        The chosen values, as ``TGPLM.set_params`` takes them.
    best_score_ : float
        Their score: the mean over folds of 1 - share error - 1e-6 * soft share error.
    best_index_ : int
        Their place in the arrays of ``cv_results_``.
    cv_results_ : dict of str to array
        Scores of all settings as ``GridSearchCV.cv_results_`` has them, with
        "mean_share_error", "mean_soft_share_error" and "converged".
    n_splits_ : int
        Number of folds; 0 when there was no bag to hold out, and then there is no
        ``cv_results_``, ``best_score_`` or ``best_index_``.
    search_report_ : dict
        What settings were compared on: source rows, target rows and bags, the solver and
        the number of components of a map.
    C_source_, C_target_, coupling_ : float
        Values of the chosen machine.
    gamma_ : float
        Coefficient of its kernel, with "rbf" and "poly".
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    TGPLM : The machine itself.
    path_search : The same search for other machines and for Pipelines.

    Notes
    -----
    A share error of zero does not make the rows right: any exchange of labels within a bag has
    the same error. The criterion is sound if bags are exchangeable. ``best_score_`` is the best
    of many and therefore somewhat optimistic; for an honest number hold out bags around the
    search, as ``cross_val_score(TGPLMCV(), X, bags, cv=BagKFold(5))`` does.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import TGPLMCV, Bags
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, size=120)
    >>> X = rng.normal(size=(120, 2)) + 3 * labels[:, None]
    >>> bag_ids = np.arange(120) // 6
    >>> bags = Bags.from_arrays(bag_ids, dict(enumerate(labels.reshape(-1, 6).mean(axis=1))))
    >>> source = rng.normal(size=(50, 2)) + np.repeat([0, 3], 25)[:, None], np.repeat([0, 1], 25)
    >>> search = TGPLMCV(kernel="linear", cv=5).fit(X, bags, source=source)
    >>> sorted(search.best_params_)
    ['C_source', 'C_target', 'coupling']
    >>> search.score(X, labels) > 0.95
    True
    """

    _machine_class: ClassVar[type[Any]] = TGPLM
    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = search_constraints(TGPLM)

    def __init__(
        self,
        grid: Any = "quick",
        cv: Any = None,
        *,
        one_standard_error: bool = False,
        max_rows: int | None = None,
        kernel: Any = "rbf",
        gamma: Any = "auto",
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
        progress: Any = None,
    ) -> None:
        self.grid = grid
        self.cv = cv
        self.one_standard_error = one_standard_error
        self.max_rows = max_rows
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
        self.progress = progress
