// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A oneDNN primitive on tensors with strides of the caller's choice: where the
// primitive wants another layout, the tensor is copied into scratch (or out of
// it) around each run. oneDNN caches the primitives themselves by descriptor,
// per process; memory belongs to the instance.
#ifndef COMMSCHED_OPS_ONEDNN_PRIMITIVE_H
#define COMMSCHED_OPS_ONEDNN_PRIMITIVE_H

#include <dnnl.hpp>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/base/kernel.h"

namespace commsched::ops {

const dnnl::engine &CpuEngine();
// Empty for types that the library's CPU kernels do not take. bf16 is one only
// where the processor multiplies it: emulated it is slower than f32.
std::optional<dnnl::memory::data_type> DnnlType(Element element);

// One tensor of a primitive.
struct PrimitiveArgument {
  int argument = 0;    // DNNL_ARG_...
  size_t operand = 0;  // of the kernel
  dnnl::memory::desc user;
  dnnl::memory::desc wanted;  // by the primitive
  bool output = false;
  bool accumulate = false;  // outputs: add to what is there (by the copy)
};

// Throws dnnl::error; makers catch it.
class PrimitiveKernel : public KernelInstance {
 public:
  PrimitiveKernel(dnnl::primitive primitive, std::string implementation,
                  dnnl::memory::desc scratchpad,
                  std::vector<PrimitiveArgument> arguments);
  size_t scratch_bytes() const override { return scratch_bytes_; }
  absl::Status Run(void *const *operands, void *scratch) override;
  std::string implementation() const override { return implementation_; }

 private:
  struct Bound {
    PrimitiveArgument info;
    dnnl::memory user, wanted;
    std::optional<dnnl::reorder> copy;
    dnnl::memory copy_scratchpad;
    size_t at = 0, copy_at = 0;  // in scratch
  };
  size_t Reserve(size_t bytes);

  dnnl::primitive primitive_;
  const std::string implementation_;
  dnnl::stream stream_;
  std::vector<Bound> bound_;
  dnnl::memory scratchpad_;
  size_t scratchpad_at_ = 0;
  size_t scratch_bytes_ = 0;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// A primitive's arguments must be given its own scratchpad.
inline dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_ONEDNN_PRIMITIVE_H
