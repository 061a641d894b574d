// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes between tests and workers: a fixed head, a text, bytes.
#ifndef COMMSCHED_TESTS_CONFORMANCE_REMOTE_FRAMES_H
#define COMMSCHED_TESTS_CONFORMANCE_REMOTE_FRAMES_H

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/base/sync.h"
#include "runtime/transport/transport.h"

namespace commsched::conformance {

enum class Command : uint32_t {
  kIndex,    // worker: who it is
  kCluster,  // a: nodes; answered by kAnswer
  kConnect,  // transport; a: rank, b: nodes, c: unexpected bytes, d: deadline
  kSend,     // transport, operation; a: peer, b: priority
  kRecv,     // transport, operation; a: peer, b: bytes
  kStream,   // the same, c: unit
  kHold,     // transport; a: whether, b: priority, c: call
  kAbort,    // transport
  kClose,    // transport; d: flush
  kDestroy,  // transport
  // Answers.
  kAnswer,   // operation, status
  kDone,     // operation, status; bytes of a receive; c, d: counters
  kPiece,    // operation; a: offset
  kFailure,  // transport; a: peer
};

struct Frame {
  struct Head {
    Command command;
    int32_t code = 0;  // of a status
    uint64_t transport = 0, operation = 0;
    int64_t a = 0, b = 0, c = 0, d = 0;
    uint64_t digest = 0, epoch = 0;
    uint64_t partners = ~uint64_t{0};  // a bit for each; all: not set
    runtime::MessageTag tag = {};
    uint64_t text_bytes = 0, bytes = 0;
  } head;
  std::string text;
  std::vector<std::byte> bytes;

  absl::Status status() const {
    return absl::Status(static_cast<absl::StatusCode>(head.code), text);
  }
};

// One end of a connection. Write is thread-safe; Read is for one thread.
class FrameSocket {
 public:
  explicit FrameSocket(int fd) : fd_(fd) {}
  ~FrameSocket() { close(fd_); }

  void Write(Frame::Head head, const absl::Status &status = absl::OkStatus(),
             absl::Span<const std::byte> bytes = {}) {
    head.code = static_cast<int32_t>(status.code());
    head.text_bytes = status.message().size();
    head.bytes = bytes.size();
    runtime::MutexLock lock(&mu_);
    WriteAll(&head, sizeof(head));
    WriteAll(status.message().data(), status.message().size());
    WriteAll(bytes.data(), bytes.size());
  }

  // False at the end.
  bool Read(Frame *frame) {
    if (!ReadAll(&frame->head, sizeof(frame->head))) return false;
    frame->text.resize(frame->head.text_bytes);
    frame->bytes.resize(frame->head.bytes);
    return ReadAll(frame->text.data(), frame->text.size()) &&
           ReadAll(frame->bytes.data(), frame->bytes.size());
  }

  void Shutdown() { shutdown(fd_, SHUT_RDWR); }

 private:
  void WriteAll(const void *data, size_t size) {
    auto *at = static_cast<const char *>(data);
    while (size > 0) {
      const ssize_t n = send(fd_, at, size, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // the reader finds out
      at += n;
      size -= size_t(n);
    }
  }
  bool ReadAll(void *data, size_t size) {
    auto *at = static_cast<char *>(data);
    while (size > 0) {
      const ssize_t n = recv(fd_, at, size, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= size_t(n);
    }
    return true;
  }

  const int fd_;
  runtime::Mutex mu_;
};

}  // namespace commsched::conformance

#endif  // COMMSCHED_TESTS_CONFORMANCE_REMOTE_FRAMES_H
