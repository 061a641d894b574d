// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/sparse/kernel_instance.h"
#include "ops/sparse/operands.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse {
namespace {

// Operand numbers. The last input is the threshold with `above`, the state with
// `every`; behind it the number of the step with `step`.
struct TopKLayout {
  bool feedback = false, above = false, every = false, step = false;
  size_t threshold() const { return size_t{1} + feedback; }
  size_t number() const { return threshold() + above + every; }
  size_t inputs() const { return number() + step; }
  size_t values() const { return inputs(); }
  size_t indices() const { return inputs() + 1; }
  size_t count() const { return inputs() + 2; }
  size_t new_residual() const { return inputs() + 2 + above; }
  size_t new_state() const { return new_residual() + 1; }
};

TopKLayout LayoutOf(const KernelDesc &desc) {
  const std::string &kind = desc.kind;
  const bool every = kind == "top_k_every";
  return {every || kind == "top_k_feedback" || kind == "select_above_feedback",
          kind == "select_above" || kind == "select_above_feedback", every,
          Attribute(desc, "has_step", 0) != 0};
}

TopKProblem ProblemOf(const KernelDesc &desc) {
  const TopKLayout at = LayoutOf(desc);
  TopKProblem problem;
  problem.element = desc.operands[0].element;
  problem.index = desc.operands[at.indices()].element;
  problem.size = Rows(desc.operands[0]);
  problem.k = Rows(desc.operands[at.values()]);
  problem.method = TopKMethod(Attribute(desc, "method", 0));
  problem.steps = int(Attribute(desc, "steps", problem.steps));
  problem.seed = uint64_t(Attribute(desc, "seed", 0));
  problem.stop_early = Attribute(desc, "stop_early", 0) != 0;
  return problem;
}

absl::Status CheckTopKKernel(const KernelDesc &desc) {
  const TopKLayout at = LayoutOf(desc);
  absl::Status s;
  const Is v = Is::kValue, i = Is::kIndex, c = Is::kCount, t = Is::kState,
           n = Is::kNumber;
  const auto attributes = {"method", "steps", "seed", "stop_early", "has_step"};
  if (at.every)
    s = CheckOperands(
        desc, at.step ? std::vector{v, v, t, n, v, i, v, t} : std::vector{v, v, t, v, i, v, t},
        {"method", "steps", "seed", "stop_early", "has_step", "every"});
  else if (at.above)
    s = at.feedback ? CheckOperands(desc, {v, v, v, v, i, c, v}, {})
                    : CheckOperands(desc, {v, v, v, i, c}, {});
  else
    s = at.feedback
            ? CheckOperands(desc,
                            at.step ? std::vector{v, v, n, v, i, v}
                                    : std::vector{v, v, v, i, v},
                            attributes)
            : CheckOperands(
                  desc, at.step ? std::vector{v, n, v, i} : std::vector{v, v, i},
                  attributes);
  if (s.ok()) s = CheckLength(desc, 0, Rows(desc.operands[0]));
  if (s.ok())
    s = CheckLength(desc, at.values(), Rows(desc.operands[at.values()]));
  if (s.ok()) s = CheckSame(desc, at.values(), at.indices());
  if (s.ok() && at.feedback) s = CheckSame(desc, 0, 1);
  if (s.ok() && at.feedback) s = CheckSame(desc, 0, at.new_residual());
  if (s.ok() && at.above) s = CheckLength(desc, at.threshold(), 1);
  if (s.ok() && at.above) s = CheckLength(desc, at.count(), 1);
  if (s.ok() && at.every) s = CheckLength(desc, at.threshold(), 2);
  if (s.ok() && at.step) s = CheckLength(desc, at.number(), 1);
  if (s.ok() && at.every) s = CheckLength(desc, at.new_state(), 2);
  if (!s.ok()) return s;
  const int64_t every = Attribute(desc, "every", at.every ? 0 : 1);
  if (every < 1 || every > kMaxThresholdSteps)
    return absl::InvalidArgumentError(absl::StrCat(
        "every must be 1 to ", kMaxThresholdSteps, ", got: ", every));
  const int64_t method = Attribute(desc, "method", 0);
  if (method < 0 || method > int64_t(TopKMethod::kMsTopK))
    return absl::InvalidArgumentError(
        absl::StrCat("method must be 0 to 3, got: ", method));
  const int64_t steps = Attribute(desc, "steps", 1);
  if (steps < 1 || steps > 100)
    return absl::InvalidArgumentError(
        absl::StrCat("steps must be 1 to 100, got: ", steps));
  return CheckTopK(ProblemOf(desc));
}

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeTopKKernel(
    const KernelDesc &desc) {
  const TopKLayout at = LayoutOf(desc);
  const TopKProblem checked = ProblemOf(desc);
  const int64_t every = Attribute(desc, "every", 1);
  return Kernel(
      [at, checked, every](void *const *operands, void *scratch) {
        TopKProblem problem = checked;
        if (at.step) {
          int32_t number = 0;
          std::memcpy(&number, operands[at.number()], sizeof(number));
          problem.seed = SeedOfStep(problem.seed, number);
        }
        TopKBuffers buffers;
        buffers.input = operands[0];
        if (at.feedback) {
          buffers.residual = operands[1];
          buffers.new_residual = operands[at.new_residual()];
        }
        buffers.values = operands[at.values()];
        buffers.indices = operands[at.indices()];
        buffers.scratch = scratch;
        if (at.every) {
          ThresholdState state, next;
          std::memcpy(&state, operands[at.threshold()], sizeof(state));
          absl::Status s = TopKEvery(problem, every, state, buffers, &next);
          if (s.ok())
            std::memcpy(operands[at.new_state()], &next, sizeof(next));
          return s;
        }
        if (!at.above) return TopK(problem, buffers);
        const double threshold = ReadElement(
            problem.element,
            static_cast<const std::byte *>(operands[at.threshold()]));
        return SelectAbove(problem, threshold, buffers,
                           static_cast<int64_t *>(operands[at.count()]));
      },
      TopKScratchBytes(checked));
}

}  // namespace

void AddTopKKernels(std::map<std::string, KernelFamily> *kinds) {
  for (const char *kind : {"top_k", "top_k_feedback", "select_above",
                           "select_above_feedback", "top_k_every"})
    (*kinds)[kind] = {CheckTopKKernel, MakeTopKKernel};
}

}  // namespace commsched::ops::sparse
