# SPDX-License-Identifier: BSD-3-Clause
r"""The coupled quadratic program of two support vector machines.

Two linear machines :math:`f_h = \langle w_h, \cdot\rangle + b_h` (source) and
:math:`f_c = \langle w_c, \cdot\rangle + b_c` (target) are fitted together on *units*. A unit has a
feature vector :math:`\varphi_i` (of a labelled row, or the mean over the rows of a bag), a target
:math:`t_i`, a tube half-width :math:`\varepsilon_i` and a box :math:`[L_i, U_i]` around 0:

.. math::

    \min_{w, b}\ \tfrac12\|w_h\|^2 + \tfrac12\|w_c\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr) + \sum_i \ell_i(f(\varphi_i)),
    \qquad
    \ell_i(f) = \max\bigl(0,\ U_i(t_i - \varepsilon_i - f),\ L_i(t_i + \varepsilon_i - f)\bigr).

The box chooses the loss: :math:`[0, C]` and :math:`[-C, 0]` with :math:`t = \pm1` and no tube are
the hinge loss of a labelled unit, :math:`[-C, C]` is the tube loss of a bag. The dual in signed
variables :math:`z`, with the raw Gram matrix :math:`K` of the units, is

.. math::

    \min_z\ \tfrac12 z^\top Q z - t^\top z + \sum_i \varepsilon_i |z_i|
    \quad\text{s.t.}\quad \sum_i z_i = 0,\quad L \le z \le U,

.. math::

    Q_{ij} = \rho_1 K_{ij} + \tfrac1\lambda\ \text{(source, source)},\qquad
    \rho_1 K_{ij}\ \text{(target, target)},\qquad \rho_2 K_{ij}\ \text{(across)},
    \qquad \rho_1 = \tfrac{1+\lambda}{1+2\lambda},\ \rho_2 = \tfrac{\lambda}{1+2\lambda}.

The machines follow as :math:`w_c = \rho_2 u + \rho_1 v`, :math:`w_h = \rho_1 u + \rho_2 v` with
:math:`u` and :math:`v` the sums of :math:`z_i \varphi_i` over source and target units;
:math:`b_c` is the multiplier of the equality and :math:`b_h = b_c + \tfrac1\lambda\sum z_i` over
source units. This is the dual of TGPLM in the variables :math:`\theta = \alpha - \alpha^*`, one
for each bag where the paper has two.

The program is solved by sequential minimal optimisation with second-order working sets
[1]_, as in LIBSVM, with an exact search across the kink of :math:`|z_i|`. Where that goes on for
long, it takes turns with Newton's method on the free variables, those strictly inside their box
and, with a tube, not zero: among these the program is one linear system, solved by its Cholesky
factor, and variables that meet a bound on the way are held there (a primal active-set method).

References
----------
.. [1] R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information for
   training support vector machines. Journal of Machine Learning Research 6, 2005.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift import _core
from bagshift.solvers._checks import check_gram, to_vector

__all__ = ["CoupledProblem", "CoupledResult", "coupling_weights", "solve_coupled"]

Array = NDArray[np.float64]

# As in LIBSVM: "no limit" still ends.
_LEAST_ITERATION_LIMIT = 10_000_000
_ITERATIONS_PER_UNIT = 100

# The weights then differ from those of separate machines by less than rounding.
NEGLIGIBLE_COUPLING = 1e-15


@dataclass(frozen=True, eq=False)
class CoupledProblem:
    """The data of one coupled quadratic program; see the module for its formula.

    Parameters
    ----------
    gram : ndarray of shape (m, m), float64 or float32
        Raw Gram matrix of the units, source units first; symmetric, positive semidefinite. The
        entries of a row must be adjacent in memory: C order, or a square cut out of such an array.
    n_source : int
        Number of source units, from 0 to ``m``. With 0 or ``m`` there is one machine and
        `coupling` plays no part.
    targets : ndarray of shape (m,), float64
        -1 or +1 on labelled units, calibrated score on bags.
    half_widths : ndarray of shape (m,), float64
        Half-width of the tube in score units, at least 0; 0 on labelled units.
    lower, upper : ndarray of shape (m,), float64
        Box of each dual variable, ``lower <= 0 <= upper``: ``[0, C]`` for label +1, ``[-C, 0]``
        for label -1, ``[-C, C]`` for a bag. Units with ``lower == upper == 0`` are left out.
    coupling : float
        Weight λ of the distance between the machines, from 0 (two separate machines; so is
        anything below 1e-15) to ``inf`` (one machine, with the sum of both regularisers).

    Raises
    ------
    ValueError, TypeError
        When shapes do not fit, numbers are not finite, or a value is outside its range.
    """

    gram: NDArray[np.float64] | NDArray[np.float32]
    n_source: int
    targets: Array
    half_widths: Array
    lower: Array
    upper: Array
    coupling: float
    # Survives dataclasses.replace, so that problems on one matrix look through it once.
    _checked_gram: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self._checked_gram is not self.gram:
            check_gram(self.gram)
            object.__setattr__(self, "_checked_gram", self.gram)
        m = self.gram.shape[0]
        for name in ("targets", "half_widths", "lower", "upper"):
            object.__setattr__(self, name, to_vector(name, getattr(self, name), m))
        if not 0 <= self.n_source <= m:
            raise ValueError(f"n_source must be from 0 to {m}, the size of gram: {self.n_source}.")
        if not self.coupling >= 0:
            raise ValueError(f"coupling must be a number from 0 to inf: {self.coupling}.")
        if self.half_widths.min() < 0:
            raise ValueError("half_widths must not be negative.")
        if self.lower.max() > 0 or self.upper.min() < 0:
            raise ValueError("Every box must contain 0: lower <= 0 <= upper.")

    @property
    def has_two_machines(self) -> bool:
        """Whether there are source and target units."""
        return 0 < self.n_source < self.targets.size

    @property
    def is_apart(self) -> bool:
        """Whether there are two machines that nothing couples, each with its own equality."""
        return self.has_two_machines and self.coupling < NEGLIGIBLE_COUPLING


@dataclass(frozen=True, eq=False)
class CoupledResult:
    """Solution of a :class:`CoupledProblem`.

    Parameters
    ----------
    dual : ndarray of shape (m,)
        Signed dual variables z.
    n_source : int
        Number of source units.
    within, across : float
        Weights ρ₁ and ρ₂ with which a unit enters its own machine and the other one.
    intercept_target, intercept_source : float
        Intercepts b of the two machines. Not unique when no dual variable is strictly inside its
        box and, for a bag, not zero: then the middle of the interval of optimal values, or its
        finite end, or 0. With one machine both are its intercept.
    intercept_interval, intercept_source_interval : tuple of float
        Lowest and highest optimal intercept, up to `tol`; may be infinite.
    objective, dual_objective : float
        Value of the primal problem at the machines that z stands for, and of the dual (to be
        maximised) at z.
    dual_gap : float
        ``objective - dual_objective``, summed unit by unit and so exact where the difference
        would vanish in rounding. At least 0; bounds the distance of either from the optimum.
    kkt_gap : float
        Largest violation of optimality, in score units; below `tol` when converged.
    gap_bound : float
        ``tol`` times the summed widths of the boxes: what `dual_gap` cannot exceed on convergence.
    n_iter : int
        Iterations: pairs of variables moved.
    n_newton : int
        How many times Newton's method was called.
    converged : bool
        Whether `status` is ``"optimal"``.
    status : {"optimal", "max_iter", "stalled"}
        ``"stalled"``: `tol` is finer than double precision resolves on this problem.
    """

    dual: Array
    n_source: int
    within: float
    across: float
    intercept_target: float
    intercept_source: float
    intercept_interval: tuple[float, float]
    intercept_source_interval: tuple[float, float]
    objective: float
    dual_objective: float
    dual_gap: float
    kkt_gap: float
    gap_bound: float
    n_iter: int
    n_newton: int
    converged: bool
    status: str

    @property
    def target_coefficients(self) -> Array:
        """Weights of the units in the target machine, shape (m,)."""
        return self._coefficients(self.across, self.within)

    @property
    def source_coefficients(self) -> Array:
        """Weights of the units in the source machine, shape (m,)."""
        return self._coefficients(self.within, self.across)

    def _coefficients(self, on_source: float, on_target: float) -> Array:
        weighted = np.empty_like(self.dual)
        np.multiply(self.dual[: self.n_source], on_source, out=weighted[: self.n_source])
        np.multiply(self.dual[self.n_source :], on_target, out=weighted[self.n_source :])
        return weighted


def coupling_weights(coupling: float) -> tuple[float, float]:
    """Weights ρ₁ and ρ₂ of a unit in its own machine and in the other one.

    Parameters
    ----------
    coupling : float
        λ, from 0 to ``inf``.

    Returns
    -------
    within, across : float
        ``(1 + λ) / (1 + 2λ)`` and ``λ / (1 + 2λ)``.

    Examples
    --------
    >>> coupling_weights(0.0), coupling_weights(float("inf"))
    ((1.0, 0.0), (0.5, 0.5))
    """
    if coupling == 0:
        return 1.0, 0.0
    across = 1.0 / (2.0 + 1.0 / coupling)
    return 1.0 - across, across


def iteration_limit(max_iter: int, m: int) -> int:
    """Return the number of iterations that a limit stands for, given `m` units.

    Parameters
    ----------
    max_iter : int
        -1 for no limit, which still ends.
    m : int

    Returns
    -------
    int
    """
    return max(_LEAST_ITERATION_LIMIT, _ITERATIONS_PER_UNIT * m) if max_iter < 0 else max_iter


def solve_coupled(
    problem: CoupledProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    start: ArrayLike | None = None,
    newton: bool = True,
) -> CoupledResult:
    """Solve a coupled quadratic program.

    The interpreter lock is released while solving, and Ctrl-C is heard.

    Parameters
    ----------
    problem : CoupledProblem
        The program.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to accept, in score units.
    max_iter : int, default=-1
        Largest number of iterations; -1 stands for ``max(10_000_000, 100 * m)``.
    start : ndarray of shape (m,), default=None
        Dual variables to begin from, such as ``result.dual`` of a similar problem. Clipped into
        the boxes and moved onto the equality constraint; None begins from 0.
    newton : bool, default=True
        Whether Newton's method on the free variables may take turns with sequential minimal
        optimisation. The solution is the same within `tol`; False is for comparison. It takes
        memory for a matrix over the free variables, at most 128 MB.

    Returns
    -------
    CoupledResult

    Raises
    ------
    ValueError
        When `tol` is not positive or `start` does not fit the problem.

    Examples
    --------
    >>> import numpy as np
    >>> positions = np.array([-1.0, 1.0])
    >>> problem = CoupledProblem(
    ...     gram=np.outer(positions, positions),
    ...     n_source=0,
    ...     targets=np.array([-1.0, 1.0]),
    ...     half_widths=np.zeros(2),
    ...     lower=np.array([-1.0, 0.0]),
    ...     upper=np.array([0.0, 1.0]),
    ...     coupling=0.0,
    ... )
    >>> result = solve_coupled(problem)
    >>> result.dual, result.objective
    (array([-0.5,  0.5]), 0.5)
    """
    if not 0 < tol < math.inf:
        raise ValueError(f"tol must be a positive number: {tol}.")
    m = problem.targets.shape[0]
    limit = iteration_limit(max_iter, m)
    if start is not None:
        start = to_vector("start", start, m)
    if problem.is_apart:
        return _solve_apart(problem, tol, limit, start, newton)
    return _solve_whole(problem, tol, limit, start, newton)


def _solve_whole(
    problem: CoupledProblem, tol: float, limit: int, start: Array | None, newton: bool
) -> CoupledResult:
    """All units in one program: two coupled machines, or only one."""
    n_source = problem.n_source if problem.has_two_machines else 0
    weights = coupling_weights(problem.coupling if n_source else 0.0)
    solution = _run_core(problem, slice(None), n_source, weights, tol, limit, start, newton)
    shift = solution.intercept_shift
    low, high = solution.intercept_low, solution.intercept_high
    return _make_result(
        problem,
        tol,
        solution,
        weights=weights,
        dual=solution.dual,
        intercepts=(solution.intercept, solution.intercept + shift),
        intervals=((low, high), (low + shift, high + shift)),
    )


@dataclass(frozen=True)
class _Both:
    """What the core says of two programs, taken together."""

    objective: float
    dual_objective: float
    dual_gap: float
    violation: float
    n_iter: int
    n_newton: int
    status: _core.Status


def _solve_apart(
    problem: CoupledProblem, tol: float, limit: int, start: Array | None, newton: bool
) -> CoupledResult:
    """Two machines that share nothing, each with its own equality constraint."""
    weights = coupling_weights(0.0)
    n = problem.n_source
    source = _run_core(problem, slice(None, n), 0, weights, tol, limit, start, newton)
    target = _run_core(
        problem, slice(n, None), 0, weights, tol, max(limit - source.n_iter, 0), start, newton
    )
    both = _Both(
        objective=target.objective + source.objective,
        dual_objective=target.dual_objective + source.dual_objective,
        dual_gap=target.dual_gap + source.dual_gap,
        violation=max(target.violation, source.violation),
        n_iter=target.n_iter + source.n_iter,
        n_newton=target.n_newton + source.n_newton,
        status=source.status if target.status == _core.Status.optimal else target.status,
    )
    return _make_result(
        problem,
        tol,
        both,
        weights=weights,
        dual=np.concatenate([source.dual, target.dual]),
        intercepts=(target.intercept, source.intercept),
        intervals=(
            (target.intercept_low, target.intercept_high),
            (source.intercept_low, source.intercept_high),
        ),
    )


def _run_core(
    problem: CoupledProblem,
    units: slice,
    n_source: int,
    weights: tuple[float, float],
    tol: float,
    limit: int,
    start: Array | None,
    newton: bool,
) -> _core.CoreSolution:
    return _core.solve_coupled(
        gram=problem.gram[units, units],
        n_source=n_source,
        targets=problem.targets[units],
        half_widths=problem.half_widths[units],
        lower=problem.lower[units],
        upper=problem.upper[units],
        within=weights[0],
        across=weights[1],
        inverse_coupling=1.0 / problem.coupling if n_source else 0.0,
        guess=None if start is None else start[units],
        tol=tol,
        max_iter=limit,
        use_newton=newton,
    )


def _make_result(
    problem: CoupledProblem,
    tol: float,
    solution: _core.CoreSolution | _Both,
    *,
    weights: tuple[float, float],
    dual: Array,
    intercepts: tuple[float, float],
    intervals: tuple[tuple[float, float], tuple[float, float]],
) -> CoupledResult:
    return CoupledResult(
        dual=dual,
        n_source=problem.n_source,
        within=weights[0],
        across=weights[1],
        intercept_target=intercepts[0],
        intercept_source=intercepts[1],
        intercept_interval=intervals[0],
        intercept_source_interval=intervals[1],
        objective=solution.objective,
        dual_objective=solution.dual_objective,
        dual_gap=solution.dual_gap,
        kkt_gap=solution.violation,
        gap_bound=tol * float((problem.upper - problem.lower).sum()),
        n_iter=solution.n_iter,
        n_newton=solution.n_newton,
        converged=solution.status == _core.Status.optimal,
        status=solution.status.name,
    )
