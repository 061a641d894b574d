// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PLAN_CHECKTIMER_H
#define COMMSCHED_PASSES_PLAN_CHECKTIMER_H

#include <chrono>

namespace commsched::planexport {

/// Adds the time in which it runs to `seconds`: what checks cost, for reports.
class CheckTimer {
public:
  explicit CheckTimer(double &seconds) : seconds(seconds) {}
  ~CheckTimer() { stop(); }
  CheckTimer(const CheckTimer &) = delete;
  CheckTimer &operator=(const CheckTimer &) = delete;

  void start() {
    begin = Clock::now();
    running = true;
  }
  void stop() {
    if (running)
      seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    running = false;
  }

private:
  using Clock = std::chrono::steady_clock;
  double &seconds;
  bool running = true;
  Clock::time_point begin = Clock::now();
};

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_CHECKTIMER_H
