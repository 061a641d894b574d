// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/fake_cublaslt.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/fake_impl.h"
#include "tests/runtime/cuda/fake_library.h"
#include "tests/runtime/cuda/fake_machine.h"
#include "tests/runtime/cuda/fake_product.h"

namespace commsched::runtime::cuda {
namespace {

constexpr int kFailed = 13;
std::atomic<size_t> live{0};

struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

template <typename Handle>
auto *Of(Handle handle) {
  if constexpr (std::is_same_v<Handle, CublasLtOperation>)
    return reinterpret_cast<ProductOperation *>(handle);
  else if constexpr (std::is_same_v<Handle, CublasLtLayout>)
    return reinterpret_cast<ProductLayout *>(handle);
  else
    return reinterpret_cast<Preference *>(handle);
}
template <typename Handle, typename T>
int Make(Handle *handle, T value) {
  ++live;
  *handle = reinterpret_cast<Handle>(new T(value));
  return kProductOk;
}
template <typename Handle>
int Destroy(Handle handle) {
  if (handle == nullptr) return kProductInvalid;
  --live;
  delete Of(handle);
  return kProductOk;
}
template <typename T>
int Set(T *to, const void *value, size_t bytes) {
  if (bytes != sizeof(T)) return kProductInvalid;
  std::memcpy(to, value, bytes);
  return kProductOk;
}

size_t GetVersion() { return 130100; }
const char *GetStatusName(int status) {
  return status == kProductInvalid        ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == kProductNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == kFailed              ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                          : "CUBLAS_STATUS_SUCCESS";
}
int Create(CublasLtHandle *handle) {
  if (ThisThread().device < 0) return 1;
  ++live;
  *handle = reinterpret_cast<CublasLtHandle>(new int(0));
  return kProductOk;
}
int DestroyHandle(CublasLtHandle handle) {
  --live;
  delete reinterpret_cast<int *>(handle);
  return kProductOk;
}
int OperationCreate(CublasLtOperation *made, int compute, int scale) {
  return Make(made, ProductOperation{compute, scale});
}
int OperationSet(CublasLtOperation of, int attribute, const void *value, size_t bytes) {
  if (attribute != 3 && attribute != 4) return kProductInvalid;
  return Set(&Of(of)->transposed[attribute - 3], value, bytes);
}
int LayoutCreate(CublasLtLayout *made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  return Make(made, ProductLayout{type, rows, columns, leading});
}
int LayoutSet(CublasLtLayout of, int attribute, const void *value, size_t bytes) {
  switch (attribute) {
    case 1: return Set(&Of(of)->order, value, bytes);
    case 5: return Set(&Of(of)->batch, value, bytes);
    case 6: return Set(&Of(of)->batch_stride, value, bytes);
    default: return kProductInvalid;
  }
}
int PreferenceCreate(CublasLtPreference *made) { return Make(made, Preference{}); }
int PreferenceSet(CublasLtPreference of, int attribute, const void *value, size_t bytes) {
  if (attribute == 1) return Set(&Of(of)->workspace, value, bytes);
  if (attribute == 3) return Set(&Of(of)->reductions, value, bytes);
  if (attribute < 5 || attribute > 8) return kProductInvalid;
  return Set(&Of(of)->alignments[attribute - 5], value, bytes);
}

// What CublasLtAlgorithm::data has.
enum {
  kSignature,
  kWorkspace,
  kAlignments,
  kParts,
  kRounds
};

int GetHeuristic(CublasLtHandle handle, CublasLtOperation operation, CublasLtLayout a,
                 CublasLtLayout b, CublasLtLayout c, CublasLtLayout d,
                 CublasLtPreference preference, int most, CublasLtHeuristic *found, int *count) {
  if (handle == nullptr || most < 1) return kProductInvalid;
  const Product problem{*Of(operation), *Of(a), *Of(b), *Of(c), *Of(d)};
  if (const int checked = problem.Check(); checked != kProductOk) return checked;
  const Preference &wanted = *Of(preference);
  CublasLtHeuristic result = {};
  uint64_t *data = result.algorithm.data;
  data[kSignature] = problem.Signature();
  for (int i = 0; i < 4; ++i) data[kAlignments] |= uint64_t(wanted.alignments[i]) << (16 * i);
  data[kParts] = 1;
  const uint64_t parts = std::min<uint64_t>(problem.k(), 2 + problem.k() % 3);
  const uint64_t needed = 8 * parts * problem.m() * problem.n() * uint64_t(problem.d.batch);
  if (wanted.reductions != 0 && needed <= wanted.workspace) {
    data[kParts] = parts;
    data[kWorkspace] = needed;
    data[kRounds] = (wanted.reductions & 5) != 0;
  }
  result.workspace_bytes = data[kWorkspace];
  *found = result;
  *count = 1;
  return kProductOk;
}

Bytes RangeOf(const ProductLayout &layout, const void *begin) {
  const uint64_t last = layout.At(layout.batch - 1, layout.rows - 1, layout.columns - 1);
  const uint64_t at = reinterpret_cast<uintptr_t>(begin);
  return {at, at + (last + 1) * ops::ElementBytes(ProductElement(layout.type))};
}

int Matmul(CublasLtHandle handle, CublasLtOperation operation, const void *alpha, const void *a,
           CublasLtLayout a_layout, const void *b, CublasLtLayout b_layout, const void *beta,
           const void *c, CublasLtLayout c_layout, void *d, CublasLtLayout d_layout,
           const CublasLtAlgorithm *algorithm, void *workspace, size_t bytes, Stream stream) {
  if (handle == nullptr || algorithm == nullptr) return kProductInvalid;
  const Product problem{*Of(operation), *Of(a_layout), *Of(b_layout), *Of(c_layout), *Of(d_layout)};
  if (const int checked = problem.Check(); checked != kProductOk) return checked;
  const uint64_t *data = algorithm->data;
  if (data[kSignature] != problem.Signature()) return kProductInvalid;
  if (bytes < data[kWorkspace] || (data[kWorkspace] != 0 && workspace == nullptr) ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return kProductInvalid;
  FakeWork work;
  work.name = "a product";
  const double by = problem.f64() ? *static_cast<const double *>(alpha)
                                  : double(*static_cast<const float *>(alpha));
  const double added = problem.f64() ? *static_cast<const double *>(beta)
                                     : double(*static_cast<const float *>(beta));
  work.reads = {RangeOf(problem.a, a), RangeOf(problem.b, b)};
  if (added != 0) work.reads.push_back(RangeOf(problem.c, c));
  work.writes = {RangeOf(problem.d, d)};
  if (const uint64_t used = data[kWorkspace]; used != 0) {
    const uint64_t at = reinterpret_cast<uintptr_t>(workspace);
    work.writes.push_back({at, at + used});
  }
  const std::pair<const void *, const char *> matrices[] = {
      {a, "matrix A of a product"}, {b, "matrix B of a product"}, {c, "matrix C of a product"}, {d, "matrix D of a product"}};
  for (int i = 0; i < 4; ++i)
    CheckAlignment(matrices[i].first, data[kAlignments] >> (16 * i) & 0xffff, matrices[i].second);
  work.same = absl::StrCat("product ", problem.Signature(), " ", by, " ", added, " ", data[kParts], " ", data[kRounds]);
  work.bases = {reinterpret_cast<uintptr_t>(a), reinterpret_cast<uintptr_t>(b), reinterpret_cast<uintptr_t>(c),
                reinterpret_cast<uintptr_t>(d)};
  work.read_from = {0, 1, 2};
  work.written_from = {3, FakeWork::kScratch};
  work.read_from.resize(work.reads.size());
  work.written_from.resize(work.writes.size());
  work.body = [=, parts = data[kParts], rounds = data[kRounds] != 0] {
    ComputeProduct(problem, by, added, static_cast<const std::byte *>(a),
                   static_cast<const std::byte *>(b), static_cast<const std::byte *>(c),
                   static_cast<std::byte *>(d), workspace, parts, rounds);
  };
  return EnqueueLibraryWork(std::move(work), stream) ? kProductOk : kFailed;
}

}  // namespace

const CublasLtApi &FakeCublasLt() {
  static const CublasLtApi api = {.GetVersion = GetVersion,
                                  .GetStatusName = GetStatusName,
                                  .Create = Create,
                                  .Destroy = DestroyHandle,
                                  .OperationCreate = OperationCreate,
                                  .OperationDestroy = Destroy<CublasLtOperation>,
                                  .OperationSet = OperationSet,
                                  .LayoutCreate = LayoutCreate,
                                  .LayoutDestroy = Destroy<CublasLtLayout>,
                                  .LayoutSet = LayoutSet,
                                  .PreferenceCreate = PreferenceCreate,
                                  .PreferenceDestroy = Destroy<CublasLtPreference>,
                                  .PreferenceSet = PreferenceSet,
                                  .GetHeuristic = GetHeuristic,
                                  .Matmul = Matmul};
  return api;
}

size_t LiveOfFakeCublasLt() { return live; }

Libraries LibrariesWithFakeCublasLt() {
  static const std::map<std::string, void *> symbols = [] {
    std::map<std::string, void *> all;
    const CublasLtApi &api = FakeCublasLt();
#define COMMSCHED_TEST_SYMBOL(result, name, symbol, parameters) \
  all[#symbol] = reinterpret_cast<void *>(api.name);
    COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(COMMSCHED_TEST_SYMBOL)
#undef COMMSCHED_TEST_SYMBOL
    return all;
  }();
  return {.open = [](const char *file, std::string *why) -> void * {
            if (std::string(file) == "libcublasLt.so.13") return &live;
            *why = absl::StrCat(file, ": cannot open shared object file");
            return nullptr;
          },
          .symbol = [](void *, const char *symbol) -> void * {
            const auto at = symbols.find(symbol);
            return at == symbols.end() ? nullptr : at->second;
          }};
}

}  // namespace commsched::runtime::cuda
