// SPDX-License-Identifier: BSD-3-Clause
#include "active_set_newton.hpp"

#include <algorithm>
#include <cmath>

#include "cholesky.hpp"
#include "coupled_state.hpp"

namespace bagshift {
namespace {

// Added to the diagonal, in its largest entries: the curvature of equal units.
constexpr double kRidge = 1e-10;
constexpr double kSingleRidge = 1e-6;   // of a matrix that is rounded itself

// Pivots below this, likewise, are rounding.
constexpr double kLeastPivot = 1e-14;

// A border that keeps less than this of its length beside the others depends on them.
constexpr double kDependent = 1e-12;

// Units held in a round, with one free for every `kFreePerHeld` in the beginning.
constexpr std::ptrdiff_t kMostHeld = 64;
constexpr std::ptrdiff_t kFreePerHeld = 3;

// Time of an iteration of SMO: so much, and so much for every unit; and of a round with f free
// units, of f^3, f^2 and f times the number of units; of f^2 for every unit held. In nanoseconds
// of the machine that they were measured on, of which only the ratios matter.
constexpr double kIteration = 50.0;
constexpr double kIterationPerUnit = 1.0;
constexpr double kRound = 500.0;
constexpr double kCube = 1.0 / 80.0;
constexpr double kSquare = 1.3;
constexpr double kEnter = 0.25;
constexpr double kEnterUnit = 2.0;
constexpr double kHeldSquare = 0.25;
constexpr double kHeldBorder = 0.7;

double iteration_time(std::ptrdiff_t n_units) {
  return kIteration + kIterationPerUnit * static_cast<double>(n_units);
}

double round_time(std::ptrdiff_t n_free) {
  const double f = static_cast<double>(n_free);
  return kRound + (kCube * f + kSquare) * f * f;
}

double enter_time(std::ptrdiff_t n_free, std::ptrdiff_t n_units) {
  return (kEnter * static_cast<double>(n_free) + kEnterUnit) * static_cast<double>(n_units);
}

// Along directions without curvature a step is mostly rounding, and its sum over the source may
// have little to do with the recorded one. When sums of the dual end further than this, in largest
// variables times their number, from where they should be, the call is undone.
constexpr double kUnbalanced = 4e-15;

struct Range {
  double low;
  double high;
};

struct Block {
  double length;             // of the step, at most 1
  std::ptrdiff_t index;      // of the unit that stops it; -1 when nothing does
};

// Where a free variable may go without meeting a bound or the kink at zero.
template <class Real>
Range room_of(const Problem<Real>& problem, std::ptrdiff_t unit, double z) {
  Range range{problem.lower[unit], problem.upper[unit]};
  if (problem.half_widths[unit] > 0.0) {
    if (z > 0.0) {
      range.low = std::max(range.low, 0.0);
    } else {
      range.high = std::min(range.high, 0.0);
    }
  }
  return range;
}

template <class Real>
class NewtonCall {
 public:
  NewtonCall(const Problem<Real>& problem, State& state, NewtonMemory& memory, double budget)
      : problem_(problem), state_(state), memory_(memory),
        budget_(budget * iteration_time(problem.n_units)) {}

  NewtonOutcome run() {
    collect_units();
    if (n_free_ < 2) return outcome_;
    source_sum_before_ = state_.source_sum;
    read_slope();
    time_ = enter_time(n_free_, problem_.n_units);
    while (run_round() && n_free_ >= 2 && time_ + round_time(n_free_) <= budget_) continue;
    enter_change();
    outcome_.cost = time_ / iteration_time(problem_.n_units);
    return outcome_;
  }

 private:
  // True when another round is worth while.
  bool run_round() {
    time_ += round_time(n_free_);
    reserve();
    factor();
    if (!begin_solution()) return false;
    for (;;) {
      if (!find_step()) return false;
      const Block block = first_bound();
      take_step(block);
      if (block.index < 0) {
        outcome_.is_complete = true;
        return false;
      }
      memory_.is_held[block.index] = 1;
      ++outcome_.n_held;
      const double f = static_cast<double>(n_free_);
      time_ += f * (kHeldSquare * f + kHeldBorder * static_cast<double>(n_borders_));
      const auto n_held = static_cast<std::ptrdiff_t>(memory_.held.size()) + 1;
      if (n_held >= most_held_ || time_ > budget_ || !add_border_of(block.index)) break;
    }
    keep_free_units();
    return true;
  }

  void collect_units() {
    const std::ptrdiff_t m = problem_.n_units;
    auto& units = memory_.units;
    units.resize(m);
    std::ptrdiff_t n = 0;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      units[n] = i;
      n += is_free(state_, i) ? 1 : 0;
    }
    units.resize(n);
    memory_.all_units = units;
    memory_.before.resize(n);
    for (std::ptrdiff_t i = 0; i < n; ++i) memory_.before[i] = state_.dual[units[i]];
    count_units();
  }

  void count_units() {
    const auto& units = memory_.units;
    n_free_ = static_cast<std::ptrdiff_t>(units.size());
    n_free_source_ =
        std::lower_bound(units.begin(), units.end(), problem_.n_source) - units.begin();
    // Free units of one domain have the sum zero, and then the coupling stays as it is.
    is_coupled_ = problem_.inverse_coupling > 0.0 && n_free_source_ > 0 && n_free_source_ < n_free_;
    first_held_border_ = is_coupled_ ? 2 : 1;
    most_held_ = std::min(kMostHeld, n_free_ / kFreePerHeld + 1);
  }

  void read_slope() {
    const double rank_one = state_.source_sum * problem_.inverse_coupling;
    memory_.slope.resize(n_free_);
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      const std::ptrdiff_t unit = memory_.units[i];
      // Of a free unit, the slopes up and down are the same.
      memory_.slope[i] = state_.gradient[unit] + state_.up_offset[unit] +
                         (i < n_free_source_ ? rank_one : 0.0);
    }
  }

  void reserve() {
    memory_.is_held.assign(n_free_, 0);
    memory_.held.clear();
    stride_ = cholesky_stride(n_free_);
    memory_.factor.resize(stride_ * stride_);
    memory_.step.resize(n_free_);
    small_stride_ = most_held_ + 2;
    memory_.solutions.resize((1 + small_stride_) * stride_);
    memory_.small.resize(small_stride_ * small_stride_);
    memory_.multipliers.resize(small_stride_);
    n_borders_ = 0;
  }

  void factor() {
    double largest = 0.0;
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      const Real* row = problem_.row(memory_.units[i]);
      const bool source = i < n_free_source_;
      const double on_source = source ? problem_.within : problem_.across;
      const double on_target = source ? problem_.across : problem_.within;
      double* out = memory_.factor.data() + i * stride_;
      const std::ptrdiff_t split = std::max(n_free_source_, i);
      for (std::ptrdiff_t j = i; j < split; ++j) {
        out[j] = on_source * static_cast<double>(row[memory_.units[j]]);
      }
      for (std::ptrdiff_t j = split; j < n_free_; ++j) {
        out[j] = on_target * static_cast<double>(row[memory_.units[j]]);
      }
      std::fill(out + n_free_, out + stride_, 0.0);
      largest = std::max(largest, out[i]);
    }
    const double ridge = sizeof(Real) == sizeof(float) ? kSingleRidge : kRidge;
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      memory_.factor[i * stride_ + i] += ridge * largest;
    }
    cholesky_factor(memory_.factor.data(), n_free_, kLeastPivot * largest);
  }

  double* solution() { return memory_.solutions.data(); }
  double* border(std::ptrdiff_t number) { return solution() + (1 + number) * stride_; }

  bool begin_solution() {
    std::fill_n(solution(), 3 * stride_, 0.0);
    // What all slopes share is left to the multiplier of the equality: near the solution it is
    // nearly all of them, and along directions without curvature its solution is huge.
    const double shared =
        exact_sum(memory_.slope.data(), n_free_) / static_cast<double>(n_free_);
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      memory_.slope[i] -= shared;
      solution()[i] = -memory_.slope[i];
    }
    std::fill_n(border(0), n_free_, 1.0);
    if (is_coupled_) std::fill_n(border(1), n_free_source_, 1.0);
    cholesky_solve(memory_.factor.data(), n_free_, 0, solution(), is_coupled_ ? 3 : 2);
    if (!add_border(0.0)) return false;
    return !is_coupled_ || add_border(1.0 / problem_.inverse_coupling);
  }

  bool add_border_of(std::ptrdiff_t index) {
    memory_.held.push_back(index);
    double* next = border(n_borders_);
    std::fill_n(next, stride_, 0.0);
    next[index] = 1.0;
    cholesky_solve(memory_.factor.data(), n_free_, index, next, 1);
    return add_border(0.0);
  }

  // B'x for one border.
  double product(std::ptrdiff_t number, const double* x) const {
    if (number >= first_held_border_) return x[memory_.held[number - first_held_border_]];
    return exact_sum(x, number == 0 ? n_free_ : n_free_source_);
  }

  // Append the row of the small system that belongs to the next column of A^-1 B; false when it
  // depends on the others.
  bool add_border(double diagonal) {
    const std::ptrdiff_t number = n_borders_;
    double* row = memory_.small.data() + number * small_stride_;
    for (std::ptrdiff_t j = 0; j <= number; ++j) row[j] = product(j, border(number));
    row[number] += diagonal;
    const double length = row[number];
    for (std::ptrdiff_t j = 0; j < number; ++j) {
      const double* other = memory_.small.data() + j * small_stride_;
      for (std::ptrdiff_t k = 0; k < j; ++k) row[j] -= row[k] * other[k];
      row[j] /= other[j];
      row[number] -= row[j] * row[j];
    }
    if (!(row[number] > kDependent * length)) return false;
    row[number] = std::sqrt(row[number]);
    ++n_borders_;
    return true;
  }

  // p = solution - A^-1 B m; false when rounding made it senseless.
  bool find_step() {
    double* m = memory_.multipliers.data();
    for (std::ptrdiff_t i = 0; i < n_borders_; ++i) {
      const double* row = memory_.small.data() + i * small_stride_;
      m[i] = product(i, solution());
      for (std::ptrdiff_t k = 0; k < i; ++k) m[i] -= row[k] * m[k];
      m[i] /= row[i];
    }
    for (std::ptrdiff_t i = n_borders_ - 1; i >= 0; --i) {
      const double* row = memory_.small.data() + i * small_stride_;
      m[i] /= row[i];
      for (std::ptrdiff_t k = 0; k < i; ++k) m[k] -= row[k] * m[i];
    }
    std::copy_n(solution(), n_free_, memory_.step.begin());
    for (std::ptrdiff_t c = 0; c < n_borders_; ++c) {
      const double* column = border(c);
      for (std::ptrdiff_t i = 0; i < n_free_; ++i) memory_.step[i] -= m[c] * column[i];
    }
    return centre_step();
  }

  // Along directions without curvature a step can be so long that its sum is rounding.
  bool centre_step() {
    double sum = 0.0;
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      if (memory_.is_held[i]) memory_.step[i] = 0.0;
      sum += memory_.step[i];
    }
    if (!std::isfinite(sum)) return false;
    const double mean = sum / static_cast<double>(n_free_ - memory_.held.size());
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      if (!memory_.is_held[i]) memory_.step[i] -= mean;
    }
    return true;
  }

  Block first_bound() const {
    Block block{1.0, -1};
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      const double p = memory_.step[i];
      if (p == 0.0) continue;
      const double z = state_.dual[memory_.units[i]];
      const Range room = room_of(problem_, memory_.units[i], z);
      const double length = ((p > 0.0 ? room.high : room.low) - z) / p;
      if (length < block.length) block = {std::max(length, 0.0), i};
    }
    return block;
  }

  void take_step(const Block& block) {
    const double rest = 1.0 - block.length;
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      solution()[i] *= rest;
      // By the conditions of the step; those of held units are not needed any more.
      memory_.slope[i] = rest * memory_.slope[i] - block.length * memory_.multipliers[0];
      const double p = memory_.step[i];
      if (p == 0.0) continue;
      double& z = state_.dual[memory_.units[i]];
      const Range room = room_of(problem_, memory_.units[i], z);
      // The bound that stops the step must be met exactly.
      const double moved = i == block.index ? (p > 0.0 ? room.high : room.low)
                                            : z + block.length * p;
      z = std::min(std::max(moved, room.low), room.high);
    }
    if (is_coupled_) {
      state_.source_sum += block.length * memory_.multipliers[1] / problem_.inverse_coupling;
    }
  }

  void keep_free_units() {
    std::ptrdiff_t kept = 0;
    for (std::ptrdiff_t i = 0; i < n_free_; ++i) {
      const double z = state_.dual[memory_.units[i]];
      const Range room = room_of(problem_, memory_.units[i], z);
      if (z <= room.low || z >= room.high) continue;
      memory_.units[kept] = memory_.units[i];
      memory_.slope[kept] = memory_.slope[i];
      ++kept;
    }
    memory_.units.resize(kept);
    count_units();
  }

  // Whether the sums of z are what they should be, but for rounding.
  bool is_balanced() const {
    const double* z = state_.dual.data();
    const auto n = static_cast<std::ptrdiff_t>(memory_.before.size());
    const double largest =
        std::max(largest_size(z, problem_.n_units), largest_size(memory_.before.data(), n));
    const double bearable = kUnbalanced * static_cast<double>(problem_.n_units) * largest;
    if (std::abs(exact_sum(z, problem_.n_units)) > bearable) return false;
    return problem_.inverse_coupling == 0.0 ||
           std::abs(exact_sum(z, problem_.n_source) - state_.source_sum) <= bearable;
  }

  void enter_change() {
    const auto& units = memory_.all_units;
    const auto n = static_cast<std::ptrdiff_t>(units.size());
    for (std::ptrdiff_t unit : units) set_offsets(problem_, state_, unit);
    remove_drift(problem_, state_);
    if (!is_balanced()) {
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        state_.dual[units[i]] = memory_.before[i];
        set_offsets(problem_, state_, units[i]);
      }
      state_.source_sum = source_sum_before_;
      outcome_.is_complete = false;
      return;
    }
    memory_.change.resize(n);
    double moved = 0.0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      memory_.change[i] = state_.dual[units[i]] - memory_.before[i];
      moved += std::abs(memory_.change[i]);
    }
    const double size_before = state_.gradient_size;
    add_unit_rows(problem_, units.data(), memory_.change.data(), n, problem_.within,
                  problem_.across, state_.gradient.data());
    measure_gradient(state_);
    // Four units at a time, and what was added may have been larger than what came out.
    state_.gradient_size =
        std::max({state_.gradient_size, size_before, moved * state_.largest_diagonal});
    count_rounding(state_, 0.25 * static_cast<double>(n) + 2.0);
  }

  const Problem<Real>& problem_;
  State& state_;
  NewtonMemory& memory_;
  NewtonOutcome outcome_;
  double budget_;             // as `time_`
  double time_ = 0.0;
  std::ptrdiff_t n_free_ = 0;
  std::ptrdiff_t n_free_source_ = 0;
  std::ptrdiff_t n_borders_ = 0;
  std::ptrdiff_t first_held_border_ = 1;
  std::ptrdiff_t most_held_ = 0;
  std::ptrdiff_t stride_ = 0;          // of the factor and the solutions
  std::ptrdiff_t small_stride_ = 0;
  bool is_coupled_ = false;
  double source_sum_before_ = 0.0;
};

}  // namespace

double newton_cost(std::ptrdiff_t n_free, std::ptrdiff_t n_units) {
  return (round_time(n_free) + enter_time(n_free, n_units)) / iteration_time(n_units);
}

template <class Real>
NewtonOutcome newton(const Problem<Real>& problem, State& state, NewtonMemory& memory,
                     double budget) {
  return NewtonCall<Real>(problem, state, memory, budget).run();
}

template NewtonOutcome newton(const Problem<float>&, State&, NewtonMemory&, double);
template NewtonOutcome newton(const Problem<double>&, State&, NewtonMemory&, double);

}  // namespace bagshift
