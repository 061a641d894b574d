// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExportPlan.h"

#include <google/protobuf/text_format.h>

using namespace commsched;

std::string planexport::printPlan(plan::Plan plan) {
  for (plan::CodeObject &object : *plan.mutable_objects())
    object.set_elf("(" + std::to_string(object.elf().size()) + " bytes)");
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(plan, &text);
  return text;
}
