// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/calibration/peer_exchanges.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace commsched::calibration {
namespace {

using runtime::Clock;
using runtime::InstructionProgram;

constexpr size_t kBytes = 64;
constexpr size_t kAtOnce = 32;
// The same bytes in many messages and in few, at once: as many as a link carries in
// 20 ms, at most.
constexpr size_t kFew = 4;
constexpr size_t kLeastPiece = size_t{2} << 10, kMostPiece = size_t{64} << 10;
// And that keep a link busy for 60 ms at least, in pieces of the same size: the ends of the burst do not count
// for much, and what processors do for a message is done while others are sent.
constexpr size_t kBusyFew = 24, kBusyCut = 4;
constexpr int kRepeats = 9;
// Keys of messages; those of peer_links.cc are smaller.
constexpr uint32_t kFirstKey = 1000;

}  // namespace

PeerExchanges::PeerExchanges(runtime::Transport *transport, absl::Duration deadline)
    : transport_(transport),
      deadline_(deadline),
      memory_(2 * kMostPiece * kBusyFew * kBusyCut),
      engine_(transport->rank(), transport, nullptr, nullptr,
              static_cast<runtime::ProgressEngine::Host *>(this), nullptr, deadline) {}

const InstructionProgram *PeerExchanges::Collective(size_t rounds, size_t bytes) {
  const int rank = transport_->rank(), nodes = transport_->nodes();
  InstructionProgram &instruction = instructions_.emplace_back();
  instruction.kind = InstructionProgram::kCommunicate;
  runtime::CommunicateProgram &c = instruction.communicate;
  c.key = "calibration";
  c.source_op = "exchange";
  c.key_id = kFirstKey + uint32_t(instructions_.size());
  runtime::PhaseProgram phase;
  runtime::Round round;
  round.send_peer = (rank + 1) % nodes;
  round.recv_peer = (rank + nodes - 1) % nodes;
  round.recv_begin = bytes;
  round.send_bytes = round.recv_bytes = bytes;
  phase.rounds.assign(rounds, round);
  c.phases.push_back(phase);
  return &instruction;
}

absl::StatusOr<int64_t> PeerExchanges::Run(
    const std::vector<const InstructionProgram *> &collectives) {
  const uint64_t call = calls_++;
  const Clock::time_point begin = Clock::now();
  std::byte *buffer = memory_.data();
  for (const InstructionProgram *collective : collectives) {
    runtime::ProgressEngine::Request request;
    request.instruction = collective;
    request.call = call;
    request.buffer = buffer;
    buffer += 2 * collective->communicate.phases[0].rounds[0].send_bytes;
    engine_.Start(request);
  }
  // The engine knows what it waits for, and says so first.
  auto over = over_->Take(collectives.size(), 2 * deadline_);
  if (!over.ok()) return over.status();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(over->back().at - begin)
      .count();
}

std::vector<const InstructionProgram *> PeerExchanges::AtOnce(size_t count, size_t bytes) {
  std::vector<const InstructionProgram *> collectives;
  while (collectives.size() < count) collectives.push_back(Collective(1, bytes));
  return collectives;
}

absl::StatusOr<Exchange> PeerExchanges::Measure(int64_t round_trip_ns,
                                                int64_t bits_per_second) {
  const auto rounds = size_t(std::clamp<int64_t>(
      50'000'000 / std::max<int64_t>(1, round_trip_ns), 4, 64));
  const size_t piece =
      std::clamp(size_t(bits_per_second) / 8 / 50 / kAtOnce, kLeastPiece, kMostPiece) /
      kBytes * kBytes;
  const std::vector<const InstructionProgram *> runs[] = {
      {Collective(rounds, kBytes)},
      AtOnce(kAtOnce, kBytes),
      AtOnce(kFew, piece * (kAtOnce / kFew)),
      AtOnce(kAtOnce, piece),
      AtOnce(kBusyFew, piece * kBusyCut),
      AtOnce(kBusyFew * kBusyCut, piece)};
  std::vector<int64_t> times[std::size(runs)];
  for (int i = 0; i < kRepeats; ++i)
    for (size_t run = 0; run < std::size(runs); ++run) {
      auto time = Run(runs[run]);
      if (!time.ok()) return time.status();
      if (i > 0) times[run].push_back(*time);  // the first warms up
    }
  const int64_t in_turn = Median(times[0]), short_ones = Median(times[1]);
  const int64_t few = Median(times[2]), many = Median(times[3]);
  Exchange exchange;
  exchange.round_ns = in_turn / int64_t(rounds);
  // Short messages share packets; long ones have to wake everyone on their way.
  exchange.message_ns =
      std::max({int64_t{0}, (short_ones - exchange.round_ns) / int64_t(kAtOnce - 1),
                (many - few) / int64_t(kAtOnce - kFew)});
  exchange.busy_message_ns = std::max<int64_t>(
      0, (Median(times[5]) - Median(times[4])) / int64_t(kBusyFew * (kBusyCut - 1)));
  return exchange;
}

}  // namespace commsched::calibration
