// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/load.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {
namespace {

// The first of `files` that is there.
absl::StatusOr<void *> Open(const Libraries &libraries, absl::string_view what,
                            std::initializer_list<const char *> files) {
  std::string first, why;
  for (const char *file : files) {
    if (void *library = libraries.open(file, &why)) return library;
    if (first.empty()) first = why;
  }
  return absl::NotFoundError(absl::StrCat("no ", what, ": ", first));
}

template <typename F>
absl::Status Find(const Libraries &libraries, void *library, absl::string_view what,
                  const char *symbol, F *function) {
  void *found = libraries.symbol(library, symbol);
  if (found == nullptr)
    return absl::FailedPreconditionError(absl::StrCat(what, " has no function ", symbol));
  static_assert(sizeof(*function) == sizeof(found));
  std::memcpy(function, &found, sizeof(found));
  return absl::OkStatus();
}

absl::Status TooOld(absl::string_view what, absl::string_view oldest, absl::string_view got) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " must have version ", oldest, " or later, got: ", got));
}
std::string DriverVersion(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}
// Three numbers, of which the two last have two digits.
std::string LibraryVersion(size_t version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace

Libraries Libraries::OfSystem() {
  return {.open =
              [](const char *file, std::string *why) {
                void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
                const char *text = library == nullptr ? dlerror() : nullptr;
                if (text != nullptr) *why = text;
                return library;
              },
          .symbol = [](void *library, const char *symbol) { return dlsym(library, symbol); }};
}

absl::Status ToStatus(const DriverApi &api, DriverResult result, absl::string_view what) {
  if (result == DriverResult::kSuccess) return absl::OkStatus();
  const char *name = nullptr, *text = nullptr;
  if (api.GetErrorName(result, &name) != DriverResult::kSuccess || name == nullptr)
    return absl::InternalError(absl::StrCat(what, ": CUDA error ", int(result)));
  if (api.GetErrorString(result, &text) != DriverResult::kSuccess || text == nullptr) text = "";
  return absl::InternalError(absl::StrCat(what, ": ", name, *text ? ", " : "", text));
}

// The version comes first: a library that is too old for a symbol says so by its number.
#define COMMSCHED_CUDA_FIND(symbol, member)                                                    \
  if (absl::Status found = Find(libraries, *library, what, #symbol, &api.member); !found.ok()) \
    return found;

absl::StatusOr<DriverApi> LoadDriver(const Libraries &libraries) {
  constexpr absl::string_view what = "CUDA driver";
  absl::StatusOr<void *> library = Open(libraries, what, {"libcuda.so.1"});
  if (!library.ok()) return library.status();
  DriverApi api;
  COMMSCHED_CUDA_FIND(cuDriverGetVersion, DriverGetVersion)
  int version = 0;
  if (const DriverResult result = api.DriverGetVersion(&version); result != DriverResult::kSuccess)
    return absl::NotFoundError(
        absl::StrCat("CUDA driver does not say its version: CUDA error ", int(result)));
  if (version < kOldestDriver)
    return TooOld(what, DriverVersion(kOldestDriver), DriverVersion(version));
#define COMMSCHED_CUDA_LOAD(name, symbol, parameters) COMMSCHED_CUDA_FIND(symbol, name)
  COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_CUDA_LOAD)
#undef COMMSCHED_CUDA_LOAD
  if (void *found = libraries.symbol(*library, "cuFuncLoad"); found != nullptr)
    std::memcpy(&api.FuncLoad, &found, sizeof(found));
  // Streams share the queues of a process, eight if nobody says otherwise: one that waits for the host
  // would hold up those that share its queue.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  int count = 0;
  DriverResult result = api.Init(0);
  if (result == DriverResult::kSuccess) result = api.DeviceGetCount(&count);
  if (result == DriverResult::kNoDevice || (result == DriverResult::kSuccess && count == 0))
    return absl::NotFoundError(
        absl::StrCat("no CUDA device: the driver, version ", DriverVersion(version), ", has none"));
  if (absl::Status status = ToStatus(api, result, "CUDA driver cannot begin"); !status.ok())
    return status;
  return api;
}

#define COMMSCHED_CUDA_LOAD(result, name, symbol, parameters) COMMSCHED_CUDA_FIND(symbol, name)

absl::StatusOr<NcclApi> LoadNccl(const Libraries &libraries) {
  constexpr absl::string_view what = "NCCL";
  absl::StatusOr<void *> library = Open(libraries, what, {"libnccl.so.2", "libnccl.so"});
  if (!library.ok()) return library.status();
  NcclApi api;
  COMMSCHED_CUDA_FIND(ncclGetVersion, GetVersion)
  int version = 0;
  if (api.GetVersion(&version) != NcclResult::kSuccess || version < kOldestNccl)
    return TooOld(what, LibraryVersion(kOldestNccl), LibraryVersion(version));
  COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_CUDA_LOAD)
  return api;
}

absl::StatusOr<CublasLtApi> LoadCublasLt(const Libraries &libraries) {
  constexpr absl::string_view what = "cuBLASLt";
  absl::StatusOr<void *> library =
      Open(libraries, what, {"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library.ok()) return library.status();
  CublasLtApi api;
  COMMSCHED_CUDA_FIND(cublasLtGetVersion, GetVersion)
  if (const size_t version = api.GetVersion(); version < size_t{kOldestCublasLt})
    return TooOld(what, LibraryVersion(kOldestCublasLt), LibraryVersion(version));
  COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(COMMSCHED_CUDA_LOAD)
  return api;
}

absl::StatusOr<CudnnApi> LoadCudnn(const Libraries &libraries) {
  constexpr absl::string_view what = "cuDNN";
  absl::StatusOr<void *> library = Open(libraries, what, {"libcudnn.so.9"});
  if (!library.ok()) return library.status();
  CudnnApi api;
  COMMSCHED_CUDA_FIND(cudnnGetVersion, GetVersion)
  if (const size_t version = api.GetVersion(); version < size_t{kOldestCudnn})
    return TooOld(what, LibraryVersion(kOldestCudnn), LibraryVersion(version));
  COMMSCHED_CUDA_CUDNN_FUNCTIONS(COMMSCHED_CUDA_LOAD)
  return api;
}

#undef COMMSCHED_CUDA_LOAD
#undef COMMSCHED_CUDA_FIND

}  // namespace commsched::runtime::cuda
