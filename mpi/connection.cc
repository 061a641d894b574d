// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connecting the ranks of an MPI job, and the end.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mpi/ranks.h"
#include "runtime/base/shared_memory.h"
#include "runtime/core/greeting.h"

namespace commsched::transport::mpi {

using runtime::Clock;
using runtime::MutexLock;

namespace {

constexpr size_t kSlots = 16;
constexpr size_t kMaxEager = size_t{1} << 20;
constexpr auto kGrace = std::chrono::seconds(1);

// A hash of this host's name.
uint64_t OwnHost() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char *c = name; *c != 0; ++c)
    hash = (hash ^ uint64_t(*c)) * 1099511628211u;
  return hash;
}

int Processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

MpiOptions Clamped(MpiOptions options) {
  options.eager_bytes = std::min(options.eager_bytes, kMaxEager);
  options.ring_eager_bytes = std::min(options.ring_eager_bytes, Rings::kLargest);
  options.part_bytes =
      std::clamp<size_t>(options.part_bytes, size_t{4} << 10, size_t{1} << 30) /
      64 * 64;
  options.window = std::max(1, options.window);
  return options;
}

}  // namespace

MpiRanks::MpiRanks(Communicators over, int connection,
                   runtime::TransportOptions options, MpiOptions mpi)
    : over_(over),
      note_tag_(1 + connection % kConnections),
      options_(std::move(options)),
      mpi_(Clamped(mpi)),
      mu_(MpiMutex()) {}

MpiRanks::~MpiRanks() { Close(absl::ZeroDuration()); }

// --- Connecting -------------------------------------------------------------

absl::Status MpiRanks::Connect() {
  const Clock::time_point deadline = runtime::After(options_.connect_deadline);
  int size = 0, rank = 0;
  {
    MutexLock lock(&mu_);
    Mpi().Comm_size(over_.notes, &size);
    Mpi().Comm_rank(over_.notes, &rank);
    if (options_.nodes < 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "number of nodes must be positive, got: ", options_.nodes));
    if (options_.rank < 0 || options_.rank >= options_.nodes)
      return absl::InvalidArgumentError(absl::StrCat(
          "rank must be in [0, ", options_.nodes, "), got: ", options_.rank));
    if (options_.rank != rank)
      return absl::InvalidArgumentError(
          absl::StrCat("rank must match the one in the MPI job, ", rank,
                       ", got: ", options_.rank));
    for (int peer = 0; peer < size; ++peer) {
      peers_.emplace_back(peer);
      partners_ += options_.IsPartner(peer);
    }
    slots_.resize(kSlots);
    for (Slot &slot : slots_) {
      slot.bytes.resize(sizeof(Header) +
                        std::max(mpi_.eager_bytes, runtime::core::kMaxAbortText));
      Check(Mpi().Irecv(slot.bytes.data(), int(slot.bytes.size()), Mpi().byte,
                        MPI_ANY_SOURCE, note_tag_, over_.notes, &slot.request),
            "MPI_Irecv");
    }
    SayHello();
  }
  absl::Status error;
  PollUntil(deadline, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !connect_error_.ok() || !mpi_error_.ok() ||
           std::all_of(peers_.begin(), peers_.end(),
                       [&](const Peer &p) {
                         return p.welcome || !options_.IsPartner(int(&p - peers_.data()));
                       });
  });
  MutexLock lock(&mu_);
  error = !mpi_error_.ok() ? mpi_error_ : connect_error_;
  if (error.ok() && size != options_.nodes)
    error = absl::FailedPreconditionError(
        absl::StrCat("number of nodes must match the ", size,
                     " processes of the MPI job, got: ", options_.nodes));
  if (error.ok()) error = Late();
  if (error.ok()) {
    connecting_ = false;
    thread_ = std::thread([this] { Loop(); });
    return absl::OkStatus();
  }
  Actions none;
  AbortAll(error, &none);
  return error;
}

void MpiRanks::SayHello() {
  HelloBody hello;
  hello.nodes = options_.nodes;
  hello.plan_digest = options_.plan_digest;
  hello.epoch = options_.epoch;
  hello.unexpected_bytes = options_.unexpected_bytes;
  hello.eager_bytes = mpi_.eager_bytes;
  hello.ring_eager_bytes = mpi_.ring_eager_bytes;
  hello.part_bytes = mpi_.part_bytes;
  hello.host = OwnHost();
  hello.process = int32_t(getpid());
  const int nodes = int(peers_.size());
  const size_t bytes = Rings::BlockBytes(nodes);
  if (mpi_.share) {
    runtime::ShareMemory();
    block_ = runtime::AllocateShared(bytes + sizeof(hello.number));
  }
  if (block_ != nullptr) {
    hello.number = uint64_t(NowNs()) * 2654435761u + uint64_t(getpid());
    std::memcpy(block_ + bytes, &hello.number, sizeof(hello.number));
    hello.file = runtime::PlaceOf(block_, 1)->file;
    rings_ = std::make_unique<Rings>(options_.rank, nodes, block_);
  }
  for (size_t peer = 0; peer < peers_.size(); ++peer)
    if (options_.IsPartner(int(peer)))
      Tell(int(peer), Header{.kind = kHello},
           {reinterpret_cast<const std::byte *>(&hello), sizeof(hello)});
}

absl::Status MpiRanks::CheckHello(int from) {
  Peer &peer = peers_[size_t(from)];
  const HelloBody &theirs = peer.theirs;
  const auto refused = [&](const std::string &why) {
    return peer.end.Named(absl::StatusCode::kFailedPrecondition, why);
  };
  const runtime::core::Greeting own = {.protocol = kMagic,
                                       .epoch = options_.epoch,
                                       .nodes = options_.nodes,
                                       .rank = options_.rank,
                                       .to = from,
                                       .plan_digest = options_.plan_digest};
  const std::string why =
      JudgeEqual(own,
                 {.protocol = theirs.magic,
                  .epoch = theirs.epoch,
                  .nodes = theirs.nodes,
                  .rank = from,
                  .to = options_.rank,
                  .plan_digest = theirs.plan_digest},
                 options_.IsPartner(from))
          .why;
  if (!why.empty()) return refused(why);
  if (theirs.part_bytes == 0 || theirs.part_bytes > (size_t{1} << 30) ||
      theirs.part_bytes % 64 != 0)
    return refused(absl::StrCat("size of parts must match ", mpi_.part_bytes,
                                ", got: ", theirs.part_bytes));
  staging_bytes_ = std::max<size_t>(staging_bytes_, theirs.part_bytes);
  peer.maps = MapRings(from);
  peer.hello = true;
  Tell(from, Header{.kind = kWelcome, .id = peer.maps});
  return absl::OkStatus();
}

bool MpiRanks::MapRings(int of) {
  Peer &peer = peers_[size_t(of)];
  const HelloBody &theirs = peer.theirs;
  if (rings_ == nullptr || theirs.file < 0 || theirs.host != OwnHost())
    return false;
  const size_t bytes = Rings::BlockBytes(int(peers_.size()));
  const size_t whole = bytes + sizeof(theirs.number);
  const std::byte *block = runtime::MapOf(theirs.process, theirs.file, whole);
  if (block == nullptr) return false;
  if (std::memcmp(block + bytes, &theirs.number, sizeof(theirs.number)) != 0) {
    runtime::Unmap(block, whole);
    return false;
  }
  peer.rings = block;
  return true;
}

// The last that comes from the peer without rings, if there are any.
void MpiRanks::TakeWelcome(int from, bool mapped) {
  Peer &peer = peers_[size_t(from)];
  peer.welcome = true;
  const bool rings = mapped && peer.maps;
  const size_t eager =
      rings ? std::min<size_t>(mpi_.ring_eager_bytes, peer.theirs.ring_eager_bytes)
            : std::min<size_t>(mpi_.eager_bytes, peer.theirs.eager_bytes);
  std::vector<Matcher::Going> none;
  peer.matcher.emplace(runtime::core::MessageLimits{eager, options_.unexpected_bytes});
  peer.matcher->Open({eager, peer.theirs.unexpected_bytes}, &none, &controls_);
  if (!rings) return;
  rings_->Join(from, peer.rings);
  // Absent in old kernels: then nobody looks.
  peer.process = int(syscall(SYS_pidfd_open, peer.theirs.process, 0));
  ringed_.push_back(from);
  static const int processors = Processors();
  crowded_ = ProcessesHere() > processors;
}

absl::Status MpiRanks::Late() {
  std::vector<int> missing;
  for (int peer = 0; peer < int(peers_.size()); ++peer)
    if (options_.IsPartner(peer) && !peers_[size_t(peer)].welcome)
      missing.push_back(peer);
  if (missing.empty()) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(
      missing.size() == 1 ? "peer " : "peers ", absl::StrJoin(missing, ", "),
      " did not join within ", absl::FormatDuration(options_.connect_deadline)));
}

// --- The end ----------------------------------------------------------------

void MpiRanks::StopNotes() {
  for (Slot &slot : slots_) {
    if (slot.request == Mpi().no_request) continue;
    Mpi().Cancel(&slot.request);
    Mpi().Wait(&slot.request, MPI_STATUS_IGNORE);
  }
  // What a peer that is gone has not taken stays with MPI.
  static auto *left = new std::list<Note>;
  for (auto note = notes_.begin(); note != notes_.end();) {
    int done = 0;
    Mpi().Test(&note->request, &done, MPI_STATUS_IGNORE);
    auto next = std::next(note);
    if (!done) left->splice(left->end(), notes_, note);
    note = next;
  }
  notes_.clear();
}

void MpiRanks::Close(absl::Duration flush) {
  const Clock::time_point deadline = runtime::After(flush);
  {
    MutexLock lock(&mu_);
    if (closed_ || closing_) return;
    closing_ = true;
    if (peers_.empty()) {
      closed_ = true;
      return;
    }
  }
  Hold(std::nullopt);
  PollUntil(deadline, [&] { return SendsDone(); });
  Actions actions;
  {
    MutexLock lock(&mu_);
    for (size_t peer = 0; peer < peers_.size(); ++peer)
      if (options_.IsPartner(int(peer))) End(int(peer), peers_[peer].end.Close(), &actions);
  }
  RunAll(std::move(actions));
  // Peers answer at once; one that has gone without a word does not.
  PollUntil(std::max(deadline, Clock::now() + kGrace), [&] {
    return notes_.empty() &&
           std::all_of(peers_.begin(), peers_.end(), [&](const Peer &peer) {
             return (peer.end.heard_last() || !peer.hello) && peer.backlog.empty();
           });
  });
  // Parts that no one takes any more stay with MPI, which does not touch their
  // memory unless they are taken.
  PollUntil(Clock::now() + kGrace, [&] { return requests_.empty(); });
  {
    MutexLock lock(&mu_);
    stop_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  actions.clear();
  {
    MutexLock lock(&mu_);
    closed_ = true;
    while (polling_) changed_.Wait(&mu_);
    for (Part &part : parts_) {
      if (part.out != nullptr && part.out->done)
        Finish(std::move(part.out->done),
               absl::CancelledError("the transport is closed"), &actions);
      if (part.in != nullptr && part.in->done) {
        part.in->failure = absl::CancelledError("the transport is closed");
        EndReceive(*part.in, &actions);
      }
    }
    StopNotes();
    for (Peer &peer : peers_) {
      for (auto &[number, block] : peer.blocks)
        if (block.first != nullptr) runtime::Unmap(block.first, block.second);
      if (peer.process >= 0) close(peer.process);
      peer.process = -1;
      if (peer.rings != nullptr)
        runtime::Unmap(peer.rings, Rings::BlockBytes(int(peers_.size())) +
                                       sizeof(HelloBody::number));
    }
    rings_.reset();
    ringed_.clear();
    if (block_ != nullptr) runtime::FreeShared(block_);
    block_ = nullptr;
  }
  RunAll(std::move(actions));
  MutexLock lock(&mu_);
  while (callbacks_ > 0) changed_.WaitUntil(&mu_, Clock::now() + std::chrono::milliseconds(1));
}

absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectMpiOver(
    Communicators over, int connection, runtime::TransportOptions options,
    MpiOptions mpi) {
  auto transport =
      std::make_unique<MpiRanks>(over, connection, std::move(options), mpi);
  if (absl::Status status = transport->Connect(); !status.ok()) {
    transport->Close(absl::ZeroDuration());
    return status;
  }
  return transport;
}

}  // namespace commsched::transport::mpi

namespace commsched::transport {

absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectMpi(
    runtime::TransportOptions options, MpiOptions mpi) {
  static int connections = 0;
  absl::StatusOr<MpiWorld> world = BeginMpi();
  if (!world.ok()) return world.status();
  int connection;
  {
    runtime::MutexLock lock(&MpiMutex());
    connection = connections++;
  }
  auto over = mpi::WorldOf(connection, runtime::After(options.connect_deadline));
  if (!over.ok()) return over.status();
  return mpi::ConnectMpiOver(*over, connection, std::move(options), mpi);
}

}  // namespace commsched::transport
