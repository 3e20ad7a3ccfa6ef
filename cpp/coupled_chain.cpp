// SPDX-License-Identifier: BSD-3-Clause
#include "coupled_chain.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "coupled_solver.hpp"

namespace bagshift {
namespace {

// The units [begin, end) alone, as one machine.
template <class Real>
Problem<Real> part_of(const Problem<Real>& problem, std::ptrdiff_t begin, std::ptrdiff_t end) {
  Problem<Real> part = problem;
  part.gram += begin * problem.row_stride + begin;
  part.n_units = end - begin;
  part.n_source = 0;
  part.targets += begin;
  part.half_widths += begin;
  part.lower += begin;
  part.upper += begin;
  return part;
}

template <class Real>
ChainEntry solve_one(const Problem<Real>& problem, const Options& options, const double* guess,
                     double* dual, NewtonMemory& memory) {
  CoupledSolver<Real> solver(problem, options, memory);
  solver.start(guess);
  const Status status = solver.advance(std::numeric_limits<std::int64_t>::max());
  const State& state = solver.state();
  std::copy(state.dual.begin(), state.dual.end(), dual);
  return {summarise(problem, state), status, state.n_iter};
}

// What an earlier dual has to be multiplied with to stay feasible and keep bounds bounds.
double growth(const ChainSetting& from, const ChainSetting& to) {
  if (from.target_cost > 0.0) return to.target_cost / from.target_cost;
  return from.source_cost > 0.0 ? to.source_cost / from.source_cost : 0.0;
}

}  // namespace

template <class Real>
void solve_chain(const Problem<Real>& at_unit_costs, const ChainSetting* settings,
                 std::ptrdiff_t begin, std::ptrdiff_t end, const Options& options, double* duals,
                 ChainEntry* entries, NewtonMemory& memory) {
  const std::ptrdiff_t m = at_unit_costs.n_units;
  const std::ptrdiff_t n = at_unit_costs.n_source;
  std::vector<double> lower(m);
  std::vector<double> upper(m);
  std::vector<double> guess(m);
  for (std::ptrdiff_t s = begin; s < end; ++s) {
    const ChainSetting& setting = settings[s];
    Problem<Real> problem = at_unit_costs;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const double cost = problem.is_source(i) ? setting.source_cost : setting.target_cost;
      lower[i] = cost * at_unit_costs.lower[i];
      upper[i] = cost * at_unit_costs.upper[i];
    }
    problem.lower = lower.data();
    problem.upper = upper.data();
    problem.within = setting.within;
    problem.across = setting.across;
    problem.inverse_coupling = setting.inverse_coupling;

    const double* start = nullptr;
    if (setting.start >= 0) {
      const double factor = growth(settings[setting.start], setting);
      const double* earlier = duals + setting.start * m;
      for (std::ptrdiff_t i = 0; i < m; ++i) guess[i] = factor * earlier[i];
      start = guess.data();
    }
    double* dual = duals + s * m;
    if (!setting.is_apart) {
      entries[s] = solve_one(problem, options, start, dual, memory);
      continue;
    }
    const ChainEntry source = solve_one(part_of(problem, 0, n), options, start, dual, memory);
    ChainEntry& entry = entries[s];
    entry = solve_one(part_of(problem, n, m), options, start == nullptr ? nullptr : start + n,
                      dual + n, memory);
    entry.summary.objective += source.summary.objective;
    entry.summary.dual_objective += source.summary.dual_objective;
    entry.summary.dual_gap += source.summary.dual_gap;
    entry.summary.violation = std::max(entry.summary.violation, source.summary.violation);
    entry.summary.intercept_shift = source.summary.intercept - entry.summary.intercept;
    entry.n_iter += source.n_iter;
    if (source.status != Status::optimal) entry.status = source.status;
  }
}

template void solve_chain(const Problem<float>&, const ChainSetting*, std::ptrdiff_t,
                          std::ptrdiff_t, const Options&, double*, ChainEntry*, NewtonMemory&);
template void solve_chain(const Problem<double>&, const ChainSetting*, std::ptrdiff_t,
                          std::ptrdiff_t, const Options&, double*, ChainEntry*, NewtonMemory&);

}  // namespace bagshift
