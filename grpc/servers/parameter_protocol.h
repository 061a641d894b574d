// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both sides of parameter_service.proto say alike.
#ifndef COMMSCHED_GRPC_SERVERS_PARAMETER_PROTOCOL_H
#define COMMSCHED_GRPC_SERVERS_PARAMETER_PROTOCOL_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <grpc/grpc.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpc/base/options.h"
#include "grpc/servers/parameter_service.pb.h"
#include "runtime/core/link_end.h"
#include "runtime/transport/transport.h"

namespace commsched::transport {

inline constexpr uint32_t kParameterProtocol = 3;

// How long those who are not there at the moment, or have not come yet, may take to hear of the end.
inline constexpr auto kLinger = std::chrono::seconds(2);

// Of a frame that may have a payload; else null.
inline parameter::Data *DataOf(parameter::Header &header) {
  switch (header.kind_case()) {
    case parameter::Header::kPush:
      return header.mutable_push();
    case parameter::Header::kValue:
      return header.mutable_value();
    case parameter::Header::kPullRows:
      return header.mutable_pull_rows();
    case parameter::Header::kRows:
      return header.mutable_rows();
    default:
      return nullptr;
  }
}

inline parameter::Header AbortHeader(const absl::Status &why) {
  parameter::Header header;
  header.mutable_abort()->set_code(static_cast<uint32_t>(why.code()));
  header.mutable_abort()->set_message(
      std::string(why.message().substr(0, runtime::core::kMaxAbortText)));
  return header;
}

inline size_t ClampedChunk(size_t bytes) {
  return Clamped({.chunk_bytes = bytes}).chunk_bytes;
}

// Arguments of gRPC for channels and servers of parameters.
inline std::vector<std::pair<std::string, int>> ParameterChannelArguments(
    absl::Duration keepalive) {
  auto arguments = ChannelArguments({.keepalive = keepalive});
  for (auto &[name, value] : arguments) {
    // Health and reflection beside Attach.
    if (name == GRPC_ARG_MAX_CONCURRENT_STREAMS) value = 16;
  }
  return arguments;
}

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_PARAMETER_PROTOCOL_H
