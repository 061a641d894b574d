// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_times_driver PLAN [--repeats N] [--below BATCH=K]...: how long each kernel of a step takes on a CUDA
// device, a library's as well. The launches of the step run in the order of the plan, on memory that is placed
// as the runtime places it, with drawn slots and batches (integers from 0 to below K, by default 2). Where a
// fragment comes first each of its steps is timed: those before it run once, then it runs N times (by default
// 20; less often if it takes long), all enqueued before the device may begin, so the time is the device's. What
// lies in a cache is still there then: in a step a kernel may take longer. Communication is left out.
//
// A JSON object for each step of a fragment, those that take most of a step first: "us" of one run, "count" of
// runs in a step, "ms" of both; "bytes" of the fragment's inputs and outputs that it names, each once, beside
// "scratch", how many addresses are in scratch memory, of unknown size. Last {"sums"}: "ms" by kind and in all, "pass_ms" of all
// launches, enqueued without waiting, and "enqueue_ms" of the host for that: if these are equal, the host is too slow.
// Ends with 77, and one line that says why, where there is no device.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "bench/cuda_bench.h"
#include "runtime/cuda/device_libraries.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/issue_window.h"
#include "runtime/cuda/matmul_layout.h"
#include "runtime/cuda/plan_graph.h"

namespace {

using namespace commsched::runtime;
using namespace commsched::bench;
namespace cuda = commsched::runtime::cuda;
namespace ops = commsched::ops;
namespace plan = commsched::plan;
using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 2e-3;  // of the runs of a step, roughly
constexpr int kRounds = 3;             // of which the shortest counts
constexpr int kPasses = 5;
constexpr size_t kDrawnAtOnce = size_t{1} << 20;  // elements; repeated behind that

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Step {
  const plan::CudaLaunch *kernel = nullptr;  // null: a library's
  uint32_t library_kernel = 0;
  std::vector<cuda::DevicePtr> addresses;
};
struct Launched {
  const plan::CudaFragment *fragment = nullptr;
  const LaunchProgram *launch = nullptr;
  std::vector<cuda::DevicePtr> places;  // of the operands, then the scratch memory
  std::vector<Step> steps;
};
struct Row {
  std::string text;  // of what is known beside the times
  const char *kind = "kernels";
  uint32_t count = 0;
  double us = 0;
  double ms() const { return us * count * 1e-3; }
};

class Times {
 public:
  Times(CudaBench &bench, const Program &program, int repeats,
        const std::map<std::string, uint32_t> &below)
      : bench_(bench), program_(program), function_(StepOf(program)), repeats_(repeats), memory_(bench.driver(), nullptr) {
    bench.LoadModule(program.cuda->ptx);
    Place();
    Fill(below);
    PrepareLibraries();
    MakeGate();
  }
  ~Times() {
    libraries_.reset();
    bench_.UnloadModule();
  }

  void Run();

 private:
  static const FunctionProgram &StepOf(const Program &program) {
    for (const FunctionProgram &function : program.functions)
      if (function.is_step) return function;
    End("the plan has no step function");
  }
  template <typename T>
  T Value(absl::StatusOr<T> of) const {
    bench_.Check(of.status());
    return *std::move(of);
  }
  void Place();
  void Fill(const std::map<std::string, uint32_t> &below);
  void FillOne(ops::Element element, uint64_t bytes, uint32_t below, cuda::DevicePtr at);
  void PrepareLibraries();
  void MakeGate();
  void Enqueue(const Step &step);
  // Of `count` runs, about.
  double Gated(const Step &step, int count);
  double SecondsOf(const Step &step);
  Row Describe(const Launched &launched, size_t step) const;

  CudaBench &bench_;
  const Program &program_;
  const FunctionProgram &function_;
  const int repeats_;
  cuda::DeviceMemory memory_;
  cuda::SlotPlaces slots_;
  cuda::PlanGraph graph_;
  std::array<cuda::DevicePtr, cuda::kMemoryKinds> at_ = {};
  std::vector<Launched> launches_;
  std::unique_ptr<cuda::LibraryKernels> libraries_;
  uint32_t *gate_ = nullptr;  // the device waits until it is as large as the last turn
  uint32_t turn_ = 0;
  double nothing_ = 0;  // what Gated takes without runs
};

void Times::Place() {
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
    Launched launched;
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

void Times::FillOne(ops::Element element, uint64_t bytes, uint32_t below, cuda::DevicePtr at) {
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

void Times::Fill(const std::map<std::string, uint32_t> &below) {
  for (size_t s = 0; s < slots_.slots.size(); ++s) {
    if (!slots_.slots[s].held) continue;
    const TensorInfo &type = program_.slots[s].type;
    for (uint64_t copy : slots_.slots[s].copies)
      FillOne(type.element, type.bytes, 2, at_[cuda::kSlotMemory] + copy);
  }
  std::set<std::string> named;
  for (const Launched &launched : launches_) {
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

void Times::PrepareLibraries() {
  std::vector<cuda::LibraryKernel> kernels;
  for (const ops::KernelDesc &kernel : program_.kernels) kernels.push_back({kernel, {}});
  for (const Launched &launched : launches_) {
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

void Times::MakeGate() {
  gate_ = reinterpret_cast<uint32_t *>(Value(memory_.AllocatePinned(sizeof(uint32_t), "a flag")));
  __atomic_store_n(gate_, 0, __ATOMIC_RELEASE);
  nothing_ = 1;
  for (int i = 0; i < 10; ++i) nothing_ = std::min(nothing_, Gated({}, 0));
}

void Times::Enqueue(const Step &step) {
  if (step.kernel != nullptr)
    bench_.Launch(*step.kernel, step.addresses);
  else
    bench_.Check(libraries_->Enqueue(step.library_kernel, step.addresses, bench_.stream(), 0));
}

double Times::Gated(const Step &step, int count) {
  bench_.Check(
      bench_.driver().StreamWaitValue32(bench_.stream(), reinterpret_cast<cuda::DevicePtr>(gate_),
                                        ++turn_, cuda::kWaitValueGreaterEqual),
      "cuStreamWaitValue32");
  for (int i = 0; i < count; ++i) Enqueue(step);
  bench_.RecordEvent();
  const Clock::time_point begin = Clock::now();
  __atomic_store_n(gate_, turn_, __ATOMIC_RELEASE);
  bench_.WaitForEvent(/*spin=*/true);
  return Since(begin);
}

double Times::SecondsOf(const Step &step) {
  // What it is launched for the first time may wait for the stream: not behind the gate.
  Enqueue(step);
  bench_.Wait();
  // Who enqueues more than a driver takes while nothing runs would wait for ever.
  const uint32_t commands =
      step.kernel != nullptr ? 1 : std::max(1U, libraries_->most_commands(step.library_kernel));
  const int room = int((cuda::kMostCommands - 2) / commands);
  if (room < 1) {
    double shortest = 1e9;
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point begin = Clock::now();
      Enqueue(step);
      bench_.Wait(/*spin=*/true);
      shortest = std::min(shortest, Since(begin));
    }
    return shortest;
  }
  const double once = std::max(Gated(step, 1) - nothing_, 1e-7);
  const int count = std::max(1, std::min({repeats_, room, int(kMostSeconds / once)}));
  double shortest = once * count;
  for (int round = 0; round < (once > kMostSeconds ? 1 : kRounds); ++round)
    shortest = std::min(shortest, Gated(step, count) - nothing_);
  return std::max(shortest, 0.0) / count;
}

Row Times::Describe(const Launched &launched, size_t number) const {
  const plan::CudaFragment &fragment = *launched.fragment;
  const auto &step = fragment.steps[number];
  const auto *kernel = std::get_if<plan::CudaLaunch>(&step);
  const auto *call = std::get_if<plan::CudaLibraryCall>(&step);
  Row row;
  uint32_t scratch = 0;
  uint64_t bytes = 0;
  std::set<uint32_t> operands;
  for (const plan::CudaAddress &address : kernel != nullptr ? kernel->arguments : call->operands) {
    if (address.base == plan::CudaAddress::Base::kScratch) {
      ++scratch;
      continue;
    }
    const uint32_t first = address.base == plan::CudaAddress::Base::kInput ? 0 : fragment.inputs;
    const uint32_t operand = launched.launch->operands[first + address.index];
    if (operands.insert(operand).second) bytes += function_.buffers[operand].type.bytes;
  }
  const auto sizes = [](const std::array<uint32_t, 3> &of) {
    return "[" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " +
           std::to_string(of[2]) + "]";
  };
  row.text = "\"fragment\": \"" + fragment.symbol + "\", \"step\": " + std::to_string(number);
  if (kernel != nullptr) {
    row.text += ", \"kernel\": \"" + kernel->kernel + "\", \"grid\": " + sizes(kernel->grid) +
                ", \"block\": " + sizes(kernel->block);
  } else {
    const ops::KernelDesc &description = program_.kernels[call->kernel];
    const bool product = !absl::StartsWith(description.kind, "convolution");
    row.kind = product ? "products" : "convolutions";
    size_t calls = 1;
    if (product)
      if (const auto layout = cuda::LayoutOfMatmul(description); layout.ok())
        calls = layout->offsets.size();
    row.text += ", \"library\": \"" + cuda::DescribeKernel(description) +
                "\", \"calls\": " + std::to_string(calls);
  }
  row.text += ", \"bytes\": " + std::to_string(bytes) + ", \"scratch\": " + std::to_string(scratch);
  return row;
}

void Times::Run() {
  std::map<uint32_t, std::vector<Row>> rows;  // of each fragment
  size_t steps = 0;
  for (const Launched &launched : launches_) {
    bench_.set_where("fragment " + launched.fragment->symbol + ": ");
    auto [of, fresh] = rows.try_emplace(launched.launch->fragment);
    for (size_t s = 0; fresh && s < launched.steps.size(); ++s) {
      Row row = Describe(launched, s);
      for (size_t before = 0; before < s; ++before) Enqueue(launched.steps[before]);
      row.us = SecondsOf(launched.steps[s]) * 1e6;
      of->second.push_back(std::move(row));
    }
    for (size_t s = 0; s < launched.steps.size(); ++s) {
      Enqueue(launched.steps[s]);
      ++of->second[s].count;
      ++steps;
    }
    bench_.Wait();
  }
  bench_.set_where("");
  double pass = 1e9, enqueued = 1e9;
  for (int i = 0; i < kPasses; ++i) {
    const Clock::time_point begin = Clock::now();
    for (const Launched &launched : launches_)
      for (const Step &step : launched.steps) Enqueue(step);
    enqueued = std::min(enqueued, Since(begin));
    bench_.Wait(/*spin=*/true);
    pass = std::min(pass, Since(begin));
  }
  std::vector<Row> all;
  for (auto &[unused, of] : rows)
    for (Row &row : of) all.push_back(std::move(row));
  std::stable_sort(all.begin(), all.end(),
                   [](const Row &a, const Row &b) { return a.ms() > b.ms(); });
  std::map<std::string, double> sums = {{"kernels", 0}, {"products", 0}, {"convolutions", 0}};
  double sum = 0;
  for (const Row &row : all) {
    std::printf("{%s, \"count\": %u, \"us\": %.2f, \"ms\": %.4f}\n", row.text.c_str(), row.count,
                row.us, row.ms());
    sums[row.kind] += row.ms();
    sum += row.ms();
  }
  std::printf(
      "{\"sums\": {\"kernels\": %.4f, \"products\": %.4f, \"convolutions\": %.4f, \"all\": %.4f}, "
      "\"steps\": %zu, \"launches\": %zu, \"pass_ms\": %.4f, \"enqueue_ms\": %.4f}\n",
      sums["kernels"], sums["products"], sums["convolutions"], sum, steps,
      launches_.size(), pass * 1e3, enqueued * 1e3);
}

}  // namespace

int main(int argc, char **argv) {
  program_name = "cuda_times_driver";
  std::string path;
  std::map<std::string, uint32_t> below;
  int repeats = 20;
  bool right = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    const size_t equals = value.find('=');
    const auto number = [&](const std::string &text) {
      const long parsed = std::strtol(text.c_str(), nullptr, 10);
      right = right && parsed >= 1 && parsed <= INT32_MAX;
      return parsed;
    };
    if (word == "--repeats") {
      repeats = int(number(value));
      ++i;
    } else if (word == "--below") {
      right = right && equals != std::string::npos;
      if (right) below[value.substr(0, equals)] = uint32_t(number(value.substr(equals + 1)));
      ++i;
    } else {
      right = right && path.empty() && word[0] != '-';
      path = word;
    }
  }
  if (!right || path.empty())
    End("usage: cuda_times_driver PLAN [--repeats N] [--below BATCH=K]...", 2);
  CudaBench bench;
  const auto program = LoadCudaProgram(path);
  Times(bench, *program, repeats, below).Run();
}
