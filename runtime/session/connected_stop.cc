// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/connected_stop.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "runtime/base/sync.h"
#include "runtime/core/stop_agreement.h"

namespace commsched::runtime {
namespace {

using core::StopAgreement;

// Keys of plans are small; the numbers of control messages are others.
constexpr uint32_t kKey = 0xffe00000u;
constexpr int32_t kUrgent = std::numeric_limits<int32_t>::min();

}  // namespace

struct ConnectedStop::State : std::enable_shared_from_this<State> {
  struct Wire {
    uint64_t step = 0;
    uint64_t reason = 0;
  };

  void Listen(Transport *from, int peer, StopAgreement::Kind kind);
  void Got(int peer, StopAgreement::Kind kind, const absl::Status &status, const Wire &wire);
  // What is to be sent, which Detach waits for from now on: whoever is told that it stops may have ended before it is.
  struct Batch {
    StopAgreement::Messages messages;
    Transport *to = nullptr;
    uint64_t why = 0;
  };
  Batch Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Without the lock, which a callback of the transport may want.
  void Send(const Batch &batch) ABSL_LOCKS_EXCLUDED(mu);

  Mutex mu;
  CondVar changed;
  Transport *transport ABSL_GUARDED_BY(mu) = nullptr;
  std::optional<StopAgreement> machine ABSL_GUARDED_BY(mu);
  StopAgreement::Messages out ABSL_GUARDED_BY(mu);
  int sending ABSL_GUARDED_BY(mu) = 0;  // threads that use the transport
  int reason ABSL_GUARDED_BY(mu) = 0;
};

void ConnectedStop::State::Listen(Transport *from, int peer, StopAgreement::Kind kind) {
  auto box = std::make_shared<Wire>();
  from->Recv(peer, {0, kKey, kind, 0},
             {reinterpret_cast<std::byte *>(box.get()), sizeof(Wire)},
             [state = shared_from_this(), box, peer, kind](absl::Status status) {
               state->Got(peer, kind, status, *box);
             });
}

void ConnectedStop::State::Got(int peer, StopAgreement::Kind kind, const absl::Status &status,
                               const Wire &wire) {
  Batch batch;
  {
    MutexLock lock(&mu);
    if (status.ok()) {
      if (reason == 0) reason = int(wire.reason & 0x7f);
      machine->Take({peer, kind, wire.step}, &out);
    } else {
      machine->Gone(peer, &out);
    }
    batch = Take();
    changed.SignalAll();
  }
  Send(batch);
}

ConnectedStop::State::Batch ConnectedStop::State::Take() {
  Batch batch;
  if (transport == nullptr || out.empty()) return batch;
  batch.messages.swap(out);
  batch.to = transport;
  batch.why = uint64_t(reason);
  ++sending;
  return batch;
}

void ConnectedStop::State::Send(const Batch &batch) {
  if (batch.to == nullptr) return;
  for (const StopAgreement::Message &message : batch.messages) {
    auto box = std::make_shared<Wire>(Wire{message.step, batch.why});
    batch.to->Send(message.peer, {0, kKey, message.kind, 0}, kUrgent,
                   {reinterpret_cast<const std::byte *>(box.get()), sizeof(Wire)},
                   [box](absl::Status) {});
  }
  MutexLock lock(&mu);
  --sending;
  changed.SignalAll();
}

ConnectedStop::ConnectedStop() : state_(std::make_shared<State>()) {}
ConnectedStop::~ConnectedStop() { Detach(); }

void ConnectedStop::Prepare(TransportOptions *options) {
  if (options->partners)
    options->partners->merge(StopAgreement::Neighbours(options->rank, options->nodes));
  options->on_peer_failure = [handler = std::move(options->on_peer_failure)](
                                 int peer, const absl::Status &why) {
    if (why.code() != absl::StatusCode::kFailedPrecondition && handler) handler(peer, why);
  };
}

void ConnectedStop::Attach(Transport *transport) {
  const int rank = transport->rank(), nodes = transport->nodes();
  {
    MutexLock lock(&state_->mu);
    state_->transport = transport;
    state_->machine.emplace(rank, nodes);
    if (state_->reason != 0) state_->machine->Ask(&state_->out);
  }
  for (const int peer : StopAgreement::Neighbours(rank, nodes))
    for (const StopAgreement::Kind kind : StopAgreement::KindsFrom(peer, rank))
      state_->Listen(transport, peer, kind);
  State::Batch batch;
  {
    MutexLock lock(&state_->mu);
    batch = state_->Take();
  }
  state_->Send(batch);
}

void ConnectedStop::Detach() {
  MutexLock lock(&state_->mu);
  state_->transport = nullptr;
  while (state_->sending != 0) state_->changed.Wait(&state_->mu);
}

bool ConnectedStop::Begin(uint64_t step) {
  MutexLock lock(&state_->mu);
  if (state_->transport == nullptr) return state_->reason == 0;  // talks to nobody
  while (true) {
    const StopAgreement::Turn turn = state_->machine->Begin(step);
    if (turn != StopAgreement::Turn::kWait) return turn == StopAgreement::Turn::kBegin;
    state_->changed.Wait(&state_->mu);
  }
}

void ConnectedStop::Request(int reason) {
  State::Batch batch;
  {
    MutexLock lock(&state_->mu);
    if (state_->reason == 0) state_->reason = reason;
    if (state_->transport != nullptr) state_->machine->Ask(&state_->out);
    batch = state_->Take();
  }
  state_->Send(batch);
}

int ConnectedStop::reason() const {
  MutexLock lock(&state_->mu);
  return state_->reason;
}

}  // namespace commsched::runtime
