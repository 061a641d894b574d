// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/KernelFile.h"

#include <cstdio>
#include <dlfcn.h>

namespace commsched::cudatest {

std::string kernelFileName(const std::string &ptx) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (unsigned char byte : ptx)
    hash = (hash ^ byte) * 0x100000001b3;
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx.so", static_cast<unsigned long long>(hash));
  return name;
}

std::unique_ptr<HostKernels> loadKernels(const std::string &path, std::string &error) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = dlerror();
    return nullptr;
  }
  std::shared_ptr<void> code(library, [](void *handle) { dlclose(handle); });
  // Both are words, up to a null.
  auto **imports = static_cast<void **>(dlsym(library, "cs_kernel_imports"));
  auto **kernels = static_cast<void **>(dlsym(library, "cs_kernels"));
  if (!imports || !kernels) {
    error = path + ": has no kernels";
    return nullptr;
  }
  const auto functions = kernelImports();
  for (; *imports; imports += 2)
    *static_cast<void **>(imports[1]) = functions.at(static_cast<const char *>(imports[0]));
  std::map<std::string, HostKernel> known;
  for (; *kernels; kernels += 4)
    known[static_cast<const char *>(kernels[0])] = {size_t(kernels[1]), kernels[2] != nullptr,
                                                    reinterpret_cast<void (*)(void **)>(kernels[3])};
  return std::make_unique<HostKernels>(std::move(known), std::move(code));
}

} // namespace commsched::cudatest
