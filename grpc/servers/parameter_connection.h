// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trainer's connection as its server sees it: puts the parts of pushes
// together, and hands everything on to the hub.
#ifndef COMMSCHED_GRPC_SERVERS_PARAMETER_CONNECTION_H
#define COMMSCHED_GRPC_SERVERS_PARAMETER_CONNECTION_H

#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "grpc/servers/frame_stream.h"
#include "grpc/servers/parameter_hub.h"

namespace commsched::transport {

class ParameterConnection final : public FrameStream {
 public:
  explicit ParameterConnection(std::shared_ptr<ParameterHub> hub);

  // Of who has come through the gate, with its first packet.
  void Begin(std::shared_ptr<Stream> stream, grpc::ByteBuffer first);

 protected:
  absl::Status OnFrame(const parameter::Header &header,
                       PacketReader &reader) override;
  void OnBadFrame(const absl::Status &why) override;
  void OnGone(absl::Status status) override;

 private:
  struct Assembly {
    uint64_t step;
    size_t total;
    size_t got = 0;
    std::shared_ptr<std::byte[]> buffer;
  };

  std::shared_ptr<ParameterConnection> self() {
    return std::static_pointer_cast<ParameterConnection>(shared_from_this());
  }
  absl::Status OnPush(const parameter::Data &data, PacketReader &reader);
  absl::Status OnPullRows(const parameter::Data &data, PacketReader &reader);
  // Takes the next part of `what`.
  absl::Status TakePart(const parameter::Data &data, const std::string &what,
                        Assembly &assembly, PacketReader &reader);
  // Null unless it is a block of rows.
  const runtime::RowLayout *RowsOf(uint32_t block) const;

  const std::shared_ptr<ParameterHub> hub_;
  // For the reading thread.
  int trainer_ = -1;
  bool left_ = false;                               // nothing may follow
  absl::btree_map<uint32_t, Assembly> assemblies_;  // by block
  absl::btree_map<uint64_t, Assembly> requests_;    // of rows, by number
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_PARAMETER_CONNECTION_H
