// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who sends how much to whom in the phases of a collective, for any rank, without
// a table of all of them.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_EXCHANGE_SHAPE_H
#define COMMSCHED_RUNTIME_SIMULATOR_EXCHANGE_SHAPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/loading/exchange_side.h"
#include "runtime/loading/rank_group.h"

namespace commsched::runtime::simulator {

// A phase, apart from what is combined and how urgent it is.
class ExchangeShape {
 public:
  static absl::StatusOr<ExchangeShape> Parse(const plan::Phase &phase,
                                             const RankGroup &group);

  int64_t chunks() const { return chunks_; }
  int64_t rounds() const { return rounds_; }
  // Peers and numbers of parts are the same in all rounds.
  bool fixed() const { return fixed_; }
  // By how many parts both go on in each round, around all: then what overlaps in one
  // round does so in all. Of some fixed shapes.
  std::optional<int64_t> turn() const { return turn_; }
  // Empty, with an error, if a part or a rank does not exist.
  absl::StatusOr<Transfer> Send(int rank, int64_t round) const {
    return send_.Evaluate("send", chunks_, rank, group_, round);
  }
  absl::StatusOr<Transfer> Receive(int rank, int64_t round) const {
    return recv_.Evaluate("receive", chunks_, rank, group_, round);
  }
  // Of a fixed shape, from what they are in another round.
  absl::StatusOr<Transfer> SendAgain(int rank, int64_t round, const Transfer &other) const {
    return send_.EvaluateAgain("send", chunks_, rank, group_, round, other);
  }
  absl::StatusOr<Transfer> ReceiveAgain(int rank, int64_t round,
                                        const Transfer &other) const {
    return recv_.EvaluateAgain("receive", chunks_, rank, group_, round, other);
  }

 private:
  int64_t chunks_ = 1, rounds_ = 0;
  bool fixed_ = true;
  std::optional<int64_t> turn_;
  ExchangeSide send_, recv_;
  RankGroup group_;
};

// The same collective of another number of ranks: the phases of `communicate`, of
// `nodes` ranks, are compared with those that --expand-collectives makes.
// `algorithm` as in SimulationOptions; `bytes` and what a message
// costs decide "auto". kUnimplemented for phases of another form.
absl::StatusOr<std::vector<plan::Phase>> Regenerate(
    const plan::Communicate &communicate, int nodes, int workers,
    const std::string &algorithm, double bytes, double latency_ns,
    double overhead_ns, double ns_per_byte);

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_EXCHANGE_SHAPE_H
