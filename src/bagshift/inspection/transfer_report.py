# SPDX-License-Identifier: BSD-3-Clause
"""Whether the history helped or hurt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from bagshift.bags import Bags
from bagshift.estimators._training import TrainingData, read_training
from bagshift.exceptions import BagError
from bagshift.inspection._domain_distance import DomainDistance, domain_distance
from bagshift.inspection._interval import Interval
from bagshift.inspection._transfer_path import (
    TransferPoint,
    at_best_temperature,
    fit_source,
    held_out_scores,
    scores_of_fitted,
    vote_of,
)
from bagshift.inspection._transfer_text import transfer_text, warnings_of
from bagshift.model_selection._count_engine import CountEngine
from bagshift.model_selection._folds import bag_folds, bag_splits, resolve_cv
from bagshift.model_selection._search_engine import SearchEngine
from bagshift.model_selection.cross_val_predict import require_fit_arguments
from bagshift.model_selection.path_search import engine_of

__all__ = ["DomainDistance", "TransferPoint", "TransferReport", "transfer_report"]

Floats = NDArray[np.float64]

COUPLINGS = (0.0, 0.01, 0.1, 1.0, 8.0, 64.0, np.inf)


@dataclass(frozen=True)
class TransferReport:
    """What :func:`transfer_report` found; printed, it is a table.

    Attributes
    ----------
    verdict : {"helps", "no difference", "hurts"}
        Of the history at `coupling`, against no transfer.
    coupling : float
        The coupling that is judged.
    vote : Interval
        Mean vote of the bags for it, between -1 and 1: the evidence.
    calibrated_vote : Interval
        The same with the scores of either machine at the temperature that held-out bags prefer. It
        has to point the same way: else one machine was bolder than the other, and not better.
    path : tuple of TransferPoint
        Along the coupling, from 0 on.
    source_only : TransferPoint
        The machine of the source alone, which has seen no bag; its coupling is NaN.
    target_only : TransferPoint
        The machine that was given no source; its coupling is NaN. It may differ from coupling 0,
        where the source is still the start.
    best_coupling : float
        The one with the highest score on the path. It was chosen by these bags, so its score is
        somewhat optimistic.
    criterion : {"count log-likelihood", "1 - share error"}
        What the scores are.
    distance : DomainDistance
        How far the domains lie apart.
    n_bags, n_target, n_source : int
        Bags that were held out, target rows and source rows.
    level : float
        Of the intervals.
    warnings : tuple of str
        What to be careful about.
    """

    verdict: str
    coupling: float
    vote: Interval
    calibrated_vote: Interval
    path: tuple[TransferPoint, ...]
    source_only: TransferPoint
    target_only: TransferPoint
    best_coupling: float
    criterion: str
    distance: DomainDistance
    n_bags: int
    n_target: int
    n_source: int
    level: float
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return transfer_text(self)


def transfer_report(
    model: Any,
    X: Any,
    bags: Bags,
    source: tuple[Any, ...] | None = None,
    *,
    coupling: float | None = None,
    couplings: tuple[float, ...] = COUPLINGS,
    cv: Any = None,
    level: float = 0.9,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> TransferReport:
    r"""Tell whether the history helps or hurts, by bags that were held out.

    Parameters
    ----------
    model : classifier
        CountLikelihoodClassifier or TGPLM, which gives all parameters but the coupling; or a
        search over one of them, of which the chosen machine is taken, fitted first where it is
        not.
    X : array-like of shape (n_rows, n_features)
        Target rows; source rows too when `bags` comes from :func:`~bagshift.stack_domains`.
    bags : Bags of length n_rows
        The bags of the rows, at least two.
    source : tuple (X, y) or (X, y, sample_weight), default=None
        Labelled source rows; None when they are in `X`.
    coupling : float, default=None
        The coupling to judge; that of the model when None.
    couplings : tuple of float
        The path; 0 and the judged coupling are added where they are missing.
    cv : splitter, int or iterable of (train, test), default=None
        How bags are held out; the search's own way when None.
    level : float, default=0.9
        Of the intervals. Each of the wrong verdicts is given where there is no difference in half
        of what is left, one time in twenty.
    random_state : int, RandomState or None, default=0
        For the distance of the domains.
    n_jobs : int or None, default=None
        Folds worked on at the same time.

    Returns
    -------
    TransferReport

    Raises
    ------
    TypeError
        If `bags` is not a :class:`~bagshift.Bags`, or the model is of another kind.
    ValueError
        If there is no source, the coupling to judge is 0, the kernel is precomputed, or an
        argument is out of range.
    BagError
        If there are fewer than two bags, or a bag was cut.

    See Also
    --------
    estimate_accuracy : How good the predictions are.
    bagshift.path_search : Chooses the coupling.

    Notes
    -----
    Bags are held out along the coupling :math:`\lambda`, from no transfer (0) to one machine
    for both domains (infinity). With :math:`\ell_k(\lambda)` the log-likelihood of the number
    of bag :math:`k`, held out, the bag *votes* for a coupling and against none by

    .. math::

        v_k = \tanh \tfrac12 (\ell_k(\lambda) - \ell_k(0))
            = \frac{P_\lambda - P_0}{P_\lambda + P_0}.

    Votes lie between -1 and 1, so that one bag that a bold machine did not expect has one vote.
    The history *helps* where the interval of the mean vote for the machine's own coupling, by
    Student's t over bags, lies above 0; it *hurts* where it lies below, which is called
    negative transfer; between them the bags show no difference. A coupling also makes a bold
    machine more cautious, which held-out bags reward though no row is labelled better. So the
    mean vote must have the same sign when the scores of either machine are multiplied by the
    temperature, from 0 to 1, at which all held-out bags together are likeliest. Fewer than five
    bags (at the level of 90 %) show none in any case: all of them agree too often by chance.
    Machines chosen by share errors, such as TGPLM, have the share error that a bag loses for
    its vote.

    "No difference" says that these bags show none; with few bags a large one may be there.

    Measured on 600 draws of two domains of known turn with 12 bags of 8: of 188 histories that
    helped 67 were said to, and 7 to hurt; of 184 that hurt 83 were said to, and 6 to help; with 3
    bags nothing is said. ``python benchmarks/transfer_verdicts.py`` measures it again.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, CountLikelihoodClassifier
    >>> from bagshift.datasets import turned_directions
    >>> from bagshift.inspection import transfer_report
    >>> domains = turned_directions(10, angle=180, random_state=0, n_target=160)
    >>> order = np.random.default_rng(0).permutation(160)
    >>> X, labels = domains.X_target[order], domains.y_target[order]
    >>> bag_ids = np.repeat(np.arange(20), 8)
    >>> shares = {k: (labels[bag_ids == k] > 0).mean() for k in range(20)}
    >>> bags = Bags.from_arrays(bag_ids, shares)
    >>> machine = CountLikelihoodClassifier(kernel="linear", C_target=0.5, coupling=8.0)
    >>> report = transfer_report(machine, X, bags, (domains.X_source, domains.y_source))
    >>> report.verdict
    'hurts'
    """
    require_fit_arguments(model, bags, source)
    if not isinstance(level, float) or not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    if bags.n_bags < 2:
        raise BagError(f"transfer_report holds out bags and needs at least 2; got {bags.n_bags}.")
    machine = _machine_of(model, X, bags, source)
    engine = _engine_of(machine)
    given = read_training(clone(machine), X, bags, source=source)
    if not given.n_source:
        raise ValueError("transfer_report needs labelled history; give it as source=(X, y).")
    judged = _judged_coupling(machine, coupling)
    folds = bag_folds(bag_splits(resolve_cv(cv, engine.default_cv(bags)), X, bags), bags)
    path = _points_of(couplings, judged)
    machines = [clone(machine).set_params(coupling=each) for each in path]
    tempered = held_out_scores(engine, machines, given, folds, n_jobs)
    scores = tempered[:, 0]
    without = scores[0]

    def point(of: float, values: Floats) -> TransferPoint:
        seen = np.isfinite(without)
        return TransferPoint(
            of, float(np.mean(values[seen])), vote_of(engine, values, without, level)
        )

    alone = fit_source(machine, given)
    no_source = [_without_source_start(machines[0])]
    target = held_out_scores(engine, no_source, given.without_source(), folds, n_jobs)[0, 0]
    points = tuple(map(point, path, scores))
    own = points[path.index(judged)]
    cooled = at_best_temperature(tempered[path.index(judged)])
    calibrated = vote_of(engine, cooled, at_best_temperature(tempered[0]), level)
    report = TransferReport(
        verdict=_verdict(own.vote, calibrated),
        coupling=judged,
        vote=own.vote,
        calibrated_vote=calibrated,
        path=points,
        source_only=point(np.nan, scores_of_fitted(engine, alone, given)),
        target_only=point(np.nan, target),
        best_coupling=max(points, key=lambda each: each.score).coupling,
        criterion=(
            "count log-likelihood" if isinstance(engine, CountEngine) else "1 - share error"
        ),
        distance=_distance(machine, alone, given, random_state),
        n_bags=int(np.isfinite(without).sum()),
        n_target=len(given.bags),
        n_source=given.n_source,
        level=level,
    )
    return replace(report, warnings=warnings_of(report))


# What is judged ----------------------------------------------------------------------------


def _machine_of(model: Any, X: Any, bags: Bags, source: Any) -> Any:
    """Return the machine itself; of a search the chosen one."""
    if not hasattr(model, "best_estimator_") and (
        hasattr(model, "_machine_class") or hasattr(model, "param_grid")
    ):
        fit_params = {} if source is None else {"source": source}
        model = clone(model).fit(X, bags, **fit_params)
    return getattr(model, "best_estimator_", model)


def _engine_of(machine: Any) -> SearchEngine:
    if not all(hasattr(machine, name) for name in ("coupling", "C_source", "C_target")):
        raise TypeError(
            f"{type(machine).__name__} has no coupling to judge; transfer_report works with "
            "CountLikelihoodClassifier, TGPLM and searches over them."
        )
    if machine.kernel == "precomputed":
        raise ValueError(
            "transfer_report takes the domains apart and needs their rows: give these, and the "
            "kernel as a function, in place of a precomputed kernel."
        )
    return engine_of(machine)


def _judged_coupling(machine: Any, coupling: Any) -> float:
    judged = machine.coupling if coupling is None else coupling
    if not isinstance(judged, int | float) or isinstance(judged, bool) or not judged >= 0.0:
        raise ValueError(f"coupling must be a number that is not negative; got {judged!r}.")
    if judged == 0.0:
        raise ValueError(
            "this machine has coupling 0, which makes no use of the history; name the coupling to "
            "judge by coupling=."
        )
    return float(judged)


def _points_of(couplings: Any, judged: float) -> list[float]:
    values = {float(each) for each in couplings} | {0.0, judged}
    if not all(each >= 0.0 for each in values):
        raise ValueError(f"couplings must not be negative; got {couplings!r}.")
    return sorted(values)


def _without_source_start(machine: Any) -> Any:
    """Return a machine that can begin without the source."""
    if getattr(machine, "start", None) != "source":
        return machine
    return clone(machine).set_params(start="inverse_calibration")


def _verdict(vote: Interval, calibrated: Interval) -> str:
    if vote.low > 0.0 and calibrated.estimate > 0.0:
        return "helps"
    return "hurts" if vote.high < 0.0 and calibrated.estimate < 0.0 else "no difference"


def _distance(machine: Any, alone: Any, given: TrainingData, random_state: Any) -> DomainDistance:
    labels = given.classes[(given.source_signs > 0).astype(np.intp)]
    history = given.X_source, labels, given.source_weight
    without = clone(machine).set_params(coupling=0.0)
    without.fit(given.X_target, given.bags, source=history)
    agreement = np.mean(alone.predict(given.X_target) == without.predict(given.X_target))
    random = check_random_state(random_state)
    return domain_distance(given.X_source, given.X_target, float(agreement), random)
