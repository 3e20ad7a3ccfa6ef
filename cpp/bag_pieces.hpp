// SPDX-License-Identifier: BSD-3-Clause
//
// Bags shared out among threads in pieces.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace bagshift {

// Threads fetch work in pieces of about so many rows.
constexpr std::int64_t kPieceRows = 4096;

// Where pieces begin, and where the last one ends; bag k has rows starts[k] to starts[k + 1].
inline std::vector<std::ptrdiff_t> cut_into_pieces(const std::int64_t* starts,
                                                   std::ptrdiff_t n_bags) {
  std::vector<std::ptrdiff_t> cuts{0};
  for (std::ptrdiff_t k = 1; k <= n_bags; ++k) {
    if (k == n_bags || starts[k] - starts[cuts.back()] >= kPieceRows) cuts.push_back(k);
  }
  return cuts;
}

// Have every thread make a worker, and workers visit all pieces: `worker(begin, end)` for bags.
template <class MakeWorker>
void visit_pieces(const std::int64_t* starts, std::ptrdiff_t n_bags, int n_threads,
                  const MakeWorker& make_worker) {
  const std::vector<std::ptrdiff_t> cuts = cut_into_pieces(starts, n_bags);
  const auto n_pieces = static_cast<std::ptrdiff_t>(cuts.size()) - 1;
  const auto most = std::max<std::ptrdiff_t>(n_pieces, 1);
  const auto n_workers = std::clamp<std::ptrdiff_t>(n_threads, 1, most);
  std::atomic<std::ptrdiff_t> next{0};
  const auto work = [&] {
    auto worker = make_worker();
    for (std::ptrdiff_t i = next++; i < n_pieces; i = next++) {
      worker(cuts[static_cast<std::size_t>(i)], cuts[static_cast<std::size_t>(i) + 1]);
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(n_workers - 1));
  for (std::ptrdiff_t i = 1; i < n_workers; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // the threads that there are do all the work
    }
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace bagshift
