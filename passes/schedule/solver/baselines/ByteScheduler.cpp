// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ByteScheduler, with the tuning of its two parameters.

#include "passes/schedule/solver/Partition.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace commsched::schedule {

// Peng et al., A generic communication scheduler for distributed DNN training
// acceleration, SOSP 2019: tensors in slices of at most `slice` bytes, a queue by
// order of use in front of a first-come-first-served network, `credit` bytes on the
// way.
Schedule byteScheduler(const View &view, int64_t slice, int64_t credit) {
  Schedule schedule = emptySchedule(view, "bytescheduler");
  for (const std::vector<unsigned> &kind : view.kinds)
    for (unsigned communication : kind)
      for (Message &part : cutFull(view, {communication}, slice)) {
        prioritizeByConsumer(view, part);
        schedule.messages.push_back(std::move(part));
      }
  for (int64_t &bytes : schedule.credit)
    bytes = std::max<int64_t>(credit, 1);
  return schedule;
}

namespace {
// Everything below decides, so it uses only operations that IEEE 754 defines to the
// last bit: no functions of the mathematical library but the square root.

double exponential(double x) {
  // Series of x / 1024, then squared ten times.
  double y = x / 1024, term = 1, sum = 1;
  for (int i = 1; i < 12; ++i) {
    term = term * y / i;
    sum += term;
  }
  for (int i = 0; i < 10; ++i)
    sum *= sum;
  return sum;
}

double density(double x) {
  return x * x > 1400 ? 0 : 0.3989422804014327 * exponential(-x * x / 2);
}

// Abramowitz and Stegun, 26.2.17.
double distribution(double x) {
  if (x < 0)
    return 1 - distribution(-x);
  double t = 1 / (1 + 0.2316419 * x);
  double sum =
      t * (0.319381530 +
           t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - density(x) * sum;
}

// A Gaussian process over the unit square with the rational quadratic kernel, and
// the point of a grid with the largest expected improvement.
class Process {
public:
  static constexpr int kGrid = 22;
  struct Point {
    int x = 0, y = 0;
  };

  void observe(Point point, double value) {
    points.push_back(point);
    values.push_back(value);
  }

  bool known(Point point) const {
    return std::any_of(points.begin(), points.end(), [&](Point other) {
      return other.x == point.x && other.y == point.y;
    });
  }

  Point next() {
    factor();
    Point best;
    double most = -1;
    for (int x = 0; x <= kGrid; ++x)
      for (int y = 0; y <= kGrid; ++y)
        if (double gain = known({x, y}) ? -1 : improvement({x, y}); gain > most) {
          most = gain;
          best = {x, y};
        }
    return best;
  }

private:
  static double kernel(Point a, Point b) {
    double dx = static_cast<double>(a.x - b.x) / kGrid;
    double dy = static_cast<double>(a.y - b.y) / kGrid;
    return 1 / (1 + (dx * dx + dy * dy) / (2 * 0.22 * 0.22));
  }

  // Cholesky factor of the kernel matrix, and the weights of the standardised
  // values.
  void factor() {
    size_t n = points.size();
    mean = 0;
    for (double value : values)
      mean += value / static_cast<double>(n);
    double variance = 0;
    for (double value : values)
      variance += (value - mean) * (value - mean) / static_cast<double>(n);
    deviation = variance > 0 ? std::sqrt(variance) : 1;
    lower.assign(n, std::vector<double>(n, 0));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j <= i; ++j) {
        double sum = kernel(points[i], points[j]) + (i == j ? 1e-4 : 0);
        for (size_t k = 0; k < j; ++k)
          sum -= lower[i][k] * lower[j][k];
        lower[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / lower[j][j];
      }
    solved.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      double sum = (values[i] - mean) / deviation;
      for (size_t k = 0; k < i; ++k)
        sum -= lower[i][k] * solved[k];
      solved[i] = sum / lower[i][i];
    }
  }

  double improvement(Point point) const {
    size_t n = points.size();
    std::vector<double> v(n, 0);
    double expected = 0, variance = 1 + 1e-4;
    for (size_t i = 0; i < n; ++i) {
      double sum = kernel(points[i], point);
      for (size_t k = 0; k < i; ++k)
        sum -= lower[i][k] * v[k];
      v[i] = sum / lower[i][i];
      expected += v[i] * solved[i];
      variance -= v[i] * v[i];
    }
    double best = *std::min_element(values.begin(), values.end());
    double gain = (best - mean) / deviation - expected;
    double spread = std::sqrt(std::max(variance, 1e-12));
    double z = gain / spread;
    return gain * distribution(z) + spread * density(z);
  }

  std::vector<Point> points;
  std::vector<double> values;
  std::vector<std::vector<double>> lower;
  std::vector<double> solved;
  double mean = 0, deviation = 1;
};

// Sizes at equal distances of their ratio: `from` times 2 to the power of
// `step` / 2.
int64_t size(int64_t from, int step) {
  constexpr int64_t kMost = int64_t{1} << 60;
  if (from > kMost >> (step / 2 + 1))
    return kMost;
  int64_t value = from << (step / 2);
  return step % 2 ? value + value * 2 / 5 : value;
}
} // namespace

// The tuning of the same paper: Bayesian optimisation of slice and credit with a
// Gaussian process and expected improvement. 15 trials as in the published code (the
// paper needs about ten, and so many are made for large problems), each of them
// evaluated instead of run. Slices from 64 KiB to 128 MiB, credit from one slice to
// 2,048 of them: more than what the published code searches, for all-reduce slices of
// 2 to 32 and credit of 4 to 64 million parameters, for parameter servers credit of 1
// to 16 million. The kernel and its length are this project's choice.
Schedule tunedByteScheduler(const View &view, unsigned trials) {
  // A run with a hundred thousand slices a step would take minutes to judge.
  int64_t smallest = 64 << 10;
  while (sliceCount(view.problem, smallest) >
         std::max<int64_t>(20000, 2 * view.problem.communications.size()))
    smallest *= 2;
  if (view.problem.communications.size() > 5000)
    trials = std::min(trials, 10u);
  Process process;
  Schedule best;
  double bestPeriod = 0;
  // About the defaults of the published code, a million parameters with credit for
  // four slices; then small slices, much credit, and what it searches for all-reduce.
  Process::Point starts[] = {{12, 4}, {4, 2}, {8, 10}, {18, 3}};
  for (unsigned trial = 0; trial < trials; ++trial) {
    Process::Point point = trial < std::size(starts) ? starts[trial] : process.next();
    int64_t slice = size(smallest, point.x);
    Schedule schedule = byteScheduler(view, slice, size(slice, point.y));
    double period = evaluate(view.problem, schedule).period;
    process.observe(point, period);
    if (trial == 0 || period < bestPeriod) {
      bestPeriod = period;
      best = std::move(schedule);
    }
  }
  return best;
}

} // namespace commsched::schedule
