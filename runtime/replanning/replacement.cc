// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/replacement.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "runtime/loading/plan_values.h"
#include "runtime/replanning/transport_lanes.h"

namespace commsched::runtime {
namespace {

absl::Status Differs(absl::string_view what, absl::string_view now,
                     absl::string_view next) {
  return absl::FailedPreconditionError(absl::StrCat(
      what, " of the new plan must match ", now, ", got: ", next));
}

template <typename T>
absl::Status Same(absl::string_view what, const T &now, const T &next) {
  return now == next ? absl::OkStatus()
                     : Differs(what, absl::StrCat(now), absl::StrCat(next));
}

std::string TypeText(const plan::TensorType &type, const char *otherwise) {
  absl::StatusOr<TensorInfo> info = ConvertType(type, otherwise);
  return info.ok() ? ToString(*info) : otherwise;
}

// What a slot is, apart from where it is in the plan's list.
std::string Describe(const plan::Slot &slot) {
  std::string text = absl::StrCat(
      slot.kind() == plan::Slot::PARAM ? "parameter " : "state ",
      TypeText(slot.type(), "of unknown type"));
  if (!slot.part_of().empty())
    absl::StrAppend(&text, ", part of \"", slot.part_of(), "\" from row ",
                    slot.row_begin());
  return text;
}

absl::Status SameSlots(const plan::Plan &now, const plan::Plan &next) {
  using Places = std::map<std::pair<std::string, uint32_t>, std::string>;
  auto places = [](const plan::Plan &plan) {
    Places all;
    for (const plan::Slot &slot : plan.slots())
      all[{slot.name(), slot.device()}] = Describe(slot);
    return all;
  };
  const Places old = places(now), fresh = places(next);
  for (const auto &[place, text] : old) {
    auto found = fresh.find(place);
    if (found == fresh.end())
      return absl::FailedPreconditionError(
          absl::StrCat("the new plan has no \"", place.first, "\" on device ",
                       place.second));
    if (found->second != text)
      return Differs(absl::StrCat("\"", place.first, "\""), text, found->second);
  }
  for (const auto &[place, text] : fresh)
    if (old.count(place) == 0)
      return absl::FailedPreconditionError(
          absl::StrCat("the new plan has \"", place.first, "\" on device ",
                       place.second, ", which the running one has not"));
  return absl::OkStatus();
}

// Servers go on with what they store: block by block, slot by slot.
absl::Status SameServers(const plan::Plan &now, const plan::Plan &next) {
  using google::protobuf::util::MessageDifferencer;
  const plan::ParameterServers &old = now.parameter_servers(), &fresh = next.parameter_servers();
  if (absl::Status s = Same("the number of parameter servers", old.servers_size(), fresh.servers_size());
      !s.ok() || old.servers_size() == 0)
    return s;
  for (int k = 0; k < old.servers_size(); ++k) {
    const auto &a = old.servers(k).blocks(), &b = fresh.servers(k).blocks();
    int same = 0;
    while (same < std::min(a.size(), b.size()) && a[same].key() == b[same].key()) ++same;
    if (same == a.size() && same == b.size()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the blocks of server ", k,
        " of the new plan must match those of the running one, whose values "
        "stay there, got: ",
        b.size(), " blocks instead of ", a.size(), ", the first other one \"",
        same < b.size() ? b[same].key() : a[same].key(), "\""));
  }
  bool same = MessageDifferencer::Equals(old, fresh) && now.slots_size() == next.slots_size() &&
              now.roles_size() == next.roles_size();
  for (int i = 0; same && i < now.slots_size(); ++i)
    same = MessageDifferencer::Equals(now.slots(i), next.slots(i));
  for (int i = 0; same && i < now.roles_size(); ++i)
    same = MessageDifferencer::Equals(now.roles(i), next.roles(i));
  return same ? absl::OkStatus()
              : absl::FailedPreconditionError(
                    "the new plan has other parameter servers: what they store or do is not the same");
}

// What is computed, whatever the order: fragments, and what is reduced how.
struct Work {
  // Label, device and symbol.
  std::map<std::tuple<std::string, uint32_t, std::string>, int> fragments;
  std::map<std::tuple<int, int, double>, uint64_t> reduced;  // bytes
};

Work WorkOf(const plan::Function &function) {
  Work work;
  for (const plan::Instruction &i : function.instructions()) {
    if (i.has_run()) ++work.fragments[{i.name(), i.device(), i.run().symbol()}];
    if (i.has_launch())
      ++work.fragments[{i.name(), i.device(), absl::StrCat("cuda ", i.launch().fragment())}];
    if (i.has_delay()) ++work.fragments[{i.name(), i.device(), ""}];
    if (!i.has_communicate()) continue;
    const plan::Communicate &c = i.communicate();
    if (c.phases().empty() ? !c.has_nccl() : c.phases(0).combine() == plan::REPLACE) continue;
    double scale = 0;
    for (const plan::Phase &phase : c.phases())
      if (phase.scale() != 0) scale = phase.scale();
    const plan::TensorType &type = function.buffers(int(c.buffer())).type();
    uint64_t elements = 1;
    for (int64_t n : type.shape()) elements *= uint64_t(n);
    const int how = c.has_nccl() ? -1 - c.nccl().reduction() : c.phases(0).combine();
    work.reduced[{how, int(type.element()), scale}] += elements;
  }
  return work;
}

// Fragments are compiled before they are scheduled: another schedule has the
// same code, byte for byte.
absl::Status SameCode(const plan::Plan &now, const plan::Plan &next) {
  bool same = now.objects_size() == next.objects_size() &&
              now.kernels_size() == next.kernels_size();
  same = same && google::protobuf::util::MessageDifferencer::Equals(now.cuda(), next.cuda());
  for (int i = 0; same && i < now.objects_size(); ++i)
    same = now.objects(i).target() == next.objects(i).target() &&
           now.objects(i).elf() == next.objects(i).elf();
  for (int i = 0; same && i < now.kernels_size(); ++i)
    same = google::protobuf::util::MessageDifferencer::Equals(now.kernels(i),
                                                              next.kernels(i));
  if (same) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the new plan is another program, or compiled by another version: its code "
      "is not the same");
}

absl::Status SameBatches(const std::string &where, const plan::Function &now,
                         const plan::Function &next) {
  // A worker's index is that of its part of them; no batch has an empty name.
  using Batches = std::map<std::pair<std::string, uint32_t>, std::string>;
  auto batches = [](const plan::Function &f) {
    Batches all;
    for (const plan::Buffer &b : f.buffers())
      if (b.kind() == plan::Buffer::BATCH ||
          b.kind() == plan::Buffer::WORKER_INDEX)
        all[{b.batch(), b.device()}] = TypeText(b.type(), "of unknown type");
    return all;
  };
  if (batches(now) != batches(next))
    return absl::FailedPreconditionError(
        absl::StrCat(where, " of the new plan has other batches, or indices of workers"));
  return Same(absl::StrCat("the global batch of ", where), now.global_batch(),
              next.global_batch());
}

absl::Status SameFunction(const plan::Function &now, const plan::Function &next) {
  const std::string where = absl::StrCat("function @", now.name());
  if (now.name() != next.name() || now.is_step() != next.is_step())
    return Differs("a function", "@" + now.name(), "@" + next.name());
  if (absl::Status s = SameBatches(where, now, next); !s.ok()) return s;
  auto reduction = [](const plan::Function &f) { return f.sums_gradients() ? "sum" : "mean"; };
  if (now.sums_gradients() != next.sums_gradients())
    return Differs(absl::StrCat("the reduction of gradients of ", where), reduction(now), reduction(next));
  std::string metrics, others;
  for (const plan::Output &o : now.outputs()) absl::StrAppend(&metrics, " ", o.metric());
  for (const plan::Output &o : next.outputs()) absl::StrAppend(&others, " ", o.metric());
  if (metrics != others)
    return Differs(absl::StrCat("the metrics of ", where), "[" + metrics + " ]",
                   "[" + others + " ]");
  const Work work = WorkOf(now), other = WorkOf(next);
  for (const auto &[fragment, count] : work.fragments) {
    auto found = other.fragments.find(fragment);
    if (found == other.fragments.end() || found->second != count)
      return absl::FailedPreconditionError(
          absl::StrCat(where, " of the new plan is another program: fragment \"",
                       std::get<0>(fragment), "\" is not the same in it"));
  }
  if (work.fragments.size() != other.fragments.size())
    return absl::FailedPreconditionError(absl::StrCat(
        where, " of the new plan is another program: it has further fragments"));
  if (work.reduced != other.reduced)
    return absl::FailedPreconditionError(absl::StrCat(
        where, " of the new plan is another program: it reduces other values"));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReplaceable(const PlanImage &now) {
  if (!now.servers().servers.empty() && now.servers().mode != ServersProgram::kSync)
    return absl::FailedPreconditionError(
        "a plan can be replaced in a run with synchronous parameter servers only: with others the steps of "
        "trainers are not those of the servers");
  uint64_t keys = 0;
  for (const plan::Function &f : now.plan().functions())
    for (const plan::Instruction &i : f.instructions()) keys += i.has_communicate();
  if (keys > TransportLanes::kMaxKeys)
    return absl::FailedPreconditionError(
        absl::StrCat("a plan that can be replaced must have at most ",
                     TransportLanes::kMaxKeys, " communications, got: ", keys));
  return absl::OkStatus();
}

absl::Status CheckReplacement(const PlanImage &now, const PlanImage &next) {
  const plan::Plan &a = now.plan(), &b = next.plan();
  if (absl::Status s = CheckReplaceable(next); !s.ok()) return s;
  if (absl::Status s = Same("the module", a.module_name(), b.module_name()); !s.ok())
    return s;
  if (absl::Status s = Same("the number of nodes", now.nodes(), next.nodes()); !s.ok())
    return s;
  if (absl::Status s = Same("the number of devices of a node",
                            std::max(1u, a.cluster().devices()),
                            std::max(1u, b.cluster().devices()));
      !s.ok())
    return s;
  auto only_costs = [](const plan::Plan &p) {
    return (p.required_features() >> plan::FEATURE_COST_ONLY) & 1;
  };
  if (only_costs(a) != only_costs(b))
    return absl::FailedPreconditionError(
        "only one of the two plans has costs in the place of code");
  if (absl::Status s = SameServers(a, b); !s.ok()) return s;
  if (absl::Status s = SameSlots(a, b); !s.ok()) return s;
  if (absl::Status s =
          Same("the number of functions", a.functions_size(), b.functions_size());
      !s.ok())
    return s;
  for (int f = 0; f < a.functions_size(); ++f)
    if (absl::Status s = SameFunction(a.functions(f), b.functions(f)); !s.ok())
      return s;
  return SameCode(a, b);
}

}  // namespace commsched::runtime
