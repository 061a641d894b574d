// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of links that can be taken, but that no link has: most likely they are in another unit. Whoever reads them warns.
#ifndef COMMSCHED_PLAN_LINK_DOUBT_H
#define COMMSCHED_PLAN_LINK_DOUBT_H

#include <cstdint>
#include <string>
#include <string_view>

namespace commsched::plan {

// Of bits per second: from what a radio has to several times what there is between devices of one machine.
inline constexpr double kLeastLinkRate = 1e6, kMostLinkRate = 1e14;
// Twenty times the way to a satellite and back: a message's latency, or what it costs.
inline constexpr int64_t kMostLinkNs = 10'000'000'000;

// The empty string, or one line. `unit` is that of the number, of which one is so many bits per second.
std::string DoubtRate(std::string_view field, double number, std::string_view unit, double bits_per_s);
std::string DoubtTime(std::string_view field, int64_t ns);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_LINK_DOUBT_H
