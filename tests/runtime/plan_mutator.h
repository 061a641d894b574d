// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TESTS_RUNTIME_PLAN_MUTATOR_H
#define COMMSCHED_TESTS_RUNTIME_PLAN_MUTATOR_H

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <vector>

namespace commsched::testing {

// Changes fields of the message at random, so that the checksum is right and
// the checks of the loader are what is tested.
class PlanMutator {
 public:
  explicit PlanMutator(uint32_t seed) : random_(seed) {}

  void Mutate(google::protobuf::Message *message) {
    const auto *descriptor = message->GetDescriptor();
    const auto *reflection = message->GetReflection();
    std::vector<const google::protobuf::FieldDescriptor *> fields;
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto *field = descriptor->field(i);
      // Machine code is trusted.
      if (field->name() == "elf" || field->is_map()) continue;
      bool there = field->is_repeated() ? reflection->FieldSize(*message, field) > 0
                                        : reflection->HasField(*message, field);
      bool scalar = field->cpp_type() != field->CPPTYPE_MESSAGE;
      if (there || (scalar && !field->is_repeated())) fields.push_back(field);
    }
    if (fields.empty()) return;
    const auto *field = fields[random_() % fields.size()];
    if (field->cpp_type() == field->CPPTYPE_MESSAGE) {
      if (field->is_repeated()) {
        int size = reflection->FieldSize(*message, field);
        int at = int(random_() % uint32_t(size));
        if (random_() % 16 == 0) return reflection->RemoveLast(message, field);
        if (random_() % 16 == 0)
          return reflection->SwapElements(message, field, at, int(random_() % uint32_t(size)));
        return Mutate(reflection->MutableRepeatedMessage(message, field, at));
      }
      if (random_() % 16 == 0) return reflection->ClearField(message, field);
      return Mutate(reflection->MutableMessage(message, field));
    }
    if (field->is_repeated()) {
      int at = int(random_() % uint32_t(reflection->FieldSize(*message, field)));
      if (field->cpp_type() == field->CPPTYPE_UINT32)
        reflection->SetRepeatedUInt32(message, field, at, uint32_t(Number()));
      if (field->cpp_type() == field->CPPTYPE_INT64)
        reflection->SetRepeatedInt64(message, field, at, int64_t(Number()));
      return;
    }
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
        return reflection->SetUInt32(message, field, uint32_t(Number()));
      case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetInt32(message, field, int32_t(Number()));
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
        return reflection->SetUInt64(message, field, Number());
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetInt64(message, field, int64_t(Number()));
      case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
        return reflection->SetBool(message, field, random_() % 2 == 0);
      case google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->SetDouble(message, field, double(Number()));
      case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
        return reflection->SetEnumValue(message, field, int(random_() % 10));
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
        return reflection->SetString(message, field, random_() % 2 == 0 ? "" : "other");
      default:
        return;
    }
  }

 private:
  uint64_t Number() {
    switch (random_() % 4) {
      case 0:
        return random_() % 8;
      case 1:
        return uint64_t{1} << (random_() % 64);
      case 2:
        return ~uint64_t{0} - random_() % 8;
      default:
        return random_() % 1000;
    }
  }
  std::mt19937 random_;
};

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_PLAN_MUTATOR_H
