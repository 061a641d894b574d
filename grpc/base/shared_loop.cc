// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/shared_loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace commsched::transport {

using runtime::MutexLock;

namespace {

thread_local const SharedLoop *running = nullptr;

// How long it only yields after there was something: about what it takes to be woken.
constexpr auto kYielding = std::chrono::microseconds(30);

}  // namespace

bool SharedLoop::here() const { return running == this; }

void SharedLoop::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(stop_, &one, sizeof(one));
    thread_.join();
  }
  if (poll_ >= 0) close(poll_);
  if (stop_ >= 0) close(stop_);
  poll_ = stop_ = -1;
}

absl::Status SharedLoop::Add(Source *source) {
  MutexLock lock(&mu_);
  const auto watch = [this](int file, void *what) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = what;
    return epoll_ctl(poll_, EPOLL_CTL_ADD, file, &event) == 0;
  };
  if (poll_ < 0) poll_ = epoll_create1(EPOLL_CLOEXEC);
  if (stop_ < 0) {
    stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (poll_ < 0 || stop_ < 0 || !watch(stop_, nullptr))
      return absl::ErrnoToStatus(errno, "shared memory: epoll");
  }
  if (!watch(source->wakes(), source))
    return absl::ErrnoToStatus(errno, "shared memory: epoll");
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void SharedLoop::Remove(Source *source) {
  epoll_ctl(poll_, EPOLL_CTL_DEL, source->wakes(), nullptr);
  std::replace(awake_.begin(), awake_.end(), source, static_cast<Source *>(nullptr));
}

void SharedLoop::Run() {
  running = this;
  std::array<epoll_event, 16> events;
  runtime::Clock::time_point worked = runtime::Clock::now();
  // Sources that are awake, by index: one that removes itself becomes null.
  const auto work = [this](size_t i) { return awake_[i] != nullptr && awake_[i]->Work(); };
  while (true) {
    const int count = epoll_wait(poll_, events.data(), int(events.size()), awake_.empty() ? -1 : 0);
    for (int i = 0; i < count; ++i) {
      auto *source = static_cast<Source *>(events[size_t(i)].data.ptr);
      if (source == nullptr) return;
      uint64_t times;
      (void)!read(source->wakes(), &times, sizeof(times));
      if (std::find(awake_.begin(), awake_.end(), source) == awake_.end())
        awake_.push_back(source);
    }
    bool any = false;
    for (size_t i = 0; i < awake_.size(); ++i) any |= work(i);
    const runtime::Clock::time_point now = runtime::Clock::now();
    if (any) worked = now;
    if (!any && now - worked < kYielding) {
      sched_yield();
      continue;
    }
    if (!any)
      for (size_t i = 0; i < awake_.size(); ++i) {
        if (awake_[i] != nullptr) awake_[i]->Arm();
        if (!work(i)) awake_[i] = nullptr;
      }
    awake_.erase(std::remove(awake_.begin(), awake_.end(), nullptr), awake_.end());
  }
}

}  // namespace commsched::transport
