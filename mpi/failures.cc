// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failures of peers, and goodbyes.
#include <utility>

#include "mpi/ranks.h"
#include "runtime/base/status_util.h"

namespace commsched::transport::mpi {

using runtime::MutexLock;

// What MPI works on ends when MPI is done with it; the rest ends here.
void MpiRanks::FailPending(int of, Actions *actions) {
  Peer &peer = peers_[size_t(of)];
  const absl::Status &why = peer.end.failure();
  std::vector<std::shared_ptr<Outgoing>> sends = peer.parts.Clear();
  std::vector<std::shared_ptr<Incoming>> receives;
  if (peer.matcher) peer.matcher->Clear(peer.end.keeps(), &sends, &receives);
  for (const std::shared_ptr<Outgoing> &out : sends) {
    out->failure = why;
    if (out->given == out->ended) Finish(std::move(out->done), why, actions);
  }
  // A peer that still reads there does no harm.
  for (auto &[id, out] : peer.placed) Finish(std::move(out->done), why, actions);
  peer.placed.clear();
  for (const std::shared_ptr<Incoming> &in : receives) {
    in->failure = why;
    granted_.erase({of, in->id});
    if (in->begun == in->ended) EndReceive(*in, actions);
  }
}

void MpiRanks::End(int of, const LinkEnd::Outcome &outcome, Actions *actions) {
  if (outcome.fails) FailPending(of, actions);
  if (outcome.say == LinkEnd::Outcome::kGoodbye) {
    Tell(of, Header{.kind = kGoodbye, .bytes = peers_[size_t(of)].parts_sent});
  } else if (outcome.say == LinkEnd::Outcome::kAbort) {
    const absl::string_view text = outcome.why.message();
    Tell(of, Header{.kind = kAbort, .id = uint32_t(outcome.why.code())},
         {reinterpret_cast<const std::byte *>(text.data()), text.size()});
  }
  if (outcome.report) Report(of, actions);
}

void MpiRanks::FailProtocol(int peer, const absl::Status &what, Actions *actions) {
  End(peer, peers_[size_t(peer)].end.Breach(what), actions);
}

void MpiRanks::Report(int of, Actions *actions) {
  const absl::Status &failure = peers_[size_t(of)].end.failure();
  if (connecting_) {
    if (connect_error_.ok()) connect_error_ = failure;
    return;
  }
  if (!options_.on_peer_failure || closing_) return;
  Later([this, of, why = runtime::Unshared(failure)] {
    options_.on_peer_failure(of, why);
  },
        actions);
}

void MpiRanks::Abort(const absl::Status &why) {
  Actions actions;
  {
    MutexLock lock(&mu_);
    AbortAll(why, &actions);
  }
  RunAll(std::move(actions));
}

void MpiRanks::AbortAll(const absl::Status &why, Actions *actions) {
  for (size_t peer = 0; peer < peers_.size(); ++peer)
    if (options_.IsPartner(int(peer))) End(int(peer), peers_[peer].end.Abort(why), actions);
}

// As soon as all that was sent before it has come.
void MpiRanks::TakeGoodbye(int from, Actions *actions) {
  Peer &peer = peers_[size_t(from)];
  if (peer.end.failure().ok() && peer.parts_received < peer.goodbye_parts) return;
  peer.goodbye_held = false;
  End(from, peer.end.TakeGoodbye(/*pending=*/!peer.idle()), actions);
}

}  // namespace commsched::transport::mpi
