// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One end of the connection between two ranks: matches messages with receives by
// tag, and says which messages may go.
//
// A message of at most the receiver's `eager` bytes may go before its receive is
// posted, if the receiver has room for it: its bytes and kMessageCost, which the
// receiver gives back (kCredit, for several at once) when the receive is there. All
// others are announced, and wait for a grant. The receiver gives it when the receive is
// posted: of its own accord if that is longer than `eager`, else if the message was
// announced. So a receiver keeps no more than its room, and no message holds up
// another.
//
// What it returns is to be sent to the other end in the order in which it is
// returned, and arrives there in that order; messages may come at any time between.
// An error is a breach of these rules by the other end, but kAlreadyExists: then the
// caller uses a tag twice.
//
// O, I and K are movable: what the caller knows of a message to be sent, of a
// receive, and what it keeps of a message without a receive.
#ifndef COMMSCHED_RUNTIME_CORE_MATCHER_H
#define COMMSCHED_RUNTIME_CORE_MATCHER_H

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

template <typename O, typename I, typename K>
class Matcher {
 public:
  explicit Matcher(MessageLimits own) : own_(own) {}

  // --- Sending
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
  // Of a message that went: its last byte is on its way.
  void Sent(const MessageTag &tag);
  absl::StatusOr<std::optional<Going>> TakeGrant(const Control &grant);
  absl::Status TakeCredit(size_t bytes);

  // --- Receiving
  // What is there when a receive is posted.
  struct Here {
    std::optional<K> kept;  // of the message, as far as it has come
    bool whole = false;     // then the receive is not kept: it is at its end
  };
  // kAlreadyExists: there is such a receive.
  absl::StatusOr<Here> Receive(const MessageTag &tag, size_t bytes, I item,
                               Controls *controls);
  // Where bytes `offset` .. `offset + size` of a message of `total` bytes go: to its
  // receive, or to what is kept of it. In order of offsets. The pointers are valid
  // until the next call.
  struct Place {
    I *receive = nullptr;
    K *kept = nullptr;
    bool last = false;  // of a receive: End is to be called
  };
  absl::StatusOr<Place> Take(const MessageTag &tag, size_t total, size_t offset, size_t size,
                             Controls *controls);
  // Ends a receive, and gives it back.
  I End(const MessageTag &tag);
  // All of a message at once: Take, and End if there is its receive.
  absl::StatusOr<std::optional<I>> TakeWhole(const MessageTag &tag, size_t total,
                                             Controls *controls);
  // The receive of the tag, if there is one; valid until the next call.
  I *Posted(const MessageTag &tag);
  absl::Status TakeAnnounce(const MessageTag &tag, size_t bytes, Controls *controls);

  // The connection is over: gives back what waits, in the order of the tags. What is
  // kept of messages that have come whole stays for later receives, if `keep`.
  void Clear(bool keep, std::vector<O> *sends, std::vector<I> *receives);

  // After that: a message that had come whole, if there is one with this tag.
  absl::StatusOr<std::optional<K>> TakeLeft(const MessageTag &tag, size_t bytes);

  bool idle() const { return sending_ == 0 && posted_ == 0; }
  size_t sends() const { return sending_; }  // not yet Sent

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
  struct Incoming {
    enum State {
      kPosted,
      kKept,
      kAnnounced
    } state = kPosted;
    size_t bytes = 0, taken = 0;
    bool granted = false;   // kPosted
    std::optional<I> item;  // the same
    K kept{};               // kKept
  };
  bool MayGo(size_t bytes);
  void GiveRoom(size_t bytes, Controls *controls);
  // Of a message that was not granted.
  absl::Status UseRoom(const MessageTag &tag, size_t total, bool posted, Controls *controls);
  // Errors, of what the other end has done.
  static absl::Status Twice(const MessageTag &tag) {
    return absl::DataLossError(absl::StrCat("got ", Describe(tag), " twice"));
  }

  const MessageLimits own_;
  MessageLimits theirs_;  // room: what is left
  size_t all_room_ = 0;   // of theirs
  bool open_ = false;
  absl::flat_hash_map<MessageTag, Outgoing> sends_;
  absl::flat_hash_map<MessageTag, Incoming> receives_;
  size_t sending_ = 0, posted_ = 0;  // of them, what is not only known of
  size_t announced_ = 0;             // that wait for their receives
  size_t used_ = 0;                  // of the own room
  size_t to_return_ = 0;             // that the other end has not been told of; part of used_
};

// --- Sending ------------------------------------------------------------------

template <typename O, typename I, typename K>
bool Matcher<O, I, K>::MayGo(size_t bytes) {
  if (bytes > theirs_.eager || bytes + kMessageCost > theirs_.room) return false;
  theirs_.room -= bytes + kMessageCost;
  return true;
}

template <typename O, typename I, typename K>
void Matcher<O, I, K>::Open(MessageLimits theirs, std::vector<Going> *going,
                            Controls *controls) {
  theirs_ = theirs;
  all_room_ = theirs.room;
  open_ = true;
  std::vector<MessageTag> tags;
  for (const auto &[tag, outgoing] : sends_)
    if (outgoing.state == Outgoing::kWaits) tags.push_back(tag);
  std::sort(tags.begin(), tags.end());
  for (const MessageTag &tag : tags) {
    Outgoing &outgoing = sends_[tag];
    if (MayGo(outgoing.bytes)) {
      outgoing.state = Outgoing::kGone;
      going->push_back({tag, *std::move(outgoing.item)});
    } else {
      controls->push_back({Control::kAnnounce, tag, outgoing.bytes});
    }
  }
}

template <typename O, typename I, typename K>
absl::StatusOr<std::optional<typename Matcher<O, I, K>::Going>> Matcher<O, I, K>::Send(
    const MessageTag &tag, size_t bytes, O item, Controls *controls, bool whole) {
  if (whole && open_ && (sends_.empty() || !sends_.contains(tag)) && MayGo(bytes))
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

template <typename O, typename I, typename K>
void Matcher<O, I, K>::Sent(const MessageTag &tag) {
  sending_ -= sends_.erase(tag);
}

template <typename O, typename I, typename K>
absl::StatusOr<std::optional<typename Matcher<O, I, K>::Going>>
Matcher<O, I, K>::TakeGrant(const Control &grant) {
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
  if (outgoing.state != Outgoing::kWaits)
    return absl::InvalidArgumentError(
        absl::StrCat("got a second grant for ", Describe(grant.tag)));
  if (outgoing.bytes != grant.bytes)
    return absl::InvalidArgumentError(WrongSize(grant.tag, grant.bytes, outgoing.bytes));
  outgoing.state = Outgoing::kGone;
  return Going{grant.tag, *std::move(outgoing.item), true, grant.note};
}

template <typename O, typename I, typename K>
absl::Status Matcher<O, I, K>::TakeCredit(size_t bytes) {
  if (bytes > all_room_ - theirs_.room)
    return absl::InvalidArgumentError("got back more room than was used");
  theirs_.room += bytes;
  return absl::OkStatus();
}

// --- Receiving ----------------------------------------------------------------

// Told when it is a quarter, so that the other end seldom has to announce.
template <typename O, typename I, typename K>
void Matcher<O, I, K>::GiveRoom(size_t bytes, Controls *controls) {
  to_return_ += bytes;
  if (to_return_ < own_.room / 4) return;
  controls->push_back({Control::kCredit, {}, to_return_});
  used_ -= to_return_;
  to_return_ = 0;
}

template <typename O, typename I, typename K>
absl::Status Matcher<O, I, K>::UseRoom(const MessageTag &tag, size_t total, bool posted,
                                       Controls *controls) {
  if (total > own_.eager || used_ + total + kMessageCost > own_.room)
    return absl::DataLossError(
        absl::StrCat("got ", Describe(tag), " of ", total,
                     " bytes, which exceeds what may be sent before the receive is posted"));
  used_ += total + kMessageCost;
  if (posted) GiveRoom(total + kMessageCost, controls);
  return absl::OkStatus();
}

template <typename O, typename I, typename K>
absl::StatusOr<typename Matcher<O, I, K>::Here> Matcher<O, I, K>::Receive(
    const MessageTag &tag, size_t bytes, I item, Controls *controls) {
  auto [it, is_new] = receives_.try_emplace(tag);
  Incoming &incoming = it->second;
  const auto post = [&](bool grant) {
    incoming.state = Incoming::kPosted;
    incoming.bytes = bytes;
    incoming.granted = grant;
    incoming.item = std::move(item);
    ++posted_;
    if (grant) controls->push_back({Control::kGrant, tag, bytes});
  };
  if (is_new) {
    post(bytes > own_.eager);
    return Here{};
  }
  if (incoming.state == Incoming::kPosted)
    return absl::AlreadyExistsError(
        absl::StrCat(Describe(tag), " is being received already"));
  Here here;
  const size_t size = incoming.bytes;
  const bool announced = incoming.state == Incoming::kAnnounced;
  if (incoming.state == Incoming::kKept) {
    here.kept = std::move(incoming.kept);
    here.whole = incoming.taken == size;
    GiveRoom(size + kMessageCost, controls);
  }
  announced_ -= announced;
  if (here.whole || size != bytes) receives_.erase(it);
  if (size != bytes) return absl::InvalidArgumentError(WrongSize(tag, bytes, size));
  if (!here.whole) post(/*grant=*/announced);
  return here;
}

template <typename O, typename I, typename K>
absl::StatusOr<typename Matcher<O, I, K>::Place> Matcher<O, I, K>::Take(
    const MessageTag &tag, size_t total, size_t offset, size_t size, Controls *controls) {
  auto [it, is_new] = receives_.try_emplace(tag);
  Incoming &incoming = it->second;
  const bool posted = !is_new && incoming.state == Incoming::kPosted;
  const bool begins = !posted && (is_new || incoming.state == Incoming::kAnnounced);
  if (begins && (offset != 0 || !is_new)) {
    if (is_new) receives_.erase(it);
    return absl::DataLossError(
        is_new ? absl::StrCat("got a part of ", Describe(tag),
                              ", of which the first one is missing")
               : absl::StrCat("got ", Describe(tag), ", which was to wait for a grant"));
  }
  if (!begins && incoming.bytes != total)
    return absl::InvalidArgumentError(WrongSize(tag, incoming.bytes, total));
  if (incoming.state == Incoming::kKept && incoming.taken == total && !begins)
    return Twice(tag);
  if (offset != incoming.taken || size > total - offset)
    return absl::DataLossError(absl::StrCat("got bytes ", offset, " to ", offset + size,
                                            " of ", Describe(tag), " where byte ",
                                            incoming.taken, " of ", total, " is next"));
  // What came before its receive, in part, has given its room back.
  if (begins || (posted && offset == 0 && !incoming.granted))
    if (absl::Status s = UseRoom(tag, total, posted, controls); !s.ok()) {
      if (begins) receives_.erase(it);
      return s;
    }
  if (begins) {
    incoming.state = Incoming::kKept;
    incoming.bytes = total;
  }
  incoming.taken += size;
  if (!posted) return Place{nullptr, &incoming.kept, false};
  return Place{&*incoming.item, nullptr, incoming.taken == total};
}

template <typename O, typename I, typename K>
I Matcher<O, I, K>::End(const MessageTag &tag) {
  auto it = receives_.find(tag);
  I item = *std::move(it->second.item);
  receives_.erase(it);
  --posted_;
  return item;
}

template <typename O, typename I, typename K>
absl::StatusOr<std::optional<I>> Matcher<O, I, K>::TakeWhole(const MessageTag &tag,
                                                             size_t total,
                                                             Controls *controls) {
  auto it = receives_.find(tag);
  if (it == receives_.end() || it->second.state != Incoming::kPosted ||
      it->second.bytes != total || it->second.taken != 0) {
    absl::StatusOr<Place> place = Take(tag, total, 0, total, controls);
    if (!place.ok()) return place.status();
    return std::nullopt;
  }
  if (!it->second.granted)
    if (absl::Status s = UseRoom(tag, total, /*posted=*/true, controls); !s.ok()) return s;
  I item = *std::move(it->second.item);
  receives_.erase(it);
  --posted_;
  return item;
}

template <typename O, typename I, typename K>
I *Matcher<O, I, K>::Posted(const MessageTag &tag) {
  auto it = receives_.find(tag);
  if (it == receives_.end() || it->second.state != Incoming::kPosted) return nullptr;
  return &*it->second.item;
}

template <typename O, typename I, typename K>
absl::Status Matcher<O, I, K>::TakeAnnounce(const MessageTag &tag, size_t bytes,
                                            Controls *controls) {
  auto [it, is_new] = receives_.try_emplace(tag);
  Incoming &incoming = it->second;
  if (is_new) {
    incoming.state = Incoming::kAnnounced;
    incoming.bytes = bytes;
    if (++announced_ > kMostAhead)
      return absl::InvalidArgumentError("got too many messages announced");
    return absl::OkStatus();
  }
  if (incoming.state != Incoming::kPosted || incoming.taken != 0) return Twice(tag);
  if (incoming.bytes != bytes)
    return absl::InvalidArgumentError(WrongSize(tag, incoming.bytes, bytes));
  if (incoming.granted)
    // The grant of a long receive and the announcement have crossed.
    return bytes > own_.eager ? absl::OkStatus() : Twice(tag);
  incoming.granted = true;
  controls->push_back({Control::kGrant, tag, bytes});
  return absl::OkStatus();
}

// --- The end ------------------------------------------------------------------

template <typename O, typename I, typename K>
void Matcher<O, I, K>::Clear(bool keep, std::vector<O> *sends, std::vector<I> *receives) {
  const auto in_order = [](auto &map, auto take) {
    std::vector<MessageTag> tags;
    for (const auto &[tag, value] : map) tags.push_back(tag);
    std::sort(tags.begin(), tags.end());
    for (const MessageTag &tag : tags) take(map[tag]);
  };
  in_order(sends_, [&](Outgoing &outgoing) {
    if (outgoing.state == Outgoing::kWaits) sends->push_back(*std::move(outgoing.item));
  });
  in_order(receives_, [&](Incoming &incoming) {
    if (incoming.state == Incoming::kPosted) receives->push_back(*std::move(incoming.item));
  });
  sends_.clear();
  absl::erase_if(receives_, [&](const auto &entry) {
    const Incoming &incoming = entry.second;
    return !keep || incoming.state != Incoming::kKept || incoming.taken < incoming.bytes;
  });
  sending_ = posted_ = announced_ = 0;
}

template <typename O, typename I, typename K>
absl::StatusOr<std::optional<K>> Matcher<O, I, K>::TakeLeft(const MessageTag &tag,
                                                            size_t bytes) {
  auto it = receives_.find(tag);
  if (it == receives_.end()) return std::nullopt;
  const size_t total = it->second.bytes;
  std::optional<K> kept = std::move(it->second.kept);
  receives_.erase(it);
  if (total != bytes) return absl::InvalidArgumentError(WrongSize(tag, bytes, total));
  return kept;
}

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_MATCHER_H
