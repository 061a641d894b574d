// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/wire.h"
#include "grpc/base/transport.pb.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace commsched::transport {
namespace {

std::string Flat(const grpc::ByteBuffer &buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string flat;
  for (const grpc::Slice &slice : slices)
    flat.append(reinterpret_cast<const char *>(slice.begin()), slice.size());
  return flat;
}

// The bytes in slices of at most `size`.
grpc::ByteBuffer Cut(const std::string &bytes, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += size)
    slices.emplace_back(bytes.substr(i, size));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::Span<const std::byte> AsBytes(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

Header DataHeader(uint64_t step, uint64_t offset, uint64_t total) {
  Header header;
  header.mutable_data()->mutable_tag()->set_step(step);
  header.mutable_data()->set_offset(offset);
  header.mutable_data()->set_total(total);
  return header;
}

// Frames of all kinds.
std::string Example() {
  PacketWriter writer;
  Header header;
  header.mutable_grant()->mutable_tag()->set_key(7);
  header.mutable_grant()->set_total(300);
  writer.Add(header);
  writer.AddCopy(DataHeader(1, 0, 5), AsBytes("hello"));
  writer.AddSlice(DataHeader(2, 1000, 2000),
                  grpc::Slice(std::string(1000, 'x')));
  writer.Add(DataHeader(3, 0, 0));
  header.mutable_abort()->set_message("why");
  writer.Add(header);
  EXPECT_EQ(writer.frames(), 5u);
  const size_t bytes = writer.bytes();
  std::string flat = Flat(writer.Finish());
  EXPECT_EQ(flat.size(), bytes);
  EXPECT_EQ(writer.frames(), 0u);
  return flat;
}

TEST(Wire, WriterWritesWhatProtobufReads) {
  Packet packet;
  ASSERT_TRUE(packet.ParseFromString(Example()));
  ASSERT_EQ(packet.frames_size(), 5);
  EXPECT_EQ(packet.frames(0).header().grant().total(), 300u);
  EXPECT_EQ(packet.frames(1).payload(), "hello");
  EXPECT_EQ(packet.frames(2).payload(), std::string(1000, 'x'));
  EXPECT_EQ(packet.frames(2).header().data().offset(), 1000u);
  EXPECT_EQ(packet.frames(4).header().abort().message(), "why");
  EXPECT_EQ(packet.SerializeAsString(), Example());
}

TEST(Wire, ReaderReadsSlicesCutAnywhere) {
  const std::string bytes = Example();
  for (size_t size : {1, 2, 3, 7, 64, 100000}) {
    PacketReader reader(Cut(bytes, size));
    Header header;
    std::vector<std::string> payloads;
    while (true) {
      auto more = reader.Next(&header);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) break;
      std::string payload;
      const size_t announced = reader.payload_bytes();
      // Leaves one payload unread: it is skipped.
      if (payloads.size() != 1)
        reader.ReadPayload([&](absl::Span<const std::byte> piece) {
          payload.append(reinterpret_cast<const char *>(piece.data()),
                         piece.size());
        });
      EXPECT_TRUE(payloads.size() == 1 || payload.size() == announced);
      payloads.push_back(payload);
    }
    EXPECT_EQ(payloads, (std::vector<std::string>{
                            "", "", std::string(1000, 'x'), "", ""}));
    EXPECT_EQ(header.abort().message(), "why");
  }
}

TEST(Wire, ReaderRefusesTruncatedPackets) {
  const std::string bytes = Example();
  int accepted = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    PacketReader reader(Cut(bytes.substr(0, size), 5));
    Header header;
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) more = reader.Next(&header);
    accepted += more.ok();
    if (!more.ok()) {
      EXPECT_EQ(more.status().code(), absl::StatusCode::kDataLoss);
    }
  }
  EXPECT_EQ(accepted, 4);  // those that end between two frames
}

TEST(Wire, ReaderSurvivesAnyBytes) {
  const std::string example = Example();
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = example;
    const int changes = 1 + random() % 8;
    for (int change = 0; change < changes; ++change) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.insert(at, 1 + random() % 12, static_cast<char>(random()));
          break;
        case 2:
          bytes.erase(at, 1 + random() % 4);
          break;
        case 3:
          bytes = bytes.substr(0, at + 1);
          break;
      }
      if (bytes.empty()) bytes = "x";
    }
    PacketReader reader(Cut(bytes, 1 + random() % 64));
    Header header;
    size_t read = 0;
    absl::StatusOr<bool> more = true;
    while ((more = reader.Next(&header)).ok() && *more)
      reader.ReadPayload(
          [&](absl::Span<const std::byte> piece) { read += piece.size(); });
    ++(more.ok() ? accepted : refused);
    EXPECT_LE(read, bytes.size());
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(Wire, ReaderRefusesLongHeaders) {
  Packet packet;
  packet.add_frames()->mutable_header()->mutable_abort()->set_message(
      std::string(kMaxHeaderBytes, 'x'));
  PacketReader reader(Cut(packet.SerializeAsString(), 1000));
  Header header;
  EXPECT_EQ(reader.Next(&header).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Wire, TextOfPeersIsShownAsItIs) {
  const std::string plain = "\"w\" ('a' <b>) \\ 100 % -> \u00e9 \u2713 \U0001f600";
  EXPECT_EQ(Printable(plain), plain);
  EXPECT_EQ(Printable(Printable(plain)), plain);
  EXPECT_EQ(Printable(""), "");
}

TEST(Wire, TextOfPeersCannotControlTheTerminal) {
  EXPECT_EQ(Printable("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
  EXPECT_EQ(Printable(absl::string_view("\0.", 2)), "\\x00.");
  // A control character in UTF-8, longer than needed, a surrogate, beyond
  // Unicode, cut off, a byte from the middle.
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(Printable("\xc1\x81"), "\\xc1\\x81");
  EXPECT_EQ(Printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Printable("\xe2\x9c"), "\\xe2\\x9c");
  EXPECT_EQ(Printable("\x80 "), "\\x80 ");
}

}  // namespace
}  // namespace commsched::transport
