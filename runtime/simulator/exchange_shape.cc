// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/exchange_shape.h"

#include <utility>

namespace commsched::runtime::simulator {

absl::StatusOr<ExchangeShape> ExchangeShape::Parse(const plan::Phase &phase,
                                                   const RankGroup &group) {
  ExchangeShape shape;
  shape.group_ = group;
  shape.chunks_ = phase.chunks();
  shape.rounds_ = phase.rounds();
  absl::StatusOr<ExchangeSide> send = ExchangeSide::Parse(phase.send());
  if (!send.ok()) return send.status();
  absl::StatusOr<ExchangeSide> recv = ExchangeSide::Parse(phase.recv());
  if (!recv.ok()) return recv.status();
  shape.send_ = *std::move(send);
  shape.recv_ = *std::move(recv);
  shape.fixed_ = !shape.send_.UsesRound() && !shape.recv_.UsesRound();
  const auto turn = shape.send_.Turn(shape.chunks_);
  if (shape.fixed_ && turn == shape.recv_.Turn(shape.chunks_)) shape.turn_ = turn;
  return shape;
}

}  // namespace commsched::runtime::simulator
