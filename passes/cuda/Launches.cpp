// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/cuda/Stages.h"
#include "passes/plan/Memory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace commsched::cudaexport {
namespace {

class LaunchList {
public:
  LaunchList(func::FuncOp function, const llvm::StringMap<NestKernels> &nests,
             plan::CudaFragment &fragment)
      : function(function), symbols(function->getParentOfType<ModuleOp>()), nests(nests),
        fragment(fragment), end(llvm::alignTo(fragment.scratch_bytes, 64)) {}

  LogicalResult run() {
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (planexport::isMemoryView(&op) || isa<memref::ViewOp, memref::GetGlobalOp>(op) ||
          op.hasTrait<OpTrait::ConstantLike>())
        continue;
      auto call = dyn_cast<func::CallOp>(op);
      if (!call)
        return op.emitOpError("cannot be launched on a CUDA device: it gives memory that is chosen while it runs");
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (auto index = callee ? callee->getAttrOfType<IntegerAttr>(planexport::kKernelIndexAttr) : IntegerAttr()) {
        if (failed(addLibraryCall(call, index.getInt())))
          return failure();
      } else if (failed(addLaunches(call, nests.lookup(call.getCallee())))) {
        return failure();
      }
    }
    // Launches follow each other: they all may use the same memory for partial results.
    for (auto [step, argument, offset] : partials)
      std::get<plan::CudaLaunch>(fragment.steps[step]).arguments[argument].offset = end + offset;
    fragment.scratch_bytes = llvm::alignTo(end + mostPartials, 64);
    return success();
  }

private:
  LogicalResult addLibraryCall(func::CallOp call, uint32_t kernel) {
    plan::CudaLibraryCall made;
    made.kernel = kernel;
    for (Value operand : call.getOperands()) {
      FailureOr<plan::CudaAddress> address = addressOf(operand, call);
      if (failed(address))
        return failure();
      made.operands.push_back(*address);
    }
    fragment.steps.push_back(std::move(made));
    return success();
  }

  LogicalResult addLaunches(func::CallOp call, const NestKernels &nest) {
    plan::CudaLaunch launch;
    for (Value operand : call.getOperands()) {
      FailureOr<plan::CudaAddress> address = addressOf(operand, call);
      if (failed(address))
        return failure();
      launch.arguments.push_back(*address);
    }
    for (Value result : call.getResults()) {
      slots[result] = end;
      end += 64;
      launch.arguments.push_back({plan::CudaAddress::Base::kScratch, 0, slots[result]});
    }
    size_t first = launch.arguments.size();
    launch.arguments.resize(first + nest.partialBytes.size());
    for (const NestKernels::Kernel &kernel : nest.kernels) {
      uint64_t offset = 0;
      for (auto [i, bytes] : llvm::enumerate(nest.partialBytes)) {
        partials.push_back({fragment.steps.size(), first + i, offset});
        offset = llvm::alignTo(offset + bytes, 64);
      }
      mostPartials = std::max(mostPartials, offset);
      launch.kernel = kernel.symbol;
      launch.grid[0] = kernel.grid;
      launch.block[0] = kernel.block;
      launch.shared_bytes = kernel.sharedBytes;
      fragment.steps.push_back(launch);
    }
    return success();
  }

  FailureOr<plan::CudaAddress> addressOf(Value value, Operation *user) {
    plan::CudaAddress address;
    if (!isa<MemRefType>(value.getType())) {
      auto slot = slots.find(value);
      if (slot == slots.end())
        return user->emitError("needs a number that no launch computes");
      address.offset = slot->second;
      return address;
    }
    auto type = cast<MemRefType>(value.getType());
    int64_t behind = type.getStridesAndOffset().second;
    if (ShapedType::isDynamic(behind))
      return user->emitError("needs an address that is computed, which cannot be launched");
    address.offset = behind * planexport::elementBytes(type.getElementType());
    while (planexport::isMemoryView(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    if (auto piece = value.getDefiningOp<memref::ViewOp>()) {
      value = piece.getSource();
      APInt shift;
      if (!matchPattern(piece.getByteShift(), m_ConstantInt(&shift)))
        return user->emitError("needs an address that is computed, which cannot be launched");
      address.offset += shift.getZExtValue();
    }
    auto root = dyn_cast<BlockArgument>(value);
    if (!root || root.getArgNumber() == 0)
      return user->emitError("needs memory that is none of the fragment's");
    unsigned index = root.getArgNumber() - 1;
    if (index == 0)
      return address;
    index -= 1;
    bool input = index < fragment.inputs;
    address.base = input ? plan::CudaAddress::Base::kInput : plan::CudaAddress::Base::kOutput;
    address.index = input ? index : index - fragment.inputs;
    return address;
  }

  struct Partial {
    size_t step, argument;
    uint64_t offset;
  };
  func::FuncOp function;
  SymbolTable symbols;
  const llvm::StringMap<NestKernels> &nests;
  plan::CudaFragment &fragment;
  DenseMap<Value, uint64_t> slots; // of numbers that cross launches
  uint64_t end, mostPartials = 0;
  SmallVector<Partial> partials;
};

} // namespace

LogicalResult listLaunches(func::FuncOp function, const llvm::StringMap<NestKernels> &nests,
                           plan::CudaFragment &fragment) {
  return LaunchList(function, nests, fragment).run();
}

} // namespace commsched::cudaexport
