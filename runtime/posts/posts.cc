// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/posts/posts.h"

#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plan/fnv1a.h"
#include "runtime/base/status_util.h"

namespace commsched::runtime {
namespace {

// Bytes that a link has in flight before what is urgent waits, where the transport does not
// let it overtake.
constexpr size_t kCredit = size_t{1} << 20;
constexpr uint64_t kMostElements = uint64_t{1} << 44;
constexpr uint32_t kData = 0, kSaid = 1;  // of a request's index

// The same on all machines.
uint32_t NumberOf(const std::string &key) {
  const uint64_t hash = fnv1a(key);
  return uint32_t(hash ^ (hash >> 32)) >> 1;
}

uint64_t Sum(const std::vector<uint64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// The error of a group as one of its posts: it names the key, if it does not yet.
absl::Status Of(absl::string_view kind, absl::string_view key, const absl::Status &status) {
  const std::string name = absl::StrCat("\"", key, "\"");
  if (absl::StrContains(status.message(), name)) return Unshared(status);
  return absl::Status(status.code(), absl::StrCat(kind, " ", name, ": ", status.message()));
}

bool OfTwo(Post::Kind kind) { return kind == Post::kSend || kind == Post::kReceive; }
bool Reduces(Post::Kind kind) {
  return kind == Post::kAllReduce || kind == Post::kReduceScatter;
}
bool HasRoot(Post::Kind kind) { return kind == Post::kBroadcast || OfTwo(kind); }

}  // namespace

const char *KindName(Post::Kind kind) {
  switch (kind) {
    case Post::kAllReduce:
      return "all_reduce";
    case Post::kReduceScatter:
      return "reduce_scatter";
    case Post::kAllGather:
      return "all_gather";
    case Post::kBroadcast:
      return "broadcast";
    case Post::kAllToAll:
      return "all_to_all";
    case Post::kSend:
      return "send";
    case Post::kReceive:
      return "receive";
    case Post::kBarrier:
      return "barrier";
  }
  return "nothing";
}

Posts::Posts(Place place, std::unique_ptr<Transport> transport,
             std::shared_ptr<PeerFailureRelay> failures, absl::Duration deadline)
    : place_(place), transport_(std::move(transport)), failures_(std::move(failures)) {
  engine_ = std::make_unique<ProgressEngine>(place.rank, transport_.get(), nullptr, nullptr,
                                             static_cast<ProgressEngine::Host *>(this),
                                             nullptr, deadline);
  if (failures_ != nullptr)
    failures_->Attach([this](int peer, const absl::Status &why) { engine_->PeerFailed(peer, why); });
}

Posts::~Posts() {
  if (failures_ != nullptr) failures_->Attach(nullptr);
  bool unfinished;
  {
    MutexLock lock(&mu_);
    while (telling_) changed_.Wait(&mu_);
    unfinished = status_.ok() && engine_->Communicating();
  }
  if (unfinished) Fail(absl::CancelledError("posted collectives are dropped"));
  if (transport_ != nullptr) transport_->Close();
  engine_.reset();
}

absl::Status Posts::Check(const Post &post) const {
  const auto unfit = [&post](auto... text) {
    return absl::InvalidArgumentError(
        absl::StrCat(KindName(post.kind), " \"", post.key, "\": ", text...));
  };
  if (post.key.empty()) return unfit("key must not be empty");
  if (post.count > kMostElements) return unfit("too many elements, got: ", post.count);
  if (Reduces(post.kind) && post.combine == ops::Combine::kReplace)
    return unfit("elements must be combined");
  if (post.mean && (!Reduces(post.kind) || post.combine != ops::Combine::kSum || !ops::IsFloat(post.element)))
    return unfit("a mean must be of floating-point elements, got: ", ops::ElementName(post.element));
  if (HasRoot(post.kind) && (post.peer < 0 || post.peer >= place_.size))
    return unfit("rank must be below size ", place_.size, ", got: ", post.peer);
  if (OfTwo(post.kind) && post.peer == place_.rank)
    return unfit("rank must be another one, got: ", post.peer);
  if (post.kind == Post::kAllToAll) {
    const size_t size = size_t(place_.size), own = size_t(place_.rank);
    if (post.send_counts.size() != size || post.receive_counts.size() != size)
      return unfit("must have numbers of elements for ", size, " ranks");
    for (const auto *counts : {&post.send_counts, &post.receive_counts})
      for (uint64_t count : *counts)
        if (count > kMostElements) return unfit("too many elements, got: ", count);
    if (post.send_counts[own] != post.receive_counts[own])
      return unfit("elements from this rank to itself must match, got: ", post.send_counts[own],
                   " sent, ", post.receive_counts[own], " received");
  }
  const uint64_t in = post.kind == Post::kAllToAll ? Sum(post.send_counts) : post.count;
  const uint64_t out = post.kind == Post::kAllToAll ? Sum(post.receive_counts) : post.count;
  const bool reads = post.kind != Post::kBarrier && post.kind != Post::kAllReduce &&
                     post.kind != Post::kBroadcast && post.kind != Post::kReceive;
  const bool writes = post.kind != Post::kBarrier && post.kind != Post::kSend;
  if ((reads && in != 0 && post.input == nullptr) || (writes && out != 0 && post.output == nullptr))
    return unfit("must have memory for its elements");
  return absl::OkStatus();
}

absl::Status Posts::Prepare(const Post &post, Active *active,
                            ProgressEngine::Request *request) const {
  const size_t size = size_t(place_.size), own = size_t(place_.rank);
  const size_t unit = ops::ElementBytes(post.element);
  const size_t bytes = post.count * unit;
  const int64_t elements = int64_t(post.count);
  const double scale = post.mean && size > 1 ? 1.0 / double(size) : 0.0;
  CommunicateProgram &c = active->data.communicate;
  c.element = post.element;
  const auto scratch = [&](size_t wanted) {
    auto memory = Memory::Allocate(std::max(wanted, size_t{1}));
    if (memory.ok()) active->scratch = *std::move(memory);
    return memory.status();
  };
  request->buffer = post.output;
  switch (post.kind) {
    case Post::kAllReduce:
      AddAllReduce(place_, post.combine, scale, elements, &c);
      if (post.input != nullptr && post.input != post.output) {
        request->input = post.input;
        c.input_bytes = bytes;
        c.input_is_all = true;
      }
      break;
    case Post::kReduceScatter:
      if (absl::Status s = scratch(bytes * size); !s.ok()) return s;
      AddReduceScatter(place_, post.combine, scale, elements, &c);
      request->buffer = active->scratch.data();
      request->input = post.input;
      c.input_bytes = bytes * size;
      c.input_is_all = true;
      request->output = post.output;
      c.output_at = bytes * own;
      c.output_bytes = bytes;
      break;
    case Post::kAllGather:
      AddAllGather(place_, elements, &c);
      if (post.input != post.output + bytes * own) {
        request->input = post.input;
        c.input_at = bytes * own;
        c.input_bytes = bytes;
      }
      break;
    case Post::kBroadcast:
      AddBroadcast(place_, post.peer, elements, &c);
      break;
    case Post::kAllToAll: {
      const auto before = [&](const std::vector<uint64_t> &counts) {
        return std::accumulate(counts.begin(), counts.begin() + place_.rank, uint64_t{0}) * unit;
      };
      const size_t in = Sum(post.send_counts) * unit, out = Sum(post.receive_counts) * unit;
      if (absl::Status s = scratch(in + out); !s.ok()) return s;
      AddAllToAll(place_, post.send_counts, post.receive_counts, &c);
      request->buffer = active->scratch.data();
      if (post.send_counts[own] != 0)
        std::memcpy(request->buffer + in + before(post.receive_counts),
                    post.input + before(post.send_counts), post.send_counts[own] * unit);
      request->input = post.input;
      c.input_bytes = in;
      request->output = post.output;
      c.output_at = in;
      c.output_bytes = out;
      break;
    }
    case Post::kSend:
    case Post::kReceive: {
      PhaseProgram phase;
      Round round;
      if (post.kind == Post::kSend) {
        round.send_peer = post.peer;
        round.send_bytes = bytes;
        request->buffer = const_cast<std::byte *>(post.input);  // which is only read
      } else {
        round.recv_peer = post.peer;
        round.recv_bytes = bytes;
      }
      phase.rounds.push_back(round);
      c.phases.push_back(std::move(phase));
      break;
    }
    case Post::kBarrier:
      AddBarrier(place_, &c);
      break;
  }
  for (PhaseProgram &phase : c.phases) phase.priority = post.priority;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Posts::Begin(const Post &post) {
  if (absl::Status s = Check(post); !s.ok()) return s;
  auto owned = std::make_unique<Active>();
  Active *active = owned.get();
  ProgressEngine::Request data;
  if (absl::Status s = Prepare(post, active, &data); !s.ok()) return s;
  const uint32_t number = NumberOf(post.key);
  const bool says = place_.size > 1 && !OfTwo(post.kind);
  // Messages of posts that differ do not meet, so that what is said tells of it first.
  std::string data_name = post.key;
  if (says) {
    const bool even = post.kind == Post::kAllToAll || post.kind == Post::kBarrier;
    active->saids[0] = {uint32_t(post.kind), even && post.kind == Post::kBarrier ? 0 : uint32_t(post.element),
                        Reduces(post.kind) ? uint32_t(post.combine) + (post.mean ? 16 : 0) : 0,
                        HasRoot(post.kind) ? post.peer : 0, even ? 0 : post.count};
    absl::StrAppend(&data_name, ": ", Describe(active->saids[0]));
  }
  const uint32_t data_number = NumberOf(data_name);
  for (InstructionProgram *i : {&active->data, &active->said}) {
    i->kind = InstructionProgram::kCommunicate;
    i->communicate.source_op = KindName(post.kind);
    i->communicate.key = post.key;
    i->communicate.key_id = i == &active->said ? 2 * number + 1 : 2 * data_number;
  }
  data.instruction = &active->data;
  data.index = kData;
  data.credit = transport_ == nullptr || transport_->overtakes() ? 0 : kCredit;
  data.cookie = active;
  ProgressEngine::Request said;
  if (says) {
    active->left = 2;
    PhaseProgram phase;
    phase.priority = std::numeric_limits<int32_t>::min();
    phase.rounds = {{(place_.rank + 1) % place_.size, (place_.rank + place_.size - 1) % place_.size, 0,
                     sizeof(Said), sizeof(Said), sizeof(Said)}};
    active->said.communicate.element = ops::Element::kI8;
    active->said.communicate.phases.push_back(std::move(phase));
    said = data;
    said.instruction = &active->said;
    said.index = kSaid;
    said.buffer = reinterpret_cast<std::byte *>(active->saids.data());
  }
  uint64_t handle;
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return Of(KindName(post.kind), post.key, status_);
    for (const auto &[of, name] : {std::pair(data_number, data_name), std::pair(number, post.key)}) {
      Key &key = keys_[of];
      if (key.name.empty()) key.name = name;
      if (key.name != name)
        return absl::InvalidArgumentError(absl::StrCat(
            KindName(post.kind), " \"", post.key, "\": key must be another one, as \"", key.name,
            "\" has the same number ", of));
    }
    data.call = said.call = keys_[number].posts++;
    handle = next_++;
    active_.emplace(handle, std::move(owned));
  }
  if (says) engine_->Start(said);
  engine_->Start(data);
  return handle;
}

absl::StatusOr<bool> Posts::Wait(uint64_t number, absl::Duration patience) {
  auto done = WaitAny({number}, patience);
  if (!done.ok()) return done.status();
  return done->has_value();
}

absl::StatusOr<std::optional<size_t>> Posts::WaitAny(absl::Span<const uint64_t> numbers,
                                                     absl::Duration patience) {
  if (numbers.empty()) return absl::InvalidArgumentError("posts to wait for must be one or more, got: none");
  const Clock::time_point until = After(patience);
  std::unique_ptr<Active> done;  // its memory goes without the lock
  MutexLock lock(&mu_);
  bool late = false;
  while (true) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      auto it = active_.find(numbers[i]);
      if (it == active_.end())
        return absl::FailedPreconditionError(absl::StrCat("no such post is under way, got: ", numbers[i]));
      if (it->second->left != 0) continue;
      done = std::move(it->second);
      active_.erase(it);
      return i;
    }
    // The engine may still have them: they stay.
    if (!status_.ok()) {
      const CommunicateProgram &c = active_.at(numbers[0])->data.communicate;
      return Of(c.source_op, c.key, status_);
    }
    if (late) return std::nullopt;
    late = changed_.WaitUntil(&mu_, until) && Clock::now() >= until;
  }
}

void Posts::CommunicationDone(void *cookie, uint32_t instruction) {
  Active *active = static_cast<Active *>(cookie);
  const auto &[own, theirs] = active->saids;
  if (instruction == kSaid && !(own == theirs)) {
    const CommunicateProgram &c = active->said.communicate;
    return Fail(absl::InvalidArgumentError(absl::StrCat(
        c.source_op, " \"", c.key, "\": must be the same on all ranks, got: ", Describe(theirs),
        " on peer ", (place_.rank + place_.size - 1) % place_.size, ", ", Describe(own), " on rank ",
        place_.rank)));
  }
  MutexLock lock(&mu_);
  if (--active->left == 0) changed_.SignalAll();
}

void Posts::CommunicationFailed(const absl::Status &why) { Fail(why); }

void Posts::Fail(const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return;
    status_ = Unshared(why);
    telling_ = true;
    changed_.SignalAll();
  }
  if (transport_ != nullptr) transport_->Abort(why);
  MutexLock lock(&mu_);
  telling_ = false;
  changed_.SignalAll();
}

std::string Posts::Describe(const Said &said) const {
  if (said.kind > Post::kBarrier) return "what no rank of this version posts";
  const auto kind = Post::Kind(said.kind);
  std::string text = KindName(kind);
  if (kind == Post::kBarrier) return text;
  const uint32_t combine = said.combine;
  if (Reduces(kind))
    absl::StrAppend(&text, " (", combine >= 16 ? "mean" : combine == 1 ? "sum"
                                                      : combine == 2   ? "max"
                                                                       : "min",
                    ")");
  const bool known = said.element >= 1 && said.element <= uint32_t(ops::Element::kI1);
  const std::string element = known ? ops::ElementName(ops::Element(said.element)) : "?";
  if (kind == Post::kAllToAll) return absl::StrCat(text, " of ", element);
  absl::StrAppend(&text, " of ", said.count, " ", element);
  if (HasRoot(kind)) absl::StrAppend(&text, " from rank ", said.root);
  return text;
}

}  // namespace commsched::runtime
