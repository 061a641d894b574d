// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of files of costs, field by field, and what may be wrong with them.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_COSTTEXTS_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_COSTTEXTS_H

#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace commsched::cost_texts {

/// A field of an object: its value as it stands in the text, or objects.
struct Field;
using Object = std::vector<Field>;
struct Field {
  std::string name, value;
  std::vector<Object> objects;
  bool isList = false;
  bool isRead = true; ///< else no reader looks at it
};

inline std::string textOf(const Object &object) {
  std::string text = "{";
  for (const Field &field : object) {
    text += (text.size() > 1 ? "," : "") + ("\"" + field.name + "\":");
    if (!field.isList) {
      text += field.value;
      continue;
    }
    text += "[";
    for (size_t i = 0; i < field.objects.size(); ++i)
      text += (i ? ",\n" : "\n") + textOf(field.objects[i]);
    text += "]";
  }
  return text + "}";
}

inline Field number(const char *name, int64_t value) { return {name, std::to_string(value), {}}; }
inline Field text(const char *name, const std::string &value) { return {name, "\"" + value + "\"", {}}; }
inline Field list(const char *name, std::vector<Object> objects) { return {name, "", std::move(objects), true}; }
inline Field unread(Field field) {
  field.isRead = false;
  return field;
}

/// What may be in the place of a field, but never is what a reader takes.
struct Wrong {
  const char *value;
  bool isJson;
};
inline constexpr Wrong kWrong[] = {{"NaN", false}, {"nan", false}, {"-Infinity", false}, {"1e400", false}, {"", false}, {"-1", true}, {"1.5", true}, {"null", true}, {"\"7\"", true}, {"true", true}, {"{}", true}, {"[3]", true}, {"99999999999999999999", true}, {"-1e300", true}};

/// Changes one field somewhere. Whether the file is still right; nothing: it says something else, and may be.
inline std::optional<bool> mutate(std::mt19937_64 &random, Object &root) {
  Object *object = &root;
  // Down to some object of some list.
  while (random() % 4 != 0) {
    std::vector<Object *> inside;
    for (Field &field : *object)
      for (Object &each : field.objects)
        inside.push_back(&each);
    if (inside.empty())
      break;
    object = inside[random() % inside.size()];
  }
  Field &field = (*object)[random() % object->size()];
  switch (random() % 5) {
  case 0: { // gone
    bool optional = !field.isRead || field.name == "busy_message_ns" || field.name == "processor_ns" || field.name == "quiet_median_ns" || field.name == "min_ns";
    std::optional<bool> verdict;
    if (!optional)
      verdict = false;
    else if (!field.isRead)
      verdict = true;
    object->erase(object->begin() + (&field - object->data()));
    return verdict;
  }
  case 1: // more than there should be
    object->push_back({"more", random() % 2 ? "7" : "{\"a\":[null,\"NaN\"]}", {}});
    return true;
  case 2: // twice
    object->push_back(field);
    return false;
  default:
    const Wrong &wrong = kWrong[random() % std::size(kWrong)];
    // Another name is one all the same.
    if (std::string(wrong.value) == "\"7\"" && (field.name == "label" || field.name == "name" || field.name == "plan"))
      return mutate(random, root);
    bool isRight = wrong.isJson && !field.isRead;
    field = {field.name, wrong.value, {}, false, field.isRead};
    return isRight;
  }
}

} // namespace commsched::cost_texts

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_COSTTEXTS_H
