#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Checks, before anything is installed, that this machine can build bagshift:
#
#     sh scripts/check_tools.sh [PYTHON]
#
# The first thing that is missing is named in one sentence; the exit code is then 1.
set -eu

python="${1:-python3}"

missing() {
    printf 'bagshift: %s\n' "$1" >&2
    exit 1
}

# --- Python, with venv and headers ---------------------------------------------------------

command -v "$python" >/dev/null 2>&1 ||
    missing "Python 3.11 or newer is needed and '$python' was not found: install it, or name yours with 'make PYTHON=/path/to/python3'."

version="$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)" ||
    missing "'$python' does not run: name a working Python 3.11 or newer with 'make PYTHON=/path/to/python3'."

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    missing "Python 3.11 or newer is needed and '$python' is $version: name a newer one with 'make PYTHON=/path/to/python3'."

"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    missing "Python's venv module is missing from '$python': install it (on Debian and Ubuntu: apt-get install python3-venv)."

headers="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
[ -f "$headers/Python.h" ] ||
    missing "Python's headers are missing ('$headers/Python.h'): install them (on Debian and Ubuntu: apt-get install python3-dev)."

# --- a C++17 compiler: the ones that CMake would look for, in its order ---------------------

compiler=""
for candidate in ${CXX:-c++ g++ clang++}; do
    if command -v "$candidate" >/dev/null 2>&1; then
        compiler="$candidate"
        break
    fi
done
[ -n "$compiler" ] ||
    missing "a C++17 compiler is needed and none of '${CXX:-c++ g++ clang++}' was found: install one (on Debian and Ubuntu: apt-get install g++), or name yours with 'make CXX=/path/to/compiler'."

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/probe.cpp" <<'PROBE'
#include <optional>
#include <string_view>
template <class T> constexpr int size_of() {
    if constexpr (sizeof(T) > 1) return 2; else return 1;
}
int main() {
    std::optional<std::string_view> word{"bag"};
    return word->size() == 3 && size_of<int>() == 2 ? 0 : 1;
}
PROBE
"$compiler" -std=c++17 "$scratch/probe.cpp" -o "$scratch/probe" >/dev/null 2>&1 ||
    missing "'$compiler' cannot build a C++17 program: install a newer compiler (g++ 8, clang 7 or later), or name yours with 'make CXX=/path/to/compiler'."
