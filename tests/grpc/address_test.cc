// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/address.h"

#include <gtest/gtest.h>

namespace commsched::transport {
namespace {

TEST(Address, LoopbackIsListenedOnAsItIs) {
  for (const char *address :
       {"127.0.0.1:5000", "127.1.2.3:1", "[::1]:65535", "unix:/tmp/socket"}) {
    auto listen = ListenAddress(address, /*any=*/false);
    ASSERT_TRUE(listen.ok()) << listen.status();
    EXPECT_EQ(*listen, address);
  }
}

TEST(Address, OtherNetworksMustBeAllowed) {
  auto refused = ListenAddress("192.0.2.1:5000", /*any=*/false);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("--listen-any"), std::string::npos);
  EXPECT_NE(refused.status().message().find("192.0.2.1:5000"),
            std::string::npos);
  EXPECT_FALSE(ListenAddress("0.0.0.0:5000", false).ok());
  EXPECT_FALSE(ListenAddress("[::]:5000", false).ok());
  auto allowed = ListenAddress("192.0.2.1:5000", /*any=*/true);
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_EQ(*allowed, "[::]:5000");
}

TEST(Address, FormIsChecked) {
  for (const char *address :
       {"", ":", "host", "host:", ":5000", "host:port", "host:0", "host:65536",
        "host:-1", "::1:5000", "[]:5000", "host:1:2"})
    EXPECT_EQ(CheckAddress(address).code(), absl::StatusCode::kInvalidArgument)
        << address;
  for (const char *address : {"host:1", "[::1]:5000", "10.0.0.1:80", "unix:x"})
    EXPECT_TRUE(CheckAddress(address).ok()) << address;
}

}  // namespace
}  // namespace commsched::transport
