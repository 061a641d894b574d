// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of JSON that CommSched has written, from outside: field by field, each as it must be.
#ifndef COMMSCHED_PLAN_JSON_FILE_H
#define COMMSCHED_PLAN_JSON_FILE_H

#include <google/protobuf/struct.pb.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace commsched::plan {

inline constexpr int64_t kMostFileNs = int64_t{3600} * 1'000'000'000;
inline constexpr int64_t kMostFileCount = int64_t{1} << 50;

// Keeps the first thing that is wrong, as one line; what is read behind it is 0, empty or nothing.
class JsonFile {
 public:
  using Object = google::protobuf::Struct;

  // Of this format, and version 1.
  JsonFile(std::string_view text, std::string_view format);

  const Object &root() const { return root_; }
  const std::string &error() const { return error_; }
  bool ok() const { return error_.empty(); }
  void Fail(std::string error);

  static bool Has(const Object &of, const char *field);
  // `where` says in an error which object of the file it is.
  int64_t Number(const Object &of, const char *field, const std::string &where, int64_t least, int64_t most);
  std::string Text(const Object &of, const char *field, const std::string &where);
  // Until something is wrong.
  void Each(const Object &of, const char *field, const std::string &where,
            const std::function<void(const Object &)> &read);

 private:
  Object root_;
  std::string error_;
};

// Why a file whose "module" this is is not of the program of this name: the empty string, or one line.
std::string CheckModule(std::string_view of_file, std::string_view module);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_JSON_FILE_H
