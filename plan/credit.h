// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a credit allows on a link that sends the most urgent packets first: the one rule of the runtime, which sends, and
// of the simulator and the compiler, which predict.
#ifndef COMMSCHED_PLAN_CREDIT_H
#define COMMSCHED_PLAN_CREDIT_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/urgency.h"

namespace commsched::plan {

// Bytes that a link has been given and that do not have their credit back. A credit bounds those that a message
// cannot overtake, which are as urgent as it or more: what is less urgent is overtaken where it lies, and a message
// that waited for it would wait in each of its rounds. `Bytes` is an arithmetic type.
template <typename Bytes>
class BytesInFlight {
 public:
  // Whether a message of so many bytes may be given too: the one that is alone may be longer than the credit.
  bool Fits(const Urgency &urgency, Bytes bytes, Bytes credit) const {
    Bytes before = 0;
    bool alone = true;
    for (const Flying &flying : flying_) {
      if (urgency < flying.urgency) break;
      before += flying.bytes;
      alone = false;
    }
    return alone || (bytes <= credit && before <= credit - bytes);
  }

  void Add(const Urgency &urgency, Bytes bytes) {
    auto it = Behind(urgency);
    if (it == flying_.begin() || it[-1].urgency != urgency) it = flying_.insert(it, {urgency, 0, 0}) + 1;
    it[-1].bytes += bytes;
    ++it[-1].messages;
  }

  // Of one that was added.
  void Remove(const Urgency &urgency, Bytes bytes) {
    auto it = Behind(urgency) - 1;
    it->bytes -= bytes;
    if (--it->messages == 0) flying_.erase(it);
  }

 private:
  struct Flying {  // all of one urgency
    Urgency urgency;
    Bytes bytes;
    uint64_t messages;
  };
  typename std::vector<Flying>::iterator Behind(const Urgency &urgency) {
    return std::upper_bound(flying_.begin(), flying_.end(), urgency,
                            [](const Urgency &a, const Flying &b) { return a < b.urgency; });
  }

  std::vector<Flying> flying_;  // the most urgent first
};

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_CREDIT_H
