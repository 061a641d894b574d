// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/parameter_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace commsched::transport {
namespace {

std::shared_ptr<std::byte[]> NewBuffer(size_t bytes) {
  return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
}

}  // namespace

ParameterConnection::ParameterConnection(std::shared_ptr<ParameterHub> hub)
    : FrameStream(hub->options().chunk_bytes, std::max(hub->options().trainers, hub->options().servers)), hub_(std::move(hub)) {}

void ParameterConnection::Begin(std::shared_ptr<Stream> stream,
                                grpc::ByteBuffer first) {
  hub_->Accepted(self());
  TakeAccepted(std::move(stream), std::move(first));
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
      hub_->Pull(trainer_, self(), header.pull());
      return absl::OkStatus();
    case parameter::Header::kPullRows:
      return OnPullRows(header.pull_rows(), reader);
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
  const runtime::RowLayout *rows = RowsOf(data.block());
  if (rows != nullptr && !runtime::IsRowsMessageSize(data.total(), *rows))
    return absl::InvalidArgumentError(absl::StrFormat(
        "size of %s must be that of at most %d rows of %d bytes with ids, "
        "got: %d",
        what(), rows->rows, rows->row_bytes, data.total()));
  if (rows == nullptr && data.total() != blocks[data.block()])
    return absl::InvalidArgumentError(
        absl::StrFormat("size of %s must match the block's %d bytes, got: %d",
                        what(), blocks[data.block()], data.total()));
  auto [at, fresh] = assemblies_.try_emplace(data.block());
  Assembly &assembly = at->second;
  if (fresh) {
    assembly.step = data.step();
    assembly.total = data.total();
    // Messages of rows have all sizes: none is kept for the next one.
    assembly.buffer = rows == nullptr ? hub_->TakeBuffer(assembly.total)
                                      : NewBuffer(assembly.total);
  }
  if (absl::Status status = TakePart(data, what(), assembly, reader);
      !status.ok())
    return status;
  if (assembly.got < assembly.total) return absl::OkStatus();
  runtime::SharedBytes payload{
      absl::MakeConstSpan(assembly.buffer.get(), assembly.total),
      assembly.buffer};
  assemblies_.erase(at);
  hub_->Push(trainer_, data.block(), data.step(), std::move(payload));
  return absl::OkStatus();
}

absl::Status ParameterConnection::TakePart(const parameter::Data &data,
                                           const std::string &what,
                                           Assembly &assembly,
                                           PacketReader &reader) {
  if (data.step() != assembly.step || data.total() != assembly.total ||
      data.offset() != assembly.got)
    return absl::DataLossError(absl::StrFormat(
        "part of %s must be the next of step %d, at %d, got: %d", what,
        assembly.step, assembly.got, data.offset()));
  const size_t size = reader.payload_bytes();
  if (size > assembly.total - assembly.got ||
      (size == 0 && assembly.total > 0))
    return absl::DataLossError(
        absl::StrFormat("part of %s must have 1 to %d bytes, got: %d", what,
                        assembly.total - assembly.got, size));
  reader.ReadPayload([&](absl::Span<const std::byte> piece) {
    if (piece.empty()) return;
    std::memcpy(assembly.buffer.get() + assembly.got, piece.data(),
                piece.size());
    assembly.got += piece.size();
  });
  return absl::OkStatus();
}

const runtime::RowLayout *ParameterConnection::RowsOf(uint32_t block) const {
  const auto &rows = hub_->options().block_rows;
  return block < rows.size() && rows[block].rows > 0 ? &rows[block] : nullptr;
}

absl::Status ParameterConnection::OnPullRows(const parameter::Data &data,
                                             PacketReader &reader) {
  const auto &blocks = hub_->options().block_bytes;
  if (data.block() >= blocks.size())
    return absl::InvalidArgumentError(absl::StrFormat(
        "pulled rows of block %d of %d", data.block(), blocks.size()));
  const runtime::RowLayout *rows = RowsOf(data.block());
  if (rows == nullptr)
    return absl::InvalidArgumentError(absl::StrFormat(
        "pulled rows of block %d, which has no single rows", data.block()));
  const std::string what = absl::StrFormat(
      "pull of rows of block %d, version %d", data.block(), data.step());
  if (data.total() % sizeof(int64_t) != 0 ||
      data.total() / sizeof(int64_t) > static_cast<uint64_t>(rows->rows))
    return absl::InvalidArgumentError(absl::StrFormat(
        "size of %s must be that of at most %d ids, got: %d", what, rows->rows,
        data.total()));
  auto [at, fresh] = requests_.try_emplace(data.request());
  Assembly &assembly = at->second;
  if (fresh) {
    if (requests_.size() > 2 * blocks.size())
      return absl::ResourceExhaustedError(absl::StrFormat(
          "must not begin more than %d pulls of rows at once",
          2 * blocks.size()));
    assembly.step = data.step();
    assembly.total = data.total();
    assembly.buffer = NewBuffer(assembly.total);
  }
  if (absl::Status status = TakePart(data, what, assembly, reader);
      !status.ok())
    return status;
  if (assembly.got < assembly.total) return absl::OkStatus();
  std::vector<int64_t> ids(assembly.total / sizeof(int64_t));
  if (!ids.empty())
    std::memcpy(ids.data(), assembly.buffer.get(), assembly.total);
  requests_.erase(at);
  parameter::Data asked;
  asked.set_block(data.block());
  asked.set_step(data.step());
  asked.set_request(data.request());
  asked.set_priority(data.priority());
  hub_->PullRows(trainer_, self(), std::move(asked), std::move(ids));
  return absl::OkStatus();
}

void ParameterConnection::OnBadFrame(const absl::Status &why) {
  assemblies_.clear();
  requests_.clear();
  if (trainer_ < 0) {
    hub_->RefusedStranger(peer(), why.message());
    // Without a token it may be anybody, whom this would help.
    return End(hub_->options().security.token.empty()
                   ? absl::Status(why.code(), kReasonInLog)
                   : why);
  }
  left_ = true;
  hub_->Lost(trainer_, absl::Status(why.code(), absl::StrCat(
                                                    "broke the protocol: ",
                                                    why.message())));
}

void ParameterConnection::OnGone(absl::Status) {
  assemblies_.clear();
  requests_.clear();
  hub_->Closed(this);
}

}  // namespace commsched::transport
