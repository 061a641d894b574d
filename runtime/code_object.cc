// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/code_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plan/plan.pb.h"

namespace commsched::runtime {
namespace {

// Everything that the dynamic linker reads without checking.
absl::Status CheckElf(absl::string_view elf) {
  auto bad = [](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("code object is not a usable ELF shared object: ", what));
  };
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header)) return bad("its header is incomplete");
  std::memcpy(&header, elf.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return bad("no ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64 || header.e_type != ET_DYN)
    return bad("must match a 64-bit x86-64 shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phoff > elf.size() ||
      (elf.size() - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum)
    return bad("its program headers lie outside of it");
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof(segment),
                sizeof(segment));
    if (segment.p_offset > elf.size() ||
        segment.p_filesz > elf.size() - segment.p_offset)
      return bad("a segment lies outside of it");
    if (segment.p_memsz > (uint64_t{1} << 32)) return bad("a segment is too large");
  }
  return absl::OkStatus();
}

}  // namespace

CodeLibrary::~CodeLibrary() {
  for (void *handle : handles_) dlclose(handle);
  for (int fd : descriptors_) close(fd);
}

absl::Status CodeLibrary::Load(absl::string_view target, absl::string_view elf) {
  if (!absl::StartsWith(target, "x86_64"))
    return absl::UnimplementedError(
        absl::StrCat("code object is for another machine: target must match "
                     "x86_64, got: ",
                     target));
  if (absl::Status status = CheckElf(elf); !status.ok()) return status;
  int fd = memfd_create("commsched-fragments", MFD_CLOEXEC);
  if (fd < 0)
    return absl::InternalError(
        absl::StrCat("memfd_create: ", std::strerror(errno)));
  size_t written = 0;
  while (written < elf.size()) {
    ssize_t n = write(fd, elf.data() + written, elf.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      absl::Status status = absl::ResourceExhaustedError(
          absl::StrCat("code object cannot be loaded: ", std::strerror(errno)));
      close(fd);
      return status;
    }
    written += size_t(n);
  }
  // The linker knows libraries by path, and would give back an earlier one of
  // the same descriptor number: the descriptor stays open as long as the code.
  void *handle = dlopen(absl::StrCat("/proc/self/fd/", fd).c_str(),
                        RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char *error = dlerror();
    absl::Status status = absl::InvalidArgumentError(absl::StrCat(
        "code object cannot be loaded: ", error != nullptr ? error : "?"));
    close(fd);
    return status;
  }
  handles_.push_back(handle);
  descriptors_.push_back(fd);
  return absl::OkStatus();
}

absl::StatusOr<CsFragmentFn> CodeLibrary::Find(
    size_t object, const std::string &symbol) const {
  if (void *address = dlsym(handles_[object], symbol.c_str()))
    return reinterpret_cast<CsFragmentFn>(address);
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
