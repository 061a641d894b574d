// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of a collective that is posted at run time, as one rank sends and receives
// them: phases for the progress engine, such as a plan has.
#ifndef COMMSCHED_RUNTIME_POSTS_ROUNDS_H
#define COMMSCHED_RUNTIME_POSTS_ROUNDS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/base/element.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

struct Place {
  int rank = 0, size = 1;
};

// `elements` of all, combined on all ranks, in place: around a ring, or, if they are few and
// the number of ranks is a power of two, by halves of the ranks. `scale`: of the result; 0: none.
// The same bits come out on all ranks.
void AddAllReduce(const Place &place, ops::Combine combine, double scale, int64_t elements,
                  CommunicateProgram *c);
// `size` parts of `part` elements lie one behind the other. Combined, the own part is complete
// in its place afterwards, and the others are spoilt; gathered, the own one is in its place before.
void AddReduceScatter(const Place &place, ops::Combine combine, double scale, int64_t part,
                      CommunicateProgram *c);
void AddAllGather(const Place &place, int64_t part, CommunicateProgram *c);
// `elements` of rank `root`: along a tree, or, if they are many, in parts from rank to rank.
void AddBroadcast(const Place &place, int root, int64_t elements, CommunicateProgram *c);
// Elements for each rank lie one behind the other, and behind them is the place of those from
// each rank. The own ones are not moved.
void AddAllToAll(const Place &place, const std::vector<uint64_t> &sends,
                 const std::vector<uint64_t> &receives, CommunicateProgram *c);
// Messages without bytes, after which all ranks have begun.
void AddBarrier(const Place &place, CommunicateProgram *c);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_POSTS_ROUNDS_H
