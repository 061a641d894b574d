// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a DeviceExecutor makes before the first call, and gives back after the last one.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/cuda/device_executor.h"
#include "runtime/cuda/device_libraries.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/machine_check.h"
#include "runtime/cuda/memory_needs.h"

namespace commsched::runtime::cuda {
namespace {

// What is asked of the addresses of library kernels at most.
constexpr uint32_t kMostAlignment = 256;

bool HasCollectives(const FunctionProgram &function) {
  return std::any_of(
      function.instructions.begin(), function.instructions.end(),
      [](const InstructionProgram &i) { return i.communicate.nccl.has_value(); });
}

}  // namespace

absl::Status DeviceExecutor::Prepare() {
  if (program_->cuda == nullptr)
    return absl::InvalidArgumentError("the plan is not for CUDA devices");
  if (absl::Status s = CheckDevice(); !s.ok()) return s;
  if (absl::Status s = MakeFunctions(); !s.ok()) return s;
  if (absl::Status s = AllocateMemory(); !s.ok()) return s;
  if (absl::Status s = LoadModule(); !s.ok()) return s;
  for (size_t f = 0; f < functions_.size(); ++f) {
    if (absl::Status s = PrepareSteps(&functions_[f], program_->functions[f]); !s.ok()) return s;
  }
  if (absl::Status s = PrepareLibrary(); !s.ok()) return s;
  if (absl::Status s = StartNccl(); !s.ok()) return s;
  RecordGraphs();
  CountCommands();
  window_ = std::make_unique<IssueWindow>(driver_);
  times_ = std::make_unique<OpTimes>(driver_, options_.deadline, options_.now);
  engine_ = std::make_unique<ProgressEngine>(
      program_->rank, options_.transport.get(), options_.servers.get(), &program_->servers,
      static_cast<ProgressEngine::Host *>(this), options_.trace, options_.deadline);
  if (options_.failures != nullptr)
    options_.failures->Attach(
        [this](int peer, const absl::Status &why) { engine_->PeerFailed(peer, why); });
  moved_ = Clock::now();
  return absl::OkStatus();
}

absl::Status DeviceExecutor::CheckDevice() {
  if (absl::Status s = Check(driver_.DeviceGet(&device_, options_.device), "cuDeviceGet"); !s.ok())
    return absl::NotFoundError(
        absl::StrCat("there is no CUDA device ", options_.device, ": ", s.message()));
  if (absl::Status s = CheckArchitecture(driver_, options_.device, program_->cuda->architecture);
      !s.ok())
    return s;
  if (absl::Status s = Check(driver_.PrimaryContextRetain(&context_, device_),
                             "cuDevicePrimaryCtxRetain");
      !s.ok())
    return s;
  retained_ = true;
  return Check(driver_.ContextSetCurrent(context_), "cuCtxSetCurrent");
}

absl::Status DeviceExecutor::MakeFunctions() {
  slots_ = PlaceSlots(*program_);
  current_.assign(program_->slots.size(), 0);
  functions_.resize(program_->functions.size());
  for (size_t f = 0; f < functions_.size(); ++f) {
    OfFunction &function = functions_[f];
    absl::StatusOr<PlanGraph> graph = MakePlanGraph(*program_, program_->functions[f], slots_);
    if (!graph.ok()) return graph.status();
    function.graph = *std::move(graph);
    if (options_.probe != nullptr) options_.probe->Made(int(f), &function.graph);
    absl::StatusOr<IssuePlan> plan = PlanIssue(function.graph.graph);
    if (!plan.ok()) return plan.status();
    function.plan = *std::move(plan);
    if (options_.probe != nullptr) options_.probe->Planned(int(f), function.graph, &function.plan);
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::AllocateMemory() {
  MemoryNeeds needs;
  needs.slots = AllocatedBytes(slots_.bytes);
  LibraryUse library;
  for (size_t f = 0; f < functions_.size(); ++f) {
    needs.Add(functions_[f].graph);
    library.Add(*program_, program_->functions[f], functions_[f].graph);
  }
  needs.workspaces = library.WorkspaceBytes(*program_);
  const uint64_t needed = needs.device();
  size_t free = 0, total = 0;
  if (absl::Status s = Check(driver_.MemGetInfo(&free, &total), "cuMemGetInfo"); !s.ok()) return s;
  if (needed > free)
    return absl::ResourceExhaustedError(
        absl::StrCat("the plan needs ", needed, " bytes of CUDA device ", options_.device,
                     ", which has ", free, " of ", total, " bytes free"));
  const bool collectives = std::any_of(program_->functions.begin(), program_->functions.end(),
                                       HasCollectives);
  memory_ = std::make_unique<DeviceMemory>(driver_, collectives ? options_.nccl : nullptr);
  const auto allocate = [&](uint64_t bytes, uint32_t memory, const std::string &what,
                            DevicePtr *result) {
    absl::StatusOr<DevicePtr> made = IsPinned(memory) ? memory_->AllocatePinned(bytes, what)
                                                      : memory_->Allocate(bytes, what);
    if (made.ok()) *result = *made;
    return made.status();
  };
  DevicePtr slots = 0;
  if (absl::Status s = allocate(slots_.bytes, kSlotMemory, "slots", &slots); !s.ok()) return s;
  for (size_t f = 0; f < functions_.size(); ++f) {
    OfFunction &function = functions_[f];
    for (uint32_t m = 0; m < kMemoryKinds; ++m) {
      function.memory[m] = slots;
      if (m == kSlotMemory) continue;
      if (absl::Status s =
              allocate(function.graph.bytes[m], m,
                       absl::StrCat(IsPinned(m) ? "pinned memory" : "memory", " of function @",
                                    program_->functions[f].name),
                       &function.memory[m]);
          !s.ok())
        return s;
    }
  }
  if (absl::Status s = allocate(kBounceBytes, kHostArenaMemory, "pinned memory for slots", &bounce_);
      !s.ok())
    return s;
  bounce_bytes_ = kBounceBytes;
  device_bytes_ = memory_->device_bytes();
  pinned_bytes_ = memory_->pinned_bytes();

  if (absl::Status s = Check(
          driver_.StreamCreateWithPriority(&service_, kStreamNonBlocking, 0),
          "cuStreamCreateWithPriority");
      !s.ok())
    return s;
  if (absl::Status s = Check(driver_.EventCreate(&service_event_, kEventDisableTiming),
                             "cuEventCreate");
      !s.ok())
    return s;
  // All values are zero to begin with, as those of the host.
  if (slots_.bytes != 0) {
    if (absl::Status s =
            Check(driver_.MemsetD8Async(slots, 0, slots_.bytes, service_), "cuMemsetD8Async");
        !s.ok())
      return s;
  }
  const int32_t worker = program_->worker;
  std::memcpy(reinterpret_cast<void *>(bounce_), &worker, sizeof(worker));
  for (size_t f = 0; f < functions_.size(); ++f) {
    if (!program_->functions[f].reads_index) continue;
    if (absl::Status s = Check(driver_.MemcpyAsync(functions_[f].memory[kIndexMemory], bounce_,
                                                   sizeof(worker), service_),
                               "cuMemcpyAsync");
        !s.ok())
      return s;
  }
  fence_ = true;
  return ServiceWait();
}

absl::Status DeviceExecutor::LoadModule() {
  if (absl::Status s = Check(driver_.ModuleLoadData(&module_, program_->cuda->ptx.c_str()),
                             "cuModuleLoadData");
      !s.ok()) {
    module_ = nullptr;
    return s;
  }
  for (const plan::CudaFragment &fragment : program_->cuda->fragments) {
    for (const auto &step : fragment.steps) {
      const auto *launch = std::get_if<plan::CudaLaunch>(&step);
      if (launch == nullptr || kernels_.count(launch->kernel) != 0) continue;
      if (absl::Status s =
              Check(driver_.ModuleGetFunction(&kernels_[launch->kernel], module_,
                                              launch->kernel.c_str()),
                    "cuModuleGetFunction");
          !s.ok())
        return absl::Status(s.code(), absl::StrCat("kernel \"", launch->kernel, "\": ", s.message()));
      // Else it is loaded when it is launched first, for which a driver may wait for all streams, of which
      // some may be waiting for the host.
      if (driver_.FuncLoad == nullptr) continue;
      if (absl::Status s = Check(driver_.FuncLoad(kernels_[launch->kernel]), "cuFuncLoad"); !s.ok())
        return absl::Status(s.code(), absl::StrCat("kernel \"", launch->kernel, "\": ", s.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::PrepareSteps(OfFunction *function, const FunctionProgram &program) {
  function->lanes = std::make_unique<HostLanes>(function->graph.graph, function->plan);
  absl::StatusOr<std::unique_ptr<StepIssuer>> issuer =
      StepIssuer::Create(driver_, function->graph.graph, function->plan);
  if (!issuer.ok()) return issuer.status();
  function->issuer = *std::move(issuer);
  function->steps.resize(function->graph.work.size());
  for (size_t op = 0; op < function->graph.work.size(); ++op) {
    const DeviceOp &work = function->graph.work[op];
    if (work.kind != DeviceOp::kLaunch) continue;
    const plan::CudaFragment &fragment =
        program_->cuda->fragments[program.instructions[work.instruction].launch.fragment];
    const auto addresses = [&](const std::vector<plan::CudaAddress> &of) {
      std::vector<DevicePtr> result;
      for (const plan::CudaAddress &address : of) {
        const size_t place = address.base == plan::CudaAddress::Base::kInput ? address.index
                             : address.base == plan::CudaAddress::Base::kOutput
                                 ? fragment.inputs + address.index
                                 : work.places.size() - 1;
        result.push_back(At(*function, work.places[place]) + address.offset);
      }
      return result;
    };
    for (const auto &step : fragment.steps) {
      if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
        function->steps[op].push_back(KernelStep{kernels_[launch->kernel], launch->grid,
                                                 launch->block, launch->shared_bytes,
                                                 addresses(launch->arguments)});
      } else {
        const auto &call = std::get<plan::CudaLibraryCall>(step);
        function->steps[op].push_back(LibraryStep{call.kernel, addresses(call.operands)});
      }
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::PrepareLibrary() {
  std::vector<LibraryKernel> kernels;
  for (const ops::KernelDesc &kernel : program_->kernels) kernels.push_back({kernel, {}});
  LibraryUse use;
  for (size_t f = 0; f < functions_.size(); ++f) {
    use.Add(*program_, program_->functions[f], functions_[f].graph);
    for (const std::vector<Step> &steps : functions_[f].steps) {
      for (const Step &step : steps) {
        const auto *call = std::get_if<LibraryStep>(&step);
        if (call == nullptr) continue;
        std::vector<uint32_t> &alignments = kernels[call->kernel].alignments;
        alignments.resize(call->operands.size(), kMostAlignment);
        for (size_t i = 0; i < alignments.size(); ++i) {
          const uint64_t bits = call->operands[i] | alignments[i];
          alignments[i] = uint32_t(bits & -bits);
        }
      }
    }
  }
  if (use.streams == 0) return absl::OkStatus();
  if (options_.library == nullptr)
    options_.library = MakeDeviceLibraries(driver_, options_.libraries);
  if (absl::Status s = options_.library->Prepare(kernels, use.streams); !s.ok()) return s;
  device_bytes_ += options_.library->device_bytes();
  return absl::OkStatus();
}

absl::Status DeviceExecutor::StartNccl() {
  if (std::none_of(program_->functions.begin(), program_->functions.end(), HasCollectives))
    return absl::OkStatus();
  if (options_.nccl == nullptr)
    return absl::FailedPreconditionError("the plan has collectives of NCCL, and there is no NCCL");
  NcclLaneOptions options;
  options.driver = &driver_;
  options.nccl = options_.nccl;
  options.context = context_;
  options.rank = program_->rank;
  options.ranks = program_->nodes;
  options.id = options_.id;
  options.deadline = options_.deadline;
  options.now = options_.now;
  options.let_go = [this] { ReleaseFlags(); };
  if (slots_.bytes != 0)
    options.windows.push_back(
        {reinterpret_cast<void *>(functions_[0].memory[kSlotMemory]), slots_.bytes});
  for (size_t f = 0; f < functions_.size(); ++f) {
    if (const uint64_t bytes = functions_[f].graph.bytes[kArenaMemory];
        bytes != 0 && HasCollectives(program_->functions[f]))
      options.windows.push_back(
          {reinterpret_cast<void *>(functions_[f].memory[kArenaMemory]), bytes});
  }
  absl::StatusOr<std::unique_ptr<NcclLane>> lane = NcclLane::Create(std::move(options));
  if (!lane.ok()) return lane.status();
  nccl_ = *std::move(lane);
  return absl::OkStatus();
}

void DeviceExecutor::ReleaseFlags() {
  for (OfFunction &function : functions_) {
    if (function.issuer != nullptr) function.issuer->Release();
  }
}

void DeviceExecutor::LetGo() {
  const Clock::time_point deadline = After(options_.deadline);
  ReleaseFlags();
  for (OfFunction &function : functions_) {
    if (function.issuer == nullptr) continue;
    for (uint32_t lane = 0; lane < function.graph.graph.lanes.size(); ++lane) {
      if (function.graph.graph.lanes[lane].host()) continue;
      if (driver_.EventRecord(service_event_, function.issuer->stream(lane)) !=
          DriverResult::kSuccess)
        continue;
      while (driver_.EventQuery(service_event_) == DriverResult::kNotReady &&
             Clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

void DeviceExecutor::TearDown() {
  absl::Status failed;
  {
    MutexLock lock(&mu_);
    failed = Unshared(status_);
    if (status_.ok()) status_ = absl::CancelledError("the executor is gone");
  }
  if (options_.failures != nullptr) options_.failures->Attach(nullptr);
  if (options_.transport != nullptr) {
    if (!failed.ok()) options_.transport->Abort(failed);
    options_.transport->Close();
  }
  if (options_.servers != nullptr) {
    if (!failed.ok()) options_.servers->Abort(failed);
    options_.servers->Close();
  }
  engine_.reset();
  const bool busy = !failed.ok() || !in_flight_.empty();
  if (nccl_ != nullptr && busy)
    nccl_->Fail(failed.ok() ? absl::CancelledError("the executor is gone") : failed);
  nccl_.reset();
  if (busy) LetGo();
  in_flight_.clear();
  entering_.reset();
  window_.reset();
  times_.reset();
  functions_.clear();
  options_.library.reset();
  if (service_event_ != nullptr) driver_.EventDestroy(service_event_);
  if (service_ != nullptr) driver_.StreamDestroy(service_);
  if (module_ != nullptr) driver_.ModuleUnload(module_);
  memory_.reset();
  if (retained_) driver_.PrimaryContextRelease(device_);
}

}  // namespace commsched::runtime::cuda
