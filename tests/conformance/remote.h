// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance suite on transports in processes of their own: the tests run
// in one process and drive ranks in others, the workers, over socket pairs. For
// transports of which a process can hold one rank only.
#ifndef COMMSCHED_TESTS_CONFORMANCE_REMOTE_H
#define COMMSCHED_TESTS_CONFORMANCE_REMOTE_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/transport/transport.h"

namespace commsched::conformance {

class RemoteWorker;

// What a worker can do; called in its process.
struct WorkerSide {
  // In all workers at once: a new cluster of the first `nodes`.
  std::function<absl::Status(int nodes)> new_cluster;
  // Connects a rank of it.
  std::function<absl::StatusOr<std::unique_ptr<runtime::Transport>>(
      runtime::TransportOptions options)>
      connect;
};

// Serves the tests that listen at `path` (a socket file) as worker `index`,
// until they end. Returns the exit status.
int RunWorker(const std::string &path, int index, const WorkerSide &side);

// The workers, seen from the tests. Thread-safe.
class RemoteWorkers {
 public:
  // Listens, calls `start` with the path to pass to RunWorker, and waits for
  // `count` workers.
  static absl::StatusOr<std::unique_ptr<RemoteWorkers>> Start(
      int count, const std::function<void(const std::string &path)> &start);
  ~RemoteWorkers();

  absl::Status NewCluster(int nodes);
  // A transport in the worker of options.rank.
  absl::StatusOr<std::unique_ptr<runtime::Transport>> Connect(
      runtime::TransportOptions options);

 private:
  RemoteWorkers() = default;
  std::string folder_;
  std::vector<std::shared_ptr<RemoteWorker>> workers_;
};

}  // namespace commsched::conformance

#endif  // COMMSCHED_TESTS_CONFORMANCE_REMOTE_H
