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

constexpr uint64_t kMagic = 0x314c505253430001u;
constexpr int32_t kUrgent = std::numeric_limits<int32_t>::min();
constexpr int32_t kBulk = std::numeric_limits<int32_t>::max();

// All machines of a job are alike: as it is in memory.
struct Header {
  uint64_t magic = kMagic;
  uint64_t kind = 0;
  uint64_t attempt = 0;
  uint64_t value = 0;
  uint64_t bytes = 0;
};

}  // namespace

struct ControlChannel::Box {
  std::vector<std::byte> bytes;
  bool done = false;  // guarded by Shared::mu, like `status`
  absl::Status status;
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

absl::Status ControlChannel::Await(int peer, const std::shared_ptr<Box> &box,
                                   Clock::time_point deadline) {
  MutexLock lock(&shared_->mu);
  while (!box->done && !shared_->stopped) {
    if (deadline == Clock::time_point::max())
      shared_->changed.Wait(&shared_->mu);
    else if (shared_->changed.WaitUntil(&shared_->mu, deadline) && !box->done)
      return absl::DeadlineExceededError(
          absl::StrCat("rank ", peer, " does not answer"));
  }
  if (!box->done) return absl::CancelledError("re-planning has ended");
  return Unshared(box->status);
}

absl::StatusOr<ControlMessage> ControlChannel::Receive(int peer,
                                                       Clock::time_point deadline) {
  Incoming &incoming = incoming_[peer];
  // A receive cannot be taken back: the box lives until it has ended.
  auto post = [&](uint32_t part, size_t bytes) {
    auto box = std::make_shared<Box>();
    box->bytes.resize(bytes);
    lanes_->RecvControl(peer, incoming.number, part, absl::MakeSpan(box->bytes),
                        [box, shared = shared_](absl::Status status) {
                          MutexLock lock(&shared->mu);
                          box->status = std::move(status);
                          box->done = true;
                          shared->changed.SignalAll();
                        });
    return box;
  };
  if (incoming.header == nullptr) incoming.header = post(0, sizeof(Header));
  if (absl::Status s = Await(peer, incoming.header, deadline); !s.ok()) return s;
  Header header;
  std::memcpy(&header, incoming.header->bytes.data(), sizeof(Header));
  if (header.magic != kMagic || header.bytes > kMaxPayload)
    return absl::DataLossError(
        absl::StrCat("rank ", peer, " sends no message about a plan"));
  ControlMessage message;
  message.kind = uint32_t(header.kind);
  message.attempt = header.attempt;
  message.value = header.value;
  if (header.bytes != 0) {
    if (incoming.payload == nullptr) incoming.payload = post(1, header.bytes);
    if (absl::Status s = Await(peer, incoming.payload, deadline); !s.ok()) return s;
    message.payload.assign(
        reinterpret_cast<const char *>(incoming.payload->bytes.data()),
        incoming.payload->bytes.size());
  }
  incoming.header = incoming.payload = nullptr;
  ++incoming.number;
  return message;
}

void ControlChannel::Stop() {
  MutexLock lock(&shared_->mu);
  shared_->stopped = true;
  shared_->changed.SignalAll();
}

}  // namespace commsched::runtime
