// SPDX-License-Identifier: BSD-3-Clause
#include "coupled_chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coupled_solver.hpp"

namespace bagshift {
namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

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

// What an earlier dual has to be multiplied with to stay feasible and keep bounds bounds; 0 where
// no number does.
double growth(const ChainSetting& from, const ChainSetting& to) {
  const double factor = from.target_cost > 0.0 ? to.target_cost / from.target_cost
                                               : to.source_cost / from.source_cost;
  return std::isfinite(factor) ? factor : 0.0;
}

std::vector<double> scaled(const double* values, std::ptrdiff_t n, double factor) {
  std::vector<double> result(values, values + n);
  for (double& value : result) value *= factor;
  return result;
}

}  // namespace

template <class Real>
void ChainSolver<Real>::state_problem(std::ptrdiff_t number, Solved& solved) {
  const ChainSetting& setting = settings_[number];
  const std::ptrdiff_t m = base_.n_units;
  solved.number = number;
  // Of two machines apart nothing is kept, so they must not take them along.
  if (!has_new_costs(number) && last_.number == number - 1 && !setting.is_apart) {
    solved.lower = std::move(last_.lower);
    solved.upper = std::move(last_.upper);
  } else {
    solved.lower.resize(m);
    solved.upper.resize(m);
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const double cost = base_.is_source(i) ? setting.source_cost : setting.target_cost;
      solved.lower[i] = cost * base_.lower[i];
      solved.upper[i] = cost * base_.upper[i];
    }
  }
  solved.problem = base_;
  solved.problem.lower = solved.lower.data();
  solved.problem.upper = solved.upper.data();
  solved.problem.within = setting.within;
  solved.problem.across = setting.across;
  solved.problem.inverse_coupling = setting.inverse_coupling;
}

template <class Real>
bool ChainSolver<Real>::has_new_costs(std::ptrdiff_t number) const {
  return number == 0 ||
         settings_[number - 1].source_cost != settings_[number].source_cost ||
         settings_[number - 1].target_cost != settings_[number].target_cost;
}

template <class Real>
ChainEntry ChainSolver<Real>::solve_part(const Problem<Real>& problem, const double* guess,
                                         std::int64_t max_iter, double* dual) {
  Options options = options_;
  options.max_iter = max_iter;
  CoupledSolver<Real> solver(problem, options, memory_);
  solver.start(guess);
  const Status status = solver.advance(kToTheEnd);
  const State& state = solver.state();
  std::copy(state.dual.begin(), state.dual.end(), dual);
  return {summarise(problem, state), status, state.n_iter};
}

template <class Real>
ChainEntry ChainSolver<Real>::solve_apart(const ChainSetting& setting,
                                          const Problem<Real>& problem, const double* earlier,
                                          double factor, double* dual) {
  const std::ptrdiff_t n = problem.n_source;
  const std::ptrdiff_t m = problem.n_units;
  std::vector<double> guess;
  if (setting.start >= 0) guess = scaled(earlier, m, factor);
  const bool has_guess = !guess.empty();
  const ChainEntry source = solve_part(
      part_of(problem, 0, n), has_guess ? guess.data() : nullptr, options_.max_iter, dual);
  ChainEntry entry =
      solve_part(part_of(problem, n, m), has_guess ? guess.data() + n : nullptr,
                 std::max<std::int64_t>(options_.max_iter - source.n_iter, 0), dual + n);
  entry.summary.objective += source.summary.objective;
  entry.summary.dual_objective += source.summary.dual_objective;
  entry.summary.dual_gap += source.summary.dual_gap;
  entry.summary.violation = std::max(entry.summary.violation, source.summary.violation);
  entry.summary.intercept_shift = source.summary.intercept - entry.summary.intercept;
  entry.n_iter += source.n_iter;
  if (source.status != Status::optimal) entry.status = source.status;
  return entry;
}

template <class Real>
ChainEntry ChainSolver<Real>::solve(std::ptrdiff_t number, double* duals) {
  const ChainSetting& setting = settings_[number];
  const std::ptrdiff_t m = base_.n_units;
  double* dual = duals + number * m;
  const double* earlier = setting.start >= 0 ? duals + setting.start * m : nullptr;
  const double factor = setting.start >= 0 ? growth(settings_[setting.start], setting) : 0.0;
  Solved next;
  state_problem(number, next);
  if (setting.is_apart) return solve_apart(setting, next.problem, earlier, factor, dual);

  CoupledSolver<Real> solver(next.problem, options_, memory_);
  if (setting.start >= 0 && setting.start == last_.number) {
    solver.start_from(std::move(last_.state), last_.problem, factor);
  } else if (setting.start >= 0 && setting.start == first_.number) {
    solver.start_from(first_.state, first_.problem, factor);
  } else if (setting.start >= 0) {
    solver.start(scaled(earlier, m, factor).data());
  } else {
    solver.start(nullptr);
  }
  const Status status = solver.advance(kToTheEnd);
  next.state = std::move(solver.state());
  std::copy(next.state.dual.begin(), next.state.dual.end(), dual);
  const ChainEntry entry{summarise(next.problem, next.state), status, next.state.n_iter};
  // The problem points at its own boxes, which move with it.
  last_ = std::move(next);
  if (has_new_costs(number)) {
    first_ = last_;
    first_.problem.lower = first_.lower.data();
    first_.problem.upper = first_.upper.data();
  }
  return entry;
}

template class ChainSolver<float>;
template class ChainSolver<double>;

}  // namespace bagshift
