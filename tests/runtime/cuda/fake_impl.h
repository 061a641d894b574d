// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a FakeMachine is made of. Of its own sources only.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_IMPL_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_IMPL_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/sync.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

struct FakeRecord {
  bool done = false;
  bool timing = true;
  int64_t at = 0;  // the stream's time
  VectorClock clock;
};

enum class FakeKind {
  kAllReduce,
  kReduceScatter,
  kAllGather
};
const char *NameOf(FakeKind kind);

struct FakeComm;
struct FakeCall {
  std::shared_ptr<FakeComm> comm;
  uint64_t number = 0;  // of the communicator's calls
  std::string name;
  FakeKind kind = FakeKind::kAllReduce;
  const std::byte *from = nullptr;
  std::byte *to = nullptr;
  size_t count = 0;
  NcclType type = NcclType::kFloat32;
  NcclReduction reduction = NcclReduction::kSum;
  bool arrived = false;  // its kernel runs, and waits for the others
};

struct FakeItem {
  enum Kind {
    kWork,
    kRecord,
    kWaitEvent,
    kWaitValue,
    kCollective
  } kind = kWork;
  FakeWork work = {};
  std::shared_ptr<FakeRecord> record = {};
  const uint32_t *flag = nullptr;
  uint32_t value = 0;
  std::shared_ptr<FakeCall> call = {};
  int64_t earliest = 0;  // FakeMachine::LookAtClock
};

struct FakeGraph {
  std::vector<FakeItem> items;
};

struct FakeStream {
  std::shared_ptr<FakeGraph> recording;  // what is enqueued goes there, and does not run
  uint32_t lane = 0;
  int device = 0;
  uint64_t eager = 0;   // the most eager stream that can run does
  int64_t time = 0;     // at which what it has run has ended
  bool worked = false;  // it has run anything else than records
  std::deque<FakeItem> items;
  VectorClock clock;
};

struct FakeEvent {
  bool timing = true;
  std::shared_ptr<FakeRecord> latest;
};

// All ranks with one unique id.
struct FakeGroup {
  int ranks = 0, come = 0;
  std::vector<FakeComm *> members;  // by rank; null: not here yet
  bool wrong = false;               // calls did not fit: nothing ends any more
  // Of each call that has not ended what has arrived, by rank.
  std::map<uint64_t, std::vector<std::shared_ptr<FakeCall>>> arrived;
};

struct FakeComm {
  std::shared_ptr<FakeGroup> group;
  int rank = 0, device = 0;
  std::thread::id thread;
  uint64_t calls = 0;
  NcclResult error = NcclResult::kSuccess;
  bool aborted = false, lost = false, finalizing = false;
  // What was called and has not been taken yet.
  bool connecting = false;
  std::shared_ptr<FakeCall> call;
  FakeStream *stream = nullptr;  // of `call`
  int looks = 0;                 // until it is, and until any other call is done
  bool looked = false;           // since the machine's time went on
  struct Window {
    const std::byte *begin = nullptr;
    size_t bytes = 0;
  };
  std::vector<std::unique_ptr<Window>> windows;
  NcclWindow *registering = nullptr;  // where the last of `windows` is written to when it is done
  // Which window, and the offset in it.
  std::optional<std::pair<size_t, size_t>> Place(const void *at) const;
};

struct FakeFault {
  enum Kind {
    kHang,
    kError,
    kLost,
    kLostTold
  } kind = kHang;
  int rank = -1;  // any
  uint64_t call = 0;
  NcclResult error = NcclResult::kSuccess;
};

struct FakeMachine::Impl {
  // Of the machine that is there.
  static Impl &Get();

  uint64_t Draw(uint64_t below) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return random() % below; }
  void Find(std::string line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  FakeStream *Of(Stream stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  FakeEvent *Of(Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::shared_ptr<FakeComm> Of(NcclComm comm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void *Allocate(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool Free(void *memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  size_t Run(size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool CanRun(const FakeStream &stream) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void RunHead(FakeStream &stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Use(uint32_t lane, VectorClock *clock, const FakeWork &work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::string WaitsFor(const FakeStream &stream) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // Of collectives.
  void Arrive(FakeStream &stream, const std::shared_ptr<FakeCall> &call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Complete(const std::vector<std::shared_ptr<FakeCall>> &calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  FakeStream *HeadOf(const FakeCall *call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // The stream's time goes on to `end`, with what has begun at `begin`.
  void Take(FakeStream &stream, const std::string &name, int64_t begin, int64_t end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Look(FakeComm &comm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Forget(FakeComm *comm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  Mutex mu;
  std::mt19937_64 random ABSL_GUARDED_BY(mu);
  int devices = 1;
  uint32_t lanes ABSL_GUARDED_BY(mu) = 0;
  std::vector<std::unique_ptr<FakeStream>> streams ABSL_GUARDED_BY(mu);
  std::vector<std::unique_ptr<FakeEvent>> events ABSL_GUARDED_BY(mu);
  std::vector<std::shared_ptr<FakeComm>> comms ABSL_GUARDED_BY(mu);
  std::map<uint64_t, std::shared_ptr<FakeGroup>> groups ABSL_GUARDED_BY(mu);  // by unique id
  uint64_t ids ABSL_GUARDED_BY(mu) = 0;
  int64_t milliseconds ABSL_GUARDED_BY(mu) = 0;
  int64_t now ABSL_GUARDED_BY(mu) = 0;   // the latest time of a stream
  int64_t seen ABSL_GUARDED_BY(mu) = 0;  // the latest of an event that a host has asked for
  bool keeps_times ABSL_GUARDED_BY(mu) = false;
  std::vector<FakeRun> runs ABSL_GUARDED_BY(mu);
  // Zeros, which take no memory before they are touched.
  struct Block {
    struct Deleter {
      void operator()(void *memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Deleter> memory;
    size_t bytes = 0;
  };
  std::map<void *, Block> blocks ABSL_GUARDED_BY(mu);
  size_t contexts ABSL_GUARDED_BY(mu) = 0;
  size_t graphs ABSL_GUARDED_BY(mu) = 0;
  std::map<uint64_t, std::string> modules ABSL_GUARDED_BY(mu);  // their images, by number
  size_t free_memory ABSL_GUARDED_BY(mu) = size_t{1} << 40;
  uint64_t modules_made ABSL_GUARDED_BY(mu) = 0;
  FakeMachine::Kernels kernels ABSL_GUARDED_BY(mu);
  std::function<void(FakeWork &)> runner ABSL_GUARDED_BY(mu);
  std::vector<std::string> hanging ABSL_GUARDED_BY(mu);                   // names of ops
  std::map<int, std::shared_ptr<FakeCall>> resident ABSL_GUARDED_BY(mu);  // by device
  std::map<uint32_t, VectorClock> hosts ABSL_GUARDED_BY(mu);              // by lane
  struct Set {
    uint32_t value;
    VectorClock clock;
  };
  std::map<const uint32_t *, std::vector<Set>> sets ABSL_GUARDED_BY(mu);
  AccessLog accesses ABSL_GUARDED_BY(mu);
  bool ignores_accesses ABSL_GUARDED_BY(mu) = false;
  bool has_windows ABSL_GUARDED_BY(mu) = true;
  std::vector<std::string> findings ABSL_GUARDED_BY(mu);
  std::vector<FakeFault> faults ABSL_GUARDED_BY(mu);
};

// Of this thread.
struct FakeThread {
  int device = -1;       // of its context
  int64_t lane = -1;     // that it acts as
  std::string name;      // of what it enqueues next
  int64_t earliest = 0;  // LookAtClock
};
FakeThread &ThisThread();
std::string TakeName(const char *otherwise);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_IMPL_H
