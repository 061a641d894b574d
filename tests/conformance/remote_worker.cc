// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The worker's side of remote.h.
#include <sys/un.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "runtime/base/shared_memory.h"
#include "tests/conformance/remote.h"
#include "tests/conformance/remote_frames.h"

namespace commsched::conformance {
namespace {

using runtime::Mutex;
using runtime::MutexLock;
using runtime::Transport;

class Worker {
 public:
  Worker(int fd, const WorkerSide &side) : socket_(fd), side_(side) {}

  void Run(int index) {
    socket_.Write({.command = Command::kIndex, .a = index});
    auto frame = std::make_unique<Frame>();
    while (socket_.Read(frame.get())) {
      Handle(std::move(frame));
      frame = std::make_unique<Frame>();
    }
    for (std::thread &thread : threads_) thread.join();
  }

 private:
  void Answer(uint64_t operation, const absl::Status &status) {
    socket_.Write({.command = Command::kAnswer, .operation = operation}, status);
  }

  // For what blocks.
  template <typename F>
  void InThread(F work) {
    threads_.emplace_back(std::move(work));
  }

  Transport *Find(uint64_t transport) {
    MutexLock lock(&mu_);
    auto it = transports_.find(transport);
    return it == transports_.end() ? nullptr : it->second.get();
  }

  // Of an operation whose bytes are `keep`.
  Transport::Done Done(Transport *transport, uint64_t operation,
                       std::shared_ptr<std::vector<std::byte>> keep, bool reply) {
    return [=, this](absl::Status status) {
      socket_.Write({.command = Command::kDone,
                     .operation = operation,
                     .c = int64_t(transport->bytes_sent()),
                     .d = int64_t(transport->bytes_received())},
                    status,
                    reply && status.ok() ? absl::MakeConstSpan(*keep)
                                         : absl::Span<const std::byte>());
    };
  }

  void Connect(const Frame &frame) {
    runtime::TransportOptions options;
    options.rank = int(frame.head.a);
    options.nodes = int(frame.head.b);
    options.unexpected_bytes = size_t(frame.head.c);
    options.connect_deadline = absl::Nanoseconds(frame.head.d);
    options.plan_digest = frame.head.digest;
    options.epoch = frame.head.epoch;
    if (frame.head.partners != ~uint64_t{0}) {
      options.partners.emplace();
      for (int peer = 0; peer < 64; ++peer)
        if (frame.head.partners >> peer & 1) options.partners->insert(peer);
    }
    const uint64_t transport = frame.head.transport;
    options.on_peer_failure = [this, transport](int peer,
                                                const absl::Status &why) {
      socket_.Write(
          {.command = Command::kFailure, .transport = transport, .a = peer}, why);
    };
    auto connected = side_.connect(std::move(options));
    if (connected.ok()) {
      MutexLock lock(&mu_);
      transports_[transport] = *std::move(connected);
    }
    Answer(frame.head.operation, connected.status());
  }

  void Handle(std::unique_ptr<Frame> frame) {
    const Frame::Head &head = frame->head;
    Transport *transport = Find(head.transport);
    switch (head.command) {
      case Command::kCluster:
        return Answer(head.operation, side_.new_cluster(int(head.a)));
      case Command::kConnect:
        return InThread([this, frame = std::move(frame)] { Connect(*frame); });
      case Command::kSend: {
        // Every other message from memory that other processes may map.
        const size_t size = frame->bytes.size();
        std::byte *block =
            head.operation % 2 == 0 ? runtime::AllocateShared(size) : nullptr;
        if (block != nullptr) {
          std::copy(frame->bytes.begin(), frame->bytes.end(), block);
          frame->bytes.clear();
        }
        std::shared_ptr<std::vector<std::byte>> keep(
            new std::vector<std::byte>(std::move(frame->bytes)),
            [block](std::vector<std::byte> *bytes) {
              if (block != nullptr) runtime::FreeShared(block);
              delete bytes;
            });
        return transport->Send(
            int(head.a), head.tag, int32_t(head.b),
            absl::MakeConstSpan(block != nullptr ? block : keep->data(), size),
            Done(transport, head.operation, keep, false));
      }
      case Command::kRecv: {
        auto keep = std::make_shared<std::vector<std::byte>>(size_t(head.b));
        return transport->Recv(int(head.a), head.tag, absl::MakeSpan(*keep),
                               Done(transport, head.operation, keep, true));
      }
      case Command::kStream: {
        const uint64_t operation = head.operation;
        return transport->RecvStream(
            int(head.a), head.tag, size_t(head.b), size_t(head.c),
            [this, operation](size_t offset, absl::Span<const std::byte> piece) {
              socket_.Write({.command = Command::kPiece,
                             .operation = operation,
                             .a = int64_t(offset)},
                            absl::OkStatus(), piece);
            },
            Done(transport, operation, nullptr, false));
      }
      case Command::kHold:
        return transport->Hold(head.a != 0 ? std::optional(plan::Urgency{head.b, uint64_t(head.c)}) : std::nullopt);
      case Command::kAbort:
        return transport->Abort(frame->status());
      case Command::kClose:
        return InThread([this, transport, frame = std::move(frame)] {
          transport->Close(absl::Nanoseconds(frame->head.d));
          Answer(frame->head.operation, absl::OkStatus());
        });
      case Command::kDestroy:
        return InThread([this, frame = std::move(frame)] {
          std::unique_ptr<Transport> last;
          {
            MutexLock lock(&mu_);
            last = std::move(transports_[frame->head.transport]);
          }
          last.reset();
          Answer(frame->head.operation, absl::OkStatus());
        });
      default:
        std::fprintf(stderr, "worker: unknown command\n");
    }
  }

  FrameSocket socket_;
  const WorkerSide &side_;
  Mutex mu_;
  std::map<uint64_t, std::unique_ptr<Transport>> transports_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace

int RunWorker(const std::string &path, int index, const WorkerSide &side) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr *>(&address),
                        sizeof(address)) != 0) {
    std::perror("worker: cannot connect to the tests");
    return 1;
  }
  Worker(fd, side).Run(index);
  return 0;
}

}  // namespace commsched::conformance
