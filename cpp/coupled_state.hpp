// SPDX-License-Identifier: BSD-3-Clause
//
// What both ways to move the dual variables do to a state: sequential minimal optimisation, two at
// a time (coupled_qp.cpp), and Newton's method, all free ones at once (active_set_newton.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "coupled_qp.hpp"
#include "smo_passes.hpp"
#include "state_passes.hpp"

namespace bagshift {

template <class Real>
Units units_of(const Problem<Real>& problem, State& state) {
  return {state.gradient.data(),
          state.up_offset.data(),
          state.down_offset.data(),
          state.diagonal.data(),
          problem.n_source,
          problem.n_units,
          state.source_sum * problem.inverse_coupling};
}

template <class Real>
void set_offsets(const Problem<Real>& problem, State& state, std::ptrdiff_t i) {
  const double z = state.dual[i];
  const double tube = problem.half_widths[i];
  state.up_offset[i] = z >= problem.upper[i] ? kBlocked : (z >= 0.0 ? tube : -tube);
  state.down_offset[i] = z <= problem.lower[i] ? -kBlocked : (z > 0.0 ? tube : -tube);
}

// Whether slopes up and down of a unit are the same: strictly inside its box, not at a kink.
inline bool is_free(const State& state, std::ptrdiff_t i) {
  return state.up_offset[i] == state.down_offset[i];
}

// values += sum_k weights[k] * row(units[k]), where a row enters with `within` for units of the
// same domain and with `across` for others.
template <class Real>
void add_unit_rows(const Problem<Real>& problem, const std::ptrdiff_t* units,
                   const double* weights, std::ptrdiff_t n, double within, double across,
                   double* values) {
  for (std::ptrdiff_t begin = 0; begin < n; begin += 4) {
    RowBlock<Real> block{{problem.gram, problem.gram, problem.gram, problem.gram}, {}};
    for (std::ptrdiff_t k = begin; k < std::min(begin + 4, n); ++k) {
      const double same = weights[k] * within;
      const double other = weights[k] * across;
      const bool source = problem.is_source(units[k]);
      block.rows[k - begin] = problem.row(units[k]);
      block.weights[k - begin] = source ? PerDomain{same, other} : PerDomain{other, same};
    }
    add_rows(block, problem.n_source, problem.n_units, values);
  }
}

inline void measure_gradient(State& state) {
  state.gradient_size =
      largest_size(state.gradient.data(), static_cast<std::ptrdiff_t>(state.gradient.size()));
}

// Enter into the books that every entry of the gradient was added to `n_times`.
inline void count_rounding(State& state, double n_times) {
  state.gradient_error += n_times * std::numeric_limits<double>::epsilon() * state.gradient_size;
}

// The units in [begin, end) whose z is not zero, and z there.
struct Support {
  std::vector<std::ptrdiff_t> units;
  std::vector<double> weights;

  Support(const State& state, std::ptrdiff_t begin, std::ptrdiff_t end)
      : units(end - begin), weights(end - begin) {
    std::ptrdiff_t n = 0;
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      units[n] = i;
      weights[n] = state.dual[i];
      n += state.dual[i] != 0.0 ? 1 : 0;
    }
    units.resize(n);
    weights.resize(n);
  }
};

template <class Real>
void rebuild_gradient(const Problem<Real>& problem, State& state) {
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) state.gradient[i] = -problem.targets[i];
  const Support support(state, 0, problem.n_units);
  add_unit_rows(problem, support.units.data(), support.weights.data(),
                static_cast<std::ptrdiff_t>(support.units.size()), problem.within, problem.across,
                state.gradient.data());
  measure_gradient(state);
  state.gradient_error = 0.0;
}

// Bring the sum of z over [begin, end) to `wanted`, from which rounding took it by the last bits
// of every step: the free variable with the most room takes the residue. Without a free variable
// every z is a bound or zero, nothing drifted, and the answer is false.
template <class Real>
bool restore_sum(const Problem<Real>& problem, State& state, std::ptrdiff_t begin,
                 std::ptrdiff_t end, double wanted) {
  const double residue = exact_sum(state.dual.data() + begin, end - begin) - wanted;
  if (residue == 0.0) return true;
  std::ptrdiff_t roomiest = -1;
  double most_room = std::abs(residue);
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    if (!is_free(state, i)) continue;
    const double z = state.dual[i];
    double room = std::min(problem.upper[i] - z, z - problem.lower[i]);
    if (problem.half_widths[i] > 0.0) room = std::min(room, std::abs(z));
    if (room > most_room) {
      most_room = room;
      roomiest = i;
    }
  }
  if (roomiest < 0) return false;
  state.dual[roomiest] -= residue;
  // It may have been rounded to its bound.
  set_offsets(problem, state, roomiest);
  state.gradient_error += std::abs(residue) * state.largest_diagonal;
  return true;
}

// Take the sum of z over [begin, end), all at bounds or zero and so exact, for the source sum, but
// for what is less than the last bit of a z: a step so short shows in the record alone.
inline void heed_bounds(State& state, std::ptrdiff_t begin, std::ptrdiff_t end, double sign) {
  const double largest = largest_size(state.dual.data() + begin, end - begin);
  const double exact = sign * exact_sum(state.dual.data() + begin, end - begin);
  if (std::abs(exact - state.source_sum) > std::numeric_limits<double>::epsilon() * largest) {
    state.source_sum = exact;
  }
}

// The source sum is its own record, not the sum over z: divided by a small coupling, the last
// bits of a large z would be an error of the intercept. Only bounds, being exact, overrule it.
template <class Real>
void remove_drift(const Problem<Real>& problem, State& state) {
  const std::ptrdiff_t m = problem.n_units;
  const std::ptrdiff_t n = problem.n_source;
  if (problem.inverse_coupling == 0.0) {
    restore_sum(problem, state, 0, m, 0.0);
    return;
  }
  if (!restore_sum(problem, state, 0, n, state.source_sum)) heed_bounds(state, 0, n, 1.0);
  if (!restore_sum(problem, state, n, m, -state.source_sum)) {
    heed_bounds(state, n, m, -1.0);
    restore_sum(problem, state, 0, n, state.source_sum);
  }
}

}  // namespace bagshift
