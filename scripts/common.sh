# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the other scripts: strict mode, the repository root as the current
# directory, and a few helpers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Debian's CMake knows the preset version that CMakePresets.json uses; a newer
# one earlier in PATH may belong to a Python environment that comes and goes.
CMAKE=cmake
[ -x /usr/bin/cmake ] && CMAKE=/usr/bin/cmake
CTEST=ctest
[ -x /usr/bin/ctest ] && CTEST=/usr/bin/ctest
# One line per target in a log, one line in all on a terminal.
export NINJA_STATUS="[%f/%t %es] "

started=$SECONDS
step() { printf '\n== %s (after %d s)\n' "$*" $((SECONDS - started)); }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# build PRESET [TARGET...]: configures and builds. Tests are part of the build
# where what they need is installed (scripts/setup.sh --tests).
build() {
  local preset=$1 tests=OFF
  shift
  [ -e /usr/include/gtest/gtest.h ] && tests=ON
  "$CMAKE" --preset "$preset" -DPython3_EXECUTABLE="$(python_for_tests)" \
    -DCOMMSCHED_BUILD_TESTS=$tests --log-level=WARNING || die "configuring $preset failed"
  "$CMAKE" --build --preset "$preset" ${1:+--target "$@"}
}

python_for_tests() {
  if [ -x .venv/bin/python ]; then
    echo "$PWD/.venv/bin/python"
  else
    echo /usr/bin/python3
  fi
}
