// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/fake_library.h"

#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/fake_impl.h"

namespace commsched::runtime::cuda {

bool EnqueueLibraryWork(FakeWork work, Stream stream) {
  {
    FakeMachine::Impl &impl = FakeMachine::Impl::Get();
    MutexLock lock(&impl.mu);
    for (const auto *ranges : {&work.reads, &work.writes}) {
      for (const Bytes &range : *ranges) {
        auto at = impl.blocks.upper_bound(reinterpret_cast<void *>(range.begin));
        if (at == impl.blocks.begin() ||
            range.end > reinterpret_cast<uintptr_t>(std::prev(at)->first) + std::prev(at)->second.bytes) {
          impl.Find(absl::StrCat(work.name, " uses memory that is not there"));
          return false;
        }
      }
    }
  }
  FakeWork *parameter = &work;
  void *parameters[] = {&parameter};
  // FakeMachine::kernel().
  return FakeMachine::driver().LaunchKernel(reinterpret_cast<Function>(uintptr_t{1}), 1, 1, 1, 1, 1, 1, 0,
                                            stream, parameters, nullptr) == DriverResult::kSuccess;
}

void CheckAlignment(const void *pointer, size_t alignment, const char *what) {
  if (reinterpret_cast<uintptr_t>(pointer) % alignment == 0) return;
  FakeMachine::Impl &impl = FakeMachine::Impl::Get();
  MutexLock lock(&impl.mu);
  impl.Find(absl::StrCat(what, " has less alignment than promised"));
}

}  // namespace commsched::runtime::cuda
