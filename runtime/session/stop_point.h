// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a run ends that is asked to end early: after one step that is the same on all
// ranks, so that none waits for another, and a checkpoint is of that step.
#ifndef COMMSCHED_RUNTIME_SESSION_STOP_POINT_H
#define COMMSCHED_RUNTIME_SESSION_STOP_POINT_H

#include <atomic>
#include <cstdint>
#include <memory>

namespace commsched::runtime {

// One that no other job has.
uint64_t NewJobNumber();

// Steps count from 0, over the whole job. Thread-safe.
class StopPoint {
 public:
  virtual ~StopPoint() = default;
  // Whether `step`, after all before it, is still to be begun here. May wait for the
  // answers of other ranks, not for their steps.
  virtual bool Begin(uint64_t step) = 0;
  // `reason` is not 0 (the number of a signal). Later ones change nothing.
  virtual void Request(int reason) = 0;
  // Why it ends early; 0: it does not, or that is not known here yet.
  virtual int reason() const = 0;
};

// Of all ranks of this process, which one thread drives, or of a rank that needs no
// other.
class LocalStop : public StopPoint {
 public:
  bool Begin(uint64_t) override { return reason_ == 0; }
  void Request(int reason) override {
    int none = 0;
    reason_.compare_exchange_strong(none, reason);
  }
  int reason() const override { return reason_; }

 private:
  std::atomic<int> reason_{0};
};

// Of processes on this machine that share a file of memory, whoever of them asks.
class SharedStop : public StopPoint {
 public:
  // A new file, closed in programs that are started unless that is taken off it; -1
  // with errno set.
  static int MakeFile();
  // Null with errno set if the file is none of these. Does not close it.
  static std::unique_ptr<SharedStop> Open(int file);
  ~SharedStop() override;
  bool Begin(uint64_t step) override;
  void Request(int reason) override;
  int reason() const override;
  // That of the processes which have the file.
  uint64_t job() const;

 private:
  struct Words;
  explicit SharedStop(Words *words) : words_(words) {}
  Words *const words_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_STOP_POINT_H
