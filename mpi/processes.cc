// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the processes of this host are still there, which MPI does not say: of one that
// was killed the others hear here, before their launcher ends them.
#include <poll.h>

#include <utility>

#include "mpi/ranks.h"

namespace commsched::transport::mpi {

void MpiRanks::WatchProcesses() {
  Actions actions;
  {
    runtime::MutexLock lock(&mu_);
    for (size_t of = 0; of < peers_.size(); ++of) {
      Peer &peer = peers_[of];
      pollfd process = {.fd = peer.process, .events = POLLIN, .revents = 0};
      if (peer.process < 0 || peer.end.heard_last() || poll(&process, 1, 0) != 1) continue;
      // Its last words lie in the ring: they are taken before the next look.
      if (std::exchange(peer.gone, true))
        End(int(of), peer.end.Lost("its process has ended"), &actions);
    }
  }
  RunAll(std::move(actions));
}

}  // namespace commsched::transport::mpi
