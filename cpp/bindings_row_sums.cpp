// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of sums over rows of features.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings.hpp"
#include "count_loss.hpp"
#include "weighted_squares.hpp"

namespace {

template <class Number>
using Matrix = nb::ndarray<const Number, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Number>
nb::object bag_sums(const Matrix<Number>& features, const Vector& factors,
                    const Integers& starts) {
  const std::ptrdiff_t n_bags = length(starts) - 1;
  if (n_bags < 0 || length(features) != length(factors) ||
      !divides(starts, n_bags, length(factors), 0)) {
    throw nb::value_error("arrays of bags do not fit each other");
  }
  std::vector<double> sums(static_cast<std::size_t>(n_bags) * (features.shape(1) + 1));
  {
    nb::gil_scoped_release unlocked;
    bagshift::bag_sums(features.data(), static_cast<std::ptrdiff_t>(features.shape(1)),
                       factors.data(), starts.data(), n_bags, sums.data());
  }
  return hand_over(std::move(sums));
}

template <class Number>
nb::object weighted_squares(const Matrix<Number>& features, const Vector& factors) {
  if (length(features) != length(factors)) {
    throw nb::value_error("there must be a factor for each row");
  }
  const std::size_t size = features.shape(1) + 1;
  std::vector<double> total(size * size);
  {
    nb::gil_scoped_release unlocked;
    bagshift::weighted_squares(features.data(), length(features),
                               static_cast<std::ptrdiff_t>(features.shape(1)), factors.data(),
                               total.data());
  }
  return hand_over(std::move(total));
}

template <class Number>
void define_for(nb::module_& module) {
  module.def("bag_sums", &bag_sums<Number>, "features"_a.noconvert(), "factors"_a.noconvert(),
             "starts"_a.noconvert());
  module.def("weighted_squares", &weighted_squares<Number>, "features"_a.noconvert(),
             "factors"_a.noconvert());
}

}  // namespace

void define_row_sums(nb::module_& module) {
  define_for<double>(module);
  define_for<float>(module);
}
