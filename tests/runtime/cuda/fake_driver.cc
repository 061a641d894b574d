// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's functions of a FakeMachine.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/fake_impl.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {
namespace {

using R = DriverResult;
using Impl = FakeMachine::Impl;

// Commands that a device's streams have room for.
constexpr size_t kFakeRoom = 1000;

R Enqueue(Stream stream, FakeItem item) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  FakeStream *to = impl.Of(stream);
  if (to == nullptr) return R::kInvalidHandle;
  if (to->recording != nullptr) {
    if (item.kind != FakeItem::kWork) return R::kInvalidValue;
    to->recording->items.push_back(std::move(item));
    return R::kSuccess;
  }
  // A driver would wait for room here, and with it the thread by which that might come.
  size_t queued = 0;
  for (const auto &each : impl.streams)
    if (each->device == to->device) queued += each->items.size();
  if (queued == kFakeRoom)
    impl.Find(absl::StrCat("more than ", kFakeRoom, " commands are queued on device ", to->device));
  item.earliest = ThisThread().earliest;
  to->items.push_back(std::move(item));
  // The device may be as quick as the host.
  impl.Run(impl.Draw(3));
  return R::kSuccess;
}

R GetErrorName(R result, const char **name) {
  switch (result) {
    case R::kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; return R::kSuccess;
    case R::kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; return R::kSuccess;
    default: return R::kInvalidValue;
  }
}
R GetErrorString(R, const char **text) {
  *text = "of the fake";
  return R::kSuccess;
}
R Init(unsigned) { return R::kSuccess; }
R DriverGetVersion(int *version) {
  *version = 13000;
  return R::kSuccess;
}
R DeviceGetCount(int *count) {
  *count = Impl::Get().devices;
  return R::kSuccess;
}
R DeviceGet(Device *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < Impl::Get().devices ? R::kSuccess : R::kInvalidValue;
}
R DeviceGetName(char *name, int bytes, Device) {
  std::strncpy(name, "fake", size_t(bytes));
  return R::kSuccess;
}
R DeviceGetAttribute(int *value, int attribute, Device) {
  *value = attribute == kComputeCapabilityMajor ? 9 : 0;
  return R::kSuccess;
}
R PrimaryContextRetain(Context *context, Device device) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  ++impl.contexts;
  *context = reinterpret_cast<Context>(uintptr_t(device) + 1);
  return R::kSuccess;
}
R PrimaryContextRelease(Device) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  --impl.contexts;
  return R::kSuccess;
}
R ContextSetCurrent(Context context) {
  ThisThread().device = int(reinterpret_cast<uintptr_t>(context)) - 1;
  return R::kSuccess;
}
R HostAlloc(void **memory, size_t bytes, unsigned) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  *memory = impl.Allocate(bytes);
  return R::kSuccess;
}
R HostFree(void *memory) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  return impl.Free(memory) ? R::kSuccess : R::kInvalidValue;
}
R MemAlloc(DevicePtr *memory, size_t bytes) {
  void *block = nullptr;
  HostAlloc(&block, bytes, 0);
  *memory = reinterpret_cast<uintptr_t>(block);
  return R::kSuccess;
}
R MemGetInfo(size_t *free, size_t *total) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  *free = *total = impl.free_memory;
  return R::kSuccess;
}
R MemFree(DevicePtr memory) { return HostFree(reinterpret_cast<void *>(memory)); }
R MemcpyAsync(DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
  FakeItem item;
  item.work = {TakeName("a copy"), {{from, from + bytes}}, {{to, to + bytes}}, [=] {
                 std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
               }};
  item.work.units = kFakeCopyUnits + int64_t(bytes) / kFakeCopyBytes;
  return Enqueue(stream, std::move(item));
}
R MemsetD8Async(DevicePtr to, unsigned char value, size_t bytes, Stream stream) {
  FakeItem item;
  item.work = {TakeName("a memset"), {}, {{to, to + bytes}}, [=] {
                 std::memset(reinterpret_cast<void *>(to), value, bytes);
               }};
  return Enqueue(stream, std::move(item));
}
R LaunchKernel(Function function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block,
               unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream,
               void **parameters, void **) {
  FakeItem item;
  if (function == reinterpret_cast<Function>(uintptr_t{1})) {
    item.work = **static_cast<FakeWork **>(parameters[0]);
    item.work.name = TakeName(item.work.name.c_str());
    return Enqueue(stream, std::move(item));
  }
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1) return R::kInvalidValue;
  const auto *kernel = reinterpret_cast<const FakeKernel *>(function);
  FakeLaunch launch{kernel->name, grid, block, shared_bytes, {}};
  for (size_t i = 0; i < kernel->parameters; ++i)
    launch.pointers.push_back(
        reinterpret_cast<std::byte *>(*static_cast<const DevicePtr *>(parameters[i])));
  item.work = kernel->work(launch);
  item.work.name = TakeName(kernel->name.c_str());
  return Enqueue(stream, std::move(item));
}
R StreamCreate(Stream *stream, unsigned, int) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  if (ThisThread().device < 0) {
    impl.Find("a stream is made by a thread without a context");
    return R::kInvalidValue;
  }
  impl.streams.push_back(std::make_unique<FakeStream>());
  FakeStream &made = *impl.streams.back();
  made.lane = impl.lanes++;
  made.device = ThisThread().device;
  made.eager = impl.random();
  *stream = reinterpret_cast<Stream>(&made);
  return R::kSuccess;
}
R StreamDestroy(Stream stream) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  FakeStream *old = impl.Of(stream);
  if (old == nullptr) return R::kInvalidHandle;
  while (!old->items.empty() && impl.Run(1) != 0) {
  }
  if (!old->items.empty())
    impl.Find("a stream is destroyed that cannot run: " + impl.WaitsFor(*old));
  std::erase_if(impl.streams, [old](const auto &each) { return each.get() == old; });
  return R::kSuccess;
}
R StreamWaitEvent(Stream stream, Event event, unsigned) {
  FakeItem item;
  item.kind = FakeItem::kWaitEvent;
  {
    Impl &impl = Impl::Get();
    MutexLock lock(&impl.mu);
    FakeEvent *of = impl.Of(event);
    if (of == nullptr) return R::kInvalidHandle;
    item.record = of->latest;
  }
  return Enqueue(stream, std::move(item));
}
R StreamWaitValue32(Stream stream, DevicePtr address, uint32_t value, unsigned flags) {
  if (flags != kWaitValueGreaterEqual) return R::kInvalidValue;
  FakeItem item;
  item.kind = FakeItem::kWaitValue;
  item.flag = reinterpret_cast<const uint32_t *>(address);
  item.value = value;
  return Enqueue(stream, std::move(item));
}
using Recorded = std::shared_ptr<FakeGraph>;
R StreamBeginCapture(Stream stream, int) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  FakeStream *of = impl.Of(stream);
  if (of == nullptr || of->recording != nullptr) return R::kInvalidHandle;
  of->recording = std::make_shared<FakeGraph>();
  return R::kSuccess;
}
R StreamEndCapture(Stream stream, Graph *graph) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  FakeStream *of = impl.Of(stream);
  if (of == nullptr || of->recording == nullptr) return R::kInvalidHandle;
  *graph = reinterpret_cast<Graph>(new Recorded(std::exchange(of->recording, nullptr)));
  ++impl.graphs;
  return R::kSuccess;
}
R GraphInstantiate(GraphExec *executable, Graph graph, unsigned long long) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  *executable = reinterpret_cast<GraphExec>(new Recorded(*reinterpret_cast<Recorded *>(graph)));
  ++impl.graphs;
  return R::kSuccess;
}
R GraphLaunch(GraphExec executable, Stream stream) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  FakeStream *of = impl.Of(stream);
  if (of == nullptr || of->recording != nullptr) return R::kInvalidHandle;
  for (const FakeItem &item : (*reinterpret_cast<Recorded *>(executable))->items) {
    of->items.push_back(item);
    of->items.back().earliest = ThisThread().earliest;
  }
  impl.Run(impl.Draw(3));
  return R::kSuccess;
}
R GraphUpload(GraphExec, Stream stream) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  return impl.Of(stream) == nullptr ? R::kInvalidHandle : R::kSuccess;
}
R Forget(void *graph) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  delete static_cast<Recorded *>(graph);
  --impl.graphs;
  return R::kSuccess;
}
R GraphDestroy(Graph graph) { return Forget(graph); }
R GraphExecDestroy(GraphExec executable) { return Forget(executable); }
R EventCreate(Event *event, unsigned flags) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  impl.events.push_back(std::make_unique<FakeEvent>());
  impl.events.back()->timing = (flags & kEventDisableTiming) == 0;
  *event = reinterpret_cast<Event>(impl.events.back().get());
  return R::kSuccess;
}
R EventDestroy(Event event) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  return std::erase_if(impl.events,
                       [event](const auto &each) {
                         return reinterpret_cast<Event>(each.get()) == event;
                       }) == 1
             ? R::kSuccess
             : R::kInvalidHandle;
}
R EventRecord(Event event, Stream stream) {
  FakeItem item;
  item.kind = FakeItem::kRecord;
  item.record = std::make_shared<FakeRecord>();
  {
    Impl &impl = Impl::Get();
    MutexLock lock(&impl.mu);
    FakeEvent *of = impl.Of(event);
    if (of == nullptr) return R::kInvalidHandle;
    item.record->timing = of->timing;
    of->latest = item.record;
  }
  return Enqueue(stream, std::move(item));
}
R EventQuery(Event event) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  FakeEvent *of = impl.Of(event);
  if (of == nullptr) return R::kInvalidHandle;
  if (of->latest == nullptr) return R::kSuccess;
  if (!of->latest->done) impl.Run(1 + impl.Draw(3));
  if (!of->latest->done) return R::kNotReady;
  impl.seen = std::max(impl.seen, of->latest->at);
  const int64_t lane = ThisThread().lane;
  if (lane >= 0) impl.hosts[uint32_t(lane)].Merge(of->latest->clock);
  return R::kSuccess;
}
R EventElapsedTime(float *milliseconds, Event begin, Event end) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const FakeEvent *from = impl.Of(begin), *to = impl.Of(end);
  for (const FakeEvent *event : {from, to})
    if (event == nullptr || !event->timing || event->latest == nullptr) return R::kInvalidHandle;
  if (!from->latest->done || !to->latest->done) return R::kNotReady;
  *milliseconds = float(to->latest->at - from->latest->at) / float(kFakeUnitsOfMs);
  return R::kSuccess;
}
R ModuleLoadData(Module *module, const void *image) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  impl.modules[++impl.modules_made] = static_cast<const char *>(image);
  *module = reinterpret_cast<Module>(impl.modules_made);
  return R::kSuccess;
}
R ModuleUnload(Module module) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  return impl.modules.erase(reinterpret_cast<uintptr_t>(module)) == 1 ? R::kSuccess
                                                                      : R::kInvalidHandle;
}
R ModuleGetFunction(Function *function, Module module, const char *name) {
  Impl &impl = Impl::Get();
  MutexLock lock(&impl.mu);
  const auto at = impl.modules.find(reinterpret_cast<uintptr_t>(module));
  if (at == impl.modules.end()) return R::kInvalidHandle;
  const FakeKernel *kernel = impl.kernels ? impl.kernels(at->second, name) : nullptr;
  if (kernel == nullptr) return R::kInvalidValue;
  *function = reinterpret_cast<Function>(const_cast<FakeKernel *>(kernel));
  return R::kSuccess;
}

}  // namespace

const DriverApi &FakeMachine::driver() {
  static const DriverApi api = {.GetErrorName = GetErrorName,
                                .GetErrorString = GetErrorString,
                                .Init = Init,
                                .DriverGetVersion = DriverGetVersion,
                                .DeviceGetCount = DeviceGetCount,
                                .DeviceGet = DeviceGet,
                                .DeviceGetName = DeviceGetName,
                                .DeviceGetAttribute = DeviceGetAttribute,
                                .PrimaryContextRetain = PrimaryContextRetain,
                                .PrimaryContextRelease = PrimaryContextRelease,
                                .ContextSetCurrent = ContextSetCurrent,
                                .MemAlloc = MemAlloc,
                                .MemFree = MemFree,
                                .MemHostAlloc = HostAlloc,
                                .MemFreeHost = HostFree,
                                .MemGetInfo = MemGetInfo,
                                .MemcpyAsync = MemcpyAsync,
                                .MemsetD8Async = MemsetD8Async,
                                .StreamCreateWithPriority = StreamCreate,
                                .StreamDestroy = StreamDestroy,
                                .StreamWaitEvent = StreamWaitEvent,
                                .StreamWaitValue32 = StreamWaitValue32,
                                .StreamBeginCapture = StreamBeginCapture,
                                .StreamEndCapture = StreamEndCapture,
                                .GraphInstantiate = GraphInstantiate,
                                .GraphUpload = GraphUpload,
                                .GraphLaunch = GraphLaunch,
                                .GraphDestroy = GraphDestroy,
                                .GraphExecDestroy = GraphExecDestroy,
                                .EventCreate = EventCreate,
                                .EventDestroy = EventDestroy,
                                .EventRecord = EventRecord,
                                .EventQuery = EventQuery,
                                .EventElapsedTime = EventElapsedTime,
                                .ModuleLoadData = ModuleLoadData,
                                .ModuleUnload = ModuleUnload,
                                .ModuleGetFunction = ModuleGetFunction,
                                .LaunchKernel = LaunchKernel};
  return api;
}

}  // namespace commsched::runtime::cuda
