// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the processes of this host are still there, which MPI does not say: of one that
// was killed the others hear here, before their launcher ends them; and of one that is
// stopped, before those that wait for each other blame each other.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mpi/ranks.h"

namespace commsched::transport::mpi {
namespace {

// Whether a process is stopped, by a signal or a debugger.
bool IsStopped(int process) {
  const int fd = open(absl::StrCat("/proc/", process, "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char bytes[256];  // "PID (name) STATE ...", a name has at most 64
  const ssize_t size = read(fd, bytes, sizeof(bytes));
  close(fd);
  const absl::string_view text(bytes, size_t(std::max<ssize_t>(size, 0)));
  const size_t end = text.rfind(") ");
  return end != text.npos && end + 2 < text.size() && (text[end + 2] == 'T' || text[end + 2] == 't');
}

}  // namespace

void MpiRanks::WatchProcesses() {
  Actions actions;
  {
    runtime::MutexLock lock(&mu_);
    // Not the time: this process may have been stopped too.
    const int patience = int(options_.connect_deadline / absl::Nanoseconds(2 * kWatchNs));
    for (size_t of = 0; of < peers_.size(); ++of) {
      Peer &peer = peers_[of];
      pollfd process = {.fd = peer.process, .events = POLLIN, .revents = 0};
      if (peer.process < 0 || peer.end.heard_last() || poll(&process, 1, 0) != 1) {
        const bool stopped = peer.process >= 0 && !peer.end.heard_last() && IsStopped(peer.theirs.process);
        peer.stopped_looks = stopped ? peer.stopped_looks + 1 : 0;
        if (peer.stopped_looks > patience) End(int(of), peer.end.Lost("its process is stopped"), &actions);
        continue;
      }
      // Its last words lie in the ring: they are taken before the next look.
      if (std::exchange(peer.gone, true))
        End(int(of), peer.end.Lost("its process has ended"), &actions);
    }
  }
  RunAll(std::move(actions));
}

}  // namespace commsched::transport::mpi
