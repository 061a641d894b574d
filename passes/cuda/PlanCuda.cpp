// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments for CUDA devices as part of a plan.

#include "passes/cuda/ExportCuda.h"

using namespace mlir;

namespace commsched::cudaexport {
namespace {

plan::Cuda::Address toPlan(const plan::CudaAddress &address) {
  static constexpr plan::Cuda::Address::Base kBases[] = {
      plan::Cuda::Address::INPUT, plan::Cuda::Address::OUTPUT, plan::Cuda::Address::SCRATCH};
  plan::Cuda::Address result;
  result.set_base(kBases[static_cast<unsigned>(address.base)]);
  result.set_index(address.index);
  result.set_offset(address.offset);
  return result;
}

/// `kernels`: how many of the plan come before the module's own.
void fill(const plan::CudaModule &module, uint32_t kernels, plan::Cuda &out) {
  out.set_ptx(module.ptx);
  out.set_architecture(module.architecture);
  for (const plan::CudaFragment &fragment : module.fragments) {
    plan::Cuda::Fragment &made = *out.add_fragments();
    made.set_symbol(fragment.symbol);
    made.set_inputs(fragment.inputs);
    made.set_outputs(fragment.outputs);
    made.set_scratch_bytes(fragment.scratch_bytes);
    for (const auto &step : fragment.steps) {
      if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
        plan::Cuda::Launch &own = *made.add_steps()->mutable_launch();
        own.set_kernel(launch->kernel);
        own.mutable_grid()->Add(launch->grid.begin(), launch->grid.end());
        own.mutable_block()->Add(launch->block.begin(), launch->block.end());
        own.set_shared_bytes(launch->shared_bytes);
        for (const plan::CudaAddress &address : launch->arguments)
          *own.add_arguments() = toPlan(address);
        continue;
      }
      const auto &call = std::get<plan::CudaLibraryCall>(step);
      plan::Cuda::LibraryCall &own = *made.add_steps()->mutable_library();
      own.set_kernel(kernels + call.kernel);
      for (const plan::CudaAddress &address : call.operands)
        *own.add_operands() = toPlan(address);
    }
  }
  for (const std::string &function : module.libdevice_functions)
    out.add_libdevice_functions(function);
}

class PlanCompiler : public planexport::DeviceCompiler {
public:
  PlanCompiler(MLIRContext *context, CudaOptions options) : compiler(context, std::move(options)) {}
  unsigned add(Block &body, Location loc) override { return compiler.add(body, loc); }
  unsigned size() const override { return compiler.size(); }
  FailureOr<Result> compile(plan::Plan &plan) override {
    CompiledCuda compiled;
    if (failed(compiler.compile(compiled)))
      return failure();
    fill(compiled.module, plan.kernels_size(), *plan.mutable_cuda());
    for (const plan::Kernel &kernel : compiled.kernels)
      *plan.add_kernels() = kernel;
    return Result{compiled.nests, compiled.module.ptx.size(), compiled.checkSeconds};
  }

private:
  CudaCompiler compiler;
};

} // namespace

std::unique_ptr<planexport::DeviceCompiler> makePlanCompiler(MLIRContext *context, CudaOptions options) {
  return std::make_unique<PlanCompiler>(context, std::move(options));
}

} // namespace commsched::cudaexport
