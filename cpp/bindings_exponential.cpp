// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of the kernel values.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings.hpp"
#include "exponential.hpp"

namespace {

template <class Real>
using WritableMatrix = nb::ndarray<Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void rbf_values(const WritableMatrix<Real>& products, const Vector& row_norms,
                const Vector& column_norms, double gamma, bool same_rows) {
  if (row_norms.shape(0) != products.shape(0) || column_norms.shape(0) != products.shape(1)) {
    throw nb::value_error("products and norms do not fit each other");
  }
  if (same_rows && products.shape(0) != products.shape(1)) {
    throw nb::value_error("the same rows on both sides have a square of products");
  }
  const bagshift::Products<Real> tile{
      products.data(), static_cast<std::ptrdiff_t>(products.shape(0)),
      static_cast<std::ptrdiff_t>(products.shape(1)), row_norms.data(), column_norms.data()};
  nb::gil_scoped_release unlocked;
  if (same_rows) {
    bagshift::symmetric_rbf_values(tile, gamma);
  } else {
    bagshift::rbf_values(tile, gamma);
  }
}

template <class Real>
void define_rbf_values(nb::module_& module) {
  module.def("rbf_values", &rbf_values<Real>, nb::kw_only(), "products"_a.noconvert(),
             "row_norms"_a.noconvert(), "column_norms"_a.noconvert(), "gamma"_a,
             "same_rows"_a = false);
}

}  // namespace

void define_exponential(nb::module_& module) {
  define_rbf_values<double>(module);
  define_rbf_values<float>(module);
}
