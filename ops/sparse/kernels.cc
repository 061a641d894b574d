// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/kernels.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/sparse/kernel_instance.h"
#include "ops/sparse/lists.h"
#include "ops/sparse/operands.h"
#include "ops/sparse/quantize.h"
#include "ops/sparse/regions.h"
#include "ops/sparse/words.h"

namespace commsched::ops::sparse {
namespace {

// -- lists ------------------------------------------------------------------

ListType TypeOf(const KernelDesc &desc, size_t indices, size_t values) {
  return {desc.operands[values].element, desc.operands[indices].element,
          Width(desc.operands[values])};
}

absl::Status CheckDenominator(const KernelDesc &desc) {
  if (int64_t n = Attribute(desc, "denominator", 1); n < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("denominator must be at least 1, got: ", n));
  return absl::OkStatus();
}
absl::Status CheckAccumulates(const KernelDesc &desc) {
  if (desc.accumulate) return absl::OkStatus();
  return absl::InvalidArgumentError("must accumulate: it changes its target");
}

absl::Status CheckScatterAdd(const KernelDesc &desc) {
  absl::Status s = CheckOperands(desc, {Is::kIndex, Is::kValue, Is::kValue},
                                 {"denominator"});
  if (s.ok()) s = CheckList(desc, 0, 1);
  if (s.ok()) s = CheckDenominator(desc);
  if (s.ok() && (desc.operands[1].dims.size() != desc.operands[2].dims.size() ||
                 Width(desc.operands[1]) != Width(desc.operands[2])))
    return absl::InvalidArgumentError(
        absl::StrCat("operands 1 and 2 must have rows of the same size, got: [",
                     absl::StrJoin(desc.operands[1].dims, ","), "] and [",
                     absl::StrJoin(desc.operands[2].dims, ","), "]"));
  return s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeScatterAdd(
    const KernelDesc &desc) {
  const ListType type = TypeOf(desc, 0, 1);
  const int64_t count = Rows(desc.operands[0]), size = Rows(desc.operands[2]);
  const double scale = 1.0 / double(Attribute(desc, "denominator", 1));
  const bool clear = !desc.accumulate;
  const size_t bytes =
      size_t(Elements(desc.operands[2])) * ElementBytes(type.element);
  return Kernel([=](void *const *operands, void *) {
    if (clear) std::memset(operands[2], 0, bytes);
    return ScatterAdd(type, operands[0], operands[1], count, scale, operands[2],
                      size);
  });
}

absl::Status CheckScatterClear(const KernelDesc &desc) {
  absl::Status s = CheckOperands(desc, {Is::kIndex, Is::kValue}, {});
  if (s.ok()) s = CheckLength(desc, 0, Rows(desc.operands[0]));
  return s.ok() ? CheckAccumulates(desc) : s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeScatterClear(
    const KernelDesc &desc) {
  const ListType type = TypeOf(desc, 0, 1);
  const int64_t count = Rows(desc.operands[0]), size = Rows(desc.operands[1]);
  return Kernel([=](void *const *operands, void *) {
    return ScatterClear(type, operands[0], count, operands[1], size);
  });
}

absl::Status CheckScatterAddOthers(const KernelDesc &desc) {
  absl::Status s =
      CheckOperands(desc, {Is::kIndex, Is::kValue, Is::kIndex, Is::kValue}, {});
  if (s.ok()) s = CheckSame(desc, 0, 1);
  for (size_t i : {1, 2, 3})
    if (s.ok()) s = CheckLength(desc, i, Rows(desc.operands[i]));
  return s.ok() ? CheckAccumulates(desc) : s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeScatterAddOthers(
    const KernelDesc &desc) {
  const ListType type = TypeOf(desc, 0, 1);
  const int64_t count = Rows(desc.operands[0]), others = Rows(desc.operands[2]),
                size = Rows(desc.operands[3]);
  return Kernel([=](void *const *operands, void *) {
    return ScatterAddOthers(type, operands[0], operands[1], count, operands[2],
                            others, operands[3], size);
  });
}

absl::Status CheckMergeLists(const KernelDesc &desc) {
  absl::Status s = CheckOperands(
      desc, {Is::kIndex, Is::kValue, Is::kIndex, Is::kValue}, {"denominator"});
  if (s.ok()) s = CheckList(desc, 0, 1);
  if (s.ok()) s = CheckSame(desc, 0, 2);
  if (s.ok()) s = CheckSame(desc, 1, 3);
  return s.ok() ? CheckDenominator(desc) : s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeMergeLists(
    const KernelDesc &desc) {
  const ListType type = TypeOf(desc, 0, 1);
  const int64_t count = Rows(desc.operands[0]);
  const double scale = 1.0 / double(Attribute(desc, "denominator", 1));
  return Kernel(
      [=](void *const *operands, void *scratch) {
        int64_t merged = 0;
        return MergeLists(type, operands[0], operands[1], count, scale,
                          operands[2], operands[3], &merged, scratch);
      },
      MergeScratchBytes(type, count));
}

absl::Status CheckMergeTopK(const KernelDesc &desc) {
  absl::Status s =
      CheckOperands(desc, {Is::kIndex, Is::kValue, Is::kValue, Is::kIndex}, {});
  if (s.ok()) s = CheckSame(desc, 0, 1);
  if (s.ok()) s = CheckLength(desc, 0, Rows(desc.operands[0]));
  if (s.ok()) s = CheckSame(desc, 2, 3);
  return s.ok() ? CheckLength(desc, 2, Rows(desc.operands[2])) : s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeMergeTopK(
    const KernelDesc &desc) {
  const ListType type = TypeOf(desc, 0, 1);
  const int64_t count = Rows(desc.operands[0]), k = Rows(desc.operands[2]);
  return Kernel(
      [=](void *const *operands, void *scratch) {
        return MergeTopK(type, operands[0], operands[1], count, k, operands[3],
                         operands[2], scratch);
      },
      MergeScratchBytes(type, count));
}

// -- regions ----------------------------------------------------------------

absl::Status CheckRegions(const KernelDesc &desc, size_t shifts, size_t lists,
                          size_t counts) {
  const int64_t regions = Rows(desc.operands[counts]);
  if (regions < 2 || Rows(desc.operands[lists]) % regions != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("operand ", lists,
                     " must have 2 or more regions of equal length, got: ",
                     Rows(desc.operands[lists]), " in ", regions));
  absl::Status s = CheckLength(desc, shifts, regions - 1);
  for (size_t i = 0; i < desc.operands.size() && s.ok(); ++i)
    s = CheckLength(desc, i, Rows(desc.operands[i]));
  const int64_t size = Attribute(desc, "size", 0);
  const bool narrow = desc.operands[lists].element == Element::kI32;
  if (s.ok() && (size < 1 || (narrow && size > int64_t{1} << 31)))
    return absl::InvalidArgumentError(absl::StrCat(
        "size must be 1 or more, and 2^31 at most with i32 indices, got: ",
        size));
  return s;
}
RegionsType RegionsOf(const KernelDesc &desc, Element element, size_t counts) {
  return {element, desc.operands[counts].element, Attribute(desc, "size", 0),
          Rows(desc.operands[counts])};
}

absl::Status CheckSplitRegions(const KernelDesc &desc) {
  const Is i = Is::kIndex, v = Is::kValue;
  absl::Status s = CheckOperands(desc, {i, v, i, v, i, i}, {"size"});
  if (s.ok()) s = CheckSame(desc, 0, 1);
  if (s.ok()) s = CheckSame(desc, 3, 4);
  return s.ok() ? CheckRegions(desc, 2, 4, 5) : s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeSplitRegions(
    const KernelDesc &desc) {
  const RegionsType type = RegionsOf(desc, desc.operands[1].element, 5);
  const int64_t count = Rows(desc.operands[0]),
                capacity = Rows(desc.operands[4]) / type.regions;
  return Kernel(
      [=](void *const *operands, void *scratch) {
        return SplitRegions(type, operands[2], operands[0], operands[1], count,
                            capacity, operands[4], operands[3], operands[5],
                            scratch);
      },
      RegionsScratchBytes(type, count));
}

absl::Status CheckBalanceRegions(const KernelDesc &desc) {
  const Is i = Is::kIndex;
  absl::Status s = CheckOperands(desc, {i, i, i, i}, {"size"});
  if (s.ok()) s = CheckSame(desc, 2, 3);
  return s.ok() ? CheckRegions(desc, 2, 0, 1) : s;
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeBalanceRegions(
    const KernelDesc &desc) {
  const RegionsType type = RegionsOf(desc, Element::kF32, 1);
  const int64_t capacity = Rows(desc.operands[0]) / type.regions;
  return Kernel(
      [=](void *const *operands, void *scratch) {
        return BalanceRegions(type, operands[2], operands[0], operands[1],
                              capacity, operands[3], scratch);
      },
      RegionsScratchBytes(type, 0));
}

// -- quantize, dequantize ---------------------------------------------------

// Operand numbers of values, codes and scales.
struct QuantizeLayout {
  size_t values, codes, scales;
};
QuantizeLayout QuantizeLayoutOf(const KernelDesc &desc) {
  if (desc.kind == "quantize") return {0, 1, 2};
  return {desc.operands.size() - 1, 0, 1};
}
int64_t BlockOf(const KernelDesc &desc) {
  return Attribute(desc, "block", Rows(desc.operands[0]));
}

absl::Status CheckQuantize(const KernelDesc &desc) {
  const bool scales = desc.operands.size() == 3;
  const Is v = Is::kValue, c = Is::kCode, f = Is::kScale;
  absl::Status s;
  if (desc.kind == "quantize")
    s = scales ? CheckOperands(desc, {v, c, f}, {"block"})
               : CheckOperands(desc, {v, c}, {"block"});
  else
    s = scales ? CheckOperands(desc, {c, f, v}, {"block"})
               : CheckOperands(desc, {c, v}, {"block"});
  const QuantizeLayout at = QuantizeLayoutOf(desc);
  if (s.ok()) s = CheckSame(desc, at.values, at.codes);
  if (s.ok()) s = CheckLength(desc, 0, Rows(desc.operands[0]));
  if (!s.ok()) return s;
  const Element code = desc.operands[at.codes].element;
  if (scales != (code == Element::kI8))
    return absl::InvalidArgumentError(absl::StrCat(
        ElementName(code), scales ? " has no scales" : " needs scales"));
  const int64_t block = BlockOf(desc), size = Rows(desc.operands[0]);
  if (block < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("block must be at least 1, got: ", block));
  if (scales) return CheckLength(desc, at.scales, (size - 1) / block + 1);
  return absl::OkStatus();
}
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeQuantize(
    const KernelDesc &desc) {
  const QuantizeLayout at = QuantizeLayoutOf(desc);
  const Element value = desc.operands[at.values].element,
                code = desc.operands[at.codes].element;
  const int64_t size = Rows(desc.operands[0]), block = BlockOf(desc);
  const bool encode = desc.kind == "quantize";
  return Kernel([=](void *const *operands, void *) {
    auto *scales = code == Element::kI8
                       ? static_cast<float *>(operands[at.scales])
                       : nullptr;
    if (encode)
      return Quantize(value, code, operands[0], size, block, operands[at.codes],
                      scales);
    Dequantize(code, value, operands[0], size, block, scales,
               operands[at.values]);
    return absl::OkStatus();
  });
}

// -- pack_words, unpack_words -----------------------------------------------

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeWords(
    const KernelDesc &desc) {
  const WordRows rows = WordRowsOf(desc);
  const bool pack = desc.kind == "pack_words";
  return Kernel([=](void *const *operands, void *) {
    if (pack)
      PackWords(rows, operands[0], operands[1]);
    else
      UnpackWords(rows, operands[0], operands[1]);
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace commsched::ops::sparse

namespace commsched::ops {

void AddSparseKernels(KernelFamilies *kinds) {
  using namespace sparse;
  AddTopKKernels(kinds);
  (*kinds)["scatter_add"] = {CheckScatterAdd, MakeScatterAdd};
  (*kinds)["scatter_clear"] = {CheckScatterClear, MakeScatterClear};
  (*kinds)["scatter_add_others"] = {CheckScatterAddOthers,
                                    MakeScatterAddOthers};
  (*kinds)["merge_lists"] = {CheckMergeLists, MakeMergeLists};
  (*kinds)["merge_top_k"] = {CheckMergeTopK, MakeMergeTopK};
  (*kinds)["split_regions"] = {CheckSplitRegions, MakeSplitRegions};
  (*kinds)["balance_regions"] = {CheckBalanceRegions, MakeBalanceRegions};
  for (const char *kind : {"quantize", "dequantize"})
    (*kinds)[kind] = {CheckQuantize, MakeQuantize};
  for (const char *kind : {"pack_words", "unpack_words"})
    (*kinds)[kind] = {CheckWords, MakeWords};
}

}  // namespace commsched::ops
