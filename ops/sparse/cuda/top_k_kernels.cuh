// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel of exact selection with CUDA. Compiled by nvcc, and for the tests
// by a C++ compiler with an emulation of what it uses of CUDA.
//
// A sample gives a range in which the k-th magnitude is likely to be. One read
// of the array keeps as candidates what is in it and above, and counts it in
// bins; then the range is narrowed, among the candidates, until few of them are
// in it, or one magnitude is left; these and what is above are counted, by span,
// so that each block knows where what it writes goes. If the
// sample misled, the range goes where the counts say, if need be among the
// array itself; where a part has more candidates than places for them, its
// elements stand for them. Nothing depends on the order in which blocks run.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/exact_filter.cuh"
#include "ops/sparse/cuda/exact_phases.cuh"
#include "ops/sparse/cuda/exact_range.cuh"
#include "ops/sparse/cuda/exact_spans.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// Whether there is something to select, and everything is finite.
__device__ inline bool HasAnswer(const Item &item, const State &state) {
  return item.k != 0 && state.non_finite == 0 && !IsRefused(item);
}

// What a block has counted goes to the array's state; the block that was the
// last narrows its range, and says whether another level is wanted.
template <class F>
__device__ inline void EndLevel(const Batch &batch, uint32_t number, int level,
                                uint32_t count, Shared &shared) {
  const Item &item = batch.items[number];
  State &state = batch.states[number];
  __syncthreads();
  for (int i = int(threadIdx.x); i < kBins; i += kThreads) {
    const uint32_t n = shared.bins[i];
    if (n == 0) continue;
    atomicAdd(&state.bins[level][i], n);
    shared.bins[i] = 0;
  }
  const uint32_t candidates = shared.candidates, above = shared.above;
  __syncthreads();
  if (threadIdx.x == 0 && candidates != 0) {
    atomicAdd(&state.candidates, candidates);
    if (above != 0) atomicAdd(&state.above, above);
    shared.candidates = shared.above = 0;
  }
  if (!AddDone(&state.done[level], count, level == 0 ? item.units : item.spans,
               shared))
    return;
  Narrow<F>(item, state, level, shared);
  if (threadIdx.x == 0 && state.range.known == 0 && state.range.few == 0)
    atomicAdd(&batch.progress->wanted[level + 1], 1u);
  AddDone(&batch.progress->done[level + 1], 1, 0, shared);
}

// When all is counted, the last block chooses of the few.
__device__ inline void EndCount(const Batch &batch, uint32_t number,
                                uint32_t count, Shared &shared) {
  State &state = batch.states[number];
  if (!AddDone(&state.done[kCountLevel], count, batch.items[number].spans, shared))
    return;
  if (state.range.known == 0) ChooseOfFew(state);
  AddDone(&batch.progress->done[kCountPhase], 1, 0, shared);
}

// A phase of all arrays: work(array, ticket) for the units or spans of table[0
// .. count), and end(array, number of them) now and then.
template <class Work, class End>
__device__ inline void DoPhase(const Batch &batch, int phase,
                               const uint32_t *table, uint32_t count,
                               Shared &shared, Work work, End end) {
  uint32_t number = 0, done = 0;
  for (;;) {
    const uint32_t ticket = Take(&batch.progress->ticket[phase], shared);
    if (ticket >= count) break;
    if (done != 0 && table[ticket] != number) {
      end(number, done);
      done = 0;
    }
    number = table[ticket];
    work(number, ticket);
    ++done;
  }
  if (done != 0) end(number, done);
}

template <class F>
__device__ inline void PrefetchUnit(const Batch &batch, uint32_t ticket) {
  using S = typename F::Storage;
  if (ticket >= batch.unit_count) return;
  const Item &item = batch.items[batch.unit_item[ticket]];
  if (IsRefused(item)) return;
  const int64_t at =
      int64_t(ticket - item.first_unit) * item.part_tiles * kTile * kWarps +
      threadIdx.x * int64_t{128 / sizeof(S)};
  if (at < item.size) Prefetch(static_cast<const S *>(item.x) + at);
}

template <class F, class Index>
__global__ void __launch_bounds__(kThreads, kExactBlocks) ExactKernel(Batch batch) {
  __shared__ Shared shared;
  Progress &progress = *batch.progress;
  for (;;) {
    const uint32_t number = Take(&progress.ticket[0], shared);
    if (number >= batch.item_count) break;
    Begin<F>(batch.items[number], batch.states[number], shared);
    AddDone(&progress.done[0], 1, 0, shared);
  }
  ClearBins(shared);
  if (threadIdx.x == 0) shared.candidates = shared.above = 0;
  // While others sample.
  PrefetchUnit<F>(batch, blockIdx.x);
  WaitFor(&progress.done[0], batch.item_count);
  DoPhase(
      batch, 1, batch.unit_item, batch.unit_count, shared,
      [&](uint32_t number, uint32_t ticket) {
        const Item &item = batch.items[number];
        if (IsRefused(item)) return;
        FilterUnit<F>(item, batch.states[number], ticket - item.first_unit, shared);
      },
      [&](uint32_t number, uint32_t done) { EndLevel<F>(batch, number, 0, done, shared); });
  WaitFor(&progress.done[1], batch.filled_count);
  for (int level = 1; level < kRangeLevels; ++level) {
    if (LoadAtomic(&progress.wanted[level]) == 0) break;
    DoPhase(
        batch, level + 1, batch.span_item, batch.span_count, shared,
        [&](uint32_t number, uint32_t ticket) {
          const Item &item = batch.items[number];
          const Range range = batch.states[number].range;
          if (range.known == 0 && range.few == 0)
            CountBins<F>(item, range, ticket - item.first_span, shared);
        },
        [&](uint32_t number, uint32_t done) { EndLevel<F>(batch, number, level, done, shared); });
    WaitFor(&progress.done[level + 1], batch.filled_count);
  }
  DoPhase(
      batch, kCountPhase, batch.span_item, batch.span_count, shared,
      [&](uint32_t number, uint32_t ticket) {
        const Item &item = batch.items[number];
        State &state = batch.states[number];
        if (!HasAnswer(item, state)) return;
        CountSpan<F>(item, state, state.range, ticket - item.first_span, shared);
      },
      [&](uint32_t number, uint32_t done) { EndCount(batch, number, done, shared); });
  WaitFor(&progress.done[kCountPhase], batch.filled_count);
  DoPhase(
      batch, kWritePhase, batch.span_item, batch.span_count, shared,
      [&](uint32_t number, uint32_t ticket) {
        const Item &item = batch.items[number];
        const State &state = batch.states[number];
        if (!HasAnswer(item, state)) return;
        WriteSpan<F, Index>(item, state, state.range, ticket - item.first_span, shared);
      },
      [](uint32_t, uint32_t) {});
  // The last leaves everything as it was.
  if (!AddDone(&progress.gone, 1, batch.blocks, shared)) return;
  if (threadIdx.x < kPhases)
    progress.ticket[threadIdx.x] = progress.done[threadIdx.x] =
        progress.wanted[threadIdx.x] = 0;
  if (threadIdx.x == 0) atomicExch(&progress.gone, 0u);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH
