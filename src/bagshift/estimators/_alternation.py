# SPDX-License-Identifier: BSD-3-Clause
r"""Alternation between a support vector machine and the labels of the rows of bags.

At a cost of slack :math:`C`, the machine is trained on the labels and the labels are chosen anew
for its scores, until they stay. Neither step raises

.. math::

    \tfrac12\|w\|^2 + C\sum_k \omega_k \sum_{j \in S_k} [1 - \hat y_j f(z_j)]_+
    + C_p\sum_k \omega_k\,\bigl[\,|n_k(\hat y) - c_k| - e_k\bigr]_+

with :math:`n_k` the number of positives in bag :math:`k`. To start with a low cost and let it rise
(annealing) makes the end depend less on the first labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._exact_counts import count_excess, label_top_counts
from bagshift.estimators._hidden_labels import HiddenLabels
from bagshift.estimators._retraining import TrainedMachine, Trainer
from bagshift.exceptions import ReversedScoresWarning, warn_caller
from bagshift.solvers import CoupledResult

Floats = NDArray[np.float64]

_FIRST_COST = 1e-4
_GROWTH = 1.5
# Objectives this near to each other do not tell a machine from its mirror image: on digits and
# breast cancer in bags of 32 to 100, no mirror image of 120 ended more than 5 % below the right
# machine.
_NEARLY_AS_LOW = 0.1


@dataclass(frozen=True, eq=False)
class End(CoupledResult):
    """Where one start led.

    Attributes
    ----------
    start : str
        Where the first labels came from.
    scores : ndarray of shape (n_target_units,)
        Scores of the target units.
    history : tuple of float
        Objective after every round at the full cost that lowered it.
    settled : bool
        Whether no other labels were better for the last scores.
    """

    start: str
    scores: Floats
    history: tuple[float, ...]
    settled: bool


@dataclass(frozen=True, eq=False)
class Rest:
    """Where alternation at one cost came to rest.

    Attributes
    ----------
    machine : TrainedMachine
        Trained on the last labels.
    history : tuple of float
        Objective after every round that lowered it.
    settled : bool
        Whether no other labels were better for the last scores.
    """

    machine: TrainedMachine
    history: tuple[float, ...]
    settled: bool


class Alternation:
    """The problem that is solved by turns, for the target rows of one fit.

    Parameters
    ----------
    data : HiddenLabels
        The rows, their bags and the wanted counts.
    cost : float
        C.
    share_cost : float
        C_p, the price of a row too many or too few.
    epsilon : float
        Distance of shares without a price.
    max_rounds : int
        Largest number of times that the machine is trained at one cost.
    """

    def __init__(
        self,
        data: HiddenLabels,
        *,
        cost: float,
        share_cost: float,
        epsilon: float,
        max_rounds: int,
    ) -> None:
        self._cost = cost
        self._share_cost = share_cost
        self._max_rounds = max_rounds
        self._row_weights = data.labelled_weight
        self._bag_weights = data.given.bags.weights
        self._hidden = data.hidden
        self._bag_index = data.bag_of_unit[data.hidden]
        self._counts = data.counts
        self._slack = epsilon * data.given.bags.rows_per_bag
        is_exact = share_cost == np.inf and epsilon == 0
        self.has_choice = data.has_choice if is_exact else len(data.hidden) > 0
        self._walked: set[tuple[float, bytes]] = set()

    def relabel(self, signs: Floats, scores: Floats, cost: float | None = None) -> Floats:
        """Return the best labels for scores of the target units.

        Parameters
        ----------
        signs, scores : ndarray of shape (n_target_units,)
            Labels so far, of which the known ones stay; and scores.
        cost : float, optional
            Cost of slack, if not the full one.

        Returns
        -------
        ndarray of shape (n_target_units,)
        """
        relabelled = signs.copy()
        relabelled[self._hidden] = label_top_counts(
            scores[self._hidden],
            self._bag_index,
            self._counts,
            price=self._share_cost / (self._cost if cost is None else cost),
            slack=self._slack,
            previous=signs[self._hidden],
        )
        return relabelled

    def anneal(self, signs: Floats, trainer: Trainer, start: str) -> End | None:
        """Alternate at rising costs.

        Parameters
        ----------
        signs : ndarray of shape (n_target_units,)
            First labels.
        trainer : Trainer
            New, on the kernel matrix of the target units.
        start : str
            Where the labels come from; "" where there is nothing to guess, and nothing to anneal.

        Returns
        -------
        End or None
            None where an earlier start came by with the same labels.
        """
        rest: Rest | None = None
        for cost in costs_up_to(self._cost) if start else [self._cost]:
            rest = self.settle(signs, cost, trainer, rest)
            signs = rest.machine.signs
            if not rest.machine.result.converged:
                break
            place = (cost, signs.tobytes())
            if place in self._walked:
                return None
            self._walked.add(place)
        assert rest is not None
        of_result = {
            **vars(rest.machine.result),
            "objective": rest.history[-1],
            "n_iter": trainer.n_iter,
        }
        return End(
            **of_result,
            start=start,
            scores=rest.machine.scores,
            history=rest.history,
            settled=rest.settled,
        )

    def settle(self, signs: Floats, cost: float, trainer: Trainer, before: Rest | None) -> Rest:
        """Alternate at one cost of slack.

        Parameters
        ----------
        signs : ndarray of shape (n_target_units,)
            First labels.
        cost : float
        trainer : Trainer
        before : Rest or None
            Where a lower cost ended.

        Returns
        -------
        Rest
        """
        costs, is_last = cost * self._row_weights, cost == self._cost
        after = None if before is None else before.machine
        machine = trainer.train(signs, costs, after=after, exactly=is_last)
        history, settled = [self._objective(machine)], False
        while machine.result.converged:
            relabelled = self.relabel(machine.signs, machine.scores, cost)
            settled = np.array_equal(relabelled, machine.signs)
            if settled or len(history) == self._max_rounds:
                break
            attempt = trainer.train(relabelled, costs, after=machine, exactly=is_last)
            objective = self._objective(attempt)
            if not objective < history[-1]:
                # Scores that differ by less than the solver's tolerance would swap for ever.
                settled = attempt.result.converged
                break
            machine = attempt
            history.append(objective)
        return Rest(machine, tuple(history), settled)

    def _objective(self, machine: TrainedMachine) -> float:
        """Return the value of the whole problem; counts that hold have no price."""
        value = machine.result.objective
        if self._share_cost == np.inf or not len(self._hidden):
            return value
        signs = machine.signs[self._hidden]
        excess = count_excess(signs, self._bag_index, self._counts, self._slack)
        return value + self._share_cost * float(self._bag_weights @ excess)


def costs_up_to(last: float) -> list[float]:
    """Return rising costs of slack, from a ten-thousandth of the last one on."""
    n_steps = math.ceil(math.log(1.0 / _FIRST_COST) / math.log(_GROWTH))
    return [last / _GROWTH**k for k in range(n_steps, 0, -1)] + [last]


def choose_end(ends: list[End], source_scores: Floats | None) -> End:
    """Return the lowest end; among nearly as low ones one that points the way of the source.

    Parameters
    ----------
    ends : list of End
    source_scores : ndarray of shape (n_target_units,) or None
        Scores of the target units by a machine of the source.

    Returns
    -------
    End

    Warns
    -----
    ReversedScoresWarning
        When ends nearly as low point the other way and there is no source to ask.
    """
    best = min(ends, key=lambda end: end.objective)
    rivals = [end for end in ends if end.objective <= (1.0 + _NEARLY_AS_LOW) * best.objective]
    if not best.converged or all(_agrees(end.scores, best.scores) for end in rivals):
        return best
    if source_scores is None:
        warn_caller(
            "The shares fit this machine and one that points the other way about equally well, so "
            "which class is which may be the wrong way round: give labelled history as source=, "
            "some labelled rows, or bags whose shares differ more.",
            ReversedScoresWarning,
        )
        return best
    alike = [end for end in rivals if _agrees(end.scores, source_scores)]
    return min(alike, key=lambda end: end.objective, default=best)


def _agrees(scores: Floats, others: Floats) -> bool:
    """Tell whether two machines rank rows alike rather than opposite."""
    return bool((scores - scores.mean()) @ (others - others.mean()) >= 0)
