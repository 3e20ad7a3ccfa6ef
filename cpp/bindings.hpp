// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of Python bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OwnedVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

// How long Ctrl-C may wait to be heard.
constexpr auto kBetweenSignals = std::chrono::milliseconds(100);

inline nb::object hand_over(std::vector<double>&& values) {
  auto* owned = new std::vector<double>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(OwnedVector(owned->data(), {owned->size()}, owner));
}

void define_coordinate_descent(nb::module_& module);
void define_count_likelihood(nb::module_& module);
void define_coupled_chain(nb::module_& module);
void define_exponential(nb::module_& module);
