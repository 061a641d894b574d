#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/setup.sh [--tests | --bench | --wheel]
#
# Installs what a fresh Debian 12 lacks for building and running CommSched;
# with --tests also what the tests and the Python front end need, the Python
# packages in .venv; with --bench what benchmarks compare with as well; with
# --wheel what scripts/wheel.sh needs. Takes under a second when nothing is missing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

with_tests= with_bench= with_wheel=
case "${1-}" in
--tests) with_tests=1 ;;
--bench) with_tests=1 with_bench=1 ;;
--wheel) with_wheel=1 ;;
'') ;;
*) die "unknown argument '$1'; usage: scripts/setup.sh [--tests | --bench | --wheel]" ;;
esac

packages=(
  g++ cmake ninja-build ccache lld
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libgrpc++-dev libssl-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev
  libabsl-dev libdnnl-dev libhwy-dev zlib1g-dev libopenmpi-dev openmpi-bin node-d3
)
[ -n "$with_tests" ] && packages+=(
  libgtest-dev libgmock-dev iperf3 openssl python3 python3-venv python3-dev
  chromium chromium-driver fonts-dejavu-core
)

[ -n "$with_bench" ] && packages+=(iproute2 libsimgrid-dev)
[ -n "$with_wheel" ] && packages+=(liblld-22-dev libzstd-dev python3 python3-venv)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || true
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  step "installing ${#missing[@]} Debian packages: ${missing[*]}"
  sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "need root to install: ${missing[*]}"
    sudo=sudo
  fi
  $sudo apt-get update -q
  # MLIR 22 comes from bookworm-security, which a stock Debian 12 has enabled.
  for package in "${missing[@]}"; do
    if [ -z "$(apt-cache madison "$package")" ]; then
      die "no Debian package '$package'; Debian 12 with main and bookworm-security is needed"
    fi
  done
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

if [ -n "$with_tests" ]; then
  stamp=.venv/requirements.stamp
  if ! cmp -s scripts/requirements.txt "$stamp"; then
    step "installing Python packages in .venv"
    [ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv
    .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -r scripts/requirements.txt
    cp scripts/requirements.txt "$stamp"
  fi
  stamp=.venv/requirements-cuda.stamp
  if ! cmp -s scripts/requirements-cuda.txt "$stamp"; then
    step "installing a CUDA compiler in .venv"
    if .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-deps \
      -r scripts/requirements-cuda.txt; then
      cp scripts/requirements-cuda.txt "$stamp"
    else
      # Nothing else depends on it.
      step "no CUDA compiler: the CUDA kernels are left out unless nvcc is on PATH"
    fi
  fi
fi

if [ -n "$with_bench" ] && ! .venv/bin/python -c 'import torch, transformers, mypy' 2>/dev/null; then
  step "installing PyTorch, transformers and mypy in .venv"
  .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off torch==2.13.0 transformers==5.23.0 mypy==2.4.1
fi
if [ -n "$with_bench" ] && ! .venv/bin/python -c 'import paddle' 2>/dev/null; then
  step "installing PaddlePaddle in .venv"
  .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off paddlepaddle==3.3.1
fi
