// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/control_channel.h"

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"

namespace commsched::runtime {
namespace {

constexpr uint64_t kMagic = 0x324c505253430001u;
constexpr int32_t kUrgent = std::numeric_limits<int32_t>::min();
constexpr int32_t kBulk = std::numeric_limits<int32_t>::max();

// All machines of a job are alike: as it is in memory.
struct Header {
  uint64_t magic = kMagic;
  uint64_t kind = 0;
  uint64_t attempt = 0;
  uint64_t value = 0;
  uint64_t refused = 0;
  uint64_t bytes = 0;
};

}  // namespace

struct ControlChannel::Box {
  std::vector<std::byte> bytes;
  absl::Status status;  // guarded by Shared::mu
};

void ControlChannel::Send(int peer, ControlMessage message) {
  uint64_t number;
  {
    MutexLock lock(&mu_);
    number = sent_[peer]++;
  }
  Header header;
  header.kind = message.kind;
  header.attempt = message.attempt;
  header.value = message.value;
  header.refused = message.refused;
  header.bytes = message.payload.size();
  auto head = std::make_shared<Header>(header);
  lanes_->SendControl(peer, number, 0, kUrgent,
                      {reinterpret_cast<const std::byte *>(head.get()), sizeof(Header)},
                      [head](absl::Status) {});
  if (message.payload.empty()) return;
  auto text = std::make_shared<std::string>(std::move(message.payload));
  lanes_->SendControl(
      peer, number, 1, kBulk,
      {reinterpret_cast<const std::byte *>(text->data()), text->size()},
      [text](absl::Status) {});
}

// A receive cannot be taken back: the box lives until it has ended.
void ControlChannel::Post(int peer, Incoming *incoming, uint32_t part, size_t bytes) {
  incoming->box = std::make_shared<Box>();
  incoming->box->bytes.resize(bytes);
  lanes_->RecvControl(peer, incoming->number, part, absl::MakeSpan(incoming->box->bytes),
                      [peer, box = incoming->box, shared = shared_](absl::Status status) {
                        MutexLock lock(&shared->mu);
                        box->status = std::move(status);
                        shared->ended.push_back(peer);
                        shared->changed.SignalAll();
                      });
}

absl::StatusOr<bool> ControlChannel::Take(int peer, Incoming *incoming) {
  const std::shared_ptr<Box> box = std::move(incoming->box);
  {
    MutexLock lock(&shared_->mu);
    if (!box->status.ok()) {
      incoming->has_header = false;
      return Unshared(box->status);
    }
  }
  ControlMessage &message = incoming->message;
  if (!std::exchange(incoming->has_header, false)) {
    Header header;
    std::memcpy(&header, box->bytes.data(), sizeof(Header));
    if (header.magic != kMagic || header.bytes > kMaxPayload)
      return absl::DataLossError(
          absl::StrCat("rank ", peer, " sends no message about a plan"));
    message.kind = uint32_t(header.kind);
    message.attempt = header.attempt;
    message.value = header.value;
    message.refused = header.refused != 0;
    message.payload.clear();
    incoming->has_header = header.bytes != 0;
    if (incoming->has_header) {
      Post(peer, incoming, 1, header.bytes);
      return false;
    }
  } else {
    message.payload.assign(reinterpret_cast<const char *>(box->bytes.data()),
                           box->bytes.size());
  }
  ++incoming->number;
  return true;
}

absl::StatusOr<ControlChannel::Received> ControlChannel::Receive(
    absl::Span<const int> peers, Clock::time_point deadline) {
  for (int peer : peers)
    if (Incoming &incoming = incoming_[peer]; incoming.box == nullptr)
      Post(peer, &incoming, 0, sizeof(Header));
  while (true) {
    int peer = 0;
    {
      MutexLock lock(&shared_->mu);
      while (shared_->ended.empty() && !shared_->stopped) {
        if (deadline == Clock::time_point::max())
          shared_->changed.Wait(&shared_->mu);
        else if (shared_->changed.WaitUntil(&shared_->mu, deadline) && shared_->ended.empty())
          return absl::DeadlineExceededError("nobody answers");
      }
      if (shared_->ended.empty()) return absl::CancelledError("re-planning has ended");
      peer = shared_->ended.front();
      shared_->ended.pop_front();
    }
    Incoming &incoming = incoming_[peer];
    absl::StatusOr<bool> whole = Take(peer, &incoming);
    if (!whole.ok()) return whole.status();
    if (*whole) return Received{peer, std::move(incoming.message)};
  }
}

void ControlChannel::Stop() {
  MutexLock lock(&shared_->mu);
  shared_->stopped = true;
  shared_->changed.SignalAll();
}

}  // namespace commsched::runtime
