// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_CUDA_NESTSHAPE_H
#define COMMSCHED_PASSES_CUDA_NESTSHAPE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

namespace commsched::cudaexport {

inline constexpr unsigned kWarp = 32;

/// How the work of a nest is shared among threads.
struct NestShape {
  enum class Form {
    Serial,      ///< one thread, as the host would
    Elementwise, ///< one thread for each element
    Reduction,
    Rows,          ///< ops on the rows of a matrix, a warp for each (Rows.h)
    Scatter,       ///< updates one after the other at places that are computed: one thread for each element of an update
    ScatterColumns ///< the same of very many updates: one thread for each element of a window
  };
  Form form = Form::Serial;
  /// Loops, outermost first, as they are counted through.
  llvm::SmallVector<unsigned> parallel, reduction;
  int64_t outputs = 1, terms = 1; ///< elements of these loops; of a scatter, of updates, and windows there are; rows and their columns
  unsigned columns = 256;         ///< outputs of a block
  // Of a reduction. Term n is that of chunk n / chunk; within it that of lane n % lanes.
  unsigned lanes = 1;      ///< threads for one output
  bool lanesFirst = false; ///< neighbouring threads are lanes, not columns
  unsigned chunks = 1;     ///< blocks for the same outputs, whose results a second kernel combines
  int64_t chunk = 1;       ///< terms of each, but perhaps the last

  unsigned threads() const { return columns * lanes; }
  int64_t blocks() const { return llvm::divideCeil(outputs, int64_t(columns)) * chunks; }
};

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_NESTSHAPE_H
