// SPDX-License-Identifier: BSD-3-Clause
//
// Many coupled programs on one Gram matrix that differ in costs and coupling alone, each solved
// from an earlier one.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Solve settings [begin, end); `duals` has a row of n_units for every setting, those before `begin`
// filled in.
template <class Real>
void solve_chain(const Problem<Real>& at_unit_costs, const ChainSetting* settings,
                 std::ptrdiff_t begin, std::ptrdiff_t end, const Options& options, double* duals,
                 ChainEntry* entries, NewtonMemory& memory);

}  // namespace bagshift
