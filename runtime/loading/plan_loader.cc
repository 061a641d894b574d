// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/plan_loader.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plan/fnv1a.h"
#include "plan/plan_file.h"
#include "runtime/base/files.h"
#include "runtime/loading/exchange.h"
#include "runtime/loading/function_builder.h"
#include "runtime/loading/plan_cuda.h"
#include "runtime/loading/plan_rows.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {

uint64_t PlanImage::DigestOf(absl::string_view bytes) { return fnv1a({bytes.data(), bytes.size()}); }

absl::StatusOr<std::shared_ptr<const PlanImage>> PlanImage::Load(
    absl::string_view bytes) {
  auto image = std::make_shared<PlanImage>();
  // What it would print is in the error as well.
  google::protobuf::LogSilencer silence;
  std::string error =
      plan::Deserialize({bytes.data(), bytes.size()}, &image->plan_);
  if (!error.empty()) return absl::InvalidArgumentError(error);
  const plan::Plan &plan = image->plan_;
  image->digest_ = DigestOf(bytes);
  if (plan.cluster().nodes() == 0 || plan.cluster().nodes() > kMaxNodes)
    return absl::InvalidArgumentError(
        absl::StrCat("number of nodes must be 1 to ", kMaxNodes,
                     ", got: ", plan.cluster().nodes()));
  if (plan.cluster().devices() > kMaxDevices)
    return absl::InvalidArgumentError(
        absl::StrCat("devices of a node must be at most ", kMaxDevices,
                     ", got: ", plan.cluster().devices()));
  const plan::NcclTable &nccl = plan.cluster().nccl();
  bool ascends = nccl.bytes_size() == nccl.ns_size();
  for (int i = 0; ascends && i < nccl.bytes_size(); ++i)
    ascends = nccl.bytes(i) > (i == 0 ? 0 : nccl.bytes(i - 1)) &&
              nccl.ns(i) >= (i == 0 ? 0 : nccl.ns(i - 1));
  if (!ascends)
    return absl::InvalidArgumentError(
        "times of NCCL must be as many as sizes, which ascend, and not fall");
  if (plan.parameter_servers().servers_size() > int(kMaxServers))
    return absl::InvalidArgumentError(
        absl::StrCat("number of servers must be at most ", kMaxServers,
                     ", got: ", plan.parameter_servers().servers_size()));
  absl::StatusOr<PlanRoles> roles = ReadRoles(plan);
  if (!roles.ok()) return roles.status();
  image->roles_ = *std::move(roles);
  for (const plan::Function &function : plan.functions())
    for (const plan::Instruction &instruction : function.instructions())
      if (instruction.has_communicate())
        image->keys_.try_emplace(instruction.communicate().key(),
                                 uint32_t(image->keys_.size()));
  if (absl::Status s = CheckProcessor(plan.required_features()); !s.ok())
    return s;
  image->code_ = std::make_shared<CodeLibrary>();
  for (int i = 0; i < plan.objects_size(); ++i)
    if (absl::Status s =
            image->code_->Add(plan.objects(i).target(), plan.objects(i).elf());
        !s.ok())
      return absl::Status(s.code(),
                          absl::StrCat("object ", i, ": ", s.message()));
  if (IsCudaPlan(plan)) {
    auto cuda = ConvertCuda(plan);
    if (!cuda.ok()) return cuda.status();
    image->cuda_ = std::make_shared<const plan::CudaModule>(*std::move(cuda));
  } else if (plan.has_cuda()) {
    return absl::InvalidArgumentError("code for CUDA devices needs FEATURE_CUDA");
  }
  return image;
}

absl::StatusOr<std::shared_ptr<const PlanImage>> PlanImage::LoadFile(
    const std::string &path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::shared_ptr<const PlanImage>> image =
      Load((*file)->bytes());
  if (!image.ok())
    return absl::Status(image.status().code(),
                        absl::StrCat(path, ": ", image.status().message()));
  return image;
}

absl::StatusOr<std::shared_ptr<const Program>> PlanImage::ForRank(
    int rank) const {
  auto program = std::make_shared<Program>();
  program->rank = rank;
  if (rank < 0 || rank >= nodes())
    return absl::InvalidArgumentError(
        absl::StrCat("rank must be in 0..", nodes() - 1, ", got: ", rank));
  program->worker = rank;
  program->workers = nodes();
  int role = roles_.trainer;
  for (size_t w = 0; w < roles_.workers.size(); ++w) {
    const WorkerRole &worker = roles_.workers[w];
    if (rank < worker.first || rank >= worker.first + worker.count) continue;
    role = worker.role;
    program->role = int(w);
    program->worker = rank - worker.first;
    program->workers = worker.count;
  }
  if (absl::Status s = Build(role, program.get()); !s.ok()) return s;
  return program;
}

absl::StatusOr<std::shared_ptr<const Program>> PlanImage::ForServer(
    int server) const {
  int count = int(roles_.servers.size());
  if (count == 0)
    return absl::InvalidArgumentError("plan has no parameter servers");
  if (server < 0 || server >= count)
    return absl::InvalidArgumentError(
        absl::StrCat("server must be in 0..", count - 1, ", got: ", server));
  auto program = std::make_shared<Program>();
  program->rank = nodes() + server;
  program->server = server;
  int role = roles_.servers[size_t(server)];
  if (absl::Status s = Build(role, program.get()); !s.ok()) return s;
  // From functions of the plan to those of the program.
  std::map<uint32_t, int> index;
  for (uint32_t f : FunctionsOfRole(plan_, role))
    index.emplace(f, int(index.size()));
  const plan::Server &in = plan_.parameter_servers().servers(server);
  ServerProgram &out = program->servers.servers[size_t(server)];
  if (in.has_schedule()) out.schedule = index[in.schedule()];
  for (int b = 0; b < in.blocks_size(); ++b) {
    BlockProgram &block = out.blocks[size_t(b)];
    block.function = index[in.blocks(b).function()];
    if (block.of_rows())
      ResolveRowBlock(program->functions[size_t(block.function)], &block.rows);
  }
  return program;
}

absl::Status PlanImage::Build(int role, Program *program) const {
  program->nodes = nodes();
  program->digest = digest_;
  program->module_name = plan_.module_name();
  program->code = code_;
  program->cuda = cuda_;
  program->servers = roles_.program;
  std::vector<bool> held(size_t(plan_.slots_size()), role < 0);
  if (role >= 0)
    for (uint32_t s : SlotsOfRole(plan_, role)) held[s] = true;
  std::map<std::string, size_t> names;                // slot or function
  std::set<std::pair<std::string, uint32_t>> places;  // of slots
  for (int i = 0; i < plan_.slots_size(); ++i) {
    const plan::Slot &slot = plan_.slots(i);
    std::string where = absl::StrCat("slot ", i, " \"", slot.name(), "\"");
    absl::StatusOr<TensorInfo> type = ConvertType(slot.type(), where);
    if (!type.ok()) return type.status();
    SlotInfo info;
    info.name = slot.name();
    info.is_param = slot.kind() == plan::Slot::PARAM;
    info.type = *std::move(type);
    info.device = slot.device();
    if (slot.device() >= std::max(1u, plan_.cluster().devices()))
      return BadPlan(where, absl::StrCat("there is no device ", slot.device()));
    info.held = held[size_t(i)];
    info.internal = slot.internal();
    info.per_rank = slot.per_rank();
    if (info.per_rank && info.is_param)
      return BadPlan(where, "a parameter must be the same on all ranks");
    if (!info.held) {
      program->slots.push_back(std::move(info));
      continue;
    }
    if (slot.name().empty() ||
        !places.emplace(slot.name(), slot.device()).second)
      return BadPlan(where, "name must be unique on its device and not empty");
    auto [first, unknown] = names.emplace(slot.name(), program->slots.size());
    if (!unknown) {
      info.repeated = true;
      const SlotInfo &other = program->slots[first->second];
      if (!(other.type == info.type) || other.is_param != info.is_param)
        return BadPlan(where, absl::StrCat("must match slot ", first->second,
                                           " of the same name, ",
                                           ToString(other.type), ", got: ",
                                           ToString(info.type)));
    }
    program->slots.push_back(std::move(info));
  }
  for (int i = 0; i < plan_.kernels_size(); ++i) {
    absl::StatusOr<ops::KernelDesc> desc = ConvertKernel(plan_.kernels(i), i);
    if (!desc.ok()) return desc.status();
    program->kernels.push_back(*std::move(desc));
  }
  names.clear();
  for (uint32_t index : FunctionsOfRole(plan_, role)) {
    const plan::Function &f = plan_.functions(int(index));
    if (!names.emplace(f.name(), 0).second)
      return absl::InvalidArgumentError(
          absl::StrCat("function @", f.name(), " is there twice"));
    FunctionBuilder builder(plan_, f, program->rank, keys_, code_.get(), program);
    absl::StatusOr<FunctionProgram> function = builder.Build();
    if (!function.ok()) return function.status();
    program->functions.push_back(*std::move(function));
  }
  AssignStreams(program);
  return absl::OkStatus();
}

absl::StatusOr<int> FindFunction(const Program &program, const char *name) {
  for (size_t i = 0; i < program.functions.size(); ++i)
    if (name == nullptr ? program.functions[i].is_step
                        : program.functions[i].name == name)
      return int(i);
  if (name == nullptr) return absl::NotFoundError("plan has no training step");
  std::vector<std::string> names;
  for (const FunctionProgram &f : program.functions)
    names.push_back("@" + f.name);
  return absl::NotFoundError(absl::StrCat(
      "plan has no function @", name, ", only ", absl::StrJoin(names, ", ")));
}

}  // namespace commsched::runtime
