// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A meeting as rank 0 has it: who comes says who he is, and waits for the list of all. Nobody who
// has come holds up another.
#ifndef COMMSCHED_LAUNCH_GATHERING_H
#define COMMSCHED_LAUNCH_GATHERING_H

#include <sys/socket.h>

#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "launch/proved_lines.h"
#include "launch/rendezvous.h"
#include "launch/socket.h"
#include "runtime/base/sync.h"

namespace commsched::launch {

// Who has come, and what he has said so far of his two lines: the nonce and who he is.
struct Guest {
  Socket socket;
  Talk talk;
  runtime::Clock::time_point until;  // when he must have said them
  std::string heard;
  std::string address;
};

// The address without its port, as numbers.
std::string NumericHost(const sockaddr *address, socklen_t size);

using Guests = std::map<int, Guest>;  // by rank

class Gathering {
 public:
  // `meeting` must outlive this.
  Gathering(const Rendezvous &meeting, std::vector<Socket> listeners);

  // Until all are here, one does not fit, or it is too late; the errors are those of Meet.
  absl::Status Gather(runtime::Clock::time_point deadline);

  // After an error: all who are here hear it, and, if it is that one did not fit, who comes until then.
  void Refuse(runtime::Clock::time_point until);

  // Says it to all who are here.
  void Tell(const std::string &line, const std::string &text);

  const Guests &here() const { return here_; }

 private:
  bool AllAreHere();
  void DismissMute();
  void DismissOldest();
  absl::Status Missing();
  void HearOnce(runtime::Clock::time_point deadline);
  void Accept(const Socket &listener);
  void Judge(Guest guest, const std::vector<int> &numbers);

  const Rendezvous &meeting_;
  const std::vector<Socket> listeners_;
  const std::string place_;  // in errors
  Guests here_;
  std::list<Guest> silent_;  // who have not said yet who they are, in the order in which they came
  int strangers_ = 0;
  absl::Status refused_;
  bool unfit_ = false;  // somebody is, who is of this job and no later one
  std::set<int> told_;  // why, ranks
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_GATHERING_H
