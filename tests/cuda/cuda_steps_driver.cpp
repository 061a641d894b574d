// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trains with a plan for CUDA devices on a machine without one: each rank is a DeviceExecutor on a
// device of a FakeMachine, whose kernels are those of the plan's own module, compiled for the host,
// and whose accesses are what the kernels really touch. A line of JSON for each seed.
//
//   cuda_steps_driver MODULE PLAN INIT BATCH STEPS FIRST_SEED END_SEED [FAULT]
// MODULE: the level-2 module of the plan. FAULT: hang-op=NAME, hang-call=N, fail-call=RANK:N,
// lose-call=RANK:N, lose-rank=RANK:STEP, lose-server=SERVER:STEP: what fails, with a deadline of five
// seconds; or plant-wait=RANK:SEED, plant-range=... and the others of plan_faults.h.

#include "runtime/data/dataset.h"
#include "runtime/data/tensor_file.h"
#include "tests/cuda/CompileKernels.h"
#include "tests/cuda/FakeLibrary.h"
#include "tests/cuda/RememberedWorks.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/plan_faults.h"

#include "llvm/Support/MemoryBuffer.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <cstdio>
#include <mutex>

namespace commsched::cudatest {
namespace {

using namespace runtime::cuda;
using runtime::BatchRows;
using runtime::Dataset;
using runtime::PlanImage;
using runtime::Program;
using runtime::TensorFile;

[[noreturn]] void giveUp(const std::string &why) {
  std::fprintf(stderr, "cuda_steps_driver: %s\n", why.c_str());
  std::exit(1);
}

std::string quoted(const std::string &text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", " "}}), "\"");
}

/// The kernels of a module, for FakeMachine.
class Kernels {
public:
  Kernels(const std::string &text, const plan::CudaModule &expected) {
    std::string error;
    auto compiler = lowerPlanKernels(context, text, expected, error);
    if (!compiler)
      giveUp(error);
    host = compileKernels(compiler->getModule(), /*traced=*/true, error);
    if (!host)
      giveUp(error);
  }

  const FakeKernel *find(const std::string &name) {
    std::lock_guard<std::mutex> lock(mu);
    if (!host->has(name))
      return nullptr;
    auto [at, fresh] = known.try_emplace(name);
    if (fresh)
      at->second = {name, host->parameters(name), [this](const FakeLaunch &launch) { return workOf(launch); }};
    return &at->second;
  }

  uint64_t seed = 0;
  std::string fault; // the first

private:
  FakeWork workOf(const FakeLaunch &launch) {
    FakeWork work;
    auto touched = std::make_shared<Touched>();
    work.same = absl::StrCat(launch.kernel, " ", launch.grid, " ", launch.block, " ", launch.shared_bytes);
    for (const std::byte *pointer : launch.pointers)
      work.bases.push_back(reinterpret_cast<uintptr_t>(pointer));
    work.body = [this, launch, touched] {
      std::vector<void *> arguments(launch.pointers.begin(), launch.pointers.end());
      std::string found = host->run(launch.kernel, {launch.grid, launch.block, launch.shared_bytes},
                                    arguments.data(), seed++, touched.get());
      if (fault.empty())
        fault = found;
    };
    work.used = [touched](FakeWork *used) {
      for (size_t i = 0; i < touched->reads.size(); ++i) {
        for (bool write : {false, true}) {
          const Touched::Range &range = (write ? touched->writes : touched->reads)[i];
          if (range.first == range.second)
            continue;
          (write ? used->writes : used->reads)
              .push_back({reinterpret_cast<uintptr_t>(range.first), reinterpret_cast<uintptr_t>(range.second)});
          (write ? used->written_from : used->read_from).push_back(i);
        }
      }
    };
    return work;
  }

  Context context;
  std::unique_ptr<HostKernels> host;
  std::mutex mu;
  std::map<std::string, FakeKernel> known;
};

struct Fault {
  std::string kind, name;
  uint64_t rank = 0, number = 0;

  static Fault of(const std::string &text) {
    std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    Fault fault{parts.first, parts.second};
    std::vector<std::string> numbers = absl::StrSplit(parts.second, ':');
    (void)absl::SimpleAtoi(numbers.front(), &fault.rank);
    (void)absl::SimpleAtoi(numbers.back(), &fault.number);
    return fault;
  }
  /// One in what a rank does, not in what happens to it.
  std::optional<PlanFault> planted() const {
    return absl::StartsWith(kind, "plant-") ? PlanFaultOf(kind.substr(6)) : std::nullopt;
  }
  void arm(FakeMachine &machine) const {
    if (planted())
      return;
    if (kind == "hang-op")
      machine.HangOp(name);
    else if (kind == "hang-call")
      machine.HangAt(number);
    else if (kind == "fail-call")
      machine.FailAt(int(rank), number, NcclResult::kSystemError);
    else if (kind == "lose-call")
      machine.LoseAt(int(rank), number, /*told=*/true);
    else if (!kind.empty() && kind != "lose-rank" && kind != "lose-server")
      giveUp("unknown fault: " + kind);
  }
};

uint64_t digest(uint64_t hash, absl::Span<const std::byte> bytes) {
  for (std::byte byte : bytes)
    hash = (hash ^ uint64_t(byte)) * 0x100000001b3;
  return hash;
}

void run(std::shared_ptr<const PlanImage> image, Kernels &kernels, RememberedWorks *remembered, const TensorFile &initial,
         Dataset &data, uint64_t steps, uint64_t seed, const Fault &fault) {
  kernels.seed = seed * 1000003;
  DeviceJobOptions options;
  options.seed = seed;
  options.kernels = [&](const std::string &, const std::string &name) { return kernels.find(name); };
  options.library = [](FakeMachine &machine) { return std::make_unique<FakeLibrary>(machine); };
  options.deadline = fault.kind.empty() || fault.planted() ? absl::Minutes(10) : absl::Seconds(5);
  auto harmful = std::make_shared<std::optional<bool>>();
  options.prepare = [&](int rank, FakeProbe &probe) {
    if (fault.planted() && uint64_t(rank) == fault.rank)
      Plant(probe, *fault.planted(), fault.number, harmful);
  };
  DeviceJob job(image, options);
  if (!job.status.ok())
    giveUp(std::string(job.status.message()));
  fault.arm(job.machine());
  if (remembered)
    job.machine().SetRunner([remembered](FakeWork &work) { remembered->run(work); });
  for (const runtime::ValueInfo &value : image->values()) {
    if (value.parts.empty())
      continue;
    auto found = initial.Find(value.name, value.type);
    for (int k = 0; k < job.servers() && found.ok(); ++k)
      if (absl::Status set = job.server(k).SetWhole(value.name, (*found)->data); !set.ok())
        giveUp(std::string(set.message()));
    if (!found.ok())
      giveUp(std::string(found.status().message()));
  }
  if (absl::Status joined = job.JoinServers(); !joined.ok())
    giveUp(std::string(joined.message()));
  const Program &program = job.rank(0).program();
  const runtime::FunctionProgram &step = program.functions[0];
  // All batches before: a data set is not for several threads.
  std::vector<std::vector<BatchRows>> rows(size_t(job.ranks()));
  for (uint64_t i = 0; i < steps; ++i) {
    data.Seek(i);
    for (int r = 0; r < job.ranks(); ++r) {
      auto got = data.Rows(step, r, job.ranks());
      if (!got.ok())
        giveUp(std::string(got.status().message()));
      rows[size_t(r)].push_back(*std::move(got));
    }
  }
  std::mutex mu;
  std::vector<double> losses;
  std::vector<std::string> errors(size_t(job.ranks()));
  std::vector<uint64_t> digests(size_t(job.ranks()), 0xcbf29ce484222325);
  job.ForAll([&](int r) {
       auto all = [&]() -> absl::Status {
         DeviceExecutor &rank = job.rank(r);
         for (uint32_t s = 0; s < program.slots.size(); ++s) {
           const runtime::SlotInfo &slot = program.slots[s];
           if (slot.internal || slot.per_rank || !slot.held)
             continue;
           auto value = initial.Find(slot.name, slot.type);
           if (!value.ok())
             return value.status();
           if (absl::Status set = rank.SetSlot(s, (*value)->data); !set.ok())
             return set;
         }
         for (uint64_t i = 0; i < steps; ++i) {
           if (fault.kind == "lose-rank" && uint64_t(r) == fault.rank && i == fault.number) {
             rank.Cancel(absl::UnavailableError("lost"));
             return absl::UnavailableError("lost");
           }
           if (fault.kind == "lose-server" && r == 0 && i == fault.number)
             job.server(int(fault.rank)).Cancel(absl::UnavailableError("is lost"));
           if (auto call = rank.Enqueue(0, std::move(rows[size_t(r)][i])); !call.ok())
             return call.status();
         }
         for (uint64_t i = 0; i < steps; ++i) {
           auto metrics = rank.Metrics(i);
           if (!metrics.ok())
             return metrics.status();
           if (r == 0)
             losses.push_back(metrics->front());
         }
         for (uint32_t s = 0; s < program.slots.size(); ++s) {
           if (!program.slots[s].held)
             continue;
           std::vector<std::byte> value(program.slots[s].type.bytes);
           if (absl::Status got = rank.GetSlot(s, absl::MakeSpan(value)); !got.ok())
             return got;
           digests[size_t(r)] = digest(digests[size_t(r)], value);
         }
         return absl::OkStatus();
       };
       absl::Status status = all();
       errors[size_t(r)] = std::string(status.message());
       return status;
     })
      .IgnoreError();
  // What servers have, in the end.
  uint64_t served = 0xcbf29ce484222325;
  for (const runtime::ValueInfo &value : image->values()) {
    for (const runtime::ValueInfo::Part &part : value.parts) {
      std::vector<std::byte> bytes(part.bytes);
      if (job.server(part.server).GetSlot(part.slot, absl::MakeSpan(bytes)).ok())
        served = digest(served, bytes);
    }
  }
  DeviceJob::End end = job.Finish();
  if (!kernels.fault.empty())
    end.findings.push_back(kernels.fault);
  if (remembered && !remembered->fault().empty())
    end.findings.push_back(remembered->fault());
  auto list = [](const std::vector<std::string> &texts) {
    return absl::StrJoin(texts, ", ", [](std::string *out, const std::string &text) { *out += quoted(text); });
  };
  std::string line = absl::StrCat("{\"seed\": ", seed, ", \"losses\": [");
  for (size_t i = 0; i < losses.size(); ++i) {
    char number[40];
    std::snprintf(number, sizeof(number), "%s%.17g", i == 0 ? "" : ", ", losses[i]);
    line += number;
  }
  absl::StrAppend(&line, "], \"digests\": [", absl::StrJoin(digests, ", "), "], \"served\": ", served, ", \"errors\": [", list(errors),
                  "], \"findings\": [", list(end.findings), "], \"left\": ", end.left, ", \"harmful\": ",
                  !harmful->has_value() ? "null" : **harmful ? "true"
                                                             : "false",
                  "}");
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

} // namespace
} // namespace commsched::cudatest

int main(int argc, char **argv) {
  using namespace commsched::cudatest;
  if (argc != 8 && argc != 9)
    giveUp("needs MODULE PLAN INIT BATCH STEPS FIRST_SEED END_SEED [FAULT]");
  auto image = PlanImage::LoadFile(argv[2]);
  if (!image.ok())
    giveUp(std::string(image.status().message()));
  auto program = (*image)->ForRank(0);
  if (!program.ok())
    giveUp(std::string(program.status().message()));
  if ((*program)->cuda == nullptr)
    giveUp("the plan is not for CUDA devices");
  auto module = llvm::MemoryBuffer::getFile(argv[1]);
  if (!module)
    giveUp("cannot read the module: " + module.getError().message());
  Kernels kernels((*module)->getBuffer().str(), *(*program)->cuda);
  auto initial = commsched::runtime::ReadTensorFile(argv[3]);
  if (!initial.ok())
    giveUp(std::string(initial.status().message()));
  auto data = Dataset::Open(argv[4], (*program)->functions[0], (*image)->nodes(), {});
  if (!data.ok())
    giveUp(std::string(data.status().message()));
  Fault fault;
  if (argc == 9)
    fault = Fault::of(argv[8]);
  uint64_t steps = std::strtoull(argv[5], nullptr, 10), end = std::strtoull(argv[7], nullptr, 10);
  // Faults are rare, and what they do is not what was done.
  RememberedWorks works({});
  for (uint64_t seed = std::strtoull(argv[6], nullptr, 10); seed < end; ++seed)
    run(*image, kernels, fault.kind.empty() ? &works : nullptr, *initial, **data, steps, seed, fault);
  std::fprintf(stderr, "works: %llu done, %llu known before, %zu MiB kept\n", (unsigned long long)works.done(),
               (unsigned long long)works.known(), works.bytes() >> 20);
}
