// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cs-run --spawn makes of the errors of its ranks.
#include "tools/cs-run/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace commsched::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> kAddresses = {"unix:/tmp/x/0", "unix:/tmp/x/1",
                                             "unix:/tmp/x/2", "unix:/tmp/x/3"};

std::string Peer(int rank) {
  return "peer " + std::to_string(rank) + " (" + kAddresses[size_t(rank)] + "): ";
}

Outcome Reports(int64_t time, absl::Status status) {
  Outcome outcome;
  outcome.report = std::move(status);
  outcome.reported = time;
  outcome.exit_status = 1;
  return outcome;
}

Outcome Dies(int signal) {
  Outcome outcome;
  outcome.signal = signal;
  return outcome;
}

Outcome EndedByUs(int64_t time) {
  Outcome outcome = Dies(SIGTERM);
  outcome.ended_by_us = time;
  return outcome;
}

Outcome Lost(int64_t time, int rank, int peer) {
  return Reports(time, absl::UnavailableError("rank " + std::to_string(rank) +
                                              ": all_reduce \"w\" of call " +
                                              std::to_string(time) + ": " + Peer(peer) +
                                              "connection lost"));
}

Outcome Told(int64_t time, int rank, int peer, const std::string &what) {
  return Reports(time, absl::AbortedError("rank " + std::to_string(rank) + ": " + Peer(peer) +
                                          "aborted: " + what));
}

TEST(CausesTest, NothingWentWrong) {
  EXPECT_THAT(Causes({Outcome(), Outcome()}, kAddresses), IsEmpty());
}

TEST(CausesTest, KilledRankIsTheCauseOfWhatTheOthersSay) {
  EXPECT_THAT(Causes({Lost(1, 0, 2), Lost(2, 1, 2), Dies(SIGKILL),
                      Told(3, 3, 0, "all_reduce \"w\" of call 1: " + Peer(2) + "connection lost")},
                     kAddresses),
              ElementsAre("rank 2 was killed by signal 9 (Killed)"));
}

TEST(CausesTest, WantOfMemoryIsSaidWithTheSignal) {
  Outcome killed = Dies(SIGKILL);
  killed.out_of_memory = true;
  const std::string why = "was killed by signal 9 (Killed): the memory of this host, or of its container, was used up";
  EXPECT_THAT(Causes({Lost(1, 0, 2), Lost(2, 1, 2), killed, Lost(3, 3, 2)}, kAddresses), ElementsAre("rank 2 " + why));
  killed.report = absl::ResourceExhaustedError("rank 2: out of memory");
  killed.reported = 1;
  EXPECT_THAT(Causes({Outcome(), Outcome(), killed, Outcome()}, kAddresses), ElementsAre("rank 2: out of memory; then it " + why));
}

TEST(CausesTest, ChainsLeadToTheirEnd) {
  // 3 heard of 1 only, which heard of 0, which heard of 2.
  const std::string why = "fragment \"f\": out of range";
  EXPECT_THAT(Causes({Told(2, 0, 2, why), Told(3, 1, 0, why),
                      Reports(1, absl::InternalError("rank 2: " + why)),
                      Reports(4, absl::FailedPreconditionError(
                                     "rank 3: " + Peer(1) +
                                     "has finished, but something is still wanted of it"))},
                     kAddresses),
              ElementsAre("rank 2: fragment \"f\": out of range"));
}

TEST(CausesTest, DifferentCausesAreAllShown) {
  EXPECT_THAT(Causes({Reports(9, absl::NotFoundError("a.npz: cannot be opened")), Lost(2, 1, 2),
                      Dies(SIGSEGV), Reports(1, absl::InternalError("rank 3: fragment \"f\": bad"))},
                     kAddresses),
              ElementsAre("rank 0: a.npz: cannot be opened", HasSubstr("rank 2 was killed by signal 11"),
                          "rank 3: fragment \"f\": bad"));
}

// What a rank finds in a message itself is no news of its peer.
TEST(CausesTest, BadMessageOfAFailedPeerIsACauseOfItsOwn) {
  EXPECT_THAT(Causes({Reports(1, absl::DataLossError("rank 0: " + Peer(1) + "malformed packet")),
                      Reports(2, absl::InternalError("rank 1: fragment \"f\": bad"))},
                     kAddresses),
              ElementsAre("rank 0: peer 1: malformed packet", "rank 1: fragment \"f\": bad"));
  // Unless the peer says the same.
  EXPECT_THAT(Causes({Reports(2, absl::DataLossError("rank 0: " + Peer(1) + "malformed packet")),
                      Reports(1, absl::DataLossError("rank 1: " + Peer(0) + "malformed packet"))},
                     kAddresses),
              ElementsAre("rank 1: peer 0: malformed packet"));
}

TEST(CausesTest, SameTextIsShownOnce) {
  auto missing = [] {
    return Reports(1, absl::NotFoundError("e.npz: tensor \"w\" is missing"));
  };
  EXPECT_THAT(Causes({missing(), missing(), missing()}, kAddresses),
              ElementsAre("all ranks: e.npz: tensor \"w\" is missing"));
  EXPECT_THAT(Causes({missing(), EndedByUs(2), missing()}, kAddresses),
              ElementsAre("ranks 0, 2: e.npz: tensor \"w\" is missing"));
}

TEST(CausesTest, ProcessesThatEndAlikeAreNamedTogether) {
  EXPECT_THAT(Causes({Dies(SIGKILL), EndedByUs(2), Dies(SIGKILL), Dies(SIGSEGV)}, kAddresses),
              ElementsAre("ranks 0, 2 were killed by signal 9 (Killed)", HasSubstr("rank 3 was killed by signal 11")));
  Outcome ended;
  ended.exit_status = 127;
  EXPECT_THAT(Causes({ended, ended}, kAddresses), ElementsAre("all ranks ended with status 127"));
}

// Each sees what is left at another moment; of other errors numbers say which of them it is.
TEST(CausesTest, WhatIsLeftDiffersFromRankToRank) {
  const auto needs = [](int left, auto error) {
    return Reports(left, error("the plan needs 900 bytes of memory, the host has " + std::to_string(left) + " available"));
  };
  EXPECT_THAT(Causes({needs(7, absl::ResourceExhaustedError), needs(123, absl::ResourceExhaustedError)}, kAddresses),
              ElementsAre("all ranks: the plan needs 900 bytes of memory, the host has 7 available"));
  EXPECT_THAT(Causes({needs(7, absl::NotFoundError), needs(123, absl::NotFoundError)}, kAddresses), SizeIs(2));
}

// Of one disk, and each says the names of its own files; of what says other numbers, those may be the cause.
TEST(CausesTest, TheSameOfOwnFilesIsShownOnce) {
  const auto full = [](int64_t time, int server, int step) {
    const std::string name = absl::StrCat("server ", server);
    return Reports(time, absl::UnavailableError(absl::StrCat(name, " cannot save its state: /saved/server.", server, ".step", step,
                                                             ".checkpoint: No space left on device")));
  };
  const std::string said = "cannot save its state: /saved/server.0.step11.checkpoint: No space left on device";
  EXPECT_THAT(Causes({EndedByUs(9), EndedByUs(9), full(2, 0, 11), full(1, 1, 11)}, kAddresses, 2), ElementsAre("servers 0, 1: " + said));
  EXPECT_THAT(Causes({EndedByUs(9), EndedByUs(9), full(2, 0, 11), full(1, 1, 12)}, kAddresses, 2), SizeIs(2));
  // What a trainer says of it has the same code and text.
  const std::string gone = "cannot save its state: /saved/server.0.checkpoint: No such file or directory";
  EXPECT_THAT(Causes({Reports(2, absl::NotFoundError("rank 0: server 0 (" + kAddresses[2] + "): server 0 " + gone)), EndedByUs(9),
                      Reports(1, absl::NotFoundError("server 0 " + gone)), EndedByUs(9)},
                     kAddresses, 2),
              ElementsAre("server 0: " + gone));
  // Neither is one number the beginning of another.
  EXPECT_THAT(Causes({Reports(1, absl::DataLossError("/saved.rank0: is damaged")), Reports(1, absl::DataLossError("/saved.rank10: is damaged"))},
                     {"a", "b"}),
              SizeIs(2));
}

TEST(CausesTest, PeerThatHangsIsNamedOnce) {
  // 2 has to be ended, and does not count as having failed before.
  EXPECT_THAT(Causes({Lost(7, 0, 2), Lost(5, 1, 2), EndedByUs(100), Lost(6, 3, 2)}, kAddresses),
              ElementsAre("rank 1: all_reduce \"w\" of call 5: peer 2: connection lost"));
}

TEST(CausesTest, RanksThatWaitForEachOtherInARow) {
  auto stalls = [](int64_t time, int rank, int peer) {
    return Reports(time, absl::DeadlineExceededError(
                             "rank " + std::to_string(rank) +
                             ": no progress within 3s: still waiting for the message from peer " +
                             std::to_string(peer) + " (phase 0, round 1)"));
  };
  EXPECT_THAT(Causes({stalls(1, 0, 1), stalls(2, 1, 2), stalls(3, 2, 3), EndedByUs(9)}, kAddresses),
              ElementsAre(HasSubstr("rank 2: no progress within 3s: still waiting for the message "
                                    "from peer 3")));
  EXPECT_THAT(
      Causes({stalls(3, 0, 1), stalls(2, 1, 2), stalls(4, 2, 3), stalls(5, 3, 0)}, kAddresses),
      ElementsAre(HasSubstr("rank 1: no progress")));
}

TEST(CausesTest, PeersThatDidNotJoinBecauseOneFailed) {
  EXPECT_THAT(Causes({Reports(9, absl::DeadlineExceededError(
                                     "rank 0: peers 1 (" + kAddresses[1] + "), 2 (" + kAddresses[2] +
                                     ") did not join within 1s")),
                      EndedByUs(20), Dies(SIGABRT)},
                     kAddresses),
              ElementsAre(HasSubstr("rank 2 was killed by signal 6")));
  EXPECT_THAT(Causes({Reports(9, absl::DeadlineExceededError("rank 0: peer 1 (" + kAddresses[1] +
                                                             ") did not join within 1s")),
                      EndedByUs(20)},
                     kAddresses),
              ElementsAre("rank 0: peer 1 did not join within 1s"));
}

TEST(CausesTest, WhatComesOfEndingTheRanksIsNotShown) {
  EXPECT_THAT(Causes({Lost(6, 0, 2), Outcome(EndedByUs(5)), EndedByUs(5)}, kAddresses), IsEmpty());
  Outcome cancelled = Told(6, 1, 0, "ended by signal 15");
  cancelled.ended_by_us = 5;
  EXPECT_THAT(Causes({Lost(6, 0, 1), cancelled}, kAddresses), IsEmpty());
}

TEST(CausesTest, EndsWithoutAReport) {
  Outcome outcome;
  outcome.exit_status = 3;
  EXPECT_THAT(Causes({Outcome(), outcome}, kAddresses), ElementsAre("rank 1 ended with status 3"));
  Outcome both = Reports(1, absl::InternalError("rank 0: fragment \"f\": bad"));
  both.exit_status = 0;
  both.signal = SIGSEGV;
  EXPECT_THAT(Causes({both}, kAddresses),
              ElementsAre("rank 0: fragment \"f\": bad; then it was killed by signal 11 (Segmentation fault)"));
}

// Two trainers, 0 and 1, and two servers.
TEST(CausesTest, KilledServerIsTheCauseOfWhatTrainersSay) {
  auto lost = [](int64_t time, int rank) {
    return Reports(time, absl::UnavailableError(
                             "rank " + std::to_string(rank) + ": push of \"w\" to server 1 in step 3: server 1 (" +
                             kAddresses[3] + "): is lost, and did not come back within 30s"));
  };
  Outcome other = Reports(3, absl::AbortedError("server 0: trainer 0 gave up: server 1 is lost"));
  EXPECT_THAT(Causes({lost(1, 0), lost(2, 1), other, Dies(SIGKILL)}, kAddresses, 2),
              ElementsAre("server 1 was killed by signal 9 (Killed)"));
}

TEST(CausesTest, KilledTrainerIsTheCauseOfWhatServersSay) {
  auto told = [](int64_t time, int server) {
    return Reports(time, absl::UnavailableError("server " + std::to_string(server) +
                                                ": trainer 1 is lost: its connection broke"));
  };
  EXPECT_THAT(Causes({Reports(9, absl::UnavailableError("rank 0: server 0 (" + kAddresses[2] +
                                                        "): trainer 1 is lost: its connection broke")),
                      Dies(SIGKILL), told(3, 0), told(4, 1)},
                     kAddresses, 2),
              ElementsAre("rank 1 was killed by signal 9 (Killed)"));
}

TEST(CausesTest, ServerThatCannotBeginIsTheCauseOfWaiting) {
  auto waits = [](int64_t time, int rank) {
    return Reports(time, absl::DeadlineExceededError("rank " + std::to_string(rank) + ": server 0 (" +
                                                     kAddresses[2] + "): did not accept trainer " +
                                                     std::to_string(rank) + " within 3s"));
  };
  EXPECT_THAT(Causes({waits(8, 0), waits(9, 1),
                      Reports(1, absl::InvalidArgumentError("server 0: c.pem: cannot be read")),
                      EndedByUs(20)},
                     kAddresses, 2),
              ElementsAre("server 0: c.pem: cannot be read"));
}

TEST(CausesTest, SameTextOfTrainersAndServersIsShownOnce) {
  auto missing = [] { return Reports(1, absl::NotFoundError("i.npz: cannot be opened")); };
  EXPECT_THAT(Causes({missing(), missing(), missing(), missing()}, kAddresses, 2),
              ElementsAre("all processes: i.npz: cannot be opened"));
  EXPECT_THAT(Causes({EndedByUs(9), missing(), missing(), missing()}, kAddresses, 2),
              ElementsAre("rank 1 and servers 0, 1: i.npz: cannot be opened"));
}

TEST(CausesTest, AnEarlierStepIsTheCauseOfALaterOne) {
  auto nan = [](int64_t time, int rank, int step) {
    return Reports(time, absl::DataLossError(absl::StrCat("rank ", rank, ": step ", step,
                                                          ": metric \"loss\" is nan")));
  };
  EXPECT_THAT(Causes({nan(2, 0, 11), nan(1, 1, 12), nan(3, 2, 11)}, {"a", "b", "c"}),
              ElementsAre("ranks 0, 2: step 11: metric \"loss\" is nan"));
}

}  // namespace
}  // namespace commsched::run
