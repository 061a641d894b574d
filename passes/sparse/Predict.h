// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the exchange of one gradient takes, by the links and the memory of the
// cluster. Of the rest of the step only the number of gradients is known here: a method
// that takes longer may still be hidden behind compute.

#ifndef COMMSCHED_PASSES_SPARSE_PREDICT_H
#define COMMSCHED_PASSES_SPARSE_PREDICT_H

#include "passes/sparse/Policy.h"

namespace commsched::sparse {

struct ExchangeSize {
  int64_t elements;
  int64_t elementBytes;
  int64_t valueBytes; // of one that is selected, in a message
  int64_t selected;   // of all elements
  // Of each shard, of which each device of a node has one; one device has all of one.
  llvm::SmallVector<int64_t, 1> shards;
};

/// Bytes that a node sends to others, counted: P - 1 of P equal parts, as of rings
/// and of halving and doubling.
double bytesSent(Method method, const ExchangeSize &size, cs::ClusterOp cluster);

/// Nanoseconds from the gradients on all devices to the combined one on its owner, of one
/// of `exchanges` gradients (1 or more): while one waits for the other end, the link has
/// the others, so each counts its share of the latency between nodes only.
double predictExchange(Method method, const ExchangeSize &size, cs::ClusterOp cluster,
                       int64_t exchanges);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_PREDICT_H
