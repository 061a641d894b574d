// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/primitive.h"

#include <omp.h>

#include "absl/strings/str_cat.h"
#include "ops/onednn/convolution.h"
#include "ops/onednn/kernels.h"
#include "ops/onednn/matmul.h"

namespace commsched::ops {

const dnnl::engine &CpuEngine() {
  static const dnnl::engine *engine =
      new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

static bool MultipliesBFloat16() {
  static const bool has = [] {
    const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    return (isa & wanted) == wanted;  // a level has the bits of those below
  }();
  return has;
}

std::optional<dnnl::memory::data_type> DnnlType(Element element) {
  if (element == Element::kF32) return dnnl::memory::data_type::f32;
  if (element == Element::kBF16 && MultipliesBFloat16())
    return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

// The number of threads is a setting of each thread in OpenMP.
void PrepareOneDnnThread() { omp_set_num_threads(1); }

void AddOneDnnKernels(KernelFamilies *kinds) {
  (*kinds)["matmul"] = {&CheckMatmul, &MakeMatmul};
  for (const char *kind : {"convolution_forward", "convolution_backward_data",
                           "convolution_backward_weights"})
    (*kinds)[kind] = {&CheckConvolution, &MakeConvolution};
}

size_t PrimitiveKernel::Reserve(size_t bytes) {
  size_t at = scratch_bytes_;
  scratch_bytes_ += (bytes + 63) / 64 * 64;
  return at;
}

PrimitiveKernel::PrimitiveKernel(dnnl::primitive primitive,
                                 std::string implementation,
                                 dnnl::memory::desc scratchpad,
                                 std::vector<PrimitiveArgument> arguments)
    : primitive_(std::move(primitive)),
      implementation_(std::move(implementation)),
      stream_(CpuEngine()) {
  const dnnl::engine &engine = CpuEngine();
  for (PrimitiveArgument &info : arguments) {
    Bound bound;
    bound.info = info;
    bound.user = dnnl::memory(info.user, engine, DNNL_MEMORY_NONE);
    if (info.accumulate || info.user != info.wanted) {
      bound.wanted = dnnl::memory(info.wanted, engine, DNNL_MEMORY_NONE);
      bound.at = Reserve(info.wanted.get_size());
      dnnl::primitive_attr attr = UserScratchpad();
      if (info.accumulate) {
        dnnl::post_ops ops;
        ops.append_sum(1.0f);
        attr.set_post_ops(ops);
      }
      const dnnl::memory::desc &from = info.output ? info.wanted : info.user;
      const dnnl::memory::desc &to = info.output ? info.user : info.wanted;
      dnnl::reorder::primitive_desc pd(engine, from, engine, to, attr);
      bound.copy = dnnl::reorder(pd);
      bound.copy_scratchpad =
          dnnl::memory(pd.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
      bound.copy_at = Reserve(pd.scratchpad_desc().get_size());
      arguments_[info.argument] = bound.wanted;
    } else {
      arguments_[info.argument] = bound.user;
    }
    bound_.push_back(std::move(bound));
  }
  scratchpad_ = dnnl::memory(scratchpad, engine, DNNL_MEMORY_NONE);
  scratchpad_at_ = Reserve(scratchpad.get_size());
  arguments_[DNNL_ARG_SCRATCHPAD] = scratchpad_;
}

absl::Status PrimitiveKernel::Run(void *const *operands, void *scratch) {
  auto *base = static_cast<char *>(scratch);
  try {
    scratchpad_.set_data_handle(base + scratchpad_at_);
    for (Bound &b : bound_) {
      b.user.set_data_handle(operands[b.info.operand]);
      if (!b.copy) continue;
      b.wanted.set_data_handle(base + b.at);
      b.copy_scratchpad.set_data_handle(base + b.copy_at);
      if (!b.info.output)
        b.copy->execute(stream_, {{DNNL_ARG_FROM, b.user},
                                  {DNNL_ARG_TO, b.wanted},
                                  {DNNL_ARG_SCRATCHPAD, b.copy_scratchpad}});
    }
    primitive_.execute(stream_, arguments_);
    for (Bound &b : bound_)
      if (b.copy && b.info.output)
        b.copy->execute(stream_, {{DNNL_ARG_FROM, b.wanted},
                                  {DNNL_ARG_TO, b.user},
                                  {DNNL_ARG_SCRATCHPAD, b.copy_scratchpad}});
    stream_.wait();
  } catch (const dnnl::error &e) {
    return absl::InternalError(
        absl::StrCat(implementation_, ": oneDNN: ", e.message));
  }
  return absl::OkStatus();
}

}  // namespace commsched::ops
