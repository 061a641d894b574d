// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/wire.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace commsched::transport {
namespace {

// Field numbers 1 and 2 with wire type 2 (length-delimited): Packet.frames and
// Frame.header, Frame.payload.
constexpr char kFirst = 0x0a;
constexpr char kSecond = 0x12;

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void AppendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Bytes of the character that `text` begins with, if it may be shown; else 0.
size_t PrintableBytes(absl::string_view text) {
  auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const int first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  // Neither longer than needed, nor a surrogate, nor a control character.
  const int least = first == 0xc2 || first == 0xe0 ? 0xa0
                    : first == 0xf0                ? 0x90
                                                   : 0x80;
  const int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f
                                                        : 0xbf;
  const size_t size = first < 0xc2   ? 0
                      : first < 0xe0 ? 2
                      : first < 0xf0 ? 3
                      : first < 0xf5 ? 4
                                     : 0;
  if (size == 0 || second < least || second > most) return 0;
  for (size_t i = 2; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return size;
}

absl::Status Malformed() {
  return absl::DataLossError("malformed packet");
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = PrintableBytes(text);
    if (bytes == 0)
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(text[0]));
    else
      absl::StrAppend(&out, text.substr(0, bytes));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

void PacketWriter::AddPrefix(const google::protobuf::MessageLite &header,
                             size_t payload_bytes) {
  const size_t header_bytes = header.ByteSizeLong();
  size_t frame = 1 + VarintSize(header_bytes) + header_bytes;
  if (payload_bytes > 0) frame += 1 + VarintSize(payload_bytes) + payload_bytes;
  flat_.push_back(kFirst);
  AppendVarint(flat_, frame);
  flat_.push_back(kFirst);
  AppendVarint(flat_, header_bytes);
  header.AppendToString(&flat_);
  if (payload_bytes > 0) {
    flat_.push_back(kSecond);
    AppendVarint(flat_, payload_bytes);
  }
  ++frames_;
  bytes_ += 1 + VarintSize(frame) + frame;
}

void PacketWriter::Add(const google::protobuf::MessageLite &header) {
  AddPrefix(header, 0);
}

void PacketWriter::AddCopy(const google::protobuf::MessageLite &header,
                           absl::Span<const std::byte> payload) {
  AddPrefix(header, payload.size());
  flat_.append(reinterpret_cast<const char *>(payload.data()), payload.size());
}

void PacketWriter::AddSlice(const google::protobuf::MessageLite &header,
                            grpc::Slice payload) {
  AddPrefix(header, payload.size());
  Flush();
  slices_.push_back(std::move(payload));
}

void PacketWriter::Flush() {
  if (flat_.empty()) return;
  slices_.emplace_back(flat_.data(), flat_.size());
  flat_.clear();
}

grpc::ByteBuffer PacketWriter::Finish() {
  Flush();
  grpc::ByteBuffer packet(slices_.data(), slices_.size());
  slices_.clear();
  frames_ = bytes_ = 0;
  return packet;
}

PacketReader::PacketReader(const grpc::ByteBuffer &packet, size_t max_header)
    : max_header_(max_header) {
  if (!packet.Valid() || !packet.Dump(&slices_).ok()) slices_.clear();
  for (const grpc::Slice &slice : slices_) left_ += slice.size();
}

void PacketReader::ReadPayload(
    absl::FunctionRef<void(absl::Span<const std::byte>)> use) {
  while (payload_ > 0) {
    const grpc::Slice &slice = slices_[slice_];
    const size_t size = std::min(payload_, slice.size() - offset_);
    if (size > 0)
      use(absl::MakeConstSpan(
          reinterpret_cast<const std::byte *>(slice.begin()) + offset_, size));
    offset_ += size;
    left_ -= size;
    payload_ -= size;
    if (offset_ == slice.size()) {
      slices_[slice_] = grpc::Slice();  // gives the memory back early
      ++slice_;
      offset_ = 0;
    }
  }
}

bool PacketReader::ReadVarint(uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 64 && left_ > 0; shift += 7) {
    while (offset_ == slices_[slice_].size()) {
      ++slice_;
      offset_ = 0;
    }
    const uint8_t byte = slices_[slice_].begin()[offset_++];
    --left_;
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool PacketReader::ReadLength(size_t limit, size_t *length) {
  uint64_t tag = 0, value = 0;
  if (!ReadVarint(&tag) || tag != static_cast<uint64_t>(kFirst) ||
      !ReadVarint(&value) || value > left_ || value > limit)
    return false;
  *length = value;
  return true;
}

absl::StatusOr<bool> PacketReader::Next(
    google::protobuf::MessageLite *header) {
  ReadPayload([](absl::Span<const std::byte>) {});
  if (left_ == 0) return false;
  size_t frame = 0, header_bytes = 0;
  if (!ReadLength(left_, &frame)) return Malformed();
  const size_t after = left_ - frame;  // bytes of the packet behind this frame
  if (!ReadLength(max_header_, &header_bytes)) return Malformed();
  if (left_ < after + header_bytes) return Malformed();
  scratch_.clear();
  payload_ = header_bytes;
  ReadPayload([this](absl::Span<const std::byte> piece) {
    scratch_.append(reinterpret_cast<const char *>(piece.data()), piece.size());
  });
  if (!header->ParseFromString(scratch_)) return Malformed();
  if (left_ > after) {
    uint64_t tag = 0, size = 0;
    if (!ReadVarint(&tag) || tag != static_cast<uint64_t>(kSecond) ||
        !ReadVarint(&size) || left_ < after || size != left_ - after)
      return Malformed();
    payload_ = size;
  }
  return true;
}

}  // namespace commsched::transport
