// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/code_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plan/plan.pb.h"
#include "runtime/base/status_util.h"
#include "runtime/loading/code_object_check.h"

namespace commsched::runtime {
namespace {

// A file of memory with these bytes, without a name.
absl::StatusOr<int> FileOf(absl::string_view bytes) {
  int fd = memfd_create("commsched-fragments", MFD_CLOEXEC);
  if (fd < 0)
    return absl::InternalError(
        absl::StrCat("memfd_create: ", std::strerror(errno)));
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      absl::Status status = absl::ResourceExhaustedError(
          absl::StrCat("code object cannot be loaded: ", std::strerror(errno)));
      close(fd);
      return status;
    }
    bytes.remove_prefix(size_t(n));
  }
  return fd;
}

}  // namespace

CodeLibrary::~CodeLibrary() {
  for (Object &object : objects_) {
    if (object.handle != nullptr) dlclose(object.handle);
    if (object.descriptor >= 0) close(object.descriptor);
  }
}

absl::Status CodeLibrary::Add(absl::string_view target, absl::string_view elf) {
  if (!absl::StartsWith(target, "x86_64"))
    return absl::UnimplementedError(
        absl::StrCat("code object is for another machine: target must match "
                     "x86_64, got: ",
                     target));
  absl::StatusOr<std::vector<std::string>> functions = CheckCodeObject(elf);
  if (!functions.ok()) return functions.status();
  Object &object = objects_.emplace_back();
  object.elf = std::string(elf);
  for (const std::string &name : *functions) object.fragments[name];
  return absl::OkStatus();
}

absl::Status CodeLibrary::MapObject(Object *object) {
  absl::StatusOr<int> file = FileOf(object->elf);
  if (!file.ok()) return file.status();
  // The linker knows libraries by path, and would give back an earlier one of
  // the same descriptor number: the descriptor stays open as long as the code.
  object->descriptor = *file;
  object->handle = dlopen(absl::StrCat("/proc/self/fd/", *file).c_str(),
                          RTLD_NOW | RTLD_LOCAL);
  if (object->handle == nullptr) {
    const char *error = dlerror();
    return absl::InvalidArgumentError(absl::StrCat(
        "code object cannot be loaded: ", error != nullptr ? error : "?"));
  }
  for (auto &[name, fragment] : object->fragments) {
    fragment.function =
        reinterpret_cast<CsFragmentFn>(dlsym(object->handle, name.c_str()));
    if (fragment.function == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "code object cannot be loaded: \"", name, "\" is not in its hash table"));
  }
  object->elf = std::string();
  return absl::OkStatus();
}

absl::Status CodeLibrary::MapAll() const {
  for (size_t i = 0; i < objects_.size(); ++i)
    if (absl::Status s = MapObject(&objects_[i]); !s.ok())
      return absl::Status(s.code(), absl::StrCat("object ", i, ": ", s.message()));
  return absl::OkStatus();
}

absl::Status CodeLibrary::Map() const {
  MutexLock lock(&mu_);
  if (!mapped_) mapped_ = MapAll();
  return Unshared(*mapped_);
}

absl::StatusOr<const Fragment *> CodeLibrary::Find(
    size_t object, const std::string &symbol) const {
  const auto &fragments = objects_[object].fragments;
  if (auto at = fragments.find(symbol); at != fragments.end()) return &at->second;
  return absl::InvalidArgumentError(
      absl::StrCat("code object ", object, " has no symbol \"", symbol, "\""));
}

absl::Status CheckProcessor(uint64_t required_features) {
  auto needs = [&](plan::Feature feature) {
    return (required_features >> feature) & 1;
  };
  std::string missing;
  auto need = [&](bool has, const char *name) {
    if (!has) absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
  };
  __builtin_cpu_init();
  if (needs(plan::FEATURE_X86_64_V3) || needs(plan::FEATURE_X86_64_V4)) {
    need(__builtin_cpu_supports("avx2"), "AVX2");
    need(__builtin_cpu_supports("fma"), "FMA");
    need(__builtin_cpu_supports("bmi2"), "BMI2");
  }
  if (needs(plan::FEATURE_X86_64_V4)) {
    need(__builtin_cpu_supports("avx512f"), "AVX512F");
    need(__builtin_cpu_supports("avx512bw"), "AVX512BW");
    need(__builtin_cpu_supports("avx512dq"), "AVX512DQ");
    need(__builtin_cpu_supports("avx512vl"), "AVX512VL");
    need(__builtin_cpu_supports("avx512cd"), "AVX512CD");
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("plan needs a processor with ", missing));
}

}  // namespace commsched::runtime
