// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cs_job, for the files that the C interface is made of.
#ifndef COMMSCHED_RUNTIME_C_API_C_API_JOB_H
#define COMMSCHED_RUNTIME_C_API_C_API_JOB_H

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launch/job.h"
#include "runtime/c_api/c_api.h"

struct cs_job {
  const pid_t process = getpid();
  std::unique_ptr<commsched::launch::Job> job;
  absl::Duration deadline = absl::Seconds(30);
  std::string broadcast, gathered, costs;
};

namespace commsched {

// Whether it can be used here.
absl::Status CheckJob(const cs_job *job);

// The CUDA device of this rank, if its plan is for such: of its number on its host, else the first.
inline int CudaDeviceOf(const launch::Job &job) { return std::max(0, job.local_rank()); }

// Fields that the caller's version of the struct does not have are zero.
template <typename T>
absl::StatusOr<T> Copied(const T *given, const char *name) {
  T copy = {};
  size_t size = 0;
  if (given != nullptr) std::memcpy(&size, given, sizeof(size));
  if (given == nullptr || size < sizeof(size_t) || size > sizeof(T))
    return absl::InvalidArgumentError(
        absl::StrCat("struct_size of ", name, " must be at most ", sizeof(T), ", got: ", size));
  std::memcpy(&copy, given, size);
  return copy;
}

}  // namespace commsched

#endif  // COMMSCHED_RUNTIME_C_API_C_API_JOB_H
