// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From loop nests as functions of their own (passes/plan/Stages.h) to kernels. Kernels are
// functions whose parameters are memory; what of a device they need are calls of the
// functions below, which PTX has as instructions, and an emulation as functions.

#ifndef COMMSCHED_PASSES_CUDA_STAGES_H
#define COMMSCHED_PASSES_CUDA_STAGES_H

#include "passes/cuda/CudaCompiler.h"
#include "passes/cuda/NestShape.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace commsched::cudaexport {

/// What kernels ask of the device:
///   i32 cs_thread()                        within the block
///   i32 cs_block()                         within the grid
///   void cs_barrier()                      of all threads of the block
///   iN cs_shuffle_down_N(iN value, i32 d)  the value of the lane d further in the warp; the
///                                          own one behind the last. All 32 lanes call it
///   iN cs_first_N(iN value)                the value of the warp's first lane. All 32 lanes call it
///   i32 cs_any(i32 value)                  the values of the warp's lanes, or-ed. All 32 lanes call it
///   void cs_shared_store_N(i32 i, iN value), iN cs_shared_load_N(i32 i)
///                                          word i of N bits of the block's shared memory
/// for N = 32 and 64.
inline constexpr llvm::StringLiteral kThread = "cs_thread", kBlock = "cs_block",
                                     kBarrier = "cs_barrier", kShuffleDown = "cs_shuffle_down_", kAny = "cs_any", kFirst = "cs_first_",
                                     kSharedStore = "cs_shared_store_",
                                     kSharedLoad = "cs_shared_load_";
/// The op of a nest that its loops are of; null if there is more than one or none.
mlir::Operation *bodyOf(mlir::func::FuncOp nest);

/// On a nest that is a reduction: the number that its outputs begin with, in the place of what they have.
inline constexpr llvm::StringLiteral kInitialAttr = "fragment_initial";
/// Gives it to the nests of fragments, as FoldFills.cpp says.
void foldFills(mlir::ModuleOp module, llvm::ArrayRef<std::string> fragments);

/// What a view is of, or a view of that.
mlir::Value rootOf(mlir::Value memory);

/// What combines two partial results of each output, where all outputs have one: by them the
/// terms may be added up in any order.
std::optional<llvm::SmallVector<mlir::Operation *>> combinersOf(mlir::linalg::GenericOp op);

/// Whether elements can be computed at the same time: each writes what is its own.
bool isParallel(mlir::linalg::GenericOp op);

NestShape shapeOf(mlir::linalg::GenericOp op);

/// A loop over updates of windows of memory, each at a place that is computed and that nothing in the
/// loop writes: for (i = 0; i < count; ++i) window(place(i)) = f(window(place(i)), i). Windows are
/// equal or have nothing in common, so that an element is always the same one of its window.
struct ScatterLoop {
  mlir::scf::ForOp loop;
  mlir::memref::SubViewOp window;
  mlir::linalg::GenericOp update;              ///< f
  int64_t count = 0, elements = 1, places = 1; ///< updates, elements of a window, windows there are
};
std::optional<ScatterLoop> scatterOf(mlir::Operation *body);
NestShape shapeOf(const ScatterLoop &scatter);

/// Kernels that a nest became, in order. All have the same parameters: those of the nest, with
/// scalars in memory; its results in memory; partial results.
struct NestKernels {
  struct Kernel {
    std::string symbol;
    uint32_t grid = 1, block = 1, sharedBytes = 0;
  };
  llvm::SmallVector<Kernel, 2> kernels;
  llvm::SmallVector<uint64_t> partialBytes;
  NestShape shape;
  /// Of an elementwise nest without scalars, of each parameter; else none. flat: thread n of the launch
  /// uses element n of it and no other one.
  struct Access {
    bool written = false, flat = true;
    uint64_t bytes = 0;
  };
  llvm::SmallVector<Access> accesses;
};
llvm::FailureOr<NestKernels> lowerToKernels(mlir::func::FuncOp nest);
/// Of a nest whose op is a scatter, with its scalars in memory.
NestKernels lowerScatter(mlir::func::FuncOp nest, const NestShape &shape);

/// The launches of a fragment, of which `nests` says what its calls became. Adds to the scratch
/// bytes of `fragment` what crosses launches.
llvm::LogicalResult listLaunches(mlir::func::FuncOp function,
                                 const llvm::StringMap<NestKernels> &nests,
                                 plan::CudaFragment &fragment);

/// A module of kernels in the LLVM dialect as PTX. `kernels`: symbol and threads of a block.
llvm::LogicalResult emitPtx(mlir::ModuleOp module,
                            llvm::ArrayRef<std::pair<std::string, uint32_t>> kernels,
                            const CudaOptions &options, plan::CudaModule &result);

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_STAGES_H
