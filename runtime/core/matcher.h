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
#include "runtime/core/message_sends.h"
#include "runtime/core/message_tag.h"

namespace commsched::runtime::core {

template <typename O, typename I, typename K>
class Matcher : public MessageSends<O> {
 public:
  explicit Matcher(MessageLimits own) : own_(own) {}

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
  // All of a message at once, if there is its receive, which ends; else nothing happens.
  std::optional<I> TakePosted(const MessageTag &tag, size_t total, Controls *controls);
  // Of a message that has no receive, and whose room may be used: it is taken as if it had one.
  bool TakeUnposted(const MessageTag &tag, size_t total, Controls *controls) {
    return (receives_.empty() || !receives_.contains(tag)) &&
           UseRoom(tag, total, /*posted=*/true, controls).ok();
  }
  // As TakePosted, or Take.
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

  bool idle() const { return this->sends() == 0 && posted_ == 0; }

 private:
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
  void GiveRoom(size_t bytes, Controls *controls);
  // Of a message that was not granted.
  absl::Status UseRoom(const MessageTag &tag, size_t total, bool posted, Controls *controls);
  // Errors, of what the other end has done.
  static absl::Status Twice(const MessageTag &tag) {
    return absl::DataLossError(absl::StrCat("got ", Describe(tag), " twice"));
  }

  const MessageLimits own_;
  absl::flat_hash_map<MessageTag, Incoming> receives_;
  size_t posted_ = 0;     // of them, what is not only known of
  size_t announced_ = 0;  // that wait for their receives
  size_t used_ = 0;       // of the own room
  size_t to_return_ = 0;  // that the other end has not been told of; part of used_
};

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
std::optional<I> Matcher<O, I, K>::TakePosted(const MessageTag &tag, size_t total,
                                              Controls *controls) {
  auto it = receives_.find(tag);
  if (it == receives_.end() || it->second.state != Incoming::kPosted ||
      it->second.bytes != total || it->second.taken != 0)
    return std::nullopt;
  if (!it->second.granted && !UseRoom(tag, total, /*posted=*/true, controls).ok())
    return std::nullopt;
  I item = *std::move(it->second.item);
  receives_.erase(it);
  --posted_;
  return item;
}

template <typename O, typename I, typename K>
absl::StatusOr<std::optional<I>> Matcher<O, I, K>::TakeWhole(const MessageTag &tag,
                                                             size_t total,
                                                             Controls *controls) {
  if (std::optional<I> item = TakePosted(tag, total, controls)) return item;
  absl::StatusOr<Place> place = Take(tag, total, 0, total, controls);
  if (!place.ok()) return place.status();
  return std::nullopt;
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
  this->ClearSends(sends);
  for (const MessageTag &tag : TagsInOrder(receives_))
    if (Incoming &incoming = receives_[tag]; incoming.state == Incoming::kPosted)
      receives->push_back(*std::move(incoming.item));
  absl::erase_if(receives_, [&](const auto &entry) {
    const Incoming &incoming = entry.second;
    return !keep || incoming.state != Incoming::kKept || incoming.taken < incoming.bytes;
  });
  posted_ = announced_ = 0;
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
