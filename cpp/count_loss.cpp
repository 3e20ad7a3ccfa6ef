// SPDX-License-Identifier: BSD-3-Clause
//
// Compiled as count_passes.cpp is: every instruction set gives the same bits.
#include "count_loss.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bag_pieces.hpp"
#include "count_bag.hpp"
#include "multiversion.hpp"

namespace bagshift {
namespace {

// Shift of the scores that the variance of a count is read from.
constexpr double kShift = 1e-3;

// A bag without variance is divided by one.
double nothing_as_one(double total) { return total > 1e-100 ? total : 1.0; }

// Which part of the variance of a count is known, given the sum of the labels' variances.
double known_part(double count_variance, double total) {
  return 1.0 - std::min(count_variance / total, 1.0);
}

// variance = p (1 - p) over padded rows; their sum.
BAGSHIFT_MULTIVERSION
double label_variance(const double* probability, std::ptrdiff_t n_padded, double* variance) {
  double total[kLanes] = {};
  for (std::ptrdiff_t j = 0; j < n_padded; j += kLanes) {
#pragma omp simd
    for (std::ptrdiff_t l = 0; l < kLanes; ++l) {
      const double p = probability[j + l];
      variance[j + l] = p * (1.0 - p);
      total[l] += variance[j + l];
    }
  }
  return sum_lanes(total);
}

// variance /= max(1 - part * variance, 1/2) over padded rows; their new sum.
BAGSHIFT_MULTIVERSION
double grow_variance(double part, std::ptrdiff_t n_padded, double* variance) {
  double total[kLanes] = {};
  for (std::ptrdiff_t j = 0; j < n_padded; j += kLanes) {
#pragma omp simd
    for (std::ptrdiff_t l = 0; l < kLanes; ++l) {
      const double rest = 1.0 - part * variance[j + l];
      variance[j + l] /= rest > 0.5 ? rest : 0.5;
      total[l] += variance[j + l];
    }
  }
  return sum_lanes(total);
}

BAGSHIFT_MULTIVERSION
void differentiate(const Rows& rows, const double* probability, const double* variance,
                   std::ptrdiff_t n, double cost, double* slope, double* curvature) {
#pragma omp simd
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    slope[j] = cost * (rows.success[j] - probability[j]);
    curvature[j] = cost * (rows.success[j] * rows.failure[j] - variance[j]);
  }
}

class LossWorkspace {
 public:
  void solve(const CountProblem& problem, std::ptrdiff_t bag, double cost,
             const CountLoss& result) {
    const std::int64_t row = problem.starts[bag];
    const auto n = static_cast<std::ptrdiff_t>(problem.starts[bag + 1] - row);
    const double* scores = problem.scores + row;
    const Law law = law_of(problem, bag);
    reserve(n);
    result.log_likelihood[bag] = counts_.solve(scores, n, law, probability_);
    std::fill(probability_ + n, probability_ + padded(n), 0.0);
    tilt_rows(scores, n, 0.0, rows_);

    // The stand-in of the curvature, in two steps.
    const double count_variance = law.n > 1 ? variance_of_count(scores, n, law) : 0.0;
    const double marginal = nothing_as_one(label_variance(probability_, padded(n), variance_));
    const double part = known_part(count_variance, marginal) / marginal;
    const double total = nothing_as_one(grow_variance(part, padded(n), variance_));
    result.bag_weight[bag] = cost * known_part(count_variance, total) / total;
    differentiate(rows_, probability_, variance_, n, cost, result.slope + row,
                  result.curvature + row);
    std::copy(variance_, variance_ + n, result.label_variance + row);
  }

 private:
  void reserve(std::ptrdiff_t n) {
    const auto room = static_cast<std::size_t>(padded(n));
    if (memory_.size() < 6 * room) {
      memory_.assign(6 * room, 0.0);
      double* memory = memory_.data();
      rows_ = {memory, memory + room, memory + 2 * room};
      probability_ = memory + 3 * room;
      variance_ = memory + 4 * room;
      shifted_ = memory + 5 * room;
    }
  }

  // The derivative of the mean count given what is published in a shift of all scores.
  double variance_of_count(const double* scores, std::ptrdiff_t n, const Law& law) {
    double mean[2];
    for (int side = 0; side < 2; ++side) {
      const double shift = side == 0 ? -kShift : kShift;
      for (std::ptrdiff_t j = 0; j < n; ++j) shifted_[j] = scores[j] + shift;
      counts_.solve(shifted_, n, law, variance_);
      mean[side] = 0.0;
      for (std::ptrdiff_t j = 0; j < n; ++j) mean[side] += variance_[j];
    }
    return std::max((mean[1] - mean[0]) / (2.0 * kShift), 0.0);
  }

  CountWorkspace counts_;
  std::vector<double> memory_;
  Rows rows_{};
  double* probability_ = nullptr;
  double* variance_ = nullptr;
  double* shifted_ = nullptr;
};

template <class Number>
BAGSHIFT_INLINE void add_rows(const Number* rows, std::ptrdiff_t n_features, const double* factors,
                              std::ptrdiff_t n, double* BAGSHIFT_RESTRICT sums) {
  std::ptrdiff_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const Number* row0 = rows + j * n_features;
    const Number* row1 = row0 + n_features;
    const Number* row2 = row1 + n_features;
    const Number* row3 = row2 + n_features;
    const double f0 = factors[j], f1 = factors[j + 1], f2 = factors[j + 2], f3 = factors[j + 3];
#pragma omp simd
    for (std::ptrdiff_t i = 0; i < n_features; ++i) {
      sums[i] += (f0 * static_cast<double>(row0[i]) + f1 * static_cast<double>(row1[i])) +
                 (f2 * static_cast<double>(row2[i]) + f3 * static_cast<double>(row3[i]));
    }
    sums[n_features] += (f0 + f1) + (f2 + f3);
  }
  for (; j < n; ++j) {
    const Number* row = rows + j * n_features;
    const double factor = factors[j];
#pragma omp simd
    for (std::ptrdiff_t i = 0; i < n_features; ++i) {
      sums[i] += factor * static_cast<double>(row[i]);
    }
    sums[n_features] += factor;
  }
}

template <class Number>
BAGSHIFT_INLINE void add_bags(const Number* rows, std::ptrdiff_t n_features, const double* factors,
                              const std::int64_t* starts, std::ptrdiff_t n_bags, double* sums) {
  std::fill(sums, sums + n_bags * (n_features + 1), 0.0);
  for (std::ptrdiff_t k = 0; k < n_bags; ++k) {
    const auto begin = static_cast<std::ptrdiff_t>(starts[k]);
    add_rows(rows + begin * n_features, n_features, factors + begin,
             static_cast<std::ptrdiff_t>(starts[k + 1]) - begin, sums + k * (n_features + 1));
  }
}

}  // namespace

void count_loss(const CountProblem& problem, const double* costs, const CountLoss& result,
                int n_threads) {
  visit_pieces(problem.starts, problem.n_bags, n_threads, [&] {
    return [&, workspace = LossWorkspace()](std::ptrdiff_t begin, std::ptrdiff_t end) mutable {
      for (std::ptrdiff_t k = begin; k < end; ++k) workspace.solve(problem, k, costs[k], result);
    };
  });
}

BAGSHIFT_MULTIVERSION
void bag_sums(const double* rows, std::ptrdiff_t n_features, const double* factors,
              const std::int64_t* starts, std::ptrdiff_t n_bags, double* sums) {
  add_bags(rows, n_features, factors, starts, n_bags, sums);
}

BAGSHIFT_MULTIVERSION
void bag_sums(const float* rows, std::ptrdiff_t n_features, const double* factors,
              const std::int64_t* starts, std::ptrdiff_t n_bags, double* sums) {
  add_bags(rows, n_features, factors, starts, n_bags, sums);
}

}  // namespace bagshift
