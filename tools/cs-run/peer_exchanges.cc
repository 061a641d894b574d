// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/peer_exchanges.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace commsched::run {
namespace {

using runtime::Clock;
using runtime::InstructionProgram;

constexpr size_t kBytes = 64;
constexpr size_t kAtOnce = 32;
constexpr int kRepeats = 9;
// Keys of messages; those of peer_links.cc are smaller.
constexpr uint32_t kFirstKey = 1000;

}  // namespace

PeerExchanges::PeerExchanges(runtime::Transport *transport, absl::Duration deadline)
    : transport_(transport), deadline_(deadline), memory_(2 * kBytes * kAtOnce),
      engine_(transport->rank(), transport, nullptr, nullptr,
              static_cast<runtime::ProgressEngine::Host *>(this), nullptr, deadline) {}

const InstructionProgram *PeerExchanges::Collective(size_t rounds) {
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
  round.recv_begin = kBytes;
  round.send_bytes = round.recv_bytes = kBytes;
  phase.rounds.assign(rounds, round);
  c.phases.push_back(phase);
  return &instruction;
}

absl::StatusOr<int64_t> PeerExchanges::Run(
    const std::vector<const InstructionProgram *> &collectives) {
  const uint64_t call = calls_++;
  const Clock::time_point begin = Clock::now();
  for (size_t i = 0; i < collectives.size(); ++i) {
    runtime::ProgressEngine::Request request;
    request.instruction = collectives[i];
    request.call = call;
    request.buffer = memory_.data() + 2 * kBytes * i;
    engine_.Start(request);
  }
  // The engine knows what it waits for, and says so first.
  auto over = over_->Take(collectives.size(), 2 * deadline_);
  if (!over.ok()) return over.status();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(over->back().at - begin)
      .count();
}

absl::StatusOr<Exchange> PeerExchanges::Measure(int64_t round_trip_ns) {
  const auto rounds = size_t(std::clamp<int64_t>(
      50'000'000 / std::max<int64_t>(1, round_trip_ns), 4, 64));
  const auto in_turn = Collective(rounds);
  std::vector<const InstructionProgram *> at_once;
  while (at_once.size() < kAtOnce) at_once.push_back(Collective(1));
  std::vector<int64_t> turns, bundles;
  for (int i = 0; i < kRepeats; ++i) {
    auto turn = Run({in_turn});
    if (!turn.ok()) return turn.status();
    auto bundle = Run(at_once);
    if (!bundle.ok()) return bundle.status();
    if (i == 0) continue;  // warms up
    turns.push_back(*turn);
    bundles.push_back(*bundle);
  }
  Exchange exchange;
  exchange.round_ns = Median(turns) / int64_t(rounds);
  exchange.message_ns = std::max<int64_t>(
      0, (Median(bundles) - exchange.round_ns) / int64_t(kAtOnce - 1));
  return exchange;
}

}  // namespace commsched::run
