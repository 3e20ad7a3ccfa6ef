// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of the core: array checks, the interpreter lock, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "coupled_solver.hpp"

namespace {

template <class Real>
using Matrix = nb::ndarray<const Real, nb::ndim<2>, nb::device::cpu>;

struct CoreSolution {
  bagshift::Solution summary;
  bagshift::Status status;
  std::int64_t n_iter;
  std::int64_t n_newton;
  nb::object dual;
};

// Iterations between two looks at the clock, some milliseconds of work.
std::int64_t burst_length(std::ptrdiff_t n_units) {
  return std::max<std::int64_t>(64, 2000000 / std::max<std::ptrdiff_t>(n_units, 1));
}

template <class Real>
CoreSolution solve(const Matrix<Real>& gram, std::ptrdiff_t n_source, const Vector& targets,
                   const Vector& half_widths, const Vector& lower, const Vector& upper,
                   double within, double across, double inverse_coupling,
                   const std::optional<Vector>& guess, double tol, std::int64_t max_iter,
                   bool use_newton) {
  const auto m = static_cast<std::ptrdiff_t>(gram.shape(0));
  const auto has_length_m = [m](const Vector& v) {
    return static_cast<std::ptrdiff_t>(v.shape(0)) == m;
  };
  if (static_cast<std::ptrdiff_t>(gram.shape(1)) != m || (m > 1 && gram.stride(1) != 1) ||
      n_source < 0 || n_source > m || !has_length_m(targets) || !has_length_m(half_widths) ||
      !has_length_m(lower) || !has_length_m(upper) || (guess && !has_length_m(*guess))) {
    throw nb::value_error("arrays of a coupled problem do not fit each other");
  }
  const bagshift::Problem<Real> problem{
      gram.data(),  static_cast<std::ptrdiff_t>(gram.stride(0)), m, n_source, targets.data(),
      half_widths.data(), lower.data(), upper.data(), within, across, inverse_coupling};
  const bagshift::Options options{tol, max_iter, use_newton};

  bagshift::NewtonMemory memory;
  bagshift::CoupledSolver<Real> solver(problem, options, memory);
  bagshift::Solution summary{};
  auto status = bagshift::Status::running;
  {
    nb::gil_scoped_release unlocked;
    solver.start(guess ? guess->data() : nullptr);
  }
  while (status == bagshift::Status::running) {
    {
      nb::gil_scoped_release unlocked;
      const auto begin = std::chrono::steady_clock::now();
      while (status == bagshift::Status::running &&
             std::chrono::steady_clock::now() - begin < kBetweenSignals) {
        status = solver.advance(burst_length(m));
      }
      if (status != bagshift::Status::running) {
        summary = bagshift::summarise(problem, solver.state());
      }
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return {summary, status, solver.state().n_iter, solver.n_newton(),
          hand_over(std::move(solver.state().dual))};
}

template <class Real>
void define_solve(nb::module_& module) {
  module.def("solve_coupled", &solve<Real>, nb::kw_only(), "gram"_a.noconvert(), "n_source"_a,
             "targets"_a.noconvert(), "half_widths"_a.noconvert(), "lower"_a.noconvert(),
             "upper"_a.noconvert(), "within"_a, "across"_a, "inverse_coupling"_a,
             "guess"_a.noconvert() = nb::none(), "tol"_a, "max_iter"_a,
             "use_newton"_a);
}

}  // namespace

NB_MODULE(_core, module) {
  nb::enum_<bagshift::Status>(module, "Status")
      .value("optimal", bagshift::Status::optimal)
      .value("max_iter", bagshift::Status::iteration_limit)
      .value("stalled", bagshift::Status::stalled);

  nb::class_<CoreSolution>(module, "CoreSolution")
      .def_prop_ro("dual", [](const CoreSolution& s) { return s.dual; })
      .def_prop_ro("intercept", [](const CoreSolution& s) { return s.summary.intercept; })
      .def_prop_ro("intercept_low", [](const CoreSolution& s) { return s.summary.intercept_low; })
      .def_prop_ro("intercept_high", [](const CoreSolution& s) { return s.summary.intercept_high; })
      .def_prop_ro("intercept_shift",
                   [](const CoreSolution& s) { return s.summary.intercept_shift; })
      .def_prop_ro("objective", [](const CoreSolution& s) { return s.summary.objective; })
      .def_prop_ro("dual_objective", [](const CoreSolution& s) { return s.summary.dual_objective; })
      .def_prop_ro("dual_gap", [](const CoreSolution& s) { return s.summary.dual_gap; })
      .def_prop_ro("violation", [](const CoreSolution& s) { return s.summary.violation; })
      .def_prop_ro("n_iter", [](const CoreSolution& s) { return s.n_iter; })
      .def_prop_ro("n_newton", [](const CoreSolution& s) { return s.n_newton; })
      .def_prop_ro("status", [](const CoreSolution& s) { return s.status; });

  define_solve<double>(module);
  define_solve<float>(module);
  define_coordinate_descent(module);
  define_coupled_chain(module);
  define_class_counts(module);
  define_count_likelihood(module);
  define_exponential(module);
  define_row_sums(module);
}
