// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/HostKernels.h"

#include <algorithm>

namespace commsched::cudatest {

static Touched *current = nullptr;

static void touch(std::vector<Touched::Range> &ranges, int32_t argument, const char *at, int64_t bytes) {
  Touched::Range &range = ranges[size_t(argument)];
  if (range.first == range.second)
    range = {at, at + bytes};
  range = {std::min(range.first, at), std::max(range.second, at + bytes)};
}

extern "C" {
static void csTouchRead(int32_t argument, const char *at, int64_t bytes) {
  touch(current->reads, argument, at, bytes);
}
static void csTouchWrite(int32_t argument, const char *at, int64_t bytes) {
  touch(current->writes, argument, at, bytes);
}
}

std::map<std::string, void *> kernelImports() {
  std::map<std::string, void *> functions = deviceFunctions();
  functions["cs_touch_read"] = reinterpret_cast<void *>(csTouchRead);
  functions["cs_touch_write"] = reinterpret_cast<void *>(csTouchWrite);
  return functions;
}

std::string HostKernels::run(const std::string &name, const Launch &launch, void **arguments, uint64_t seed,
                             Touched *touched) const {
  const HostKernel &kernel = known.at(name);
  Touched unasked;
  current = touched ? touched : &unasked;
  current->reads.assign(kernel.parameters, {});
  current->writes.assign(kernel.parameters, {});
  auto thread = [&] { kernel.entry(arguments); };
  std::string fault = kernel.waits || launch.sharedBytes != 0 ? emulate(launch, thread, seed) : emulateAlone(launch, thread, seed);
  return fault.empty() ? fault : name + ": " + fault;
}

} // namespace commsched::cudatest
