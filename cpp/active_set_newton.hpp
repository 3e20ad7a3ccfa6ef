// SPDX-License-Identifier: BSD-3-Clause
//
// Newton's method on the free dual variables of the coupled program, those strictly inside their
// box and, with a tube, not zero. Among them the program is quadratic with linear constraints, so
// one linear system leads to its minimum; where a bound is met on the way, that unit is held there
// and the direction corrected (a primal active-set method).
//
// With A = Q over the free units without the rank-one term, slope h, and columns B for what
// constrains the step p (the equality; the units held) or couples it (the rank-one term, whose
// multiplier is its own change), the conditions of optimality are
//
//     A p + B m = -h,     B'p = D m,     D = diag(0, coupling, 0, ..., 0),
//
// so A is factorised once, a unit that is held costs one more solution with that factor, and m
// comes from the small system (B'A^-1 B + D) m = -B'A^-1 h. After many of them a new round begins
// on the units that are still free.
#pragma once

#include <cstddef>
#include <vector>

#include "coupled_qp.hpp"

namespace bagshift {

// Kept from call to call, so that nothing is allocated anew.
struct NewtonMemory {
  std::vector<std::ptrdiff_t> all_units;  // free when the call began, in order
  std::vector<double> before;          // their dual variables then
  std::vector<double> change;          // of these in the call
  std::vector<std::ptrdiff_t> units;   // free when the round began, in order
  std::vector<char> is_held;           // which of these have met a bound
  std::vector<std::ptrdiff_t> held;    // their places in `units`, in order of meeting it
  std::vector<double> factor;          // of A
  std::vector<double> slope;           // h
  std::vector<double> solutions;       // -A^-1 h and the columns of A^-1 B, one after the other
  std::vector<double> small;           // factor of B'A^-1 B + D, row after row
  std::vector<double> multipliers;     // m
  std::vector<double> step;            // p
};

struct NewtonOutcome {
  std::ptrdiff_t n_held = 0;
  bool is_complete = false;            // the minimum over the variables still free was reached
  double cost = 0.0;                   // in iterations of SMO
};

// Cost of a call that meets no bound, with f free of m units, in iterations of SMO on these units.
double newton_cost(std::ptrdiff_t n_free, std::ptrdiff_t n_units);

// Move to the minimum over the free variables, or towards it until the cost exceeds `budget`. The
// objective does not rise but for rounding.
template <class Real>
NewtonOutcome newton(const Problem<Real>& problem, State& state, NewtonMemory& memory,
                     double budget);

}  // namespace bagshift
