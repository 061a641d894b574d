// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/stop_point.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <random>

namespace commsched::runtime {
namespace {

constexpr uint64_t kClosed = uint64_t{1} << 63;

}  // namespace

uint64_t NewJobNumber() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

struct SharedStop::Words {
  // Steps that some rank has begun, and whether no later one begins.
  std::atomic<uint64_t> begun;
  std::atomic<int> reason;
  uint64_t job;
};

int SharedStop::MakeFile() {
  int file = memfd_create("cs-run stop", MFD_CLOEXEC);
  const uint64_t job = NewJobNumber();
  if (file >= 0 && (ftruncate(file, sizeof(Words)) != 0 ||
                    pwrite(file, &job, sizeof(job), offsetof(Words, job)) != ssize_t(sizeof(job)))) {
    close(file);
    return -1;
  }
  return file;
}

std::unique_ptr<SharedStop> SharedStop::Open(int file) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  struct stat about;
  if (fstat(file, &about) != 0 || about.st_size != off_t(sizeof(Words))) return nullptr;
  void *memory = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<SharedStop>(new SharedStop(static_cast<Words *>(memory)));
}

SharedStop::~SharedStop() { munmap(words_, sizeof(Words)); }

bool SharedStop::Begin(uint64_t step) {
  uint64_t begun = words_->begun;
  while ((begun & kClosed) == 0)
    if (words_->begun.compare_exchange_weak(begun, std::max(begun, step + 1))) return true;
  return step < (begun & ~kClosed);
}

void SharedStop::Request(int reason) {
  int none = 0;
  words_->reason.compare_exchange_strong(none, reason);
  words_->begun.fetch_or(kClosed);
}

int SharedStop::reason() const { return words_->reason; }
uint64_t SharedStop::job() const { return words_->job; }

}  // namespace commsched::runtime
