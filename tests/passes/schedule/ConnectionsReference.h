// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links of several connections as docs/scheduling.md has them, with real numbers for bytes and time: every round of every
// message, what goes to each server, and what each connection of a rank sends, looked up anew at every instant. It shares nothing with the evaluator.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_CONNECTIONSREFERENCE_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_CONNECTIONSREFERENCE_H

#include "passes/schedule/solver/Schedule.h"

#include <vector>

namespace commsched::schedule {

/// What may be wrong with it.
struct ConnectionFaults {
  bool peersInOrder = false;       ///< the second half goes to the peers as the first one did
  bool equalRounds = false;        ///< rounds have equal parts of the bytes
  bool wholeRate = false;          ///< each connection has all of the rate
  bool wholeCredit = false;        ///< and all of the credit, or each round has
  bool creditUntilThere = false;   ///< not until the socket has taken it
  bool roundsInOne = false;        ///< around a ring
  bool oneSlice = false;           ///< likewise
  bool slicesAlone = false;        ///< in what is no round too
  bool neverAsked = false;         ///< for long messages
  bool neverOnce = false;          ///< few bytes as well
  bool overtakesAtOnce = false;    ///< packets are a sixteenth as long
  bool latencyOfEachRound = false; ///< all of it, every time
  bool oneConnection = false;      ///< to all servers
  bool pushesOvertaken = false;    ///< by packets, as what comes back
  bool fullPackets = false;        ///< what is less urgent fills them
  bool messagesAlone = false;      ///< likewise: a message is there before the rest of its packet
  bool piecesWithMessage = false;  ///< whatever comes behind them
  bool neverExclusive = false;     ///< no message
  bool endlessPatience = false;    ///< with what is less urgent than an exclusive message
  bool oncePatient = false;        ///< from its first round only, whatever has come
};

/// When all ops of each of the first `steps` steps are done, in ns; fewer if something waits for ever. Without
/// barriers. Links of several connections have packets of `packet` bytes, of which `ahead` are taken before they are sent, those
/// to servers the link's own where it says so.
std::vector<double> endsByConnections(const Problem &problem, const Schedule &schedule, unsigned steps, double packet,
                                      double ahead, const ConnectionFaults &faults = {});

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_CONNECTIONSREFERENCE_H
