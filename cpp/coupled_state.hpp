// SPDX-License-Identifier: BSD-3-Clause
//
// What both ways to move the dual variables do to a state: sequential minimal optimisation, two at
// a time (coupled_qp.cpp), and Newton's method, all free ones at once (active_set_newton.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "coupled_qp.hpp"
#include "smo_passes.hpp"

namespace bagshift {

// Knuth's compensated sum: the equality constraint is judged to the last bits.
inline double exact_sum(const double* values, std::ptrdiff_t n) {
  double sum = 0.0;
  double lost = 0.0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double next = sum + values[i];
    const double added = next - sum;
    lost += (sum - (next - added)) + (values[i] - added);
    sum = next;
  }
  return sum + lost;
}

inline Segment segment_of(State& state, std::ptrdiff_t begin, std::ptrdiff_t end) {
  return {state.gradient.data(), state.up_offset.data(), state.down_offset.data(),
          state.diagonal.data(), begin,                  end};
}

template <class Real>
void set_offsets(const Problem<Real>& problem, State& state, std::ptrdiff_t i) {
  const double z = state.dual[i];
  const double tube = problem.half_widths[i];
  state.up_offset[i] = z >= problem.upper[i] ? kBlocked : (z >= 0.0 ? tube : -tube);
  state.down_offset[i] = z <= problem.lower[i] ? -kBlocked : (z > 0.0 ? tube : -tube);
}

template <class Real>
bool is_free(const Problem<Real>& problem, const State& state, std::ptrdiff_t i) {
  const double z = state.dual[i];
  const bool inside = z > problem.lower[i] && z < problem.upper[i];
  return inside && (z != 0.0 || problem.half_widths[i] == 0.0);
}

// gradient += Q change, without the rank-one term.
template <class Real>
void add_to_gradient(const Problem<Real>& problem, State& state, const double* change) {
  const std::ptrdiff_t m = problem.n_units;
  const std::ptrdiff_t n = problem.n_source;
  std::ptrdiff_t next = 0;
  while (next < m) {
    RowBlock<Real> on_source{{problem.gram, problem.gram, problem.gram, problem.gram}, {}};
    RowBlock<Real> on_target = on_source;
    int filled = 0;
    for (; next < m && filled < 4; ++next) {
      if (change[next] == 0.0) continue;
      const bool source = problem.is_source(next);
      on_source.rows[filled] = on_target.rows[filled] = problem.row(next);
      on_source.weights[filled] = change[next] * (source ? problem.within : problem.across);
      on_target.weights[filled] = change[next] * (source ? problem.across : problem.within);
      ++filled;
    }
    if (filled == 0) break;
    add_rows(segment_of(state, 0, n), on_source);
    add_rows(segment_of(state, n, m), on_target);
  }
}

inline void measure_gradient(State& state) {
  state.gradient_size = 0.0;
  for (const double g : state.gradient) {
    state.gradient_size = std::max(state.gradient_size, std::abs(g));
  }
}

// Enter into the books that every entry of the gradient was added to `n_times`.
inline void count_rounding(State& state, double n_times) {
  state.gradient_error += n_times * std::numeric_limits<double>::epsilon() * state.gradient_size;
}

template <class Real>
void rebuild_gradient(const Problem<Real>& problem, State& state) {
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) state.gradient[i] = -problem.targets[i];
  add_to_gradient(problem, state, state.dual.data());
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
  std::ptrdiff_t roomiest = -1;
  double most_room = std::abs(residue);
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    if (!is_free(problem, state, i)) continue;
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
  state.gradient_error += std::abs(residue) * state.largest_diagonal;
  return true;
}

// Take the sum of z over [begin, end), all at bounds or zero and so exact, for the source sum, but
// for what is less than the last bit of a z: a step so short shows in the record alone.
inline void heed_bounds(State& state, std::ptrdiff_t begin, std::ptrdiff_t end, double sign) {
  double largest = 0.0;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    largest = std::max(largest, std::abs(state.dual[i]));
  }
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
