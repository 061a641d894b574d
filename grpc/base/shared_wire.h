// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that two processes of a job on one host share, and how they come to it: who
// accepts a connection offers a socket without a file (of the abstract namespace, which
// belongs to a network namespace), who dials makes the memory, nameless (memfd), and
// passes it through that socket. Both are of one user, as the kernel says. So nothing is
// left of it however the processes end, and ranks that are to talk over a network, of
// containers or of namespaces for tests, do.
//
// Nothing here waits. Threading: objects are for one thread at a time.
#ifndef COMMSCHED_GRPC_BASE_SHARED_WIRE_H
#define COMMSCHED_GRPC_BASE_SHARED_WIRE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/transport/lane.h"

namespace commsched::transport {

// Of a packet of a stream, or a part of one that is long.
struct PartHeader {
  uint32_t payload = 0;
  uint32_t more = 0;  // 1: the next message goes on with it
};

// The memory as one of both sides has it. Unmapped with the last reference.
class SharedWire {
 public:
  SharedWire(const SharedWire &) = delete;
  ~SharedWire();

  runtime::LaneShape shape() const { return shape_; }
  std::byte *own() const { return own_; }
  const std::byte *theirs() const { return theirs_; }  // may not be written
  int wakes_me() const { return wakes_me_; }           // a descriptor that can be read then
  void WakePeer() const;

 private:
  friend class SharedOffer;
  friend absl::StatusOr<std::shared_ptr<SharedWire>> JoinSharedWire(absl::string_view,
                                                                    absl::string_view, size_t);
  SharedWire() = default;
  // Takes the file's halves; `first`: the own one is the first.
  absl::Status Map(int file, bool first);

  runtime::LaneShape shape_ = {};
  std::byte *own_ = nullptr;
  const std::byte *theirs_ = nullptr;
  int wakes_me_ = -1, wakes_peer_ = -1;
};

// The next size of payloads that there may be.
size_t SharedBytes(size_t wanted);
// Whether the environment allows it: COMMSCHED_SHARED_MEMORY is not 0.
bool SharesMemory();

// The host and the network namespace of this process; empty if they are not known.
std::string HostName();

// The accepting side's part.
class SharedOffer {
 public:
  // Null if the system does not give a socket.
  static std::unique_ptr<SharedOffer> Make();
  ~SharedOffer();

  const std::string &socket() const { return socket_; }  // its name
  const std::string &key() const { return key_; }
  // After the other side has said that it has passed the memory.
  absl::StatusOr<std::shared_ptr<SharedWire>> Take();

 private:
  SharedOffer() = default;
  int listener_ = -1;
  std::string socket_, key_;
};

// The dialling side's: makes memory with payloads of `payload` bytes each way, a power of
// two, and passes it to who has offered `socket`.
absl::StatusOr<std::shared_ptr<SharedWire>> JoinSharedWire(absl::string_view socket,
                                                           absl::string_view key,
                                                           size_t payload);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SHARED_WIRE_H
