// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/transport/in_process_hub.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/run_flat.h"
#include "runtime/base/status_util.h"
#include "runtime/core/greeting.h"

namespace commsched::runtime {
namespace {

absl::AnyInvocable<void()> Finisher(Transport::Done done,
                                    const absl::Status &why) {
  return [done = std::move(done), own = Unshared(why)]() mutable {
    done(std::move(own));
  };
}

}  // namespace

InProcessHub::InProcessHub(int nodes)
    : nodes_(nodes), channels_(size_t(nodes) * nodes), endpoints_(nodes) {
  for (Endpoint &e : endpoints_)
    for (int peer = 0; peer < nodes; ++peer) e.ends.emplace_back(absl::StrCat("peer ", peer));
}

absl::Status InProcessHub::Join(const TransportOptions &options) {
  if (options.nodes < 1)
    return absl::InvalidArgumentError(absl::StrCat(
        "number of nodes must be at least 1, got: ", options.nodes));
  if (options.rank < 0 || options.rank >= options.nodes)
    return absl::InvalidArgumentError(absl::StrCat(
        "rank must be in 0..", options.nodes - 1, ", got: ", options.rank));
  if (options.nodes != nodes_)
    return absl::FailedPreconditionError(
        absl::StrCat("number of nodes must match the cluster's ", nodes_,
                     ", got: ", options.nodes));
  Clock::time_point deadline = After(options.connect_deadline);
  MutexLock lock(&mu_);
  Endpoint &self = endpoints_[options.rank];
  if (self.state != Endpoint::kAbsent)
    return absl::AlreadyExistsError(
        absl::StrCat("rank ", options.rank, " has joined twice"));
  self.state = Endpoint::kOpen;
  self.options = options;
  ++joined_;
  changed_.SignalAll();
  absl::Status status;
  while (joined_ < nodes_)
    if (changed_.WaitUntil(&mu_, deadline) && joined_ < nodes_) {
      std::vector<int> missing;
      for (int r = 0; r < nodes_; ++r)
        if (endpoints_[r].state == Endpoint::kAbsent) missing.push_back(r);
      status = absl::DeadlineExceededError(
          absl::StrCat("no connection within ",
                       absl::FormatDuration(options.connect_deadline),
                       " to rank ", absl::StrJoin(missing, ", ")));
      break;
    }
  const auto greeting = [&](const TransportOptions &o) -> core::Greeting {
    return {.epoch = o.epoch, .nodes = o.nodes, .rank = o.rank, .plan_digest = o.plan_digest};
  };
  for (int r = 0; status.ok() && r < nodes_; ++r)
    if (std::string why =
            JudgeEqual(greeting(options), greeting(endpoints_[r].options), true).why;
        !why.empty())
      status = absl::FailedPreconditionError(absl::StrCat("peer ", r, ": ", why));
  if (status.ok()) return status;
  self.state = Endpoint::kClosed;
  for (int r = 0; r < nodes_; ++r)
    if (options.IsPartner(r)) end(r, options.rank).TakeGoodbye(/*pending=*/false);
  return status;
}

void InProcessHub::Transfer(int from, int to, PendingSend send,
                            PendingRecv recv) {
  RunFlat([this, from, to, send = std::move(send),
           recv = std::move(recv)]() mutable {
    CopyAndFinish(from, to, send, recv);
  });
}

void InProcessHub::CopyAndFinish(int from, int to, PendingSend &send,
                                 PendingRecv &recv) {
  absl::Status status;
  if (send.bytes.size() != recv.bytes) {
    status = absl::InvalidArgumentError(
        absl::StrCat("message size must match ", recv.bytes,
                     ", got: ", send.bytes.size(), " bytes"));
  } else if (recv.bytes != 0) {
    if (recv.buffer != nullptr)
      std::memcpy(recv.buffer, send.bytes.data(), recv.bytes);
    else
      recv.sink(0, send.bytes);
  }
  if (status.ok()) {
    endpoints_[from].bytes_sent += recv.bytes;
    endpoints_[to].bytes_received += recv.bytes;
    recv.done(absl::OkStatus());
    send.done(absl::OkStatus());
  } else {
    recv.done(absl::Status(
        status.code(), absl::StrCat("peer ", from, ": ", status.message())));
    send.done(absl::Status(status.code(),
                           absl::StrCat("peer ", to, ": ", status.message())));
  }
  MutexLock lock(&mu_);
  --endpoints_[from].active;
  --endpoints_[from].sends_pending;
  --endpoints_[to].active;
  changed_.SignalAll();
}

void InProcessHub::Perform(Actions actions) {
  for (Action &action : actions)
    RunFlat(
        [this, owner = action.owner, run = std::move(action.run)]() mutable {
          run();
          MutexLock lock(&mu_);
          --endpoints_[owner].active;
          changed_.SignalAll();
        });
}

void InProcessHub::Report(int self, int peer, Actions *actions) {
  Endpoint &me = endpoints_[self];
  if (!me.options.on_peer_failure || me.state != Endpoint::kOpen) return;
  Later(
      self,
      [&me, peer, own = Unshared(end(self, peer).failure())] {
        me.options.on_peer_failure(peer, own);
      },
      actions);
}

void InProcessHub::FailPending(int self, int peer, Actions *actions) {
  const absl::Status &why = end(self, peer).failure();
  Channel &out = channel(self, peer);
  for (auto &[tag, send] : out.sends) {
    --endpoints_[self].sends_pending;
    Later(self, Finisher(std::move(send.done), why), actions);
  }
  out.sends.clear();
  Channel &in = channel(peer, self);
  for (auto &[tag, recv] : in.recvs) Later(self, Finisher(std::move(recv.done), why), actions);
  in.recvs.clear();
}

void InProcessHub::End(int self, int peer, const core::LinkEnd::Outcome &outcome,
                       Actions *actions) {
  if (outcome.fails) FailPending(self, peer, actions);
  if (outcome.report) Report(self, peer, actions);
  const bool pending =
      !channel(peer, self).sends.empty() || !channel(self, peer).recvs.empty();
  if (outcome.say == core::LinkEnd::Outcome::kGoodbye)
    End(peer, self, end(peer, self).TakeGoodbye(pending), actions);
  else if (outcome.say == core::LinkEnd::Outcome::kAbort)
    End(peer, self,
        end(peer, self).TakeAbort(uint32_t(outcome.why.code()), outcome.why.message()),
        actions);
}

absl::Status InProcessHub::TooLate(int self, int peer, Actions *actions) {
  if (end(self, peer).WantedAfter()) Report(self, peer, actions);
  return end(self, peer).failure();
}

void InProcessHub::Send(int self, int peer, MessageTag tag,
                        absl::Span<const std::byte> bytes,
                        Transport::Done done) {
  PendingRecv recv;
  Actions actions;
  {
    MutexLock lock(&mu_);
    Channel &out = channel(self, peer);
    absl::Status usable = TooLate(self, peer, &actions);
    if (usable.ok() && out.sends.count(tag) != 0)
      usable = absl::InvalidArgumentError(
          absl::StrCat("peer ", peer, ": two messages under one tag"));
    auto it = out.recvs.find(tag);
    if (!usable.ok()) {
      Later(self, Finisher(std::move(done), usable), &actions);
    } else if (it == out.recvs.end()) {
      ++endpoints_[self].sends_pending;
      out.sends.emplace(tag, PendingSend{bytes, std::move(done)});
      return;
    } else {
      recv = std::move(it->second);
      out.recvs.erase(it);
      ++endpoints_[self].active;
      ++endpoints_[self].sends_pending;
      ++endpoints_[peer].active;
    }
  }
  if (!actions.empty()) return Perform(std::move(actions));
  Transfer(self, peer, PendingSend{bytes, std::move(done)}, std::move(recv));
}

void InProcessHub::Recv(int self, int peer, MessageTag tag, PendingRecv recv) {
  PendingSend send;
  Actions actions;
  {
    MutexLock lock(&mu_);
    Channel &in = channel(peer, self);
    auto it = in.sends.find(tag);
    absl::Status usable = TooLate(self, peer, &actions);
    if (usable.ok() && in.recvs.count(tag) != 0)
      usable = absl::InvalidArgumentError(
          absl::StrCat("peer ", peer, ": two receives under one tag"));
    if (!usable.ok()) {
      Later(self, Finisher(std::move(recv.done), usable), &actions);
    } else if (it == in.sends.end()) {
      in.recvs.emplace(tag, std::move(recv));
      return;
    } else {
      send = std::move(it->second);
      in.sends.erase(it);
      ++endpoints_[self].active;
      ++endpoints_[peer].active;
    }
  }
  if (!actions.empty()) return Perform(std::move(actions));
  Transfer(peer, self, std::move(send), std::move(recv));
}

void InProcessHub::Abort(int self, const absl::Status &why) {
  Actions actions;
  {
    MutexLock lock(&mu_);
    if (endpoints_[self].state != Endpoint::kOpen) return;
    for (int peer = 0; peer < nodes_; ++peer)
      if (endpoints_[size_t(self)].options.IsPartner(peer))
        End(self, peer, end(self, peer).Abort(why), &actions);
  }
  Perform(std::move(actions));
}

void InProcessHub::Close(int self, absl::Duration flush) {
  const Clock::time_point deadline = After(flush);
  Actions actions;
  {
    MutexLock lock(&mu_);
    Endpoint &me = endpoints_[self];
    if (me.state != Endpoint::kOpen) return;
    while (me.sends_pending > 0)
      if (changed_.WaitUntil(&mu_, deadline)) break;
    for (int peer = 0; peer < nodes_; ++peer)
      if (me.options.IsPartner(peer)) End(self, peer, end(self, peer).Close(), &actions);
    me.state = Endpoint::kClosed;
  }
  Perform(std::move(actions));
  MutexLock lock(&mu_);
  while (endpoints_[self].active > 0) changed_.Wait(&mu_);
}

}  // namespace commsched::runtime
