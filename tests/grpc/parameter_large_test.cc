// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of more than 2 GiB, pushed and pulled. Both ends' own bytes are one
// piece of memory mapped again and again; only the server's copy is real.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/conformance/conformance.h"
#include "tests/grpc/parameter_test_util.h"

namespace commsched::transport {
namespace {

constexpr size_t kPiece = size_t{64} << 20;
constexpr size_t kPieces = 33;
constexpr size_t kBlockBytes = kPiece * kPieces + 8;  // 2.06 GiB

class RepeatedMemory {
 public:
  explicit RepeatedMemory(uint64_t seed)
      : pattern(conformance::Pattern(kPiece, seed)) {
    const int file = memfd_create("piece", 0);
    EXPECT_EQ(ftruncate(file, kPiece + 4096), 0);
    base_ = static_cast<std::byte *>(
        mmap(nullptr, kPiece * (kPieces + 1), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (size_t i = 0; i < kPieces; ++i)
      EXPECT_NE(mmap(base_ + i * kPiece, kPiece, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, file, 0),
                MAP_FAILED);
    EXPECT_NE(mmap(base_ + kPieces * kPiece, 4096, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, file, kPiece),
              MAP_FAILED);
    close(file);
    std::memcpy(base_, pattern.data(), kPiece);
  }
  ~RepeatedMemory() { munmap(base_, kPiece * (kPieces + 1)); }
  absl::Span<std::byte> bytes() { return {base_, kBlockBytes}; }

  const std::vector<std::byte> pattern;

 private:
  std::byte *base_;
};

// Compares what is pushed with `memory`, and answers pulls with `answer`.
class LargeServer final : public runtime::ParameterServer {
 public:
  LargeServer(RepeatedMemory *memory, RepeatedMemory *answer)
      : memory_(memory), answer_(answer) {}
  absl::Status SetWhole(const std::string &,
                        absl::Span<const std::byte>) override {
    return absl::OkStatus();
  }
  absl::Status GetSlot(uint32_t, absl::Span<std::byte>) override {
    return absl::OkStatus();
  }
  absl::StatusOr<uint64_t> Join(int) override { return 0; }
  Taken taken(int) override { return {}; }
  void Push(int, uint32_t, uint64_t, runtime::SharedBytes payload,
            PushDone done) override {
    size_t wrong = payload.bytes.size() != kBlockBytes;
    for (size_t i = 0; i < kPieces && wrong == 0; ++i)
      wrong += std::memcmp(payload.bytes.data() + i * kPiece,
                           memory_->pattern.data(), kPiece) != 0;
    done(wrong == 0 ? absl::OkStatus() : absl::DataLossError("wrong bytes"));
    if (wrong != 0) Cancel(absl::DataLossError("wrong bytes"));
  }
  void Pull(int, uint32_t, uint64_t, PullDone done) override {
    done(runtime::SharedBytes{answer_->bytes(), nullptr});
  }
  void PullRows(int, uint32_t, uint64_t, std::vector<int64_t>,
                PullDone done) override {
    done(absl::UnimplementedError("it has no rows"));
  }
  absl::Status Finish(int, uint64_t) override {
    Cancel(absl::OkStatus());
    return absl::OkStatus();
  }
  void Lost(int, const absl::Status &why) override { Cancel(why); }
  void Cancel(const absl::Status &why) override {
    runtime::MutexLock lock(&mu_);
    if (over_) return;
    over_ = true;
    failure_ = why;
    changed_.SignalAll();
  }
  absl::Status Wait() override {
    runtime::MutexLock lock(&mu_);
    while (!over_) changed_.Wait(&mu_);
    return failure_;
  }
  absl::Status Save(const std::string &, bool) override {
    return absl::OkStatus();
  }
  uint64_t cut() override { return ~uint64_t{0}; }
  absl::Status Restore(const std::string &, bool) override {
    return absl::OkStatus();
  }

 private:
  RepeatedMemory *const memory_, *const answer_;
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

TEST(Large, BlockOfMoreThan2GiB) {
  RepeatedMemory gradient(1), value(2), result(3);
  LargeServer server(&gradient, &value);
  const auto addresses = conformance::LoopbackAddresses(1);
  auto options = ServiceOptions(addresses, 0, 1);
  options.block_bytes = {kBlockBytes};
  options.chunk_bytes = size_t{1} << 20;
  auto service = ParameterService::Start(&server, std::move(options));
  ASSERT_TRUE(service.ok()) << service.status();
  auto client_options = ClientOptions(addresses, 0, 1);
  client_options.chunk_bytes = size_t{1} << 20;
  auto client = ConnectParameterServers(std::move(client_options));
  ASSERT_TRUE(client.ok()) << client.status();
  conformance::Result pushed, pulled;
  (*client)->Push(0, 0, 0, gradient.bytes(), pushed.done());
  EXPECT_TRUE(pushed.Wait().ok()) << pushed.Wait();
  (*client)->Pull(0, 0, 1, result.bytes(), pulled.done());
  EXPECT_TRUE(pulled.Wait().ok()) << pulled.Wait();
  EXPECT_EQ(std::memcmp(result.bytes().data(), value.pattern.data(), kPiece),
            0);
  EXPECT_EQ(std::memcmp(result.bytes().data() + kPieces * kPiece,
                        value.bytes().data() + kPieces * kPiece, 8),
            0);
  EXPECT_TRUE((*client)->Finish(1).ok());
  (*client)->Close();
  EXPECT_TRUE((*service)->Wait().ok());
  EXPECT_EQ((*client)->bytes_sent(), kBlockBytes);
  EXPECT_EQ((*client)->bytes_received(), kBlockBytes);
}

}  // namespace
}  // namespace commsched::transport
