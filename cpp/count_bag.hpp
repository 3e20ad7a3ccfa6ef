// SPDX-License-Identifier: BSD-3-Clause
//
// One bag of the count likelihood: the tilt, and the two ways to the posterior under it.
#pragma once

#include <cstddef>
#include <vector>

#include "count_likelihood.hpp"
#include "count_passes.hpp"

namespace bagshift {

// Log weights of the counts first, first + 1, ...; the first and the last are finite.
struct Law {
  std::ptrdiff_t first;
  const double* log_weights;
  std::ptrdiff_t n;
  std::ptrdiff_t last() const { return first + n - 1; }
  double highest(double theta) const;  // of log_weights[i] - theta * i
  double lowest() const;               // finite one
};

inline Law law_of(const CountProblem& problem, std::ptrdiff_t bag) {
  const std::int64_t begin = problem.weight_starts[bag], end = problem.weight_starts[bag + 1];
  return {static_cast<std::ptrdiff_t>(problem.first_counts[bag]), problem.log_weights + begin,
          static_cast<std::ptrdiff_t>(end - begin)};
}

// Work space of one thread; grows to what the largest bag needs and is used again.
class CountWorkspace {
 public:
  // Log-likelihood of a bag and the posterior of its rows.
  double solve(const double* scores, std::ptrdiff_t n, const Law& law, double* probability);

  // log P(c), P(c + 1), ... for as many counts (at least one) as the tilt at c serves, written to
  // `log_probabilities`; 0 < c < n. Returns how many.
  std::ptrdiff_t log_probabilities(const double* scores, std::ptrdiff_t n, std::ptrdiff_t count,
                                   double* log_probabilities);

 private:
  void reserve_rows(std::ptrdiff_t n);
  void reserve_nodes();
  double solve_pure(const double* scores, std::ptrdiff_t n, bool positive, double* probability);

  void find_tilt(const double* scores, std::ptrdiff_t n, const Law& law);
  bool tilt_fits(const Law& law);
  void move_tilt(const double* scores, std::ptrdiff_t n, const Law& law);
  double shift_scores(const double* scores, std::ptrdiff_t n, const Law& law);

  // P_theta(c) times weight of c, summed; and its part with y_j = 1 for every row.
  double join(std::ptrdiff_t n, const Law& law, double* joint);
  double join_by_recursion(std::ptrdiff_t n, const Law& law, double* joint);
  double join_by_nodes(std::ptrdiff_t n, const Law& law, double* joint);
  double merge_halves(const double* scores, std::ptrdiff_t n, const Law& law, double* probability);

  void split_rows(std::ptrdiff_t n);
  double take_out_of_count(const Window& window, std::ptrdiff_t count, double* joint);
  double take_out_of_law(const Window& window, const Law& law, const Law& kept, double* joint);

  struct NodeTotal {
    double value;
    double base;  // share of the node z = 1
  };
  void place_nodes(std::ptrdiff_t lowest, std::ptrdiff_t highest);
  NodeTotal weigh_nodes(std::ptrdiff_t first, const double* weights, std::ptrdiff_t n);

  // State of the bag in work: rows at tilt theta, moments of their sum and of the tilted law.
  double theta_ = 0.0;
  double log_factor_ = 0.0;    // log of sum_c P(c) w(c) over sum_c P_theta(c) weights(c)
  Moments sum_{};
  Moments target_{};
  double level_ = 0.0;         // of the tilted law: its largest log weight

  // Memory for them.
  Rows rows_{};
  Nodes nodes_{};
  std::vector<double> row_memory_, window_memory_, node_memory_, weight_memory_, shifted_;
  std::vector<std::ptrdiff_t> order_memory_;
  std::ptrdiff_t* order_ = nullptr;  // rows of chance up to 1/2, then the others
  double* sorted_ratio_ = nullptr;   // in that order, both parts padded
  double* rest_ = nullptr;
  std::ptrdiff_t n_minor_ = 0;
  std::ptrdiff_t n_major_ = 0;
  double* window_[4] = {};
  double* sum_real_ = nullptr;
  double* sum_imaginary_ = nullptr;
  std::ptrdiff_t n_nodes_ = 0;  // without padding
  std::ptrdiff_t period_ = 0;
};

}  // namespace bagshift
