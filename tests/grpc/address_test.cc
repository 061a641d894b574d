// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/address.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "grpc/base/security.h"

namespace commsched::transport {
namespace {

TEST(Address, LoopbackIsListenedOnAsItIs) {
  for (const char *address :
       {"127.0.0.1:5000", "127.1.2.3:1", "[::1]:65535", "unix:/tmp/socket"}) {
    auto listen = ServerAddress(address, "a rank", {});
    ASSERT_TRUE(listen.ok()) << listen.status();
    EXPECT_EQ(*listen, address);
    EXPECT_TRUE(CheckDialled(address, "a rank", {}).ok());
  }
}

// With a token alone, what is sent could be read and changed.
TEST(Address, OtherNetworksNeedTlsAndToken) {
  SecurityOptions security;
  const auto refused = [&](const char *address, bool any) {
    auto listen = ServerAddress(address, "a rank", security, any);
    EXPECT_EQ(listen.status().code(), absl::StatusCode::kInvalidArgument) << address;
    if (!any) {
      EXPECT_EQ(CheckDialled(address, "a rank", security), listen.status());
    }
    return std::string(listen.status().message());
  };
  EXPECT_EQ(refused("192.0.2.1:5000", false),
            "address of a rank must be a loopback address or a socket file without TLS "
            "certificates and a job token, got: 192.0.2.1:5000");
  security.token = "a token of a job";
  for (const char *address : {"192.0.2.1:5000", "0.0.0.0:5000", "[::]:5000"})
    refused(address, false);
  refused("127.0.0.1:5000", true);
  security.token = "";
  security.certificate_file = "certificate";
  refused("192.0.2.1:5000", false);
  security.token = "a token of a job";
  EXPECT_TRUE(CheckDialled("192.0.2.1:5000", "a rank", security).ok());
  EXPECT_EQ(ServerAddress("192.0.2.1:5000", "a rank", security).value(), "192.0.2.1:5000");
  EXPECT_EQ(ServerAddress("192.0.2.1:5000", "a rank", security, true).value(), "[::]:5000");
}

TEST(Token, IsAFileOfItsOwner) {
  const std::string path = ::testing::TempDir() + "/token." + std::to_string(getpid());
  auto write = [&](const std::string &text, int mode) {
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    auto token = ReadTokenFile(path);
    return token.ok() ? *token : std::string(token.status().message());
  };
  EXPECT_EQ(write(" 0123456789abcdef \nmore\n", 0600), "0123456789abcdef");
  EXPECT_NE(write("0123456789abcdef\n", 0644).find("readable by all users"),
            std::string::npos);
  EXPECT_NE(write("short\n", 0600).find("at least 16 characters, got: 5"),
            std::string::npos);
  unlink(path.c_str());
  EXPECT_NE(ReadTokenFile(path).status().message().find("cannot read token file"),
            std::string::npos);
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
