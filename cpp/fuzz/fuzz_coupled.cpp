// SPDX-License-Identifier: BSD-3-Clause
//
// The coupled program, its solver and chains of programs.
#include <algorithm>
#include <limits>
#include <vector>

#include "coupled_chain.hpp"
#include "coupled_qp.hpp"
#include "coupled_solver.hpp"
#include "smo_passes.hpp"
#include "fuzz.hpp"

namespace fuzz {
namespace {

using bagshift::Problem;
using bagshift::Solution;
using bagshift::State;
using bagshift::Status;

constexpr int kMostUnits = 24;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Memory of a problem; the numbers between the rows of the matrix must never be read.
template <class Real>
struct Case {
  std::vector<Real> gram;
  std::vector<double> targets, half_widths, lower, upper;
  Problem<Real> problem{};
};

double feature(Bytes& bytes, int kind) {
  if (kind == 0) return bytes.between(-2, 2);  // many rows are equal
  return 4.0 * bytes.unit() - 2.0;
}

// Kernels of few features: linear (of low rank), Gaussian, one number everywhere, the identity.
template <class Real>
void read_gram(Bytes& bytes, Case<Real>& made, std::ptrdiff_t m, std::ptrdiff_t stride) {
  const int kernel = bytes.below(6);
  const int kind = bytes.below(2);
  const int n_features = bytes.between(1, 3);
  const double scale = bytes.power_of_ten(-4, 4);
  std::vector<double> x(static_cast<std::size_t>(m * n_features));
  for (double& value : x) value = feature(bytes, kind);
  made.gram.assign(static_cast<std::size_t>(m * stride), std::numeric_limits<Real>::quiet_NaN());
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t j = 0; j < m; ++j) {
      double inner = 0.0, distance = 0.0;
      for (int k = 0; k < n_features; ++k) {
        const double a = x[i * n_features + k], b = x[j * n_features + k];
        inner += a * b;
        distance += (a - b) * (a - b);
      }
      double value = kernel < 3 ? inner : std::exp(-distance);
      if (kernel == 4) value = i == j ? 1.0 : 0.0;
      if (kernel == 5) value = kind;
      made.gram[i * stride + j] = static_cast<Real>(scale * value);
    }
  }
}

// Labelled units and bags, some of them in boxes of no width.
template <class Real>
void read_units(Bytes& bytes, Case<Real>& made, std::ptrdiff_t m, double cost, double other) {
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    const double c = made.problem.n_source > i ? cost : other;
    const int kind = bytes.below(8);
    const double sign = kind % 2 == 0 ? 1.0 : -1.0;
    made.targets.push_back(sign);
    made.half_widths.push_back(0.0);
    made.lower.push_back(kind < 4 && sign < 0.0 ? -c : 0.0);
    made.upper.push_back(kind < 4 && sign > 0.0 ? c : 0.0);
    if (kind >= 4 && kind < 7) {
      made.targets.back() = kind == 4 ? sign * 20.0 : 10.0 * bytes.unit() - 5.0;
      made.half_widths.back() = bytes.one_in(3) ? 0.0 : bytes.unit() * bytes.power_of_ten(-6, 1);
      made.lower.back() = -c;
      made.upper.back() = c * (bytes.one_in(4) ? bytes.unit() : 1.0);
    }
  }
}

void set_coupling(Bytes& bytes, double& within, double& across, double& inverse_coupling) {
  const int exponent = bytes.between(-12, 12);
  const double coupling = std::pow(10.0, exponent);
  const bool is_infinite = exponent == 12;
  within = is_infinite ? 0.5 : (1.0 + coupling) / (1.0 + 2.0 * coupling);
  across = is_infinite ? 0.5 : coupling / (1.0 + 2.0 * coupling);
  inverse_coupling = is_infinite ? 0.0 : 1.0 / coupling;
}

template <class Real>
Case<Real> read_case(Bytes& bytes, double cost, double other) {
  const std::ptrdiff_t m = bytes.between(1, kMostUnits);
  const std::ptrdiff_t stride = m + (bytes.one_in(4) ? bytes.below(4) : 0);
  Case<Real> made;
  made.problem.n_source = bytes.one_in(4) ? 0 : bytes.below(static_cast<int>(m));
  read_gram(bytes, made, m, stride);
  read_units(bytes, made, m, cost, other);
  Problem<Real>& problem = made.problem;
  problem = {made.gram.data(),   stride,
             m,                  problem.n_source,
             made.targets.data(), made.half_widths.data(),
             made.lower.data(),  made.upper.data(),
             1.0,                0.0,
             0.0};
  if (problem.n_source > 0) {
    set_coupling(bytes, problem.within, problem.across, problem.inverse_coupling);
  }
  return made;
}

bagshift::Options read_options(Bytes& bytes) {
  bagshift::Options options;
  options.tol = bytes.power_of_ten(-10, 1);
  options.max_iter = bytes.one_in(4) ? bytes.below(40) : 2000;
  options.use_newton = !bytes.one_in(4);
  return options;
}

// --- promises -------------------------------------------------------------------------------

double sum(const double* values, std::ptrdiff_t begin, std::ptrdiff_t end) {
  long double total = 0.0L;
  for (std::ptrdiff_t i = begin; i < end; ++i) total += values[i];
  return static_cast<double>(total);
}

// Largest number that a dual variable may be.
template <class Real>
double largest_bound(const Problem<Real>& problem) {
  double largest = 0.0;
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) {
    largest = std::max({largest, -problem.lower[i], problem.upper[i]});
  }
  return largest;
}

template <class Real>
void check_box(const Problem<Real>& problem, const double* dual) {
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) {
    AT_MOST(problem.lower[i], dual[i]);
    AT_MOST(dual[i], problem.upper[i]);
  }
}

void check_summary(const Solution& summary) {
  PROMISE(std::isfinite(summary.intercept));
  PROMISE(std::isfinite(summary.intercept_shift));
  PROMISE(std::isfinite(summary.objective));
  PROMISE(std::isfinite(summary.dual_objective));
  PROMISE(std::isfinite(summary.dual_gap));
  PROMISE(std::isfinite(summary.violation));
  PROMISE(std::isfinite(summary.equality_residual));
  AT_MOST(summary.intercept_low, summary.intercept_high);
  AT_MOST(0.0, summary.dual_gap);
  AT_MOST(0.0, summary.violation);
}

// Size of the numbers that the scores of a dual are added up from.
template <class Real>
double score_size(const Problem<Real>& problem, const double* dual, double source_sum) {
  double largest = 0.0;
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) {
    double size = std::abs(problem.targets[i]) + problem.half_widths[i];
    for (std::ptrdiff_t j = 0; j < problem.n_units; ++j) {
      size += std::abs(problem.weight(i, j) * static_cast<double>(problem.row(i)[j]) * dual[j]);
    }
    largest = std::max(largest, size);
  }
  return largest + std::abs(source_sum * problem.inverse_coupling);
}

// Largest slope of a move down minus the smallest of a move up, from the dual anew.
template <class Real>
double violation_of(const Problem<Real>& problem, const double* dual, double source_sum) {
  double lowest_up = kInfinity, highest_down = -kInfinity;
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) {
    long double slope = -static_cast<long double>(problem.targets[i]);
    for (std::ptrdiff_t j = 0; j < problem.n_units; ++j) {
      slope += static_cast<long double>(problem.weight(i, j)) * problem.row(i)[j] * dual[j];
    }
    if (problem.is_source(i)) slope += source_sum * problem.inverse_coupling;
    const double z = dual[i], tube = problem.half_widths[i], g = static_cast<double>(slope);
    if (z < problem.upper[i]) lowest_up = std::min(lowest_up, g + (z >= 0.0 ? tube : -tube));
    if (z > problem.lower[i]) highest_down = std::max(highest_down, g + (z > 0.0 ? tube : -tube));
  }
  return highest_down - lowest_up;
}

template <class Real>
void check_solution(const Problem<Real>& problem, const State& state, Status status,
                    const bagshift::Options& options, std::int64_t n_newton) {
  const std::ptrdiff_t m = problem.n_units, n = problem.n_source;
  const double* dual = state.dual.data();
  check_box(problem, dual);
  const Solution summary = summarise(problem, state);
  check_summary(summary);

  const auto n_roundings = static_cast<double>(state.n_iter + 4 * m * (1 + n_newton));
  const double drift = 4.0 * kEpsilon * n_roundings * largest_bound(problem);
  AT_MOST(std::abs(sum(dual, 0, m)), drift);
  if (problem.inverse_coupling > 0.0) {
    AT_MOST(std::abs(sum(dual, 0, n) - state.source_sum), drift);
  }
  AT_MOST(state.n_iter, options.max_iter);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    PROMISE((state.up_offset[i] == bagshift::kBlocked) == (dual[i] >= problem.upper[i]));
    PROMISE((state.down_offset[i] == -bagshift::kBlocked) == (dual[i] <= problem.lower[i]));
  }
  const double rounding = 1e3 * kEpsilon * score_size(problem, dual, state.source_sum);
  const double violation = violation_of(problem, dual, state.source_sum);
  // Only rounding ends the work too early: of scores, or of the equality by the largest variable.
  if (status == Status::stalled) {
    const double of_sum = kEpsilon * largest_bound(problem) * state.largest_diagonal;
    AT_MOST(violation, 1.001 * options.tol + 1e3 * (rounding + of_sum));
  }
  if (status != Status::optimal) return;
  AT_MOST(violation, 1.001 * options.tol + rounding);
  double widths = 0.0;
  for (std::ptrdiff_t i = 0; i < m; ++i) widths += problem.upper[i] - problem.lower[i];
  const double least = widths * (1.001 * options.tol + rounding);
  AT_MOST(summary.dual_gap, least);
  AT_MOST(std::abs(summary.objective - summary.dual_objective), least);
}

template <class Real>
std::vector<double> read_guess(Bytes& bytes, const Problem<Real>& problem) {
  std::vector<double> guess;
  const double size = bytes.power_of_ten(-2, 2);
  for (std::ptrdiff_t i = 0; i < problem.n_units; ++i) {
    const double share = size * (bytes.unit() - 0.5);
    guess.push_back(share * (problem.upper[i] - problem.lower[i]));
  }
  return guess;
}

template <class Real>
void solve_and_check(Bytes& bytes) {
  const double cost = bytes.power_of_ten(-8, 8), other = bytes.power_of_ten(-8, 8);
  const Case<Real> made = read_case<Real>(bytes, cost, bytes.one_in(2) ? other : cost);
  const Problem<Real>& problem = made.problem;
  const bagshift::Options options = read_options(bytes);
  std::vector<double> guess;
  if (bytes.one_in(2)) guess = read_guess(bytes, problem);
  const double* from = guess.empty() ? nullptr : guess.data();
  const std::int64_t burst = bytes.one_in(2) ? 1 + bytes.below(100) : 100000;

  State plain = bagshift::start(problem, from);
  Status status = Status::running;
  while (status == Status::running) status = advance(problem, plain, options, burst);
  check_solution(problem, plain, status, options, 0);

  bagshift::NewtonMemory memory;
  bagshift::CoupledSolver<Real> solver(problem, options, memory);
  solver.start(from);
  status = Status::running;
  while (status == Status::running) status = solver.advance(burst);
  check_solution(problem, solver.state(), status, options, solver.n_newton());

  // The solution is a guess too.
  const std::vector<double> found = solver.state().dual;
  solver.start(found.data());
  status = solver.advance(std::numeric_limits<std::int64_t>::max());
  check_solution(problem, solver.state(), status, options, solver.n_newton());
}

// --- chains ---------------------------------------------------------------------------------

template <class Real>
void solve_and_check_chain(Bytes& bytes) {
  const Case<Real> made = read_case<Real>(bytes, 1.0, 1.0);
  const Problem<Real>& problem = made.problem;
  const std::ptrdiff_t m = problem.n_units, n = problem.n_source;
  const bagshift::Options options = read_options(bytes);
  const int n_settings = bytes.between(1, 4);
  const double ratio = bytes.power_of_ten(-4, 4);
  std::vector<bagshift::ChainSetting> settings;
  for (int s = 0; s < n_settings; ++s) {
    bagshift::ChainSetting setting{};
    setting.target_cost = bytes.one_in(16) ? 0.0 : bytes.power_of_ten(-4, 4);
    setting.source_cost = setting.target_cost * ratio;
    setting.within = 1.0;
    setting.is_apart = n > 0 && bytes.one_in(4);
    if (n > 0 && !setting.is_apart) {
      set_coupling(bytes, setting.within, setting.across, setting.inverse_coupling);
    }
    setting.start = bytes.between(-1, s - 1);
    settings.push_back(setting);
  }
  std::vector<double> duals(static_cast<std::size_t>(n_settings * m));
  std::vector<bagshift::ChainEntry> entries(settings.size());
  bagshift::ChainSolver<Real> solver(problem, settings, options);
  for (int s = 0; s < n_settings; ++s) entries[s] = solver.solve(s, duals.data());
  for (int s = 0; s < n_settings; ++s) {
    const double* dual = duals.data() + s * m;
    check_summary(entries[s].summary);
    PROMISE(entries[s].status != Status::running);
    AT_MOST(entries[s].n_iter, 2 * options.max_iter);
    double most = 0.0;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const double cost = i < n ? settings[s].source_cost : settings[s].target_cost;
      AT_MOST(cost * problem.lower[i], dual[i]);
      AT_MOST(dual[i], cost * problem.upper[i]);
      most = std::max({most, -cost * problem.lower[i], cost * problem.upper[i]});
    }
    const auto n_roundings = static_cast<double>(entries[s].n_iter + 1000 * m);
    AT_MOST(std::abs(sum(dual, 0, m)), 4.0 * kEpsilon * n_roundings * most);
    if (settings[s].is_apart) {
      AT_MOST(std::abs(sum(dual, 0, n)), 4.0 * kEpsilon * n_roundings * most);
    }
  }
}

}  // namespace

void fuzz_coupled(Bytes& bytes) {
  if (bytes.one_in(2)) {
    solve_and_check<float>(bytes);
  } else {
    solve_and_check<double>(bytes);
  }
}

void fuzz_chain(Bytes& bytes) {
  if (bytes.one_in(2)) {
    solve_and_check_chain<float>(bytes);
  } else {
    solve_and_check_chain<double>(bytes);
  }
}

}  // namespace fuzz
