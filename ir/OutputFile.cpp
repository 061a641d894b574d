// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <algorithm>
#include <climits>
#include <unistd.h>
#include <utility>

using namespace llvm;
using namespace commsched;

// Not TempFile of LLVM and the like, which replace what is '%' in the names of folders, too.
std::error_code commsched::createUniqueFile(const std::string &stem, StringRef ending, unsigned mode, bool onSignal,
                                            int &fd, std::string &name) {
  while (true) {
    std::string tried = (stem + utohexstr(sys::Process::GetRandomNumber(), /*LowerCase=*/true, /*Width=*/8) + ending).str();
    if (onSignal)
      sys::RemoveFileOnSignal(tried);
    const std::error_code code = sys::fs::openFileForReadWrite(tried, fd, sys::fs::CD_CreateNew, sys::fs::OF_None, mode);
    if (!code) {
      name = std::move(tried);
      return code;
    }
    if (onSignal)
      sys::DontRemoveFileOnSignal(tried);
    if (code != std::errc::file_exists)
      return code;
  }
}

/// Of a link at the end of `path`, where it leads to, whether that is there or not; of /dev/stdout and the like, which lead to
/// an open file of this process, `own` is its number.
static std::error_code followLinks(std::string &path, int &own) {
  constexpr int most = 40; // as Linux
  const std::string openFiles = "/proc/" + std::to_string(getpid()) + "/fd";
  for (int links = 0; links < most; ++links) {
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof(target));
    if (length <= 0)
      return {}; // no link: opening it says what else is wrong
    const StringRef to(target, length);
    const size_t begin = path.rfind('/') + 1; // 0 without a folder
    SmallString<128> folder;
    if (begin > 0 && !sys::fs::real_path(path.substr(0, begin), folder) && folder == openFiles &&
        !StringRef(path).substr(begin).getAsInteger(10, own))
      return {};
    path = to.starts_with("/") ? to.str() : path.substr(0, begin) + to.str();
  }
  return std::make_error_code(std::errc::too_many_symbolic_link_levels);
}

std::unique_ptr<OutputFile> OutputFile::open(StringRef path, std::string *error) {
  if (path.empty()) {
    *error = "output file must have a name";
    return nullptr;
  }
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  // The file that a link leads to is replaced, or made, not the link.
  int own = -1;
  std::error_code code = path == "-" ? std::error_code() : followLinks(file->path, own);
  if (own >= 0) {
    own = dup(own);
    code = own < 0 ? errnoAsErrorCode() : std::error_code();
    if (!code)
      file->stream = std::make_unique<raw_fd_ostream>(own, /*shouldClose=*/true);
  } else if (!code && (path == "-" || (sys::fs::exists(file->path) && !sys::fs::is_regular_file(file->path)))) {
    file->stream = std::make_unique<raw_fd_ostream>(file->path, code);
  } else if (!code) {
    code = file->make();
    if (!code)
      file->stream = std::make_unique<raw_fd_ostream>(file->fd, /*shouldClose=*/false);
  }
  if (!code)
    return file;
  *error = ("cannot open output file '" + path + "': " + code.message()).str();
  return nullptr;
}

std::error_code OutputFile::make() {
  // Names have at most 255 bytes, and this one is longer than that of the file.
  constexpr size_t longest = 200;
  const size_t begin = path.rfind('/') + 1; // 0 without a folder
  return createUniqueFile(path.substr(0, begin + std::min(path.size() - begin, longest)) + ".unfinished", "", 0666,
                          /*onSignal=*/true, fd, unfinished);
}

std::string OutputFile::flush() {
  stream->flush();
  std::string why = stream->has_error() ? stream->error().message() : "";
  stream->clear_error(); // which would end the process with the stream
  return why;
}

std::string OutputFile::keep() {
  std::string why = flush();
  if (!why.empty() || unfinished.empty())
    return why;
  const std::error_code closed = sys::Process::SafelyCloseFileDescriptor(std::exchange(fd, -1));
  if (closed)
    return closed.message();
  if (std::error_code code = sys::fs::rename(unfinished, path))
    return code.message();
  sys::DontRemoveFileOnSignal(unfinished);
  unfinished.clear();
  return "";
}

OutputFile::~OutputFile() {
  if (!stream)
    return;
  flush();
  if (unfinished.empty())
    return;
  if (fd >= 0)
    (void)sys::Process::SafelyCloseFileDescriptor(fd);
  (void)sys::fs::remove(unfinished);
  sys::DontRemoveFileOnSignal(unfinished);
}
