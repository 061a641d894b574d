// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a stream of frames sends what is put into its queue.
#include "grpc/frame_stream.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace commsched::transport {
namespace {

constexpr size_t kChunk = size_t{64} << 10;
constexpr size_t kMaxHeader = 1 << 20;

// Keeps what is written, and says that it is when the test does.
class Pipe final : public Stream {
 public:
  void set_handler(StreamHandler *handler) override { handler_ = handler; }
  void Read() override {}
  bool Write(const grpc::ByteBuffer &packet) override {
    PacketReader reader(packet, kMaxHeader);
    parameter::Header header;
    while (reader.Next(&header).value_or(false)) {
      std::string name = "control";
      if (header.has_value())
        name = std::to_string(header.value().block()) + "@" +
               std::to_string(header.value().step()) + "+" +
               std::to_string(header.value().offset() / kChunk);
      else if (header.has_finish())
        name = "finish";
      sent.push_back(name);
    }
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
  bool busy = false;

 private:
  StreamHandler *handler_ = nullptr;
};

class Frames final : public FrameStream {
 public:
  Frames() : FrameStream(kChunk) {}

 private:
  absl::Status OnFrame(const parameter::Header &, PacketReader &) override {
    return absl::OkStatus();
  }
  void OnBadFrame(const absl::Status &) override {}
  void OnGone(absl::Status) override {}
};

class FrameStreamTest : public testing::Test {
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

TEST_F(FrameStreamTest, AnEarlierStepGoesFirst) {
  Put(0, 2, 1, 0);
  Put(1, 1, 1, 9);
  Put(0, 1, 1, 9);
  SendAll();
  EXPECT_EQ(pipe_->sent, Names({"0@1+0", "1@1+0", "0@2+0"}));
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

}  // namespace
}  // namespace commsched::transport
