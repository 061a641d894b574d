// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine with devices behind the function tables of the driver and of NCCL, on the memory and
// the processor of the host. Streams are queues. What is at the head of one runs when another
// call looks for progress, in an order that the seed chooses and that is as bad as the waits allow:
// some streams run far ahead, others stand still as long as anything else can run. Every op says
// what it reads and writes; accesses that nothing orders are found (fake_accesses.h), in whatever
// order they ran.
//
// NCCL has its ranks here as well. Kernels of collectives stay on their device, one at a time,
// until all ranks have the same call: calls that differ in kind, count, type, reduction, or in
// their offset in registered windows are found, and so are orders in which ranks wait for each
// other. A communicator that does not block is done with a call a while later. As with NCCL 2.28,
// the call may have returned success, a call before then is an error (and found), windows are
// written when they are done, and an abort returns when nothing of the communicator is on a stream
// any more, which what waits for the host keeps it from.
//
// Time is virtual, in units of 1/1024 ms, of which a float has 16 s exactly; each stream has its own. An op begins
// when what is before it on its stream has ended, and what it waits for: of events, their time; of the host, not
// before anything that has ended by then. How long it takes depends on its name, or its bytes, alone.
//
// One machine at a time. All functions may be called from any thread.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_MACHINE_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_MACHINE_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/nccl_api.h"
#include "tests/runtime/cuda/fake_accesses.h"

namespace commsched::runtime::cuda {

// What a kernel does. A launch of FakeMachine::kernel() has one parameter, a FakeWork *, which is
// copied.
struct FakeWork {
  std::string name;
  std::vector<Bytes> reads, writes;
  std::function<void()> body;
  // Adds what the body has used besides, when it has run. May be empty.
  std::function<void(FakeWork *)> used = {};
  int64_t units = -1;  // that it takes; below 0: as its name says
  // All that the body depends on beside the bytes that it uses. Empty: that is not known.
  std::string same = {};
  // The addresses that it is given, and from which of them it comes to each of `reads` and `writes`; with `same`.
  static constexpr size_t kScratch = SIZE_MAX;  // of a range that it writes before it reads, and whose bytes are of no use behind it
  std::vector<uint64_t> bases = {};
  std::vector<size_t> read_from = {}, written_from = {};

  void Run() {
    if (body) body();
    if (used) used(this);
  }
};

inline constexpr int64_t kFakeUnitsOfMs = 1024;
inline int64_t FakeNsOf(int64_t units) { return std::llround(double(units) * 1e6 / double(kFakeUnitsOfMs)); }
// Of a copy, and of a collective behind the last rank's coming: units, and bytes in each further one.
inline constexpr int64_t kFakeCopyUnits = 8, kFakeCopyBytes = 16384;
inline constexpr int64_t kFakeCollectiveUnits = 24, kFakeCollectiveBytes = 4096;
// Of a kernel of this name: 1 to 64.
int64_t FakeUnitsOf(const std::string &name);

// What has run on a stream, and when.
struct FakeRun {
  std::string name;
  uint32_t stream = 0;  // its number in the machine
  int device = 0;
  int64_t begin = 0, end = 0;  // units
};

// A kernel of a module: what a launch with these pointers does.
struct FakeLaunch {
  std::string kernel;
  unsigned grid = 1, block = 1, shared_bytes = 0;  // along x: others are 1
  std::vector<std::byte *> pointers;
};
struct FakeKernel {
  std::string name;
  size_t parameters = 0;
  std::function<FakeWork(const FakeLaunch &)> work;
};

class FakeMachine {
 public:
  explicit FakeMachine(uint64_t seed, int devices = 1);
  ~FakeMachine();
  FakeMachine(const FakeMachine &) = delete;

  static const DriverApi &driver();
  static const NcclApi &nccl();
  Function kernel() const;
  // What modules have: null for a name that they do not have. `image` is what was loaded.
  using Kernels =
      std::function<const FakeKernel *(const std::string &image, const std::string &name)>;
  void SetKernels(Kernels kernels);
  // What runs works of devices, instead of FakeWork::Run; one at a time. It outlives the machine's streams.
  void SetRunner(std::function<void(FakeWork &)> runner);
  // Of each device, as far as the driver says.
  void SetFreeMemory(size_t bytes);
  // For ops that do not say what they use, and hosts that do not.
  void IgnoreAccesses();
  // NCCL has no windows: it registers nothing, and says null.
  void HasNoWindows();
  // The name of what this thread enqueues next, if it is no kernel.
  static void NameNext(std::string name);

  // Lanes of the host, whose ops are declared, too. While a thread acts as one (-1: as none), an
  // event that it finds to have ended orders what the lane does after.
  uint32_t AddHostLane();
  static void ActAs(int64_t lane);
  void HostOp(uint32_t lane, const FakeWork &work);
  VectorClock HostClock(uint32_t lane);
  void HostFollows(uint32_t lane, const VectorClock &clock);
  // What the lane has done comes before what waits for this value.
  void HostSets(uint32_t lane, const uint32_t *flag, uint32_t value);

  // Runs at most so many heads of streams; returns how many there were.
  size_t RunSome(size_t most);
  // Whether all streams are empty.
  bool Idle();
  // Nothing moves any more: a line for each stream that is not empty.
  void ReportHang();
  std::vector<std::string> TakeFindings();
  // Streams, events, modules, communicators, windows and blocks of memory that are still there.
  size_t live();

  // From now on, what has run; of each stream in its order.
  void KeepTimes();
  // What this thread enqueues from now on begins no earlier than anything ended whose end a host has seen by now. A
  // driver's clock goes on by itself; here, without this, an op may have begun before the host came to it.
  static void LookAtClock();
  std::vector<FakeRun> Runs();

  // A clock that goes on by a millisecond when all ranks have come, and each that is still there has
  // looked at its communicator: a rank's thread that does not get a processor is not late.
  Time Now();

  // Faults. The launch or copy of this name never ends.
  void HangOp(const std::string &name);
  // Calls of collectives are counted for each communicator from 0 on.
  // The call with this number never ends.
  void HangAt(uint64_t call);
  // The rank's communicator reports an error at this call, which does not end.
  void FailAt(int rank, uint64_t call, NcclResult error);
  // The process of the rank is gone when it comes to this call; the others get a remote error, or
  // hear nothing.
  void LoseAt(int rank, uint64_t call, bool told);

  struct Impl;
  Impl &impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

inline const DriverApi &kFakeDriver = FakeMachine::driver();
inline const NcclApi &kFakeNccl = FakeMachine::nccl();

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_MACHINE_H
