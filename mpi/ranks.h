// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The MPI transport over a communicator: mpi/mpi_transport.h gives the one of
// all processes; tests make smaller ones.
//
// One lock, MpiMutex(), guards the state and the calls of MPI. Sinks and `done`
// run without it, in the thread that polls, one after the other.
#ifndef COMMSCHED_MPI_RANKS_H
#define COMMSCHED_MPI_RANKS_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "mpi/functions.h"
#include "mpi/mpi_transport.h"
#include "mpi/rings.h"
#include "mpi/wire.h"
#include "mpi/world.h"
#include "plan/packet_queue.h"
#include "runtime/base/sync.h"
#include "runtime/core/link_end.h"
#include "runtime/core/matcher.h"

namespace commsched::transport::mpi {

// How often it is looked whether processes of this host are still there.
inline constexpr int64_t kWatchNs = 50'000'000;
// Where ranks outnumber processors, in how many looks in vain one makes way for the work of
// another rank, in those at all there is and in those for one short message. A look takes less
// than a change of processes, and what is waited for may come from another processor meanwhile. Where
// a long message is copied, whoever copies has the processor at once.
inline constexpr unsigned kPollsUntilYield = 4, kTakesUntilYield = 16;

using runtime::MessageTag;
using runtime::core::LinkEnd;

// Of the same processes in the same order.
struct Communicators {
  MPI_Comm notes;  // control messages
  MPI_Comm parts;
};

inline int64_t NowNs() {
  return runtime::Clock::now().time_since_epoch().count();
}

// How many parts a message has; an empty one too.
inline size_t PartsOf(size_t bytes, size_t part) {
  return bytes == 0 ? 1 : (bytes + part - 1) / part;
}

// Of all processes of the job, after BeginMpi; for a connection beside earlier ones, whose
// number is not 0, with a communicator of its own for parts: all processes call it.
absl::StatusOr<Communicators> WorldOf(int connection, runtime::Clock::time_point deadline);
// How many of them are on this host, whether there are connections with them or not.
int ProcessesHere();

class MpiRanks final : public runtime::Transport {
 public:
  // `connection`: how many there were over this communicator before; the same
  // on all ranks. The communicators must outlive the transport.
  MpiRanks(Communicators over, int connection,
           runtime::TransportOptions options, MpiOptions mpi);
  ~MpiRanks() override;

  absl::Status Connect();

  int rank() const override { return options_.rank; }
  int nodes() const override { return options_.nodes; }
  const char *name() const override { return "mpi"; }
  void Send(int peer, MessageTag tag, int32_t priority,
            absl::Span<const std::byte> bytes, Done done) override;
  void Hold(const std::optional<plan::Urgency> &least) override;
  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
            Done done) override;
  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit,
                  Sink sink, Done done) override;
  void Abort(const absl::Status &why) override;
  void Close(absl::Duration flush) override;
  bool Poll() override;
  bool polls() const override { return true; }
  size_t takes_now() const override { return mpi_.share ? mpi_.ring_eager_bytes : 0; }
  bool TakeNow(int peer, MessageTag tag, size_t bytes,
               absl::FunctionRef<void(absl::Span<const std::byte>)> sink) override;
  uint64_t bytes_sent() const override { return bytes_sent_; }
  uint64_t bytes_received() const override { return bytes_received_; }

 private:
  struct Incoming;
  // A control message that MPI has.
  struct Note {
    MPI_Request request = Mpi().no_request;
    std::vector<std::byte> bytes;
  };
  struct Outgoing {
    int peer;
    MessageTag tag;
    int32_t priority;
    absl::Span<const std::byte> bytes;
    Done done;
    int id = 0;  // MPI tag of its parts
    size_t parts = 0, given = 0, ended = 0;
    absl::Status failure = {};
  };
  // Of a long message, one way or the other; neither: to be dropped.
  struct Part {
    std::shared_ptr<Outgoing> out;
    std::shared_ptr<Incoming> in;
    size_t number = 0;
    std::unique_ptr<std::byte[]> staging;
  };
  struct Incoming {
    int peer = 0;
    MessageTag tag;
    size_t bytes = 0;
    std::byte *buffer = nullptr;  // null: sink
    Sink sink;
    Done done;
    int id = 0;  // 0: not granted
    size_t part_bytes = 0;
    size_t parts = 0, begun = 0, ended = 0;
    bool passing = false;                                    // the sink runs
    std::map<size_t, std::unique_ptr<std::byte[]>> to_pass;  // by number
    const std::byte *place = nullptr;                        // where it is in the sender's memory
    absl::Status failure = {};
  };
  using Matcher =
      runtime::core::Matcher<std::shared_ptr<Outgoing>, std::shared_ptr<Incoming>,
                             std::vector<std::byte>>;
  struct Peer {
    explicit Peer(int number) : end(absl::StrCat("peer ", number)) {}
    bool hello = false, welcome = false;
    bool maps = false;                 // its memory can be mapped
    int process = -1;                  // of those: to see whether it is there (pidfd)
    bool gone = false;                 // it was not, the last time
    int stopped_looks = 0;             // in which it was stopped, one after the other
    const std::byte *rings = nullptr;  // mapped
    // What has no room in the ring to it, with headers.
    std::deque<std::pair<Header, std::vector<std::byte>>> backlog;
    std::map<uint64_t, std::pair<const std::byte *, size_t>> blocks;  // mapped
    std::map<int, std::shared_ptr<Outgoing>> placed;                  // by id: to be taken
    HelloBody theirs;
    uint64_t parts_sent = 0, parts_received = 0;
    bool goodbye_held = false;  // until all its parts are here
    uint64_t goodbye_parts = 0;
    LinkEnd end;
    int under_way = 0;               // parts to it
    std::optional<Matcher> matcher;  // since its welcome
    // Messages that go in parts.
    plan::PacketQueue<MessageTag, std::shared_ptr<Outgoing>, size_t> parts;
    // Nothing of ours is on its way to it.
    bool sent_all() const {
      return (!matcher || matcher->sends() == 0) && placed.empty();
    }
    bool idle() const {
      return (!matcher || matcher->idle()) && placed.empty();
    }
  };
  // What is to be run without the lock.
  struct Action {
    Done done;
    absl::Status status;
    absl::AnyInvocable<void()> other;  // if there is no `done`
  };
  using Actions = absl::InlinedVector<Action, 2>;

  // connection.cc
  void SayHello();
  absl::Status CheckHello(int peer);
  bool MapRings(int peer);
  void TakeWelcome(int peer, bool mapped);
  absl::Status Late();
  void StopNotes();

  // notes.cc
  void Tell(int peer, Header header, absl::Span<const std::byte> payload = {});
  void TakeNotes(Actions *actions);
  bool TakeRings(Actions *actions);
  void Peek(absl::FunctionRef<bool()> here) const;
  void FlushBacklog(int peer);
  void TakeNote(int peer, const Header &header,
                absl::Span<const std::byte> payload, Actions *actions);

  // failures.cc
  void End(int peer, const LinkEnd::Outcome &outcome, Actions *actions);
  void FailPending(int peer, Actions *actions);
  void FailProtocol(int peer, const absl::Status &what, Actions *actions);
  void Report(int peer, Actions *actions);
  void AbortAll(const absl::Status &why, Actions *actions);
  void TakeGoodbye(int peer, Actions *actions);

  // polling.cc
  void Check(int code, const char *call);
  void RunAll(Actions actions);
  void RunNow(Actions &actions);
  void Later(absl::AnyInvocable<void()> action, Actions *actions);
  void Finish(Done done, absl::Status status, Actions *actions);
  bool SendsDone() const;
  bool Idle() const;  // nothing is under way or waited for
  bool Progress(Actions *actions);
  bool LongUnderWay() const;  // what a look does not take at once
  bool MpiIsDue();
  bool PollOnce();
  void PollUntil(runtime::Clock::time_point deadline,
                 absl::FunctionRef<bool()> condition);
  void Loop();

  // messages.cc
  void Receive(std::shared_ptr<Incoming> incoming);
  // The payload of a short message to its receive, which ends.
  void Deliver(Incoming &incoming, absl::Span<const std::byte> payload, Actions *actions);
  void TakeEager(int peer, const Header &header,
                 absl::Span<const std::byte> payload, Actions *actions);
  void TakeAnnounce(int peer, const Header &header, Actions *actions);
  void TakeGrant(int peer, const Header &header, Actions *actions);
  void TakeCredit(int peer, const Header &header, Actions *actions);
  void TellControls(int peer);
  void Grant(const std::shared_ptr<Incoming> &incoming);
  void MakeReady(const std::shared_ptr<Outgoing> &outgoing, int id,
                 bool share);
  void EndReceive(Incoming &incoming, Actions *actions);

  // processes.cc
  void WatchProcesses();

  // places.cc
  void TakePlace(int peer, const Header &header, const PlaceBody &body,
                 Actions *actions);
  void TakeTaken(int peer, const Header &header, Actions *actions);
  void PassPlaced(const std::shared_ptr<Incoming> &incoming, Actions *actions);

  // parts.cc
  void GiveParts(int peer);
  bool TakeParts();
  bool TestParts(Actions *actions);
  void EndPart(Part part, Actions *actions);
  bool PassParts(Actions *actions);
  std::unique_ptr<std::byte[]> Staging();

  const Communicators over_;
  const int note_tag_;
  const runtime::TransportOptions options_;
  const MpiOptions mpi_;
  std::atomic<uint64_t> bytes_sent_{0}, bytes_received_{0};

  runtime::Mutex &mu_;
  runtime::CondVar changed_;
  std::vector<Peer> peers_;
  bool connecting_ = true;
  absl::Status connect_error_;
  bool closing_ = false, closed_ = false, aborted_ = false;
  bool polling_ = false;
  int64_t moved_at_ = 0;  // the last poll that found something; in ns
  // Running or about to; more of them only under the lock. Whoever lowers it touches nothing
  // after that: Close looks at it now and then.
  std::atomic<int> callbacks_{0};
  runtime::core::Controls controls_;

  // Control messages: a ring of receives, taken in the order of posting.
  struct Slot {
    std::vector<std::byte> bytes;
    MPI_Request request = Mpi().no_request;
  };
  std::vector<Slot> slots_;
  size_t next_slot_ = 0;
  std::list<Note> notes_;  // that MPI has not sent yet
  std::vector<std::vector<std::byte>> spare_notes_;

  // Parts under way: same indices.
  std::vector<MPI_Request> requests_;
  std::vector<Part> parts_;
  std::vector<int> finished_;  // scratch of MPI_Testsome
  // Granted and not ended, by (peer, id).
  std::map<std::pair<int, int>, std::shared_ptr<Incoming>> granted_;
  size_t staging_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> staging_;  // unused
  int staging_used_ = 0;
  std::deque<std::shared_ptr<Incoming>> to_pass_;
  // Of ranks of this host, of which `ringed_` have been joined.
  std::byte *block_ = nullptr;
  std::unique_ptr<Rings> rings_;
  std::vector<int> ringed_;
  size_t partners_ = 0;   // ranks that there are connections with
  bool crowded_ = false;  // ranks of this host outnumber its processors
  unsigned looks_ = 0;
  unsigned vain_polls_ = 0, vain_takes_ = 0;  // only where it is crowded
  absl::Status mpi_error_;

  int64_t watched_at_ = 0;          // processes; in ns
  std::atomic<uint64_t> polls_{0};  // by others than the own thread, roughly
  bool stop_ = false;
  std::thread thread_;
};

// Over all processes of the communicators, whose ranks are the transport's.
absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectMpiOver(
    Communicators over, int connection, runtime::TransportOptions options,
    MpiOptions mpi);

}  // namespace commsched::transport::mpi

#endif  // COMMSCHED_MPI_RANKS_H
