// SPDX-License-Identifier: BSD-3-Clause
//
// The count likelihood: posteriors under laws of every kind, and the probabilities of all counts.
#include <algorithm>
#include <limits>
#include <vector>

#include "count_likelihood.hpp"
#include "count_loss.hpp"
#include "fuzz.hpp"

namespace fuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Up to this size of a score, rounding of the sums leaves most digits of a result.
constexpr double kModerate = 1e6;

double read_score(Bytes& bytes, int kind) {
  constexpr double kSpecial[] = {0.0,  -0.0,  36.7, -36.7, 700.0, -700.0, 745.2, -745.2,
                                 1e3,  -1e3,  1e5,  -1e5,  5e-324, 1e-300, -1e-8, 60.0};
  constexpr double kExtreme[] = {1e8, -1e8, 1e15, -1e15, 1e17, -1e17, 1e100, -1e100,
                                 1e300, -1e300, 0.0, 1.0, -1.0, 1e3, -1e3, 4e15};
  switch (kind) {
    case 0:
      return bytes.between(-3, 3);
    case 1:
      return 16.0 * bytes.unit() - 8.0;
    case 2:
      return kSpecial[bytes.below(16)];
    case 3:
      return (2.0 * bytes.unit() - 1.0) * bytes.power_of_ten(-3, 5);
    default:
      return kExtreme[bytes.below(16)];
  }
}

// Few rows; now and then so many that the sum over nodes is chosen.
void read_bag(Bytes& bytes, std::vector<double>& scores) {
  const bool is_large = bytes.one_in(16);
  const int n = is_large ? bytes.between(100, 400) : bytes.between(1, 24);
  const int kind = is_large ? bytes.below(4) : bytes.below(5);
  for (int j = 0; j < n; ++j) scores.push_back(read_score(bytes, kind));
}

double read_log_weight(Bytes& bytes) {
  switch (bytes.below(8)) {
    case 0:
      return -kInfinity;
    case 1:
      return -1e4 * bytes.unit();
    case 2:
      return 100.0 * bytes.unit();
    default:
      return -10.0 * bytes.unit();
  }
}

struct Laws {
  std::vector<double> scores;
  std::vector<std::int64_t> starts{0}, first_counts, weight_starts{0};
  std::vector<double> log_weights;

  void read(Bytes& bytes) {
    read_bag(bytes, scores);
    const auto n = static_cast<int>(scores.size() - static_cast<std::size_t>(starts.back()));
    starts.push_back(static_cast<std::int64_t>(scores.size()));
    if (bytes.one_in(2)) {  // an exact count
      first_counts.push_back(bytes.between(0, n));
      log_weights.push_back(0.0);
    } else {
      const int n_weights = bytes.between(1, std::min(n + 6, 60));
      first_counts.push_back(bytes.between(-4, n + 1));
      for (int i = 0; i < n_weights; ++i) log_weights.push_back(read_log_weight(bytes));
    }
    weight_starts.push_back(static_cast<std::int64_t>(log_weights.size()));
  }
};

double largest(const double* scores, std::ptrdiff_t n) {
  double size = 0.0;
  for (std::ptrdiff_t j = 0; j < n; ++j) size = std::max(size, std::fabs(scores[j]));
  return size;
}

void check_bag(const Laws& laws, std::size_t k, double log_likelihood, const double* probability) {
  const std::int64_t begin = laws.starts[k], n = laws.starts[k + 1] - begin;
  double expected = 0.0;
  for (std::int64_t j = 0; j < n; ++j) {
    AT_MOST(0.0, probability[j]);
    AT_MOST(probability[j], 1.0);
    expected += probability[j];
  }
  std::int64_t first = n + 1, last = -1;
  double highest = -kInfinity;
  for (std::int64_t w = laws.weight_starts[k]; w < laws.weight_starts[k + 1]; ++w) {
    const std::int64_t count = laws.first_counts[k] + (w - laws.weight_starts[k]);
    const double weight = laws.log_weights[static_cast<std::size_t>(w)];
    if (count < 0 || count > n || weight == -kInfinity) continue;
    first = std::min(first, count);
    last = std::max(last, count);
    highest = std::max(highest, weight);
  }
  if (last < 0) {
    PROMISE(log_likelihood == -kInfinity);
    return;
  }
  PROMISE(std::isfinite(log_likelihood));
  AT_MOST(log_likelihood, highest);
  if (largest(laws.scores.data() + begin, n) > kModerate) return;
  const double rounding = 1e-7 * static_cast<double>(n);
  AT_MOST(static_cast<double>(first) - rounding, expected);
  AT_MOST(expected, static_cast<double>(last) + rounding);
}

void check_log_probabilities(const double* scores, std::ptrdiff_t n) {
  std::vector<double> log_probabilities(static_cast<std::size_t>(n) + 1);
  bagshift::count_log_probabilities(scores, n, log_probabilities.data());
  double total = 0.0;
  for (const double value : log_probabilities) {
    AT_MOST(value, 0.0);
    PROMISE(std::isfinite(value));
    total += std::exp(value);
  }
  if (largest(scores, n) > kModerate) return;
  AT_MOST(std::fabs(total - 1.0), 1e-7);
}

void check_loss(const bagshift::CountProblem& problem, const std::vector<double>& log_likelihood) {
  const auto n_bags = static_cast<std::size_t>(problem.n_bags);
  const auto n_rows = static_cast<std::size_t>(problem.starts[problem.n_bags]);
  const std::vector<double> costs(n_bags, 1.0);
  std::vector<double> likelihood(n_bags), bag_weight(n_bags);
  std::vector<double> slope(n_rows), curvature(n_rows), variance(n_rows);
  bagshift::count_loss(problem, costs.data(),
                       {likelihood.data(), slope.data(), curvature.data(), variance.data(),
                        bag_weight.data()},
                       1);
  PROMISE(likelihood == log_likelihood);
  for (std::size_t j = 0; j < n_rows; ++j) {
    AT_MOST(std::fabs(slope[j]), 1.0);
    AT_MOST(std::fabs(curvature[j]), 0.5);
    AT_MOST(0.0, variance[j]);
    AT_MOST(variance[j], 0.5);
  }
  for (const double weight : bag_weight) PROMISE(std::isfinite(weight) && weight >= 0.0);
}

}  // namespace

void fuzz_counts(Bytes& bytes) {
  Laws laws;
  const int n_bags = bytes.between(1, 3);
  for (int k = 0; k < n_bags; ++k) laws.read(bytes);
  std::vector<double> log_likelihood(static_cast<std::size_t>(n_bags));
  std::vector<double> probability(laws.scores.size());
  const bagshift::CountProblem problem{
      n_bags,
      laws.scores.data(),
      laws.starts.data(),
      laws.first_counts.data(),
      laws.weight_starts.data(),
      laws.log_weights.data()};
  bagshift::count_posterior(problem, {log_likelihood.data(), probability.data()}, 2);
  check_loss(problem, log_likelihood);
  for (std::size_t k = 0; k < log_likelihood.size(); ++k) {
    check_bag(laws, k, log_likelihood[k], probability.data() + laws.starts[k]);
  }
  check_log_probabilities(laws.scores.data(), laws.starts[1]);
}

}  // namespace fuzz
