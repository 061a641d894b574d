// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trainers of one parameter server, as its service knows them: who is there over
// which connection, what of theirs is taken, and what is safe in a checkpoint.
//
// A trainer is one process, known by its session. Its connection may break and be made
// again; who is away for longer than the grace is lost. One that has finished may go
// when it has been told that this is safe.
//
// Connections have names of the driver's, which are not 0 and not used again. What is
// to be said over one goes there in the order in which it is returned.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_TRAINERS_H
#define COMMSCHED_RUNTIME_CORE_TRAINERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/time.h"

namespace commsched::runtime::core {

class Trainers {
 public:
  using Connection = uint64_t;
  // The digest of who comes only to say why it cannot take part, or of a job without any.
  static constexpr uint64_t kAnyRun = 0;
  // The code of MayJoin for one that trains with other data than who joined first, and of nothing else: on the
  // wire too, where the reason may be left out.
  static constexpr absl::StatusCode kOtherRun = absl::StatusCode::kAlreadyExists;

  struct Options {
    int trainers = 1;
    size_t blocks = 0;
    bool keeps_checkpoints = false;
    Time grace = 0;          // for coming back
    Time join_deadline = 0;  // since `start`
    // CheckTimes is called about so often. What lies between two calls counts for no
    // more than twice that: while this process is stopped nobody can come back.
    Time tick = 0;
  };
  struct Saying {
    enum Kind {
      kTaken,  // block, step
      kSafe,   // next
      kFinished,
      kEnd,  // the connection ends in good order
      kDrop  // it is dropped
    };
    Connection to = 0;
    Kind kind = kTaken;
    uint32_t block = 0;
    uint64_t step = 0;
    std::vector<uint64_t> next;
  };
  using Sayings = std::vector<Saying>;

  // `cut`: of the server's next checkpoint.
  Trainers(const Options &options, uint64_t cut, Time start);
  // Of one whose state was restored: by block, what is taken.
  void Restore(int trainer, std::vector<uint64_t> next, bool finished);

  // --- Who is there
  // Whether the process may join: before the server is asked, and behind that.
  absl::Status MayJoin(int trainer, uint64_t session, uint64_t run_digest) const;
  // It has. What is taken of it, and whether it has finished, is to be said first.
  void Join(int trainer, uint64_t session, uint64_t run_digest, Connection connection,
            Sayings *sayings);
  const std::vector<uint64_t> &taken(int trainer) const { return of(trainer).next; }
  bool finished(int trainer) const { return of(trainer).finished; }
  Connection connection(int trainer) const { return of(trainer).connection; }
  void Closed(Connection connection, Time now);
  // Says goodbye. kAborted: before it had finished.
  absl::Status Goodbye(int trainer, Sayings *sayings);
  // It is lost or has aborted, and hears no more.
  void Lost(int trainer);
  struct Late {
    int trainer = -1;  // -1: nobody is
    bool never_came = false;
    std::vector<int> missing;  // likewise: all who did not
  };
  // Who is away for too long. One that has finished has gone, unless it comes back.
  Late CheckTimes(Time now);

  // --- What they do
  void PushBegins(int trainer) { ++trainers_[size_t(trainer)].under_way; }
  // The server has taken it, or has not. Returns whether WantsSave may have changed.
  bool Taken(int trainer, uint32_t block, uint64_t step, bool ok, Sayings *sayings);
  void Finish(int trainer, Sayings *sayings);

  // --- Checkpoints
  // Whether one is to be saved now: a trainer wants it, or (`reached`) is at the cut,
  // where the server, if it has not `ended`, waits for the others.
  bool WantsSave(bool ended, bool *reached) const;
  // What is taken now is in the checkpoint that is saved now. One at a time.
  void BeginSave();
  void EndSave(uint64_t cut, Sayings *sayings);
  // For those who wait for a checkpoint that is being saved: it takes its time. It says that nothing
  // else is safe.
  void Sign(Sayings *sayings) const;

  // --- The end
  // The server has failed: the trainers with a connection, who are to be told.
  std::vector<Connection> Fail();
  // One that joins behind that.
  void Tell(int trainer, Connection connection);
  // Nobody has to be waited for: all have gone, or have been told of the failure.
  bool IsOver(bool failed) const;

 private:
  struct Trainer {
    Connection connection = 0;
    uint64_t session = 0;
    bool joined = false, finished = false;
    bool gone = false;           // in good order, or it has finished and is away
    bool left = false;           // it has said goodbye
    bool told = false;           // of the end
    bool wants_answer = false;   // to Finish
    int under_way = 0;           // pushes given to the server, not taken yet
    Time away_since = 0;         // joined, without a connection
    std::vector<uint64_t> next;  // by block, of what is taken
  };
  // The time that has passed for this process, at `now`.
  Time Present(Time now) const;
  const Trainer &of(int trainer) const { return trainers_[size_t(trainer)]; }
  bool IsCutReached(const Trainer &trainer) const;
  void AnswerFinish(Trainer *trainer, Sayings *sayings);

  const Options options_;
  Time present_ = 0, looked_;  // at the last look
  std::vector<Trainer> trainers_;
  std::optional<uint64_t> run_digest_;  // of who joined first
  uint64_t cut_;
  bool save_wanted_ = false;
  // Of the checkpoint that is being saved: by trainer.
  std::vector<std::vector<uint64_t>> safe_;
  std::vector<bool> answer_;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_TRAINERS_H
