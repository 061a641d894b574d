// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA kernels for lists, on a device or emulated, against the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "ops/sparse/lists.h"
#include "tests/ops/cuda_machine.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

namespace cuda = ops::sparse::cuda;
using ops::Element;
using ops::sparse::ListType;
using testing::Array;
using testing::CudaMachine;
using testing::Data;

constexpr int64_t kSize = 700;

// Memory of the host, and its copy on the machine.
class Memory {
 public:
  Memory(CudaMachine *machine, size_t bytes) : host_(bytes + 1), machine_(machine) {
    device_ = machine->Allocate(bytes);
  }
  Memory(CudaMachine *machine, const Array &array)
      : Memory(machine, size_t(array.size()) * ops::ElementBytes(array.element())) {
    std::memcpy(host_.data(), array.data(), bytes());
    machine->Write(device_, host_.data(), bytes());
  }
  size_t bytes() const { return host_.size() - 1; }
  void *host() { return host_.data(); }
  void *device() { return device_; }
  void Write() { machine_->Write(device_, host_.data(), bytes()); }
  bool Same() {
    std::vector<std::byte> copy(bytes() + 1);
    machine_->Read(copy.data(), device_, bytes());
    return std::memcmp(copy.data(), host_.data(), bytes()) == 0;
  }

 private:
  std::vector<std::byte> host_;
  CudaMachine *machine_;
  void *device_;
};

struct Case {
  Element element, index;
  int64_t width, count;
  int64_t run;
  Data data = Data::kNormal;
};

std::string Name(const Case &c) {
  return absl::StrCat(ops::ElementName(c.element), " ", ops::ElementName(c.index), " width ",
                      c.width, " count ", c.count, " run ", c.run, " data ", int(c.data));
}

// A list whose runs ascend, a tenth of it padding.
Memory MakeIndices(CudaMachine *machine, const Case &c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> list(static_cast<size_t>(c.count));
  for (uint64_t &index : list) index = random() % 10 == 0 ? ~uint64_t{0} : random() % kSize;
  for (size_t begin = 0; begin < list.size(); begin += size_t(c.run))
    std::sort(list.begin() + long(begin),
              list.begin() + long(std::min(begin + size_t(c.run), list.size())));
  const size_t bytes = ops::ElementBytes(c.index);
  Memory memory(machine, list.size() * bytes);
  for (size_t i = 0; i < list.size(); ++i)  // little-endian
    std::memcpy(static_cast<std::byte *>(memory.host()) + i * bytes, &list[i], bytes);
  memory.Write();
  return memory;
}

cuda::List MakeList(const Case &c, Memory *indices, Memory *values, double scale) {
  cuda::List list;
  list.indices = indices->device();
  list.values = values->device();
  list.count = c.count;
  list.run = c.run;
  list.size = kSize;
  list.scale = scale;
  return list;
}

class SparseListsCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    owned_ = testing::MakeCudaMachine();
    machine_ = owned_.get();
    if (machine_ == nullptr) GTEST_SKIP() << "no CUDA device";
  }
  void TearDown() override { EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty()); }
  std::unique_ptr<CudaMachine> owned_;
  CudaMachine *machine_ = nullptr;
};

// Of all types one list or more; of one type all kinds, in several lengths.
std::vector<std::vector<Case>> Batches() {
  std::vector<std::vector<Case>> batches;
  for (Element element : {Element::kF32, Element::kF16, Element::kBF16})
    for (int64_t width : {1, 3, 20}) {
      const Element index = width == 3 ? Element::kI64 : Element::kI32;
      std::vector<Case> cases;
      for (int64_t count : {0, 1, 2, 100, 2500})
        for (int64_t run : {1, 37, 5000}) cases.push_back({element, index, width, count, run});
      for (Data data : testing::kAllData)
        if (width == 1) cases.push_back({element, index, width, 1500, 300, data});
      batches.push_back(cases);
    }
  return batches;
}

TEST_F(SparseListsCudaTest, ScatterAdd) {
  for (const std::vector<Case> &cases : Batches()) {
    std::vector<Memory> targets;
    std::vector<cuda::List> lists;
    const ListType type{cases[0].element, cases[0].index, cases[0].width};
    targets.reserve(cases.size());
    for (const Case &c : cases) {
      const double scale = lists.size() % 2 == 0 ? 1 : 1.0 / 3;
      Memory indices = MakeIndices(machine_, c, lists.size());
      Memory values(machine_, MakeArray(c.element, c.data, c.count * c.width, lists.size()));
      targets.emplace_back(machine_, MakeArray(c.element, Data::kHeavyTail, kSize * c.width, 3));
      lists.push_back(MakeList(c, &indices, &values, scale));
      lists.back().target = targets.back().device();
      ASSERT_TRUE(ScatterAdd(type, indices.host(), values.host(), c.count, scale,
                             targets.back().host(), kSize)
                      .ok());
    }
    ASSERT_TRUE(machine_->Lists(type, lists).ok());
    EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty());
    for (size_t i = 0; i < cases.size(); ++i) EXPECT_TRUE(targets[i].Same()) << Name(cases[i]);
  }
}

TEST_F(SparseListsCudaTest, MergeLists) {
  for (const std::vector<Case> &cases : Batches()) {
    std::vector<Memory> all, sums, counts;
    std::vector<cuda::List> lists;
    const ListType type{cases[0].element, cases[0].index, cases[0].width};
    for (const Case &c : cases) {
      const double scale = lists.size() % 2 == 0 ? 1 : 0.3;
      Memory indices = MakeIndices(machine_, c, lists.size());
      Memory values(machine_, MakeArray(c.element, c.data, c.count * c.width, lists.size()));
      all.emplace_back(machine_, indices.bytes());
      sums.emplace_back(machine_, values.bytes());
      counts.emplace_back(machine_, sizeof(int64_t));
      lists.push_back(MakeList(c, &indices, &values, scale));
      lists.back().merged_indices = all.back().device();
      lists.back().merged_values = sums.back().device();
      lists.back().merged = static_cast<int64_t *>(counts.back().device());
      std::vector<std::byte> scratch(MergeScratchBytes(type, c.count) + 64);
      ASSERT_TRUE(MergeLists(type, indices.host(), values.host(), c.count, scale,
                             all.back().host(), sums.back().host(),
                             static_cast<int64_t *>(counts.back().host()),
                             scratch.data() + 64 - uintptr_t(scratch.data()) % 64)
                      .ok());
    }
    ASSERT_TRUE(machine_->Lists(type, lists).ok());
    EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty());
    for (size_t i = 0; i < cases.size(); ++i) {
      EXPECT_TRUE(counts[i].Same()) << Name(cases[i]);
      EXPECT_TRUE(all[i].Same()) << Name(cases[i]);
      EXPECT_TRUE(sums[i].Same()) << Name(cases[i]);
    }
  }
}

// So many groups that the indices before each are added up in several rounds.
TEST_F(SparseListsCudaTest, ManyGroups) {
  const int64_t count = 2700 * cuda::kListGroup + 77;
  const Case c{Element::kF32, Element::kI32, 1, count, count};
  Memory indices = MakeIndices(machine_, c, 1);
  Memory values(machine_, MakeArray(c.element, c.data, count, 1));
  Memory all(machine_, indices.bytes()), sums(machine_, values.bytes());
  Memory merged(machine_, sizeof(int64_t));
  cuda::List list = MakeList(c, &indices, &values, 1);
  list.merged_indices = all.device();
  list.merged_values = sums.device();
  list.merged = static_cast<int64_t *>(merged.device());
  const ListType type{c.element, c.index, c.width};
  std::vector<std::byte> scratch(MergeScratchBytes(type, count) + 64);
  ASSERT_TRUE(MergeLists(type, indices.host(), values.host(), count, 1, all.host(), sums.host(),
                         static_cast<int64_t *>(merged.host()),
                         scratch.data() + 64 - uintptr_t(scratch.data()) % 64)
                  .ok());
  ASSERT_TRUE(machine_->Lists(type, {list}).ok());
  EXPECT_TRUE(merged.Same());
  EXPECT_TRUE(all.Same());
  EXPECT_TRUE(sums.Same());
}

TEST_F(SparseListsCudaTest, MergeTopK) {
  for (Element element : {Element::kF32, Element::kF16, Element::kBF16}) {
    const Element index = element == Element::kF16 ? Element::kI64 : Element::kI32;
    const ListType type{element, index, 1};
    std::vector<Case> cases;
    for (Data data : testing::kAllData)
      if (data != Data::kAllBits)  // whose sums overflow
        cases.push_back({element, index, 1, 900, 100, data});
    for (int64_t count : {0, 1, 3000}) cases.push_back({element, index, 1, count, 1, Data::kTied});
    std::vector<Memory> tops, sums;
    std::vector<cuda::TopKList> lists;
    std::vector<std::string> names;
    for (const Case &c : cases)
      for (int64_t k : {0, 1, 50, 600, 1000}) {
        if (k % 50 != 0 && c.data != Data::kTied) continue;
        if (k == 600 && element != Element::kF32) continue;
        Memory indices = MakeIndices(machine_, c, lists.size());
        Memory values(machine_, MakeArray(c.element, c.data, c.count, lists.size()));
        tops.emplace_back(machine_, size_t(k) * ops::ElementBytes(index));
        sums.emplace_back(machine_, size_t(k) * ops::ElementBytes(element));
        cuda::TopKList top;
        top.list = MakeList(c, &indices, &values, 1);
        top.k = k;
        top.indices = tops.back().device();
        top.values = sums.back().device();
        lists.push_back(top);
        names.push_back(absl::StrCat(Name(c), " k ", k));
        std::vector<std::byte> scratch(MergeScratchBytes(type, c.count) + 64);
        ASSERT_TRUE(MergeTopK(type, indices.host(), values.host(), c.count, k, tops.back().host(),
                              sums.back().host(),
                              scratch.data() + 64 - uintptr_t(scratch.data()) % 64)
                        .ok());
      }
    ASSERT_TRUE(machine_->TopKLists(type, lists).ok());
    EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty());
    for (size_t i = 0; i < lists.size(); ++i) {
      EXPECT_TRUE(tops[i].Same()) << names[i];
      EXPECT_TRUE(sums[i].Same()) << names[i];
    }
  }
}

TEST_F(SparseListsCudaTest, BadListsAreRefusedAndLeaveTheRestAlone) {
  const Case c{Element::kF32, Element::kI32, 1, 400, 50};
  const ListType type{c.element, c.index, 1};
  struct Bad {
    int64_t place;
    int32_t index;
    absl::StatusCode code;
    const char *message;
  };
  for (const Bad &bad : {Bad{100, int32_t(kSize), absl::StatusCode::kOutOfRange,
                             "index 700 in place 100 of list 1 must be -1 or less than 700"},
                         Bad{399, -2, absl::StatusCode::kOutOfRange,
                             "index -2 in place 399 of list 1"},
                         Bad{10, -1, absl::StatusCode::kInvalidArgument,
                             "list 1 must ascend in runs of 50, but does not in place 11"}}) {
    Memory indices = MakeIndices(machine_, c, 1), good = MakeIndices(machine_, c, 2);
    Memory values(machine_, MakeArray(c.element, c.data, c.count, 1));
    Memory target(machine_, MakeArray(c.element, Data::kNormal, kSize, 3));
    Memory other(machine_, MakeArray(c.element, Data::kNormal, kSize, 4));
    static_cast<int32_t *>(indices.host())[bad.place] = bad.index;
    indices.Write();
    std::vector<cuda::List> lists = {MakeList(c, &good, &values, 1),
                                     MakeList(c, &indices, &values, 1)};
    lists[0].target = other.device();
    lists[1].target = target.device();
    ASSERT_TRUE(
        ScatterAdd(type, good.host(), values.host(), c.count, 1, other.host(), kSize).ok());
    const absl::Status status = machine_->Lists(type, lists);
    EXPECT_EQ(status.code(), bad.code);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(bad.message));
    EXPECT_TRUE(target.Same());
    EXPECT_TRUE(other.Same());
  }
}

TEST_F(SparseListsCudaTest, NothingIsSelectedFromABadList) {
  const Case c{Element::kF32, Element::kI32, 1, 400, 50};
  Memory good = MakeIndices(machine_, c, 2), bad = MakeIndices(machine_, c, 1);
  Memory values(machine_, MakeArray(c.element, c.data, c.count, 1));
  static_cast<int32_t *>(bad.host())[399] = kSize;
  bad.Write();
  std::vector<Memory> tops, sums;
  std::vector<cuda::TopKList> lists;
  for (Memory *indices : {&bad, &good}) {
    tops.emplace_back(machine_, 40).Write();
    sums.emplace_back(machine_, 40).Write();
    cuda::TopKList top;
    top.list = MakeList(c, indices, &values, 1);
    top.k = 10;
    top.indices = tops.back().device();
    top.values = sums.back().device();
    lists.push_back(top);
  }
  EXPECT_EQ(machine_->TopKLists({c.element, c.index, 1}, lists).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(tops[0].Same());
  EXPECT_TRUE(sums[0].Same());
  EXPECT_FALSE(tops[1].Same());
  EXPECT_FALSE(sums[1].Same());
}

TEST_F(SparseListsCudaTest, MergeTopKReportsWhatIsNotFinite) {
  const Case c{Element::kF32, Element::kI32, 1, 400, 50};
  Memory indices = MakeIndices(machine_, c, 1);
  for (float wrong : {NAN, INFINITY}) {
    Array array = MakeArray(c.element, c.data, c.count, 1);
    array.Set(0, wrong);
    Memory values(machine_, array), top(machine_, 40), sums(machine_, 40);
    cuda::TopKList list;
    list.list = MakeList(c, &indices, &values, 1);
    list.k = 10;
    list.indices = top.device();
    list.values = sums.device();
    EXPECT_EQ(machine_->TopKLists({c.element, c.index, 1}, {list}).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace commsched
