// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/HalfSums.h"
#include "passes/plan/KernelBuilder.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

using namespace mlir;

namespace commsched::planexport {

unsigned KernelTable::index(const plan::Kernel &kernel) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    kernel.SerializeToCodedStream(&coded);
  }
  auto [it, fresh] = known.try_emplace(std::move(bytes), kernels.size());
  if (fresh)
    kernels.push_back(kernel);
  return it->second;
}

static bool hasStaticStrides(linalg::GenericOp op) {
  return llvm::all_of(op->getOperands(), [](Value operand) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    return type && succeeded(type.getStridesAndOffset(strides, offset)) &&
           !ShapedType::isDynamicShape(strides);
  });
}

// Buffers that were filled and copied into for kernels that read the original.
static void eraseUnread(func::FuncOp function) {
  SmallVector<memref::AllocOp> allocs;
  function.walk([&](memref::AllocOp op) { allocs.push_back(op); });
  for (memref::AllocOp alloc : allocs) {
    SmallVector<Operation *> writers;
    SmallVector<Value> work{alloc};
    bool read = false;
    while (!work.empty() && !read) {
      Value value = work.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        auto copy = dyn_cast<memref::CopyOp>(user);
        if (isa<memref::SubViewOp>(user))
          work.push_back(user->getResult(0));
        else if (!isa<linalg::FillOp, memref::DeallocOp>(user) &&
                 !(copy && &use == &copy.getTargetMutable()))
          read = true;
        writers.push_back(user);
      }
    }
    if (read)
      continue;
    for (Operation *op : llvm::reverse(writers))
      op->erase();
    alloc.erase();
  }
}

static bool hasStaticOffsets(linalg::GenericOp op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    return !ShapedType::isDynamic(cast<MemRefType>(type).getStridesAndOffset().second);
  });
}

void copyConstantOperands(func::FuncOp function) {
  llvm::SetVector<Operation *> constants;
  auto module = function->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  function.walk([&](func::CallOp call) {
    if (!symbols.lookup(call.getCallee())->hasAttr(kKernelIndexAttr))
      return;
    for (Value buffer : call.getOperands()) {
      Operation *def = buffer.getDefiningOp();
      while (isMemoryView(def))
        def = def->getOperand(0).getDefiningOp();
      if (isa_and_nonnull<memref::GetGlobalOp>(def))
        constants.insert(def);
    }
  });
  for (Operation *constant : constants) {
    OpBuilder builder(constant->getContext());
    builder.setInsertionPointAfter(constant);
    auto type = cast<MemRefType>(constant->getResult(0).getType());
    Value own = memref::AllocOp::create(builder, constant->getLoc(), type);
    auto copy = memref::CopyOp::create(builder, constant->getLoc(), constant->getResult(0), own);
    constant->getResult(0).replaceAllUsesExcept(own, copy);
  }
}

void extractKernels(func::FuncOp function, KernelTable &table, BodyForm form) {
  SmallVector<linalg::GenericOp> marked;
  function.walk([&](linalg::GenericOp op) {
    if (op->hasAttr(kKernelAttr))
      marked.push_back(op);
  });
  auto module = function->getParentOfType<ModuleOp>();
  for (auto [number, op] : llvm::enumerate(marked)) {
    OpBuilder builder(op);
    std::optional<KernelCall> call;
    std::optional<ContractionInfo> info = analyseContraction(op);
    if (info && hasStaticStrides(op) &&
        (form == BodyForm::Calls || (op->getParentOp() == function && hasStaticOffsets(op)))) {
      if (info->large == -1)
        call = buildMatmul(op, *info, form);
      else
        call = buildConvolution(op, *info, form);
    }
    if (!call) {
      if (op->hasAttr(kOverwriteAttr)) {
        Value out = op.getDpsInitOperand(0)->get();
        Type element = cast<MemRefType>(out.getType()).getElementType();
        Value zero = arith::ConstantOp::create(
            builder, op.getLoc(), cast<TypedAttr>(builder.getZeroAttr(element)));
        linalg::FillOp::create(builder, op.getLoc(), ValueRange{zero},
                               ValueRange{out});
      }
      op->removeAttr(kKernelAttr);
      op->removeAttr(kOverwriteAttr);
      widenSum(op);
      continue;
    }
    // A declaration per call: the types of its buffers may differ.
    auto moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
    auto callee = func::FuncOp::create(
        moduleBuilder, op.getLoc(),
        (function.getName() + "_kernel_" + Twine(number)).str(),
        builder.getFunctionType(ValueRange(call->buffers).getTypes(), {}));
    callee.setPrivate();
    callee->setAttr(kKernelIndexAttr,
                    builder.getI32IntegerAttr(table.index(call->kernel)));
    func::CallOp::create(builder, op.getLoc(), callee, call->buffers);
    op.erase();
  }
  eraseUnread(function);
}

void lowerKernelCalls(func::FuncOp function) {
  MLIRContext *context = function->getContext();
  auto module = function->getParentOfType<ModuleOp>();
  auto pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<std::pair<func::CallOp, int32_t>> calls;
  unsigned operands = 0;
  SymbolTable symbols(module);
  function.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (auto index = callee->getAttrOfType<IntegerAttr>(kKernelIndexAttr)) {
      calls.push_back({call, static_cast<int32_t>(index.getInt())});
      operands = std::max(operands, call.getNumOperands());
    }
  });
  if (calls.empty())
    return;
  auto entry = OpBuilder::atBlockBegin(&function.getBody().front());
  Location loc = function.getLoc();
  Value count = LLVM::ConstantOp::create(entry, loc, entry.getI64IntegerAttr(operands));
  Value array = LLVM::AllocaOp::create(entry, loc, pointer, pointer, count);
  Value kernel = LLVM::LoadOp::create(entry, loc, pointer, function.getArgument(0));
  for (auto [call, index] : calls) {
    OpBuilder builder(call);
    loc = call.getLoc();
    for (auto [i, buffer] : llvm::enumerate(call.getOperands())) {
      auto type = cast<MemRefType>(buffer.getType());
      auto [strides, offset] = type.getStridesAndOffset();
      int64_t bytes = type.getElementTypeBitWidth() / 8;
      Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
      Value shift;
      if (ShapedType::isDynamic(offset)) {
        auto metadata =
            memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
        shift = arith::MulIOp::create(
            builder, loc, metadata.getOffset(),
            arith::ConstantIndexOp::create(builder, loc, bytes));
      } else {
        shift = arith::ConstantIndexOp::create(builder, loc, offset * bytes);
      }
      Value address = arith::IndexCastOp::create(
          builder, loc, builder.getI64Type(),
          arith::AddIOp::create(builder, loc, base, shift));
      address = LLVM::IntToPtrOp::create(builder, loc, pointer, address);
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, array,
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(builder, loc, address, slot);
    }
    Value number =
        LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(index));
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(context), {pointer, builder.getI32Type(), pointer});
    LLVM::CallOp::create(builder, loc, type,
                         ValueRange{kernel, function.getArgument(0), number, array});
    call.erase();
  }
}

} // namespace commsched::planexport
