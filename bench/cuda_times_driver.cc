// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_times_driver PLAN [--repeats N] [--below BATCH=K]...: how long each kernel of a step takes on a CUDA
// device, a library's as well. The launches of the step run in the order of the plan, on memory that is placed
// as the runtime places it, with drawn slots and batches (integers from 0 to below K, by default 2). Where a
// fragment comes first each of its steps is timed, behind those before it: it runs N times (by default
// 20; less often if it takes long), all enqueued before the device may begin, so the time is the device's. What
// lies in a cache is still there then: in a step a kernel may take longer. What it may have written is put back
// then, for which there must be as much memory again, and it runs once. Communication is left out.
//
// A JSON object for each step of a fragment, those that take most of a step first: "us" of one run, "count" of
// runs in a step, "ms" of both; "bytes" of the fragment's inputs and outputs that it names, each once, beside
// "scratch", about as many of scratch memory: to the next address that the fragment names; of a product "gflop". Last
// {"sums"}: "ms" by kind and in all, "pass_ms" of all launches, enqueued without waiting, and "enqueue_ms" of the host
// for that: if these are equal, the host is too slow.
// Ends with 77, and one line that says why, where there is no device.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "bench/cuda_bench.h"
#include "bench/cuda_placed_step.h"
#include "runtime/cuda/issue_window.h"
#include "runtime/cuda/matmul_layout.h"

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

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Row {
  std::string text;  // of what is known beside the times
  const char *kind = "kernels";
  uint32_t count = 0;
  double us = 0;
  double ms() const { return us * count * 1e-3; }
};

const std::vector<plan::CudaAddress> &AddressesIn(const plan::CudaFragment &fragment, size_t step) {
  const auto *kernel = std::get_if<plan::CudaLaunch>(&fragment.steps[step]);
  return kernel != nullptr ? kernel->arguments : std::get<plan::CudaLibraryCall>(fragment.steps[step]).operands;
}

// Offsets of scratch memory that the fragment names, and its end: from one to the next is what is there, about.
std::set<uint64_t> ScratchOf(const plan::CudaFragment &fragment) {
  std::set<uint64_t> offsets = {fragment.scratch_bytes};
  for (size_t s = 0; s < fragment.steps.size(); ++s) {
    for (const plan::CudaAddress &address : AddressesIn(fragment, s))
      if (address.base == plan::CudaAddress::Base::kScratch) offsets.insert(address.offset);
  }
  return offsets;
}

// Bytes of device memory.
struct Place {
  cuda::DevicePtr at = 0;
  uint64_t bytes = 0;
};

// Where a step may write: outputs that it names, scratch memory from what it names on.
std::vector<Place> WrittenBy(const FunctionProgram &function, const PlacedStep::Launch &launched, size_t number) {
  const plan::CudaFragment &fragment = *launched.fragment;
  std::set<uint32_t> outputs;
  uint64_t scratch = fragment.scratch_bytes;
  for (const plan::CudaAddress &address : AddressesIn(fragment, number)) {
    if (address.base == plan::CudaAddress::Base::kScratch) scratch = std::min(scratch, address.offset);
    if (address.base == plan::CudaAddress::Base::kOutput) outputs.insert(fragment.inputs + address.index);
  }
  std::vector<Place> written;
  for (uint32_t i : outputs)
    written.push_back({launched.places[i], function.buffers[launched.launch->operands[i]].type.bytes});
  written.push_back({launched.places.back() + scratch, fragment.scratch_bytes - scratch});
  return written;
}

class Times {
 public:
  Times(CudaBench &bench, const Program &program, int repeats,
        const std::map<std::string, uint32_t> &below)
      : bench_(bench), program_(program), repeats_(repeats), step_(bench, program, below), gate_(step_.MakeFlag()) {
    uint64_t most = 0;
    for (const PlacedStep::Launch &launched : step_.launches()) {
      for (size_t s = 0; s < launched.steps.size(); ++s) {
        uint64_t bytes = 0;
        for (const Place &place : WrittenBy(step_.function(), launched, s)) bytes += place.bytes;
        most = std::max(most, bytes);
      }
    }
    kept_ = bench_.Allocate(most);
    __atomic_store_n(gate_, 0, __ATOMIC_RELEASE);
    nothing_ = 1;
    for (int i = 0; i < 10; ++i) nothing_ = std::min(nothing_, Gated({}, 0));
  }
  ~Times() { bench_.Free(kept_); }
  Times(const Times &) = delete;

  void Run();

 private:
  // Of `count` runs, and what waiting for nothing takes.
  double Gated(const PlacedStep::Step &step, int count);
  double SecondsOf(const PlacedStep::Step &step);
  Row Describe(const PlacedStep::Launch &launched, size_t step, const std::set<uint64_t> &scratch) const;
  // Copies what is there to memory that nobody else uses, or back.
  void Keep(const std::vector<Place> &places, bool back);

  CudaBench &bench_;
  const Program &program_;
  const int repeats_;
  PlacedStep step_;
  uint32_t *const gate_;  // the device waits until it is as large as the last turn
  uint32_t turn_ = 0;
  double nothing_ = 0;  // what Gated takes without runs
  cuda::DevicePtr kept_ = 0;
};

void Times::Keep(const std::vector<Place> &places, bool back) {
  cuda::DevicePtr kept = kept_;
  for (const Place &place : places) {
    if (place.bytes == 0) continue;
    bench_.Check(bench_.driver().MemcpyAsync(back ? place.at : kept, back ? kept : place.at, place.bytes,
                                             bench_.stream()),
                 "cuMemcpyAsync");
    kept += place.bytes;
  }
}

double Times::Gated(const PlacedStep::Step &step, int count) {
  bench_.Check(
      bench_.driver().StreamWaitValue32(bench_.stream(), reinterpret_cast<cuda::DevicePtr>(gate_),
                                        ++turn_, cuda::kWaitValueGreaterEqual),
      "cuStreamWaitValue32");
  for (int i = 0; i < count; ++i) step_.Enqueue(step);
  bench_.RecordEvent();
  const Clock::time_point begin = Clock::now();
  __atomic_store_n(gate_, turn_, __ATOMIC_RELEASE);
  bench_.WaitForEvent(/*spin=*/true);
  return Since(begin);
}

double Times::SecondsOf(const PlacedStep::Step &step) {
  // What it is launched for the first time may wait for the stream: not behind the gate.
  step_.Enqueue(step);
  bench_.Wait();
  // Who enqueues more than a driver takes while nothing runs would wait for ever.
  const int room = int((cuda::kMostCommands - 2) / step_.Commands(step));
  if (room < 1) {
    double shortest = 1e9;
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point begin = Clock::now();
      step_.Enqueue(step);
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

Row Times::Describe(const PlacedStep::Launch &launched, size_t number, const std::set<uint64_t> &offsets) const {
  const plan::CudaFragment &fragment = *launched.fragment;
  const auto &step = fragment.steps[number];
  const auto *kernel = std::get_if<plan::CudaLaunch>(&step);
  const auto *call = std::get_if<plan::CudaLibraryCall>(&step);
  Row row;
  uint64_t bytes = 0, scratch = 0;
  std::set<uint32_t> operands;
  std::set<uint64_t> pieces;
  for (const plan::CudaAddress &address : AddressesIn(fragment, number)) {
    if (address.base == plan::CudaAddress::Base::kScratch) {
      const auto next = offsets.upper_bound(address.offset);
      if (pieces.insert(address.offset).second && next != offsets.end()) scratch += *next - address.offset;
      continue;
    }
    const uint32_t first = address.base == plan::CudaAddress::Base::kInput ? 0 : fragment.inputs;
    const uint32_t operand = launched.launch->operands[first + address.index];
    if (operands.insert(operand).second) bytes += step_.function().buffers[operand].type.bytes;
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
    if (product) {  // [..., m, k] by [..., k, n]
      double flops = 2.0 * double(description.operands[0].dims.back());
      for (int64_t dim : description.operands.back().dims) flops *= double(dim);
      row.text += ", \"gflop\": " + std::to_string(flops * 1e-9);
    }
  }
  row.text += ", \"bytes\": " + std::to_string(bytes) + ", \"scratch\": " + std::to_string(scratch);
  return row;
}

void Times::Run() {
  std::map<uint32_t, std::vector<Row>> rows;  // of each fragment
  size_t steps = 0;
  for (const PlacedStep::Launch &launched : step_.launches()) {
    bench_.set_where("fragment " + launched.fragment->symbol + ": ");
    auto [of, fresh] = rows.try_emplace(launched.launch->fragment);
    const std::set<uint64_t> offsets = fresh ? ScratchOf(*launched.fragment) : std::set<uint64_t>();
    for (size_t s = 0; s < launched.steps.size(); ++s) {
      if (fresh) {
        // As each of the steps behind it has to find what one run of this one makes.
        const std::vector<Place> written = WrittenBy(step_.function(), launched, s);
        Row row = Describe(launched, s, offsets);
        Keep(written, /*back=*/false);
        row.us = SecondsOf(launched.steps[s]) * 1e6;
        Keep(written, /*back=*/true);
        of->second.push_back(std::move(row));
      }
      step_.Enqueue(launched.steps[s]);
      ++of->second[s].count;
      ++steps;
    }
    bench_.Wait();
  }
  bench_.set_where("");
  double pass = 1e9, enqueued = 1e9;
  for (int i = 0; i < kPasses; ++i) {
    const Clock::time_point begin = Clock::now();
    for (const PlacedStep::Launch &launched : step_.launches())
      for (const PlacedStep::Step &step : launched.steps) step_.Enqueue(step);
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
      step_.launches().size(), pass * 1e3, enqueued * 1e3);
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
