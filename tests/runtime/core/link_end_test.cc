// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ends of a connection, of which anything may happen at any time: each fails once,
// for what happened to it first, says one last word, and reports once.
#include "runtime/core/link_end.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

using Outcome = LinkEnd::Outcome;

class Ends {
 public:
  explicit Ends(uint64_t seed) : random_(seed) {}

  void Run() {
    for (int i = 0; i < 12 && !::testing::Test::HasFailure(); ++i) Step(int(random_() % 2));
  }

 private:
  struct Word {
    Outcome::Word kind;
    absl::Status why;
  };
  struct Side {
    explicit Side(int peer) : end(absl::StrCat("peer ", peer)) {}
    LinkEnd end;
    absl::Status expected;  // of the first reason
    int words = 0, reports = 0;
    bool reports_later = false;
    std::deque<Word> comes;
  };

  // `expected`, of `say` and `report`, if it is the first.
  void Check(int s, const Outcome &outcome, const absl::Status &expected, Outcome::Word say,
             bool report, bool later) {
    Side &side = sides_[s];
    const bool first = side.expected.ok();
    ASSERT_EQ(outcome.fails, first);
    if (first) {
      side.expected = expected;
      side.reports_later = later;
    }
    ASSERT_EQ(side.end.failure(), side.expected);
    ASSERT_EQ(outcome.say, first ? say : Outcome::kNone);
    ASSERT_EQ(outcome.report, first && report);
    side.words += outcome.say != Outcome::kNone;
    side.reports += outcome.report;
    ASSERT_LE(side.words, 1);
    ASSERT_LE(side.reports, 1);
    if (outcome.say != Outcome::kNone) sides_[1 - s].comes.push_back({outcome.say, outcome.why});
  }

  void Step(int s) {
    Side &side = sides_[s];
    const std::string peer = absl::StrCat("peer ", 1 - s);
    const std::string text = absl::StrCat("reason ", ++reason_);
    switch (random_() % 8) {
      case 0:
        return Check(s, side.end.Abort(absl::NotFoundError(text)),
                     absl::CancelledError("this rank has aborted"), Outcome::kAbort, false, false);
      case 1:
        Check(s, side.end.Close(), absl::CancelledError("the transport is closed"),
              Outcome::kGoodbye, false, false);
        side.reports_later = false;
        return;
      case 2:
        return Check(s, side.end.Breach(absl::DataLossError(text)),
                     absl::DataLossError(absl::StrCat(peer, ": ", text)), Outcome::kAbort, true,
                     false);
      case 3: {
        const bool wanted = side.reports_later;
        side.reports_later = false;
        EXPECT_EQ(side.end.WantedAfter(), wanted);
        side.reports += wanted;
        ASSERT_LE(side.reports, 1);
        return;
      }
      case 4:
        if (random_() % 4 != 0) return;
        side.comes.clear();
        Check(s, side.end.Lost(text),
              absl::UnavailableError(absl::StrCat(peer, ": connection lost: ", text)),
              Outcome::kNone, true, false);
        EXPECT_TRUE(side.end.heard_last());
        return;
      default:
        break;
    }
    if (side.comes.empty()) return;
    const Word word = side.comes.front();
    side.comes.pop_front();
    if (word.kind == Outcome::kGoodbye) {
      const bool pending = random_() % 2 == 0;
      const bool heard = side.end.heard_last();
      const Outcome outcome = side.end.TakeGoodbye(pending);
      if (heard) {
        EXPECT_FALSE(outcome.fails);
        return;
      }
      EXPECT_TRUE(side.end.keeps());
      Check(s, outcome,
            absl::FailedPreconditionError(
                absl::StrCat(peer, ": has finished, but something is still wanted of it")),
            Outcome::kGoodbye, pending, !pending);
    } else {
      // Only what is wrong with messages keeps its code; all other reasons are the peer's.
      const bool breach = absl::IsDataLoss(word.why);
      const bool heard = side.end.heard_last();
      const Outcome outcome =
          side.end.TakeAbort(uint32_t(word.why.code()), word.why.message());
      if (heard) {
        EXPECT_FALSE(outcome.fails);
        return;
      }
      Check(s, outcome,
            absl::Status(breach ? absl::StatusCode::kDataLoss : absl::StatusCode::kAborted,
                         absl::StrCat(peer, ": ", breach ? "" : "aborted: ",
                                      word.why.message())),
            Outcome::kGoodbye, true, false);
      EXPECT_FALSE(side.end.keeps());
    }
    EXPECT_TRUE(side.end.heard_last());
  }

  std::mt19937_64 random_;
  Side sides_[2] = {Side(1), Side(0)};
  int reason_ = 0;
};

TEST(LinkEndTest, EachEndFailsOnceAndSaysOneLastWord) {
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Ends(seed).Run();
    if (HasFailure()) return;
  }
}

TEST(LinkEndTest, AnAbortIsNotEndless) {
  LinkEnd end("peer 1");
  const Outcome outcome = end.Abort(absl::InternalError(std::string(1 << 20, 'x')));
  EXPECT_EQ(outcome.why.message().size(), kMaxAbortText);
  EXPECT_EQ(outcome.why.code(), absl::StatusCode::kCancelled);
}

// However many ranks are between who gives up and who hears of it.
TEST(LinkEndTest, AReasonIsPassedOnAsItIs) {
  absl::Status why = absl::NotFoundError("no memory");
  for (int rank = 7; rank > 0; --rank) {
    LinkEnd here(absl::StrCat("peer ", rank - 1)), there(absl::StrCat("peer ", rank));
    const Outcome said = here.Abort(why);
    there.TakeAbort(uint32_t(said.why.code()), said.why.message());
    why = there.failure();
    EXPECT_EQ(why, absl::AbortedError("peer 7: aborted: no memory"));
  }
}

}  // namespace
}  // namespace commsched::runtime::core
