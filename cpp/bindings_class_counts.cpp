// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of the counts of classes.
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "class_counts.hpp"

namespace {

using Chances = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool sum_to_sizes(const Integers& starts, const Counts& counts) {
  const auto n_classes = static_cast<std::ptrdiff_t>(counts.shape(1));
  for (std::ptrdiff_t k = 0; k < length(counts); ++k) {
    std::int64_t sum = 0;
    for (std::ptrdiff_t c = 0; c < n_classes; ++c) {
      const std::int64_t count = counts.data()[k * n_classes + c];
      if (count < 0) return false;
      sum += count;
    }
    if (sum != starts.data()[k + 1] - starts.data()[k]) return false;
  }
  return true;
}

nb::tuple class_count_posterior(const Chances& chances, const Integers& starts,
                                const Counts& counts) {
  const std::ptrdiff_t n_bags = length(counts);
  if (chances.shape(1) != counts.shape(1) || chances.shape(1) < 1 ||
      !divides(starts, n_bags, length(chances), 1) || !sum_to_sizes(starts, counts)) {
    throw nb::value_error("arrays of a problem of class counts do not fit each other");
  }
  std::vector<double> log_probability(counts.shape(0)), posterior(chances.size());
  {
    nb::gil_scoped_release unlocked;
    bagshift::class_count_posterior({n_bags, static_cast<std::ptrdiff_t>(chances.shape(1)),
                                     chances.data(), starts.data(), counts.data()},
                                    {log_probability.data(), posterior.data()});
  }
  return nb::make_tuple(hand_over(std::move(log_probability)), hand_over(std::move(posterior)));
}

}  // namespace

void define_class_counts(nb::module_& module) {
  module.def("class_count_posterior", &class_count_posterior, nb::kw_only(),
             "chances"_a.noconvert(), "starts"_a.noconvert(), "counts"_a.noconvert());
}
