// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/cuda_placed_step.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <utility>
#include <variant>

#include "runtime/cuda/device_libraries.h"

namespace commsched::bench {

using namespace commsched::runtime;
namespace cuda = commsched::runtime::cuda;

namespace {

constexpr size_t kDrawnAtOnce = size_t{1} << 20;  // elements; repeated behind that

const FunctionProgram &StepOf(const Program &program) {
  for (const FunctionProgram &function : program.functions)
    if (function.is_step) return function;
  End("the plan has no step function");
}

}  // namespace

PlacedStep::PlacedStep(CudaBench &bench, const Program &program,
                       const std::map<std::string, uint32_t> &below)
    : bench_(bench), program_(program), function_(StepOf(program)), memory_(bench.driver(), nullptr) {
  bench_.LoadModule(program_.cuda->ptx);
  Place();
  Fill(below);
  PrepareLibraries();
}

PlacedStep::~PlacedStep() {
  libraries_.reset();
  bench_.UnloadModule();
}

void PlacedStep::Place() {
  slots_ = cuda::PlaceSlots(program_);
  graph_ = Value(cuda::MakePlanGraph(program_, function_, slots_));
  for (uint32_t m = 0; m < cuda::kMemoryKinds; ++m) {
    const uint64_t bytes = m == cuda::kSlotMemory ? slots_.bytes : graph_.bytes[m];
    at_[m] = Value(cuda::IsPinned(m) ? memory_.AllocatePinned(bytes, "pinned memory")
                                     : memory_.Allocate(bytes, "memory"));
    // What comes from elsewhere, other ranks and the step before, is zero.
    if (!cuda::IsPinned(m))
      bench_.Check(bench_.driver().MemsetD8Async(at_[m], 0, std::max<uint64_t>(bytes, 1),
                                                 bench_.stream()),
                   "cuMemsetD8Async");
  }
  for (uint32_t op = 0; op < graph_.end(0); ++op) {
    const cuda::DeviceOp &work = graph_.work[op];
    if (work.kind != cuda::DeviceOp::kLaunch) continue;
    Launch launched;
    launched.launch = &function_.instructions[work.instruction].launch;
    launched.fragment = &program_.cuda->fragments[launched.launch->fragment];
    for (const cuda::DevicePlace &place : work.places)
      launched.places.push_back(at_[place.memory] + place.offset);
    const auto addresses = [&](const std::vector<plan::CudaAddress> &of) {
      return AddressesOf(*launched.fragment, of, launched.places, launched.places.back());
    };
    for (const auto &step : launched.fragment->steps) {
      if (const auto *call = std::get_if<plan::CudaLibraryCall>(&step)) {
        launched.steps.push_back({nullptr, call->kernel, addresses(call->operands)});
      } else {
        const auto &kernel = std::get<plan::CudaLaunch>(step);
        launched.steps.push_back({&kernel, 0, addresses(kernel.arguments)});
      }
    }
    launches_.push_back(std::move(launched));
  }
  bench_.Wait();
}

void PlacedStep::FillOne(ops::Element element, uint64_t bytes, uint32_t below, cuda::DevicePtr at) {
  std::minstd_rand random(1);
  const size_t one = ops::ElementBytes(element);
  std::vector<std::byte> drawn(std::min<uint64_t>(bytes / one, kDrawnAtOnce) * one);
  Draw(element, drawn.data(), drawn.size() / one, random, below);
  bench_.Set(at, drawn);
  for (uint64_t done = drawn.size(); done != 0 && done < bytes;) {
    const uint64_t more = std::min(done, bytes - done);
    bench_.Check(bench_.driver().MemcpyAsync(at + done, at, more, bench_.stream()),
                 "cuMemcpyAsync");
    done += more;
  }
}

void PlacedStep::Fill(const std::map<std::string, uint32_t> &below) {
  for (size_t s = 0; s < slots_.slots.size(); ++s) {
    if (!slots_.slots[s].held) continue;
    const TensorInfo &type = program_.slots[s].type;
    for (uint64_t copy : slots_.slots[s].copies)
      FillOne(type.element, type.bytes, 2, at_[cuda::kSlotMemory] + copy);
  }
  std::set<std::string> named;
  for (const Launch &launched : launches_) {
    const std::vector<uint32_t> &operands = launched.launch->operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const BufferInfo &buffer = function_.buffers[operands[i]];
      if (buffer.kind != BufferInfo::kBatch) continue;
      const std::string &name = function_.batches[buffer.batch].name;
      if (!named.insert(name).second) continue;
      const auto found = below.find(name);
      FillOne(buffer.type.element, buffer.type.bytes, found == below.end() ? 2 : found->second,
              launched.places[i]);
    }
  }
  for (const auto &[name, unused] : below)
    if (named.count(name) == 0) End("--below: the step reads no batch \"" + name + "\"");
  bench_.Wait();
}

void PlacedStep::PrepareLibraries() {
  std::vector<cuda::LibraryKernel> kernels;
  for (const ops::KernelDesc &kernel : program_.kernels) kernels.push_back({kernel, {}});
  for (const Launch &launched : launches_) {
    for (const Step &step : launched.steps) {
      if (step.kernel != nullptr) continue;
      std::vector<uint32_t> &alignments = kernels[step.library_kernel].alignments;
      alignments.resize(step.addresses.size(), uint32_t(cuda::kDeviceAlignment));
      for (size_t i = 0; i < alignments.size(); ++i) {
        const uint64_t bits = step.addresses[i] | alignments[i];
        alignments[i] = uint32_t(bits & -bits);
      }
    }
  }
  libraries_ = cuda::MakeDeviceLibraries(bench_.driver(), cuda::Libraries::OfSystem());
  bench_.Check(libraries_->Prepare(kernels, 1));
}

void PlacedStep::Enqueue(const Step &step) {
  if (step.kernel != nullptr)
    bench_.Launch(*step.kernel, step.addresses);
  else
    bench_.Check(libraries_->Enqueue(step.library_kernel, step.addresses, bench_.stream(), 0));
}

uint32_t PlacedStep::Commands(const Step &step) const {
  return step.kernel != nullptr ? 1
                                : std::max(1U, libraries_->most_commands(step.library_kernel));
}

uint32_t *PlacedStep::MakeFlag() {
  return reinterpret_cast<uint32_t *>(Value(memory_.AllocatePinned(sizeof(uint32_t), "a flag")));
}

}  // namespace commsched::bench
