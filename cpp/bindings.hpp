// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of Python bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OwnedVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

// How long Ctrl-C may wait to be heard.
constexpr auto kBetweenSignals = std::chrono::milliseconds(100);

template <class Values>
std::ptrdiff_t length(const Values& values) {
  return static_cast<std::ptrdiff_t>(values.shape(0));
}

// Whether 0 = starts[0] <= starts[1] <= ... <= starts[n] = total, each step at least `least`.
inline bool divides(const Integers& starts, std::ptrdiff_t n, std::ptrdiff_t total,
                    std::int64_t least) {
  if (length(starts) != n + 1 || starts.data()[0] != 0 || starts.data()[n] != total) return false;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    if (starts.data()[k + 1] - starts.data()[k] < least) return false;
  }
  return true;
}

inline nb::object hand_over(std::vector<double>&& values) {
  auto* owned = new std::vector<double>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(OwnedVector(owned->data(), {owned->size()}, owner));
}

void define_class_counts(nb::module_& module);
void define_coordinate_descent(nb::module_& module);
void define_count_likelihood(nb::module_& module);
void define_coupled_chain(nb::module_& module);
void define_exponential(nb::module_& module);
void define_row_sums(nb::module_& module);
