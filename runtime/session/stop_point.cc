// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/stop_point.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {
namespace {

constexpr uint64_t kClosed = uint64_t{1} << 63;

}  // namespace

struct SharedStop::Words {
  // Steps that some rank has begun, and whether no later one begins.
  std::atomic<uint64_t> begun;
  std::atomic<int> reason;
};

int SharedStop::MakeFile() {
  int file = memfd_create("cs-run stop", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, sizeof(Words)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

std::unique_ptr<SharedStop> SharedStop::Open(int file) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  struct stat about;
  if (fstat(file, &about) != 0 || about.st_size != off_t(sizeof(Words))) return nullptr;
  void *memory = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<SharedStop>(new SharedStop(static_cast<Words *>(memory)));
}

SharedStop::~SharedStop() { munmap(words_, sizeof(Words)); }

bool SharedStop::Begin(uint64_t step) {
  uint64_t begun = words_->begun;
  while ((begun & kClosed) == 0)
    if (words_->begun.compare_exchange_weak(begun, std::max(begun, step + 1))) return true;
  return step < (begun & ~kClosed);
}

void SharedStop::Request(int reason) {
  int none = 0;
  words_->reason.compare_exchange_strong(none, reason);
  words_->begun.fetch_or(kClosed);
}

int SharedStop::reason() const { return words_->reason; }

namespace {

// Keys of plans are small; the numbers of control messages are others.
constexpr uint32_t kKey = 0xffe00000u;
constexpr int32_t kUrgent = std::numeric_limits<int32_t>::min();

}  // namespace

struct ConnectedStop::State : std::enable_shared_from_this<State> {
  enum Phase : uint32_t {
    kAsk,
    kHold,
    kHolding,
    kStop
  };
  struct Message {
    uint64_t step = 0;
    uint64_t reason = 0;
  };
  struct Outgoing {
    int peer;
    Phase phase;
    Message message;
  };

  void Listen(int peer, Phase phase);
  void Got(int peer, Phase phase, const absl::Status &status, const Message &message);
  void React(int peer, Phase phase, const Message &message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Ask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Put(int peer, Phase phase, uint64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    out.push_back({peer, phase, {step, uint64_t(reason)}});
  }
  // Without the lock, which a callback of the transport may want.
  void SendAll() ABSL_LOCKS_EXCLUDED(mu);

  Mutex mu;
  CondVar changed;
  Transport *transport ABSL_GUARDED_BY(mu) = nullptr;
  int rank ABSL_GUARDED_BY(mu) = 0, nodes ABSL_GUARDED_BY(mu) = 1;
  int sending ABSL_GUARDED_BY(mu) = 0;  // threads that use the transport
  std::vector<Outgoing> out ABSL_GUARDED_BY(mu);
  int reason ABSL_GUARDED_BY(mu) = 0;
  uint64_t next ABSL_GUARDED_BY(mu) = 0;  // step that has not begun here
  // Does not begin this one without hearing more.
  std::optional<uint64_t> hold ABSL_GUARDED_BY(mu);
  std::optional<uint64_t> stop ABSL_GUARDED_BY(mu);
  bool lost ABSL_GUARDED_BY(mu) = false;  // who would say more
  bool asked ABSL_GUARDED_BY(mu) = false;
  // Of rank 0: what the others hold, and who has answered.
  uint64_t largest ABSL_GUARDED_BY(mu) = 0;
  std::vector<bool> answered ABSL_GUARDED_BY(mu);
};

void ConnectedStop::State::Listen(int peer, Phase phase) {
  Transport *from = nullptr;
  {
    MutexLock lock(&mu);
    from = transport;
  }
  auto box = std::make_shared<Message>();
  from->Recv(peer, {0, kKey, phase, 0},
             {reinterpret_cast<std::byte *>(box.get()), sizeof(Message)},
             [state = shared_from_this(), box, peer, phase](absl::Status status) {
               state->Got(peer, phase, status, *box);
             });
}

void ConnectedStop::State::Got(int peer, Phase phase, const absl::Status &status,
                               const Message &message) {
  {
    MutexLock lock(&mu);
    if (status.ok()) {
      React(peer, phase, message);
    } else if (rank != 0) {
      lost = true;
    } else if (phase == kHolding && !answered.empty()) {
      answered[size_t(peer)] = true;  // it has gone, and begins nothing
      Decide();
    }
    changed.SignalAll();
  }
  SendAll();
}

void ConnectedStop::State::React(int peer, Phase phase, const Message &message) {
  if (reason == 0) reason = int(message.reason & 0x7f);
  switch (phase) {
    case kAsk:
      return Ask();
    case kHold:
      if (!hold) hold = next;
      return Put(0, kHolding, *hold);
    case kHolding:
      answered[size_t(peer)] = true;
      largest = std::max(largest, message.step);
      return Decide();
    case kStop:
      stop = message.step;
  }
}

// Of rank 0: asks the others; of another one: rank 0.
void ConnectedStop::State::Ask() {
  if (asked || transport == nullptr) return;
  asked = true;
  if (rank != 0) return Put(0, kAsk, 0);
  hold = next;
  largest = std::max(largest, next);
  for (int peer = 1; peer < nodes; ++peer) Put(peer, kHold, 0);
  Decide();
}

void ConnectedStop::State::Decide() {
  if (!asked || stop || std::count(answered.begin(), answered.end(), true) + 1 < nodes)
    return;
  stop = largest;
  for (int peer = 1; peer < nodes; ++peer) Put(peer, kStop, largest);
}

void ConnectedStop::State::SendAll() {
  std::vector<Outgoing> messages;
  Transport *to = nullptr;
  {
    MutexLock lock(&mu);
    messages.swap(out);
    to = transport;
    if (to == nullptr || messages.empty()) return;
    ++sending;
  }
  for (const Outgoing &outgoing : messages) {
    auto box = std::make_shared<Message>(outgoing.message);
    to->Send(outgoing.peer, {0, kKey, outgoing.phase, 0}, kUrgent,
             {reinterpret_cast<const std::byte *>(box.get()), sizeof(Message)},
             [box](absl::Status) {});
  }
  MutexLock lock(&mu);
  --sending;
  changed.SignalAll();
}

ConnectedStop::ConnectedStop() : state_(std::make_shared<State>()) {}
ConnectedStop::~ConnectedStop() { Detach(); }

ConnectedStop::Handler ConnectedStop::Around(Handler handler) {
  return [handler = std::move(handler)](int peer, const absl::Status &why) {
    if (why.code() != absl::StatusCode::kFailedPrecondition && handler) handler(peer, why);
  };
}

void ConnectedStop::Attach(Transport *transport) {
  bool requested = false;
  const int rank = transport->rank(), nodes = transport->nodes();
  {
    MutexLock lock(&state_->mu);
    state_->transport = transport;
    state_->rank = rank;
    state_->nodes = nodes;
    state_->answered.assign(rank == 0 ? size_t(nodes) : 0, false);
    requested = state_->reason != 0;
  }
  if (rank != 0)
    for (State::Phase phase : {State::kHold, State::kStop}) state_->Listen(0, phase);
  else
    for (int peer = 1; peer < nodes; ++peer)
      for (State::Phase phase : {State::kAsk, State::kHolding}) state_->Listen(peer, phase);
  if (!requested) return;
  {
    MutexLock lock(&state_->mu);
    state_->Ask();
  }
  state_->SendAll();
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
    if (state_->stop) return step < *state_->stop;
    if (!state_->hold || step < *state_->hold || state_->lost) break;
    state_->changed.Wait(&state_->mu);
  }
  state_->next = std::max(state_->next, step + 1);
  return true;
}

void ConnectedStop::Request(int reason) {
  {
    MutexLock lock(&state_->mu);
    if (state_->reason == 0) state_->reason = reason;
    state_->Ask();
  }
  state_->SendAll();
}

int ConnectedStop::reason() const {
  MutexLock lock(&state_->mu);
  return state_->reason;
}

}  // namespace commsched::runtime
