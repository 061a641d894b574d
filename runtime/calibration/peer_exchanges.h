// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What messages between ranks cost as steps send them: through the progress engine,
// which notices each, starts the next, and shares the processors with the transport.
#ifndef COMMSCHED_RUNTIME_CALIBRATION_PEER_EXCHANGES_H
#define COMMSCHED_RUNTIME_CALIBRATION_PEER_EXCHANGES_H

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/calibration/measure.h"
#include "runtime/execute/progress_engine.h"
#include "runtime/transport/transport.h"

namespace commsched::calibration {

// Medians of one rank.
struct Exchange {
  int64_t round_ns = 0;  // one round of a collective with 64 bytes to send
  // How much longer for each further collective at once: of 64 bytes, or of up to
  // 64 KiB against the same bytes in fewer ones, which is more.
  int64_t message_ns = 0;
  // How much longer for each further message where the link is busy with others all the time: the same
  // bytes, of many in turn, in four times as many.
  int64_t busy_message_ns = 0;
};

// Outlives the transport's connection: it must be closed before the end.
class PeerExchanges final : private runtime::ProgressEngine::Host {
 public:
  PeerExchanges(runtime::Transport *transport, absl::Duration deadline);

  // Every rank sends to the next one and receives from the last. All ranks call it
  // at the same time, with the same round trip and rate of the network.
  absl::StatusOr<Exchange> Measure(int64_t round_trip_ns, int64_t bits_per_second);

 private:
  void CommunicationDone(void *, uint32_t) override {
    over_->Add(0, absl::OkStatus());
  }
  void CommunicationFailed(const absl::Status &why) override { over_->Add(0, why); }
  bool Computing() const override { return false; }

  const runtime::InstructionProgram *Collective(size_t rounds, size_t bytes);
  std::vector<const runtime::InstructionProgram *> AtOnce(size_t count, size_t bytes);
  // Nanoseconds until all of them are done.
  absl::StatusOr<int64_t> Run(
      const std::vector<const runtime::InstructionProgram *> &collectives);

  runtime::Transport *const transport_;
  const absl::Duration deadline_;
  const std::unique_ptr<Completions> over_ = std::make_unique<Completions>();
  std::deque<runtime::InstructionProgram> instructions_;
  std::vector<std::byte> memory_;
  uint64_t calls_ = 0;
  runtime::ProgressEngine engine_;
};

}  // namespace commsched::calibration

#endif  // COMMSCHED_RUNTIME_CALIBRATION_PEER_EXCHANGES_H
