// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL's functions of a FakeMachine.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/fake_impl.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

const char *NameOf(FakeKind kind) {
  switch (kind) {
    case FakeKind::kAllReduce:
      return "all-reduce";
    case FakeKind::kReduceScatter:
      return "reduce-scatter";
    case FakeKind::kAllGather:
      return "all-gather";
  }
  return "?";
}

std::optional<std::pair<size_t, size_t>> FakeComm::Place(const void *at) const {
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto offset = size_t(static_cast<const std::byte *>(at) - windows[i]->begin);
    if (offset < windows[i]->bytes) return std::pair(i, offset);
  }
  return std::nullopt;
}

namespace {

using N = NcclResult;
using Impl = FakeMachine::Impl;

size_t BytesOf(NcclType type) {
  switch (type) {
    case NcclType::kInt32:
    case NcclType::kFloat32:
      return 4;
    case NcclType::kInt64:
    case NcclType::kFloat64:
      return 8;
    default:
      return 2;
  }
}

// What differs, in words; empty if nothing does.
std::string Difference(const FakeCall &a, const FakeCall &b) {
  if (a.kind != b.kind) return absl::StrCat(NameOf(a.kind), " and ", NameOf(b.kind));
  if (a.count != b.count) return absl::StrCat(a.count, " and ", b.count, " elements");
  if (a.type != b.type) return absl::StrCat("types ", int(a.type), " and ", int(b.type));
  if (a.kind != FakeKind::kAllGather && a.reduction != b.reduction)
    return absl::StrCat("reductions ", int(a.reduction), " and ", int(b.reduction));
  for (const auto &[at, bt] : {std::pair(a.comm->Place(a.from), b.comm->Place(b.from)),
                               std::pair(a.comm->Place(a.to), b.comm->Place(b.to))}) {
    if (at == bt) continue;
    const auto text = [](const std::optional<std::pair<size_t, size_t>> &place) {
      return place ? absl::StrCat("offset ", place->second, " of window ", place->first)
                   : std::string("no window");
    };
    return absl::StrCat(text(at), " and ", text(bt));
  }
  return "";
}

template <typename T>
T Combined(NcclReduction reduction, T a, T b) {
  switch (reduction) {
    case NcclReduction::kMax:
      return std::max(a, b);
    case NcclReduction::kMin:
      return std::min(a, b);
    default:
      // Without overflow of signed integers.
      if constexpr (std::is_integral_v<T>)
        return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
      else
        return a + b;
  }
}

// Element i over all ranks, in their order.
template <typename T>
void Reduce(const std::vector<std::shared_ptr<FakeCall>> &calls, size_t first, size_t count,
            std::byte *out) {
  for (size_t i = 0; i < count; ++i) {
    T sum{};
    for (size_t rank = 0; rank < calls.size(); ++rank) {
      T value;
      std::memcpy(&value, calls[rank]->from + (first + i) * sizeof(T), sizeof(T));
      sum = rank == 0 ? value : Combined(calls[0]->reduction, sum, value);
    }
    if (calls[0]->reduction == NcclReduction::kMean) sum /= T(calls.size());
    std::memcpy(out + i * sizeof(T), &sum, sizeof(T));
  }
}

bool Reduce(const std::vector<std::shared_ptr<FakeCall>> &calls, size_t first, size_t count,
            std::byte *out) {
  switch (calls[0]->type) {
    case NcclType::kInt32:
      Reduce<int32_t>(calls, first, count, out);
      return true;
    case NcclType::kInt64:
      Reduce<int64_t>(calls, first, count, out);
      return true;
    case NcclType::kFloat32:
      Reduce<float>(calls, first, count, out);
      return true;
    case NcclType::kFloat64:
      Reduce<double>(calls, first, count, out);
      return true;
    default:
      return false;
  }
}

}  // namespace

FakeStream *FakeMachine::Impl::HeadOf(const FakeCall *call) {
  for (const auto &stream : streams) {
    if (!stream->items.empty() && stream->items.front().call.get() == call) return stream.get();
  }
  return nullptr;
}

void FakeMachine::Impl::Arrive(FakeStream &stream, const std::shared_ptr<FakeCall> &call) {
  FakeComm &comm = *call->comm;
  FakeGroup &group = *comm.group;
  call->arrived = true;
  resident[stream.device] = call;
  for (const FakeFault &fault : faults) {
    if (fault.call != call->number || (fault.rank >= 0 && fault.rank != comm.rank)) continue;
    if (fault.kind == FakeFault::kError) comm.error = fault.error;
    if (fault.kind == FakeFault::kLost || fault.kind == FakeFault::kLostTold) comm.lost = true;
    if (fault.kind == FakeFault::kLostTold) {
      for (FakeComm *other : group.members) {
        if (other != nullptr && other != &comm) other->error = N::kRemoteError;
      }
    }
    return;
  }
  if (group.wrong) return;
  std::vector<std::shared_ptr<FakeCall>> &calls = group.arrived[call->number];
  calls.resize(size_t(group.ranks));
  calls[size_t(comm.rank)] = call;
  for (const std::shared_ptr<FakeCall> &other : calls) {
    if (other == nullptr || other == call) continue;
    const std::string differs = Difference(*other, *call);
    if (differs.empty()) continue;
    Find(absl::StrCat("mismatch: call ", call->number, " is \"", other->name, "\" of rank ",
                      other->comm->rank, " and \"", call->name, "\" of rank ", comm.rank, ": ", differs));
    group.wrong = true;
    return;
  }
  if (std::any_of(calls.begin(), calls.end(), [](const auto &each) { return each == nullptr; })) return;
  const std::vector<std::shared_ptr<FakeCall>> complete = std::move(calls);
  group.arrived.erase(call->number);
  Complete(complete);
}

void FakeMachine::Impl::Complete(const std::vector<std::shared_ptr<FakeCall>> &calls) {
  const FakeCall &first = *calls[0];
  const size_t element = BytesOf(first.type), ranks = calls.size();
  const size_t part = first.count * element;
  const size_t in = first.kind == FakeKind::kReduceScatter ? ranks * part : part;
  const size_t out = first.kind == FakeKind::kAllGather ? ranks * part : part;
  VectorClock together;
  std::vector<FakeStream *> heads;
  std::vector<std::vector<std::byte>> results;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const FakeCall &call = *calls[rank];
    FakeStream *stream = HeadOf(&call);
    heads.push_back(stream);
    const auto from = reinterpret_cast<uintptr_t>(call.from), to = reinterpret_cast<uintptr_t>(call.to);
    Use(stream->lane, &stream->clock, {call.name, {{from, from + in}}, {{to, to + out}}, nullptr});
    together.Merge(stream->clock);
    std::vector<std::byte> &result = results.emplace_back(out);
    if (first.kind == FakeKind::kAllGather) {
      for (size_t other = 0; other < ranks; ++other)
        std::memcpy(result.data() + other * part, calls[other]->from, part);
    } else if (!Reduce(calls, first.kind == FakeKind::kReduceScatter ? rank * first.count : 0,
                       first.count, result.data())) {
      Find(absl::StrCat("type ", int(first.type), " is not one that the fake reduces"));
    }
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::memcpy(calls[rank]->to, results[rank].data(), out);
    heads[rank]->clock.Merge(together);
    heads[rank]->items.pop_front();
    resident.erase(heads[rank]->device);
  }
}

std::shared_ptr<FakeComm> FakeMachine::Impl::Of(NcclComm comm) {
  for (const std::shared_ptr<FakeComm> &each : comms) {
    if (reinterpret_cast<NcclComm>(each.get()) != comm) continue;
    if (each->thread != std::this_thread::get_id())
      Find("a communicator is used by two threads");
    return each;
  }
  Find("a communicator is used that is not there");
  return nullptr;
}

void FakeMachine::Impl::Forget(FakeComm *comm) {
  for (FakeComm *&member : comm->group->members) {
    if (member == comm) member = nullptr;
  }
  std::erase_if(comms, [comm](const auto &each) { return each.get() == comm; });
}

namespace {

N GetVersion(int *version) {
  *version = 22809;
  return N::kSuccess;
}
const char *GetErrorString(N result) {
  switch (result) {
    case N::kRemoteError:
      return "remote process exited or there was a network error";
    case N::kSystemError:
      return "unhandled system error";
    case N::kInvalidUsage:
      return "invalid usage";
    default:
      return "an error of the fake";
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
  *comm = reinterpret_cast<NcclComm>(made.get());
  impl.comms.push_back(std::move(made));
  return N::kInProgress;
}

bool Busy(const FakeComm &comm) { return comm.connecting || comm.call != nullptr || comm.looks > 0; }

// It is taken now.
void Take(FakeComm &comm) {
  FakeItem item;
  item.kind = FakeItem::kCollective;
  item.call = std::exchange(comm.call, nullptr);
  comm.stream->items.push_back(std::move(item));
}

N CommGetAsyncError(NcclComm handle, N *result) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  impl.Run(1 + impl.Draw(3));
  *result = comm->error;
  if (comm->error != N::kSuccess) return N::kSuccess;
  if (comm->connecting) {
    const std::vector<FakeComm *> &members = comm->group->members;
    comm->connecting = std::any_of(members.begin(), members.end(), [](FakeComm *each) { return each == nullptr; });
  }
  if (comm->looks > 0) --comm->looks;
  if (comm->call != nullptr && comm->looks == 0) Take(*comm);
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
  comm->finalizing = true;
  return N::kInProgress;
}
N CommDestroy(NcclComm handle) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  if (!comm->finalizing || Busy(*comm)) impl.Find("a communicator is destroyed that is not finalized");
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
  comm->windows.clear();
  impl.Forget(comm.get());
  return N::kSuccess;
}
N WindowRegister(NcclComm handle, void *begin, size_t bytes, NcclWindow *window, int flags) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr || flags != kNcclWindowSymmetric) return N::kInvalidArgument;
  comm->windows.push_back(std::make_unique<FakeComm::Window>(
      FakeComm::Window{static_cast<const std::byte *>(begin), bytes}));
  *window = reinterpret_cast<NcclWindow>(comm->windows.back().get());
  comm->looks = int(impl.Draw(3));
  return comm->looks > 0 ? N::kInProgress : N::kSuccess;
}
N WindowDeregister(NcclComm handle, NcclWindow window) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  if (comm == nullptr) return N::kInvalidArgument;
  return std::erase_if(comm->windows, [window](const auto &each) {
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
  return FakeMachine::driver().MemFreeHost(memory) == DriverResult::kSuccess ? N::kSuccess : N::kInvalidArgument;
}

N Call(FakeKind kind, const void *from, void *to, size_t count, NcclType type,
       NcclReduction reduction, NcclComm handle, Stream stream) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const std::shared_ptr<FakeComm> comm = impl.Of(handle);
  FakeStream *on = impl.Of(stream);
  if (comm == nullptr || on == nullptr || on->device != comm->device) return N::kInvalidArgument;
  if (comm->error != N::kSuccess) return comm->error;
  if (Busy(*comm) || comm->finalizing) {
    impl.Find("a communicator is called before it has taken the call before");
    return N::kInvalidUsage;
  }
  auto call = std::make_shared<FakeCall>();
  *call = {comm, comm->calls++, TakeName(NameOf(kind)), kind, static_cast<const std::byte *>(from),
           static_cast<std::byte *>(to), count, type, reduction};
  comm->call = std::move(call);
  comm->stream = on;
  comm->looks = int(impl.Draw(3));
  if (comm->looks > 0) return N::kInProgress;
  Take(*comm);
  return N::kSuccess;
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
