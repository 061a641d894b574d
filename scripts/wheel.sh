#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/wheel.sh [--check-only]
#
# Builds the wheel of this checkout into out/wheel (`pip wheel .`), installs it
# in a fresh environment in build/wheel-check, and runs tests/wheel/smoke.py
# there. As root, that is done where MLIR, LLVM, gRPC, protobuf, abseil, oneDNN,
# MPI and linkers are hidden, as on a machine that has none of them. Then a CMake
# project is built with the package's headers and libraries. Frameworks are those
# of .venv, where it is there (scripts/setup.sh --tests, --bench); else NumPy and
# JAX are installed. Then a source distribution, which must have every file of the
# checkout, goes to out/wheel, and `pip install -e .` is tried where there is a
# release build. --check-only checks the wheel that is there, and no more.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

only_check=
case "${1-}" in
--check-only) only_check=1 ;;
'') ;;
*) die "unknown argument '$1'; usage: scripts/wheel.sh [--check-only]" ;;
esac

# Not a Python environment's own cmake and ninja.
export PATH=/usr/bin:/bin:$PATH
make=build/wheel-make check=build/wheel-check
pip="python -m pip --disable-pip-version-check --quiet"

if [ -z "$only_check" ]; then
  bash scripts/setup.sh --wheel
  step "building the wheel"
  # What pip would fetch anew each time.
  requirements=$(/usr/bin/python3 -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")')
  if [ "$requirements" != "$(cat $make/requirements.stamp 2>/dev/null)" ]; then
    /usr/bin/python3 -m venv --clear $make
    mapfile -t required <<<"$requirements"
    $make/bin/$pip install "${required[@]}"
    echo "$requirements" >$make/requirements.stamp
  fi
  rm -rf out/wheel
  PATH=$PWD/$make/bin:$PATH $make/bin/$pip wheel --no-build-isolation --no-deps --wheel-dir out/wheel .
fi
wheels=(out/wheel/commsched-*-py3-none-manylinux_2_36_x86_64.whl)
[ ${#wheels[@]} = 1 ] && [ -e "${wheels[0]}" ] || die "out/wheel must have one wheel, got: ${wheels[*]}"
wheel=${wheels[0]}
step "what is in it"
/usr/bin/python3 tests/wheel/contents.py "$wheel"

step "a fresh environment"
rm -rf $check
/usr/bin/python3 -m venv $check
if [ -x .venv/bin/python ]; then
  $check/bin/$pip install --no-deps "$wheel"
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$(echo $check/lib/python3*/site-packages)/frameworks.pth"
else
  $check/bin/$pip install "$wheel[jax]"
fi

# hidden COMMAND...: where libraries that a wheel must have itself are empty files.
hidden() {
  local nothing=$PWD/$check/nothing
  : >"$nothing"
  unshare --mount bash -euo pipefail -c '
    nothing=$1
    shift
    mount -t tmpfs none /usr/lib/llvm-22
    shopt -s nullglob
    for name in LLVM MLIR lld grpc gpr address_sorting upb cares re2 protobuf protoc absl_ dnnl hwy OpenCL zstd gomp mpi \
      open-rte open-pal; do
      for file in /usr/lib/x86_64-linux-gnu/lib$name*.so*; do
        [ -L "$file" ] || mount --bind "$nothing" "$file"
      done
    done
    for file in /usr/bin/*ld.lld* /usr/bin/lld* /usr/bin/*ld.bfd /usr/bin/*ld.gold; do
      [ -L "$file" ] || mount --bind "$nothing" "$file"
    done
    exec "$@"' bash "$nothing" "$@"
}
step "the smoke test"
run=()
if [ "$(id -u)" = 0 ] && hidden true 2>/dev/null; then
  run=(hidden)
else
  echo "not root: the libraries of this machine are not hidden"
fi
# Nothing of this checkout or of a shell's settings.
"${run[@]}" env -i PATH="$PWD/$check/bin:/usr/bin:/bin" HOME="$HOME" TMPDIR="${TMPDIR:-/tmp}" \
  $check/bin/python -I -W ignore tests/wheel/smoke.py examples

step "a CMake project"
prefix=$($check/bin/python -I -c 'import commsched, os; print(os.path.dirname(commsched.__file__))')
rm -rf build/wheel-project
"$CMAKE" -G Ninja -S tests/install/project -B build/wheel-project -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
  --log-level=WARNING
"$CMAKE" --build build/wheel-project
build/wheel-project/distribute >/dev/null
build/wheel-project/call

if [ -z "$only_check" ]; then
  step "a source distribution, and an editable installation"
  PYTHONPATH=scripts $make/bin/python -c 'import wheel_backend; print(wheel_backend.build_sdist("out/wheel"))'
  if git rev-parse --git-dir >/dev/null 2>&1; then
    lacks=$(comm -23 <(git ls-files --cached | sort) <(tar tzf out/wheel/commsched-*.tar.gz | sed 's#^[^/]*/##' | sort))
    [ -z "$lacks" ] || die "the source distribution lacks: $lacks"
  fi
  if [ -x build/release/bin/cs-opt ]; then
    $make/bin/$pip install --no-build-isolation --no-deps -e .
    $make/bin/cs-opt --version | grep -q CommSched
    $make/bin/$pip uninstall -y commsched
  fi
fi

step "$wheel: $(($(stat -c %s "$wheel") / 1000000)) MB, good"
