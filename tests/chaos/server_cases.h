// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random parameter servers without values: what is applied to a block is written down
// as text.
#ifndef COMMSCHED_TESTS_CHAOS_SERVER_CASES_H
#define COMMSCHED_TESTS_CHAOS_SERVER_CASES_H

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/shared_bytes.h"
#include "runtime/program/server_program.h"

namespace commsched::runtime::core {

using Values = std::vector<std::string>;  // "trainer:step", in order; "|" ends an update

inline SharedBytes Payload(const std::string &text) {
  auto owned = std::make_shared<std::string>(text);
  return {{reinterpret_cast<const std::byte *>(owned->data()), owned->size()}, owned};
}
inline std::string Text(const SharedBytes &bytes) {
  return {reinterpret_cast<const char *>(bytes.bytes.data()), bytes.bytes.size()};
}

inline ServerProgram RandomServer(ServersProgram::Mode mode, std::mt19937_64 &random) {
  auto below = [&](uint64_t n) { return random() % n; };
  ServerProgram program;
  const size_t blocks = 1 + below(5);
  for (size_t b = 0; b < blocks; ++b) {
    BlockProgram block;
    block.key = absl::StrCat("b", b);
    block.together = {uint32_t(b)};
    block.apart = below(4) == 0;
    block.rows.chunk = below(4) == 0 ? 8 : 0;
    program.blocks.push_back(block);
  }
  // Neighbours that are updated at once, where that may be.
  for (size_t b = 0; b + 1 < blocks && mode == ServersProgram::kSync; ++b) {
    BlockProgram &first = program.blocks[b], &second = program.blocks[b + 1];
    if (below(3) != 0 || first.of_rows() || second.of_rows() || first.together.size() > 1)
      continue;
    first.together = second.together = {uint32_t(b), uint32_t(b + 1)};
    second.apart = first.apart;
  }
  program.has_schedule = below(2) == 0;
  return program;
}

// Who makes a step, where trainers make `steps` each.
inline std::vector<int> MakersOf(const std::vector<uint64_t> &steps, uint64_t step) {
  std::vector<int> makers;
  for (size_t t = 0; t < steps.size(); ++t)
    if (steps[t] > step) makers.push_back(int(t));
  return makers;
}

// Synchronous: after so many steps, or as many as somebody makes. A step has the
// messages of all that make it, in the order of their ranks.
inline Values ExpectedOf(uint64_t version,
                         const std::function<std::vector<int>(uint64_t)> &makers_of) {
  Values value;
  for (uint64_t s = 0; s < version; ++s) {
    const std::vector<int> makers = makers_of(s);
    if (makers.empty()) break;
    for (int t : makers) value.push_back(absl::StrCat(t, ":", s));
    value.push_back("|");
  }
  return value;
}

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_TESTS_CHAOS_SERVER_CASES_H
