// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/registry.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "ops/onednn/kernels.h"
#include "ops/sparse/kernels.h"

namespace commsched::ops {
namespace {

struct Table {
  std::mutex mu;
  KernelFamilies kinds;
};

Table &GlobalTable() {
  static Table *table = [] {
    auto *t = new Table;
    AddOneDnnKernels(&t->kinds);
    AddSparseKernels(&t->kinds);
    return t;
  }();
  return *table;
}

absl::StatusOr<KernelFamily> Find(const std::string &kind) {
  Table &table = GlobalTable();
  std::lock_guard<std::mutex> lock(table.mu);
  auto it = table.kinds.find(kind);
  if (it != table.kinds.end()) return it->second;
  std::string known;
  for (const auto &[name, family] : table.kinds)
    absl::StrAppend(&known, known.empty() ? "" : ", ", name);
  return absl::UnimplementedError(
      absl::StrCat("unknown kind, this build has: ", known));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeKernel(
    const KernelDesc &desc) {
  absl::StatusOr<KernelFamily> family = Find(desc.kind);
  if (!family.ok()) return family.status();
  if (absl::Status s = family->check(desc); !s.ok()) return s;
  return family->make(desc);
}

absl::Status CheckKernel(const KernelDesc &desc) {
  absl::StatusOr<KernelFamily> family = Find(desc.kind);
  if (!family.ok()) return family.status();
  return family->check(desc);
}

void PrepareComputeThread() { PrepareOneDnnThread(); }

void RegisterKernel(const std::string &kind, const KernelFamily &family) {
  Table &table = GlobalTable();
  std::lock_guard<std::mutex> lock(table.mu);
  table.kinds[kind] = family;
}

}  // namespace commsched::ops
