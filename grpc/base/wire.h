// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets of transport.proto and parameter_service.proto, put together and taken
// apart without copying payloads: a packet is what the protobuf library would
// write for message Packet, but its payloads are slices of their own.
//
// Threading: objects are for one thread at a time.
#ifndef COMMSCHED_GRPC_BASE_WIRE_H
#define COMMSCHED_GRPC_BASE_WIRE_H

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace commsched::transport {

inline constexpr size_t kMaxHeaderBytes = 8 << 10;

// Payloads up to this size are better copied into a packet than added as slices.
inline constexpr size_t kCopyBytes = 4 << 10;

class PacketWriter {
 public:
  // A frame without payload.
  void Add(const google::protobuf::MessageLite &header);
  // A frame whose payload is copied.
  void AddCopy(const google::protobuf::MessageLite &header,
               absl::Span<const std::byte> payload);
  // A frame whose payload is kept by reference.
  void AddSlice(const google::protobuf::MessageLite &header,
                grpc::Slice payload);

  size_t frames() const { return frames_; }
  // Of all frames so far.
  size_t bytes() const { return bytes_; }
  // The packet; leaves the writer empty.
  grpc::ByteBuffer Finish();

 private:
  void AddPrefix(const google::protobuf::MessageLite &header,
                 size_t payload_bytes);
  void Flush();

  std::string flat_;  // bytes after the last slice
  std::vector<grpc::Slice> slices_;
  size_t frames_ = 0;
  size_t bytes_ = 0;
};

class PacketReader {
 public:
  // Keeps references to the slices of `packet`, whose headers have at most
  // `max_header` bytes.
  explicit PacketReader(const grpc::ByteBuffer &packet,
                        size_t max_header = kMaxHeaderBytes);

  // Reads the header of the next frame; false at the end of the packet. The
  // payload that has not been read of the frame before is skipped. Bytes that
  // are not a packet give kDataLoss.
  absl::StatusOr<bool> Next(google::protobuf::MessageLite *header);
  // Payload bytes of the current frame that have not been read.
  size_t payload_bytes() const { return payload_; }
  // Passes the payload of the current frame on, in contiguous pieces.
  void ReadPayload(absl::FunctionRef<void(absl::Span<const std::byte>)> use);

 private:
  bool ReadVarint(uint64_t *value);
  bool ReadLength(size_t limit, size_t *length);

  const size_t max_header_;
  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;   // current one
  size_t offset_ = 0;  // in it
  size_t left_ = 0;    // bytes of the packet not read
  size_t payload_ = 0;
  std::string scratch_;
};

// Text of a peer, fit to be shown on one line of a terminal: as it is, but for
// control characters and what is not UTF-8, which become "\\x" and two digits.
std::string Printable(absl::string_view text);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_WIRE_H
