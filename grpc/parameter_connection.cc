// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/parameter_connection.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace commsched::transport {

ParameterConnection::ParameterConnection(std::shared_ptr<ParameterHub> hub)
    : FrameStream(hub->options().chunk_bytes), hub_(std::move(hub)) {}

void ParameterConnection::Begin(std::shared_ptr<Stream> stream) {
  hub_->Accepted(self());
  TakeAccepted(std::move(stream));
}

absl::Status ParameterConnection::OnFrame(const parameter::Header &header,
                                          PacketReader &reader) {
  if (left_) return absl::DataLossError("got a frame behind the last one");
  if (header.has_join() != (trainer_ < 0))
    return absl::DataLossError(trainer_ < 0 ? "first frame must be a join"
                                            : "got a second join");
  switch (header.kind_case()) {
    case parameter::Header::kJoin: {
      absl::Status status = hub_->Join(self(), header.join());
      if (status.ok()) trainer_ = static_cast<int>(header.join().trainer());
      Flush();
      return status;
    }
    case parameter::Header::kPush:
      return OnPush(header.push(), reader);
    case parameter::Header::kPull:
      if (header.pull().block() >= hub_->options().block_bytes.size())
        return absl::InvalidArgumentError(absl::StrFormat(
            "pulled block %d of %d", header.pull().block(),
            hub_->options().block_bytes.size()));
      hub_->Pull(trainer_, self(), header.pull().block(),
                 header.pull().version());
      return absl::OkStatus();
    case parameter::Header::kFinish:
      hub_->Finish(trainer_, header.finish().steps());
      return absl::OkStatus();
    case parameter::Header::kAbort: {
      left_ = true;
      hub_->Lost(trainer_,
                 absl::AbortedError(Printable(header.abort().message())));
      return absl::OkStatus();
    }
    case parameter::Header::kGoodbye:
      left_ = true;
      hub_->Goodbye(trainer_);
      return absl::OkStatus();
    default:
      return absl::DataLossError("got a frame that no trainer sends");
  }
}

absl::Status ParameterConnection::OnPush(const parameter::Data &data,
                                         PacketReader &reader) {
  const auto &blocks = hub_->options().block_bytes;
  if (data.block() >= blocks.size())
    return absl::InvalidArgumentError(absl::StrFormat(
        "pushed block %d of %d", data.block(), blocks.size()));
  const auto what = [&] {
    return absl::StrFormat("push of block %d, step %d", data.block(),
                           data.step());
  };
  if (data.total() != blocks[data.block()])
    return absl::InvalidArgumentError(
        absl::StrFormat("size of %s must match the block's %d bytes, got: %d",
                        what(), blocks[data.block()], data.total()));
  auto [at, fresh] = assemblies_.try_emplace(data.block());
  Assembly &assembly = at->second;
  if (fresh) {
    assembly.step = data.step();
    assembly.total = data.total();
    assembly.buffer = hub_->TakeBuffer(assembly.total);
  }
  if (data.step() != assembly.step || data.offset() != assembly.got)
    return absl::DataLossError(absl::StrFormat(
        "part of %s must be the next of step %d, at %d, got: %d", what(),
        assembly.step, assembly.got, data.offset()));
  const size_t size = reader.payload_bytes();
  if (size > assembly.total - assembly.got ||
      (size == 0 && assembly.total > 0))
    return absl::DataLossError(
        absl::StrFormat("part of %s must have 1 to %d bytes, got: %d", what(),
                        assembly.total - assembly.got, size));
  reader.ReadPayload([&](absl::Span<const std::byte> piece) {
    if (piece.empty()) return;
    std::memcpy(assembly.buffer.get() + assembly.got, piece.data(),
                piece.size());
    assembly.got += piece.size();
  });
  if (assembly.got < assembly.total) return absl::OkStatus();
  runtime::SharedBytes payload{
      absl::MakeConstSpan(assembly.buffer.get(), assembly.total),
      assembly.buffer};
  assemblies_.erase(at);
  hub_->Push(trainer_, data.block(), data.step(), std::move(payload));
  return absl::OkStatus();
}

void ParameterConnection::OnBadFrame(const absl::Status &why) {
  assemblies_.clear();
  if (trainer_ < 0) return End(why);
  left_ = true;
  hub_->Lost(trainer_, absl::Status(why.code(), absl::StrCat(
                                                    "broke the protocol: ",
                                                    why.message())));
}

void ParameterConnection::OnGone(absl::Status) {
  assemblies_.clear();
  hub_->Closed(this, trainer_);
}

}  // namespace commsched::transport
