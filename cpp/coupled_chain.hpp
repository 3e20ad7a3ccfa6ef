// SPDX-License-Identifier: BSD-3-Clause
//
// Many coupled programs on one Gram matrix that differ in costs and coupling alone, each solved
// from an earlier one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "active_set_newton.hpp"
#include "coupled_qp.hpp"

namespace bagshift {

struct ChainSetting {
  double source_cost;       // factors on the boxes of the units
  double target_cost;
  double within;            // as in Problem
  double across;
  double inverse_coupling;
  bool is_apart;            // two machines that nothing couples
  std::ptrdiff_t start;     // an earlier setting with costs in the same ratio; -1: from zero
};

struct ChainEntry {
  Solution summary;         // of the target machine alone when nothing couples the two
  Status status;
  std::int64_t n_iter;
};

// Solves the settings of a chain in their order.
template <class Real>
class ChainSolver {
 public:
  ChainSolver(const Problem<Real>& at_unit_costs, const std::vector<ChainSetting>& settings,
              const Options& options)
      : base_(at_unit_costs), settings_(settings), options_(options) {}

  // Solve setting `number`, after all before it. `duals` has a row of n_units for every setting,
  // those before filled in.
  ChainEntry solve(std::ptrdiff_t number, double* duals);

 private:
  // A problem with boxes of its own, and the state at its solution.
  struct Solved {
    std::ptrdiff_t number = -1;
    std::vector<double> lower;
    std::vector<double> upper;
    Problem<Real> problem{};
    State state;
  };

  // Whether a setting differs in costs from the one before.
  bool has_new_costs(std::ptrdiff_t number) const;

  void state_problem(std::ptrdiff_t number, Solved& solved);
  ChainEntry solve_apart(const ChainSetting& setting, const Problem<Real>& problem,
                         const double* earlier, double factor, double* dual);
  ChainEntry solve_part(const Problem<Real>& problem, const double* guess, std::int64_t max_iter,
                        double* dual);

  Problem<Real> base_;
  const std::vector<ChainSetting>& settings_;
  Options options_;
  NewtonMemory memory_;
  Solved last_;
  Solved first_;            // of the last costs, from which the next ones start
};

}  // namespace bagshift
