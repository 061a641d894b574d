// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/RememberedWorks.h"
#include "tests/cases.h"

#include "gmock/gmock.h"

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace commsched::cudatest {
namespace {

using runtime::cuda::FakeWork;
using Memory = std::vector<unsigned char>;

/// A work of two addresses: each byte that it writes depends on all that it reads. It reads from the first and writes from the
/// second on, which may be the same bytes, and not each byte between the first and the last one. Where it writes may
/// depend on what it reads.
struct Drawn {
  size_t from = 0, to = 0, reads = 1, writes = 1, stride = 1;
  unsigned number = 0;
  bool moves = false;

  FakeWork work(Memory &memory, unsigned salt = 0) const {
    FakeWork result;
    result.name = "work";
    result.same = std::to_string(number) + " " + std::to_string(reads) + " " + std::to_string(writes) + " " + std::to_string(stride);
    result.bases = {reinterpret_cast<uintptr_t>(&memory[from]), reinterpret_cast<uintptr_t>(&memory[to])};
    auto begin = std::make_shared<unsigned char *>(nullptr);
    result.body = [*this, &memory, salt, begin] {
      unsigned sum = 17 * number + salt;
      for (size_t i = 0; i < reads; ++i)
        sum = sum * 31 + memory[from + i];
      *begin = &memory[to] + (moves ? sum / 8 % 3 : 0);
      for (size_t i = 0; i < writes; ++i)
        (*begin)[i * stride] = static_cast<unsigned char>(sum >> i % 5);
    };
    result.used = [*this, &memory, begin](FakeWork *used) {
      const auto first = reinterpret_cast<uintptr_t>(&memory[from]), written = reinterpret_cast<uintptr_t>(*begin);
      used->reads.push_back({first, first + reads});
      used->writes.push_back({written, written + (writes - 1) * stride + 1});
      used->read_from.push_back(0);
      used->written_from.push_back(1);
    };
    return result;
  }
};

std::vector<Drawn> drawWorks(std::mt19937 &random) {
  std::vector<Drawn> works(6);
  for (unsigned i = 0; i < works.size(); ++i)
    works[i] = {random() % 64, random() % 64, 1 + random() % 9, 1 + random() % 6, 1 + random() % 4, i, random() % 4 == 0};
  return works;
}

std::vector<std::pair<uint64_t, uint64_t>> rangesOf(const FakeWork &work, const Memory &memory) {
  std::vector<std::pair<uint64_t, uint64_t>> result;
  for (const auto *ranges : {&work.reads, &work.writes})
    for (const runtime::cuda::Bytes &range : *ranges)
      result.push_back({range.begin - reinterpret_cast<uintptr_t>(memory.data()), range.end - reinterpret_cast<uintptr_t>(memory.data())});
  return result;
}

/// Runs over the same beginning again and again, as orders of a step do, in memories at several addresses: what is there, and what is
/// said to have been used, is what it would be without.
TEST(RememberedWorksTest, BytesAndRangesAreThoseOfDoingThemAll) {
  uint64_t known = 0;
  for (uint32_t seed = casesOf(200).first; seed < casesOf(200).end; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Drawn> works = drawWorks(random);
    RememberedWorks remembered({.most = random() % 3 == 0 ? 100u : 1u << 20, .again = unsigned(random() % 3)});
    Memory initial(128);
    for (unsigned char &byte : initial)
      byte = static_cast<unsigned char>(random() % 3);
    for (int run = 0; run < 6; ++run) {
      Memory plain = initial, with = initial;
      const unsigned other = random() % 3; // a byte that differs in some
      plain[70] = with[70] = static_cast<unsigned char>(other);
      for (int i = 0; i < 30; ++i) {
        const Drawn &drawn = works[size_t(i * 7 + i / 6) % works.size()];
        FakeWork one = drawn.work(plain), two = drawn.work(with);
        one.Run();
        remembered.run(two);
        ASSERT_EQ(plain, with) << "seed " << seed << " run " << run << " work " << i;
        ASSERT_EQ(rangesOf(one, plain), rangesOf(two, with)) << "seed " << seed << " run " << run << " work " << i;
      }
    }
    EXPECT_EQ(remembered.fault(), "") << "seed " << seed;
    known += remembered.known();
  }
  EXPECT_GT(known, 200u * 20);
}

/// What does not do the same on the same bytes is found, when it is done after all.
TEST(RememberedWorksTest, OneThatDependsOnSomethingElseIsFound) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Drawn drawn = drawWorks(random)[0];
    drawn.from = 0, drawn.to = 64, drawn.moves = false;
    RememberedWorks remembered({.again = 1});
    Memory memory(128);
    for (unsigned salt : {0u, 0u, 0u, 1u}) {
      std::memset(&memory[64], 0, 64);
      FakeWork work = drawn.work(memory, salt);
      remembered.run(work);
      EXPECT_EQ(remembered.fault().empty(), salt == 0) << seed;
    }
  }
}

/// Without a description a work is done each time.
TEST(RememberedWorksTest, OneOfWhichNothingIsKnownIsDone) {
  RememberedWorks remembered({.again = 0});
  int done = 0;
  for (int i = 0; i < 5; ++i) {
    FakeWork work;
    work.body = [&] { ++done; };
    remembered.run(work);
  }
  EXPECT_EQ(done, 5);
}

} // namespace
} // namespace commsched::cudatest
