// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "mpi/functions.h"

namespace commsched::transport::mpi {
namespace {

constexpr char kPlugin[] = "libcommsched_c_mpi.so";

// In the folder of the library that this is part of.
absl::StatusOr<const Functions *> Load() {
  const auto failed = [](absl::string_view why) {
    return absl::UnavailableError(absl::StrCat("MPI cannot be loaded: ", why));
  };
  Dl_info own;
  static const int here = 0;
  if (dladdr(&here, &own) == 0) return failed(absl::StrCat(kPlugin, " was not found"));
  std::string path = own.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + kPlugin;
  // Global: Open MPI's own plug-ins look for its functions there.
  void *plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (plugin == nullptr) return failed(dlerror());
  auto *functions =
      reinterpret_cast<decltype(&commsched_mpi_functions)>(dlsym(plugin, "commsched_mpi_functions"));
  if (functions == nullptr || functions()->bytes != sizeof(Functions))
    return failed(absl::StrCat(path, " must be of the same build as the library beside it"));
  return functions();
}

}  // namespace

absl::StatusOr<const Functions *> FindMpi() {
  static const auto *found = new absl::StatusOr<const Functions *>(Load());
  return *found;
}

}  // namespace commsched::transport::mpi
