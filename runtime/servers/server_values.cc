// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/servers/server_values.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/execute/executor.h"

namespace commsched::runtime {
namespace {

// Runs @init as trainer 0 would, and passes on what it writes.
absl::Status RunInit(const PlanImage &image, ParameterServer *server,
                     std::set<std::string> *set) {
  absl::StatusOr<std::shared_ptr<const Program>> program = image.ForRank(0);
  if (!program.ok()) return program.status();
  absl::StatusOr<int> init = FindFunction(**program, "init");
  if (!init.ok()) return absl::OkStatus();
  auto executor = Executor::Create(*program, ExecutorOptions());
  if (!executor.ok()) return executor.status();
  absl::StatusOr<uint64_t> call = (*executor)->Enqueue(*init, {});
  if (!call.ok()) return call.status();
  const std::vector<uint32_t> &written =
      (*program)->functions[size_t(*init)].written_slots;
  for (const ValueInfo &value : image.values()) {
    if (value.parts.empty() || value.trainer.empty()) continue;
    uint32_t slot = value.trainer[0];
    if (std::find(written.begin(), written.end(), slot) == written.end()) continue;
    absl::StatusOr<SharedBytes> bytes = (*executor)->ShareSlot(slot);
    if (!bytes.ok()) return bytes.status();
    if (absl::Status s = server->SetWhole(value.name, bytes->bytes); !s.ok())
      return s;
    set->insert(value.name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InitialiseServer(const PlanImage &image, const TensorFile *file,
                              int index, ParameterServer *server) {
  std::set<std::string> set;
  if (absl::Status s = RunInit(image, server, &set); !s.ok()) return s;
  for (const ValueInfo &value : image.values()) {
    if (file != nullptr && file->tensors.count(value.name) != 0) {
      auto tensor = file->Find(value.name, value.type);
      if (!tensor.ok()) return tensor.status();
      if (absl::Status s = server->SetWhole(value.name, (*tensor)->data); !s.ok())
        return s;
      set.insert(value.name);
    }
    bool here = false;
    for (const ValueInfo::Part &part : value.parts) here |= part.server == index;
    if (here && set.count(value.name) == 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", value.name,
          "\" has no initial value: the plan's @init does not set it, give --init"));
  }
  if (file != nullptr)
    for (const auto &[name, tensor] : file->tensors)
      if (std::none_of(image.values().begin(), image.values().end(),
                       [&name = name](const ValueInfo &v) { return v.name == name; }))
        return absl::InvalidArgumentError(
            absl::StrCat(file->path, ": tensor \"", name,
                         "\" is no parameter or state of the plan"));
  return absl::OkStatus();
}

}  // namespace commsched::runtime
