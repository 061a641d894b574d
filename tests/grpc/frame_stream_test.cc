// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a stream of frames sends what is put into its queue.
#include "grpc/servers/frame_stream.h"

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "plan/packet_queue.h"
#include "plan/packets.h"

namespace commsched::transport {
namespace {

constexpr size_t kChunk = size_t{64} << 10;
constexpr size_t kMaxHeader = 1 << 20;

// Keeps what is written, and says that it is when the test does.
class Pipe final : public Stream {
 public:
  void set_handler(StreamHandler *handler) override { handler_ = handler; }
  void Read() override {}
  bool Write(grpc::ByteBuffer &&packet) override {
    PacketReader reader(packet, kMaxHeader);
    parameter::Header header;
    pushes.emplace_back();
    while (reader.Next(&header).value_or(false)) {
      std::string name = "control";
      if (header.has_value())
        name = std::to_string(header.value().block()) + "@" +
               std::to_string(header.value().step()) + "+" +
               std::to_string(header.value().offset() / kChunk);
      else if (header.has_push())
        name = "push " + std::to_string(header.push().block()) + "+" +
               std::to_string(header.push().offset() / kChunk);
      else if (header.has_finish())
        name = "finish";
      else if (header.has_pull())
        name = "pull " + std::to_string(header.pull().block());
      if (header.has_push()) pushes.back().push_back({header.push().block(), header.push().offset()});
      sent.push_back(name);
      if (header.has_pull()) behind_in_packet = sent.size() > begun + 1;
    }
    begun = sent.size();
    busy = true;
    return true;
  }
  void End(absl::Status) override {}
  void Cancel() override {
    if (handler_ == nullptr) return;
    std::exchange(handler_, nullptr)->OnClosed(absl::OkStatus());
  }
  std::string peer() override { return "test"; }

  void Written() {
    busy = false;
    handler_->OnWritten(true);
  }
  std::vector<std::string> sent;
  std::vector<std::vector<std::pair<uint32_t, uint64_t>>> pushes;  // by packet: block, where it goes on
  size_t begun = 0;                                                // of `sent`, in packets before
  bool behind_in_packet = false;                                   // whether the last pull was
  bool busy = false;

 private:
  StreamHandler *handler_ = nullptr;
};

class Frames final : public FrameStream {
 public:
  Frames() : FrameStream(kChunk, 1) {}

 private:
  absl::Status OnFrame(const parameter::Header &, PacketReader &) override {
    return absl::OkStatus();
  }
  void OnBadFrame(const absl::Status &) override {}
  void OnGone(absl::Status) override {}
};

class FrameStreamTest : public ::testing::Test {
 protected:
  FrameStreamTest() { frames_->TakeAccepted(pipe_); }
  ~FrameStreamTest() override { frames_->Drop(); }

  void Put(uint32_t block, uint64_t step, size_t chunks, int32_t priority) {
    parameter::Header header;
    header.mutable_value()->set_block(block);
    header.mutable_value()->set_step(step);
    auto bytes = std::make_shared<std::vector<std::byte>>(chunks * kChunk);
    frames_->PutData(std::move(header), {absl::MakeConstSpan(*bytes), bytes},
                     priority);
  }
  void SendAll() {
    frames_->Flush();
    while (pipe_->busy) pipe_->Written();
  }

  std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
  std::shared_ptr<Frames> frames_ = std::make_shared<Frames>();
};

using Names = std::vector<std::string>;

TEST_F(FrameStreamTest, UrgentDataOvertakesPartByPart) {
  Put(0, 1, 3, 7);
  frames_->Flush();  // its first part is on the way
  Put(1, 1, 2, 2);
  Put(2, 1, 1, 7);
  Put(3, 1, 1, 2);
  SendAll();
  EXPECT_EQ(pipe_->sent,
            Names({"0@1+0", "1@1+0", "1@1+1", "3@1+0", "0@1+1", "0@1+2", "2@1+0"}));
}

TEST_F(FrameStreamTest, OneOrderWhateverTheOrderOfComing) {
  Put(7, 1, 1, 4);
  Put(3, 1, 2, 4);
  Put(5, 1, 1, 4);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"3@1+0", "3@1+1", "5@1+0", "7@1+0"}));
}

TEST_F(FrameStreamTest, OfEqualPrioritiesAnEarlierStepGoesFirst) {
  Put(0, 2, 1, 9);
  Put(1, 1, 1, 9);
  Put(2, 2, 1, 0);
  Put(3, 1, 1, 9);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"2@2+0", "1@1+0", "3@1+0", "0@2+0"}));
}

TEST_F(FrameStreamTest, ControlOvertakesDataUnlessItMustNot) {
  parameter::Header finish;
  finish.mutable_finish();
  Put(0, 1, 1, 0);
  frames_->PutBehind(finish);
  Put(1, 5, 1, 3);  // a push that was under way in another thread
  parameter::Header control;
  control.mutable_taken();
  frames_->Put(control);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"control", "0@1+0", "1@5+0", "finish"}));
}

// A trainer's side.
class PushesTest : public ::testing::Test {
 protected:
  PushesTest() { frames_->TakeAccepted(pipe_); }
  ~PushesTest() override { frames_->Drop(); }

  void Push(uint32_t block, size_t chunks, int32_t priority, uint64_t step = 1) {
    parameter::Header header;
    header.mutable_push()->set_block(block);
    header.mutable_push()->set_step(step);
    auto bytes = std::make_shared<std::vector<std::byte>>(chunks * kChunk);
    frames_->PutData(std::move(header), {absl::MakeConstSpan(*bytes), bytes},
                     priority);
  }
  void SendAll() {
    frames_->Flush();
    while (pipe_->busy) pipe_->Written();
  }

  std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
  std::shared_ptr<Frames> frames_ = std::make_shared<Frames>();
};

// A server has no use for a part of a push.
TEST_F(PushesTest, LongPushesWaitForTheRestOfOneThatIsBegun) {
  Push(0, 4, 9);
  frames_->Flush();  // its first part is on the way
  Push(1, 3, 5);     // no shorter than what is left
  Push(2, 2, 5);
  Push(3, 2, 4);
  Push(4, 1, 3);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"push 0+0", "push 4+0", "push 3+0", "push 3+1", "push 0+1", "push 0+2",
                                "push 0+3", "push 1+0", "push 1+1", "push 1+2", "push 2+0", "push 2+1"}));
}

// What asks for the value goes with its push, which may be overtaken: it has the last part's packet.
TEST_F(PushesTest, PullsGoWithTheirPushes) {
  const auto pull = [&](uint32_t block, uint64_t step) {
    parameter::Header header;
    header.mutable_pull()->set_block(block);
    header.mutable_pull()->set_version(step + 1);
    frames_->PutWithPush(std::move(header), block, step);
  };
  Push(0, 3, 9);
  pull(0, 1);
  frames_->Flush();  // its first part is on the way
  Push(1, 1, 3);
  pull(1, 1);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"push 0+0", "push 1+0", "pull 1", "push 0+1", "push 0+2", "pull 0"}));
  EXPECT_TRUE(pipe_->behind_in_packet);
  // Of a push that has gone, or of another step: by itself, before all data.
  pipe_->sent.clear();
  pipe_->begun = 0;
  Push(0, 1, 0, 2);
  pull(0, 1);
  pull(1, 2);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"pull 0", "pull 1", "push 0+0"}));
  // It goes with the data.
  pipe_->sent.clear();
  Push(0, 1, 0, 3);
  pull(0, 3);
  frames_->ForgetData();
  pull(0, 3);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"pull 0"}));
}

// The simulator sends pushes by a PacketQueue.
TEST_F(PushesTest, PushesGoInTheOrderOfAPacketQueue) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    plan::PacketQueue<uint32_t, uint32_t, size_t> queue;
    Names expected;
    pipe_->sent.clear();
    for (uint32_t block = 0; block < 60 || !queue.empty();) {
      if (block < 60 && random() % 2 == 0) {
        const size_t chunks = 1 + random() % 6;
        const auto priority = int32_t(random() % 20);
        const uint64_t step = 1 + random() % 2;
        Push(block, chunks, priority, step);
        queue.Push({priority, step}, block, chunks * kChunk, block, /*whole=*/true);
        ++block;
      } else {
        queue.Take(kChunk, 1, [&](uint32_t item, size_t offset, size_t, bool) {
          expected.push_back("push " + std::to_string(item) + "+" + std::to_string(offset / kChunk));
        });
        if (pipe_->busy)
          pipe_->Written();  // and it sends the next
        else
          frames_->Flush();
      }
    }
    SendAll();
    EXPECT_EQ(pipe_->sent, expected);
    if (HasFailure()) return;
  }
}

// Whatever control frames go between: these are not in the simulator, nor in a schedule's problem.
TEST_F(PushesTest, PacketsEndWhereThoseOfTheSimulatorDo) {
  size_t mixed = 0, short_of_full = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    plan::PacketQueue<uint32_t, uint32_t, size_t> queue;
    pipe_->pushes.clear();
    std::vector<std::vector<std::pair<uint32_t, uint64_t>>> expected;
    for (uint32_t block = 0; block < 60 || !queue.empty();) {
      if (block < 60 && random() % 2 == 0) {
        const size_t most = random() % 2 ? kChunk / 4 : 3 * kChunk;
        auto bytes = std::make_shared<std::vector<std::byte>>(1 + random() % most);
        const auto priority = int32_t(random() % 20);
        queue.Push({priority, 1}, block, bytes->size(), block, /*whole=*/true);
        parameter::Header header;
        header.mutable_push()->set_block(block++);
        header.mutable_push()->set_step(1);
        frames_->PutData(std::move(header), {absl::MakeConstSpan(*bytes), bytes}, priority);
        continue;
      }
      if (random() % 4 == 0) {
        parameter::Header control;
        control.mutable_taken();
        frames_->Put(control);
      }
      expected.emplace_back();
      const size_t taken = queue.Take(
          kChunk, plan::kPacketFrames, [&](uint32_t item, size_t offset, size_t, bool) { expected.back().push_back({item, offset}); },
          size_t(plan::EnoughOfServerPacket(int64_t{kChunk})));
      mixed += expected.back().size() > 1;
      short_of_full += !queue.empty() && taken < kChunk;
      if (expected.back().empty()) expected.pop_back();
      if (pipe_->busy)
        pipe_->Written();  // and it sends the next
      else
        frames_->Flush();
    }
    SendAll();
    std::erase_if(pipe_->pushes, [](const auto &packet) { return packet.empty(); });
    EXPECT_EQ(pipe_->pushes, expected);
    if (HasFailure()) return;
  }
  EXPECT_GT(mixed, 1000u);
  EXPECT_GT(short_of_full, 300u);
}

}  // namespace
}  // namespace commsched::transport
