// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of the count likelihood.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings.hpp"
#include "count_likelihood.hpp"

namespace {

using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Values>
std::ptrdiff_t length(const Values& values) {
  return static_cast<std::ptrdiff_t>(values.shape(0));
}

// Whether 0 = starts[0] <= starts[1] <= ... <= starts[n] = total, each step at least `least`.
bool divides(const Integers& starts, std::ptrdiff_t n, std::ptrdiff_t total, std::int64_t least) {
  if (length(starts) != n + 1 || starts.data()[0] != 0 || starts.data()[n] != total) return false;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    if (starts.data()[k + 1] - starts.data()[k] < least) return false;
  }
  return true;
}

nb::tuple count_posterior(const Vector& scores, const Integers& starts,
                          const Integers& first_counts, const Integers& weight_starts,
                          const Vector& log_weights, int n_threads) {
  const std::ptrdiff_t n_bags = length(first_counts);
  if (!divides(starts, n_bags, length(scores), 1) ||
      !divides(weight_starts, n_bags, length(log_weights), 1)) {
    throw nb::value_error("arrays of a count problem do not fit each other");
  }
  const bagshift::CountProblem problem{
      n_bags,        scores.data(), starts.data(), first_counts.data(), weight_starts.data(),
      log_weights.data()};
  std::vector<double> log_likelihood(first_counts.shape(0)), probability(scores.shape(0));
  {
    nb::gil_scoped_release unlocked;
    bagshift::count_posterior(problem, {log_likelihood.data(), probability.data()}, n_threads);
  }
  return nb::make_tuple(hand_over(std::move(log_likelihood)), hand_over(std::move(probability)));
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
  module.def("count_log_probabilities", &count_log_probabilities, "scores"_a.noconvert());
}
