// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for blocks, used again and again: fresh memory of this size costs a
// page fault for every 4 KiB.
#ifndef COMMSCHED_GRPC_BASE_BUFFER_POOL_H
#define COMMSCHED_GRPC_BASE_BUFFER_POOL_H

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

// Threading: Take may be called from any thread; a buffer may be let go of in
// any thread, and may outlive the pool.
class BufferPool {
 public:
  // Keeps at most `spare` unused buffers of each size.
  explicit BufferPool(size_t spare) : state_(std::make_shared<State>()) {
    state_->spare = spare;
  }

  // Uninitialised; back in the pool with the last reference.
  std::shared_ptr<std::byte[]> Take(size_t bytes) {
    std::unique_ptr<std::byte[]> buffer;
    {
      runtime::MutexLock lock(&state_->mu);
      auto &unused = state_->unused[bytes];
      if (!unused.empty()) {
        buffer = std::move(unused.back());
        unused.pop_back();
      }
    }
    if (buffer == nullptr) buffer.reset(new std::byte[bytes]);
    return {buffer.release(), [state = state_, bytes](std::byte *memory) {
              std::unique_ptr<std::byte[]> owner(memory);
              runtime::MutexLock lock(&state->mu);
              auto &unused = state->unused[bytes];
              if (unused.size() < state->spare)
                unused.push_back(std::move(owner));
            }};
  }

 private:
  struct State {
    runtime::Mutex mu;
    size_t spare = 0;
    absl::btree_map<size_t, std::vector<std::unique_ptr<std::byte[]>>> unused
        ABSL_GUARDED_BY(mu);
  };
  std::shared_ptr<State> state_;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_BUFFER_POOL_H
