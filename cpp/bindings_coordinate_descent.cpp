// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of dual coordinate descent.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "coordinate_descent.hpp"

namespace {

template <class T>
using List = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Real>
using Matrix = nb::ndarray<const Real, nb::ndim<2>, nb::device::cpu>;

template <class Values>
std::ptrdiff_t length(const Values& values) {
  return static_cast<std::ptrdiff_t>(values.shape(0));
}

// Rows are read where they lie, so their arrays are kept as long as these units.
struct CoreUnits {
  std::unique_ptr<bagshift::DescentDomain> domain;
};

[[noreturn]] void refuse() { throw nb::value_error("arrays of units do not fit each other"); }

template <class Rows>
CoreUnits make_units(const Rows& rows, std::ptrdiff_t n_units, std::ptrdiff_t n_features,
                     const Vector& targets, const Vector& half_widths, const Vector& lower,
                     const Vector& upper) {
  for (const Vector* v : {&targets, &half_widths, &lower, &upper}) {
    if (length(*v) != n_units) refuse();
  }
  if (n_units > std::numeric_limits<std::uint32_t>::max()) {
    throw nb::value_error("there are more units than coordinate descent can count");
  }
  nb::gil_scoped_release unlocked;
  CoreUnits units{bagshift::make_domain(
      rows, {n_units, targets.data(), half_widths.data(), lower.data(), upper.data()},
      n_features)};
  return units;
}

template <class Real>
CoreUnits dense_units(const Matrix<Real>& features, const Vector& targets,
                      const Vector& half_widths, const Vector& lower, const Vector& upper) {
  const std::ptrdiff_t n = length(features);
  const auto n_features = static_cast<std::ptrdiff_t>(features.shape(1));
  if (n_features > 1 && features.stride(1) != 1) refuse();
  const bagshift::DenseRows<Real> rows{features.data(),
                                       static_cast<std::ptrdiff_t>(features.stride(0))};
  return make_units(rows, n, n_features, targets, half_widths, lower, upper);
}

template <class Real, class Index>
CoreUnits sparse_units(const List<Real>& values, const List<Index>& columns,
                       const List<Index>& starts, std::ptrdiff_t n_features, const Vector& targets,
                       const Vector& half_widths, const Vector& lower, const Vector& upper) {
  if (length(starts) == 0 || length(values) != length(columns)) refuse();
  const bagshift::SparseRows<Real, Index> rows{values.data(), columns.data(), starts.data(),
                                               length(values)};
  CoreUnits units = make_units(rows, length(starts) - 1, n_features, targets, half_widths, lower,
                               upper);
  if (!units.domain->is_sound()) {
    throw nb::value_error("columns or starts of sparse rows lead out of the arrays");
  }
  return units;
}

struct CoreDescent {
  bagshift::DescentSolution solution;
  nb::object dual;
};

CoreDescent descend(CoreUnits* source, CoreUnits& target, double coupling,
                    const std::optional<Vector>& guess, double tol, std::int64_t max_iter,
                    std::uint64_t seed) {
  bagshift::DescentDomain* h = source ? source->domain.get() : nullptr;
  bagshift::DescentDomain& c = *target.domain;
  const std::ptrdiff_t n_source = h ? h->n_units() : 0;
  if (h == &c || (h && h->n_features() != c.n_features()) ||
      (guess && length(*guess) != n_source + c.n_units())) {
    refuse();
  }
  bagshift::CoordinateDescent solver(h, c, coupling, seed);
  bool is_finite, is_done = false;
  {
    nb::gil_scoped_release unlocked;
    is_finite = solver.start(guess ? guess->data() : nullptr,
                             guess ? guess->data() + n_source : nullptr);
    if (is_finite) is_done = solver.look(tol);
  }
  if (!is_finite) throw nb::value_error("features are not finite, or too large to be squared");
  while (!is_done && solver.solution().n_epochs < max_iter) {
    {
      nb::gil_scoped_release unlocked;
      const auto begin = std::chrono::steady_clock::now();
      while (!is_done && solver.solution().n_epochs < max_iter &&
             std::chrono::steady_clock::now() - begin < kBetweenSignals) {
        const bool is_time = solver.advance(tol);
        if (is_time || solver.solution().n_epochs == max_iter) is_done = solver.look(tol);
      }
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  std::vector<double> dual(static_cast<std::size_t>(n_source + c.n_units()));
  if (h) h->write_dual(dual.data());
  c.write_dual(dual.data() + n_source);
  return {solver.solution(), hand_over(std::move(dual))};
}

template <class Real>
void define_units(nb::module_& module) {
  module.def("dense_units", &dense_units<Real>, nb::kw_only(), "features"_a.noconvert(),
             "targets"_a.noconvert(), "half_widths"_a.noconvert(), "lower"_a.noconvert(),
             "upper"_a.noconvert(), nb::keep_alive<0, 1>());
}

template <class Real, class Index>
void define_sparse_units(nb::module_& module) {
  module.def("sparse_units", &sparse_units<Real, Index>, nb::kw_only(), "values"_a.noconvert(),
             "columns"_a.noconvert(), "starts"_a.noconvert(), "n_features"_a,
             "targets"_a.noconvert(), "half_widths"_a.noconvert(), "lower"_a.noconvert(),
             "upper"_a.noconvert(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
             nb::keep_alive<0, 3>());
}

template <int which>
nb::object weights_of(const CoreDescent& core) {
  return hand_over(std::vector<double>(core.solution.machines[which].weights));
}

}  // namespace

void define_coordinate_descent(nb::module_& module) {
  nb::class_<CoreUnits>(module, "CoreUnits");
  nb::class_<CoreDescent>(module, "CoreDescent")
      .def_prop_ro("source_weights", &weights_of<0>)
      .def_prop_ro("target_weights", &weights_of<1>)
      .def_prop_ro("source_intercept",
                   [](const CoreDescent& core) { return core.solution.machines[0].intercept; })
      .def_prop_ro("target_intercept",
                   [](const CoreDescent& core) { return core.solution.machines[1].intercept; })
      .def_prop_ro("objective", [](const CoreDescent& core) { return core.solution.objective; })
      .def_prop_ro("dual_objective",
                   [](const CoreDescent& core) { return core.solution.dual_objective; })
      .def_prop_ro("dual", [](const CoreDescent& core) { return core.dual; })
      .def_prop_ro("n_iter", [](const CoreDescent& core) { return core.solution.n_epochs; });
  define_units<double>(module);
  define_units<float>(module);
  define_sparse_units<double, std::int32_t>(module);
  define_sparse_units<double, std::int64_t>(module);
  define_sparse_units<float, std::int32_t>(module);
  define_sparse_units<float, std::int64_t>(module);
  module.def("descend", &descend, nb::kw_only(), "source"_a.none(), "target"_a, "coupling"_a,
             "guess"_a.noconvert() = nb::none(), "tol"_a, "max_iter"_a, "seed"_a);
}
