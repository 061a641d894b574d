// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/fake_machine.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/fake_impl.h"

namespace commsched::runtime::cuda {
namespace {

std::atomic<FakeMachine::Impl *> machine{nullptr};

}  // namespace

FakeMachine::Impl &FakeMachine::Impl::Get() {
  Impl *there = machine.load();
  if (there == nullptr) std::abort();
  return *there;
}

FakeThread &ThisThread() {
  thread_local FakeThread thread;
  return thread;
}

std::string TakeName(const char *otherwise) {
  std::string name = std::exchange(ThisThread().name, {});
  return name.empty() ? otherwise : name;
}

FakeMachine::FakeMachine(uint64_t seed, int devices) : impl_(new Impl) {
  impl_->random.seed(seed);
  impl_->devices = devices;
  if (machine.exchange(impl_.get()) != nullptr) std::abort();
}

FakeMachine::~FakeMachine() {
  machine.store(nullptr);
  MutexLock lock(&impl_->mu);
  // Calls that have not ended keep their communicators, which keep the calls.
  for (const auto &[id, group] : impl_->groups) group->arrived.clear();
  for (const std::shared_ptr<FakeComm> &comm : impl_->comms) comm->call = nullptr;
}

Function FakeMachine::kernel() const { return reinterpret_cast<Function>(uintptr_t{1}); }
void FakeMachine::NameNext(std::string name) { ThisThread().name = std::move(name); }
void FakeMachine::ActAs(int64_t lane) { ThisThread().lane = lane; }

uint32_t FakeMachine::AddHostLane() {
  MutexLock lock(&impl_->mu);
  impl_->hosts[impl_->lanes];
  return impl_->lanes++;
}

void FakeMachine::HostOp(uint32_t lane, const FakeWork &work) {
  MutexLock lock(&impl_->mu);
  impl_->Use(lane, &impl_->hosts[lane], work);
  if (work.body) work.body();
}

VectorClock FakeMachine::HostClock(uint32_t lane) {
  MutexLock lock(&impl_->mu);
  return impl_->hosts[lane];
}

void FakeMachine::HostFollows(uint32_t lane, const VectorClock &clock) {
  MutexLock lock(&impl_->mu);
  impl_->hosts[lane].Merge(clock);
}

void FakeMachine::HostSets(uint32_t lane, const uint32_t *flag, uint32_t value) {
  MutexLock lock(&impl_->mu);
  impl_->sets[flag].push_back({value, impl_->hosts[lane]});
}

size_t FakeMachine::RunSome(size_t most) {
  MutexLock lock(&impl_->mu);
  return impl_->Run(most);
}

Time FakeMachine::Now() {
  MutexLock lock(&impl_->mu);
  return impl_->milliseconds * 1'000'000;
}

bool FakeMachine::Idle() {
  MutexLock lock(&impl_->mu);
  return std::all_of(impl_->streams.begin(), impl_->streams.end(),
                     [](const auto &stream) { return stream->items.empty(); });
}

void FakeMachine::ReportHang() {
  MutexLock lock(&impl_->mu);
  for (const auto &stream : impl_->streams) {
    if (!stream->items.empty()) impl_->Find(absl::StrCat("hang: ", impl_->WaitsFor(*stream)));
  }
}

std::vector<std::string> FakeMachine::TakeFindings() {
  MutexLock lock(&impl_->mu);
  return std::exchange(impl_->findings, {});
}

int64_t FakeUnitsOf(const std::string &name) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (char c : name) hash = (hash ^ uint8_t(c)) * 1099511628211u;
  return 1 + int64_t(hash >> 32) % 64;
}

void FakeMachine::KeepTimes() {
  MutexLock lock(&impl_->mu);
  impl_->keeps_times = true;
}

void FakeMachine::LookAtClock() {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  ThisThread().earliest = impl.seen;
}

std::vector<FakeRun> FakeMachine::Runs() {
  MutexLock lock(&impl_->mu);
  return impl_->runs;
}

size_t FakeMachine::live() {
  MutexLock lock(&impl_->mu);
  size_t count = impl_->streams.size() + impl_->events.size() + impl_->comms.size() +
                 impl_->blocks.size() + impl_->modules.size() + impl_->contexts + impl_->graphs;
  for (const auto &comm : impl_->comms) count += comm->windows.size();
  return count;
}

void FakeMachine::SetRunner(std::function<void(FakeWork &)> runner) {
  MutexLock lock(&impl_->mu);
  impl_->runner = std::move(runner);
}

void FakeMachine::SetKernels(Kernels kernels) {
  MutexLock lock(&impl_->mu);
  impl_->kernels = std::move(kernels);
}

void FakeMachine::IgnoreAccesses() {
  MutexLock lock(&impl_->mu);
  impl_->ignores_accesses = true;
}

void FakeMachine::HasNoWindows() {
  MutexLock lock(&impl_->mu);
  impl_->has_windows = false;
}

void FakeMachine::SetFreeMemory(size_t bytes) {
  MutexLock lock(&impl_->mu);
  impl_->free_memory = bytes;
}

void FakeMachine::HangOp(const std::string &name) {
  MutexLock lock(&impl_->mu);
  impl_->hanging.push_back(name);
}
void FakeMachine::HangAt(uint64_t call) {
  MutexLock lock(&impl_->mu);
  impl_->faults.push_back({FakeFault::kHang, -1, call});
}
void FakeMachine::FailAt(int rank, uint64_t call, NcclResult error) {
  MutexLock lock(&impl_->mu);
  impl_->faults.push_back({FakeFault::kError, rank, call, error});
}
void FakeMachine::LoseAt(int rank, uint64_t call, bool told) {
  MutexLock lock(&impl_->mu);
  impl_->faults.push_back({told ? FakeFault::kLostTold : FakeFault::kLost, rank, call});
}

void FakeMachine::Impl::Find(std::string line) {
  if (std::find(findings.begin(), findings.end(), line) == findings.end())
    findings.push_back(std::move(line));
}

FakeStream *FakeMachine::Impl::Of(Stream stream) {
  for (const auto &each : streams) {
    if (reinterpret_cast<Stream>(each.get()) == stream) return each.get();
  }
  Find("a stream is used that is not there");
  return nullptr;
}

FakeEvent *FakeMachine::Impl::Of(Event event) {
  for (const auto &each : events) {
    if (reinterpret_cast<Event>(each.get()) == event) return each.get();
  }
  Find("an event is used that is not there");
  return nullptr;
}

void *FakeMachine::Impl::Allocate(size_t bytes) {
  constexpr size_t kAlignment = kNcclWindowAlignment;
  std::unique_ptr<void, Block::Deleter> block(std::calloc(1, bytes + kAlignment));
  void *memory = block.get();
  size_t space = bytes + kAlignment;
  std::align(kAlignment, bytes, memory, space);
  blocks[memory] = {std::move(block), bytes};
  return memory;
}

bool FakeMachine::Impl::Free(void *memory) {
  const auto at = blocks.find(memory);
  if (at == blocks.end()) return false;
  const uint64_t begin = reinterpret_cast<uintptr_t>(memory);
  accesses.Forget({begin, begin + at->second.bytes});
  blocks.erase(at);
  return true;
}

void FakeMachine::Impl::Use(uint32_t lane, VectorClock *clock, const FakeWork &work) {
  if (ignores_accesses) return;
  std::vector<std::string> found;
  const VectorClock before = *clock;
  const uint32_t number = clock->Tick(lane);
  for (const Bytes &bytes : work.reads)
    accesses.Use(bytes, false, lane, number, work.name, before, &found);
  for (const Bytes &bytes : work.writes)
    accesses.Use(bytes, true, lane, number, work.name, before, &found);
  for (std::string &line : found) Find(std::move(line));
}

void FakeMachine::Impl::Take(FakeStream &stream, const std::string &name, int64_t begin,
                             int64_t end) {
  stream.time = end;
  stream.worked = true;
  now = std::max(now, end);
  if (keeps_times) runs.push_back({name, stream.lane, stream.device, begin, end});
}

size_t FakeMachine::Impl::Run(size_t most) {
  size_t ran = 0;
  for (; ran < most; ++ran) {
    // Long runs of one choice, then another: orders in which one stream is far ahead.
    if (Draw(8) == 0) {
      for (const auto &stream : streams) stream->eager = random();
    }
    FakeStream *best = nullptr;
    for (const auto &stream : streams) {
      if ((best == nullptr || stream->eager > best->eager) && CanRun(*stream)) best = stream.get();
    }
    if (best == nullptr) break;
    RunHead(*best);
  }
  return ran;
}

bool FakeMachine::Impl::CanRun(const FakeStream &stream) const {
  if (stream.items.empty()) return false;
  const FakeItem &head = stream.items.front();
  switch (head.kind) {
    case FakeItem::kWork:
      return std::find(hanging.begin(), hanging.end(), head.work.name) == hanging.end();
    case FakeItem::kRecord: return true;
    case FakeItem::kWaitEvent: return head.record == nullptr || head.record->done;
    case FakeItem::kWaitValue: {
      const uint32_t now = std::atomic_ref<uint32_t>(*const_cast<uint32_t *>(head.flag))
                               .load(std::memory_order_acquire);
      return int32_t(now - head.value) >= 0;
    }
    case FakeItem::kCollective:
      if (head.call->comm->aborted) return true;
      return !head.call->arrived && resident.count(stream.device) == 0;
  }
  return false;
}

void FakeMachine::Impl::RunHead(FakeStream &stream) {
  FakeItem &head = stream.items.front();
  stream.time = std::max(stream.time, head.earliest);
  switch (head.kind) {
    case FakeItem::kWork:
      if (runner)
        runner(head.work);
      else
        head.work.Run();
      Use(stream.lane, &stream.clock, head.work);
      Take(stream, head.work.name, stream.time,
           stream.time + (head.work.units >= 0 ? head.work.units : FakeUnitsOf(head.work.name)));
      break;
    case FakeItem::kRecord:
      head.record->done = true;
      head.record->clock = stream.clock;
      // On a stream without anything, it is when the host comes to it.
      if (head.record->timing && !stream.worked) stream.time = now;
      head.record->at = stream.time;
      break;
    case FakeItem::kWaitEvent:
      if (head.record == nullptr) break;
      stream.clock.Merge(head.record->clock);
      stream.time = std::max(stream.time, head.record->at);
      stream.worked = true;
      break;
    case FakeItem::kWaitValue:
      // The first that was enough; a later one may be there, but need not.
      for (const Set &set : sets[head.flag]) {
        if (int32_t(set.value - head.value) < 0) continue;
        stream.clock.Merge(set.clock);
        break;
      }
      stream.time = std::max(stream.time, now);
      stream.worked = true;
      break;
    case FakeItem::kCollective:
      if (!head.call->comm->aborted) {
        Arrive(stream, head.call);
        return;
      }
      if (const auto at = resident.find(stream.device);
          at != resident.end() && at->second == head.call)
        resident.erase(at);
      break;
  }
  stream.items.pop_front();
}

std::string FakeMachine::Impl::WaitsFor(const FakeStream &stream) const {
  const FakeItem &head = stream.items.front();
  switch (head.kind) {
    case FakeItem::kWaitEvent: return absl::StrCat("stream ", stream.lane, " waits for an event");
    case FakeItem::kWaitValue:
      return absl::StrCat("stream ", stream.lane, " waits for the value ", head.value);
    case FakeItem::kCollective: {
      const FakeCall &call = *head.call;
      const std::string what = absl::StrCat("rank ", call.comm->rank, "'s call ", call.number,
                                            ", \"", call.name, "\", ");
      if (call.arrived) return absl::StrCat(what, "waits for the others");
      const auto at = resident.find(stream.device);
      return at == resident.end()
                 ? absl::StrCat(what, "can run")
                 : absl::StrCat(what, "waits for \"", at->second->name, "\" on its device");
    }
    default: return absl::StrCat("stream ", stream.lane, " can run");
  }
}

}  // namespace commsched::runtime::cuda
