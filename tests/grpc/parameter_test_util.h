// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of parameter servers over gRPC share.
#ifndef COMMSCHED_TESTS_GRPC_PARAMETER_TEST_UTIL_H
#define COMMSCHED_TESTS_GRPC_PARAMETER_TEST_UTIL_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpc/servers/parameter_client.h"
#include "grpc/servers/parameter_service.h"
#include "tests/grpc/fake_parameter_server.h"

namespace commsched::transport {

inline constexpr char kTestToken[] = "a token";
inline constexpr uint64_t kTestDigest = 0x1234567890abcdef;

// Of the blocks of every server of the tests: one byte short of a chunk's
// multiple would not be whole words; several parts, one part, empty, one word.
// The last one is of rows.
std::vector<size_t> TestBlocks();
std::vector<runtime::RowLayout> TestRows();

ParameterServiceOptions ServiceOptions(const std::vector<std::string> &servers,
                                       int server, int trainers);
ParameterClientOptions ClientOptions(const std::vector<std::string> &servers,
                                     int trainer, int trainers);

// What a trainer does: in each step [first, ends[trainer]) pulls some rows, pushes
// its gradients of all blocks, pulls the values, and compares them with what they
// must be.
// Then it finishes, and after all have, compares the last values of the longest.
// `each` is called before each step.
absl::Status Train(runtime::ParameterClient &client, int servers, int trainer,
                   const std::vector<uint64_t> &ends,
                   const std::function<void(uint64_t)> &each = {});

}  // namespace commsched::transport

#endif  // COMMSCHED_TESTS_GRPC_PARAMETER_TEST_UTIL_H
