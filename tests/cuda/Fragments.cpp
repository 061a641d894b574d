// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/Fragments.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ops/registry.h"
#include "passes/plan/Memory.h"
#include "runtime/loading/plan_values.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace commsched::cudatest {

size_t bytesOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return size_t(type.getNumElements()) * planexport::elementBytes(type.getElementType());
}

static bool makeKernels(const std::vector<plan::Kernel> &kernels,
                        std::vector<std::unique_ptr<ops::KernelInstance>> &made, std::string &error) {
  ops::PrepareComputeThread();
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto description = runtime::ConvertKernel(kernels[i], int(i));
    if (!description.ok()) {
      error = std::string(description.status().message());
      return false;
    }
    auto kernel = ops::MakeKernel(*description);
    if (!kernel.ok()) {
      error = std::string(kernel.status().message());
      return false;
    }
    made.push_back(std::move(*kernel));
  }
  return true;
}

Fragments::Fragments(Context &context, ModuleOp module, const Change &change) {
  planexport::FragmentCompiler compiler(&context.context, {});
  cudaexport::CudaCompiler cudaCompiler(&context.context, {});
  auto add = [&](Block &body, Location loc) {
    unsigned index = compiler.add(body, loc);
    cudaCompiler.add(body, loc);
    if (index < types.size())
      return;
    types.emplace_back();
    llvm::append_range(types.back().inputs, body.getArgumentTypes());
    llvm::append_range(types.back().outputs, body.getTerminator()->getOperandTypes());
  };
  module.walk([&](cs::FragmentOp op) {
    if (op.hasBody())
      add(op.getBody().front(), op.getLoc());
  });
  if (types.empty())
    for (auto function : module.getOps<func::FuncOp>())
      add(function.getBody().front(), function.getLoc());
  auto refuse = [&](const std::string &otherwise) {
    refusal = context.error.empty() ? otherwise : context.error;
    context.error.clear();
  };
  if (failed(compiler.compile(host))) {
    refuse("host: cannot be compiled");
    return;
  }
  if (failed(cudaCompiler.lower(compiled))) {
    refuse("CUDA: cannot be compiled");
    return;
  }
  if (!makeKernels(host.kernels, hostKernels, refusal) || !makeKernels(compiled.kernels, deviceKernels, refusal))
    return;
  if (absl::Status added = library.Add("x86_64-unknown-linux-gnu;x86-64-v3", host.elf); !added.ok()) {
    refuse(std::string(added.message()));
    return;
  }
  if (absl::Status mapped = library.Map(); !mapped.ok()) {
    refuse(std::string(mapped.message()));
    return;
  }
  if (change)
    change(cudaCompiler.getModule(), compiled);
  std::string error;
  kernels = compileKernels(cudaCompiler.getModule(), /*traced=*/false, error);
  if (!kernels)
    refuse(error);
}

Fragments::~Fragments() = default;

bool Fragments::isElementwise(size_t fragment) const {
  for (const auto &step : compiled.module.fragments[fragment].steps)
    if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
      auto shape = compiled.shapes.find(launch->kernel);
      if (shape == compiled.shapes.end() || shape->second.form != cudaexport::NestShape::Form::Elementwise)
        return false;
    }
  return true;
}

Buffers Fragments::makeOutputs(size_t fragment, int fill) const {
  Buffers outputs;
  for (Type type : types[fragment].outputs)
    outputs.emplace_back(bytesOf(type), char(fill));
  return outputs;
}

void Fragments::callKernel(unsigned index, void **operands) {
  ops::KernelInstance &kernel = *(*current)[index];
  std::vector<std::max_align_t> scratch(kernel.scratch_bytes() / sizeof(std::max_align_t) + 8);
  void *aligned = scratch.data();
  size_t space = scratch.size() * sizeof(std::max_align_t);
  std::align(64, kernel.scratch_bytes(), aligned, space);
  (void)kernel.Run(operands, aligned).ok();
}

namespace {
/// 256-byte aligned.
struct Area {
  explicit Area(size_t bytes, int fill)
      : memory(bytes + 256, char(fill)),
        data(memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256) % 256) {}
  std::vector<char> memory;
  char *data;
};
} // namespace

Buffers Fragments::runOnHost(size_t fragment, const Buffers &inputs) {
  Buffers own = inputs, outputs = makeOutputs(fragment, 0x55);
  Area scratch(host.scratchBytes[fragment], 0x55);
  current = &hostKernels;
  CsFragmentContext context;
  context.call_kernel = [](CsFragmentContext *self, int32_t index, void **operands) {
    static_cast<Fragments *>(self->user)->callKernel(unsigned(index), operands);
  };
  context.scratch = scratch.data;
  context.user = this;
  std::vector<void *> buffers;
  for (Bytes &buffer : own)
    buffers.push_back(buffer.data());
  for (Bytes &buffer : outputs)
    buffers.push_back(buffer.data());
  (*library.Find(0, host.symbols[fragment]))->function(&context, buffers.data());
  return outputs;
}

Buffers Fragments::emulate(size_t fragment, const Buffers &inputs, uint64_t seed, std::string &fault) {
  const plan::CudaFragment &program = compiled.module.fragments[fragment];
  Buffers own = inputs, outputs = makeOutputs(fragment, int(seed % 97) + 1);
  Area scratch(program.scratch_bytes, int(seed % 89) + 1);
  auto address = [&](const plan::CudaAddress &a) -> void * {
    char *base = a.base == plan::CudaAddress::Base::kInput    ? own[a.index].data()
                 : a.base == plan::CudaAddress::Base::kOutput ? outputs[a.index].data()
                                                              : scratch.data;
    return base + a.offset;
  };
  current = &deviceKernels;
  for (const auto &step : program.steps) {
    std::vector<void *> arguments;
    if (const auto *call = std::get_if<plan::CudaLibraryCall>(&step)) {
      for (const plan::CudaAddress &operand : call->operands)
        arguments.push_back(address(operand));
      callKernel(call->kernel, arguments.data());
      continue;
    }
    const auto &launch = std::get<plan::CudaLaunch>(step);
    for (const plan::CudaAddress &argument : launch.arguments)
      arguments.push_back(address(argument));
    fault = kernels->run(launch.kernel, {launch.grid[0], launch.block[0], launch.shared_bytes}, arguments.data(), seed);
    if (!fault.empty())
      return outputs;
  }
  if (own != inputs)
    fault = "an input was written";
  return outputs;
}

static double numberAt(Type element, const char *at) {
  if (element.isF32()) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  if (element.isF64()) {
    double value;
    std::memcpy(&value, at, 8);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return element.isF16() ? ops::HalfToFloat(bits) : ops::BFloat16ToFloat(bits);
}

Bytes randomTensor(Type tensor, std::mt19937_64 &random) {
  Bytes bytes(bytesOf(tensor));
  Type element = cast<RankedTensorType>(tensor).getElementType();
  size_t size = planexport::elementBytes(element);
  std::normal_distribution<double> normal;
  for (size_t at = 0; at < bytes.size(); at += size) {
    double value = normal(random);
    if (element.isF32()) {
      float narrow = float(value);
      std::memcpy(&bytes[at], &narrow, 4);
    } else if (element.isF64()) {
      std::memcpy(&bytes[at], &value, 8);
    } else if (isa<FloatType>(element)) {
      uint16_t half = element.isF16() ? ops::FloatToHalf(float(value)) : ops::FloatToBFloat16(float(value));
      std::memcpy(&bytes[at], &half, 2);
    } else {
      int64_t integer = element.isInteger(1) ? int64_t(random() % 2) : int64_t(random() % 7) - 2;
      std::memcpy(&bytes[at], &integer, size);
    }
  }
  return bytes;
}

Bytes specialTensor(Type tensor, std::mt19937_64 &random) {
  Bytes bytes = randomTensor(tensor, random);
  auto element = dyn_cast<FloatType>(cast<RankedTensorType>(tensor).getElementType());
  if (!element)
    return bytes;
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  size_t size = planexport::elementBytes(element);
  for (size_t at = 0; at < bytes.size(); at += size) {
    bool negative = random() % 2;
    llvm::APFloat value = llvm::APFloat::getZero(semantics, negative);
    switch (random() % 8) {
    case 0: break;
    case 1: value = llvm::APFloat::getInf(semantics, negative); break;
    case 2: value = llvm::APFloat::getNaN(semantics, negative); break;
    case 3: value = llvm::APFloat::getSmallest(semantics, negative); break;
    default: continue;
    }
    uint64_t bits = value.bitcastToAPInt().getZExtValue();
    std::memcpy(&bytes[at], &bits, size);
  }
  return bytes;
}

Difference compare(Type tensor, const Bytes &a, const Bytes &b) {
  Difference result;
  Type element = cast<RankedTensorType>(tensor).getElementType();
  size_t size = planexport::elementBytes(element);
  result.elements = a.size() / size;
  double largest = 0, difference = 0;
  for (size_t at = 0; at < a.size(); at += size) {
    bool same = std::memcmp(&a[at], &b[at], size) == 0;
    if (!isa<FloatType>(element)) {
      result.differing += !same;
      difference = same ? difference : INFINITY;
      continue;
    }
    double x = numberAt(element, &a[at]), y = numberAt(element, &b[at]);
    if (std::isnan(x) && std::isnan(y))
      continue;
    result.differing += !same;
    if (std::isfinite(x))
      largest = std::max(largest, std::fabs(x));
    if (!same)
      difference = std::max(difference, std::isfinite(x) && std::isfinite(y) ? std::fabs(x - y) : INFINITY);
  }
  result.relative = difference == 0 ? 0 : difference / std::max(largest, 1e-30);
  return result;
}

std::string findingOf(Fragments &fragments, size_t fragment, const Buffers &inputs, uint64_t seed, double tolerance) {
  Buffers host = fragments.runOnHost(fragment, inputs), first;
  for (uint64_t order = 0; order < 2; ++order) {
    std::string fault;
    Buffers found = fragments.emulate(fragment, inputs, 2 * seed + order, fault);
    if (!fault.empty())
      return fault;
    if (order == 0)
      first = found;
    for (auto [i, type] : llvm::enumerate(fragments.outputs(fragment))) {
      std::string result = "result " + std::to_string(i);
      Difference difference = compare(type, host[i], found[i]);
      if (tolerance == 0 ? difference.differing != 0 : difference.relative > tolerance)
        return result + " differs from the host's in " + std::to_string(difference.differing) + " of " +
               std::to_string(difference.elements) + " elements";
      if (found[i] != first[i])
        return result + " depends on the order of threads";
    }
  }
  return "";
}

} // namespace commsched::cudatest
