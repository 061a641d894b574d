// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/job_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace commsched::launch {
namespace {

constexpr char kPrefix[] = "cs-run.job-";
constexpr int kTries = 100;

absl::Status Failed(const std::string &path, const char *what) {
  const int error = errno;
  std::string text = absl::StrCat(path, ": cannot be ", what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

// Names in the folder that `fd` is of.
std::vector<std::string> NamesIn(int fd) {
  std::vector<std::string> names;
  const int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = own < 0 ? nullptr : fdopendir(own);
  if (folder == nullptr) {
    if (own >= 0) close(own);
    return names;
  }
  while (const dirent *entry = readdir(folder))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  closedir(folder);
  return names;
}

int OpenFolder(int base, const char *name) {
  return openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Removes the folder `name` in `base`, open as `fd`, if nobody else has it open.
void RemoveUnlessOpen(int base, const std::string &name, int fd) {
  struct stat info, named;
  if (fstat(fd, &info) != 0 || info.st_uid != geteuid() ||
      flock(fd, LOCK_EX | LOCK_NB) != 0)
    return;
  // Only with the lock it is removed: if this is it now, it stays so.
  if (fstatat(base, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      named.st_ino != info.st_ino || named.st_dev != info.st_dev)
    return;
  for (const std::string &file : NamesIn(fd)) unlinkat(fd, file.c_str(), 0);
  unlinkat(base, name.c_str(), AT_REMOVEDIR);
}

}  // namespace

JobFolder &JobFolder::operator=(JobFolder &&other) {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

JobFolder::~JobFolder() {
  if (fd_ < 0) return;
  const size_t slash = path_.rfind('/');
  const int base = open(path_.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (base >= 0) {
    RemoveUnlessOpen(base, path_.substr(slash + 1), fd_);
    close(base);
  }
  close(fd_);
}

std::string JobFolder::Base() {
  const char *base = std::getenv("TMPDIR");
  // The name of a socket has at most 107 bytes.
  return base != nullptr && *base == '/' && std::strlen(base) < 60 ? base : "/tmp";
}

// With the lock, or nothing if another process is removing it.
absl::StatusOr<JobFolder> JobFolder::Open(const std::string &path) {
  JobFolder folder;
  const int fd = OpenFolder(AT_FDCWD, path.c_str());
  struct stat info;
  if (fd < 0) return Failed(path, "opened");
  // Where a file system has no locks, nobody removes it either.
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (!locked || fstat(fd, &info) != 0 || info.st_nlink == 0) {
    close(fd);
    return folder;
  }
  if (info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    close(fd);
    return absl::UnavailableError(
        absl::StrCat(path, ": is not a folder of this user alone"));
  }
  folder.fd_ = fd;
  folder.path_ = path;
  return folder;
}

absl::StatusOr<JobFolder> JobFolder::Make(const std::string &base) {
  RemoveAbandoned(base);
  for (int i = 0; i < kTries; ++i) {
    std::string path = absl::StrCat(base, "/", kPrefix, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return Failed(path, "made");
    auto folder = Open(path);
    // Before it was locked, it may have been taken for one that is abandoned.
    if (folder.ok() ? folder->fd_ >= 0 : !absl::IsNotFound(folder.status()))
      return folder;
  }
  return absl::UnavailableError(absl::StrCat(base, ": a folder made there does not stay"));
}

absl::StatusOr<JobFolder> JobFolder::Join(const std::string &base,
                                          const std::string &name) {
  const std::string path = absl::StrCat(base, "/", kPrefix, name);
  for (int i = 0; i < kTries; ++i) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Failed(path, "made");
    auto folder = Open(path);
    if (folder.ok() ? folder->fd_ >= 0 : !absl::IsNotFound(folder.status()))
      return folder;
    usleep(1000);
  }
  return absl::UnavailableError(absl::StrCat(path, ": does not stay"));
}

std::vector<std::string> JobFolder::Addresses(int count) const {
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i)
    addresses.push_back(absl::StrCat("unix:", path_, "/", i));
  return addresses;
}

absl::StatusOr<std::string> JobFolder::Agree(const std::string &name,
                                             const std::string &text) const {
  const std::string file = absl::StrCat(path_, "/", name);
  const std::string own = absl::StrCat(file, ".", getpid());
  const int fd = open(own.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const ssize_t size = fd >= 0 ? write(fd, text.data(), text.size()) : -1;
  const bool written = size == ssize_t(text.size());
  if (size >= 0 && !written) errno = ENOSPC;
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  // Whole or not at all, and once.
  const bool there = written && (link(own.c_str(), file.c_str()) == 0 || errno == EEXIST);
  absl::Status status = there ? absl::OkStatus() : Failed(file, "written");
  unlink(own.c_str());
  if (!status.ok()) return status;
  std::ifstream agreed(file);
  std::string line;
  if (!std::getline(agreed, line)) return Failed(file, "read");
  return line;
}

void RemoveAbandoned(const std::string &base) {
  const int folder = open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  for (const std::string &name : NamesIn(folder)) {
    if (!absl::StartsWith(name, kPrefix)) continue;
    const int fd = OpenFolder(folder, name.c_str());
    if (fd < 0) continue;
    RemoveUnlessOpen(folder, name, fd);
    close(fd);
  }
  close(folder);
}

}  // namespace commsched::launch
