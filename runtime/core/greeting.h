// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who may join: what two ranks say to each other over a new connection, and what each
// makes of it. Of two that do not fit, both hear the same reason.
#ifndef COMMSCHED_RUNTIME_CORE_GREETING_H
#define COMMSCHED_RUNTIME_CORE_GREETING_H

#include <cstdint>
#include <string>

namespace commsched::runtime::core {

struct Greeting {
  // The digest of who comes only to say why it cannot take part: it fits to that of any plan.
  static constexpr uint64_t kAnyPlan = ~uint64_t{0};

  uint64_t protocol = 0;  // version
  uint64_t epoch = 0;     // of the membership
  int64_t nodes = 0;
  int64_t rank = 0, to = 0;  // who speaks, and whom it takes the other for
  uint64_t plan_digest = 0;
};

struct Verdict {
  enum Kind {
    kWelcome,
    kRefused,  // they cannot be one job: both end
    // Of an earlier membership: it ends, and the job that it comes to goes on.
    kEarlier,
    // Of a later membership: who is asked ends, as its job is over. Who asks tries
    // again, for who comes in this place.
    kLater
  };
  Kind kind = kWelcome;
  std::string why;  // empty if welcome
};

// What `own` makes of `theirs`, of one that has called it, or that it has called itself.
// Ranks call those before them; `partner`: there is to be a connection between the two.
Verdict JudgeCaller(const Greeting &own, const Greeting &theirs, bool partner);
Verdict JudgeCalled(const Greeting &own, const Greeting &theirs);
// Where all greet all, nobody calls.
Verdict JudgeEqual(const Greeting &own, const Greeting &theirs, bool partner);

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_GREETING_H
