# SPDX-License-Identifier: BSD-3-Clause
"""The count-likelihood machine that chooses its parameters on held-out bags."""

from __future__ import annotations

from typing import Any, ClassVar

from bagshift.estimators._in_bags import InBagPosteriors
from bagshift.estimators.count_likelihood import CountLikelihoodClassifier
from bagshift.model_selection._search_cv import BagSearchCV, search_constraints


class CountLikelihoodCV(InBagPosteriors, BagSearchCV):
    """Count-likelihood machine with parameters chosen by the numbers of held-out bags.

    Whole bags are held out in turn, and the setting that gives their published numbers the
    highest log-likelihood is trained on everything. No label of a target row is needed.

    Parameters
    ----------
    grid : {"quick", "full"}, dict of str to list, or list of such, default="quick"
        Values of the parameters of :class:`~bagshift.CountLikelihoodClassifier` to compare, as
        for ``ParameterGrid``; those not named keep the values given here, or the defaults of the
        machine. The named grids are in prior variances of a score, C times the mean squared
        length of a row in feature space, which mean the same at any number of rows and scale of
        features: "quick" has 16, 64 and 256 for `C_target`, 1 and 8 for `C_source`, couplings
        0.1, 1 and 10, both starts, and with an RBF kernel three widths; "full" has more of each.
    cv : splitter, int or iterable of (train, test), default=None
        How bags are held out; None: ``BagKFold(5)`` with a fixed shuffle, ten folds below thirty
        bags, and leave-one-bag-out below ten. A number is that of the folds.
    one_standard_error : bool, default=False
        Take the most regular machine among those whose score is within one standard error of
        the best: that with the smallest `C_target`, then the largest coupling, the smallest
        `C_source` and the smallest gamma.
    max_rows : int, default=None
        Compare settings on a sample of at most so many rows of each domain, the bags of the
        target whole, and train the chosen one on all rows; see :func:`~bagshift.path_search`.
    kernel : {"auto", "linear", "rbf", "poly", "precomputed"} or callable, default="auto"
        Kernel of both machines; "auto" is "linear" for sparse rows and "rbf" for dense ones.
    gamma : {"auto", "scale", "paper"} or float, default="auto"
        Coefficient of "rbf" and "poly". With "auto" the named grids may vary that of "rbf", and
        it is "scale" otherwise; any other value stays as it is unless a dict of `grid` names it.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns of both domains together; "auto" does so for
        dense rows whose columns are of very different scale.
    n_components : int or None, default=1000
        Rows that span the features of a kernel other than "linear"; None takes all.
    start : {"auto", "source", "inverse_calibration"}, default="auto"
        Where the optimiser starts; "auto" lets the named grids compare both where there is a
        source.
    tol : float, default=1e-6
        The optimiser stops when the gradient is this small relative to the weights.
    max_iter : int, default=500
        Limit on steps of the optimiser from each start.
    n_jobs : int or None, default=None
        Folds worked on at the same time, in threads unless a joblib backend is in force. The
        result does not depend on it.
    random_state : int or RandomState, default=0
        For the choice of landmarks and the sample of `max_rows`.
    progress : callable, "bar" or None, default=None
        Called as ``progress(done, total)`` during the search; "bar" draws a bar on the standard
        error stream. A function is left out of pickles and model files.

    Attributes
    ----------
    best_estimator_ : CountLikelihoodClassifier
        The machine with the chosen parameters, trained on everything. Its fitted attributes
        (``coef_``, ``intercept_``, ``support_vectors_``, ``start_``, ``converged_``, ...) are
        attributes of the search as well.
    best_params_ : dict
        The chosen values, as ``CountLikelihoodClassifier.set_params`` takes them.
    best_score_ : float
        Their score: the mean over folds of the mean log-likelihood of a held-out bag's number,
        bags by their weights and folds by the mean weight of their bags.
    best_index_ : int
        Their place in the arrays of ``cv_results_``.
    cv_results_ : dict of str to array
        Scores of all settings as ``GridSearchCV.cv_results_`` has them, with
        "mean_share_error", of the mean probabilities of bags, and "converged".
    n_splits_ : int
        Number of folds; 0 when there was no bag to hold out, and then there is no
        ``cv_results_``, ``best_score_`` or ``best_index_``.
    search_report_ : dict
        What settings were compared on: source rows, target rows and bags.
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
    CountLikelihoodClassifier : The machine itself.
    TGPLMCV : The same for TGPLM.
    path_search : The same search for other machines and for Pipelines.

    Notes
    -----
    The criterion is sound if bags are exchangeable. ``best_score_`` is the best of many and
    therefore somewhat optimistic; for an honest number hold out bags around the search.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, CountLikelihoodCV
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(240) < 0.4  # never shown to the machine
    >>> X = rng.normal(size=(240, 4)) + labels[:, None]
    >>> bag_ids = np.repeat(np.arange(40), 6)
    >>> shares = {k: labels[bag_ids == k].mean() for k in range(40)}
    >>> search = CountLikelihoodCV({"C_target": [0.1, 1.0, 10.0]}, cv=5, kernel="linear")
    >>> search = search.fit(X, Bags.from_arrays(bag_ids, shares))
    >>> bool(search.score(X, labels.astype(int)) > 0.8)
    True
    """

    _machine_class: ClassVar[type[Any]] = CountLikelihoodClassifier
    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = search_constraints(
        CountLikelihoodClassifier
    )

    def __init__(
        self,
        grid: Any = "quick",
        cv: Any = None,
        *,
        one_standard_error: bool = False,
        max_rows: int | None = None,
        kernel: Any = "auto",
        gamma: Any = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: Any = "auto",
        n_components: int | None = 1000,
        start: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
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
        self.standardize = standardize
        self.n_components = n_components
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
