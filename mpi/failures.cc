// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failures of peers, and goodbyes.
#include <utility>

#include "absl/strings/str_cat.h"
#include "mpi/ranks.h"
#include "runtime/status_util.h"

namespace commsched::transport::mpi {

using runtime::MutexLock;

absl::Status MpiRanks::Named(int peer, absl::StatusCode code,
                             absl::string_view what) const {
  return absl::Status(code, absl::StrCat("peer ", peer, ": ", what));
}

// What MPI works on ends when MPI is done with it; the rest ends here.
void MpiRanks::FailPeer(int of, absl::Status why, absl::Status tell, bool quiet,
                        Actions *actions) {
  Peer &peer = peers_[size_t(of)];
  if (!peer.failure.ok()) return;
  peer.failure = why;
  peer.report_wanted = !quiet;
  std::vector<std::shared_ptr<Outgoing>> sends = peer.parts.Clear();
  std::vector<std::shared_ptr<Incoming>> receives;
  if (peer.matcher)
    peer.matcher->Clear(/*keep=*/peer.goodbye_taken, &sends, &receives);
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
  if (!tell.ok() && !peer.goodbye_sent) {
    peer.goodbye_sent = true;
    const absl::string_view text = tell.message().substr(0, runtime::kMaxAbortText);
    Tell(of, Header{.kind = kAbort, .id = uint32_t(tell.code())},
         {reinterpret_cast<const std::byte *>(text.data()), text.size()});
  }
  Report(of, actions);
}

void MpiRanks::FailProtocol(int peer, absl::StatusCode code,
                            const std::string &what, Actions *actions) {
  FailPeer(peer, Named(peer, code, what), absl::Status(code, what),
           /*quiet=*/false, actions);
}

void MpiRanks::FailProtocol(int peer, const absl::Status &what, Actions *actions) {
  FailProtocol(peer, what.code(), std::string(what.message()), actions);
}

void MpiRanks::Report(int of, Actions *actions) {
  Peer &peer = peers_[size_t(of)];
  if (!peer.report_wanted) return;
  if (connecting_) {
    if (connect_error_.ok()) connect_error_ = peer.failure;
    return;
  }
  peer.report_wanted = false;
  if (!options_.on_peer_failure || closing_) return;
  Later([this, of, why = runtime::Unshared(peer.failure)] {
    options_.on_peer_failure(of, why);
  }, actions);
}

void MpiRanks::Abort(const absl::Status &why) {
  Actions actions;
  {
    MutexLock lock(&mu_);
    for (size_t peer = 0; peer < peers_.size(); ++peer)
      if (int(peer) != options_.rank)
        FailPeer(int(peer), absl::CancelledError("this rank has aborted"),
                 absl::AbortedError(why.message()), /*quiet=*/true, &actions);
  }
  RunAll(std::move(actions));
}

void MpiRanks::SayGoodbye(int to) {
  Peer &peer = peers_[size_t(to)];
  if (peer.goodbye_sent) return;
  peer.goodbye_sent = true;
  Tell(to, Header{.kind = kGoodbye, .bytes = peer.parts_sent});
}

// As soon as all that was sent before it has come.
void MpiRanks::TakeGoodbye(int from, Actions *actions) {
  Peer &peer = peers_[size_t(from)];
  if (peer.goodbye_taken) return;
  if (peer.failure.ok() && peer.parts_received < peer.goodbye_parts) return;
  peer.goodbye_held = false;
  peer.goodbye_taken = true;
  if (peer.failure.ok()) {
    const bool wanted = !peer.idle();
    FailPeer(from,
             Named(from, absl::StatusCode::kFailedPrecondition,
                   "has finished, but something is still wanted of it"),
             absl::OkStatus(), /*quiet=*/true, actions);
    peer.report_wanted = true;
    if (wanted || connecting_) Report(from, actions);
  }
  SayGoodbye(from);
}

}  // namespace commsched::transport::mpi
