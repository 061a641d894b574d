// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "runtime/data/dataset.h"
#include "runtime/data/tensor_file.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using runtime::Dataset;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

void Put(std::string *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(char(value >> (8 * i)));
}

std::string Npy(const std::string &descr, const std::string &shape, const std::string &data,
                int version = 1, const std::string &fortran = "False") {
  std::string header = absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran,
                                    ", 'shape': (", shape, "), }");
  size_t prefix = version == 1 ? 10 : 12;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += "\n";
  std::string out = "\x93NUMPY";
  Put(&out, uint64_t(version), 2);
  Put(&out, header.size(), version == 1 ? 2 : 4);
  return out + header + data;
}

struct Member {
  std::string name, content;
  bool deflate = false;
  bool zip64 = false;
};

std::string Deflate(const std::string &in) {
  std::string out(compressBound(in.size()) + 64, 0);
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(in.data()));
  stream.avail_in = uInt(in.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zip(const std::vector<Member> &members) {
  std::string out, directory;
  for (const Member &m : members) {
    std::string packed = m.deflate ? Deflate(m.content) : m.content;
    uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef *>(m.content.data()), m.content.size());
    uint64_t at = out.size();
    std::string extra;
    if (m.zip64) {
      Put(&extra, 1, 2);
      Put(&extra, 16, 2);
      Put(&extra, m.content.size(), 8);
      Put(&extra, packed.size(), 8);
    }
    auto common = [&](std::string *to) {
      Put(to, 20, 2);
      Put(to, 0, 2);
      Put(to, m.deflate ? 8 : 0, 2);
      Put(to, 0, 4);
      Put(to, crc, 4);
      Put(to, m.zip64 ? 0xffffffff : packed.size(), 4);
      Put(to, m.zip64 ? 0xffffffff : m.content.size(), 4);
      Put(to, m.name.size(), 2);
      Put(to, extra.size(), 2);
    };
    Put(&out, 0x04034b50, 4);
    common(&out);
    out += m.name + extra + packed;
    Put(&directory, 0x02014b50, 4);
    Put(&directory, 20, 2);
    common(&directory);
    Put(&directory, 0, 6);
    Put(&directory, 0, 4);
    Put(&directory, at, 4);
    directory += m.name + extra;
  }
  uint64_t start = out.size();
  out += directory;
  Put(&out, 0x06054b50, 4);
  Put(&out, 0, 4);
  Put(&out, members.size(), 2);
  Put(&out, members.size(), 2);
  Put(&out, directory.size(), 4);
  Put(&out, start, 4);
  Put(&out, 0, 2);
  return out;
}

std::string Floats(int count, int first = 0) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    float v = float(first + i);
    out.append(reinterpret_cast<const char *>(&v), 4);
  }
  return out;
}

std::string WriteFile(const TemporaryFolder &folder, const std::string &bytes) {
  std::ofstream(folder / "a.npz", std::ios::binary | std::ios::trunc) << bytes;
  return folder / "a.npz";
}

TEST(NpzTest, ReadsStoredAndDeflatedArrays) {
  TemporaryFolder folder;
  std::string path = WriteFile(
      folder, Zip({{"x.npy", Npy("<f4", "2, 3", Floats(6))},
                   {"y.npy", Npy("<f4", "300,", Floats(300), 2), true},
                   {"z.npy", Npy("<i8", "", std::string(8, '\1'), 3), false, true},
                   {"w.npy", Npy("|b1", "3,", std::string("\1\0\1", 3), 1, "True"), true, true},
                   {"readme.txt", "hello"}}));
  auto file = runtime::ReadTensorFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors.size(), 4u);
  EXPECT_EQ(ToString(file->tensors.at("x").type), "f32[2,3]");
  EXPECT_EQ(ToString(file->tensors.at("y").type), "f32[300]");
  EXPECT_EQ(ToString(file->tensors.at("z").type), "i64[]");
  EXPECT_EQ(ToString(file->tensors.at("w").type), "i1[3]");
  EXPECT_EQ(0, std::memcmp(file->tensors.at("y").data.data(), Floats(300).data(), 1200));
}

TEST(NpzTest, NamesWhatIsWrong) {
  TemporaryFolder folder;
  auto error = [&](const std::string &npy) {
    return std::string(
        runtime::ReadNpz(WriteFile(folder, Zip({{"x.npy", npy}}))).status().message());
  };
  EXPECT_THAT(error(Npy("<c8", "1,", std::string(8, 0))), HasSubstr("array \"x\": element type <c8"));
  EXPECT_THAT(error(Npy("<f4", "2, 3", Floats(6), 1, "True")), HasSubstr("Fortran"));
  EXPECT_THAT(error(Npy("<f4", "2, 3", Floats(5))), HasSubstr("must match 24 bytes, got: 20"));
  EXPECT_THAT(error(Npy("<f4", "99999999999, 99999999999", "")), HasSubstr("shape"));
  EXPECT_THAT(error("nothing"), HasSubstr("not an .npy file"));
  std::string zip = Zip({{"x.npy", Npy("<f4", "6,", Floats(6))}});
  zip[150] = char(zip[150] ^ 1);
  EXPECT_THAT(std::string(runtime::ReadNpz(WriteFile(folder, zip)).status().message()),
              HasSubstr("checksum"));
}

TEST(NpzTest, DamagedFilesDoNotCrash) {
  TemporaryFolder folder;
  std::string zip = Zip({{"x.npy", Npy("<f4", "6,", Floats(6))},
                         {"y.npy", Npy("<f4", "60,", Floats(60)), true, true}});
  for (size_t n = 0; n < zip.size(); n += 3)
    EXPECT_FALSE(runtime::ReadNpz(WriteFile(folder, zip.substr(0, n))).ok()) << n;
  uint32_t random = 1;
  for (int run = 0; run < 1000; ++run) {
    std::string damaged = zip;
    for (int i = 0; i < 3; ++i) {
      random = random * 1664525 + 1013904223;
      damaged[(random >> 8) % damaged.size()] = char(random >> 24);
    }
    runtime::ReadNpz(WriteFile(folder, damaged)).status().IgnoreError();
  }
}

runtime::FunctionProgram Function(int64_t local) {
  runtime::FunctionProgram f;
  f.name = "step";
  f.batches.push_back({"x", {ops::Element::kF32, {local, 3}, local * 3, size_t(local) * 12}});
  return f;
}

std::vector<float> First(const runtime::BatchRows &rows, int64_t local) {
  std::vector<float> out(static_cast<size_t>(local));
  for (int64_t r = 0; r < local; ++r) std::memcpy(&out[size_t(r)], rows.data[0] + r * 12, 4);
  return out;
}

TEST(DatasetTest, EveryRankGetsItsRows) {
  TemporaryFolder folder;
  std::string path = WriteFile(folder, Zip({{"x.npy", Npy("<f4", "11, 3", Floats(33))}}));
  auto f = Function(2);
  auto data = Dataset::Open(path, f, 2, {});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->batches_per_epoch(), 2u);
  (*data)->Seek(1);
  EXPECT_THAT(First(*(*data)->Rows(f, 0, 2), 2), ::testing::ElementsAre(12, 15));
  EXPECT_THAT(First(*(*data)->Rows(f, 1, 2), 2), ::testing::ElementsAre(18, 21));
  (*data)->Seek(2);  // the next epoch
  EXPECT_THAT(First(*(*data)->Rows(f, 0, 2), 2), ::testing::ElementsAre(0, 3));
}

TEST(DatasetTest, ShufflingDependsOnSeedAndEpochOnly) {
  TemporaryFolder folder;
  std::string path = WriteFile(folder, Zip({{"x.npy", Npy("<f4", "64, 3", Floats(192))}}));
  auto f = Function(8);
  auto epoch = [&](uint64_t seed, uint64_t number) {
    auto data = Dataset::Open(path, f, 2, {true, seed});
    EXPECT_TRUE(data.ok());
    std::vector<float> all;
    for (uint64_t b = 0; b < 4; ++b) {
      (*data)->Seek(number * 4 + b);
      for (int r = 0; r < 2; ++r)
        for (float v : First(*(*data)->Rows(f, r, 2), 8)) all.push_back(v);
    }
    return all;
  };
  auto a = epoch(1, 0);
  EXPECT_EQ(a, epoch(1, 0));
  EXPECT_NE(a, epoch(1, 1));
  EXPECT_NE(a, epoch(2, 0));
  std::sort(a.begin(), a.end());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i], float(3 * i));
}

TEST(DatasetTest, NamesWhatIsWrong) {
  TemporaryFolder folder;
  auto error = [&](const std::vector<Member> &members, int64_t local) {
    return std::string(
        Dataset::Open(WriteFile(folder, Zip(members)), Function(local), 2, {}).status().message());
  };
  EXPECT_THAT(error({{"y.npy", Npy("<f4", "8, 3", Floats(24))}}, 2), HasSubstr("batch \"x\" is missing"));
  EXPECT_THAT(error({{"x.npy", Npy("<f4", "8, 3", Floats(24))}}, 8),
              HasSubstr("at least one global batch of 16 samples, got: 8"));
  EXPECT_THAT(error({{"x.npy", Npy("<f4", "8, 4", Floats(32))}}, 2),
              HasSubstr("must match f32[8,3], got: f32[8,4]"));
  EXPECT_THAT(error({{"x.npy", Npy("<i4", "8, 3", Floats(24))}}, 2), HasSubstr("got: i32[8,3]"));
}

}  // namespace
}  // namespace commsched
