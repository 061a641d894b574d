// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/ExportPlan.h"
#include "passes/plan/PlanDependences.h"

#include "llvm/Support/raw_ostream.h"

#include <google/protobuf/text_format.h>

using namespace commsched;

std::string planexport::printPlan(plan::Plan plan) {
  for (plan::CodeObject &object : *plan.mutable_objects())
    object.set_elf("(" + std::to_string(object.elf().size()) + " bytes)");
  if (plan.has_cuda())
    plan.mutable_cuda()->set_ptx("(" + std::to_string(plan.cuda().ptx().size()) + " bytes)");
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(plan, &text);
  return text;
}

std::string planexport::describeRoles(const plan::Plan &plan) {
  if (!plan.has_parameter_servers())
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const plan::Role &role : plan.roles()) {
    uint64_t params = 0, state = 0;
    for (uint32_t slot : role.slots()) {
      const plan::Slot &s = plan.slots(slot);
      (s.kind() == plan::Slot::PARAM ? params : state) += tensorBytes(s.type());
    }
    os << "role " << role.name() << ": processes: " << role.count()
       << ", functions: " << role.functions_size() << ", parameter bytes: " << params
       << ", state bytes: " << state << "\n";
  }
  for (const plan::Server &server : plan.parameter_servers().servers())
    for (const plan::ServerBlock &block : server.blocks()) {
      std::vector<uint32_t> slots = {block.slot()};
      slots.insert(slots.end(), block.more_slots().begin(), block.more_slots().end());
      uint64_t bytes = 0;
      for (uint32_t slot : slots)
        bytes += tensorBytes(plan.slots(slot).type());
      os << plan.roles(server.role()).name() << " block " << block.key() << ": " << bytes
         << " bytes";
      if (plan.slots(block.slot()).internal()) {
        os << ", handed back as they are combined\n";
        continue;
      }
      llvm::StringRef separator = " of ";
      for (uint32_t index : slots) {
        const plan::Slot &slot = plan.slots(index);
        os << separator << slot.part_of();
        if (slot.type().shape_size() > 0)
          os << ", rows " << slot.row_begin() << " to "
             << slot.row_begin() + slot.type().shape(0) - 1;
        separator = "; of ";
      }
      if (block.row_chunk() > 0)
        os << ", single rows, " << block.row_chunk() << " at a time";
      os << "\n";
    }
  return text;
}
