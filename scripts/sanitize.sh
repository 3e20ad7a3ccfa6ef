#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run tests of the compiled core under the address and undefined behaviour sanitizers:
#
#     sh scripts/sanitize.sh PYTHON [PYTEST ARGUMENTS]
#
# PYTHON is the interpreter of an environment in which the tests run. The core is built and
# installed into build/sanitize; that environment stays as it is.
set -eu

python="$1"
shift
folder="$(pwd)/build/sanitize"
compiler="${CXX:-c++}"

"$python" -m pip --disable-pip-version-check --quiet install --no-deps --upgrade \
    --target "$folder/site" \
    --config-settings=build-dir="$folder/cmake" \
    --config-settings=cmake.build-type=RelWithDebInfo \
    --config-settings=cmake.define.BAGSHIFT_SANITIZE=ON \
    .

# An environment of its own, because an editable installation comes before PYTHONPATH. It borrows
# all packages but bagshift.
"$python" -m venv --without-pip "$folder/venv"
sanitized="$folder/venv/bin/python"
own="$("$sanitized" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
{
    printf '%s\n' "$folder/site"
    "$python" -c 'import sys; print(*(p for p in sys.path if p.endswith("site-packages")), sep="\n")'
} >"$own/bagshift_sanitize.pth"

# Python is not built with the sanitizers, so their library has to be loaded first, and that of
# C++ with it, for it to see exceptions being thrown.
libraries=""
if "$compiler" --version | grep -q clang; then
    names="libclang_rt.asan-$(uname -m).so libclang_rt.asan.so libstdc++.so"
else
    names="libasan.so libstdc++.so"
fi
for name in $names; do
    path="$("$compiler" -print-file-name="$name")"
    [ "$path" = "$name" ] || libraries="$libraries$path "
done

# Python itself leaks, and asks for more memory than there is to see it refused.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"

LD_PRELOAD="$libraries" "$sanitized" -c '
import bagshift._core
assert "sanitize" in bagshift._core.__file__, bagshift._core.__file__
print("Sanitized core:", bagshift._core.__file__)
'
LD_PRELOAD="$libraries" exec "$sanitized" -m pytest "$@"
