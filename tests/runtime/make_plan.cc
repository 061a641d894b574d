// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// make_plan NODES FILE: writes the plan of the trainer, for tests that cannot
// link the plan's messages themselves.
#include <cstdlib>
#include <fstream>

#include "tests/runtime/test_util.h"

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  std::ofstream file(argv[2], std::ios::binary);
  file << commsched::testing::Trainer(std::atoi(argv[1])).Bytes();
  return file.flush() ? 0 : 1;
}
