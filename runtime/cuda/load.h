// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the libraries of NVIDIA where a program runs, not where it was built: every function
// table is filled by dlopen and dlsym, or there is one error that says what is missing. Tests
// put a fake in the place of the libraries.
//
// Errors, one line each: kNotFound, a library or a device is not there; kFailedPrecondition,
// a library is too old (both versions are named) or has no such symbol (which is named).
// Libraries stay loaded until the process ends. All functions may be called from any thread.
#ifndef COMMSCHED_RUNTIME_CUDA_LOAD_H
#define COMMSCHED_RUNTIME_CUDA_LOAD_H

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/nccl_api.h"

namespace commsched::runtime::cuda {

// What is asked of the system.
struct Libraries {
  // Null, and why, if there is no such library.
  std::function<void *(const char *file, std::string *why)> open;
  // Null if it has no such symbol.
  std::function<void *(void *library, const char *symbol)> symbol;

  static Libraries OfSystem();
};

// The oldest versions that have what is called: the driver as 1000 major + 10 minor, NCCL as
// 10000 major + 100 minor + patch, as the others.
inline constexpr int kOldestDriver = 12000, kOldestNccl = 22700, kOldestCublasLt = 120000,
                     kOldestCudnn = 90000;

// The driver, initialised, with at least one device.
absl::StatusOr<DriverApi> LoadDriver(const Libraries &libraries = Libraries::OfSystem());
absl::StatusOr<NcclApi> LoadNccl(const Libraries &libraries = Libraries::OfSystem());
absl::StatusOr<CublasLtApi> LoadCublasLt(const Libraries &libraries = Libraries::OfSystem());
absl::StatusOr<CudnnApi> LoadCudnn(const Libraries &libraries = Libraries::OfSystem());

// OK, or kInternal with what was called, the result's name and NVIDIA's text.
absl::Status ToStatus(const DriverApi &api, DriverResult result, absl::string_view what);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_LOAD_H
