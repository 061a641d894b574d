// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bound of what is on the way, on links of drawn rates whose queues are fluids: what is on the
// way and is not within the link waits in front of it, and each connection has the share of the rate
// that it has of the queue.
#include "grpc/base/send_queue.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "grpc/base/send_queues.h"

namespace commsched::transport {
namespace {

class Link {
 public:
  // Bytes a second; seconds there and back, without a queue; seconds that a queue has room for.
  Link(double rate, double base, double room) : rate_(rate), base_(base), room_(room) {}

  void SetRate(double rate) { rate_ = rate; }

  // A step of connections that always have something to send, with these bounds (0: none), beside
  // another one that fills the queue if `others`. Of each, what it has moved.
  void Step(const std::vector<uint64_t> &bounds, bool others, double seconds) {
    const double all = rate_ * (base_ + room_);
    const double ways = double(bounds.size()) + others;
    double on_the_way = others ? all / ways : 0;
    std::vector<double> own;
    for (uint64_t bound : bounds) {
      own.push_back(bound != 0 ? std::min(double(bound), all / ways) : all / ways);
      on_the_way += own.back();
    }
    if (others) on_the_way = std::max(on_the_way, all);  // it takes what is left
    rtt_ = std::max(base_, on_the_way / rate_);
    moved_.assign(own.size(), 0);
    for (size_t i = 0; i < own.size(); ++i) moved_[i] = own[i] / rtt_ * seconds;
    full_ = on_the_way >= rate_ * base_;
  }

  double rtt() const { return rtt_; }
  double queue() const { return rtt_ - base_; }
  const std::vector<double> &moved() const { return moved_; }

 private:
  double rate_, base_, room_, rtt_ = 0;
  bool full_ = false;
  std::vector<double> moved_;
};

// Of one process.
class Job {
 public:
  Job(int connections, double base) : bounds_(connections, queue_.bound()), base_(base) {}

  // `seconds` of it; the mean rate of all together, and the queue of most, of the last half.
  struct Found {
    double rate = 0, queue = 0;
  };
  Found Run(Link *link, double seconds, bool others = false, double busy = 1) {
    Found found;
    std::vector<double> queues;
    const int looks = int(seconds / SendQueue::kPeriod);
    for (int i = 0; i < looks; ++i) {
      link->Step(bounds_, others, SendQueue::kPeriod * busy);
      SendLook look = {.busy_s = SendQueue::kPeriod * busy, .queue_s = link->queue(), .least_rtt_s = base_};
      for (double bytes : link->moved()) look.bytes += bytes;
      const double on_the_way = link->rtt() * link->moved()[0] / look.busy_s;
      if (bounds_[0] != 0 && double(bounds_[0]) < 1.5 * on_the_way) look.limited_s = look.busy_s;
      bounds_.assign(bounds_.size(), queue_.Look(look));
      if (2 * i < looks) continue;
      found.rate += look.bytes / look.busy_s;
      queues.push_back(link->queue());
    }
    const double half = looks - (looks + 1) / 2;
    std::nth_element(queues.begin(), queues.begin() + queues.size() / 2, queues.end());
    return {found.rate / half, queues[queues.size() / 2]};
  }

  void Refuse() {
    queue_.Refused();
    bounds_.assign(bounds_.size(), 0);
  }
  uint64_t bound() const { return queue_.bound(); }

 private:
  SendQueue queue_;
  std::vector<uint64_t> bounds_;
  double base_;
};

struct Drawn {
  double rate, base, room;
  int connections;
};

template <typename Test>
void ForDrawnLinks(Test test) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto from = [&](double least, double most) {
      return least * std::pow(most / least, std::uniform_real_distribution<>(0, 1)(random));
    };
    const Drawn drawn = {from(1e6, 1.2e10), from(1e-5, 5e-2), from(1e-3, 5e-2), 1 + int(random() % 8)};
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << drawn.rate * 8e-6 << " Mbit/s, " << 1e3 * drawn.base << " ms, a queue of "
                                      << 1e3 * drawn.room << " ms, " << drawn.connections << " connections");
    test(drawn);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SendQueue, ALinkStaysBusyAndItsQueueShort) {
  ForDrawnLinks([](const Drawn &drawn) {
    Link link(drawn.rate, drawn.base, drawn.room);
    Job job(drawn.connections, drawn.base);
    const Job::Found found = job.Run(&link, 20);
    EXPECT_GT(found.rate, 0.95 * drawn.rate);
    // So much of each connection may be there in any case.
    EXPECT_LT(found.queue, std::max(5.5e-3, 1.2 * drawn.connections * SendQueue::kLeastBytes / drawn.rate));
  });
}

// What one look says of a link that is busy swings: packets have hardly waited at that moment, and for a part of the time
// the send buffer was full.
TEST(SendQueue, ALinkThatIsBusyIsGivenNoMore) {
  ForDrawnLinks([](const Drawn &drawn) {
    constexpr double kBound = SendQueue::kLeastBytes;
    std::mt19937_64 random(uint64_t(drawn.rate));
    const auto part = [&](double least, double most) { return std::uniform_real_distribution<>(least, most)(random); };
    const double base = 0.1 * kBound / drawn.rate, queue = kBound / drawn.rate - base;
    if (queue < 0.35e-3 || queue > 4e-3) return;  // too short to mind; long enough for others to be asked for
    SendQueue one;
    for (int i = 0; i < 6000; ++i) {
      const double busy = SendQueue::kPeriod * part(0.3, 1);
      ASSERT_EQ(one.Look({.bytes = drawn.rate * busy,
                          .busy_s = busy,
                          .limited_s = busy * part(0, 0.45),
                          .queue_s = queue * part(0.5, 1.5),
                          .least_rtt_s = base}),
                uint64_t(kBound));
    }
  });
}

TEST(SendQueue, AQueueOfOthersIsLeftToThem) {
  ForDrawnLinks([](const Drawn &drawn) {
    if (drawn.room < 6e-3) return;  // too short a queue to mind
    Link link(drawn.rate, drawn.base, drawn.room);
    Job job(drawn.connections, drawn.base);
    const Job::Found found = job.Run(&link, 600, /*others=*/true);
    const double fair = drawn.rate * drawn.connections / (drawn.connections + 1);
    EXPECT_GT(found.rate, 0.8 * fair);
  });
}

TEST(SendQueue, ALinkThatBecomesFasterIsUsed) {
  ForDrawnLinks([](const Drawn &drawn) {
    Link link(drawn.rate / 20, drawn.base, drawn.room);
    Job job(drawn.connections, drawn.base);
    job.Run(&link, 20);
    link.SetRate(drawn.rate);
    EXPECT_GT(job.Run(&link, 10).rate, 0.95 * drawn.rate);
  });
}

TEST(SendQueue, ALinkThatBecomesSlowerHasAShortQueueAgain) {
  ForDrawnLinks([](const Drawn &drawn) {
    Link link(drawn.rate, drawn.base, drawn.room);
    Job job(drawn.connections, drawn.base);
    job.Run(&link, 20);
    link.SetRate(drawn.rate / 5);
    const Job::Found found = job.Run(&link, 100);
    EXPECT_GT(found.rate, 0.95 * drawn.rate / 5);
    EXPECT_LT(found.queue, std::max(5.5e-3, 1.3 * 5 * drawn.connections * SendQueue::kLeastBytes / drawn.rate));
  });
}

TEST(SendQueue, ABoundThatTheSystemRefusesIsNotAskedForAgain) {
  Link link(1.25e10, 1e-2, 2e-2);
  Job job(1, 1e-2);
  job.Refuse();
  EXPECT_GT(job.Run(&link, 20).rate, 0.95 * 1.25e10);
  EXPECT_EQ(job.bound(), 0u);
}

int BufferLock(int fd) {
  int lock = -1;
  socklen_t size = sizeof(lock);
  getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &lock, &size);
  return lock;
}

// Connections of which one is closed, and its number is another socket's then.
TEST(SendQueues, OthersSocketsAreLeftAlone) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
  const int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(sender, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  const int receiver = accept(listener, nullptr, nullptr);
  BoundSendQueue(sender);
  BoundSendQueue(receiver);
  BoundSendQueue(-1);
  std::vector<char> bytes(1 << 16);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(write(sender, bytes.data(), bytes.size()), ssize_t(bytes.size()));
    for (size_t got = 0; got < bytes.size();) got += size_t(read(receiver, bytes.data(), bytes.size()));
    LookAtSendQueues();
  }
  const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(dup2(other, sender), sender);
  close(receiver);
  LookAtSendQueues();
  EXPECT_EQ(BufferLock(sender), 0);
  for (int fd : {sender, other, listener}) close(fd);
  LookAtSendQueues();
}

}  // namespace
}  // namespace commsched::transport
