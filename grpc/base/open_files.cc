// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/open_files.h"

#include <dirent.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"

namespace commsched::transport {
namespace {

// gRPC's own and the listening socket, which are about ten, and what is opened later: code, data, checkpoints.
constexpr size_t kBesides = 24;
// One is dialled while another is closed.
constexpr size_t kOfConnection = 2;
// The loop, and of each connection two eventfds, and sockets and memory until they are mapped.
constexpr size_t kOfSharing = 4, kOfShared = 6;

// How many files more this process may open; nothing where the system does not say.
std::optional<size_t> FreeFiles(size_t limit) {
  DIR *folder = opendir("/proc/self/fd");
  if (folder == nullptr) return errno == EMFILE ? std::optional<size_t>(0) : std::nullopt;
  size_t open = 0;
  while (const dirent *entry = readdir(folder)) open += entry->d_name[0] != '.';
  closedir(folder);
  --open;  // the folder
  return limit > open ? limit - open : 0;
}

}  // namespace

absl::Status CheckOpenFiles(size_t connections, bool *shared_memory) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  const std::optional<size_t> free = FreeFiles(limit.rlim_cur);
  if (!free) return absl::OkStatus();
  const size_t needed = kBesides + kOfConnection * connections;
  if (*free < needed + kOfSharing + kOfShared * connections) *shared_memory = false;
  if (*free >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("must be able to open ", needed, " files more for ", connections,
                   connections == 1 ? " connection" : " connections", ": ulimit -n is ", uint64_t(limit.rlim_cur)));
}

}  // namespace commsched::transport
