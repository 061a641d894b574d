// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/shared_wire.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "grpc/base/admission.h"

namespace commsched::transport {
namespace {

using runtime::LaneShape;
using Memory = runtime::LaneMemory<PartHeader>;

constexpr size_t kMessages = 64;
constexpr size_t kLeastPayload = size_t{64} << 10, kMostPayload = size_t{64} << 20;
// Connections of others to the offered socket that are looked at.
constexpr int kVisitors = 16;
// The file, what wakes who accepts, what wakes who dials.
constexpr int kFiles = 3;
// Neither side can make the file shorter any more, which would kill who uses its end.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// What is passed beside the files.
struct Note {
  char key[kNonceBytes];
  uint64_t payload;
};

absl::Status Failed(absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat("shared memory: ", what));
}

LaneShape ShapeOf(size_t payload) { return {.messages = kMessages, .payload = payload}; }

bool IsShape(uint64_t payload) {
  return payload >= kLeastPayload && payload <= kMostPayload && (payload & (payload - 1)) == 0;
}

// Of the abstract namespace.
socklen_t AddressOf(absl::string_view name, sockaddr_un *address) {
  *address = {};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() < sizeof(sockaddr_un::sun_path) - 1;
}

bool OfThisUser(int socket) {
  ucred other = {};
  socklen_t size = sizeof(other);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
         other.uid == geteuid();
}

// A note with files beside it, to be sent or received.
struct Passed {
  explicit Passed(Note *note) : data{note, sizeof(*note)} {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
  }

  iovec data;
  alignas(cmsghdr) char control[CMSG_SPACE(kFiles * sizeof(int))] = {};
  msghdr message = {};
};

bool SendFiles(int socket, Note note, const int (&files)[kFiles]) {
  Passed passed(&note);
  cmsghdr *header = CMSG_FIRSTHDR(&passed.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(files));
  std::memcpy(CMSG_DATA(header), files, sizeof(files));
  return sendmsg(socket, &passed.message, MSG_DONTWAIT | MSG_NOSIGNAL) == ssize_t(sizeof(note));
}

// False, and no files, unless they are as they should be.
bool ReceiveFiles(int socket, Note *note, int (&files)[kFiles]) {
  Passed passed(note);
  msghdr &message = passed.message;
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  bool whole = got == ssize_t(sizeof(*note)) && (message.msg_flags & MSG_CTRUNC) == 0;
  int count = 0;
  for (cmsghdr *header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      if (count < kFiles)
        files[count++] = file;
      else
        close(file);
    }
  }
  whole = whole && count == kFiles;
  if (!whole)
    while (count > 0) close(files[--count]);
  return whole;
}

}  // namespace

SharedWire::~SharedWire() {
  const size_t bytes = Memory::Bytes(shape_);
  if (own_ != nullptr) munmap(own_, bytes);
  if (theirs_ != nullptr) munmap(const_cast<std::byte *>(theirs_), bytes);
  if (wakes_me_ >= 0) close(wakes_me_);
  if (wakes_peer_ >= 0) close(wakes_peer_);
}

void SharedWire::WakePeer() const {
  const uint64_t one = 1;
  // Full: it has been woken.
  (void)!write(wakes_peer_, &one, sizeof(one));
}

absl::Status SharedWire::Map(int file, bool first) {
  const size_t bytes = Memory::Bytes(shape_);
  void *own = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                   first ? 0 : off_t(bytes));
  if (own == MAP_FAILED) return Failed("mmap");
  own_ = static_cast<std::byte *>(own);
  void *theirs = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, first ? off_t(bytes) : 0);
  if (theirs == MAP_FAILED) return Failed("mmap");
  theirs_ = static_cast<const std::byte *>(theirs);
  return absl::OkStatus();
}

size_t SharedBytes(size_t wanted) {
  return std::bit_ceil(std::clamp(wanted, kLeastPayload, kMostPayload));
}

bool SharesMemory() {
  const char *value = std::getenv("COMMSCHED_SHARED_MEMORY");
  return value == nullptr || absl::string_view(value) != "0";
}

std::string HostName() {
  struct stat network;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty() || stat("/proc/self/ns/net", &network) != 0) return "";
  return absl::StrCat(boot, " ", network.st_dev, ":", network.st_ino);
}

std::unique_ptr<SharedOffer> SharedOffer::Make() {
  std::unique_ptr<SharedOffer> offer(new SharedOffer);
  offer->listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  offer->socket_ = absl::StrCat("commsched-", absl::BytesToHexString(NewNonce()));
  offer->key_ = NewNonce();
  sockaddr_un address;
  const socklen_t size = AddressOf(offer->socket_, &address);
  if (offer->listener_ < 0 ||
      bind(offer->listener_, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
      listen(offer->listener_, kVisitors) != 0)
    return nullptr;
  return offer;
}

SharedOffer::~SharedOffer() {
  if (listener_ >= 0) close(listener_);
}

absl::StatusOr<std::shared_ptr<SharedWire>> SharedOffer::Take() {
  for (int i = 0; i < kVisitors; ++i) {
    const int visitor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (visitor < 0) break;
    auto close_visitor = absl::MakeCleanup([&] { close(visitor); });
    Note note = {};
    int files[kFiles] = {-1, -1, -1};
    if (!OfThisUser(visitor) || !ReceiveFiles(visitor, &note, files)) continue;
    auto wire = std::shared_ptr<SharedWire>(new SharedWire);
    auto close_file = absl::MakeCleanup([&] { close(files[0]); });
    wire->wakes_me_ = files[1];
    wire->wakes_peer_ = files[2];
    if (!ProofsEqual(absl::string_view(note.key, sizeof(note.key)), key_)) continue;
    if (!IsShape(note.payload))
      return absl::DataLossError(
          absl::StrCat("shared memory: payload must be a power of two, got: ", note.payload));
    wire->shape_ = ShapeOf(note.payload);
    struct stat info = {};
    if (fstat(files[0], &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size != off_t(2 * Memory::Bytes(wire->shape_)) ||
        (fcntl(files[0], F_GET_SEALS) & kSeals) != kSeals)
      return absl::DataLossError("shared memory: got a file that may become shorter");
    if (absl::Status status = wire->Map(files[0], /*first=*/false); !status.ok()) return status;
    return wire;
  }
  return absl::NotFoundError("shared memory: nobody has passed it");
}

absl::StatusOr<std::shared_ptr<SharedWire>> JoinSharedWire(absl::string_view name,
                                                           absl::string_view key,
                                                           size_t payload) {
  if (!IsName(name) || key.size() != kNonceBytes || !IsShape(payload))
    return absl::InvalidArgumentError("shared memory: the offer is malformed");
  const int to = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (to < 0) return Failed("socket");
  auto close_socket = absl::MakeCleanup([&] { close(to); });
  sockaddr_un address;
  const socklen_t size = AddressOf(name, &address);
  if (connect(to, reinterpret_cast<sockaddr *>(&address), size) != 0) return Failed("connect");
  if (!OfThisUser(to)) return absl::PermissionDeniedError("shared memory: of another user");

  auto wire = std::shared_ptr<SharedWire>(new SharedWire);
  wire->shape_ = ShapeOf(payload);
  const size_t bytes = 2 * Memory::Bytes(wire->shape_);
  const int file = memfd_create("commsched", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return Failed("memfd_create");
  auto close_file = absl::MakeCleanup([&] { close(file); });
  // All of it now: what the system cannot give later kills who touches it.
  if (const int error = posix_fallocate(file, 0, off_t(bytes)); error != 0) {
    errno = error;
    return Failed("posix_fallocate");
  }
  if (fcntl(file, F_ADD_SEALS, kSeals) != 0) return Failed("F_ADD_SEALS");
  wire->wakes_me_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  wire->wakes_peer_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wire->wakes_me_ < 0 || wire->wakes_peer_ < 0) return Failed("eventfd");
  if (absl::Status status = wire->Map(file, /*first=*/true); !status.ok()) return status;
  Note note = {};
  std::memcpy(note.key, key.data(), sizeof(note.key));
  note.payload = payload;
  if (!SendFiles(to, note, {file, wire->wakes_peer_, wire->wakes_me_})) return Failed("sendmsg");
  return wire;
}

}  // namespace commsched::transport
