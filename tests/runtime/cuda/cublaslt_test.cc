// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/cublaslt_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "ops/registry.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {
namespace {

// cuBLASLt on a FakeMachine: products by their definition, of matrices by columns.
struct FakeLayout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct FakeOperation {
  int compute = 0, scale = 0;
  int32_t transposed[2] = {0, 0};
};
struct FakePreference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

FakeMachine *the_machine = nullptr;
std::set<void *> the_live;  // of the library

template <typename H, typename T>
int Give(H *handle, T *made) {
  the_live.insert(made);
  *handle = reinterpret_cast<H>(made);
  return 0;
}
template <typename T, typename H>
int Take(H handle) {
  if (the_live.erase(handle) != 1) return 7;
  delete reinterpret_cast<T *>(handle);
  return 0;
}

ops::Element ElementOf(int type) {
  return type == 0   ? ops::Element::kF32
         : type == 1 ? ops::Element::kF64
         : type == 2 ? ops::Element::kF16
                     : ops::Element::kBF16;
}
void WriteElement(ops::Element element, std::byte *to, double value) {
  if (element == ops::Element::kF64) {
    std::memcpy(to, &value, 8);
  } else if (element == ops::Element::kF32) {
    const auto narrow = float(value);
    std::memcpy(to, &narrow, 4);
  } else {
    const uint16_t bits = element == ops::Element::kF16 ? ops::FloatToHalf(float(value))
                                                        : ops::FloatToBFloat16(float(value));
    std::memcpy(to, &bits, 2);
  }
}

int Matmul(CublasLtHandle, CublasLtOperation operation, const void *alpha, const void *a,
           CublasLtLayout a_layout, const void *b, CublasLtLayout b_layout, const void *beta,
           const void *c, CublasLtLayout c_layout, void *d, CublasLtLayout d_layout,
           const CublasLtAlgorithm *algorithm, void *workspace, size_t bytes, Stream stream) {
  const FakeOperation op = *reinterpret_cast<FakeOperation *>(operation);
  const FakeLayout la = *reinterpret_cast<FakeLayout *>(a_layout),
                   lb = *reinterpret_cast<FakeLayout *>(b_layout),
                   ld = *reinterpret_cast<FakeLayout *>(d_layout);
  if (c != d || c_layout != d_layout || workspace == nullptr || bytes == 0) return 7;
  // The algorithm is one for these alignments.
  const uint64_t promised[3] = {algorithm->data[0], algorithm->data[1], algorithm->data[2]};
  const void *pointers[3] = {a, b, d};
  for (int i = 0; i < 3; ++i) {
    if (reinterpret_cast<uintptr_t>(pointers[i]) % promised[i] != 0) return 7;
  }
  const uint64_t m = ld.rows, n = ld.columns, k = op.transposed[0] ? la.rows : la.columns;
  if ((op.transposed[0] ? la.columns : la.rows) != m ||
      (op.transposed[1] ? lb.columns : lb.rows) != k ||
      (op.transposed[1] ? lb.rows : lb.columns) != n || la.batch != ld.batch ||
      lb.batch != ld.batch)
    return 7;
  double scale[2] = {0, 0};
  const void *scales[2] = {alpha, beta};
  for (int i = 0; i < 2; ++i)
    scale[i] = op.scale == 1 ? *static_cast<const double *>(scales[i])
                             : double(*static_cast<const float *>(scales[i]));
  FakeWork work, *parameter = &work;
  work.name = "a product";
  const auto range = [](const void *at, const FakeLayout &l) {
    const uint64_t last = uint64_t(l.leading) * (l.columns - 1) + l.rows - 1 +
                          uint64_t(l.stride) * uint64_t(l.batch - 1);
    const auto begin = reinterpret_cast<uintptr_t>(at);
    return Bytes{begin, begin + (last + 1) * ops::ElementBytes(ElementOf(l.type))};
  };
  work.reads = {range(a, la), range(b, lb)};
  work.writes = {range(d, ld)};
  work.body = [=] {
    const auto at = [](const void *base, const FakeLayout &l, uint64_t row, uint64_t column,
                       int32_t batch) {
      return static_cast<const std::byte *>(base) +
             (int64_t(row) + int64_t(column) * l.leading + batch * l.stride) *
                 int64_t(ops::ElementBytes(ElementOf(l.type)));
    };
    const auto read = [&](const void *base, const FakeLayout &l, bool transposed, uint64_t row,
                          uint64_t column, int32_t batch) {
      if (transposed) std::swap(row, column);
      return ops::ReadElement(ElementOf(l.type), at(base, l, row, column, batch));
    };
    for (int32_t batch = 0; batch < ld.batch; ++batch) {
      for (uint64_t i = 0; i < m; ++i) {
        for (uint64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (uint64_t l = 0; l < k; ++l)
            sum += read(a, la, op.transposed[0] != 0, i, l, batch) *
                   read(b, lb, op.transposed[1] != 0, l, j, batch);
          sum *= scale[0];
          if (scale[1] != 0) sum += scale[1] * read(d, ld, false, i, j, batch);
          WriteElement(ElementOf(ld.type), const_cast<std::byte *>(at(d, ld, i, j, batch)), sum);
        }
      }
    }
  };
  void *parameters[] = {&parameter};
  FakeMachine::driver().LaunchKernel(the_machine->kernel(), 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                                     nullptr);
  return 0;
}

const CublasLtApi &FakeCublasLt() {
  static const CublasLtApi api = {
      .GetVersion = [] { return size_t{130000}; },
      .Create = [](CublasLtHandle *handle) { return Give(handle, new int(0)); },
      .Destroy = [](CublasLtHandle handle) { return Take<int>(handle); },
      .OperationCreate =
          [](CublasLtOperation *operation, int compute, int scale) {
            return Give(operation, new FakeOperation{compute, scale});
          },
      .OperationDestroy = [](CublasLtOperation o) { return Take<FakeOperation>(o); },
      .OperationSet =
          [](CublasLtOperation operation, int attribute, const void *value, size_t bytes) {
            if (bytes != 4 || (attribute != kCublasLtTransA && attribute != kCublasLtTransB))
              return 7;
            reinterpret_cast<FakeOperation *>(operation)->transposed[attribute - kCublasLtTransA] =
                *static_cast<const int32_t *>(value);
            return 0;
          },
      .LayoutCreate =
          [](CublasLtLayout *layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
            if (leading < int64_t(rows)) return 7;
            return Give(layout, new FakeLayout{type, rows, columns, leading});
          },
      .LayoutDestroy = [](CublasLtLayout l) { return Take<FakeLayout>(l); },
      .LayoutSet =
          [](CublasLtLayout handle, int attribute, const void *value, size_t bytes) {
            auto *layout = reinterpret_cast<FakeLayout *>(handle);
            if (attribute == kCublasLtBatchCount && bytes == 4)
              layout->batch = *static_cast<const int32_t *>(value);
            else if (attribute == kCublasLtBatchStride && bytes == 8)
              layout->stride = *static_cast<const int64_t *>(value);
            else
              return 7;
            return 0;
          },
      .PreferenceCreate =
          [](CublasLtPreference *preference) { return Give(preference, new FakePreference); },
      .PreferenceDestroy = [](CublasLtPreference p) { return Take<FakePreference>(p); },
      .PreferenceSet =
          [](CublasLtPreference handle, int attribute, const void *value, size_t bytes) {
            auto *preference = reinterpret_cast<FakePreference *>(handle);
            if (attribute == kCublasLtMaxWorkspace && bytes == 8)
              preference->workspace = *static_cast<const uint64_t *>(value);
            else if (attribute >= kCublasLtAlignmentA && attribute <= kCublasLtAlignmentD &&
                     bytes == 4)
              preference->alignment[attribute - kCublasLtAlignmentA] =
                  *static_cast<const uint32_t *>(value);
            else
              return 7;
            return 0;
          },
      .GetHeuristic =
          [](CublasLtHandle, CublasLtOperation, CublasLtLayout, CublasLtLayout, CublasLtLayout,
             CublasLtLayout, CublasLtPreference handle, int most, CublasLtHeuristic *found,
             int *count) {
            if (most != 1) return 7;
            const auto *preference = reinterpret_cast<FakePreference *>(handle);
            for (int i = 0; i < 2; ++i) found->algorithm.data[i] = preference->alignment[i];
            found->algorithm.data[2] = std::min(preference->alignment[2], preference->alignment[3]);
            *count = 1;
            return 0;
          },
      .Matmul = Matmul};
  return api;
}

// A product of small matrices in memory of any layout: mostly ones that the library has.
ops::KernelDesc DrawProduct(std::mt19937_64 &random) {
  const auto draw = [&random](uint64_t below) { return int64_t(random() % below); };
  const ops::Element types[] = {ops::Element::kF32, ops::Element::kF64, ops::Element::kF16,
                                ops::Element::kBF16};
  const ops::Element type = types[draw(4)];
  const bool widened = (type == ops::Element::kF16 || type == ops::Element::kBF16) && draw(2) == 0;
  std::vector<int64_t> batch;
  for (int64_t left = draw(4); left-- > 0;) batch.push_back(1 + draw(3));
  const int64_t m = 1 + draw(5), k = 1 + draw(5), n = 1 + draw(5);
  ops::KernelDesc kernel;
  kernel.kind = "matmul";
  kernel.accumulate = draw(2) == 0;
  const int64_t sizes[3][2] = {{m, k}, {k, n}, {m, n}};
  for (int i = 0; i < 3; ++i) {
    ops::KernelOperand operand;
    operand.element = i == 2 && widened ? ops::Element::kF32 : type;
    operand.dims = batch;
    operand.dims.insert(operand.dims.end(), {sizes[i][0], sizes[i][1]});
    // Dense in some order of dimensions, with gaps at times.
    std::vector<size_t> order(operand.dims.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (draw(6) == 0)
      std::shuffle(order.begin(), order.end(), random);
    else if (draw(2) == 0)
      std::swap(order[order.size() - 1], order[order.size() - 2]);
    operand.strides.resize(order.size());
    int64_t stride = draw(12) == 0 ? 2 : 1;
    for (size_t d = order.size(); d-- > 0;) {
      operand.strides[order[d]] = stride;
      stride = stride * operand.dims[order[d]] + draw(3);
    }
    if (i < 2 && !batch.empty() && draw(6) == 0) operand.strides[0] = 0;
    kernel.operands.push_back(std::move(operand));
  }
  return kernel;
}

TEST(CublasLtTest, DrawnProductsAreThoseOfTheHost) {
  ops::PrepareComputeThread();
  int refused = 0, tried = 0;
  const Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const ops::KernelDesc kernel = DrawProduct(random);
    ++tried;
    if (auto product = PlanProduct(kernel); !product.ok()) {
      EXPECT_EQ(product.status().code(), absl::StatusCode::kUnimplemented) << product.status();
      ++refused;
      continue;
    }
    // Small whole numbers: all orders of a sum have the same bits.
    std::vector<std::vector<std::byte>> values;
    for (const ops::KernelOperand &operand : kernel.operands) {
      size_t last = 0;
      for (size_t d = 0; d < operand.dims.size(); ++d)
        last += size_t((operand.dims[d] - 1) * operand.strides[d]);
      const size_t bytes = ops::ElementBytes(operand.element);
      std::vector<std::byte> &value = values.emplace_back((last + 1) * bytes);
      for (size_t i = 0; i <= last; ++i)
        WriteElement(operand.element, value.data() + i * bytes, double(random() % 5) - 2);
    }
    std::vector<std::vector<std::byte>> expected = values;
    auto host = ops::MakeKernel(kernel);
    ASSERT_TRUE(host.ok()) << host.status();
    std::vector<std::byte> scratch((*host)->scratch_bytes() + 64);
    void *aligned = scratch.data();
    size_t space = scratch.size();
    std::align(64, (*host)->scratch_bytes(), aligned, space);
    void *pointers[] = {expected[0].data(), expected[1].data(), expected[2].data()};
    ASSERT_TRUE((*host)->Run(pointers, aligned).ok());

    FakeMachine machine(seed, 1);
    the_machine = &machine;
    const DriverApi &driver = FakeMachine::driver();
    Context context = nullptr;
    driver.PrimaryContextRetain(&context, 0);
    driver.ContextSetCurrent(context);
    Stream stream = nullptr;
    driver.StreamCreateWithPriority(&stream, kStreamNonBlocking, 0);
    std::unique_ptr<LibraryKernels> library = MakeCublasLtKernels(FakeCublasLt(), driver, 256);
    ASSERT_TRUE(library->Prepare({kernel}, 2).ok());
    std::vector<DevicePtr> memory, operands;
    for (const std::vector<std::byte> &value : values) {
      DevicePtr at = 0;
      driver.MemAlloc(&at, value.size() + 256);
      memory.push_back(at);
      // Not all are aligned as the library likes it.
      operands.push_back(at + (random() % 4) * 8);
      std::memcpy(reinterpret_cast<void *>(operands.back()), value.data(), value.size());
    }
    const absl::Status enqueued = library->Enqueue(0, operands, stream, uint32_t(random() % 2));
    ASSERT_TRUE(enqueued.ok()) << enqueued;
    while (machine.RunSome(100) != 0) {
    }
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(0, std::memcmp(reinterpret_cast<void *>(operands[i]), expected[i].data(),
                               expected[i].size()))
          << "operand " << i;
    EXPECT_THAT(machine.TakeFindings(), ::testing::IsEmpty());
    library.reset();
    for (DevicePtr at : memory) driver.MemFree(at);
    driver.StreamDestroy(stream);
    driver.PrimaryContextRelease(0);
    EXPECT_EQ(machine.live(), 0u);
    EXPECT_THAT(the_live, ::testing::IsEmpty());
  }
  std::printf("%d products, %d of layouts that are refused\n", tried, refused);
  EXPECT_LT(refused, tried / 2);
}

TEST(CublasLtTest, OtherKernelsAreNamed) {
  ops::KernelDesc kernel;
  kernel.kind = "convolution_forward";
  EXPECT_EQ(PlanProduct(kernel).status().message(),
            "no library for CUDA devices has kernel \"convolution_forward\" here");
}

}  // namespace
}  // namespace commsched::runtime::cuda
