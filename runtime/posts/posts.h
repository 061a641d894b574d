// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives that a rank posts at run time, without a plan: the progress engine runs them
// over a transport as it runs those of plans.
//
// A key names a collective. The n-th post under a key on one rank meets the n-th under it on
// the others, whatever else they post and in whichever order. What is posted under a key is
// compared with what the rank before posts, and another kind, type or size is an error.
//
// The first error (a peer that is lost, or differs, no progress within the deadline) ends all:
// every post that is not done fails with it, so does what is posted later, and the other ranks
// are told. It names the key and the peer.
#ifndef COMMSCHED_RUNTIME_POSTS_POSTS_H
#define COMMSCHED_RUNTIME_POSTS_POSTS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ops/base/element.h"
#include "runtime/base/memory.h"
#include "runtime/base/sync.h"
#include "runtime/execute/progress_engine.h"
#include "runtime/posts/rounds.h"
#include "runtime/transport/peer_failure_relay.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

struct Post {
  enum Kind {
    kAllReduce,      // `output` of `count`, from `input` if that is not null
    kReduceScatter,  // `input` of `count` for each rank, `output` of `count`
    kAllGather,      // `input` of `count`, `output` of `count` from each rank
    kBroadcast,      // `output` of `count`, from rank `peer`
    kAllToAll,       // `input` of send_counts, `output` of receive_counts
    kSend,           // `input` of `count`, to rank `peer`
    kReceive,        // `output` of `count`, from rank `peer`
    kBarrier         // nothing
  };
  std::string key;
  Kind kind = kAllReduce;
  ops::Element element = ops::Element::kF32;
  ops::Combine combine = ops::Combine::kSum;
  bool mean = false;     // of floating-point elements: the sum over the number of ranks
  int32_t priority = 0;  // smaller: more urgent
  int peer = 0;
  const std::byte *input = nullptr;
  std::byte *output = nullptr;
  uint64_t count = 0;                                 // elements
  std::vector<uint64_t> send_counts, receive_counts;  // by rank
};
const char *KindName(Post::Kind kind);  // "all_reduce"

// Thread-safe.
class Posts final : private ProgressEngine::Host {
 public:
  // `transport` has all other ranks as partners, and reports to `failures`; null for one rank.
  Posts(Place place, std::unique_ptr<Transport> transport,
        std::shared_ptr<PeerFailureRelay> failures, absl::Duration deadline);
  // What is not done is dropped. No memory of a caller is touched afterwards.
  ~Posts() override;

  // Begins, and does not wait. Input and output stay where they are, and are nobody else's,
  // until it is done; after an error, until this is destroyed. Gives its number, for Wait. Errors: kInvalidArgument for what makes no
  // sense, which spoils nothing; else the one that all has ended with.
  absl::StatusOr<uint64_t> Begin(const Post &post);
  // Whether it is done within `patience`; if so, or with an error, the number is forgotten.
  absl::StatusOr<bool> Wait(uint64_t number, absl::Duration patience);
  // The index of the first of these that is done, as soon as one is, whose number is forgotten;
  // none if none is within `patience`. No number may be waited for by two threads.
  absl::StatusOr<std::optional<size_t>> WaitAny(absl::Span<const uint64_t> numbers,
                                                absl::Duration patience);
  // Ends all with this error, here and on the other ranks.
  void Cancel(const absl::Status &why) { Fail(why); }

  const Place &place() const { return place_; }
  uint64_t bytes_sent() const { return transport_ == nullptr ? 0 : transport_->bytes_sent(); }

 private:
  // What two ranks must have alike.
  struct Said {
    uint32_t kind = 0, element = 0, combine = 0;
    int32_t root = 0;
    uint64_t count = 0;
    friend bool operator==(const Said &, const Said &) = default;
  };
  struct Active {
    InstructionProgram data, said;
    std::array<Said, 2> saids;  // own, and that of the rank before
    Memory scratch;
    uint32_t left = 1;  // of data and said
  };

  void CommunicationDone(void *cookie, uint32_t instruction) override;
  void CommunicationFailed(const absl::Status &why) override;
  bool Computing() const override { return false; }

  absl::Status Check(const Post &post) const;
  absl::Status Prepare(const Post &post, Active *active, ProgressEngine::Request *request) const;
  void Fail(const absl::Status &why);
  std::string Describe(const Said &said) const;

  const Place place_;
  const std::unique_ptr<Transport> transport_;
  const std::shared_ptr<PeerFailureRelay> failures_;

  Mutex mu_;
  CondVar changed_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  bool telling_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  struct Key {
    std::string name;
    uint64_t posts = 0;
  };
  absl::flat_hash_map<uint32_t, Key> keys_ ABSL_GUARDED_BY(mu_);  // by what tags have of it
  absl::flat_hash_map<uint64_t, std::unique_ptr<Active>> active_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<ProgressEngine> engine_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_POSTS_POSTS_H
