// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sending half of a Matcher (matcher.h, which has the rules): which messages may go, by
// what the other end has said.
//
// O is movable: what the caller knows of a message to be sent.
#ifndef COMMSCHED_RUNTIME_CORE_MESSAGE_SENDS_H
#define COMMSCHED_RUNTIME_CORE_MESSAGE_SENDS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/message_tag.h"

namespace commsched::runtime::core {

// What a message without a receive costs besides its bytes.
inline constexpr size_t kMessageCost = 256;

// Grants, and announcements, of which nothing else is known. In a damaged job only.
inline constexpr size_t kMostAhead = size_t{1} << 20;

// Of a receiver.
struct MessageLimits {
  size_t eager = 0;  // bytes of a message
  size_t room = 0;   // bytes of all that it keeps
};

struct Control {
  enum Kind {
    kAnnounce,
    kGrant,
    kCredit
  };
  Kind kind = kGrant;
  MessageTag tag;  // not of kCredit
  size_t bytes = 0;
  uint64_t note = 0;  // of a grant: the caller's
};
using Controls = std::vector<Control>;

inline std::string WrongSize(const MessageTag &tag, size_t receive, size_t message) {
  return absl::StrCat("size of ", Describe(tag), " must match the receive's ", receive,
                      " bytes, got: ", message);
}

template <typename Map>
std::vector<MessageTag> TagsInOrder(const Map &map) {
  std::vector<MessageTag> tags;
  tags.reserve(map.size());
  for (const auto &[tag, value] : map) tags.push_back(tag);
  std::sort(tags.begin(), tags.end());
  return tags;
}

template <typename O>
class MessageSends {
 public:
  struct Going {
    MessageTag tag;
    O item;
    bool granted = false;
    uint64_t note = 0;  // of its grant
  };
  // The other end is there. What is to go now is appended to `going`.
  void Open(MessageLimits theirs, std::vector<Going> *going, Controls *controls);
  // Returns the message if it goes now; else it is kept. kAlreadyExists: there is one
  // with this tag, and Sent was not called.
  // `whole`: if it goes now, all of it does, and Sent is not called.
  absl::StatusOr<std::optional<Going>> Send(const MessageTag &tag, size_t bytes, O item,
                                            Controls *controls, bool whole = false);
  // Whether a message goes now, all of it: then nothing of it is kept, and neither Send nor
  // Sent is called.
  bool SendWhole(const MessageTag &tag, size_t bytes) {
    return open_ && (sends_.empty() || !sends_.contains(tag)) && MayGo(bytes);
  }
  // Of a message that went: its last byte is on its way.
  void Sent(const MessageTag &tag);
  absl::StatusOr<std::optional<Going>> TakeGrant(const Control &grant);
  absl::Status TakeCredit(size_t bytes);
  size_t sends() const { return sending_; }  // not yet Sent

 protected:
  // Gives back what waits, in the order of the tags.
  void ClearSends(std::vector<O> *sends);

 private:
  struct Outgoing {
    enum State {
      kWaits,
      kGone,
      kGrantedAhead
    } state = kWaits;
    size_t bytes = 0;
    uint64_t note = 0;      // kGrantedAhead
    std::optional<O> item;  // kWaits
  };
  bool MayGo(size_t bytes);

  MessageLimits theirs_;  // room: what is left
  size_t all_room_ = 0;   // of theirs
  bool open_ = false;
  absl::flat_hash_map<MessageTag, Outgoing> sends_;
  size_t sending_ = 0;  // of them, what is not only known of
};

template <typename O>
bool MessageSends<O>::MayGo(size_t bytes) {
  if (bytes > theirs_.eager || bytes + kMessageCost > theirs_.room) return false;
  theirs_.room -= bytes + kMessageCost;
  return true;
}

template <typename O>
void MessageSends<O>::Open(MessageLimits theirs, std::vector<Going> *going,
                           Controls *controls) {
  theirs_ = theirs;
  all_room_ = theirs.room;
  open_ = true;
  for (const MessageTag &tag : TagsInOrder(sends_)) {
    Outgoing &outgoing = sends_[tag];
    if (outgoing.state != Outgoing::kWaits) continue;
    if (MayGo(outgoing.bytes)) {
      outgoing.state = Outgoing::kGone;
      going->push_back({tag, *std::move(outgoing.item)});
    } else {
      controls->push_back({Control::kAnnounce, tag, outgoing.bytes});
    }
  }
}

template <typename O>
absl::StatusOr<std::optional<typename MessageSends<O>::Going>> MessageSends<O>::Send(
    const MessageTag &tag, size_t bytes, O item, Controls *controls, bool whole) {
  if (whole && SendWhole(tag, bytes))
    return Going{tag, std::move(item)};
  auto [it, is_new] = sends_.try_emplace(tag);
  Outgoing &outgoing = it->second;
  if (!is_new && outgoing.state != Outgoing::kGrantedAhead)
    return absl::AlreadyExistsError(
        absl::StrCat(Describe(tag), " is being sent already"));
  const size_t granted = outgoing.bytes;
  ++sending_;
  outgoing.bytes = bytes;
  outgoing.state = Outgoing::kGone;
  if (!is_new) {
    if (granted != bytes)
      return absl::InvalidArgumentError(WrongSize(tag, granted, bytes));
    return Going{tag, std::move(item), true, outgoing.note};
  }
  if (open_ && MayGo(bytes)) return Going{tag, std::move(item)};
  outgoing.state = Outgoing::kWaits;
  outgoing.item = std::move(item);
  if (open_) controls->push_back({Control::kAnnounce, tag, bytes});
  return std::nullopt;
}

template <typename O>
void MessageSends<O>::Sent(const MessageTag &tag) {
  sending_ -= sends_.erase(tag);
}

template <typename O>
absl::StatusOr<std::optional<typename MessageSends<O>::Going>>
MessageSends<O>::TakeGrant(const Control &grant) {
  auto [it, is_new] = sends_.try_emplace(grant.tag);
  Outgoing &outgoing = it->second;
  if (is_new) {  // the receive was posted first
    outgoing.state = Outgoing::kGrantedAhead;
    outgoing.bytes = grant.bytes;
    outgoing.note = grant.note;
    if (sends_.size() - sending_ > kMostAhead)
      return absl::InvalidArgumentError("got too many grants for messages that are not sent");
    return std::nullopt;
  }
  // A receive of another size may grant what went without: that comes first, as it says why.
  if (outgoing.bytes != grant.bytes)
    return absl::InvalidArgumentError(WrongSize(grant.tag, grant.bytes, outgoing.bytes));
  if (outgoing.state != Outgoing::kWaits)
    return absl::InvalidArgumentError(
        absl::StrCat("got a second grant for ", Describe(grant.tag)));
  outgoing.state = Outgoing::kGone;
  return Going{grant.tag, *std::move(outgoing.item), true, grant.note};
}

template <typename O>
absl::Status MessageSends<O>::TakeCredit(size_t bytes) {
  if (bytes > all_room_ - theirs_.room)
    return absl::InvalidArgumentError("got back more room than was used");
  theirs_.room += bytes;
  return absl::OkStatus();
}

template <typename O>
void MessageSends<O>::ClearSends(std::vector<O> *sends) {
  for (const MessageTag &tag : TagsInOrder(sends_))
    if (Outgoing &outgoing = sends_[tag]; outgoing.state == Outgoing::kWaits)
      sends->push_back(*std::move(outgoing.item));
  sends_.clear();
  sending_ = 0;
}

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_MESSAGE_SENDS_H
