// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Format: 8 bytes little-endian length of a JSON header; the header, an object
// {name: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {..}};
// then the data, which the offsets count in.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/data/tensor_file.h"

namespace commsched::runtime {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

struct TypeName {
  ops::Element element;
  const char *name;
};
constexpr TypeName kTypes[] = {
    {ops::Element::kF64, "F64"},
    {ops::Element::kF32, "F32"},
    {ops::Element::kF16, "F16"},
    {ops::Element::kBF16, "BF16"},
    {ops::Element::kI64, "I64"},
    {ops::Element::kI32, "I32"},
    {ops::Element::kI8, "I8"},
    {ops::Element::kI1, "BOOL"},
};

const Value *Field(const Value &object, const char *name) {
  if (!object.has_struct_value()) return nullptr;
  auto it = object.struct_value().fields().find(name);
  return it == object.struct_value().fields().end() ? nullptr : &it->second;
}

// A whole number that a double holds exactly.
bool ReadIndex(const Value &value, uint64_t *out) {
  double v = value.number_value();
  if (!value.has_number_value() || !(v >= 0) || v > 0x1p53 || v != std::floor(v))
    return false;
  *out = uint64_t(v);
  return true;
}

absl::Status ReadTensor(const Value &entry, absl::string_view data,
                        StoredTensor *tensor) {
  auto bad = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  const Value *dtype = Field(entry, "dtype"), *shape = Field(entry, "shape"),
              *offsets = Field(entry, "data_offsets");
  if (dtype == nullptr || shape == nullptr || offsets == nullptr ||
      !shape->has_list_value() || offsets->list_value().values_size() != 2)
    return bad("its entry is incomplete");
  const char *known = nullptr;
  for (const TypeName &type : kTypes)
    if (dtype->string_value() == type.name) {
      tensor->type.element = type.element;
      known = type.name;
    }
  if (known == nullptr)
    return bad(absl::StrCat("element type ", dtype->string_value(),
                            " is not supported"));
  uint64_t elements = 1;
  for (const Value &dim : shape->list_value().values()) {
    uint64_t size;
    if (!ReadIndex(dim, &size) ||
        __builtin_mul_overflow(elements, size, &elements) ||
        elements > (uint64_t{1} << 46))
      return bad("its shape is damaged");
    tensor->type.shape.push_back(int64_t(size));
  }
  tensor->type.elements = int64_t(elements);
  tensor->type.bytes = elements * ops::ElementBytes(tensor->type.element);
  uint64_t begin, end;
  if (!ReadIndex(offsets->list_value().values(0), &begin) ||
      !ReadIndex(offsets->list_value().values(1), &end) || begin > end ||
      end > data.size() || end - begin != tensor->type.bytes)
    return bad("its data lies outside of the file or has the wrong size");
  tensor->data = {reinterpret_cast<const std::byte *>(data.data()) + begin,
                  tensor->type.bytes};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorFile> ReadSafetensors(const std::string &path) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  };
  absl::string_view bytes = (*file)->bytes();
  if (bytes.size() < 8) return bad("not a safetensors file");
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  if (length > bytes.size() - 8 || length > 100'000'000)
    return bad("not a safetensors file, or truncated");
  absl::string_view text = bytes.substr(8, length);
  absl::string_view data = bytes.substr(8 + length);
  Struct header;
  auto parsed = google::protobuf::util::JsonStringToMessage(
      {text.data(), text.size()}, &header);
  if (!parsed.ok()) return bad("its header is damaged");
  TensorFile out;
  out.path = path;
  size_t last = 0;  // byte that a tensor has, and one
  for (const auto &[name, entry] : header.fields()) {
    if (name == "__metadata__") {
      for (const auto &[key, value] : entry.struct_value().fields())
        out.metadata[key] = value.string_value();
      continue;
    }
    StoredTensor tensor;
    tensor.owner = *file;
    if (absl::Status s = ReadTensor(entry, data, &tensor); !s.ok())
      return bad(absl::StrCat("tensor \"", name, "\": ", s.message()));
    last = std::max<size_t>(last, reinterpret_cast<const char *>(tensor.data.data()) - data.data() +
                                      tensor.data.size());
    out.tensors[name] = std::move(tensor);
  }
  if (last != data.size()) return bad("its tensors must be all of it, got bytes behind the last one");
  return out;
}

absl::Status WriteSafetensors(
    const std::string &path, const std::vector<TensorToWrite> &tensors,
    const std::map<std::string, std::string> &metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    absl::StrAppend(&header, "\"__metadata__\":{");
    const char *comma = "";
    for (const auto &[key, value] : metadata) {
      absl::StrAppend(&header, comma, JsonQuote(key), ":", JsonQuote(value));
      comma = ",";
    }
    absl::StrAppend(&header, "}");
  }
  uint64_t at = 0;
  for (const TensorToWrite &tensor : tensors) {
    const char *dtype = "";
    for (const TypeName &type : kTypes)
      if (type.element == tensor.type.element) dtype = type.name;
    absl::StrAppend(&header, header.size() > 1 ? "," : "", JsonQuote(tensor.name),
                    ":{\"dtype\":\"", dtype, "\",\"shape\":[",
                    absl::StrJoin(tensor.type.shape, ","),
                    "],\"data_offsets\":[", at, ",");
    at += tensor.data.size();
    absl::StrAppend(&header, at, "]}");
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length.push_back(char(uint64_t(header.size()) >> (8 * i)));
  std::vector<absl::string_view> pieces = {length, header};
  for (const TensorToWrite &tensor : tensors)
    pieces.emplace_back(reinterpret_cast<const char *>(tensor.data.data()),
                        tensor.data.size());
  return WriteFileAtomically(path, pieces);
}

}  // namespace commsched::runtime
