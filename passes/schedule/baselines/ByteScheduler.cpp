// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ByteScheduler, with the tuning of its two parameters.

#include "passes/schedule/Partition.h"
#include "passes/schedule/baselines/Baselines.h"

#include <algorithm>
#include <cmath>

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
  static constexpr int kGrid = 16;
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
    return 1 / (1 + (dx * dx + dy * dy) / (2 * 0.3 * 0.3));
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
  int64_t value = from << (step / 2);
  return step % 2 ? value + value * 2 / 5 : value;
}
} // namespace

// The tuning of the same paper: Bayesian optimisation of slice and credit with a
// Gaussian process and expected improvement, about ten trials, each of them
// evaluated instead of run. Slices from 64 KiB to 16 MiB, credit from one slice to
// 256 of them; the kernel and its length are this project's choice.
Schedule tunedByteScheduler(const View &view, unsigned trials) {
  // A run with a hundred thousand slices a step would take minutes to judge.
  int64_t smallest = 64 << 10;
  while (sliceCount(view.problem, smallest) >
         std::max<int64_t>(20000, 2 * view.problem.communications.size()))
    if ((smallest *= 2) > (int64_t{1} << 40))
      break;
  Process process;
  Schedule best;
  double bestPeriod = 0;
  // The published default of 4 MiB with credit for four, and two corners.
  Process::Point starts[] = {{12, 4}, {4, 2}, {8, 10}};
  for (unsigned trial = 0; trial < trials; ++trial) {
    Process::Point point = trial < 3 ? starts[trial] : process.next();
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
