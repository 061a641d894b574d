// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npz: a zip archive of .npy files. Only the central directory is trusted for
// sizes; zip64 fields are read, since NumPy writes them for large arrays.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"
#include "runtime/base/memory.h"
#include "runtime/data/tensor_file.h"

namespace commsched::runtime {
namespace {

// Little-endian integers at a position that may lie outside.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  bool Get(uint64_t at, int size, uint64_t *value) const {
    if (at > bytes_.size() || bytes_.size() - at < uint64_t(size)) return false;
    *value = 0;
    for (int i = 0; i < size; ++i)
      *value |= uint64_t(uint8_t(bytes_[at + uint64_t(i)])) << (8 * i);
    return true;
  }
  bool Slice(uint64_t at, uint64_t size, absl::string_view *out) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return false;
    *out = bytes_.substr(at, size);
    return true;
  }

 private:
  absl::string_view bytes_;
};

struct Entry {
  std::string name;
  uint64_t method = 0, crc = 0, packed = 0, size = 0, header = 0;
};

absl::Status Damaged() {
  return absl::InvalidArgumentError("not an .npz file, or damaged");
}

// Replaces fields that are all ones by those of the zip64 extra field.
bool ApplyZip64(absl::string_view extra, Entry *entry) {
  Reader reader(extra);
  uint64_t at = 0, id, size;
  while (reader.Get(at, 2, &id) && reader.Get(at + 2, 2, &size)) {
    uint64_t field = at + 4;
    if (id == 1)
      for (uint64_t *value : {&entry->size, &entry->packed, &entry->header})
        if (*value == 0xffffffff) {
          if (!reader.Get(field, 8, value)) return false;
          field += 8;
        }
    at += 4 + size;
  }
  return true;
}

absl::StatusOr<std::vector<Entry>> ReadDirectory(absl::string_view zip) {
  Reader reader(zip);
  // The end record is last, before a comment of at most 64 KiB.
  uint64_t value, end = zip.size() < 22 ? 0 : zip.size() - 22;
  uint64_t least = end > 65536 ? end - 65536 : 0;
  bool found = false;
  for (uint64_t at = end;; --at) {
    if (reader.Get(at, 4, &value) && value == 0x06054b50) {
      end = at;
      found = true;
      break;
    }
    if (at == least) break;
  }
  uint64_t count, at;
  if (!found || !reader.Get(end + 10, 2, &count) || !reader.Get(end + 16, 4, &at))
    return Damaged();
  if (at == 0xffffffff || count == 0xffff) {
    uint64_t record;
    if (end < 20 || !reader.Get(end - 20, 4, &value) || value != 0x07064b50 ||
        !reader.Get(end - 12, 8, &record) || !reader.Get(record, 4, &value) ||
        value != 0x06064b50 || !reader.Get(record + 32, 8, &count) ||
        !reader.Get(record + 48, 8, &at))
      return Damaged();
  }
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    Entry entry;
    uint64_t name, extra, comment;
    absl::string_view text;
    if (!reader.Get(at, 4, &value) || value != 0x02014b50 ||
        !reader.Get(at + 10, 2, &entry.method) ||
        !reader.Get(at + 16, 4, &entry.crc) ||
        !reader.Get(at + 20, 4, &entry.packed) ||
        !reader.Get(at + 24, 4, &entry.size) || !reader.Get(at + 28, 2, &name) ||
        !reader.Get(at + 30, 2, &extra) || !reader.Get(at + 32, 2, &comment) ||
        !reader.Get(at + 42, 4, &entry.header) ||
        !reader.Slice(at + 46, name, &text))
      return Damaged();
    entry.name = std::string(text);
    if (!reader.Slice(at + 46 + name, extra, &text) || !ApplyZip64(text, &entry))
      return Damaged();
    entries.push_back(std::move(entry));
    at += 46 + name + extra + comment;
  }
  return entries;
}

absl::StatusOr<Memory> Inflate(absl::string_view packed, uint64_t size) {
  // Deflate makes at most 1032 bytes out of one.
  if (size / 1032 > packed.size() + 1) return Damaged();
  absl::StatusOr<Memory> memory = Memory::Allocate(size);
  if (!memory.ok()) return memory.status();
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Damaged();
  uint64_t in = 0, out = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    constexpr uint64_t kStep = uint64_t{1} << 30;
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + in));
    stream.avail_in = uInt(std::min(kStep, packed.size() - in));
    stream.next_out = reinterpret_cast<Bytef *>(memory->data() + out);
    stream.avail_out = uInt(std::min(kStep, size - out));
    uint64_t had_in = stream.avail_in, had_out = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    in += had_in - stream.avail_in;
    out += had_out - stream.avail_out;
    if (result == Z_OK && stream.avail_in == had_in && stream.avail_out == had_out)
      break;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || out != size) return Damaged();
  return memory;
}

absl::StatusOr<ops::Element> ParseType(absl::string_view descr) {
  static constexpr std::pair<const char *, ops::Element> kTypes[] = {
      {"<f8", ops::Element::kF64},
      {"<f4", ops::Element::kF32},
      {"<f2", ops::Element::kF16},
      {"<V2", ops::Element::kBF16},
      {"|V2", ops::Element::kBF16},
      {"<i8", ops::Element::kI64},
      {"<i4", ops::Element::kI32},
      {"|i1", ops::Element::kI8},
      {"|b1", ops::Element::kI1},
  };
  for (const auto &[name, element] : kTypes)
    if (descr == name) return element;
  return absl::InvalidArgumentError(
      absl::StrCat("element type ", descr, " is not supported"));
}

// What stands after 'key': in the header's Python dictionary.
bool HeaderValue(absl::string_view header, absl::string_view key,
                 absl::string_view *value) {
  size_t at = header.find(absl::StrCat("'", key, "'"));
  if (at == header.npos) return false;
  absl::string_view rest = header.substr(at + key.size() + 2);
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, ":")) return false;
  *value = absl::StripLeadingAsciiWhitespace(rest);
  return true;
}

absl::Status ParseNpy(absl::string_view npy, StoredTensor *tensor) {
  auto bad = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  Reader reader(npy);
  uint64_t major, length;
  if (!absl::StartsWith(npy, "\x93NUMPY") || !reader.Get(6, 1, &major) ||
      major < 1 || major > 3)
    return bad("not an .npy file");
  uint64_t start = major == 1 ? 10 : 12;
  absl::string_view header, descr, order, shape;
  if (!reader.Get(8, major == 1 ? 2 : 4, &length) ||
      !reader.Slice(start, length, &header) ||
      !HeaderValue(header, "descr", &descr) ||
      !HeaderValue(header, "fortran_order", &order) ||
      !HeaderValue(header, "shape", &shape))
    return bad("its header is damaged");
  if (!absl::ConsumePrefix(&descr, "'") || descr.find('\'') == descr.npos)
    return bad("its element type is not supported");
  absl::StatusOr<ops::Element> element =
      ParseType(descr.substr(0, descr.find('\'')));
  if (!element.ok()) return element.status();
  tensor->type.element = *element;
  size_t close = shape.find(')');
  if (!absl::ConsumePrefix(&shape, "(") || close == shape.npos)
    return bad("its shape is damaged");
  shape = shape.substr(0, close - 1);
  uint64_t elements = 1;
  for (absl::string_view dim : absl::StrSplit(shape, ',')) {
    dim = absl::StripAsciiWhitespace(dim);
    if (dim.empty()) continue;
    uint64_t size;
    if (!absl::SimpleAtoi(dim, &size) || size > (uint64_t{1} << 46) ||
        __builtin_mul_overflow(elements, size, &elements) ||
        elements > (uint64_t{1} << 46))
      return bad("its shape is damaged");
    tensor->type.shape.push_back(int64_t(size));
  }
  if (!absl::StartsWith(order, "False") && tensor->type.shape.size() > 1)
    return bad("Fortran order is not supported");
  tensor->type.elements = int64_t(elements);
  tensor->type.bytes = elements * ops::ElementBytes(*element);
  absl::string_view data = npy.substr(start + length);
  if (data.size() != tensor->type.bytes)
    return bad(absl::StrCat("data must match ", tensor->type.bytes,
                            " bytes, got: ", data.size()));
  tensor->data = {reinterpret_cast<const std::byte *>(data.data()), data.size()};
  return absl::OkStatus();
}

absl::Status ReadEntry(absl::string_view zip, const Entry &entry,
                       const std::shared_ptr<const MappedFile> &file,
                       StoredTensor *tensor) {
  Reader reader(zip);
  uint64_t value, name, extra;
  absl::string_view packed;
  if (!reader.Get(entry.header, 4, &value) || value != 0x04034b50 ||
      !reader.Get(entry.header + 26, 2, &name) ||
      !reader.Get(entry.header + 28, 2, &extra) ||
      !reader.Slice(entry.header + 30 + name + extra, entry.packed, &packed))
    return Damaged();
  absl::string_view npy = packed;
  tensor->owner = file;
  if (entry.method == 8) {
    absl::StatusOr<Memory> memory = Inflate(packed, entry.size);
    if (!memory.ok()) return memory.status();
    auto owned = std::make_shared<Memory>(*std::move(memory));
    npy = {reinterpret_cast<const char *>(owned->data()), entry.size};
    tensor->owner = owned;
  } else if (entry.method != 0) {
    return absl::UnimplementedError(
        absl::StrCat("compression method ", entry.method, " is not supported"));
  } else if (entry.packed != entry.size) {
    return Damaged();
  }
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef *>(npy.data()), npy.size());
  if (crc != entry.crc)
    return absl::DataLossError("its checksum does not match");
  return ParseNpy(npy, tensor);
}

}  // namespace

absl::StatusOr<TensorFile> ReadNpz(const std::string &path) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  auto bad = [&](const absl::Status &s, absl::string_view where) {
    return absl::Status(s.code(), absl::StrCat(path, ": ", where, s.message()));
  };
  absl::string_view zip = (*file)->bytes();
  absl::StatusOr<std::vector<Entry>> entries = ReadDirectory(zip);
  if (!entries.ok()) return bad(entries.status(), "");
  TensorFile out;
  out.path = path;
  for (const Entry &entry : *entries) {
    absl::string_view name = entry.name;
    if (!absl::ConsumeSuffix(&name, ".npy")) continue;
    StoredTensor tensor;
    if (absl::Status s = ReadEntry(zip, entry, *file, &tensor); !s.ok())
      return bad(s, absl::StrCat("array \"", name, "\": "));
    out.tensors[std::string(name)] = std::move(tensor);
  }
  return out;
}

absl::StatusOr<TensorFile> ReadTensorFile(const std::string &path) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  return absl::StartsWith((*file)->bytes(), "PK") ? ReadNpz(path)
                                                  : ReadSafetensors(path);
}

absl::StatusOr<const StoredTensor *> TensorFile::Find(
    const std::string &name, const TensorInfo &type) const {
  auto it = tensors.find(name);
  if (it == tensors.end())
    return absl::NotFoundError(
        absl::StrCat(path, ": tensor \"", name, "\" is missing"));
  if (!(it->second.type == type))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor \"", name, "\" must match ", ToString(type),
                     ", got: ", ToString(it->second.type)));
  return &it->second;
}

}  // namespace commsched::runtime
