// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logs of nccl-tests: what a known model would have printed is recovered, and a row that is not as
// nccl-tests writes it is found, by its line.
#include "plan/nccl_tests_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tests/cases.h"

namespace commsched::plan {
namespace {

std::string Format(const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return text;
}

// As many digits behind the point as fit into the width.
std::string Fitted(double value, int width) {
  for (int digits : {2, 1, 0})
    if (std::string text = Format("%*.*f", width, digits, value); int(text.size()) <= width)
      return text;
  return Format("%*.*e", width, width >= 7 ? 1 : 0, value);
}

struct Drawn {
  int ranks = 2;
  double fixed_us = 0, us_per_byte = 0, noise = 0;
  std::vector<uint64_t> sizes;
  std::vector<std::string> lines;
  std::vector<size_t> rows;  // of which lines
  bool lists_ranks = true, rooted = true;

  double TruthNs(double bytes) const { return 1000 * (fixed_us + us_per_byte * bytes); }
  std::string Text() const {
    std::string text;
    for (const std::string &line : lines) text += line + "\n";
    return text;
  }
};

std::vector<std::string> Split(const std::string &line) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = line.find_first_not_of(' ', at)) != line.npos;) {
    const size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}
std::string Join(const std::vector<std::string> &words) {
  std::string line;
  for (const std::string &word : words) line += " " + word;
  return line;
}

std::string Body(const Drawn &d, double us, uint64_t bytes, bool checked) {
  const double algbw = double(bytes) / 1000 / us;
  return "  " + Fitted(us, 7) + "  " + Fitted(algbw, 6) + "  " +
         Fitted(algbw * 2 * (d.ranks - 1) / d.ranks, 6) + (checked ? "       0" : "    N/A");
}

// As src/util.cu of nccl-tests prints it, with the lines of an older version at times.
Drawn DrawLog(std::mt19937 &random, double noise) {
  std::uniform_real_distribution<double> unit(0, 1);
  Drawn d;
  d.ranks = 2 + int(random() % 31);
  d.fixed_us = 4 + 60 * unit(random);
  d.noise = noise;
  d.lists_ranks = random() % 4 != 0;
  // Of slow ones busbw has too few digits to tell how many ranks there are.
  d.us_per_byte = 1e-6 * std::exp2(4 + (d.lists_ranks ? 7 : 3) * unit(random));
  d.rooted = random() % 4 != 0;
  const bool checked = random() % 4 != 0;
  if (random() % 2 != 0) {
    d.lines.push_back("# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803");
    d.lines.push_back("# Collective test starting: all_reduce_perf");
  }
  d.lines.push_back(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 "
      "agg iters: 1 validation: 1 graph: 0");
  d.lines.push_back("#");
  d.lines.push_back("# Using devices");
  if (d.lists_ranks)
    for (int r = 0; r < d.ranks; ++r)
      d.lines.push_back(Format("#  Rank %2d Group %2d Pid %6d on %10s device %2d [0000:%02x:00] %s", r,
                               0, 4000 + r, "node", r, r, "NVIDIA H100 80GB HBM3"));
  if (random() % 3 == 0) d.lines.push_back("node:4001:4001 [0] NCCL INFO Bootstrap: Using eth0");
  d.lines.push_back("#");
  d.lines.push_back("#       size         count      type   redop" +
                    std::string(d.rooted ? "    root" : "") +
                    "     time   algbw   busbw #wrong     time   algbw   busbw #wrong");
  d.lines.push_back(
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
      "            (us)  (GB/s)  (GB/s)       ");
  struct Type {
    const char *name;
    uint64_t width;
  };
  constexpr Type kTypes[] = {{"float", 4}, {"half", 2}, {"bfloat16", 2}, {"int8", 1}};
  const Type type = kTypes[random() % 4];
  const uint64_t most = uint64_t{1} << (22 + random() % 9);
  for (uint64_t bytes = 8 << (random() % 4); bytes <= most; bytes *= 2) {
    d.sizes.push_back(bytes);
    std::string row = Format("%12li  %12li  %8s  %6s", long(bytes), long(bytes / type.width),
                             type.name, "sum");
    if (d.rooted) row += Format("  %6d", -1);
    for (int half = 0; half < 2; ++half)
      row += Body(d, d.TruthNs(double(bytes)) / 1000 * (1 + noise * (2 * unit(random) - 1)), bytes,
                  checked);
    d.rows.push_back(d.lines.size());
    d.lines.push_back(row);
  }
  d.lines.push_back("# Out of bounds values : 0 OK");
  d.lines.push_back("# Avg bus bandwidth    : 41.4497 ");
  d.lines.push_back("#");
  return d;
}

// Time is linear in bytes, so between sizes nothing is added to the noise and the digits of what
// was printed: 0.01 us of at least 3.
TEST(NcclTestsLog, RecoversAKnownModel) {
  constexpr double kNoise = .1, kDigits = .005 / 3;
  for (uint32_t seed = casesOf(300).first; seed < casesOf(300).end; ++seed) {
    std::mt19937 random(seed);
    const double noise = seed % 3 == 0 ? 0 : kNoise;
    const Drawn d = DrawLog(random, noise);
    NcclTestsLog log;
    ASSERT_EQ(ParseNcclTestsLog(d.Text(), &log), "") << "seed " << seed << "\n"
                                                     << d.Text();
    EXPECT_EQ(log.ranks, d.ranks) << "seed " << seed;
    EXPECT_EQ(log.times.points().size(), d.sizes.size());
    for (int i = 0; i < 200; ++i) {
      const uint64_t bytes =
          d.sizes.front() + random() % (d.sizes.back() - d.sizes.front() + 1);
      const double truth = d.TruthNs(double(bytes));
      EXPECT_NEAR(log.times.At(bytes), truth, truth * (noise + kDigits)) << "seed " << seed;
    }
    // Beyond the largest size by its mean slope, which has the noise of both ends.
    const uint64_t beyond = d.sizes.back() * (2 + random() % 7);
    const double truth = d.TruthNs(double(beyond));
    EXPECT_NEAR(log.times.At(beyond), truth, truth * 2 * (noise + kDigits)) << "seed " << seed;
  }
}

// One row, damaged in a drawn way: what the error has to name beside its line.
std::string Damage(std::mt19937 &random, const Drawn &d, std::string *row) {
  std::vector<std::string> words = Split(*row);
  const size_t first = d.rooted ? 5 : 4;
  const size_t half = first + 4 * (random() % 2);
  switch (random() % 10) {
    case 0:
      words.erase(words.begin() + long(random() % words.size()));
      *row = Join(words);
      return "";
    case 1:
      words[0] = random() % 2 != 0 ? "12B" : "-8";
      *row = Join(words);
      return "must begin with a size";
    case 2:
      words[1] = std::to_string(std::stoull(words[1]) + 1 + random() % 100);
      *row = Join(words);
      return "count must be that of the size";
    case 3:
      words[2] = "floats";
      *row = Join(words);
      return "type must be";
    case 4:
      words[half] = std::vector<std::string>{"0.00", "-3.1", "nan", "inf", "1.2.3", "x"}[random() % 6];
      *row = Join(words);
      return "time";
    case 5:
      words[half + 3] = std::to_string(1 + random() % 1000);
      *row = Join(words);
      return "#wrong";
    case 6:  // a digit too many
      words[half] += "77";
      if (words[half].find('.') != words[half].npos || words[half].size() > 7) return "skip";
      *row = Join(words);
      return "algbw";
    case 7:
      words[half] = Fitted(std::stod(words[half]) * (random() % 2 != 0 ? 3 : .3), 7);
      if (std::stod(words[half + 1]) < .1) return "skip";  // its digits say nothing
      *row = Join(words);
      return "algbw";
    case 8:
      words[half + 2] = Fitted(std::stod(words[half + 2]) * 1.7 + 1, 6);
      *row = Join(words);
      // Of a log that lists no ranks this may be the row that says how many there are.
      return d.lists_ranks ? "busbw" : "skip";
    default:
      *row = "srun: error: node: task 0: Killed";
      return "must begin with a size";
  }
}

TEST(NcclTestsLog, DamagedRowsAreFoundByTheirLine) {
  size_t damaged = 0;
  for (uint32_t seed = casesOf(1500).first; seed < casesOf(1500).end; ++seed) {
    std::mt19937 random(seed);
    Drawn d = DrawLog(random, .05);
    const size_t line = d.rows[random() % d.rows.size()];
    const std::string names = Damage(random, d, &d.lines[line]);
    if (names == "skip") continue;
    ++damaged;
    NcclTestsLog log;
    const std::string error = ParseNcclTestsLog(d.Text(), &log);
    EXPECT_THAT(error, testing::StartsWith("line " + std::to_string(line + 1) + ": "))
        << "seed " << seed << "\n"
        << d.lines[line];
    EXPECT_THAT(error, testing::HasSubstr(names)) << "seed " << seed << "\n"
                                                  << d.lines[line];
    EXPECT_THAT(error, testing::Not(testing::HasSubstr("\n")));
  }
  EXPECT_GT(damaged, casesOf(1500).count() / 2);
}

TEST(NcclTestsLog, WhatIsNotAnAllReduceOfOneGroupIsRefused) {
  std::mt19937 random(1);
  Drawn d = DrawLog(random, 0);
  while (!d.lists_ranks || !d.rooted) d = DrawLog(random, 0);
  const auto error = [&](const std::string &from, const std::string &to) {
    std::string text = d.Text();
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    NcclTestsLog log;
    return ParseNcclTestsLog(text, &log);
  };
  EXPECT_THAT(error("agg iters: 1", "agg iters: 4"), testing::HasSubstr("agg iters must be 1"));
  EXPECT_THAT(error("Rank  1 Group  0", "Rank  1 Group  1"),
              testing::HasSubstr("group must be 0, got: '1'"));
  EXPECT_THAT(error("Rank  1 Group", "Rank  7 Group"), testing::HasSubstr("rank must be 1"));
  EXPECT_THAT(error("    time   algbw   busbw #wrong     time", " cputime   algbw   busbw #wrong  cputime"),
              testing::HasSubstr("column before algbw must be time"));
  EXPECT_THAT(error("# Using devices", "# Collective test starting: all_gather_perf"),
              testing::HasSubstr("test must be all_reduce_perf, got: 'all_gather_perf'"));
  EXPECT_THAT(error("      -1  ", "       0  "), testing::HasSubstr("root must be -1"));
  NcclTestsLog log;
  EXPECT_EQ(ParseNcclTestsLog("", &log), "has no row of times");
  EXPECT_EQ(ParseNcclTestsLog("8 2 float sum -1 10.0 0.00 0.00 0 10.0 0.00 0.00 0\n", &log),
            "lists no ranks, and busbw does not say how many there are");
}

TEST(NcclTestsLog, AnyTextEndsInOneLine) {
  for (uint32_t seed = casesOf(2000).first; seed < casesOf(2000).end; ++seed) {
    std::mt19937 random(seed);
    std::string text = DrawLog(random, .1).Text();
    for (size_t i = 0, n = 1 + random() % 20; i < n; ++i) {
      const size_t at = random() % text.size();
      if (random() % 4 == 0)
        text.erase(at, random() % 40);
      else
        text[at] = "0123456789 .e-+\n#N/AxR"[random() % 22];
      if (text.empty()) text = " ";
    }
    NcclTestsLog log;
    EXPECT_THAT(ParseNcclTestsLog(text, &log), testing::Not(testing::HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace commsched::plan
