// SPDX-License-Identifier: BSD-3-Clause
#include "coupled_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "state_passes.hpp"

namespace bagshift {
namespace {

// Credit for an iteration after a call that came to its end.
constexpr double kRateAfterSuccess = 5.0;

// Times its credit that a call may cost.
constexpr double kOverdraft = 6.0;

// Iterations between two looks at what Newton's method would cost.
constexpr std::int64_t kShortestBurst = 16;

// Free units up to which it is called; the factor of so many takes 128 MB.
constexpr std::ptrdiff_t kMostFree = 4000;

}  // namespace

template <class Real>
std::ptrdiff_t CoupledSolver<Real>::count_free() const {
  return bagshift::count_free(state_.up_offset.data(), state_.down_offset.data(),
                              problem_.n_units);
}

template <class Real>
bool CoupledSolver<Real>::is_nearly_done(double cost) const {
  const double now = state_.violation;
  if (!(now > options_.tol) || !(now < violation_before_)) return false;
  const double rest = static_cast<double>(last_burst_) * std::log(now / options_.tol) /
                      std::log(violation_before_ / now);
  return rest < cost;
}

template <class Real>
void CoupledSolver<Real>::call_newton(double budget) {
  const NewtonOutcome outcome = newton(problem_, state_, memory_, budget);
  credit_ -= outcome.cost;
  credit_rate_ = outcome.is_complete ? kRateAfterSuccess : 1.0;
  ++n_newton_;
}

template <class Real>
void CoupledSolver<Real>::start(const double* guess) {
  state_ = bagshift::start(problem_, guess);
  begin(guess != nullptr);
}

template <class Real>
void CoupledSolver<Real>::start_from(State earlier, const Problem<Real>& earlier_problem,
                                     double factor) {
  state_ = bagshift::start_from(problem_, std::move(earlier), earlier_problem, factor);
  begin(true);
}

template <class Real>
void CoupledSolver<Real>::begin(bool has_guess) {
  const auto m = static_cast<std::int64_t>(problem_.n_units);
  burst_ = std::max(kShortestBurst, m);
  violation_before_ = violation_at_call_ = std::numeric_limits<double>::infinity();
  if (!has_guess || !options_.use_newton) return;
  const std::ptrdiff_t n_free = count_free();
  if (n_free < 2 || newton_cost(n_free, m) >= static_cast<double>(m)) return;
  // The guess may be the solution.
  if (bagshift::advance(problem_, state_, options_, 0) == Status::running) {
    call_newton(static_cast<double>(m));
    burst_ = std::max(kShortestBurst, static_cast<std::int64_t>(-credit_));
  }
}

template <class Real>
Status CoupledSolver<Real>::advance(std::int64_t n_steps) {
  if (!options_.use_newton) return bagshift::advance(problem_, state_, options_, n_steps);
  while (n_steps > 0) {
    const std::int64_t before = state_.n_iter;
    const double violation = state_.violation;
    const Status status =
        bagshift::advance(problem_, state_, options_, std::min(burst_, n_steps));
    const std::int64_t done = std::max<std::int64_t>(state_.n_iter - before, 1);
    if (status != Status::running) return status;
    n_steps -= done;
    burst_ -= done;
    credit_ += credit_rate_ * static_cast<double>(done);
    if (burst_ > 0) continue;
    violation_before_ = before > 0 ? violation : std::numeric_limits<double>::infinity();
    last_burst_ = done;
    const std::ptrdiff_t n_free = count_free();
    const double cost = newton_cost(n_free, problem_.n_units);
    double wait = 0.0;
    if (n_free < 2 || n_free > kMostFree || cost > credit_) {
      wait = std::min(cost - credit_, std::max(credit_, 4.0 * done));
    } else if (is_nearly_done(cost)) {
      wait = 0.5 * cost;
    } else {
      // At the end of what rounding lets it do, it may undo what SMO has done since.
      const bool is_futile = state_.violation >= violation_at_call_;
      violation_at_call_ = state_.violation;
      call_newton(kOverdraft * credit_);
      wait = newton_cost(count_free(), problem_.n_units);
      if (is_futile) wait = std::max(wait, 2.0 * static_cast<double>(last_burst_));
    }
    burst_ = std::max(kShortestBurst, static_cast<std::int64_t>(wait));
  }
  return Status::running;
}

template class CoupledSolver<float>;
template class CoupledSolver<double>;

}  // namespace bagshift
