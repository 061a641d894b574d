// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/rank_group.h"

#include "absl/strings/str_cat.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {

absl::StatusOr<RankGroup> RankGroup::Parse(const plan::Group &group, int nodes) {
  const std::string where = absl::StrCat("group \"", group.name(), "\"");
  if (group.ranks().empty()) return BadPlan(where, "has no ranks");
  auto table = std::make_shared<Table>();
  table->index.assign(size_t(nodes), -1);
  for (uint32_t rank : group.ranks()) {
    if (rank >= uint32_t(nodes))
      return BadPlan(where, absl::StrCat("ranks must be below ", nodes, ", got: ", rank));
    if (table->index[rank] >= 0)
      return BadPlan(where, absl::StrCat("must have a rank once, got ", rank, " twice"));
    table->index[rank] = int(table->rank.size());
    table->rank.push_back(int(rank));
  }
  RankGroup result(int(table->rank.size()));
  result.table_ = std::move(table);
  return result;
}

namespace {

absl::StatusOr<RankGroup> Find(uint32_t group, const plan::Plan &plan) {
  if (((plan.required_features() >> plan::FEATURE_GROUPS) & 1) == 0)
    return absl::InvalidArgumentError("a group needs FEATURE_GROUPS");
  if (group >= uint32_t(plan.groups_size()))
    return absl::InvalidArgumentError(absl::StrCat("there is no group ", group));
  return RankGroup::Parse(plan.groups(int(group)), int(plan.cluster().nodes()));
}

}  // namespace

absl::StatusOr<RankGroup> RankGroup::Of(const plan::Communicate &communicate,
                                        const plan::Plan &plan) {
  if (!communicate.has_group()) return RankGroup(int(plan.cluster().nodes()));
  return Find(communicate.group(), plan);
}

absl::StatusOr<RankGroup> RankGroup::PeersOf(const plan::Communicate &communicate,
                                             const plan::Plan &plan) {
  if (!communicate.has_peer_group()) return Of(communicate, plan);
  return Find(communicate.peer_group(), plan);
}

}  // namespace commsched::runtime
