// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of the count likelihood.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings.hpp"
#include "count_likelihood.hpp"
#include "count_loss.hpp"

namespace {

bagshift::CountProblem problem_of(const Vector& scores, const Integers& starts,
                                  const Integers& first_counts, const Integers& weight_starts,
                                  const Vector& log_weights) {
  const std::ptrdiff_t n_bags = length(first_counts);
  if (!divides(starts, n_bags, length(scores), 1) ||
      !divides(weight_starts, n_bags, length(log_weights), 1)) {
    throw nb::value_error("arrays of a count problem do not fit each other");
  }
  return {n_bags,          scores.data(), starts.data(), first_counts.data(), weight_starts.data(),
          log_weights.data()};
}

nb::tuple count_posterior(const Vector& scores, const Integers& starts,
                          const Integers& first_counts, const Integers& weight_starts,
                          const Vector& log_weights, int n_threads) {
  const auto problem = problem_of(scores, starts, first_counts, weight_starts, log_weights);
  std::vector<double> log_likelihood(first_counts.shape(0)), probability(scores.shape(0));
  {
    nb::gil_scoped_release unlocked;
    bagshift::count_posterior(problem, {log_likelihood.data(), probability.data()}, n_threads);
  }
  return nb::make_tuple(hand_over(std::move(log_likelihood)), hand_over(std::move(probability)));
}

nb::tuple count_loss(const Vector& scores, const Integers& starts, const Integers& first_counts,
                     const Integers& weight_starts, const Vector& log_weights,
                     const Vector& costs, int n_threads) {
  const auto problem = problem_of(scores, starts, first_counts, weight_starts, log_weights);
  if (length(costs) != problem.n_bags) throw nb::value_error("there must be a cost for each bag");
  std::vector<double> log_likelihood(first_counts.shape(0)), bag_weight(first_counts.shape(0));
  std::vector<double> slope(scores.shape(0)), curvature(scores.shape(0));
  std::vector<double> label_variance(scores.shape(0));
  {
    nb::gil_scoped_release unlocked;
    bagshift::count_loss(problem, costs.data(),
                         {log_likelihood.data(), slope.data(), curvature.data(),
                          label_variance.data(), bag_weight.data()},
                         n_threads);
  }
  return nb::make_tuple(hand_over(std::move(log_likelihood)), hand_over(std::move(slope)),
                        hand_over(std::move(curvature)), hand_over(std::move(label_variance)),
                        hand_over(std::move(bag_weight)));
}

nb::object count_log_probabilities(const Vector& scores) {
  if (scores.shape(0) == 0) throw nb::value_error("a bag needs a row");
  std::vector<double> log_probabilities(scores.shape(0) + 1);
  {
    nb::gil_scoped_release unlocked;
    bagshift::count_log_probabilities(scores.data(), length(scores), log_probabilities.data());
  }
  return hand_over(std::move(log_probabilities));
}

}  // namespace

void define_count_likelihood(nb::module_& module) {
  module.def("count_posterior", &count_posterior, nb::kw_only(), "scores"_a.noconvert(),
             "starts"_a.noconvert(), "first_counts"_a.noconvert(), "weight_starts"_a.noconvert(),
             "log_weights"_a.noconvert(), "n_threads"_a);
  module.def("count_loss", &count_loss, nb::kw_only(), "scores"_a.noconvert(),
             "starts"_a.noconvert(), "first_counts"_a.noconvert(), "weight_starts"_a.noconvert(),
             "log_weights"_a.noconvert(), "costs"_a.noconvert(), "n_threads"_a);
  module.def("count_log_probabilities", &count_log_probabilities, "scores"_a.noconvert());
}
