// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {
namespace {

absl::Status SystemError(const std::string &path, const char *what) {
  int error = errno;
  std::string text = absl::StrCat(path, ": ", what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text)
                         : absl::UnavailableError(text);
}

// In the name of a file that is being written, and locked by who does.
constexpr char kUnfinished[] = ".unfinished-";

std::string FolderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/"
                                               : path.substr(0, slash);
}

// Where the bytes of a path go: to the file that a symbolic link leads to, there or not, so that the link stays;
// or, of /dev/stdout and the like, to an open file of this process, which is not replaced either.
struct Target {
  std::string path;
  int own = -1;
};

Target TargetOf(std::string path) {
  constexpr int kMost = 40;  // links, as the system has it
  const std::string open_files = absl::StrCat("/proc/", getpid(), "/fd");
  std::string target(4096, '\0');
  for (int i = 0; i < kMost; ++i) {
    const ssize_t size = readlink(path.c_str(), target.data(), target.size());
    if (size <= 0 || size_t(size) == target.size()) break;
    const std::string folder = FolderOf(path);
    std::error_code error;
    int number = -1;
    if (std::filesystem::canonical(folder, error) == open_files &&
        absl::SimpleAtoi(path.substr(path.rfind('/') + 1), &number))
      return {path, number};
    path = target[0] == '/' ? target.substr(0, size_t(size)) : absl::StrCat(folder, "/", target.substr(0, size_t(size)));
  }
  return {path};
}

struct Unfinished {
  std::string path;
  int fd;
};

absl::StatusOr<Unfinished> MakeUnfinished(const std::string &path) {
  static std::atomic<uint64_t> number{0};
  // Names have at most 255 bytes, and this one is longer than that of the file.
  constexpr size_t kLongest = 200;
  const size_t begin = path.rfind('/') + 1;  // 0 without a folder
  const std::string stem = path.substr(0, begin + std::min(path.size() - begin, kLongest));
  while (true) {
    std::string name = absl::StrCat(stem, kUnfinished, getpid(), "-", number++);
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return SystemError(path, "cannot be written");
    // Before it was locked, another process may have taken it for abandoned. Where
    // a file system has no locks, nobody does.
    struct stat info;
    const bool taken = (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
                       (fstat(fd, &info) == 0 && info.st_nlink == 0);
    if (!taken) return Unfinished{std::move(name), fd};
    close(fd);
  }
}

void RemoveUnfinishedOnce(const std::string &folder) {
  static Mutex mu;
  static std::set<std::string> *done = new std::set<std::string>;
  {
    MutexLock lock(&mu);
    if (!done->insert(folder).second) return;
  }
  RemoveUnfinished(folder);
}

// What is mapped. A handler of signals goes through it, so entries stay and are used again.
struct Mapping {
  std::atomic<uintptr_t> begin{0}, end{0};  // equal: free
  char path[1024];
  Mapping *next = nullptr;
};
std::atomic<Mapping *> mappings{nullptr};
Mutex mappings_mu;  // of who changes them

void AddMapping(const char *data, size_t size, const std::string &path) {
  MutexLock lock(&mappings_mu);
  Mapping *entry = mappings;
  while (entry != nullptr && entry->begin != entry->end) entry = entry->next;
  const bool made = entry == nullptr;
  if (made) entry = new Mapping;
  std::snprintf(entry->path, sizeof(entry->path), "%s", path.c_str());
  entry->end = reinterpret_cast<uintptr_t>(data) + size;
  entry->begin = reinterpret_cast<uintptr_t>(data);
  if (!made) return;
  entry->next = mappings;
  mappings = entry;
}

void RemoveMapping(const char *data) {
  MutexLock lock(&mappings_mu);
  for (Mapping *entry = mappings; entry != nullptr; entry = entry->next)
    if (entry->begin == reinterpret_cast<uintptr_t>(data) && entry->begin != entry->end) {
      entry->begin = entry->end.load();
      return;
    }
}

// Calls of WriteFileAtomically that have no answer yet, and those that had one.
std::atomic<int> disk_asked{0};
std::atomic<uint64_t> disk_answered{0};

template <typename F>
auto Ask(F call) {
  ++disk_asked;
  const auto answer = call();
  ++disk_answered;
  --disk_asked;
  return answer;
}

// What is written before the one before it is on the disk.
constexpr size_t kPiece = size_t{16} << 20;

// Waits until the `before` bytes in front of `at` are on the disk, while those behind it go there. False: they are lost.
// Without it, or where a file system has no such thing, all that is left to the flush at the end.
bool FlushPiece(int fd, size_t at, size_t before, size_t behind) {
  if (behind != 0) Ask([&] { return sync_file_range(fd, off_t(at), off_t(behind), SYNC_FILE_RANGE_WRITE); });
  if (before == 0) return true;
  const int done = Ask([&] {
    return sync_file_range(fd, off_t(at - before), off_t(before),
                           SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  });
  return done == 0 || (errno != EIO && errno != ENOSPC && errno != EDQUOT);
}

// There, and neither file nor folder.
bool IsSpecial(const std::string &path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) &&
         !S_ISDIR(about.st_mode);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(
    const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "cannot be opened");
  struct stat info;
  if (fstat(fd, &info) != 0) {
    absl::Status status = SystemError(path, "cannot be opened");
    close(fd);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = size_t(info.st_size);
  if (file->size_ != 0) {
    void *p = mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      absl::Status status = SystemError(path, "cannot be mapped");
      close(fd);
      return status;
    }
    file->data_ = static_cast<const char *>(p);
    AddMapping(file->data_, file->size_, path);
  }
  close(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  RemoveMapping(data_);
  munmap(const_cast<char *>(data_), size_);
}

const char *MappedFileAt(const void *address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  // To the end of the page.
  constexpr uintptr_t kPage = 4096;
  for (const Mapping *entry = mappings; entry != nullptr; entry = entry->next)
    if (entry->begin != entry->end && at >= entry->begin && at / kPage * kPage < entry->end)
      return entry->path;
  return nullptr;
}

absl::StatusOr<std::string> ReadWhole(const std::string &path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "cannot be read");
  std::string bytes;
  char piece[1 << 16];
  while (true) {
    const ssize_t n = read(fd, piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      absl::Status status = SystemError(path, "cannot be read");
      close(fd);
      return status;
    }
    if (n == 0) break;
    bytes.append(piece, size_t(n));
  }
  close(fd);
  return bytes;
}

void RemoveUnfinished(const std::string &folder) {
  DIR *entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  const int base = dirfd(entries);
  while (const dirent *entry = readdir(entries)) {
    if (std::strstr(entry->d_name, kUnfinished) == nullptr) continue;
    const int fd = openat(base, entry->d_name,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (fd < 0) continue;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
      unlinkat(base, entry->d_name, 0);
    close(fd);
  }
  closedir(entries);
}

int DiskWatch::Look() {
  const bool asked = disk_asked != 0;
  const uint64_t answered = disk_answered;
  looks_ = asked && answered == answered_ ? looks_ + 1 : 0;
  answered_ = answered;
  return looks_;
}

absl::Status CheckWritable(const std::string &given) {
  const auto [path, own] = TargetOf(given);
  if (own >= 0) {
    const int flags = fcntl(own, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return absl::OkStatus();
    if (flags >= 0) errno = EBADF;
    return SystemError(given, "cannot be written");
  }
  struct stat about;
  if (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be written: is a folder"));
  if (IsSpecial(path))
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus()
                                           : SystemError(path, "cannot be written");
  absl::StatusOr<Unfinished> made = MakeUnfinished(path);
  if (!made.ok()) return made.status();
  unlink(made->path.c_str());
  close(made->fd);
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string &given,
                                 const std::vector<absl::string_view> &pieces) {
  const auto [path, own] = TargetOf(given);
  const bool special = own >= 0 || IsSpecial(path);
  Unfinished made{path, -1};
  if (special) {
    made.fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (made.fd < 0) return SystemError(path, "cannot be written");
  } else {
    RemoveUnfinishedOnce(FolderOf(path));
    absl::StatusOr<Unfinished> beside = Ask([&] { return MakeUnfinished(path); });
    if (!beside.ok()) return beside.status();
    made = *std::move(beside);
  }
  const int fd = made.fd;
  auto fail = [&](const char *what) {
    absl::Status status = SystemError(path, what);
    if (!special) unlink(made.path.c_str());
    close(fd);
    return status;
  };
  size_t written = 0, flushed = 0, before = 0;  // what is on its way to the disk, and the last piece of that
  for (absl::string_view piece : pieces)
    while (!piece.empty()) {
      const ssize_t n = Ask([&] { return write(fd, piece.data(), std::min(piece.size(), kPiece)); });
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail("cannot be written");
      piece.remove_prefix(size_t(n));
      written += size_t(n);
      if (special || written - flushed < kPiece) continue;
      if (!FlushPiece(fd, flushed, before, written - flushed)) return fail("cannot be flushed");
      before = written - flushed;
      flushed = written;
    }
  if (Ask([&] { return fsync(fd); }) != 0 && errno != EINVAL) return fail("cannot be flushed");
  // While the lock is held: until it has its name, nobody takes it for abandoned.
  if (!special && Ask([&] { return std::rename(made.path.c_str(), path.c_str()); }) != 0)
    return fail("cannot be replaced");
  if (Ask([&] { return close(fd); }) != 0) return SystemError(path, "cannot be closed");
  return absl::OkStatus();
}

}  // namespace commsched::runtime
