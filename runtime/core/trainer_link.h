// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a trainer has with one parameter server, over connections that break: pushes
// that are kept until they are safe, pulls that wait for their answers, and when the
// server is dialled again.
//
// A push is kept until the server has taken it, or, of a server that keeps checkpoints,
// until one has it. A server that comes back says what it has taken: the rest is sent
// again, and all pulls that wait. One that comes back with less than was safe has lost
// updates: that is an error.
//
// What is to be put into the connection goes there in the order in which it is
// returned.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_TRAINER_LINK_H
#define COMMSCHED_RUNTIME_CORE_TRAINER_LINK_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/shared_bytes.h"
#include "runtime/base/time.h"

namespace commsched::runtime::core {

class TrainerLink {
 public:
  // Time between a connection's end and the next attempt.
  static constexpr Time kRedial = 100'000'000;

  struct Message {
    enum Kind {
      kPush,
      kPull,
      kPullRows,
      kFinish
    };
    Kind kind = kPush;
    uint64_t step = 0;  // or version, or of kFinish: the steps
    uint32_t block = 0;
    uint64_t request = 0;  // kPullRows: its number
    SharedBytes payload;   // kPush
  };
  struct Welcome {
    uint64_t steps = 0;           // that the server has behind it
    std::vector<uint64_t> taken;  // by block, of this trainer
    bool keeps_checkpoints = false;
  };

  // The server is away from `now` on.
  TrainerLink(int trainer, Time deadline, Time now)
      : trainer_(trainer), deadline_(deadline), away_since_(now), next_dial_(now) {}

  // --- The connection
  enum class Due {
    kNothing,
    kDial,
    kLate
  };
  // What is to be done now, and when to ask again if nothing happens before. kDial: a
  // connection is tried, of which Gone or Join follows. kLate: it is not there, and the
  // time in which it had to be is over.
  Due Tick(Time now, Time *next);
  // The first thing that the server says over a connection: what is to be sent.
  absl::StatusOr<std::vector<Message>> Join(const Welcome &welcome);
  void Gone(Time now);
  // Does not dial again.
  void Leave() { leaving_ = true; }

  bool joined() const { return joined_; }      // over the present connection
  bool welcomed() const { return welcomed_; }  // ever
  bool trying() const { return trying_; }      // there is a connection, or an attempt
  bool keeps_checkpoints() const { return keeps_checkpoints_; }
  size_t blocks() const { return safe_.size(); }
  uint64_t first_step() const { return first_step_; }

  // --- What the trainer does. If something is returned it is sent now, else later.
  // An error: it has been pushed, or is being pulled.
  absl::StatusOr<std::optional<Message>> Push(uint32_t block, uint64_t step,
                                              SharedBytes payload);
  absl::StatusOr<std::optional<Message>> Pull(uint32_t block, uint64_t version);
  // With the number of the request.
  std::pair<uint64_t, std::optional<Message>> PullRows(uint32_t block, uint64_t version);
  std::optional<Message> Finish(uint64_t steps);

  // --- What the server says.
  absl::Status Taken(uint32_t block, uint64_t step);
  absl::Status Safe(const std::vector<uint64_t> &next);  // by block
  // The last part of an answer: nothing waits for it any more.
  void Pulled(uint32_t block, uint64_t version) { pulls_.erase({version, block}); }
  void PulledRows(uint64_t request) { row_pulls_.erase(request); }
  void Finished() { finished_ = true; }

  bool finishing() const { return finish_.has_value(); }
  bool finished() const { return finished_; }

  // Gives back what is kept.
  std::vector<SharedBytes> Clear();

 private:
  using Key = std::pair<uint64_t, uint32_t>;  // step or version, block

  // Pushes of `block` of steps before `next` are not needed any more.
  void LetGo(uint32_t block, uint64_t next);

  const int trainer_;
  const Time deadline_;
  Time away_since_, next_dial_;
  bool trying_ = false, joined_ = false, welcomed_ = false, leaving_ = false;
  bool keeps_checkpoints_ = false;
  uint64_t first_step_ = 0;
  absl::btree_map<Key, SharedBytes> pushes_;
  std::vector<uint64_t> safe_;  // by block: what has been let go of
  absl::btree_set<Key> pulls_;
  absl::btree_map<uint64_t, Key> row_pulls_;  // by the number of the request
  uint64_t next_request_ = 0;
  std::optional<uint64_t> finish_;
  bool finished_ = false;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_TRAINER_LINK_H
