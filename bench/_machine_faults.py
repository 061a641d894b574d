# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults to build into the machines of runtime/core one at a time, as replacements of source text."""
from _mutants import Fault

CALLS, EXCHANGE = "runtime/core/calls.cc", "runtime/core/exchange.h"
LINK, MATCHER, PACKETS = "runtime/core/link_queue.h", "runtime/core/matcher.h", "runtime/core/packet_queue.h"

FAULTS = [
    # The calls in flight.
    Fault("a call does not wait for the one before", CALLS, "if (!previous->done[d]) ++waiting;", ""),
    Fault("the next call is not told of what ends", CALLS,
          "for (uint32_t i : instruction.wakes_next)", "for (uint32_t i : std::vector<uint32_t>())"),
    Fault("a stream goes past an instruction that waits", CALLS,
          "if (candidate->waiting[head] != 0) break;", "if (candidate->waiting[head] != 0) continue;"),
    Fault("urgent instructions wait for those in order", CALLS,
          "stream.compute && !stream.ready.empty() && std::get<0>(*stream.ready.begin()) < 0;", "false;"),
    Fault("deferred instructions of a positive priority count by it", CALLS,
          "std::min(0, instruction.priority), call->number", "instruction.priority, call->number"),
    Fault("a stream is not woken", CALLS, "  actions->wake.push_back(instruction.stream);\n", ""),
    Fault("a call is retired before its last instruction ends", CALLS,
          "if (count_ == 0 || in_flight_[0]->remaining != 0) return nullptr;",
          "if (count_ == 0 || in_flight_[0]->remaining > 1) return nullptr;"),
    Fault("calls of different functions overlap", CALLS,
          "count_ < kMost && program.is_step && in_flight_[count_ - 1]->program == &program",
          "count_ < kMost && program.is_step"),
    Fault("the time of the last dependence is forgotten", CALLS,
          "call->met[index] = std::max(call->met[index], now);", ""),
    # An exchange.
    Fault("what comes may land on what is still to be sent", EXCHANGE,
          "return !LandsOn(driver.RoundAt(recv_), driver.RoundAt(send_));", "return true;"),
    Fault("a round is sent before it is received", EXCHANGE,
          "send_.index <= recv_.index) {", "send_.index <= recv_.index + 1) {"),
    Fault("what is staged is combined while it is sent", EXCHANGE,
          "if (!staged_ || send_.index > recv_.index) EndReceive(driver);", "EndReceive(driver);"),
    Fault("what is staged is not combined when the send ends", EXCHANGE,
          "    Skip(driver, &send_);\n    if (staged_ && send_.index > recv_.index) EndReceive(driver);\n    Advance(driver);",
          "    Skip(driver, &send_);\n    Advance(driver);"),
    Fault("what is received over what is sent is not staged", EXCHANGE,
          "driver.Receive(recv_, round, LandsOn(round, round))", "driver.Receive(recv_, round, false)"),
    Fault("an exchange is done when all is sent", EXCHANGE,
          "if (IsEnd(driver, send_) && IsEnd(driver, recv_)) driver.Done();",
          "if (IsEnd(driver, send_)) driver.Done();"),
    Fault("a round without a receive stops the exchange", EXCHANGE,
          "          Skip(driver, &recv_);\n          moved = true;\n          continue;", "          break;"),
    # The queue of a link.
    Fault("the least urgent message goes first", LINK, "return a.order > b.order;", "return a.order < b.order;"),
    Fault("a completed message keeps its credit", LINK, "    in_flight_ -= bytes;\n", ""),
    Fault("the patience of a link is not armed again", LINK,
          "    patient_until_ = now + patience;\n    in_flight_ += bytes;", "    in_flight_ += bytes;"),
    Fault("a link has no patience to lose", LINK,
          "if (!fits && now < patient_until_) return false;", "if (!fits) return false;"),
    Fault("a message longer than the credit never goes", LINK, "credit == 0 || in_flight_ == 0 ||", "credit == 0 ||"),
    # Messages and receives.
    Fault("a message is sent without room", MATCHER,
          "bytes + kMessageCost > theirs_.room) return false;", "false) return false;"),
    Fault("room is given back twice", MATCHER, "  used_ -= to_return_;\n  to_return_ = 0;", "  used_ -= to_return_;"),
    Fault("room of a message that finds its receive is not given back", MATCHER,
          "    if (posted) GiveRoom(total + kMessageCost, controls);\n", ""),
    Fault("a message without room is not announced", MATCHER,
          "  if (open_) controls->push_back({Control::kAnnounce, tag, bytes});\n", ""),
    Fault("what was announced before its receive is not granted", MATCHER,
          "is_new ? bytes > own_.eager : incoming.state == Incoming::kAnnounced;", "is_new ? bytes > own_.eager : false;"),
    Fault("a grant that comes before its message is lost", MATCHER,
          "    outgoing.state = Outgoing::kGrantedAhead;\n    outgoing.bytes = grant.bytes;",
          "    sends_.erase(it);\n    return std::nullopt;\n    outgoing.bytes = grant.bytes;"),
    Fault("long receives are not granted", MATCHER, "is_new ? bytes > own_.eager :", "is_new ? false :"),
    Fault("messages that wait for the connection are not sent when it is there", MATCHER,
          "    if (MayGo(outgoing.bytes)) {\n      outgoing.state", "    if (false) {\n      outgoing.state"),
    Fault("the first part of a message is forgotten when its receive comes", MATCHER,
          "      here.kept = std::move(incoming.kept);\n", ""),
    # Packets.
    Fault("packets hold the least urgent message first", PACKETS, "b.order < a.order;", "a.order < b.order;"),
    Fault("a part is sent again", PACKETS, "      first.written += size;\n", ""),
    Fault("packets never get short", PACKETS, "bytes_ = std::min(most_, wanted);", "bytes_ = most_;"),
]
