// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL's functions of a FakeMachine.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/runtime/cuda/fake_impl.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

std::shared_ptr<FakeComm> FakeMachine::Impl::Of(NcclComm comm) {
  for (const std::shared_ptr<FakeComm> &each : comms) {
    if (reinterpret_cast<NcclComm>(each.get()) != comm) continue;
    if (each->thread != std::this_thread::get_id()) Find("a communicator is used by two threads");
    return each;
  }
  Find("a communicator is used that is not there");
  return nullptr;
}

void FakeMachine::Impl::Look(FakeComm &comm) {
  comm.looked = true;
  for (const std::shared_ptr<FakeComm> &each : comms)
    if (!each->looked || each->group->come < each->group->ranks) return;
  for (const std::shared_ptr<FakeComm> &each : comms) each->looked = false;
  ++milliseconds;
}

void FakeMachine::Impl::Forget(FakeComm *comm) {
  for (FakeComm *&member : comm->group->members) {
    if (member == comm) member = nullptr;
  }
  std::erase_if(comms, [comm](const auto &each) { return each.get() == comm; });
}

namespace {

using N = NcclResult;
using Impl = FakeMachine::Impl;

constexpr int kMostLooks = 5000;  // of a millisecond

N GetVersion(int *version) {
  *version = 22809;
  return N::kSuccess;
}
const char *GetErrorString(N result) {
  switch (result) {
    case N::kRemoteError: return "remote process exited or there was a network error";
    case N::kSystemError: return "unhandled system error";
    case N::kInvalidUsage: return "invalid usage";
    default: return "an error of the fake";
  }
}
const char *GetLastError(NcclComm) { return ""; }
N GetUniqueId(NcclUniqueId *id) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  std::memset(id, 0, sizeof(*id));
  const uint64_t number = ++impl.ids;
  std::memcpy(id->bytes, &number, sizeof(number));
  return N::kSuccess;
}
N CommInit(NcclComm *comm, int ranks, NcclUniqueId id, int rank, NcclConfig *config) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  if (config == nullptr || config->blocking != 0) {
    impl.Find("a communicator that blocks is not one that the fake has");
    return N::kInvalidUsage;
  }
  uint64_t number = 0;
  std::memcpy(&number, id.bytes, sizeof(number));
  std::shared_ptr<FakeGroup> &group = impl.groups[number];
  if (group == nullptr) {
    group = std::make_shared<FakeGroup>();
    group->ranks = ranks;
    group->members.resize(size_t(ranks));
  }
  if (ranks != group->ranks || rank < 0 || rank >= ranks || group->members[size_t(rank)] != nullptr)
    return N::kInvalidArgument;
  auto made = std::make_shared<FakeComm>();
  made->group = group;
  made->rank = rank;
  made->device = ThisThread().device;
  made->thread = std::this_thread::get_id();
  made->connecting = true;
  group->members[size_t(rank)] = made.get();
  ++group->come;
  *comm = reinterpret_cast<NcclComm>(made.get());
  impl.comms.push_back(std::move(made));
  return N::kInProgress;
}

bool Busy(const FakeComm &comm) {
  return comm.connecting || comm.call != nullptr || comm.looks > 0;
}

// As NCCL's ncclCommEnsureReady: what a call returns that must not be made now.
N EnsureReady(Impl &impl, const FakeComm &comm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl.mu) {
  if (comm.error != N::kSuccess) return comm.error;
  if (!Busy(comm) && !comm.finalizing) return N::kSuccess;
  impl.Find("a communicator is called before it has done the call before");
  return N::kInvalidArgument;
}

// It may be done only when it has been asked so often. Whether it is, is not what the call returns.
N Begin(Impl &impl, FakeComm &comm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl.mu) {
  comm.looks = int(impl.Draw(3));
  return comm.looks > 0 && impl.Draw(2) == 0 ? N::kInProgress : N::kSuccess;
}

// With what was called.
void Done(FakeComm &comm) {
  if (comm.registering != nullptr)
    *std::exchange(comm.registering, nullptr) =
        reinterpret_cast<NcclWindow>(comm.windows.back().get());
  if (comm.call == nullptr) return;
  FakeItem item;
  item.kind = FakeItem::kCollective;
  item.call = std::exchange(comm.call, nullptr);
  comm.stream->items.push_back(std::move(item));
}

// Whether a stream of the communicator's device has to wait for the host before one of its kernels ends.
bool WaitsForHost(Impl &impl, const FakeComm &comm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl.mu) {
  bool there = false, waits = false;
  for (const auto &stream : impl.streams) {
    if (stream->device != comm.device || stream->items.empty()) continue;
    for (const FakeItem &item : stream->items)
      there |= item.call != nullptr && item.call->comm.get() == &comm;
    waits |= stream->items.front().kind == FakeItem::kWaitValue || impl.CanRun(*stream);
  }
  return there && waits;
}

N CommGetAsyncError(NcclComm handle, N *result) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  impl.Look(*comm);
  impl.Run(1 + impl.Draw(3));
  *result = comm->error;
  if (comm->error != N::kSuccess) return N::kSuccess;
  if (comm->connecting) {
    const std::vector<FakeComm *> &members = comm->group->members;
    comm->connecting =
        std::any_of(members.begin(), members.end(), [](FakeComm *each) { return each == nullptr; });
  }
  if (comm->looks > 0) --comm->looks;
  if (comm->looks == 0) Done(*comm);
  if (comm->finalizing) {
    // What was called has to end first.
    for (const auto &stream : impl.streams) {
      for (const FakeItem &item : stream->items) {
        if (item.call != nullptr && item.call->comm == comm) {
          *result = N::kInProgress;
          return N::kSuccess;
        }
      }
    }
  }
  if (Busy(*comm)) *result = N::kInProgress;
  return N::kSuccess;
}

N CommFinalize(NcclComm handle) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  if (const N ready = EnsureReady(impl, *comm); ready != N::kSuccess) return comm->error = ready;
  comm->finalizing = true;
  return N::kInProgress;
}
N CommDestroy(NcclComm handle) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  if (!comm->finalizing || Busy(*comm))
    impl.Find("a communicator is destroyed that is not finalized");
  impl.Forget(comm.get());
  return N::kSuccess;
}
N CommAbort(NcclComm handle) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  comm->aborted = true;
  comm->group->wrong = true;
  comm->call = nullptr;
  comm->registering = nullptr;
  // NCCL synchronizes a stream that stands behind its kernels. A kernel that never ends is not
  // waited for here, as it is there.
  for (int looks = 0; WaitsForHost(impl, *comm); ++looks) {
    if (impl.Run(10) != 0) continue;
    if (looks == kMostLooks) {
      impl.Find("an abort waits for what waits for the host");
      break;
    }
    impl.mu.Unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    impl.mu.Lock();
  }
  comm->windows.clear();
  impl.Forget(comm.get());
  return N::kSuccess;
}
N WindowRegister(NcclComm handle, void *begin, size_t bytes, NcclWindow *window, int flags) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr || flags != kNcclWindowSymmetric) return N::kInvalidArgument;
  if (!impl.has_windows) {
    *window = nullptr;
    return N::kSuccess;
  }
  if (const N ready = EnsureReady(impl, *comm); ready != N::kSuccess) return ready;
  comm->windows.push_back(std::make_unique<FakeComm::Window>(
      FakeComm::Window{static_cast<const std::byte *>(begin), bytes}));
  comm->registering = window;
  const N result = Begin(impl, *comm);
  if (comm->looks == 0) Done(*comm);
  return result;
}
N WindowDeregister(NcclComm handle, NcclWindow window) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  if (window == nullptr) return N::kSuccess;
  return std::erase_if(comm->windows,
                       [window](const auto &each) {
                         return reinterpret_cast<NcclWindow>(each.get()) == window;
                       }) == 1
             ? N::kSuccess
             : N::kInvalidArgument;
}
N NcclMemAlloc(void **memory, size_t bytes) {
  FakeMachine::driver().MemHostAlloc(memory, bytes, 0);
  return N::kSuccess;
}
N NcclMemFree(void *memory) {
  return FakeMachine::driver().MemFreeHost(memory) == DriverResult::kSuccess ? N::kSuccess
                                                                             : N::kInvalidArgument;
}

N Call(FakeKind kind, const void *from, void *to, size_t count, NcclType type,
       NcclReduction reduction, NcclComm handle, Stream stream) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  FakeStream *on = impl.Of(stream);
  if (comm == nullptr || on == nullptr || on->device != comm->device) return N::kInvalidArgument;
  if (const N ready = EnsureReady(impl, *comm); ready != N::kSuccess) return comm->error = ready;
  auto call = std::make_shared<FakeCall>();
  *call = {comm,
           comm->calls++,
           TakeName(NameOf(kind)),
           kind,
           static_cast<const std::byte *>(from),
           static_cast<std::byte *>(to),
           count,
           type,
           reduction};
  comm->call = std::move(call);
  comm->stream = on;
  const N result = Begin(impl, *comm);
  if (comm->looks == 0) Done(*comm);
  return result;
}
N AllReduce(const void *from, void *to, size_t count, NcclType type, NcclReduction reduction,
            NcclComm comm, Stream stream) {
  return Call(FakeKind::kAllReduce, from, to, count, type, reduction, comm, stream);
}
N ReduceScatter(const void *from, void *to, size_t count, NcclType type, NcclReduction reduction,
                NcclComm comm, Stream stream) {
  return Call(FakeKind::kReduceScatter, from, to, count, type, reduction, comm, stream);
}
N AllGather(const void *from, void *to, size_t count, NcclType type, NcclComm comm, Stream stream) {
  return Call(FakeKind::kAllGather, from, to, count, type, NcclReduction::kSum, comm, stream);
}

}  // namespace

const NcclApi &FakeMachine::nccl() {
  static const NcclApi api = {.GetVersion = GetVersion,
                              .GetErrorString = GetErrorString,
                              .GetLastError = GetLastError,
                              .GetUniqueId = GetUniqueId,
                              .CommInitRankConfig = CommInit,
                              .CommGetAsyncError = CommGetAsyncError,
                              .CommFinalize = CommFinalize,
                              .CommDestroy = CommDestroy,
                              .CommAbort = CommAbort,
                              .CommWindowRegister = WindowRegister,
                              .CommWindowDeregister = WindowDeregister,
                              .MemAlloc = NcclMemAlloc,
                              .MemFree = NcclMemFree,
                              .AllReduce = AllReduce,
                              .ReduceScatter = ReduceScatter,
                              .AllGather = AllGather};
  return api;
}

}  // namespace commsched::runtime::cuda
