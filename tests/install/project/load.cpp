// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links the runtime without the compiler, and refuses what is not a plan.

#include <cstdio>

#include "plan/plan_file.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/transport/in_process_transport.h"

int main() {
  commsched::plan::Plan plan;
  const std::string error = commsched::plan::Deserialize("not a plan", &plan);
  std::printf("%s\n", error.c_str());
  return error.empty();
}
