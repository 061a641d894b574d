// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread that moves streams through shared memory on. It sleeps where nothing is to be
// done; before that it looks again and again for a moment, where the host has processors
// enough.
//
// Threading: all methods may be called from any thread, but Remove.
#ifndef COMMSCHED_GRPC_BASE_SHARED_LOOP_H
#define COMMSCHED_GRPC_BASE_SHARED_LOOP_H

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

class SharedLoop {
 public:
  class Source {
   public:
    virtual ~Source() = default;
    // Readable when there is something to do.
    virtual int wakes() const = 0;
    // In the thread of the loop. Does some of what there is to do; false if there is
    // nothing. May remove the source.
    virtual bool Work() = 0;
    // From now on it is to be woken: Work is called once more, then the loop may sleep.
    virtual void Arm() = 0;
  };

  SharedLoop() = default;
  ~SharedLoop() { Stop(); }
  // Ends the thread, in which nothing runs then any more. The last call.
  void Stop();

  // The thread is started with the first one. Outlived by the loop.
  absl::Status Add(Source *source);
  // In the thread of the loop, by the source, the last thing that it does.
  void Remove(Source *source);
  // Whether this is the thread of the loop.
  bool here() const;

 private:
  void Run();

  int poll_ = -1, stop_ = -1;
  std::vector<Source *> awake_;  // of the thread
  runtime::Mutex mu_;            // of Add
  std::thread thread_;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SHARED_LOOP_H
