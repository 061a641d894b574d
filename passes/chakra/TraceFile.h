// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_CHAKRA_TRACEFILE_H
#define COMMSCHED_PASSES_CHAKRA_TRACEFILE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/chakra/chakra.pb.h"

namespace commsched::chakra {

struct Trace {
  GlobalMetadata metadata;
  std::vector<Node> nodes; ///< in the order of the file
};

/// What a trace file holds. Returns what is wrong with it, or nothing.
std::string readTrace(std::string_view bytes, Trace &trace);
std::string writeTrace(const Trace &trace);

/// Null if the node has no such attribute.
const NodeAttribute *find(const Node &node, std::string_view name);
/// The whole number in an attribute, of whatever kind; none if it has something else. What is above all int64_t is the
/// greatest of them.
std::optional<int64_t> numberOf(const NodeAttribute &attribute);

/// Of a node that computes, in nanoseconds: exact where this compiler wrote it.
inline constexpr std::string_view kDuration = "duration_ns";
/// Of a node: those of the step before that it waits for. Also this compiler's own.
inline constexpr std::string_view kNextStep = "previous_step_deps";

} // namespace commsched::chakra

#endif // COMMSCHED_PASSES_CHAKRA_TRACEFILE_H
