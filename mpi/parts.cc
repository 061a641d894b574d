// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long messages: their parts.
#include <algorithm>
#include <utility>

#include "mpi/ranks.h"

namespace commsched::transport::mpi {

namespace {

// Parts that are received and not passed on yet, of all peers.
constexpr int kMaxStaging = 4;

}  // namespace

// The most urgent first, as far as the window goes.
void MpiRanks::GiveParts(int to) {
  Peer &peer = peers_[to];
  const auto give = [&](const std::shared_ptr<Outgoing> &outgoing, size_t begin,
                        size_t size, bool last) {
    Part part;
    part.out = outgoing;
    part.number = outgoing->given++;
    if (last) peer.matcher->Sent(outgoing->tag);
    MPI_Request request = Mpi().no_request;
    Check(Mpi().Isend(outgoing->bytes.data() + begin, int(size), Mpi().byte, to,
                      outgoing->id, over_.parts, &request),
          "MPI_Isend");
    ++peer.parts_sent;
    ++peer.under_way;
    requests_.push_back(request);
    parts_.push_back(std::move(part));
  };
  while (peer.under_way < mpi_.window && !peer.parts.idle())
    peer.parts.Take(mpi_.part_bytes, 1, give);
}

void MpiRanks::Hold(const std::optional<plan::Urgency> &least) {
  MutexLock lock(&mu_);
  for (int to = 0; to < int(peers_.size()); ++to) {  // none before Connect
    peers_[to].parts.Hold(least);
    GiveParts(to);
  }
}

std::unique_ptr<std::byte[]> MpiRanks::Staging() {
  ++staging_used_;
  if (staging_.empty())
    return std::unique_ptr<std::byte[]>(new std::byte[staging_bytes_]);
  std::unique_ptr<std::byte[]> staging = std::move(staging_.back());
  staging_.pop_back();
  return staging;
}

// Looks for parts that have come, and has them received.
bool MpiRanks::TakeParts() {
  bool any = false;
  while (!granted_.empty() && staging_used_ < kMaxStaging) {
    int here = 0;
    MPI_Message message;
    MPI_Status status;
    Check(Mpi().Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, over_.parts, &here, &message,
                        &status),
          "MPI_Improbe");
    if (!here || !mpi_error_.ok()) break;
    any = true;
    int size = 0;
    Mpi().Get_count(&status, Mpi().byte, &size);
    auto it = granted_.find({status.MPI_SOURCE, status.MPI_TAG});
    Part part;
    std::byte *target = nullptr;
    size_t expected = 0;
    if (it != granted_.end()) {
      part.in = it->second;
      part.number = part.in->begun++;
      const size_t begin = part.number * part.in->part_bytes;
      expected = std::min(part.in->part_bytes, part.in->bytes - begin);
      if (part.in->begun == part.in->parts) granted_.erase(it);
      if (part.in->buffer != nullptr) target = part.in->buffer + begin;
    }
    if (part.in == nullptr || size_t(size) != expected) {
      // Of a message that is not wanted any more.
      ++peers_[size_t(status.MPI_SOURCE)].parts_received;
      part.in = nullptr;
      part.staging.reset(new std::byte[size_t(size) + 1]);
      target = part.staging.get();
    } else if (part.in->buffer == nullptr) {
      part.staging = Staging();
      target = part.staging.get();
    }
    MPI_Request request = Mpi().no_request;
    Check(Mpi().Imrecv(target, size, Mpi().byte, &message, &request), "MPI_Imrecv");
    requests_.push_back(request);
    parts_.push_back(std::move(part));
  }
  return any;
}

bool MpiRanks::TestParts(Actions *actions) {
  if (requests_.empty()) return false;
  int count = 0;
  finished_.resize(requests_.size());
  Check(Mpi().Testsome(int(requests_.size()), requests_.data(), &count,
                       finished_.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
  if (count <= 0 || count == MPI_UNDEFINED) return false;
  std::vector<Part> ended;
  for (int i = 0; i < count; ++i)
    ended.push_back(std::move(parts_[size_t(finished_[size_t(i)])]));
  size_t kept = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == Mpi().no_request) continue;
    if (kept != i) {
      requests_[kept] = requests_[i];
      parts_[kept] = std::move(parts_[i]);
    }
    ++kept;
  }
  requests_.resize(kept);
  parts_.resize(kept);
  for (Part &part : ended) EndPart(std::move(part), actions);
  return true;
}

void MpiRanks::EndPart(Part part, Actions *actions) {
  if (part.out != nullptr) {
    Outgoing &out = *part.out;
    Peer &peer = peers_[out.peer];
    --peer.under_way;
    ++out.ended;
    if (out.ended == out.given && (out.given == out.parts || !out.failure.ok())) {
      if (out.failure.ok()) bytes_sent_ += out.bytes.size();
      Finish(std::move(out.done), out.failure, actions);
    }
    return GiveParts(out.peer);
  }
  if (part.in == nullptr) return;
  Peer &peer = peers_[part.in->peer];
  ++peer.parts_received;
  Incoming &in = *part.in;
  if (part.staging != nullptr) {
    in.to_pass.emplace(part.number, std::move(part.staging));
    to_pass_.push_back(part.in);
  } else {
    ++in.ended;
    const bool whole = in.ended == in.parts;
    if (whole && in.failure.ok()) peer.matcher->End(in.tag);
    if (whole || (!in.failure.ok() && in.ended == in.begun))
      EndReceive(in, actions);
  }
  if (peer.goodbye_held) TakeGoodbye(in.peer, actions);
}

// Without the lock while a sink runs.
bool MpiRanks::PassParts(Actions *actions) {
  const bool any = !to_pass_.empty();
  while (!to_pass_.empty()) {
    std::shared_ptr<Incoming> in = std::move(to_pass_.front());
    to_pass_.pop_front();
    if (in->place != nullptr) {
      PassPlaced(in, actions);
      continue;
    }
    // In order; one that came early is passed with the one before it.
    while (!in->to_pass.empty() && in->to_pass.begin()->first == in->ended) {
      std::unique_ptr<std::byte[]> staging =
          std::move(in->to_pass.begin()->second);
      in->to_pass.erase(in->to_pass.begin());
      const size_t begin = in->ended * in->part_bytes;
      const size_t size = std::min(in->part_bytes, in->bytes - begin);
      if (in->failure.ok() && size != 0) {
        in->passing = true;
        mu_.Unlock();
        in->sink(begin, absl::MakeConstSpan(staging.get(), size));
        mu_.Lock();
        in->passing = false;
      }
      staging_.push_back(std::move(staging));
      --staging_used_;
      ++in->ended;
      Peer &peer = peers_[in->peer];
      const bool whole = in->ended == in->parts;
      if (whole && in->failure.ok()) peer.matcher->End(in->tag);
      if (whole || (!in->failure.ok() && in->ended == in->begun))
        EndReceive(*in, actions);
      if (peer.goodbye_held) TakeGoodbye(in->peer, actions);
    }
  }
  return any;
}

}  // namespace commsched::transport::mpi
