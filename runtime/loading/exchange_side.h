// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one side of an exchange does in a round: which parts of the tensor go to or
// come from which rank.
#ifndef COMMSCHED_RUNTIME_LOADING_EXCHANGE_SIDE_H
#define COMMSCHED_RUNTIME_LOADING_EXCHANGE_SIDE_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/loading/affine.h"
#include "runtime/loading/rank_group.h"

namespace commsched::runtime {

struct Transfer {
  int peer = -1;                 // -1: nothing
  int64_t begin = 0, count = 0;  // parts
  friend bool operator==(const Transfer &a, const Transfer &b) {
    return a.peer == b.peer && a.begin == b.begin && a.count == b.count;
  }
};

class ExchangeSide {
 public:
  static absl::StatusOr<ExchangeSide> Parse(const plan::Side &side);

  // Of rank `rank` in an exchange of `group`, where the tensor has `chunks` parts;
  // `what` names the side in errors. Nothing if it is no member. Refuses parts and
  // peers that do not exist.
  absl::StatusOr<Transfer> Evaluate(const char *what, int64_t chunks, int rank,
                                    const RankGroup &group, int64_t round) const {
    return Evaluate(what, chunks, rank, group, group, round);
  }
  // The same with peers that are not in `group`, but in `peers`.
  absl::StatusOr<Transfer> Evaluate(const char *what, int64_t chunks, int rank,
                                    const RankGroup &group, const RankGroup &peers,
                                    int64_t round) const;

  // The same of a side that does not use the round (UsesRound), from what it is in
  // another one: only where the parts begin changes.
  absl::StatusOr<Transfer> EvaluateAgain(const char *what, int64_t chunks, int rank,
                                         const RankGroup &group, int64_t round,
                                         Transfer other) const;

  // By how many parts its parts move on in each round, around all `chunks` parts. Empty
  // if that is not seen.
  std::optional<int64_t> Turn(int64_t chunks) const;

  // Whether peers or numbers of parts differ from round to round.
  bool UsesRound() const;

 private:
  std::vector<std::pair<Affine, bool>> conditions_;  // and whether one is equality
  Affine begin_, count_, peer_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_EXCHANGE_SIDE_H
