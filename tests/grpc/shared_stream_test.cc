// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams through shared memory, over streams that do nothing but end; and how two sides
// come to the memory, or do not.
#include "grpc/base/shared_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/base/sync.h"
#include "tests/cases.h"

namespace commsched::transport::shared_stream_test {
namespace {

using runtime::CondVar;
using runtime::Mutex;
using runtime::MutexLock;

constexpr size_t kLittle = size_t{64} << 10;

// Two ends of shared memory.
struct Ends {
  std::shared_ptr<SharedWire> dials, accepts;
};
Ends MakeEnds(size_t payload = kLittle) {
  Ends ends;
  auto offer = SharedOffer::Make();
  EXPECT_NE(offer, nullptr);
  auto dials = JoinSharedWire(offer->socket(), offer->key(), payload);
  EXPECT_TRUE(dials.ok()) << dials.status();
  auto accepts = offer->Take();
  EXPECT_TRUE(accepts.ok()) << accepts.status();
  if (dials.ok() && accepts.ok()) ends = {*dials, *accepts};
  return ends;
}

// What is below: ends when it is told to.
class Below final : public Stream {
 public:
  void set_handler(StreamHandler *handler) override { handler_ = handler; }
  void Read() override {}
  bool Write(grpc::ByteBuffer &&) override { return false; }
  void End(absl::Status status) override { Close(std::move(status)); }
  void Cancel() override { Close(absl::CancelledError("dropped")); }
  std::string peer() override { return "test"; }
  void Close(absl::Status status) {
    if (!closed_.exchange(true)) handler_->OnClosed(std::move(status));
  }

 private:
  StreamHandler *handler_ = nullptr;
  std::atomic<bool> closed_{false};
};

std::string BytesOf(const grpc::ByteBuffer &packet) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  EXPECT_TRUE(packet.Dump(&slices).ok());
  for (const grpc::Slice &slice : slices)
    bytes.append(reinterpret_cast<const char *>(slice.begin()), slice.size());
  return bytes;
}

// Writes packets one after the other, in slices. A thread of its own lets go of what it has
// read, later and in any order: only then it looks at it.
class Handler final : public StreamHandler {
 public:
  Handler() : keeper_([this] { Keep(); }) {}
  ~Handler() override {
    {
      MutexLock lock(&mu_);
      over_ = true;
      changed_.SignalAll();
    }
    keeper_.join();
  }
  void Begin(std::shared_ptr<Stream> stream, std::vector<std::string> packets, uint64_t seed) {
    {
      MutexLock lock(&mu_);
      stream_ = stream;
      to_write_ = std::move(packets);
      random_.seed(seed);
    }
    stream->set_handler(this);
    stream->Read();
    WriteNext();
  }
  void OnRead(grpc::ByteBuffer packet) override {
    std::shared_ptr<Stream> stream;
    {
      MutexLock lock(&mu_);
      kept_.emplace_back(got_.size(), std::move(packet));
      got_.emplace_back();
      stream = stream_;
      changed_.SignalAll();
    }
    stream->Read();
  }
  void OnWritten(bool ok) override {
    {
      MutexLock lock(&mu_);
      written_ += ok;
    }
    if (ok) WriteNext();
  }
  void OnClosed(absl::Status status) override {
    MutexLock lock(&mu_);
    EXPECT_FALSE(closed_);
    closed_ = true;
    status_ = std::move(status);
    changed_.SignalAll();
  }
  // Why it was closed.
  absl::Status Closed() {
    MutexLock lock(&mu_);
    while (!closed_ || !kept_.empty()) changed_.Wait(&mu_);
    stream_ = nullptr;
    return status_;
  }
  void WaitForPackets(size_t count) {
    MutexLock lock(&mu_);
    while (got_.size() < count && !closed_) changed_.Wait(&mu_);
  }
  std::vector<std::string> got() {
    MutexLock lock(&mu_);
    return got_;
  }
  size_t written() {
    MutexLock lock(&mu_);
    return written_;
  }

 private:
  void Keep() {
    MutexLock lock(&mu_);
    while (true) {
      while (kept_.empty() && !over_) changed_.Wait(&mu_);
      if (kept_.empty()) return;
      const size_t i = random_() % kept_.size();
      got_[kept_[i].first] = BytesOf(kept_[i].second);
      kept_.erase(kept_.begin() + ptrdiff_t(i));
      changed_.SignalAll();
    }
  }
  void WriteNext() {
    grpc::ByteBuffer packet;
    std::shared_ptr<Stream> stream;
    {
      MutexLock lock(&mu_);
      if (next_ == to_write_.size()) return;
      std::vector<grpc::Slice> slices;
      absl::string_view text = to_write_[next_++];
      while (!text.empty()) {
        const size_t size = std::min<size_t>(text.size(), 1 + random_() % 40'000);
        slices.emplace_back(std::string(text.substr(0, size)));
        text.remove_prefix(size);
      }
      packet = grpc::ByteBuffer(slices.data(), slices.size());
      stream = stream_;
    }
    stream->Write(std::move(packet));
  }

  Mutex mu_;
  CondVar changed_;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> to_write_ ABSL_GUARDED_BY(mu_);
  size_t next_ ABSL_GUARDED_BY(mu_) = 0, written_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::pair<size_t, grpc::ByteBuffer>> kept_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> got_ ABSL_GUARDED_BY(mu_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false, over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::thread keeper_;
};

// Some as long as several rings, most short; none is empty, as packets are not.
std::vector<std::string> RandomPackets(std::mt19937_64 &random) {
  std::vector<std::string> packets(random() % 60);
  for (std::string &packet : packets) {
    const size_t most = random() % 8 == 0 ? 5 * kLittle : random() % 2 == 0 ? kLittle
                                                                            : 300;
    packet.resize(1 + random() % most);
    for (char &c : packet) c = char(random());
  }
  return packets;
}

TEST(SharedStream, PacketsComeAsTheyWereWrittenBothWays) {
  const Cases cases = casesOf(30);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    Ends ends = MakeEnds();
    ASSERT_NE(ends.accepts, nullptr);
    const std::vector<std::string> packets[2] = {RandomPackets(random), RandomPackets(random)};
    Handler handlers[2];
    auto below = std::make_shared<Below>(), other = std::make_shared<Below>();
    SharedLoop loops[2];
    auto dials = ShareStream(below, std::move(ends.dials), &loops[0]);
    // What is written before the other side is there stays for it.
    handlers[0].Begin(dials, packets[0], seed);
    auto accepts = ShareStream(other, std::move(ends.accepts), &loops[1]);
    handlers[1].Begin(accepts, packets[1], seed + 1);
    // The stream of one side ends when all has been written, perhaps not read: as where a
    // process ends in good order.
    handlers[0].WaitForPackets(packets[1].size());
    while (handlers[0].written() < packets[0].size()) std::this_thread::yield();
    below->Close(absl::OkStatus());
    other->Close(absl::OkStatus());
    for (int side = 0; side < 2; ++side) {
      EXPECT_TRUE(handlers[side].Closed().ok());
      EXPECT_TRUE(handlers[side].got() == packets[1 - side]) << "seed " << seed;
    }
    EXPECT_FALSE(dials->Write(grpc::ByteBuffer()));
  }
}

// A writer that waits for room when the other side goes hears that.
TEST(SharedStream, WhoWaitsForRoomHearsTheEnd) {
  Ends ends = MakeEnds();
  ASSERT_NE(ends.accepts, nullptr);
  SharedLoop loop;
  Handler handler;
  auto below = std::make_shared<Below>();
  auto dials = ShareStream(below, std::move(ends.dials), &loop);
  handler.Begin(dials, std::vector<std::string>(5, std::string(kLittle / 2, 'x')), 1);
  EXPECT_LT(handler.written(), 5u);  // nobody reads
  below->Close(absl::UnavailableError("gone"));
  EXPECT_EQ(handler.Closed().message(), "gone");
  EXPECT_LT(handler.written(), 5u);
}

// What a broken peer writes into its lane ends the stream with one error, or is a packet of
// other bytes; nothing else of this process is read.
TEST(SharedStream, ADamagedLaneIsAnError) {
  const Cases cases = casesOf(200);
  int errors = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    Ends ends = MakeEnds();
    ASSERT_NE(ends.accepts, nullptr);
    using Memory = runtime::LaneMemory<PartHeader>;
    const Memory lane(ends.dials->shape(), ends.dials->own());
    const size_t count = 1 + random() % 5;
    const size_t bad = random() % count;
    for (uint64_t i = 0; i < count; ++i) {
      Memory::Slot &slot = lane.slot(i);
      slot.offset = 64 * i;
      slot.header = {.payload = 64, .more = 0};
      slot.number = i + 1;
    }
    Memory::Slot &slot = lane.slot(bad);
    switch (seed % 4) {
      case 0:
        slot.offset = random() % 2 == 0 ? random() : kLittle - random() % 64;
        break;
      case 1:
        slot.header.payload = uint32_t(random() % 2 == 0 ? random() | kLittle : 0);
        break;
      case 2:
        slot.header.more = uint32_t(2 + random() % 1000);
        break;
      case 3:  // goes on and on
        for (uint64_t i = 0; i < ends.dials->shape().messages; ++i) {
          lane.slot(i).number = i + 1;
          lane.slot(i).offset = 0;
          lane.slot(i).header = {.payload = uint32_t(kLittle), .more = 1};
        }
    }
    SharedLoop loop;
    Handler handler;
    auto below = std::make_shared<Below>();
    auto accepts = ShareStream(below, std::move(ends.accepts), &loop);
    handler.Begin(accepts, {}, seed);
    if (seed % 4 == 3) {
      // Not longer than all that is there, and less than a packet may have: waits for more.
      below->Close(absl::UnavailableError("gone"));
      EXPECT_FALSE(handler.Closed().ok());
      continue;
    }
    const absl::Status status = handler.Closed();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << seed;
    EXPECT_EQ(status.message(), "the shared memory is damaged");
    EXPECT_EQ(handler.got().size(), bad);
    ++errors;
  }
  EXPECT_GT(errors, 0);
}

TEST(SharedWire, OnlyWhoHasTheKeyPassesMemory) {
  auto offer = SharedOffer::Make();
  ASSERT_NE(offer, nullptr);
  auto stranger = JoinSharedWire(offer->socket(), std::string(32, 'x'), kLittle);
  ASSERT_TRUE(stranger.ok()) << stranger.status();  // it cannot know
  EXPECT_EQ(offer->Take().status().code(), absl::StatusCode::kNotFound);
  // And it does not keep out who has.
  stranger = JoinSharedWire(offer->socket(), std::string(32, 'x'), kLittle);
  auto friendly = JoinSharedWire(offer->socket(), offer->key(), kLittle);
  ASSERT_TRUE(friendly.ok()) << friendly.status();
  EXPECT_TRUE(offer->Take().ok());
}

TEST(SharedWire, OffersThatAreNone) {
  const std::string key(32, 'k');
  for (const std::string &name : {std::string(), std::string(108, 'x'), std::string("nobody")})
    EXPECT_FALSE(JoinSharedWire(name, key, kLittle).ok()) << name;
  auto offer = SharedOffer::Make();
  ASSERT_NE(offer, nullptr);
  EXPECT_FALSE(JoinSharedWire(offer->socket(), "short", kLittle).ok());
  for (size_t payload : {size_t{0}, kLittle - 1, kLittle + 64, size_t{1} << 40})
    EXPECT_FALSE(JoinSharedWire(offer->socket(), offer->key(), payload).ok()) << payload;
}

// In a child process: its exit status.
int InChild(const std::function<bool()> &holds) {
  const pid_t child = fork();
  if (child == 0) _exit(holds() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(SharedWire, AnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  auto offer = SharedOffer::Make();
  ASSERT_NE(offer, nullptr);
  EXPECT_EQ(InChild([&] {
              if (seteuid(65534) != 0) return false;
              return JoinSharedWire(offer->socket(), offer->key(), kLittle).status().code() ==
                     absl::StatusCode::kPermissionDenied;
            }),
            0);
  EXPECT_EQ(offer->Take().status().code(), absl::StatusCode::kNotFound);
}

// Memory that the system does not give is found out at once, not by who writes to it.
TEST(SharedWire, NoMemoryIsAnError) {
  auto offer = SharedOffer::Make();
  ASSERT_NE(offer, nullptr);
  EXPECT_EQ(InChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit little = {4096, 4096};
              if (setrlimit(RLIMIT_FSIZE, &little) != 0) return false;
              const absl::Status status =
                  JoinSharedWire(offer->socket(), offer->key(), kLittle).status();
              return !status.ok() && absl::StrContains(status.message(), "posix_fallocate");
            }),
            0);
}

// Passes a file of `bytes` with `seals`, as who dials does.
absl::Status TakenOf(size_t bytes, int seals, bool regular) {
  auto offer = SharedOffer::Make();
  EXPECT_NE(offer, nullptr);
  const int to = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, offer->socket().data(), offer->socket().size());
  EXPECT_EQ(connect(to, reinterpret_cast<sockaddr *>(&address),
                    socklen_t(offsetof(sockaddr_un, sun_path) + 1 + offer->socket().size())),
            0);
  int files[3] = {memfd_create("test", MFD_ALLOW_SEALING), eventfd(0, EFD_NONBLOCK),
                  eventfd(0, EFD_NONBLOCK)};
  EXPECT_EQ(ftruncate(files[0], off_t(bytes)), 0);
  EXPECT_EQ(fcntl(files[0], F_ADD_SEALS, seals), 0);
  if (!regular) std::swap(files[0], files[1]);
  std::string note = offer->key() + std::string(8, 0);
  const uint64_t payload = kLittle;
  std::memcpy(note.data() + 32, &payload, sizeof(payload));
  iovec data = {note.data(), note.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(files))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(files));
  std::memcpy(CMSG_DATA(header), files, sizeof(files));
  EXPECT_EQ(sendmsg(to, &message, 0), ssize_t(note.size()));
  const absl::Status status = offer->Take().status();
  for (int file : files) close(file);
  close(to);
  return status;
}

// A file that is too short, or can be made shorter, would kill who reads behind its end.
TEST(SharedWire, OnlyMemoryThatKeepsItsSizeIsTaken) {
  const size_t bytes =
      2 * runtime::LaneMemory<PartHeader>::Bytes(MakeEnds().dials->shape());
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_TRUE(TakenOf(bytes, seals, true).ok());
  EXPECT_EQ(TakenOf(bytes, F_SEAL_GROW | F_SEAL_SEAL, true).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(TakenOf(bytes, F_SEAL_SHRINK | F_SEAL_GROW, true).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(TakenOf(bytes - 4096, seals, true).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(TakenOf(bytes, seals, false).code(), absl::StatusCode::kDataLoss);
}

TEST(SharedWire, NobodyKeepsTheFileOpen) {
  Ends ends = MakeEnds();
  ASSERT_NE(ends.accepts, nullptr);
  for (int file = 0; file < 1024; ++file)
    EXPECT_LE(fcntl(file, F_GET_SEALS), 0) << "of file " << file;
}

}  // namespace
}  // namespace commsched::transport::shared_stream_test
