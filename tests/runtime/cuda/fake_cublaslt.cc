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

namespace commsched::runtime::cuda {
namespace {

constexpr int kOk = 0, kInvalid = 7, kFailed = 13, kNotSupported = 15;
std::atomic<size_t> live{0};

struct Operation {
  int compute = 0, scale = 0;
  int32_t transposed[2] = {0, 0};
};
struct Layout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t order = 0, batch = 1;
  int64_t batch_stride = 0;

  // In elements.
  uint64_t At(int32_t of_batch, uint64_t row, uint64_t column) const {
    return uint64_t(of_batch) * uint64_t(batch_stride) +
           (order == 0 ? row + column * uint64_t(leading) : row * uint64_t(leading) + column);
  }
  bool operator==(const Layout &) const = default;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

template <typename Handle>
auto *Of(Handle handle) {
  if constexpr (std::is_same_v<Handle, CublasLtOperation>)
    return reinterpret_cast<Operation *>(handle);
  else if constexpr (std::is_same_v<Handle, CublasLtLayout>)
    return reinterpret_cast<Layout *>(handle);
  else
    return reinterpret_cast<Preference *>(handle);
}
template <typename Handle, typename T>
int Make(Handle *handle, T value) {
  ++live;
  *handle = reinterpret_cast<Handle>(new T(value));
  return kOk;
}
template <typename Handle>
int Destroy(Handle handle) {
  if (handle == nullptr) return kInvalid;
  --live;
  delete Of(handle);
  return kOk;
}
template <typename T>
int Set(T *to, const void *value, size_t bytes) {
  if (bytes != sizeof(T)) return kInvalid;
  std::memcpy(to, value, bytes);
  return kOk;
}

size_t GetVersion() { return 130100; }
const char *GetStatusName(int status) {
  return status == kInvalid        ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == kFailed       ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                   : "CUBLAS_STATUS_SUCCESS";
}
int Create(CublasLtHandle *handle) {
  if (ThisThread().device < 0) return 1;
  ++live;
  *handle = reinterpret_cast<CublasLtHandle>(new int(0));
  return kOk;
}
int DestroyHandle(CublasLtHandle handle) {
  --live;
  delete reinterpret_cast<int *>(handle);
  return kOk;
}
int OperationCreate(CublasLtOperation *made, int compute, int scale) {
  return Make(made, Operation{compute, scale});
}
int OperationSet(CublasLtOperation of, int attribute, const void *value, size_t bytes) {
  if (attribute != 3 && attribute != 4) return kInvalid;
  return Set(&Of(of)->transposed[attribute - 3], value, bytes);
}
int LayoutCreate(CublasLtLayout *made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  return Make(made, Layout{type, rows, columns, leading});
}
int LayoutSet(CublasLtLayout of, int attribute, const void *value, size_t bytes) {
  switch (attribute) {
    case 1: return Set(&Of(of)->order, value, bytes);
    case 5: return Set(&Of(of)->batch, value, bytes);
    case 6: return Set(&Of(of)->batch_stride, value, bytes);
    default: return kInvalid;
  }
}
int PreferenceCreate(CublasLtPreference *made) { return Make(made, Preference{}); }
int PreferenceSet(CublasLtPreference of, int attribute, const void *value, size_t bytes) {
  if (attribute == 1) return Set(&Of(of)->workspace, value, bytes);
  if (attribute == 3) return Set(&Of(of)->reductions, value, bytes);
  if (attribute < 5 || attribute > 8) return kInvalid;
  return Set(&Of(of)->alignments[attribute - 5], value, bytes);
}

// A product, by value: descriptors may be gone when it runs.
struct Problem {
  Operation operation;
  Layout a, b, c, d;
  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return operation.transposed[0] ? a.rows : a.columns; }
  bool f64() const { return operation.compute == 70; }

  int Check() const {
    for (const Layout *layout : {&a, &b, &c, &d}) {
      const uint64_t least = layout->order == 0 ? layout->rows : layout->columns;
      if (layout->rows == 0 || layout->columns == 0 || layout->leading < int64_t(least) ||
          layout->batch < 1 || layout->batch != d.batch || layout->order > 1)
        return kInvalid;
    }
    const bool ta = operation.transposed[0] == 1, tb = operation.transposed[1] == 1;
    if ((ta ? a.columns : a.rows) != m() || (tb ? b.rows : b.columns) != n() ||
        (tb ? b.columns : b.rows) != k() || !(c == d))
      return kInvalid;
    if (d.batch > 1 && d.batch_stride == 0) return kInvalid;
    if (a.type != b.type) return kNotSupported;
    if (f64()) return operation.scale == 1 && a.type == 1 && d.type == 1 ? kOk : kNotSupported;
    const bool halves = (a.type == 2 || a.type == 14) && (d.type == a.type || d.type == 0);
    return operation.compute == 68 && operation.scale == 0 && (halves || (a.type == 0 && d.type == 0))
               ? kOk
               : kNotSupported;
  }
  uint64_t Signature() const {
    uint64_t hash = 1469598103934665603u;
    const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
    mix(uint64_t(operation.transposed[0] * 2 + operation.transposed[1]));
    for (const Layout *l : {&a, &b, &d}) {
      mix(uint64_t(l->type)), mix(l->rows), mix(l->columns), mix(uint64_t(l->leading));
      mix(uint64_t(l->order)), mix(uint64_t(l->batch)), mix(uint64_t(l->batch_stride));
    }
    return hash;
  }
};

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
  if (handle == nullptr || most < 1) return kInvalid;
  const Problem problem{*Of(operation), *Of(a), *Of(b), *Of(c), *Of(d)};
  if (const int checked = problem.Check(); checked != kOk) return checked;
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
  return kOk;
}

ops::Element ElementOf(int type) {
  return type == 1 ? ops::Element::kF64 : type == 0 ? ops::Element::kF32
                                      : type == 2   ? ops::Element::kF16
                                                    : ops::Element::kBF16;
}
size_t BytesOf(int type) { return ops::ElementBytes(ElementOf(type)); }
double Read(int type, const std::byte *at) { return ReadNumber(ElementOf(type), at); }
void Write(int type, double value, std::byte *at) { WriteNumber(ElementOf(type), value, at); }

template <typename Sum>
void Compute(const Problem &problem, double alpha, double beta, const std::byte *a,
             const std::byte *b, const std::byte *c, std::byte *d, Sum *workspace, uint64_t parts,
             bool rounds) {
  const bool ta = problem.operation.transposed[0] == 1, tb = problem.operation.transposed[1] == 1;
  const size_t a_bytes = BytesOf(problem.a.type), b_bytes = BytesOf(problem.b.type),
               d_bytes = BytesOf(problem.d.type);
  std::vector<Sum> own(parts);
  const auto rounded = [&](Sum sum) {
    std::byte bytes[8];
    Write(problem.d.type, double(sum), bytes);
    return Sum(Read(problem.d.type, bytes));
  };
  const uint64_t k = problem.k();
  std::vector<Sum> rows(problem.m() * k), columns(problem.n() * k);
  for (int32_t i = 0; i < problem.d.batch; ++i) {
    for (uint64_t p = 0; p < k; ++p) {
      for (uint64_t row = 0; row < problem.m(); ++row) {
        const uint64_t at = ta ? problem.a.At(i, p, row) : problem.a.At(i, row, p);
        rows[row * k + p] = Sum(Read(problem.a.type, a + at * a_bytes));
      }
      for (uint64_t column = 0; column < problem.n(); ++column) {
        const uint64_t at = tb ? problem.b.At(i, column, p) : problem.b.At(i, p, column);
        columns[column * k + p] = Sum(Read(problem.b.type, b + at * b_bytes));
      }
    }
    for (uint64_t column = 0; column < problem.n(); ++column) {
      for (uint64_t row = 0; row < problem.m(); ++row) {
        Sum *partial = parts == 1 ? own.data() : workspace;
        for (uint64_t part = 0; part < parts; ++part) {
          Sum sum = 0;
          for (uint64_t p = k * part / parts; p < k * (part + 1) / parts; ++p)
            sum += rows[row * k + p] * columns[column * k + p];
          partial[part] = rounds ? rounded(sum) : sum;
        }
        Sum sum = 0;
        for (uint64_t part = 0; part < parts; ++part) sum += partial[part];
        workspace += parts == 1 ? 0 : parts;
        const uint64_t at = problem.d.At(i, row, column) * d_bytes;
        sum *= Sum(alpha);
        if (beta != 0) sum += Sum(beta) * Sum(Read(problem.c.type, c + at));
        Write(problem.d.type, double(sum), d + at);
      }
    }
  }
}

Bytes RangeOf(const Layout &layout, const void *begin) {
  const uint64_t last = layout.At(layout.batch - 1, layout.rows - 1, layout.columns - 1);
  const uint64_t at = reinterpret_cast<uintptr_t>(begin);
  return {at, at + (last + 1) * BytesOf(layout.type)};
}

int Matmul(CublasLtHandle handle, CublasLtOperation operation, const void *alpha, const void *a,
           CublasLtLayout a_layout, const void *b, CublasLtLayout b_layout, const void *beta,
           const void *c, CublasLtLayout c_layout, void *d, CublasLtLayout d_layout,
           const CublasLtAlgorithm *algorithm, void *workspace, size_t bytes, Stream stream) {
  if (handle == nullptr || algorithm == nullptr) return kInvalid;
  const Problem problem{*Of(operation), *Of(a_layout), *Of(b_layout), *Of(c_layout), *Of(d_layout)};
  if (const int checked = problem.Check(); checked != kOk) return checked;
  const uint64_t *data = algorithm->data;
  if (data[kSignature] != problem.Signature()) return kInvalid;
  if (bytes < data[kWorkspace] || (data[kWorkspace] != 0 && workspace == nullptr) ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return kInvalid;
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
  work.body = [=, parts = data[kParts], rounds = data[kRounds] != 0] {
    const auto run = [&](auto *sums) {
      Compute(problem, by, added, static_cast<const std::byte *>(a),
              static_cast<const std::byte *>(b), static_cast<const std::byte *>(c),
              static_cast<std::byte *>(d), sums, parts, rounds);
    };
    if (problem.f64())
      run(static_cast<double *>(workspace));
    else
      run(static_cast<float *>(workspace));
  };
  return EnqueueLibraryWork(std::move(work), stream) ? kOk : kFailed;
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
