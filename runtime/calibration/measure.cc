// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/calibration/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::calibration {
namespace {

using runtime::Clock;
using runtime::MutexLock;

constexpr size_t kSmall = 64;  // bytes of a message that is all overhead
constexpr size_t kBurst = 512;
// A transport may put smaller ones into one packet, so that they come in groups.
constexpr size_t kLarge = size_t{1} << 20;
constexpr size_t kMost = 64;  // large ones in a burst
constexpr size_t kEnoughBytes = size_t{16} << 20;
// Of those that a tensor may be cut into, a small one.
constexpr size_t kPiece = size_t{64} << 10;

int64_t Since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin)
      .count();
}

// Repeats `measure`: `most` times, or at least `least` times as long as it takes
// no longer than `seconds`.
template <typename F>
absl::StatusOr<int64_t> MedianOf(size_t least, size_t most, double seconds,
                                 F measure) {
  std::vector<int64_t> values;
  const Clock::time_point begin = Clock::now();
  while (values.size() < most &&
         (values.size() < least || double(Since(begin)) < seconds * 1e9)) {
    absl::StatusOr<int64_t> value = measure();
    if (!value.ok()) return value.status();
    values.push_back(*value);
  }
  return Median(std::move(values));
}

// Nanoseconds between two messages of a burst, in the middle. The first quarter
// does not count: of a shaped link it goes faster.
absl::StatusOr<int64_t> Spacing(Source *source, size_t count, size_t bytes) {
  auto at = source->Ask(count, bytes);
  if (!at.ok()) return at.status();
  const size_t first = count / 4, last = count - 1;
  return std::max<int64_t>(
      1, ((*at)[last] - (*at)[first]) / int64_t(last - first));
}

}  // namespace

int64_t Median(std::vector<int64_t> values) {
  auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

size_t LargeMessage(int64_t bits_per_second) {
  size_t bytes = size_t{64} << 10;
  while (bytes < (size_t{1} << 20) && int64_t(bytes) * 8 * 50 < bits_per_second)
    bytes *= 2;
  return bytes;
}

absl::StatusOr<LinkCost> MeasureLink(Source *source) {
  LinkCost cost;
  auto answer = [&]() -> absl::StatusOr<int64_t> {
    auto at = source->Ask(1, kSmall);
    if (!at.ok()) return at.status();
    return (*at)[0];
  };
  // Connections and caches warm up.
  if (auto warm = MedianOf(3, 50, 0.2, answer); !warm.ok()) return warm.status();
  auto round_trip = MedianOf(5, 300, 1, answer);
  if (!round_trip.ok()) return round_trip.status();
  cost.round_trip_ns = *round_trip;
  auto spacing = MedianOf(
      3, 25, 1, [&] { return Spacing(source, kBurst, kSmall); });
  if (!spacing.ok()) return spacing.status();
  // How many messages are a burst of the right length: long enough for what TCP
  // does when it loses something to be a small part.
  auto large = Spacing(source, 4, kLarge);
  if (!large.ok()) return large.status();
  const double rate = double(kLarge) * 1e9 / double(*large);  // bytes per second
  const double seconds = std::clamp(double(kEnoughBytes) / rate, 0.4, 1.5);
  const auto count =
      std::clamp<size_t>(size_t(rate * seconds / double(kLarge)), 8, kMost);
  large = MedianOf(3, 9, 3, [&] { return Spacing(source, count, kLarge); });
  if (!large.ok()) return large.status();
  cost.bits_per_second =
      std::max<int64_t>(1, int64_t(double(kLarge) * 8e9 / double(*large)));
  const auto sending = int64_t(double(kSmall) * 8e9 / double(cost.bits_per_second));
  // What a further message costs alone; and in a burst of pieces, where the link is busy with the
  // one before it meanwhile: a schedule that counts the first sends too much at once.
  auto pieces = MedianOf(3, 9, 1, [&] { return Spacing(source, count * (kLarge / kPiece) / 2, kPiece); });
  if (!pieces.ok()) return pieces.status();
  const auto piece = int64_t(double(kPiece) * 8e9 / double(cost.bits_per_second));
  cost.overhead_ns =
      std::max<int64_t>(0, std::min(*spacing - sending, *pieces - piece));
  cost.latency_ns =
      std::max<int64_t>(0, cost.round_trip_ns / 2 - std::max(*spacing, sending));
  return cost;
}

void Completions::Add(size_t number, absl::Status status) {
  const Clock::time_point now = Clock::now();
  {
    MutexLock lock(&mu_);
    if (!status.ok()) {
      // A copy of the text: statuses share it, which the thread sanitizer cannot
      // see through.
      if (status_.ok()) status_ = absl::Status(status.code(), status.message());
    } else {
      over_.push_back({number, now});
    }
  }
  changed_.Signal();
}

absl::StatusOr<std::vector<Completions::One>> Completions::Take(
    size_t count, absl::Duration deadline) {
  const auto patience = absl::ToChronoNanoseconds(deadline);
  std::vector<One> taken;
  MutexLock lock(&mu_);
  size_t before = over_.size();
  Clock::time_point late = Clock::now() + patience;
  while (over_.size() < count && status_.ok()) {
    const bool passed = changed_.WaitUntil(&mu_, late);
    if (over_.size() != before) late = Clock::now() + patience;
    if (passed && over_.size() == before && status_.ok())
      return absl::DeadlineExceededError(
          absl::StrCat("nothing came within ", absl::FormatDuration(deadline)));
    before = over_.size();
  }
  if (!status_.ok()) return absl::Status(status_.code(), status_.message());
  taken.swap(over_);
  return taken;
}

absl::StatusOr<std::vector<Completions::One>> Completions::Next(
    absl::Duration deadline) {
  return Take(1, deadline);
}

namespace {

// Something like what fragments do: arithmetic, and memory beyond the nearest
// caches.
class Loop {
 public:
  Loop() {
    Once();  // touches the memory
    const int64_t taken = Once();
    repeats_ = std::max<int64_t>(1, kPass / std::max<int64_t>(1, taken));
  }
  int64_t Once() {
    const Clock::time_point begin = Clock::now();
    for (int64_t n = 0; n < repeats_; ++n)
      for (size_t i = 0; i < to_.size(); ++i) to_[i] = to_[i] * 0.999f + from_[i];
    const int64_t taken = Since(begin);
    sum_ += to_[size_t(taken) % to_.size()];  // so that it is not left out
    return taken;
  }
  float sum() const { return sum_; }

 private:
  static constexpr size_t kElements = size_t{1} << 20;
  // Nanoseconds that a pass takes at least: more than a turn on a processor that
  // others want too, so that the median has it in it.
  static constexpr int64_t kPass = 10'000'000;
  int64_t repeats_ = 1;
  std::vector<float> from_ = std::vector<float>(kElements, 0.001f),
                     to_ = std::vector<float>(kElements, 1.0f);
  float sum_ = 0;
};

}  // namespace

int64_t Slowdown::percent() const {
  if (quiet_ns <= 0 || communicating_ns <= quiet_ns) return 0;
  return ((communicating_ns - quiet_ns) * 200 + quiet_ns) / (2 * quiet_ns);
}

absl::StatusOr<Slowdown> MeasureSlowdown(
    const std::function<absl::Status()> &ready,
    const std::function<absl::Status()> &communicate) {
  Loop loop;
  Slowdown slowdown;
  auto quiet = MedianOf(5, 2000, 0.4,
                        [&]() -> absl::StatusOr<int64_t> { return loop.Once(); });
  slowdown.quiet_ns = *quiet;
  if (absl::Status s = ready(); !s.ok()) return s;
  std::atomic<bool> over{false};
  absl::Status status;
  std::thread traffic([&] {
    status = communicate();
    over = true;
  });
  std::vector<int64_t> passes;
  while (!over) {
    passes.push_back(loop.Once());
  }
  traffic.join();
  if (!status.ok()) return status;
  // The last pass may have been alone.
  if (passes.size() > 1) passes.pop_back();
  slowdown.communicating_ns =
      passes.empty() || loop.sum() < 0 ? slowdown.quiet_ns : Median(std::move(passes));
  return slowdown;
}

}  // namespace commsched::calibration
