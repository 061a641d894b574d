// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/nccl_tests_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "plan/limits.h"

namespace commsched::plan {
namespace {

constexpr int64_t kMostRanks = int64_t{kMaxNodes} * kMaxDevices;
// What a cluster takes.
constexpr uint64_t kMostBytes = uint64_t{1} << 50;
constexpr double kMostUs = 3600e6;

std::string Quoted(std::string_view word) {
  constexpr size_t kMost = 40;
  return "'" + std::string(word.substr(0, kMost)) + (word.size() > kMost ? "...'" : "'");
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<uint64_t> Whole(std::string_view word) {
  uint64_t value;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// A number as it is printed, and by how much the number itself may differ from it.
struct Printed {
  double value = 0, error = 0;
};

std::optional<Printed> Number(std::string_view word) {
  Printed printed;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), printed.value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty() ||
      !std::isfinite(printed.value) || printed.value < 0)
    return std::nullopt;
  const std::string_view digits = word.substr(0, word.find_first_of("eE"));
  const size_t point = digits.find('.');
  double last = point == digits.npos ? 1 : std::pow(10., -double(digits.size() - point - 1));
  if (digits.size() < word.size()) {
    int exponent = 0;
    const char *from = word.data() + digits.size() + 1;
    if (*from == '+') ++from;
    std::from_chars(from, word.data() + word.size(), exponent);
    last *= std::pow(10., exponent);
  }
  printed.error = last * .5;
  return printed;
}

// Bytes of an element; nccl-tests' names.
std::optional<uint64_t> WidthOf(std::string_view type) {
  for (auto [name, width] : {std::pair<std::string_view, uint64_t>{"int8", 1},
                             {"uint8", 1},
                             {"char", 1},
                             {"int", 4},
                             {"f8e4m3", 1},
                             {"f8e5m2", 1},
                             {"half", 2},
                             {"bfloat16", 2},
                             {"int32", 4},
                             {"uint32", 4},
                             {"float", 4},
                             {"int64", 8},
                             {"uint64", 8},
                             {"double", 8}})
    if (name == type) return width;
  return std::nullopt;
}

bool Meets(double value, double error, double least, double most) {
  return value + error >= least * (1 - 1e-9) && value - error <= most * (1 + 1e-9);
}

// What busbw may be of algbw, for the digits that were printed.
struct Ratio {
  size_t line;
  double least, most;
};

class Reader {
 public:
  std::string Read(std::string_view text, NcclTestsLog *log);

 private:
  std::string Comment(std::string_view line, const std::vector<std::string_view> &words);
  std::string Fields(const std::vector<std::string_view> &words);
  std::string Times(uint64_t bytes, const std::string_view *words, bool in_place);
  std::string FindRanks();

  static constexpr size_t kRooted = 13, kRootless = 12;

  size_t line_ = 0;
  size_t columns_ = kRooted;
  int64_t ranks_ = 0;
  std::vector<NcclPoint> points_;
  std::vector<Ratio> ratios_;
};

std::string Reader::Comment(std::string_view line, const std::vector<std::string_view> &words) {
  constexpr std::string_view kStarts = "Collective test starting: ";
  if (const size_t at = line.find(kStarts); at != line.npos) {
    const std::vector<std::string_view> rest = Words(line.substr(at + kStarts.size()));
    if (rest.empty() || rest[0].find("all_reduce_perf") == rest[0].npos)
      return "test must be all_reduce_perf, got: " + Quoted(rest.empty() ? "" : rest[0]);
  }
  constexpr std::string_view kAggregated = "agg iters:";
  if (const size_t at = line.find(kAggregated); at != line.npos) {
    const std::vector<std::string_view> rest = Words(line.substr(at + kAggregated.size()));
    if (rest.empty() || rest[0] != "1")
      return "agg iters must be 1, got: " + Quoted(rest.empty() ? "" : rest[0]);
  }
  if (words.size() > 5 && words[1] == "Rank" && words[3] == "Group") {
    const std::optional<uint64_t> rank = Whole(words[2]);
    if (!rank || int64_t(*rank) != ranks_ || ranks_ >= kMostRanks)
      return "rank must be " + std::to_string(ranks_) + ", got: " + Quoted(words[2]);
    if (words[4] != "0") return "group must be 0, got: " + Quoted(words[4]);
    ++ranks_;
  }
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (!has("algbw")) return "";
  if (!has("time")) return "column before algbw must be time, of the device";
  columns_ = has("root") ? kRooted : kRootless;
  return "";
}

std::string Reader::Times(uint64_t bytes, const std::string_view *words, bool in_place) {
  const std::string where = in_place ? " in place" : " out of place";
  const std::optional<Printed> time = Number(words[0]), algbw = Number(words[1]),
                               busbw = Number(words[2]);
  if (!time || time->value <= 0)
    return "time" + where + " must be microseconds above 0, got: " + Quoted(words[0]);
  if (time->value > kMostUs) return "time" + where + " must be at most an hour, got: " + Quoted(words[0]);
  if (!algbw) return "algbw" + where + " must be GB/s, got: " + Quoted(words[1]);
  if (!busbw) return "busbw" + where + " must be GB/s, got: " + Quoted(words[2]);
  if (words[3] != "N/A") {
    // Older versions have the largest deviation there.
    const std::optional<Printed> wrong = Number(words[3]);
    if (!wrong) return "#wrong" + where + " must be a number or N/A, got: " + Quoted(words[3]);
    if (wrong->value >= 1)
      return "#wrong" + where + " must be 0, got: " + Quoted(words[3]);
  }
  // A microsecond of a GB/s is 1000 bytes.
  const double least = double(bytes) / 1000 / (time->value + time->error);
  const double shortest = time->value - time->error;
  const double most = shortest > 0 ? double(bytes) / 1000 / shortest : HUGE_VAL;
  if (!Meets(algbw->value, algbw->error, least, most))
    return "algbw" + where + " must match size over time, " +
           std::to_string(double(bytes) / 1000 / time->value) + ", got: " + Quoted(words[1]);
  if (least > 0)
    ratios_.push_back({line_, (busbw->value - busbw->error) / most,
                       (busbw->value + busbw->error) / least});
  if (in_place) points_.push_back({bytes, time->value * 1000});
  return "";
}

std::string Reader::Fields(const std::vector<std::string_view> &words) {
  const std::optional<uint64_t> bytes = words.empty() ? std::nullopt : Whole(words[0]);
  if (!bytes) return "must begin with a size in bytes, got: " + Quoted(words[0]);
  if (*bytes > kMostBytes) return "size must be at most " + std::to_string(kMostBytes) + " bytes, got: " + Quoted(words[0]);
  // Behind the columns may be a day and a time.
  if (words.size() != columns_ && !(columns_ == kRooted && words.size() == kRooted + 2))
    return "must have " + std::to_string(columns_) +
           " columns, got: " + std::to_string(words.size());
  const bool rooted = columns_ == kRooted;
  const std::optional<uint64_t> count = Whole(words[1]), width = WidthOf(words[2]);
  if (!count) return "count must be a number of elements, got: " + Quoted(words[1]);
  if (!width) return "type must be one of nccl-tests, got: " + Quoted(words[2]);
  if (*count > UINT64_MAX / 8 || *count * *width != *bytes)
    return "count must be that of the size, " + std::to_string(*bytes / *width) +
           ", got: " + Quoted(words[1]);
  constexpr std::string_view kReductions[] = {"sum", "prod", "max", "min", "avg", "mulsum"};
  if (std::find(std::begin(kReductions), std::end(kReductions), words[3]) == std::end(kReductions))
    return "redop must be one of nccl-tests, got: " + Quoted(words[3]);
  if (rooted && words[4] != "-1")
    return "root must be -1, as an all-reduce has none, got: " + Quoted(words[4]);
  if (*bytes == 0) return "";
  const std::string_view *times = words.data() + (rooted ? 5 : 4);
  std::string error = Times(*bytes, times, /*in_place=*/false);
  return error.empty() ? Times(*bytes, times + 4, /*in_place=*/true) : error;
}

std::string Reader::FindRanks() {
  // 2 (n - 1) / n is busbw over algbw, in all rows.
  constexpr double kSlack = 1e-9;
  const auto factor = [](int64_t ranks) { return 2 * double(ranks - 1) / double(ranks); };
  int64_t fewest = ranks_ != 0 ? ranks_ : 2, most = ranks_ != 0 ? ranks_ : kMostRanks;
  for (const Ratio &ratio : ratios_) {
    int64_t low = fewest, high = most;
    while (low <= high && factor(low) < ratio.least * (1 - kSlack)) ++low;
    while (low <= high && factor(high) > ratio.most * (1 + kSlack)) --high;
    if (low > high) {
      line_ = ratio.line;
      return "busbw must be algbw times 2 (ranks - 1) / ranks, for " +
             (fewest == most ? std::to_string(fewest) + " ranks"
                             : "the ranks of the rows before") +
             ", got: " + std::to_string(ratio.least) + " to " + std::to_string(ratio.most) +
             " times";
    }
    fewest = low;
    most = high;
  }
  if (fewest != most) return "lists no ranks, and busbw does not say how many there are";
  ranks_ = fewest;
  return ranks_ < 2 ? "must be of 2 ranks or more, got: 1" : "";
}

std::string Reader::Read(std::string_view text, NcclTestsLog *log) {
  const auto failed = [&](const std::string &error) {
    return line_ == 0 ? error : "line " + std::to_string(line_) + ": " + error;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_;
    const std::vector<std::string_view> words = Words(line);
    if (words.empty() || line.find(" NCCL INFO ") != line.npos ||
        line.find(" NCCL WARN ") != line.npos)
      continue;
    if (std::string error = words[0][0] == '#' ? Comment(line, words) : Fields(words);
        !error.empty())
      return failed(error);
  }
  line_ = 0;
  if (points_.empty()) return failed("has no row of times");
  if (std::string error = FindRanks(); !error.empty()) return failed(error);
  log->ranks = ranks_;
  log->times = NcclTimes(std::move(points_));
  return "";
}

}  // namespace

std::string ParseNcclTestsLog(std::string_view text, NcclTestsLog *log) {
  return Reader().Read(text, log);
}

}  // namespace commsched::plan
