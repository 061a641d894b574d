// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of FragmentCompiler, in order. A fragment is a func.func
// `frag_<n>(%context: !llvm.ptr, memrefs of the inputs, memrefs of the
// outputs)`.

#ifndef COMMSCHED_PASSES_PLAN_STAGES_H
#define COMMSCHED_PASSES_PLAN_STAGES_H

#include "passes/plan/FragmentCompiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

#include <map>

namespace commsched::planexport {

/// On contractions that a library kernel may run: "matmul" or "convolution".
inline constexpr llvm::StringLiteral kKernelAttr = "kernel_family";
/// On them: the initial value is zero and was left out.
inline constexpr llvm::StringLiteral kOverwriteAttr = "kernel_overwrites";
/// On the function that stands for kernel n until lowerKernelCalls.
inline constexpr llvm::StringLiteral kKernelIndexAttr = "kernel_index";
/// On calls that cs.kernel became: how many operands are inputs; whether it adds
/// to its outs.
inline constexpr llvm::StringLiteral kKernelInputsAttr = "kernel_inputs";
inline constexpr llvm::StringLiteral kKernelAccumulateAttr = "kernel_accumulate";
/// On structured ops while memory is checked: a number that stays with an op
/// through bufferization.
inline constexpr llvm::StringLiteral kMemoryNumberAttr = "memory_number";
/// On the function: the numbers of reads and writes of single elements, in order.
inline constexpr llvm::StringLiteral kLoadOrderAttr = "memory_loads";
inline constexpr llvm::StringLiteral kStoreOrderAttr = "memory_stores";
/// On an allocation in a region of launches that is a nest: each thread has its own part of it, which is not in memory.
inline constexpr llvm::StringLiteral kOfThreadsAttr = "fragment_of_threads";
/// On functions that hold one loop nest.
inline constexpr llvm::StringLiteral kNestAttr = "fragment_nest";

/// Messages of coordinate lists become tensors of words without an encoding.
void lowerLists(mlir::func::FuncOp function);
/// Selections (ir/CsSparseOps.td) become cs.kernel.
void lowerSparseOps(mlir::func::FuncOp function);
/// Teaches `context` to bufferize cs.kernel.
void addKernelBufferization(mlir::MLIRContext *context);

/// The angle of (0, 0) depends on the signs of the zeros; upstream folds it to NaN. To be
/// called before anything is folded.
void keepAnglesOfZero(mlir::func::FuncOp function);

/// Slices in forms that MLIR can bufferize.
void populateSliceForms(mlir::RewritePatternSet &patterns);

/// Tensors: everything structured becomes linalg.generic, elementwise ops are
/// fused, contractions are marked with kKernelAttr.
llvm::LogicalResult fuseFragment(mlir::func::FuncOp function);

/// Bufferizes by `change`, and checks that every read has what
/// it had before: that no memory is written between the last writer of a value
/// and a reader that wants it. What differs is an internal error at the op.
/// Adds the time that the check takes to `seconds`.
llvm::LogicalResult checkMemory(mlir::func::FuncOp function, double &seconds,
                                llvm::function_ref<llvm::LogicalResult()> change);

/// To be called by what checkMemory checks, when only bufferization is left to do.
void keepMemoryOrder(mlir::func::FuncOp function);

/// The value in whose memory `value` is made; null where it begins.
mlir::Value inPlaceSource(mlir::Value value);

/// `value` in the memory of `dest`, which is of its type: the analysis of tensors takes
/// it for a write, and may have it computed there.
mlir::Value insertWhole(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        mlir::Value dest);

/// What loops carry stays in one buffer each: stores and copies that say so.
void pinLoops(mlir::func::FuncOp function);

/// Tensors to buffers; results are computed in the output arguments.
/// Adds the time of checks to `checkSeconds`.
llvm::LogicalResult bufferizeFragment(mlir::func::FuncOp function, double &checkSeconds);

/// The kernels of a plan without duplicates.
class KernelTable {
public:
  unsigned index(const plan::Kernel &kernel);
  std::vector<plan::Kernel> kernels;

private:
  std::map<std::string, unsigned> known;
};

/// Marked contractions on buffers become calls of functions with
/// kKernelIndexAttr, or lose their mark and stay loops; as launches those under control
/// flow, and at addresses that are computed, stay loops too.
void extractKernels(mlir::func::FuncOp function, KernelTable &table, BodyForm form);

/// What cs.kernel became on buffers as calls of functions with kKernelIndexAttr.
llvm::LogicalResult extractKernelCalls(mlir::func::FuncOp function, KernelTable &table);

/// Constants that kernels read are copied into memory of the fragment.
void copyConstantOperands(mlir::func::FuncOp function);

/// Checks of a function behind assignScratch that no two temporaries that share
/// bytes of the scratch area are used at the same time.
llvm::LogicalResult checkScratch(mlir::func::FuncOp function, uint64_t bytes);

/// Adds the argument %scratch after %context and puts every allocation there.
/// Returns the bytes needed.
llvm::FailureOr<uint64_t> assignScratch(mlir::func::FuncOp function);

/// All of `op` but its locations, whatever options of printing the process was given: what
/// has the same text is the same.
std::string wholeText(mlir::Operation *op);

/// Loop nests of fragments without duplicates.
struct NestTable {
  llvm::StringMap<std::string> known; // text -> symbol
  unsigned count = 0;
};

/// Whether `op`, which may be null, makes a view of its first operand, of the same elements.
bool isMemoryView(mlir::Operation *op);

/// Moves every loop nest into a function of its own, whose pointers do not
/// alias. As launches, conditions and loops go as a whole, and copies are nests.
llvm::LogicalResult outlineNests(mlir::func::FuncOp function, NestTable &table, BodyForm form);

/// `op` of a nest as a generic one, with neighbouring loops that every operand walks as one
/// run of memory as one loop. An error if it has no loops.
llvm::FailureOr<mlir::linalg::GenericOp> collapseLoops(mlir::RewriterBase &rewriter,
                                                       mlir::linalg::LinalgOp op);

/// Stride in elements of `loop` in an operand; nullopt if unknown.
std::optional<int64_t> strideOf(mlir::linalg::GenericOp op, mlir::OpOperand &operand,
                                unsigned loop);

/// linalg to loops, in the order that suits memory.
llvm::LogicalResult lowerNest(mlir::func::FuncOp nest);

/// Calls of kernels become calls through the context.
void lowerKernelCalls(mlir::func::FuncOp function);

/// What upstream has no lowering of, or a wrong one: its expansion of clampf is `max` for
/// every number. In the types of the program: a subnormal f16 is a normal f32.
void expandFunctions(mlir::ModuleOp module);

/// What polynomials of f32 leave out: the logarithm of a number below the smallest normal
/// one, and the sign of zero, which a function that ascends through zero keeps. What square
/// roots leave out that stand for powers: -0 and -inf. To be called when constants have been
/// folded, before functions are simplified or approximated.
void mendFunctions(mlir::ModuleOp module);

/// Integer divisions and shifts get a result for all operands (docs/fragments.md): those that LLVM
/// leaves undefined end the process, or give what each element's code gives.
void defineIntegers(mlir::ModuleOp module);

/// Says of every multiplication and addition whether they are one operation, so that no
/// code generator decides it: the numbers are the same on every target. Additions that may
/// be reassociated are left to LLVM, which may contract them too.
void contractMultiplyAdds(mlir::ModuleOp module);

/// Everything that is left to the LLVM dialect.
llvm::LogicalResult lowerModuleToLLVM(mlir::ModuleOp module);

/// LLVM dialect to ELF shared object. `functions`: symbols of the fragments.
llvm::LogicalResult emitSharedObject(mlir::ModuleOp module,
                                     llvm::ArrayRef<std::string> functions,
                                     const CodeOptions &options,
                                     CompiledFragments &result);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_STAGES_H
