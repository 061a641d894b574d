// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/differences.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ops/base/element.h"
#include "runtime/base/json.h"

namespace commsched::run {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Bound(absl::Span<const std::byte> bounds, size_t i) {
  double bound;
  std::memcpy(&bound, bounds.data() + i * sizeof(bound), sizeof(bound));
  return bound;
}

// How far apart two numbers are; infinite if they are not of one class.
double Apart(double found, double wanted) {
  if (found == wanted || (std::isnan(found) && std::isnan(wanted))) return 0;
  const double apart = std::fabs(found - wanted);
  return std::isnan(apart) ? kInfinity : apart;
}

std::string Number(double value) { return absl::StrFormat("%.9g", value); }

}  // namespace

void Compare(ops::Element element, absl::Span<const std::byte> found,
             absl::Span<const std::byte> wanted, absl::Span<const std::byte> bounds,
             uint64_t step, Difference *d) {
  const size_t size = ops::ElementBytes(element);
  const size_t count = bounds.size() / sizeof(double);
  d->elements += count;
  double magnitude = 0;
  for (size_t i = 0; i < count; ++i) {
    const double value = std::fabs(ops::ReadElement(element, wanted.data() + i * size));
    if (std::isfinite(value)) magnitude = std::max(magnitude, value);
  }
  for (size_t i = 0; i < count; ++i) {
    const double bound = Bound(bounds, i);
    if (!(bound < kInfinity)) {
      ++d->undetermined;
      continue;
    }
    const double a = ops::ReadElement(element, found.data() + i * size);
    const double b = ops::ReadElement(element, wanted.data() + i * size);
    double apart = Apart(a, b);
    // Large integers are not doubles.
    if (apart == 0 && !std::isnan(a) && a != 0 &&
        std::memcmp(found.data() + i * size, wanted.data() + i * size, size) != 0)
      apart = 1;
    const bool outside = apart > bound;
    if (!outside && bound > 0 && bound >= magnitude) {
      ++d->undetermined;
      continue;
    }
    if (apart > d->largest || d->step == 0) {
      d->largest = apart;
      d->bound = bound;
      d->step = step;
    }
    if (!outside) continue;
    const double excess = bound == 0 ? kInfinity : apart / bound;
    if (++d->outside == 1 || excess > d->excess) {
      d->excess = excess;
      d->found = a;
      d->wanted = b;
      d->wrong_bound = bound;
      d->wrong_step = step;
      d->wrong_element = i;
    }
  }
}

std::string Table(const std::vector<Difference> &differences) {
  size_t width = 6;
  for (const Difference &d : differences) width = std::max(width, d.name.size());
  std::string text = absl::StrFormat("%-*s  %-18s  %-10s  %s\n", int(width), "tensor",
                                     "largest difference", "bound", "after step");
  for (const Difference &d : differences) {
    if (!d.determined()) {
      absl::StrAppend(&text, absl::StrFormat("%-*s  not determined\n", int(width), d.name));
      continue;
    }
    absl::StrAppend(&text, absl::StrFormat("%-*s  %-18.3g  %-10.3g  %d", int(width), d.name,
                                           d.largest, d.bound, d.step));
    if (d.outside != 0)
      absl::StrAppend(&text, "  ", d.outside, " of ", d.elements, " outside");
    if (d.undetermined != 0)
      absl::StrAppend(&text, "  ", d.undetermined, " of ", d.elements, " not determined");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string ToJson(const std::vector<Difference> &differences) {
  std::string text = "[";
  for (const Difference &d : differences)
    absl::StrAppend(&text, text.size() > 1 ? ",\n " : "", "{\"name\": ",
                    runtime::JsonQuote(d.name),
                    ", \"largest\": ", runtime::JsonNumber(d.largest),
                    ", \"bound\": ", runtime::JsonNumber(d.bound), ", \"step\": ", d.step,
                    ", \"outside\": ", d.outside, ", \"undetermined\": ", d.undetermined,
                    ", \"elements\": ", d.elements, "}");
  return absl::StrCat(text, "]\n");
}

absl::Status Verdict(const std::vector<Difference> &differences, uint64_t steps,
                     const std::string &against) {
  const Difference *worst = nullptr;
  size_t wrong = 0;
  for (const Difference &d : differences) {
    if (d.outside == 0) continue;
    ++wrong;
    if (worst == nullptr || d.excess > worst->excess) worst = &d;
  }
  if (worst == nullptr) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "checked ", steps, " steps against ", against, ": \"", worst->name,
      "\" is wrong after step ", worst->wrong_step, ": element ", worst->wrong_element,
      " must be ", Number(worst->wanted), " within ",
      absl::StrFormat("%.3g", worst->wrong_bound), ", got: ", Number(worst->found), " (",
      wrong, " of ", differences.size(), " tensors are outside of their bounds)"));
}

std::string Summary(const std::vector<Difference> &differences, uint64_t steps,
                    const std::string &against) {
  uint64_t undetermined = 0, elements = 0;
  std::string names;
  size_t known = 0;
  for (const Difference &d : differences) {
    known += d.determined() ? 1 : 0;
    if (!d.determined()) absl::StrAppend(&names, names.empty() ? "" : ", ", d.name);
    undetermined += d.undetermined;
    elements += d.elements;
  }
  std::string text = absl::StrCat("checked ", steps, " steps against ", against, ": ");
  if (known == differences.size())
    absl::StrAppend(&text, "all ", known, " tensors within bounds");
  else
    absl::StrAppend(&text, known, " tensors within bounds, ", differences.size() - known,
                    " not determined: ", names);
  if (undetermined != 0)
    absl::StrAppend(&text, " (", undetermined, " of ", elements,
                    " elements are not determined)");
  return text;
}

}  // namespace commsched::run
