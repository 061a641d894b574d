// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/own_states.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace commsched::runtime {

std::vector<double> ElementsOf(const StoredTensor &tensor) {
  std::vector<double> values(size_t(tensor.type.elements));
  const size_t width = ops::ElementBytes(tensor.type.element);
  for (size_t e = 0; e < values.size(); ++e)
    values[e] = ops::ReadElement(tensor.type.element, tensor.data.data() + e * width);
  return values;
}

namespace {

constexpr absl::string_view kMean = ".mean", kUnsent = ".residual";

// The number behind `.shard` or `.device`; -1 if it is no such suffix.
int NumberOf(absl::string_view suffix, absl::string_view kind) {
  int number = -1;
  return absl::ConsumePrefix(&suffix, kind) && absl::SimpleAtoi(suffix, &number) ? number : -1;
}

// "w.residual" and ".shard0"
std::pair<absl::string_view, absl::string_view> CutSuffix(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == absl::string_view::npos) return {name, {}};
  const absl::string_view last = name.substr(dot);
  const bool suffix = last == kMean || NumberOf(last, ".shard") >= 0 || NumberOf(last, ".device") >= 0;
  return suffix ? std::pair(name.substr(0, dot), last) : std::pair(name, absl::string_view());
}

// Whether pieces of it are rows of the whole; else there is one of a few numbers for each piece.
bool IsOfRows(absl::string_view group) {
  return absl::EndsWith(group, kUnsent) || absl::EndsWith(group, ".velocity") || absl::EndsWith(group, ".squares");
}

// Of pieces of a node, by their suffixes: that of the node. None if they do not fit together.
std::optional<std::vector<double>> OfNode(absl::string_view group, const std::map<std::string, const StoredTensor *> &pieces) {
  std::vector<std::vector<double>> shards;
  for (int i = 0;; ++i) {
    auto shard = pieces.find(absl::StrCat(".shard", i));
    if (shard == pieces.end()) break;
    shards.push_back(ElementsOf(*shard->second));
  }
  if (!shards.empty() && IsOfRows(group)) {
    std::vector<double> joined;
    for (const auto &shard : shards) joined.insert(joined.end(), shard.begin(), shard.end());
    return joined;
  }
  if (shards.empty())
    for (const auto &[suffix, tensor] : pieces) shards.push_back(ElementsOf(*tensor));
  std::vector<double> mean(shards.front().size());
  for (const auto &shard : shards) {
    if (shard.size() != mean.size()) return std::nullopt;
    for (size_t e = 0; e < mean.size(); ++e) mean[e] += shard[e] / double(shards.size());
  }
  return mean;
}

}  // namespace

OwnStates::OwnStates(const Program &program) {
  for (const SlotInfo &slot : program.slots) {
    if (!slot.per_rank) continue;
    const auto [group, suffix] = CutSuffix(slot.name);
    pieces_[std::string(group)].emplace(suffix, slot.type);
  }
}

bool OwnStates::IsAsSaved(const TensorFile &file, const SlotInfo &slot) const {
  const auto [group, suffix] = CutSuffix(slot.name);
  size_t there = 0;
  for (const auto &[name, tensor] : file.tensors) there += CutSuffix(name).first == group;
  const Pieces &pieces = pieces_.find(group)->second;
  return there == pieces.size() && std::all_of(pieces.begin(), pieces.end(), [&](const auto &piece) {
           return file.tensors.count(absl::StrCat(group, piece.first)) != 0;
         });
}

bool OwnStates::IsUnsentOfOthers(absl::string_view name) const {
  const absl::string_view group = CutSuffix(name).first;
  return absl::EndsWith(group, kUnsent) && pieces_.find(group) == pieces_.end();
}

bool OwnStates::IsMeanOfAll(const TensorFile &file, const SlotInfo &slot) const {
  const absl::string_view group = CutSuffix(slot.name).first;
  return absl::EndsWith(slot.name, kMean) && !IsAsSaved(file, slot) &&
         std::any_of(file.tensors.begin(), file.tensors.end(),
                     [&](const auto &tensor) { return CutSuffix(tensor.first).first == group; });
}

absl::StatusOr<std::optional<std::vector<double>>> OwnStates::ValueIn(const TensorFile &file, const SlotInfo &slot,
                                                                      bool complete) const {
  const auto [group, suffix] = CutSuffix(slot.name);
  std::map<std::string, const StoredTensor *> there;
  for (const auto &[name, tensor] : file.tensors)
    if (CutSuffix(name).first == group) there.emplace(CutSuffix(name).second, &tensor);
  if (there.empty() && !complete) return std::nullopt;
  if (there.empty() || IsAsSaved(file, slot)) {
    auto tensor = file.Find(slot.name, slot.type);
    if (!tensor.ok()) return tensor.status();
    return ElementsOf(**tensor);
  }
  std::vector<double> zero(size_t(slot.type.elements));
  if (!ops::IsFloat(slot.type.element) || absl::EndsWith(group, ".threshold")) return zero;
  std::optional<std::vector<double>> node = OfNode(group, there);
  const int shard = NumberOf(suffix, ".shard");
  size_t begin = 0, all = zero.size();
  if (shard >= 0 && IsOfRows(group)) {
    all = 0;
    for (const auto &[other, type] : pieces_.find(group)->second) {
      all += size_t(type.elements);
      if (NumberOf(other, ".shard") < shard) begin += size_t(type.elements);
    }
  }
  if (!node || node->size() != all || there.begin()->second->type.element != slot.type.element)
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": pieces of \"", group, "\" must be of ", all,
                                                   " elements, as in the plan, got others"));
  return std::vector<double>(node->begin() + std::ptrdiff_t(begin), node->begin() + std::ptrdiff_t(begin + zero.size()));
}

void StoreElements(ops::Element element, const std::vector<double> &values, std::byte *target) {
  for (double value : values) {
    if (element == ops::Element::kF64) {
      std::memcpy(target, &value, 8);
    } else if (element == ops::Element::kF32) {
      const auto narrow = float(value);
      std::memcpy(target, &narrow, 4);
    } else {
      const uint16_t bits =
          element == ops::Element::kF16 ? ops::FloatToHalf(float(value)) : ops::FloatToBFloat16(float(value));
      std::memcpy(target, &bits, 2);
    }
    target += ops::ElementBytes(element);
  }
}

}  // namespace commsched::runtime
