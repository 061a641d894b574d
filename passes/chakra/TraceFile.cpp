// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/chakra/TraceFile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace commsched::chakra {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

std::string readTrace(std::string_view bytes, Trace &trace) {
  google::protobuf::LogSilencer silence; // what is wrong is said by who asks
  constexpr size_t kMost = size_t{1} << 30;
  if (bytes.size() > kMost)
    return "must have less than 1 GiB";
  const auto *at = reinterpret_cast<const uint8_t *>(bytes.data());
  const uint8_t *end = at + bytes.size();
  bool first = true;
  while (at != end) {
    CodedInputStream in(at, static_cast<int>(end - at));
    uint32_t size = 0;
    std::string where = first ? "the metadata" : "node " + std::to_string(trace.nodes.size());
    if (!in.ReadVarint32(&size))
      return where + " has no length";
    at += in.CurrentPosition();
    if (size > static_cast<size_t>(end - at))
      return where + " is cut off: it has " + std::to_string(size) + " bytes, got: " +
             std::to_string(end - at);
    google::protobuf::MessageLite *message = &trace.metadata;
    if (!first)
      message = &trace.nodes.emplace_back();
    if (!message->ParseFromArray(at, static_cast<int>(size)))
      return where + " is not of Chakra's schema";
    at += size;
    first = false;
  }
  return first ? "is empty" : "";
}

std::string writeTrace(const Trace &trace) {
  std::string bytes;
  {
    StringOutputStream to(&bytes);
    CodedOutputStream out(&to);
    // The order of a message's fields in the file is that of their numbers.
    out.SetSerializationDeterministic(true);
    auto write = [&](const google::protobuf::MessageLite &message) {
      out.WriteVarint32(static_cast<uint32_t>(message.ByteSizeLong()));
      message.SerializeToCodedStream(&out);
    };
    write(trace.metadata);
    for (const Node &node : trace.nodes)
      write(node);
  }
  return bytes;
}

const NodeAttribute *find(const Node &node, std::string_view name) {
  for (const NodeAttribute &attribute : node.attr())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

static int64_t saturated(uint64_t number) {
  return static_cast<int64_t>(std::min<uint64_t>(number, std::numeric_limits<int64_t>::max()));
}

static std::optional<int64_t> wholeNumber(double number) {
  if (!(std::abs(number) < 0x1p63) || number != std::floor(number))
    return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<int64_t> numberOf(const NodeAttribute &attribute) {
  switch (attribute.value_case()) {
  case NodeAttribute::kInt32Val:
    return attribute.int32_val();
  case NodeAttribute::kInt64Val:
    return attribute.int64_val();
  case NodeAttribute::kUint32Val:
    return attribute.uint32_val();
  case NodeAttribute::kUint64Val:
    return saturated(attribute.uint64_val());
  case NodeAttribute::kSint32Val:
    return attribute.sint32_val();
  case NodeAttribute::kSint64Val:
    return attribute.sint64_val();
  case NodeAttribute::kFixed32Val:
    return attribute.fixed32_val();
  case NodeAttribute::kFixed64Val:
    return saturated(attribute.fixed64_val());
  case NodeAttribute::kSfixed32Val:
    return attribute.sfixed32_val();
  case NodeAttribute::kSfixed64Val:
    return attribute.sfixed64_val();
  case NodeAttribute::kFloatVal:
    return wholeNumber(attribute.float_val());
  case NodeAttribute::kDoubleVal:
    return wholeNumber(attribute.double_val());
  default:
    return std::nullopt;
  }
}

} // namespace commsched::chakra
