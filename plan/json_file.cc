// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/json_file.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <utility>

namespace commsched::plan {
namespace {

using google::protobuf::Value;

constexpr int64_t kVersion = 1;

const Value *Find(const JsonFile::Object &of, const char *field) {
  auto it = of.fields().find(field);
  return it == of.fields().end() ? nullptr : &it->second;
}

// Of a value that is no number, or not such a one; null: of none.
std::string Shown(const Value *value) {
  if (value == nullptr) return "nothing";
  switch (value->kind_case()) {
    case Value::kNumberValue: {
      char text[32];
      return {text, std::to_chars(text, text + sizeof(text), value->number_value()).ptr};
    }
    case Value::kStringValue: return "\"" + value->string_value() + "\"";
    case Value::kListValue: return "a list";
    case Value::kStructValue: return "an object";
    case Value::kBoolValue: return value->bool_value() ? "true" : "false";
    default: return "null";
  }
}

}  // namespace

JsonFile::JsonFile(std::string_view text, std::string_view format) {
  google::protobuf::LogSilencer silence;
  if (!google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &root_).ok())
    Fail("is no JSON object");
  const Value *found = Find(root_, "format");
  if (found == nullptr || found->string_value() != format)
    Fail("format must be \"" + std::string(format) + "\", got: \"" +
         (found == nullptr ? "" : found->string_value()) + "\"");
  const int64_t version = Number(root_, "version", "file", 0, kMostFileCount);
  if (version != kVersion)
    Fail("version must be " + std::to_string(kVersion) + ", got: " + std::to_string(version));
}

void JsonFile::Fail(std::string error) {
  if (ok()) error_ = std::move(error);
}

bool JsonFile::Has(const Object &of, const char *field) { return Find(of, field) != nullptr; }

int64_t JsonFile::Number(const Object &of, const char *field, const std::string &where, int64_t least, int64_t most) {
  if (!ok()) return 0;
  const Value *value = Find(of, field);
  const double number = value != nullptr ? value->number_value() : 0;
  // The bounds are whole numbers that a double holds, so what is between them can be converted.
  if (value != nullptr && value->kind_case() == Value::kNumberValue && number >= double(least) &&
      number <= double(most) && number == double(int64_t(number)))
    return int64_t(number);
  Fail(where + ": \"" + field + "\" must be a whole number of " + std::to_string(least) + " to " + std::to_string(most) +
       ", got: " + Shown(value));
  return 0;
}

std::string JsonFile::Text(const Object &of, const char *field, const std::string &where) {
  if (!ok()) return "";
  const Value *value = Find(of, field);
  if (value != nullptr && value->kind_case() == Value::kStringValue) return value->string_value();
  Fail(where + ": \"" + field + "\" must be a text");
  return "";
}

void JsonFile::Each(const Object &of, const char *field, const std::string &where,
                    const std::function<void(const Object &)> &read) {
  if (!ok()) return;
  const Value *list = Find(of, field);
  if (list == nullptr || list->kind_case() != Value::kListValue)
    return Fail(where + ": \"" + field + "\" must be a list");
  for (const Value &value : list->list_value().values()) {
    if (value.kind_case() != Value::kStructValue)
      return Fail(where + ": \"" + field + "\" must be a list of objects");
    read(value.struct_value());
    if (!ok()) return;
  }
}

std::string CheckModule(std::string_view of_file, std::string_view module) {
  if (of_file == module) return "";
  return "is of another program: module must match \"" + std::string(module) + "\", got: \"" + std::string(of_file) + "\"";
}

}  // namespace commsched::plan
