// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TESTS_RUNTIME_TEST_UTIL_H
#define COMMSCHED_TESTS_RUNTIME_TEST_UTIL_H

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/session/session.h"
#include "tests/runtime/plan_builder.h"

namespace commsched::testing {

template <typename T>
absl::Span<const std::byte> BytesOf(const std::vector<T> &v) {
  return {reinterpret_cast<const std::byte *>(v.data()), v.size() * sizeof(T)};
}
template <typename T>
absl::Span<std::byte> MutableBytesOf(std::vector<T> &v) {
  return {reinterpret_cast<std::byte *>(v.data()), v.size() * sizeof(T)};
}

inline std::unique_ptr<runtime::Session> Open(
    const PlanBuilder &plan, runtime::SessionOptions options = {}) {
  auto image = runtime::PlanImage::Load(plan.Bytes());
  EXPECT_TRUE(image.ok()) << image.status();
  if (!image.ok()) return nullptr;
  auto session = runtime::Session::InProcess(*image, options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

// The error of loading a plan file for all ranks and servers, or "".
std::string LoadError(const std::string &bytes);

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = ::testing::TempDir() + "/commsched.XXXXXX";
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::string command = "rm -rf '" + path_ + "'";
    if (!path_.empty() && std::system(command.c_str()) != 0) std::abort();
  }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The bytes of a file, none if it cannot be read.
inline std::string ReadAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A file for cs-run's --token-file, one in a folder.
inline std::string TokenFile(const TemporaryFolder &folder) {
  const std::string path = folder / "token";
  if (access(path.c_str(), F_OK) == 0) return path;
  std::ofstream(path) << "the token of the processes of a test\n";
  EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  return path;
}

// The size of the vectors of Trainer.
inline constexpr int kTrainerSize = 100;

// step: w' = w + mean over workers of x; metric loss = sum of w before that.
// eval: metric total = sum of w. Slots: 0 "w", 1 "n" (must be kTrainerSize).
PlanBuilder Trainer(int nodes, bool deferred = true, bool halving = false);

// Sets w to `value` and n.
void StartTrainer(runtime::Session *session, float value);
// Runs `count` steps from step `first` on inputs that depend on the step.
void RunTrainer(runtime::Session *session, int first, int count);

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_TEST_UTIL_H
