// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/profile/ProfileText.h"

#include <cmath>

#include "llvm/ADT/StringRef.h"

#include "plan/limits.h"

using namespace mlir;
using namespace commsched::profile;

std::vector<StringRef> ProfileText::getLines() const {
  std::vector<StringRef> lines;
  for (StringRef rest = getText(); !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    line = line.rtrim();
    if (!line.empty())
      lines.push_back(line);
  }
  return lines;
}

Location ProfileText::at(StringRef piece) const {
  auto [line, column] =
      sources.getLineAndColumn(llvm::SMLoc::getFromPointer(piece.data()),
                               sources.getMainFileID());
  StringRef file =
      sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  return FileLineColLoc::get(context, file, line, column);
}

Location ProfileText::atFile() const {
  return FileLineColLoc::get(
      context,
      sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(), 1,
      1);
}

FailureOr<int64_t> ProfileText::readTime(StringRef field, StringRef value,
                                         double unit) const {
  double number;
  if (value.getAsDouble(number) || !std::isfinite(number) || number < 0)
    return error(value) << "field " << field
                        << " must be a time, not negative, got: '" << value << "'";
  constexpr double kHour = 3600e9;
  if (number * unit > kHour)
    return error(value) << "field " << field << " must be at most an hour, got: "
                        << value;
  return std::llround(number * unit);
}

FailureOr<int64_t> ProfileText::readBytes(StringRef field,
                                          StringRef value) const {
  double number;
  constexpr auto kMost = static_cast<double>(kMaxTensorBytes);
  if (value.getAsDouble(number) || !(number >= 0) || number > kMost ||
      number != std::floor(number))
    return error(value) << "field " << field
                        << " must be a number of bytes, up to 2^46, as a tensor has, got: '"
                        << value << "'";
  return static_cast<int64_t>(number);
}

FailureOr<int64_t> ProfileText::readFloatBytes(StringRef field,
                                               StringRef value) const {
  FailureOr<int64_t> bytes = readBytes(field, value);
  if (succeeded(bytes) && *bytes % 4 != 0)
    return error(value) << "field " << field
                        << " must be a multiple of 4, being of f32 values, got: "
                        << value;
  return bytes;
}
