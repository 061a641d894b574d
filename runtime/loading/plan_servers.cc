// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/plan_servers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/loading/plan_rows.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

bool Has(const google::protobuf::RepeatedField<uint32_t> &list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// The batch argument of a block's function.
absl::StatusOr<TensorInfo> GradientOf(const plan::Function &function,
                                      const std::string &key,
                                      const std::string &where) {
  for (const plan::Buffer &buffer : function.buffers())
    if (buffer.kind() == plan::Buffer::BATCH && buffer.batch() == key)
      return ConvertType(buffer.type(), where);
  return BadPlan(where, absl::StrCat("function @", function.name(),
                                     " must have the batch argument \"", key,
                                     "\""));
}

// Whose messages a block's function takes: its batch arguments are the keys of
// the blocks that name it.
absl::StatusOr<std::vector<uint32_t>> BlocksTogether(
    const plan::Plan &plan, const plan::Server &server, uint32_t function,
    const std::string &where) {
  const plan::Function &f = plan.functions(int(function));
  std::vector<uint32_t> blocks;
  std::set<std::string> seen;
  for (const plan::Buffer &buffer : f.buffers()) {
    if (buffer.kind() != plan::Buffer::BATCH || !seen.insert(buffer.batch()).second)
      continue;
    auto block = std::find_if(
        server.blocks().begin(), server.blocks().end(),
        [&](const plan::ServerBlock &b) {
          return b.function() == function && b.key() == buffer.batch();
        });
    if (block == server.blocks().end())
      return BadPlan(where, absl::StrCat("function @", f.name(),
                                         " must have no batch argument but the "
                                         "keys of its blocks, got: \"",
                                         buffer.batch(), "\""));
    blocks.push_back(uint32_t(block - server.blocks().begin()));
  }
  if (blocks.size() > 1 &&
      plan.parameter_servers().mode() != plan::ParameterServers::SYNC)
    return BadPlan(where, absl::StrCat("function @", f.name(),
                                       " takes several messages, which arrive "
                                       "one by one if not synchronous"));
  return blocks;
}

// Whether a block's function has nothing to do with the schedule and with what
// files name.
bool IsApart(const plan::Plan &plan, const plan::Server &server,
             const plan::ServerBlock &block) {
  if (block.row_chunk() != 0 || block.more_slots_size() != 0 ||
      !plan.slots(int(block.slot())).internal())
    return false;
  for (const plan::Buffer &buffer :
       plan.functions(int(block.function())).buffers())
    if ((buffer.kind() == plan::Buffer::SLOT_CURRENT ||
         buffer.kind() == plan::Buffer::SLOT_NEXT) &&
        buffer.slot() != block.slot())
      return false;
  if (!server.has_schedule()) return true;
  for (const plan::Buffer &buffer :
       plan.functions(int(server.schedule())).buffers())
    if ((buffer.kind() == plan::Buffer::SLOT_CURRENT ||
         buffer.kind() == plan::Buffer::SLOT_NEXT) &&
        buffer.slot() == block.slot())
      return false;
  return true;
}

// What trainers push of a block of lists.
absl::Status ReadLists(const plan::Plan &plan, const plan::ServerBlock &block,
                       const std::string &where, BlockProgram *out) {
  if (!block.has_lists()) return absl::OkStatus();
  if (((plan.required_features() >> plan::FEATURE_SPARSE_SERVERS) & 1) == 0)
    return BadPlan(where, "has lists, which the plan's required features do not say");
  if (plan.parameter_servers().mode() != plan::ParameterServers::SYNC)
    return BadPlan(where, "lists need the synchronous mode");
  const ops::Element element = out->gradient.element;
  if (element != ops::Element::kF32 && element != ops::Element::kF16 &&
      element != ops::Element::kBF16)
    return BadPlan(where, absl::StrCat("lists must be of f32, f16 or bf16, got: ",
                                       ToString(out->gradient)));
  const int64_t entries = block.lists().entries();
  if (entries < 1 || entries > out->gradient.elements)
    return BadPlan(where, absl::StrCat("lists must have 1 to ", out->gradient.elements,
                                       " entries, got: ", entries));
  plan::TensorType values;
  values.set_element(block.lists().values());
  absl::StatusOr<TensorInfo> travels = ConvertType(values, where);
  if (!travels.ok()) return travels.status();
  const bool halves = travels->element == ops::Element::kF16 ||
                      travels->element == ops::Element::kBF16;
  if (travels->element != element && travels->element != ops::Element::kI8 &&
      !(halves && element == ops::Element::kF32))
    return BadPlan(where, absl::StrCat("values of lists of ", ToString(out->gradient),
                                       " must be as wide as its elements, or narrower, got: ",
                                       ToString(*travels)));
  out->lists = {element, travels->element, entries};
  plan::TensorType message;
  message.set_element(plan::I32);
  message.add_shape(1);
  message.add_shape(ops::sparse::ListMessageWords(out->lists));
  absl::StatusOr<TensorInfo> type = ConvertType(message, where);
  if (!type.ok()) return type.status();
  out->message = *std::move(type);
  return absl::OkStatus();
}

// What is pulled of a block, whose function is known and writes it.
absl::Status ReadValue(const plan::Plan &plan, const plan::ServerBlock &block,
                       const std::string &where, BlockProgram *out) {
  const plan::Function &function = plan.functions(int(block.function()));
  plan::TensorType all;
  int64_t elements = 0;
  for (BlockProgram::Slot &slot : out->slots) {
    const plan::TensorType &type = plan.slots(int(slot.slot)).type();
    absl::StatusOr<TensorInfo> own = ConvertType(type, where);
    if (!own.ok()) return own.status();
    if (std::none_of(function.buffers().begin(), function.buffers().end(),
                     [&](const plan::Buffer &buffer) {
                       return buffer.kind() == plan::Buffer::SLOT_NEXT &&
                              buffer.slot() == slot.slot;
                     }))
      return BadPlan(where, absl::StrCat("function @", function.name(), " must write its slot ",
                                         slot.slot));
    if (all.element() != plan::ELEMENT_UNSPECIFIED && all.element() != type.element())
      return BadPlan(where, absl::StrCat("what shares messages must have one element type, got: ",
                                         ToString(*own)));
    all.set_element(type.element());
    slot.begin = size_t(elements) * ops::ElementBytes(own->element);
    if (__builtin_add_overflow(elements, own->elements, &elements))
      return BadPlan(where, "has more elements than can be counted");
  }
  all.add_shape(elements);
  absl::StatusOr<TensorInfo> value = ConvertType(
      out->slots.size() == 1 ? plan.slots(int(block.slot())).type() : all, where);
  if (!value.ok()) return value.status();
  out->value = *std::move(value);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ServerProgram> ReadServer(const plan::Plan &plan, int index,
                                         std::set<std::string> *keys) {
  const plan::Server &in = plan.parameter_servers().servers(index);
  std::string server = absl::StrCat("server ", index);
  ServerProgram out;
  const plan::Role &role = plan.roles(int(in.role()));
  out.role = role.name();
  out.has_schedule = in.has_schedule();
  if (in.has_schedule()) {
    if (!Has(role.functions(), in.schedule()))
      return BadPlan(server, absl::StrCat("its role has no function ",
                                          in.schedule(), " for the schedule"));
    for (const plan::Buffer &buffer :
         plan.functions(int(in.schedule())).buffers())
      if (buffer.kind() == plan::Buffer::BATCH)
        return BadPlan(server, "the schedule must have no batch argument");
  }
  std::set<uint32_t> slots, of_rows;
  for (int b = 0; b < in.blocks_size(); ++b) {
    const plan::ServerBlock &block = in.blocks(b);
    std::string where =
        absl::StrCat(server, ": block ", b, " \"", block.key(), "\"");
    BlockProgram program;
    program.key = block.key();
    program.pull_key = block.pull_key();
    if (block.key().empty() || !keys->insert(block.key()).second)
      return BadPlan(where, "key must be unique and not empty");
    if (!Has(role.functions(), block.function()) ||
        (in.has_schedule() && in.schedule() == block.function()))
      return BadPlan(where, absl::StrCat("function ", block.function(),
                                         " must be one of its role, and not the "
                                         "schedule"));
    program.slots.push_back({block.slot(), 0});
    for (uint32_t slot : block.more_slots()) program.slots.push_back({slot, 0});
    for (const BlockProgram::Slot &own : program.slots)
      if (!Has(role.slots(), own.slot) || !slots.insert(own.slot).second)
        return BadPlan(where, absl::StrCat("slot ", own.slot,
                                           " must be one of its role, for it alone"));
    if (program.slots.size() > 1 &&
        ((plan.required_features() >> plan::FEATURE_FUSED_BLOCKS) & 1) == 0)
      return BadPlan(where, "has several slots, which the plan's required features do not say");
    if (program.slots.size() > 1 && (block.row_chunk() != 0 || block.has_lists()))
      return BadPlan(where, "blocks of single rows, or of lists, share no messages");
    program.mean = plan.parameter_servers().mean() || block.mean();
    if (block.row_chunk() != 0) {
      if (block.has_lists()) return BadPlan(where, "single rows cannot be lists of elements");
      program.together = {uint32_t(b)};
      if (absl::Status s = ReadRowBlock(plan, role, block, where, &of_rows, &program);
          !s.ok())
        return s;
      out.blocks.push_back(std::move(program));
      continue;
    }
    const plan::Function &function = plan.functions(int(block.function()));
    absl::StatusOr<TensorInfo> gradient =
        GradientOf(function, block.key(), where);
    if (!gradient.ok()) return gradient.status();
    if (!ops::IsFloat(gradient->element))
      return BadPlan(where, absl::StrCat("a gradient must be of floating point, got: ",
                                         ToString(*gradient)));
    program.gradient = *std::move(gradient);
    if (absl::Status s = ReadValue(plan, block, where, &program); !s.ok()) return s;
    if (absl::Status s = ReadLists(plan, block, where, &program); !s.ok()) return s;
    auto together = BlocksTogether(plan, in, block.function(), where);
    if (!together.ok()) return together.status();
    program.together = *std::move(together);
    program.apart = IsApart(plan, in, block);
    out.blocks.push_back(std::move(program));
  }
  // Somebody has to start the schedule.
  if (std::all_of(out.blocks.begin(), out.blocks.end(),
                  [](const BlockProgram &block) { return block.apart; }))
    for (BlockProgram &block : out.blocks) block.apart = false;
  if (absl::Status s = CheckRowSlots(plan, role, of_rows, server); !s.ok())
    return s;
  return out;
}

}  // namespace commsched::runtime
