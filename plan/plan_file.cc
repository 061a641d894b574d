// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <cstring>

namespace commsched::plan {
namespace {

constexpr char kMagic[] = {'C', 'S', 'P', 'L', 'A', 'N', '\0'};
constexpr unsigned char kHeaderVersion = 1;  // the byte behind it
constexpr size_t kHeaderBytes = 24;

// CRC-32C (Castagnoli), table driven: a plan is read once.
uint32_t Crc32c(std::string_view data) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? (c >> 1) ^ 0x82F63B78u : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (unsigned char byte : data) crc = table[(crc ^ byte) & 0xff] ^ (crc >> 8);
  return ~crc;
}

void PutU64(uint64_t value, std::string *out) {
  for (int i = 0; i < 8; ++i) out->push_back(char(value >> (8 * i)));
}

uint64_t GetU64(const char *p) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= uint64_t(uint8_t(p[i])) << (8 * i);
  return value;
}

}  // namespace

uint64_t KnownFeatures() {
  uint64_t known = 0;
  for (int i = 1; i < Feature_ARRAYSIZE; ++i) known |= uint64_t{1} << i;
  return known;
}

std::string Serialize(const Plan &plan) {
  std::string payload;
  {
    google::protobuf::io::StringOutputStream stream(&payload);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    plan.SerializeToCodedStream(&coded);
  }
  std::string out(kMagic, sizeof(kMagic));
  out.push_back(char(kHeaderVersion));
  PutU64(payload.size(), &out);
  PutU64(Crc32c(payload), &out);
  return out + payload;
}

std::string Deserialize(std::string_view bytes, Plan *plan) {
  if (bytes.empty()) return "not a CommSched plan: it is empty";
  if (bytes.size() <= sizeof(kMagic) ||
      std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return "not a CommSched plan";
  const auto version = static_cast<unsigned char>(bytes[sizeof(kMagic)]);
  if (version != kHeaderVersion)
    return "plan has header version " + std::to_string(version) +
           ", this build reads " + std::to_string(kHeaderVersion) +
           ": it is of another version of CommSched";
  if (bytes.size() < kHeaderBytes)
    return "plan is truncated: its header is incomplete";
  uint64_t length = GetU64(bytes.data() + 8);
  uint64_t crc = GetU64(bytes.data() + 16);
  std::string_view payload = bytes.substr(kHeaderBytes);
  if (payload.size() < length)
    return "plan is truncated: " + std::to_string(length) +
           " bytes expected, got: " + std::to_string(payload.size());
  if (payload.size() > length)
    return "plan has " + std::to_string(payload.size() - length) +
           " bytes after its end";
  if (Crc32c(payload) != crc) return "plan is damaged: checksum does not match";
  if (payload.size() > INT32_MAX ||
      !plan->ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    return "plan is damaged: it does not parse";
  if (plan->schema_version() == 0 || plan->schema_version() > kSchemaVersion)
    return "plan has schema version " + std::to_string(plan->schema_version()) +
           ", this build reads up to " + std::to_string(kSchemaVersion);
  uint64_t unknown = plan->required_features() & ~KnownFeatures();
  if (unknown != 0)
    return "plan needs features that this build lacks: bits " +
           std::to_string(unknown);
  return "";
}

}  // namespace commsched::plan
