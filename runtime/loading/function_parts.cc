// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of messages, and what waits for them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/loading/function_builder.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

// Rounds that are looked at for all parts, so that a damaged plan cannot take for ever.
constexpr uint64_t kMaxWork = uint64_t{1} << 28;

}  // namespace

absl::Status FunctionBuilder::AddParts(const plan::Communicate &comm, CommunicateProgram *c) {
  if (comm.part_bytes_size() == 0) return absl::OkStatus();
  if (((plan_.required_features() >> plan::FEATURE_PARTS) & 1) == 0)
    return BadPlan(where_, "parts of a message need FEATURE_PARTS");
  if (comm.has_output() || comm.has_other_end())
    return BadPlan(where_, "has parts, which only an exchange of a whole buffer has");
  const TensorInfo &type = out_.buffers[c->buffer].type;
  const size_t unit = ops::ElementBytes(type.element);
  size_t left = type.bytes;
  for (uint64_t bytes : comm.part_bytes()) {
    if (bytes == 0 || bytes % unit != 0 || bytes > left)
      return BadPlan(where_, absl::StrCat("parts must be elements of ", ToString(type),
                                          ", got: ", bytes, " bytes of ", left));
    left -= bytes;
    c->parts.push_back({bytes, {}, {}});
  }
  if (left != 0)
    return BadPlan(where_, absl::StrCat("parts must be all of ", ToString(type), ", got: ",
                                        type.bytes - left, " bytes of ", type.bytes));
  // Else what overlaps could not be told from ranges of bytes.
  uint32_t chunks = 1;
  for (const plan::Phase &phase : comm.phases()) {
    if (chunks > 1 && phase.chunks() > 1 && phase.chunks() != chunks)
      return BadPlan(where_, absl::StrCat("phases of parts must have 1 or ", chunks,
                                          " chunks, got: ", phase.chunks()));
    chunks = std::max(chunks, phase.chunks());
  }
  c->first_part = out_.parts;
  out_.parts += uint32_t(c->parts.size());
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddPartEnds(CommunicateProgram *c) {
  if (c->parts.empty()) return absl::OkStatus();
  uint64_t rounds = 0;
  for (const PhaseProgram &phase : c->phases) rounds += phase.rounds.size();
  if (c->parts.size() > kMaxWork / (rounds + 1) / c->slices)
    return BadPlan(where_, absl::StrCat("has too many parts: ", c->parts.size()));
  for (uint32_t slice = 0; slice < c->slices; ++slice)
    c->part_ends.push_back(PartEndsOf(*c, slice));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddPartWait(const plan::Dependence &d, InstructionProgram *out) {
  const int parts = in_.instructions(int(d.instruction())).communicate().part_bytes_size();
  if (d.part() >= uint32_t(parts))
    return BadPlan(where_, absl::StrCat("waits for part ", d.part(), " of instruction ",
                                        d.instruction(), ", which has ", parts));
  std::vector<PartWait> &waits =
      d.distance() == 0 ? out->part_waits_same : out->part_waits_last;
  const PartWait wait{d.instruction(), d.part()};
  if (std::find(waits.begin(), waits.end(), wait) == waits.end()) waits.push_back(wait);
  return absl::OkStatus();
}

}  // namespace commsched::runtime
