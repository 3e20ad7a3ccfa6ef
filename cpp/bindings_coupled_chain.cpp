// SPDX-License-Identifier: BSD-3-Clause
//
// Python bindings of chains of coupled programs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <vector>

#include "bindings.hpp"
#include "coupled_chain.hpp"

namespace {

template <class Real>
using Matrix = nb::ndarray<const Real, nb::ndim<2>, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Columns of `summaries`.
constexpr std::size_t kColumns = 8;

void write_entry(const bagshift::ChainEntry& entry, double* row) {
  const bagshift::Solution& summary = entry.summary;
  row[0] = summary.intercept;
  row[1] = summary.intercept + summary.intercept_shift;
  row[2] = summary.objective;
  row[3] = summary.dual_objective;
  row[4] = summary.dual_gap;
  row[5] = summary.violation;
  row[6] = static_cast<double>(entry.n_iter);
  row[7] = entry.status == bagshift::Status::optimal ? 1.0 : 0.0;
}

template <class Real>
void solve_chain(const Matrix<Real>& gram, std::ptrdiff_t n_source, const Vector& targets,
                 const Vector& half_widths, const Vector& lower, const Vector& upper,
                 const Vector& source_costs, const Vector& target_costs, const Vector& within,
                 const Vector& across, const Vector& inverse_couplings, const Integers& starts,
                 double tol, std::int64_t max_iter, const Output& duals, const Output& summaries) {
  const std::size_t m = gram.shape(0);
  const std::size_t q = source_costs.shape(0);
  bool fits = gram.shape(1) == m && (m <= 1 || gram.stride(1) == 1) && n_source >= 0 &&
              static_cast<std::size_t>(n_source) <= m && starts.shape(0) == q &&
              duals.shape(0) == q && duals.shape(1) == m && summaries.shape(0) == q &&
              summaries.shape(1) == kColumns;
  for (const Vector* v : {&targets, &half_widths, &lower, &upper}) fits &= v->shape(0) == m;
  for (const Vector* v : {&target_costs, &within, &across, &inverse_couplings}) {
    fits &= v->shape(0) == q;
  }
  std::vector<bagshift::ChainSetting> settings;
  for (std::size_t s = 0; s < q && fits; ++s) {
    const auto start = static_cast<std::ptrdiff_t>(starts.data()[s]);
    fits = start < static_cast<std::ptrdiff_t>(s);
    // Without any weight across, there is nothing that couples two machines.
    const bool is_apart = across.data()[s] == 0.0 && n_source > 0 &&
                          static_cast<std::size_t>(n_source) < m;
    settings.push_back({source_costs.data()[s], target_costs.data()[s], within.data()[s],
                        across.data()[s], inverse_couplings.data()[s], is_apart, start});
  }
  if (!fits) throw nb::value_error("arrays of a chain of coupled problems do not fit each other");

  const bagshift::Problem<Real> problem{
      gram.data(),        static_cast<std::ptrdiff_t>(gram.stride(0)),
      static_cast<std::ptrdiff_t>(m), n_source, targets.data(), half_widths.data(),
      lower.data(), upper.data(), 1.0, 0.0, 0.0};
  const bagshift::Options options{tol, max_iter, true};
  bagshift::ChainSolver<Real> solver(problem, settings, options);
  std::size_t done = 0;
  while (done < q) {
    {
      nb::gil_scoped_release unlocked;
      const auto begin = std::chrono::steady_clock::now();
      while (done < q && std::chrono::steady_clock::now() - begin < kBetweenSignals) {
        const bagshift::ChainEntry entry =
            solver.solve(static_cast<std::ptrdiff_t>(done), duals.data());
        write_entry(entry, summaries.data() + done * kColumns);
        ++done;
      }
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

template <class Real>
void define(nb::module_& module) {
  module.def("solve_chain", &solve_chain<Real>, nb::kw_only(), "gram"_a.noconvert(), "n_source"_a,
             "targets"_a.noconvert(), "half_widths"_a.noconvert(), "lower"_a.noconvert(),
             "upper"_a.noconvert(), "source_costs"_a.noconvert(), "target_costs"_a.noconvert(),
             "within"_a.noconvert(), "across"_a.noconvert(), "inverse_couplings"_a.noconvert(),
             "starts"_a.noconvert(), "tol"_a, "max_iter"_a, "duals"_a.noconvert(),
             "summaries"_a.noconvert());
}

}  // namespace

void define_coupled_chain(nb::module_& module) {
  define<double>(module);
  define<float>(module);
}
