// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {
namespace {

absl::Status SystemError(const std::string &path, const char *what) {
  int error = errno;
  std::string text = absl::StrCat(path, ": ", what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text)
                         : absl::UnavailableError(text);
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
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = size_t(info.st_size);
  if (file->size_ != 0) {
    void *p = mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      close(fd);
      return SystemError(path, "cannot be mapped");
    }
    file->data_ = static_cast<const char *>(p);
  }
  close(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char *>(data_), size_);
}

absl::Status CheckWritable(const std::string &path) {
  struct stat about;
  if (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be written: is a folder"));
  if (IsSpecial(path))
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus()
                                           : SystemError(path, "cannot be written");
  std::string temporary = absl::StrCat(path, ".tmp.", getpid());
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError(path, "cannot be written");
  close(fd);
  unlink(temporary.c_str());
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string &path,
                                 const std::vector<absl::string_view> &pieces) {
  const bool special = IsSpecial(path);
  std::string temporary = special ? path : absl::StrCat(path, ".tmp.", getpid());
  int fd = open(temporary.c_str(),
                O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), 0644);
  if (fd < 0) return SystemError(path, "cannot be written");
  auto fail = [&](const char *what) {
    absl::Status status = SystemError(path, what);
    close(fd);
    if (!special) unlink(temporary.c_str());
    return status;
  };
  for (absl::string_view piece : pieces)
    while (!piece.empty()) {
      ssize_t n = write(fd, piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail("cannot be written");
      piece.remove_prefix(size_t(n));
    }
  if (fsync(fd) != 0 && errno != EINVAL) return fail("cannot be flushed");
  if (close(fd) != 0) {
    absl::Status status = SystemError(path, "cannot be closed");
    if (!special) unlink(temporary.c_str());
    return status;
  }
  if (special) return absl::OkStatus();
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    absl::Status status = SystemError(path, "cannot be replaced");
    unlink(temporary.c_str());
    return status;
  }
  return absl::OkStatus();
}

}  // namespace commsched::runtime
