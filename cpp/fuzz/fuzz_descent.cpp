// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent on explicit features.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "coordinate_descent.hpp"
#include "fuzz.hpp"

namespace fuzz {
namespace {

using bagshift::CoordinateDescent;
using bagshift::DescentDomain;
using bagshift::DescentMachine;
using bagshift::DescentSolution;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Units of one domain, with rows dense and sparse; what lies between dense rows is not to be read.
template <class Real, class Index>
struct Units {
  std::ptrdiff_t n_features = 0, stride = 0;
  std::vector<Real> dense, values;
  std::vector<Index> columns, starts;
  std::vector<double> targets, half_widths, lower, upper;

  std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(targets.size()); }

  std::unique_ptr<DescentDomain> domain(bool is_sparse) const {
    const bagshift::DescentUnits units{size(), targets.data(), half_widths.data(), lower.data(),
                                       upper.data()};
    if (!is_sparse) {
      return bagshift::make_domain(bagshift::DenseRows<Real>{dense.data(), stride}, units,
                                   n_features);
    }
    const bagshift::SparseRows<Real, Index> rows{values.data(), columns.data(), starts.data(),
                                                 static_cast<std::ptrdiff_t>(values.size())};
    return bagshift::make_domain(rows, units, n_features);
  }
};

// The same rows twice. Some entries come in two halves, and columns in falling order.
template <class Real, class Index>
void read_rows(Bytes& bytes, Units<Real, Index>& made, std::ptrdiff_t n) {
  const Real scale = static_cast<Real>(bytes.power_of_ten(-4, 4));
  const Real offset = static_cast<Real>(bytes.one_in(2) ? 0 : bytes.between(-30, 30));
  const bool is_coarse = bytes.one_in(2);
  made.stride = made.n_features + (bytes.one_in(4) ? bytes.below(4) : 0);
  made.dense.assign(static_cast<std::size_t>(n * made.stride),
                    std::numeric_limits<Real>::quiet_NaN());
  made.starts.push_back(0);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const bool is_empty = bytes.one_in(8);
    for (std::ptrdiff_t j = made.n_features - 1; j >= 0; --j) {
      const double drawn = is_coarse ? bytes.between(-2, 2) : 4.0 * bytes.unit() - 2.0;
      const Real value = is_empty ? Real{0} : scale * (static_cast<Real>(drawn) + offset);
      made.dense[i * made.stride + j] = value;
      if (value == Real{0}) continue;
      const int n_parts = bytes.one_in(4) ? 2 : 1;
      for (int part = 0; part < n_parts; ++part) {
        made.columns.push_back(static_cast<Index>(j));
        made.values.push_back(value / static_cast<Real>(n_parts));
      }
    }
    made.starts.push_back(static_cast<Index>(made.columns.size()));
  }
}

// Labelled units and bags, some of them in boxes of no width.
template <class Real, class Index>
Units<Real, Index> read_units(Bytes& bytes, std::ptrdiff_t n_features) {
  Units<Real, Index> made;
  made.n_features = n_features;
  const std::ptrdiff_t n = bytes.between(bytes.one_in(8) ? 0 : 1, 16);
  const double cost = bytes.power_of_ten(-8, 6);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const int kind = bytes.below(8);
    const double sign = kind % 2 == 0 ? 1.0 : -1.0;
    const bool is_bag = kind >= 4;
    made.targets.push_back(is_bag ? 10.0 * bytes.unit() - 5.0 : sign);
    made.half_widths.push_back(is_bag && !bytes.one_in(3) ? bytes.unit() : 0.0);
    made.lower.push_back(kind < 7 && (is_bag || sign < 0.0) ? -cost : 0.0);
    made.upper.push_back(kind < 7 && (is_bag || sign > 0.0) ? cost : 0.0);
  }
  read_rows(bytes, made, n);
  return made;
}

template <class Real, class Index>
double losses(const Units<Real, Index>& units, const DescentMachine& machine, double& size) {
  long double total = 0.0L;
  for (std::ptrdiff_t i = 0; i < units.size(); ++i) {
    long double residual = units.targets[i] - static_cast<long double>(machine.intercept);
    double terms = std::abs(units.targets[i]) + units.half_widths[i] + std::abs(machine.intercept);
    for (std::ptrdiff_t j = 0; j < units.n_features; ++j) {
      const auto term = static_cast<long double>(units.dense[i * units.stride + j]) *
                        machine.weights[j];
      residual -= term;
      terms += std::abs(static_cast<double>(term));
    }
    total += std::max({0.0L, units.upper[i] * (residual - units.half_widths[i]),
                       units.lower[i] * (residual + units.half_widths[i])});
    size += std::max(-units.lower[i], units.upper[i]) * terms;
  }
  return static_cast<double>(total);
}

struct Run {
  DescentSolution solution;
  double size;   // of the numbers that the objectives are made of
};

template <class Real, class Index>
Run solve(Bytes& bytes, const Units<Real, Index>* source, const Units<Real, Index>& target,
          double coupling, std::uint64_t seed) {
  const auto h = source ? source->domain(bytes.one_in(2)) : nullptr;
  const auto c = target.domain(bytes.one_in(2));
  PROMISE((!h || h->is_sound()) && c->is_sound());
  CoordinateDescent solver(h.get(), *c, coupling, seed);
  std::vector<double> guess(static_cast<std::size_t>(16));
  for (double& value : guess) value = 2.0 * bytes.unit() - 1.0;
  const bool has_guess = bytes.one_in(2);
  PROMISE(solver.start(has_guess ? guess.data() : nullptr, has_guess ? guess.data() : nullptr));
  const double tol = bytes.power_of_ten(-12, -1);
  const int n_epochs = bytes.one_in(2) ? bytes.below(8) : 100;
  bool is_done = solver.look(tol);
  for (int k = 0; k < n_epochs && !is_done; ++k) {
    if (solver.advance(tol) || k + 1 == n_epochs) is_done = solver.look(tol);
  }
  AT_MOST(solver.solution().n_epochs, n_epochs);

  double size = 0.0;
  for (const auto& [domain, units] : {std::pair(h.get(), source), std::pair(c.get(), &target)}) {
    if (!domain) continue;
    std::vector<double> dual(static_cast<std::size_t>(units->size()));
    domain->write_dual(dual.data());
    double pull = 0.0;
    for (std::ptrdiff_t i = 0; i < units->size(); ++i) {
      AT_MOST(units->lower[i], dual[i]);
      AT_MOST(dual[i], units->upper[i]);
      for (std::ptrdiff_t j = 0; j < units->n_features; ++j) {
        pull += std::abs(dual[i] * static_cast<double>(units->dense[i * units->stride + j]));
      }
    }
    size += pull * pull;
  }
  return {solver.solution(), size};
}

template <class Real, class Index>
void check(Run& run, const Units<Real, Index>* source, const Units<Real, Index>& target,
           double coupling) {
  const DescentMachine &h = run.solution.machines[0], &c = run.solution.machines[1];
  double objective = losses(target, c, run.size);
  double shift = c.intercept - h.intercept, distance = shift * shift;
  for (std::size_t j = 0; j < c.weights.size(); ++j) {
    objective += 0.5 * c.weights[j] * c.weights[j];
    if (source) objective += 0.5 * h.weights[j] * h.weights[j];
    distance += (c.weights[j] - h.weights[j]) * (c.weights[j] - h.weights[j]);
  }
  if (source) {
    objective += losses(*source, h, run.size);
    if (coupling <= 1e15 && coupling >= 1e-15) objective += 0.5 * coupling * distance;
  }
  AT_MOST(std::abs(objective - run.solution.objective), 1e-9 * (objective + run.size));
  PROMISE(std::isfinite(run.solution.dual_objective));
}

// Columns that lead out of the row are seen before they are read.
template <class Real, class Index>
void check_refusal(Units<Real, Index> units) {
  if (units.columns.empty()) return;
  units.columns.back() = static_cast<Index>(units.n_features);
  PROMISE(!units.domain(true)->is_sound());
  units.columns.back() = -1;
  PROMISE(!units.domain(true)->is_sound());
  units.columns.back() = 0;
  units.starts.back() += 1;
  PROMISE(!units.domain(true)->is_sound());
}

template <class Real, class Index>
void solve_and_check(Bytes& bytes) {
  const std::ptrdiff_t n_features = bytes.between(1, 9);
  const bool has_source = !bytes.one_in(4);
  const auto target = read_units<Real, Index>(bytes, n_features);
  const auto other = read_units<Real, Index>(bytes, n_features);
  const auto* source = has_source ? &other : nullptr;
  double coupling = bytes.power_of_ten(-17, 17);
  if (bytes.one_in(4)) coupling = bytes.one_in(2) ? 0.0 : kInfinity;
  check_refusal(target);

  Run one = solve(bytes, source, target, coupling, 1);
  Run two = solve(bytes, source, target, coupling, 2);
  check(one, source, target, coupling);
  check(two, source, target, coupling);
  // Every lower bound is below every value.
  const double rounding = 1e-9 * (one.size + two.size);
  for (const Run* low : {&one, &two}) {
    for (const Run* high : {&one, &two}) {
      AT_MOST(low->solution.dual_objective, high->solution.objective + rounding);
    }
  }
}

}  // namespace

void fuzz_descent(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0:
      solve_and_check<float, std::int32_t>(bytes);
      break;
    case 1:
      solve_and_check<float, std::int64_t>(bytes);
      break;
    case 2:
      solve_and_check<double, std::int32_t>(bytes);
      break;
    default:
      solve_and_check<double, std::int64_t>(bytes);
  }
}

}  // namespace fuzz
