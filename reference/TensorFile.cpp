// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/TensorFile.h"

#include "ir/OutputFile.h"
#include "ir/ReadText.h"
#include "reference/Scalar.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

static llvm::Error bad(StringRef path, const Twine &why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), path + ": " + why);
}

/// Null if it is not one that level 0 has.
static Type typeOf(StringRef dtype, MLIRContext *context) {
  Builder builder(context);
  if (dtype == "BOOL")
    return builder.getI1Type();
  if (dtype == "BF16")
    return builder.getBF16Type();
  unsigned width;
  if (dtype.empty() || dtype.drop_front().getAsInteger(10, width) ||
      !llvm::is_contained({8u, 16u, 32u, 64u}, width))
    return Type();
  if (dtype[0] == 'I' || dtype[0] == 'U')
    return builder.getIntegerType(width);
  if (dtype[0] != 'F' || width == 8)
    return Type();
  return width == 64   ? Type(builder.getF64Type())
         : width == 32 ? Type(builder.getF32Type())
                       : Type(builder.getF16Type());
}

static std::string dtypeOf(Type type) {
  if (type.isInteger(1))
    return "BOOL";
  if (type.isBF16())
    return "BF16";
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return (isa<FloatType>(type) ? "F" : "I") + std::to_string(width);
}

llvm::Expected<NamedArrays> commsched::reference::readSafetensors(StringRef path,
                                                                  MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return bad(path, buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length = 0;
  if (bytes.size() >= sizeof(length))
    std::memcpy(&length, bytes.data(), sizeof(length));
  if (bytes.size() < sizeof(length) || length > bytes.size() - sizeof(length))
    return bad(path, "is not a safetensors file");
  llvm::Expected<llvm::json::Value> header =
      parseJson(bytes.substr(sizeof(length), length));
  if (!header)
    return bad(path, "is not a safetensors file: " + llvm::toString(header.takeError()));
  const llvm::json::Object *entries = header->getAsObject();
  if (!entries)
    return bad(path, "is not a safetensors file");
  StringRef data = bytes.drop_front(sizeof(length) + length);
  NamedArrays arrays;
  for (const auto &[key, value] : *entries) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    const llvm::json::Object *entry = value.getAsObject();
    const llvm::json::Array *shape = entry ? entry->getArray("shape") : nullptr;
    const llvm::json::Array *offsets = entry ? entry->getArray("data_offsets") : nullptr;
    std::optional<StringRef> dtype = entry ? entry->getString("dtype") : std::nullopt;
    if (!shape || !offsets || !dtype || offsets->size() != 2)
      return bad(path, "\"" + name + "\" needs dtype, shape and data_offsets");
    Type type = typeOf(*dtype, context);
    if (!type)
      return bad(path, "\"" + name + "\" has an element type that is not known, got: " + *dtype);
    SmallVector<int64_t> sizes;
    uint64_t most = data.size() + 1, count = 1;
    for (const llvm::json::Value &size : *shape) {
      std::optional<int64_t> number = size.getAsInteger();
      if (!number || *number < 0 || static_cast<uint64_t>(*number) > most)
        return bad(path, "\"" + name + "\" has a shape that is not in the file");
      sizes.push_back(*number);
      count *= static_cast<uint64_t>(*number);
      if (count > most)
        return bad(path, "\"" + name + "\" has a shape that is not in the file");
    }
    std::optional<int64_t> begin = (*offsets)[0].getAsInteger();
    std::optional<int64_t> end = (*offsets)[1].getAsInteger();
    if (!begin || !end || *begin < 0 || *end < *begin ||
        static_cast<uint64_t>(*end) > data.size() ||
        static_cast<uint64_t>(*end - *begin) != count * elementBytes(type))
      return bad(path, "\"" + name + "\" has offsets that do not match its shape");
    StringRef part = data.slice(*begin, *end);
    arrays[name.str()] = fromBytes(RankedTensorType::get(sizes, type),
                                   ArrayRef<char>(part.data(), part.size()));
  }
  return arrays;
}

llvm::Error commsched::reference::writeSafetensors(StringRef path,
                                                   const NamedArrays &arrays) {
  llvm::json::Object header;
  int64_t offset = 0;
  for (const auto &[name, array] : arrays) {
    int64_t size = array->size() * elementBytes(array->elementType);
    header[name] = llvm::json::Object{
        {"dtype", dtypeOf(array->elementType)},
        {"shape", llvm::json::Array(array->shape)},
        {"data_offsets", llvm::json::Array{offset, offset + size}}};
    offset += size;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string error;
  std::unique_ptr<OutputFile> file = OutputFile::open(path, &error);
  if (!file)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), error);
  uint64_t length = text.size();
  file->os().write(reinterpret_cast<const char *>(&length), sizeof(length));
  file->os() << text;
  for (const auto &[name, array] : arrays) {
    std::vector<char> bytes = toBytes(*array);
    file->os().write(bytes.data(), bytes.size());
  }
  error = file->keep();
  if (!error.empty())
    return bad(path, "cannot be written: " + error);
  return llvm::Error::success();
}

ArrayPtr commsched::reference::boundsOf(const Array &array) {
  ArrayPtr bounds = makeZeros(Float64Type::get(array.elementType.getContext()), array.shape);
  bounds->values = array.bounds;
  return bounds;
}
