// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of the core: small problems of every kind, the degenerate ones before all, are read
// from bytes and solved, and the answers are held against what the headers promise. Built with the
// sanitizers (`make fuzz`), so that a wild read or a number out of range ends the program too.
//
//     fuzz_core [CALLS [SEED [FIRST]]]
//
// draws the inputs of calls FIRST, FIRST + 1, ...; each depends on the seed and its own number
// alone, so that the one call that fails can be run by itself.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <chrono>
#include <random>
#include <vector>

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include "fuzz.hpp"

namespace fuzz {

void broken(const char* file, int line, const char* promise, double a, double b) {
  std::fprintf(stderr, "%s:%d: broken promise: %s (%.17g, %.17g)\n", file, line, promise, a, b);
  std::abort();
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  switch (bytes.below(5)) {
    case 0:
      fuzz::fuzz_coupled(bytes);
      break;
    case 1:
      fuzz::fuzz_chain(bytes);
      break;
    case 2:
      fuzz::fuzz_counts(bytes);
      break;
    case 3:
      fuzz::fuzz_descent(bytes);
      break;
    default:
      fuzz::fuzz_exponential(bytes);
  }
  return 0;
}

#if !defined(BAGSHIFT_LIBFUZZER)

// A finding of a sanitizer ends in abort(), for the call to be named.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() {
  return "abort_on_error=1:print_stacktrace=1";
}

namespace {

constexpr std::size_t kMostBytes = 512;
constexpr unsigned kMostSeconds = 60;

unsigned long long seed = 1;
unsigned long long call = 0;

extern "C" void name_call(int number) {
  std::fprintf(stderr, "%s. Again: fuzz_core 1 %llu %llu\n",
               number == SIGABRT ? "FAILED" : "FAILED: a call takes too long", seed, call);
  std::_Exit(1);
}

void run_call(std::vector<std::uint8_t>& input) {
  std::seed_seq mixed{seed, call, call >> 32};
  std::mt19937_64 draw(mixed);
  input.resize(1 + draw() % kMostBytes);
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(draw() >> 32);
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

unsigned long long argument(int argc, char** argv, int which, unsigned long long otherwise) {
  return argc > which ? std::strtoull(argv[which], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long long n_calls = argument(argc, argv, 1, 1000000);
  seed = argument(argc, argv, 2, 1);
  const unsigned long long first = argument(argc, argv, 3, 0);
  std::signal(SIGABRT, name_call);
#if !defined(_WIN32)
  std::signal(SIGALRM, name_call);
#endif
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::uint8_t> input;
  for (call = first; call < first + n_calls; ++call) {
#if !defined(_WIN32)
    if (call % 64 == 0 || call == first) alarm(kMostSeconds);
#endif
    run_call(input);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%llu calls from seed %llu: no promise broken, %.1f s\n", n_calls, seed,
              spent.count());
  return 0;
}

#endif
