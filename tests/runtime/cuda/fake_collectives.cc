// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the collectives of a FakeMachine do, when all ranks have come to them.
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
    case FakeKind::kAllReduce: return "all-reduce";
    case FakeKind::kReduceScatter: return "reduce-scatter";
    case FakeKind::kAllGather: return "all-gather";
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

size_t BytesOf(NcclType type) {
  switch (type) {
    case NcclType::kInt32:
    case NcclType::kFloat32: return 4;
    case NcclType::kInt64:
    case NcclType::kFloat64: return 8;
    default: return 2;
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
    case NcclReduction::kMax: return std::max(a, b);
    case NcclReduction::kMin: return std::min(a, b);
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
    case NcclType::kInt32: Reduce<int32_t>(calls, first, count, out); return true;
    case NcclType::kInt64: Reduce<int64_t>(calls, first, count, out); return true;
    case NcclType::kFloat32: Reduce<float>(calls, first, count, out); return true;
    case NcclType::kFloat64: Reduce<double>(calls, first, count, out); return true;
    default: return false;
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
        if (other != nullptr && other != &comm) other->error = NcclResult::kRemoteError;
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
                      other->comm->rank, " and \"", call->name, "\" of rank ", comm.rank, ": ",
                      differs));
    group.wrong = true;
    return;
  }
  if (std::any_of(calls.begin(), calls.end(), [](const auto &each) { return each == nullptr; }))
    return;
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
  int64_t come = 0;  // when the last one has
  std::vector<FakeStream *> heads;
  std::vector<std::vector<std::byte>> results;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const FakeCall &call = *calls[rank];
    FakeStream *stream = HeadOf(&call);
    heads.push_back(stream);
    come = std::max(come, stream->time);
    const auto from = reinterpret_cast<uintptr_t>(call.from),
               to = reinterpret_cast<uintptr_t>(call.to);
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
    Take(*heads[rank], calls[rank]->name, heads[rank]->time,
         come + kFakeCollectiveUnits + int64_t(std::max(in, out)) / kFakeCollectiveBytes);
    heads[rank]->items.pop_front();
    resident.erase(heads[rank]->device);
  }
}

}  // namespace commsched::runtime::cuda
