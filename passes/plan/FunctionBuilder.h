// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function: values become buffers, ops become instructions. Used by
// buildFunction() only.

#ifndef COMMSCHED_PASSES_PLAN_FUNCTIONBUILDER_H
#define COMMSCHED_PASSES_PLAN_FUNCTIONBUILDER_H

#include "passes/layout/MessageLayout.h"
#include "passes/plan/PlanBuilder.h"

#include "ir/CsServerFunctions.h"
#include "llvm/ADT/DenseMap.h"

namespace commsched::planexport {

class FunctionBuilder {
public:
  FunctionBuilder(mlir::func::FuncOp function, PlanContext &context)
      : function(function), context(context), index(context.plan.functions_size()),
        out(*context.plan.add_functions()), layout(function) {}

  mlir::LogicalResult build();

private:
  // PlanBuilder.cpp: what a function has, and compute.
  /// `placed`: in whose memory an ARENA is, where memories are told apart.
  unsigned addBuffer(plan::Buffer::Kind kind, mlir::RankedTensorType type, llvm::StringRef name,
                     cs::PlacedType placed);
  bool onDevices() const { return context.device && !cs::getServerIndex(function); }
  mlir::LogicalResult addAreas();
  static cs::PlacedType placedOf(mlir::Value value);
  void useDevice(unsigned device) { context.usesDevices |= device > 0; }
  mlir::FailureOr<unsigned> slotOf(llvm::StringRef name, plan::Slot::Kind kind,
                                   cs::PlacedType placed, bool kindKnown);
  mlir::LogicalResult addArguments();
  plan::Instruction &addInstruction(mlir::Operation *op, llvm::StringRef name);
  mlir::LogicalResult addFragment(cs::FragmentOp op);
  mlir::LogicalResult addResults(mlir::func::ReturnOp op);

  // PlanStarts.cpp: communication over time.
  /// Whether `value` is a fragment's result that nothing but `user` needs, so
  /// that a communication may work on it in place.
  bool ownedBy(mlir::Value value, mlir::Operation *user);
  mlir::LogicalResult addStart(cs::StartOp op);
  /// Of a communication that the host makes: all it touches is in its memory.
  mlir::LogicalResult checkMemory(cs::StartOp op);
  /// What NCCL makes, in the order of its calls.
  mlir::LogicalResult addNccl(cs::StartOp op, cs::AllReduceOp reduce,
                              plan::Communicate &communicate);
  /// A message to or from a parameter server.
  mlir::LogicalResult addMessage(cs::StartOp op, mlir::Operation *message);
  /// One end of a message between two ranks.
  mlir::LogicalResult addEnd(cs::StartOp op, mlir::Operation *message);
  /// Rows to or from a table's servers.
  mlir::LogicalResult addRows(cs::StartOp op, mlir::Operation *message);
  /// What the exchanges were expanded from, as far as their shape tells: for
  /// communication that was written by hand.
  static std::string sourceOp(llvm::ArrayRef<cs::ExchangeOp> exchanges, bool unshard, bool shard);
  /// For a copy engine.
  mlir::LogicalResult addCopyStart(cs::StartOp op, cs::CopyOp copy);

  // PlanMoves.cpp: copies, and blocks, which are not copied.
  /// `type` at `offset` bytes of `whole`.
  unsigned addPart(unsigned whole, uint64_t offset, mlir::RankedTensorType type,
                   llvm::StringRef name);
  /// Blocks that are received for nothing but to be joined are received where
  /// they belong.
  void findJoinedInPlace();
  static uint64_t bytesOf(mlir::Value value);
  /// Memory for `value`, where messages want it.
  unsigned bufferFor(mlir::Value value, mlir::RankedTensorType type, llvm::StringRef name);
  /// Elements [begin, end) of `whole`, which has elements like `type`, as a buffer.
  unsigned piece(unsigned whole, int64_t begin, int64_t end, mlir::RankedTensorType type,
                 llvm::StringRef name);
  void addPack(cs::PackOp op);
  void addUnpack(cs::UnpackOp op);
  unsigned wholeOf(cs::ConcatOp concat);
  /// A part of the staging area of the node. Dependences follow from its memory,
  /// within a step and from one to the next.
  unsigned stageAt(uint64_t offset, mlir::RankedTensorType type, llvm::StringRef name);
  unsigned receiveInto(cs::StartOp op, mlir::RankedTensorType type);
  void addSplit(cs::SplitOp op);
  void addConcat(cs::ConcatOp op);
  unsigned copyTo(mlir::Operation *op, unsigned source, plan::Buffer::Kind kind,
                  cs::PlacedType placed, llvm::StringRef name);
  void addCopyInstruction(mlir::Operation *op, unsigned source, unsigned target,
                          llvm::StringRef name);
  /// Who makes a copy, in which direction.
  void setRoute(plan::Instruction &instruction, cs::CopyOp op);
  /// Whether the stream of the device of `value` makes it in its turn.
  static bool isMadeInTurn(mlir::Value value);
  /// Outside of a start: on the compute stream, in its turn if the operand is there
  /// by then.
  void addCopy(cs::CopyOp op);

  mlir::func::FuncOp function;
  PlanContext &context;
  unsigned index;
  plan::Function &out;
  llvm::DenseMap<mlir::Value, unsigned> buffers; // of placed values and futures
  llvm::DenseMap<mlir::Value, unsigned> started; // future -> instruction
  // Instructions, by server and block.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> pushes;
  // future of a recv -> the concat that it is for, and where in it
  llvm::DenseMap<mlir::Value, std::pair<cs::ConcatOp, uint64_t>> joinedAt;
  std::optional<unsigned> stagingArea; // buffer
  std::vector<int64_t> ncclNumbers;
  MessageLayout layout;
  std::vector<unsigned> areas; // buffers, of the layout's
  llvm::DenseSet<mlir::Operation *> urgent;
  std::vector<Access> accesses;
  std::vector<bool> keep;
};

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_FUNCTIONBUILDER_H
