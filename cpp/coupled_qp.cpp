// SPDX-License-Identifier: BSD-3-Clause
#include "coupled_qp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "coupled_state.hpp"
#include "smo_passes.hpp"

namespace bagshift {
namespace {

constexpr int kMostFailedChecks = 8;

// Errors of the gradient below this share of the tolerance do not matter.
constexpr double kNegligible = 1e-4;

// Share of the largest violation that a partner's must reach: without curvature, such as that of
// the unit with itself, one that is rounding could promise the largest gain.
constexpr double kLeastSlope = 1e-4;

// The step that still has to enter the gradient: z_up += length, z_down -= length.
struct Step {
  std::ptrdiff_t up = 0;
  std::ptrdiff_t down = 0;
  double length = 0.0;
};

// Take `excess` off the variables of one sign, those strictly inside their box first: variables
// at a bound tend to belong there.
template <class Real>
void balance(const Problem<Real>& problem, std::vector<double>& dual) {
  double excess = exact_sum(dual.data(), problem.n_units);
  for (const bool bounded_too : {false, true}) {
    for (std::ptrdiff_t i = 0; i < problem.n_units && excess != 0.0; ++i) {
      const double z = dual[i];
      const bool inside = z > problem.lower[i] && z < problem.upper[i];
      if (!(inside || bounded_too) || z * excess <= 0.0) continue;
      const double change = std::abs(z) < std::abs(excess) ? z : excess;
      dual[i] = z - change;
      excess -= change;
    }
  }
}

// Of `same` for units of the domain of `unit`, of `other` for those of the other.
template <class Real>
PerDomain seen_from(const Problem<Real>& problem, std::ptrdiff_t unit, double same, double other) {
  return problem.is_source(unit) ? PerDomain{same, other} : PerDomain{other, same};
}

template <class Real>
Extremes apply_and_choose(const Problem<Real>& problem, State& state, const Step& step) {
  const double within = step.length * problem.within;
  const double across = step.length * problem.across;
  const Extremes found = step_and_scan(
      units_of(problem, state),
      GradientStep<Real>{problem.row(step.up), problem.row(step.down),
                         seen_from(problem, step.up, within, across),
                         seen_from(problem, step.down, within, across)});
  state.violation = found.highest_down - found.lowest_up;
  return found;
}

template <class Real>
std::ptrdiff_t choose_partner(const Problem<Real>& problem, State& state, const Extremes& choice) {
  const std::ptrdiff_t up = choice.lowest_unit;
  const double diagonal = state.diagonal[up];
  return best_partner(
      units_of(problem, state),
      PartnerQuery<Real>{
          problem.row(up), choice.lowest_up, kLeastSlope * state.violation,
          seen_from(problem, up, diagonal, diagonal + problem.inverse_coupling),
          seen_from(problem, up, 2.0 * problem.within, 2.0 * problem.across)});
}

// Minimise slope * s + curvature / 2 * s^2 for s in [0, room], where the slope also jumps up by
// 2 * tube where a variable passes zero.
double step_length(double slope, double curvature, double room, double up_kink, double up_jump,
                   double down_kink, double down_jump) {
  double position = 0.0;
  for (;;) {
    const double next = std::min({up_kink, down_kink, room});
    const double minimiser = position - slope / curvature;
    if (minimiser <= next) return minimiser;
    if (next >= room) return room;
    slope += curvature * (next - position);
    position = next;
    if (next == up_kink) {
      slope += up_jump;
      up_kink = std::numeric_limits<double>::infinity();
    } else {
      slope += down_jump;
      down_kink = std::numeric_limits<double>::infinity();
    }
    if (slope >= 0.0) return position;
  }
}

// Move the pair (up, down); false when the step vanishes in rounding.
template <class Real>
bool move_pair(const Problem<Real>& problem, State& state, const Extremes& choice,
               std::ptrdiff_t down, Step& step) {
  const std::ptrdiff_t up = choice.lowest_unit;
  const bool same = problem.is_source(up) == problem.is_source(down);
  const double rank_one =
      problem.is_source(down) ? state.source_sum * problem.inverse_coupling : 0.0;
  const double slope =
      choice.lowest_up - (state.gradient[down] + state.down_offset[down] + rank_one);
  const double curvature =
      state.diagonal[up] + state.diagonal[down] -
      2.0 * problem.weight(up, down) * static_cast<double>(problem.row(up)[down]) +
      (same ? 0.0 : problem.inverse_coupling);

  const double z_up = state.dual[up];
  const double z_down = state.dual[down];
  const double up_room = problem.upper[up] - z_up;
  const double down_room = z_down - problem.lower[down];
  constexpr double never = std::numeric_limits<double>::infinity();
  const double length =
      step_length(slope, std::max(curvature, kLeastCurvature), std::min(up_room, down_room),
                  z_up < 0.0 ? -z_up : never, 2.0 * problem.half_widths[up],
                  z_down > 0.0 ? z_down : never, 2.0 * problem.half_widths[down]);

  // A bound must be met exactly: at a bound the unit is told from a free one by comparison.
  state.dual[up] = length >= up_room ? problem.upper[up] : z_up + length;
  state.dual[down] = length >= down_room ? problem.lower[down] : z_down - length;
  const double old_sum = state.source_sum;
  if (!same) state.source_sum += problem.is_source(up) ? length : -length;
  if (state.dual[up] == z_up && state.dual[down] == z_down && state.source_sum == old_sum) {
    return false;
  }
  set_offsets(problem, state, up);
  set_offsets(problem, state, down);
  step = {up, down, length};
  return true;
}

// What target units contribute to the gradient is summed anew; with it, what source units do
// follows from the gradient, and both get their new weights.
template <class Real>
void change_weights(const Problem<Real>& problem, const Problem<Real>& earlier, State& state) {
  const std::ptrdiff_t m = problem.n_units;
  const std::ptrdiff_t n = problem.n_source;
  const double ratio = problem.within / earlier.within;
  for (double& entry : state.diagonal) entry *= ratio;
  state.largest_diagonal *= ratio;
  if (n == 0 || earlier.across == 0.0) {
    rebuild_gradient(problem, state);
    return;
  }
  const Support target(state, n, m);
  std::vector<double> by_target(m, 0.0);
  add_unit_rows(problem, target.units.data(), target.weights.data(),
                static_cast<std::ptrdiff_t>(target.units.size()), 1.0, 1.0, by_target.data());
  const auto reweigh = [&](std::ptrdiff_t begin, std::ptrdiff_t end, PerDomain before,
                           PerDomain after) {
    const double by_source = after.source / before.source;
    const double rest = after.target - by_source * before.target;
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      state.gradient[i] = by_source * (state.gradient[i] + problem.targets[i]) +
                          rest * by_target[i] - problem.targets[i];
    }
  };
  reweigh(0, n, {earlier.within, earlier.across}, {problem.within, problem.across});
  reweigh(n, m, {earlier.across, earlier.within}, {problem.across, problem.within});
  const double growth = std::max(1.0, problem.across / earlier.across);
  const double size =
      std::max(state.gradient_size, earlier.across * largest_size(by_target.data(), m));
  const double rounding = 8.0 * std::numeric_limits<double>::epsilon() * size;
  state.gradient_error = growth * (state.gradient_error + rounding / earlier.across);
}

template <class Real>
Extremes refresh(const Problem<Real>& problem, State& state) {
  remove_drift(problem, state);
  rebuild_gradient(problem, state);
  return apply_and_choose(problem, state, Step{});
}

}  // namespace

template <class Real>
State start(const Problem<Real>& problem, const double* guess) {
  const std::ptrdiff_t m = problem.n_units;
  State state;
  state.dual.assign(m, 0.0);
  state.gradient.resize(m);
  state.up_offset.resize(m);
  state.down_offset.resize(m);
  state.diagonal.resize(m);
  if (guess != nullptr) {
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      state.dual[i] = std::min(std::max(guess[i], problem.lower[i]), problem.upper[i]);
    }
    // The second time for what the last bits of a large variable left to smaller ones.
    balance(problem, state.dual);
    balance(problem, state.dual);
  }
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    state.diagonal[i] = problem.within * static_cast<double>(problem.row(i)[i]);
    state.largest_diagonal = std::max(state.largest_diagonal, state.diagonal[i]);
    set_offsets(problem, state, i);
  }
  state.source_sum = exact_sum(state.dual.data(), problem.n_source);
  rebuild_gradient(problem, state);
  return state;
}

template <class Real>
State start_from(const Problem<Real>& problem, State earlier,
                 const Problem<Real>& earlier_problem, double factor) {
  State state = std::move(earlier);
  state.n_iter = 0;
  state.n_failed_checks = 0;
  const std::ptrdiff_t m = problem.n_units;
  if (factor != 1.0 || problem.lower != earlier_problem.lower ||
      problem.upper != earlier_problem.upper) {
    bool fits = true;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      state.dual[i] *= factor;
      fits = fits && state.dual[i] >= problem.lower[i] && state.dual[i] <= problem.upper[i];
      state.gradient[i] = factor * (state.gradient[i] + problem.targets[i]) - problem.targets[i];
      set_offsets(problem, state, i);
    }
    // By rounding, or because the factor is not that of all boxes.
    if (!fits) return start(problem, std::vector<double>(state.dual).data());
    state.source_sum *= factor;
    state.gradient_error *= factor;
  }
  // One machine keeps no books of it.
  if (earlier_problem.inverse_coupling == 0.0) {
    state.source_sum = exact_sum(state.dual.data(), problem.n_source);
  }
  if (problem.within != earlier_problem.within) change_weights(problem, earlier_problem, state);
  measure_gradient(state);
  count_rounding(state, 4.0);
  return state;
}

template <class Real>
Status advance(const Problem<Real>& problem, State& state, const Options& options,
               std::int64_t n_steps) {
  Step step;
  bool lost = false;
  for (;;) {
    Extremes choice = apply_and_choose(problem, state, step);
    step = Step{};
    const bool out_of_steps = state.n_iter >= options.max_iter;
    if (state.violation < options.tol || out_of_steps || lost) {
      // Rounding in the running gradient must not decide that the work is done.
      const double bearable = lost ? 0.0 : kNegligible * options.tol;
      bool is_sound = state.gradient_error <= bearable;
      if (!is_sound) choice = refresh(problem, state);
      if (state.violation < options.tol) {
        const double source_sum = state.source_sum;
        remove_drift(problem, state);
        if (state.source_sum == source_sum &&
            state.gradient_error <= 2.0 * kNegligible * options.tol) {
          return Status::optimal;
        }
        // What rounding had gathered was not negligible.
        is_sound = false;
        choice = refresh(problem, state);
        if (state.violation < options.tol) return Status::optimal;
      }
      if (out_of_steps) return Status::iteration_limit;
      if (is_sound || ++state.n_failed_checks > kMostFailedChecks) return Status::stalled;
    }
    if (n_steps-- <= 0) return Status::running;
    const std::ptrdiff_t down = choose_partner(problem, state, choice);
    lost = down < 0 || !move_pair(problem, state, choice, down, step);
    if (lost) continue;
    // No entry of a positive semidefinite matrix is larger than its largest diagonal one.
    state.gradient_size += 2.0 * std::abs(step.length) * state.largest_diagonal;
    count_rounding(state, 2.0);
    ++state.n_iter;
  }
}

template <class Real>
Solution summarise(const Problem<Real>& problem, const State& state) {
  const std::ptrdiff_t m = problem.n_units;
  const double rank_one = state.source_sum * problem.inverse_coupling;
  constexpr double infinity = std::numeric_limits<double>::infinity();

  const Point point{state.dual.data(),
                    state.gradient.data(),
                    state.up_offset.data(),
                    state.down_offset.data(),
                    problem.targets,
                    problem.half_widths,
                    problem.lower,
                    problem.upper,
                    problem.n_source,
                    m,
                    rank_one};

  // The multiplier of sum z = 0 is the target intercept.
  const Limits limits = intercept_limits(point);
  const bool has_low = limits.low > -kBlocked;
  const bool has_high = limits.high < kBlocked;
  const double low = has_low ? limits.low : -infinity;
  const double high = has_high ? limits.high : infinity;

  Solution solution{};
  solution.violation = std::max(0.0, low - high);
  solution.intercept_low = std::min(low, high);
  solution.intercept_high = std::max(low, high);
  if (limits.n_free > 0) {
    solution.intercept = limits.free_sum / static_cast<double>(limits.n_free);
  } else if (has_low && has_high) {
    solution.intercept = 0.5 * (low + high);
  } else if (has_low) {
    solution.intercept = low;
  } else {
    solution.intercept = has_high ? high : 0.0;
  }
  solution.intercept_shift = rank_one;
  const double source_sum = exact_sum(state.dual.data(), problem.n_source);
  solution.equality_residual = exact_sum(state.dual.data(), m);

  // The gap is summed unit by unit, each term non-negative: the difference of the two objectives
  // would lose it in rounding.
  const Sums sums = objective_sums(point, solution.intercept);
  const double quadratic = sums.quadratic + state.source_sum * rank_one;
  solution.objective = 0.5 * quadratic + sums.loss;
  solution.dual_objective = -(0.5 * quadratic + sums.linear);
  const double gap = sums.gap - solution.intercept * solution.equality_residual -
                     rank_one * (source_sum - state.source_sum);
  solution.dual_gap = std::max(0.0, gap);
  return solution;
}

template State start(const Problem<float>&, const double*);
template State start(const Problem<double>&, const double*);
template State start_from(const Problem<float>&, State, const Problem<float>&, double);
template State start_from(const Problem<double>&, State, const Problem<double>&, double);
template Status advance(const Problem<float>&, State&, const Options&, std::int64_t);
template Status advance(const Problem<double>&, State&, const Options&, std::int64_t);
template Solution summarise(const Problem<float>&, const State&);
template Solution summarise(const Problem<double>&, const State&);

}  // namespace bagshift
