// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a session by name.
#ifndef COMMSCHED_TESTS_RUNTIME_SESSION_VALUES_H
#define COMMSCHED_TESTS_RUNTIME_SESSION_VALUES_H

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/session/session.h"
#include "tests/runtime/test_util.h"

namespace commsched::testing {

inline uint32_t IndexOf(runtime::Session *session, const std::string &name) {
  for (uint32_t i = 0; i < session->values().size(); ++i)
    if (session->values()[i].name == name) return i;
  ADD_FAILURE() << "no value " << name;
  return 0;
}

template <typename T>
void Set(runtime::Session *session, const std::string &name, const std::vector<T> &value) {
  absl::Status s = session->SetValue(IndexOf(session, name), BytesOf(value));
  ASSERT_TRUE(s.ok()) << s;
}

template <typename T = float>
std::vector<T> Get(runtime::Session *session, const std::string &name) {
  uint32_t i = IndexOf(session, name);
  std::vector<T> value(session->values()[i].type.bytes / sizeof(T));
  absl::Status s = session->GetValue(i, MutableBytesOf(value));
  EXPECT_TRUE(s.ok()) << s;
  return value;
}

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_SESSION_VALUES_H
