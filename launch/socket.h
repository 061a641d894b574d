// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A socket that is closed with its owner.
#ifndef COMMSCHED_LAUNCH_SOCKET_H
#define COMMSCHED_LAUNCH_SOCKET_H

#include <unistd.h>

#include <utility>

namespace commsched::launch {

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket &operator=(Socket &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_SOCKET_H
