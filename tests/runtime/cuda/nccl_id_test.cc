// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/nccl_id.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/transport/in_process_hub.h"
#include "runtime/transport/in_process_transport.h"

namespace commsched::runtime {
namespace {

cuda::NcclApi Nccl(cuda::NcclResult result = cuda::NcclResult::kSuccess) {
  cuda::NcclApi api;
  static cuda::NcclResult says;
  says = result;
  api.GetUniqueId = [](cuda::NcclUniqueId *id) {
    for (size_t i = 0; i < sizeof(id->bytes); ++i) id->bytes[i] = char(37 * i + 11);
    return says;
  };
  api.GetErrorString = [](cuda::NcclResult) { return "system error"; };
  return api;
}

// Ranks that are connected with whom NcclIdPartners says, and nobody else.
struct Ranks {
  explicit Ranks(int nodes) : transports(size_t(nodes)) {
    auto hub = MakeInProcessHub(nodes);
    ForAll([&](int rank) {
      TransportOptions options;
      options.rank = rank;
      options.nodes = nodes;
      options.partners = NcclIdPartners(rank, nodes);
      auto made = ConnectInProcess(hub, std::move(options));
      ASSERT_TRUE(made.ok()) << made.status();
      transports[size_t(rank)] = *std::move(made);
    });
  }
  template <typename Run>
  void ForAll(Run run) {
    std::vector<std::thread> threads;
    for (int r = 0; r < int(transports.size()); ++r) threads.emplace_back(run, r);
    for (std::thread &thread : threads) thread.join();
  }
  std::vector<std::unique_ptr<Transport>> transports;
};

TEST(NcclIdTest, AllRanksHaveThatOfRank0) {
  const cuda::NcclApi nccl = Nccl();
  const cuda::NcclUniqueId wanted = *MakeNcclId(nccl);
  for (int nodes : {1, 2, 3, 4, 9, 20}) {
    Ranks ranks(nodes);
    ranks.ForAll([&](int r) {
      auto id = ShareNcclId(nccl, ranks.transports[size_t(r)].get(), absl::Seconds(60));
      ASSERT_TRUE(id.ok()) << id.status();
      EXPECT_EQ(std::memcmp(id->bytes, wanted.bytes, sizeof(wanted.bytes)), 0) << r << " of " << nodes;
    });
  }
}

TEST(NcclIdTest, AnErrorNamesThePeerThatSendsNothing) {
  const cuda::NcclApi nccl = Nccl();
  Ranks ranks(4);
  auto id = ShareNcclId(nccl, ranks.transports[3].get(), absl::Milliseconds(50));
  EXPECT_EQ(id.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(id.status().message(), "peer 1: has not sent the id of NCCL for 50ms");
}

TEST(NcclIdTest, AnErrorOfRank0IsHeardByTheOthers) {
  const cuda::NcclApi nccl = Nccl(cuda::NcclResult::kSystemError);
  Ranks ranks(4);
  ranks.ForAll([&](int r) {
    Transport *transport = ranks.transports[size_t(r)].get();
    auto id = ShareNcclId(nccl, transport, absl::Seconds(60));
    ASSERT_FALSE(id.ok());
    EXPECT_EQ(id.status().message(), r == 0 ? "ncclGetUniqueId: system error"
                                            : "peer 0: aborted: ncclGetUniqueId: system error");
    transport->Abort(id.status());
  });
}

}  // namespace
}  // namespace commsched::runtime
