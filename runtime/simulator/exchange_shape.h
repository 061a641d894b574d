// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who sends how much to whom in the phases of a collective, for any rank, without
// a table of all of them.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_EXCHANGE_SHAPE_H
#define COMMSCHED_RUNTIME_SIMULATOR_EXCHANGE_SHAPE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/affine.h"

namespace commsched::runtime::simulator {

struct Transfer {
  int peer = -1;  // -1: nothing
  int64_t begin = 0, count = 0;  // parts
  friend bool operator==(const Transfer &a, const Transfer &b) {
    return a.peer == b.peer && a.begin == b.begin && a.count == b.count;
  }
};

// A phase, apart from what is combined and how urgent it is.
class ExchangeShape {
 public:
  static absl::StatusOr<ExchangeShape> Parse(const plan::Phase &phase);

  int64_t chunks() const { return chunks_; }
  int64_t rounds() const { return rounds_; }
  // Peers and numbers of parts are the same in all rounds.
  bool fixed() const { return fixed_; }
  // Empty, with an error, if a part or a rank does not exist.
  absl::StatusOr<Transfer> Send(int rank, int nodes, int64_t round) const {
    return Evaluate(send_, "send", rank, nodes, round);
  }
  absl::StatusOr<Transfer> Receive(int rank, int nodes, int64_t round) const {
    return Evaluate(recv_, "receive", rank, nodes, round);
  }

 private:
  struct Side {
    std::vector<std::pair<Affine, bool>> conditions;
    Affine begin, count, peer;
  };
  static absl::StatusOr<Side> ParseSide(const plan::Side &side);
  static bool FixedSide(const Side &side);
  absl::StatusOr<Transfer> Evaluate(const Side &side, const char *what, int rank,
                                    int nodes, int64_t round) const;

  int64_t chunks_ = 1, rounds_ = 0;
  bool fixed_ = true;
  Side send_, recv_;
};

// The same collective of another number of ranks: the phases of `communicate`, of
// `nodes` ranks, are compared with those that --expand-collectives makes.
// `algorithm` as in SimulationOptions; `bytes`, `message_ns` and
// `ns_per_byte` decide "auto". kUnimplemented for phases of another form.
absl::StatusOr<std::vector<plan::Phase>> Regenerate(
    const plan::Communicate &communicate, int nodes, int workers,
    const std::string &algorithm, double bytes, double message_ns,
    double ns_per_byte);

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_EXCHANGE_SHAPE_H
