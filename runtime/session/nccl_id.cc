// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/nccl_id.h"

#include <cstddef>
#include <limits>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/base/sync.h"
#include "runtime/core/stop_agreement.h"

namespace commsched::runtime {
namespace {

// Keys of plans are small; that of ConnectedStop and launch's are others.
constexpr MessageTag kIdTag = {0, 0xffc00000u, 0, 0};
constexpr int32_t kIdPriority = std::numeric_limits<int32_t>::min();

// A receive cannot be taken back: this lives until it has ended.
struct Incoming {
  cuda::NcclUniqueId id = {};  // of the transport until `done`
  Mutex mu;
  CondVar changed;
  bool done ABSL_GUARDED_BY(mu) = false;
  absl::Status status ABSL_GUARDED_BY(mu);
};

absl::StatusOr<cuda::NcclUniqueId> Receive(Transport *transport, int peer,
                                           absl::Duration deadline) {
  const Clock::time_point end = After(deadline);
  auto incoming = std::make_shared<Incoming>();
  transport->Recv(peer, kIdTag,
                  {reinterpret_cast<std::byte *>(&incoming->id), sizeof(incoming->id)},
                  [incoming](absl::Status status) {
                    MutexLock lock(&incoming->mu);
                    incoming->status = Unshared(status);
                    incoming->done = true;
                    incoming->changed.SignalAll();
                  });
  MutexLock lock(&incoming->mu);
  while (!incoming->done)
    if (incoming->changed.WaitUntil(&incoming->mu, end) && !incoming->done)
      return absl::DeadlineExceededError(absl::StrCat("peer ", peer, ": has not sent the id of NCCL for ",
                                                      absl::FormatDuration(deadline)));
  // It names a peer, and may be what another rank has said.
  if (!incoming->status.ok()) return Unshared(incoming->status);
  return incoming->id;
}

}  // namespace

absl::StatusOr<cuda::NcclUniqueId> MakeNcclId(const cuda::NcclApi &nccl) {
  cuda::NcclUniqueId id = {};
  const cuda::NcclResult result = nccl.GetUniqueId(&id);
  if (result == cuda::NcclResult::kSuccess) return id;
  return absl::InternalError(absl::StrCat("ncclGetUniqueId: ", nccl.GetErrorString(result)));
}

std::set<int> NcclIdPartners(int rank, int nodes) {
  return core::StopAgreement::Neighbours(rank, nodes);
}

absl::StatusOr<cuda::NcclUniqueId> ShareNcclId(const cuda::NcclApi &nccl, Transport *transport,
                                               absl::Duration deadline) {
  const int rank = transport->rank();
  const std::set<int> partners = NcclIdPartners(rank, transport->nodes());
  // The parent is the one before it; the others are children.
  absl::StatusOr<cuda::NcclUniqueId> id =
      rank == 0 ? MakeNcclId(nccl) : Receive(transport, *partners.begin(), deadline);
  if (!id.ok()) return id;
  for (const int peer : partners) {
    if (peer < rank) continue;
    auto copy = std::make_shared<cuda::NcclUniqueId>(*id);
    transport->Send(peer, kIdTag, kIdPriority,
                    {reinterpret_cast<const std::byte *>(copy.get()), sizeof(*copy)},
                    [copy](absl::Status) {});
  }
  return id;
}

}  // namespace commsched::runtime
