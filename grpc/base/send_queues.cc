// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/send_queues.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "grpc/base/send_queue.h"
#include "runtime/base/sync.h"

namespace commsched::transport {
namespace {

// The kernel counts what a buffer takes of its memory, of which this share is bytes of a connection.
constexpr double kOfMemory = 0.75;

// What the system has counted of a connection since it began, and what it thinks of it.
struct Counts {
  uint64_t acknowledged = 0;  // bytes
  double busy_s = 0, limited_s = 0, rtt_s = 0, least_rtt_s = 0;
};

struct Socket {
  int fd = -1;
  uint64_t cookie = 0;  // no other socket has it
  uint64_t bound = 0;   // that it has
  bool looked_at = false;
  Counts before = {};
};

struct Sockets {
  runtime::Mutex mu;
  std::vector<Socket> all ABSL_GUARDED_BY(mu);
  SendQueue queue ABSL_GUARDED_BY(mu);
};

// Never destroyed: threads of gRPC outlive everything.
Sockets &Known() {
  static auto *known = new Sockets;
  return *known;
}

template <typename T>
bool Get(int fd, int level, int name, T *value) {
  socklen_t size = sizeof(*value);
  return getsockopt(fd, level, name, value, &size) == 0;
}

bool Count(int fd, Counts *counts) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  if (size < offsetof(tcp_info, tcpi_sndbuf_limited) + sizeof(info.tcpi_sndbuf_limited)) return false;
  constexpr double kMicro = 1e-6;
  *counts = {.acknowledged = info.tcpi_bytes_acked,
             .busy_s = kMicro * double(info.tcpi_busy_time),
             .limited_s = kMicro * double(info.tcpi_sndbuf_limited),
             .rtt_s = kMicro * info.tcpi_rtt,
             .least_rtt_s = kMicro * info.tcpi_min_rtt};
  return true;
}

// As if it had never been set.
void Unbound(int fd) {
  const int none = 0;
  setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &none, sizeof(none));
}

// False if the system allows less only (net.core.wmem_max). A socket that has been closed in between refuses nothing.
bool Bound(int fd, uint64_t bytes) {
  // The kernel doubles what it is given.
  const int wanted = int(std::min(double(bytes) / kOfMemory / 2, 1e9));
  int set = 0;
  return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted)) != 0 || !Get(fd, SOL_SOCKET, SO_SNDBUF, &set) ||
         set / 2 >= wanted;
}

// False once it is closed. Closed and opened again in between, which its cookie tells but for an instant, it
// is another socket whose send buffer has been set, and no more.
bool Look(Socket *socket, SendLook *all) {
  uint64_t cookie = 0;
  Counts now;
  if (!Get(socket->fd, SOL_SOCKET, SO_COOKIE, &cookie) || cookie != socket->cookie || !Count(socket->fd, &now)) return false;
  const Counts before = socket->before;
  const bool first = !socket->looked_at;
  socket->before = now;
  socket->looked_at = true;
  const double bytes = double(now.acknowledged - before.acknowledged);
  if (first || bytes < SendQueue::kLeastBytes) return true;
  all->bytes += bytes;
  if (now.busy_s - before.busy_s > all->busy_s) {
    all->busy_s = now.busy_s - before.busy_s;
    all->limited_s = now.limited_s - before.limited_s;
  }
  all->queue_s += bytes * (now.rtt_s - now.least_rtt_s);
  all->least_rtt_s += bytes * now.least_rtt_s;
  return true;
}

// Whether the system takes it.
bool SetBound(Socket *socket, uint64_t bound) {
  if (bound == socket->bound) return true;
  socket->bound = bound;
  if (bound != 0 && Bound(socket->fd, bound)) return true;
  socket->bound = 0;
  Unbound(socket->fd);
  return bound == 0;
}

void SetBounds(Sockets *known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(known->mu) {
  bool taken = true;
  for (Socket &each : known->all) taken &= SetBound(&each, known->queue.bound());
  if (taken) return;
  known->queue.Refused();
  for (Socket &each : known->all) SetBound(&each, 0);
}

}  // namespace

void BoundSendQueue(int fd) {
  static const bool wanted = [] {
    const char *given = std::getenv("COMMSCHED_SEND_QUEUE");
    return given == nullptr || std::string_view(given) != "0";
  }();
  // Where a bound cannot be taken back, it is not set.
  int lock = 0;
  Socket socket;
  socket.fd = fd;
  if (!wanted || !Get(fd, SOL_SOCKET, SO_BUF_LOCK, &lock) || !Get(fd, SOL_SOCKET, SO_COOKIE, &socket.cookie)) return;
  Sockets &known = Known();
  runtime::MutexLock lock_all(&known.mu);
  known.all.push_back(socket);
  SetBounds(&known);
}

void LookAtSendQueues() {
  Sockets &known = Known();
  runtime::MutexLock lock(&known.mu);
  SendLook look;
  std::erase_if(known.all, [&](Socket &each) { return !Look(&each, &look); });
  if (look.bytes > 0) {
    look.queue_s /= look.bytes;
    look.least_rtt_s /= look.bytes;
    known.queue.Look(look);
  }
  SetBounds(&known);
}

}  // namespace commsched::transport
