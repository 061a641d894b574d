// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A system that has the libraries of NVIDIA that a test wants it to have.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_SYSTEM_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_SYSTEM_H

#include <map>
#include <set>
#include <string>

#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

// What the libraries of a system have, as each test wants them.
struct System {
  std::set<std::string> files = {"libcuda.so.1", "libnccl.so.2", "libcublasLt.so.13",
                                 "libcudnn.so.9"};
  std::map<std::string, void *> symbols;
  std::set<std::string> missing;
  std::string opened;

  Libraries libraries() {
    return {.open = [this](const char *file, std::string *why) -> void * {
              if (files.count(file) == 0) {
                *why = std::string(file) + ": cannot open shared object file";
                return nullptr;
              }
              opened = file;
              return this;
            },
            .symbol = [this](void *, const char *symbol) -> void * {
              if (missing.count(symbol) != 0) return nullptr;
              const auto at = symbols.find(symbol);
              return at == symbols.end() ? reinterpret_cast<void *>(+[] { return 0; }) : at->second;
            }};
  }
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_SYSTEM_H
