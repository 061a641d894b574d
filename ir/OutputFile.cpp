// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <algorithm>
#include <utility>

using namespace llvm;
using namespace commsched;

std::unique_ptr<OutputFile> OutputFile::open(StringRef path, std::string *error) {
  if (path.empty()) {
    *error = "output file must have a name";
    return nullptr;
  }
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  std::error_code code;
  // The file that a link leads to is replaced, not the link.
  SmallString<128> real;
  const bool there = path != "-" && !sys::fs::real_path(path, real);
  if (there)
    file->path = real.str().str();
  if (path == "-" || (there && !sys::fs::is_regular_file(real))) {
    file->stream = std::make_unique<raw_fd_ostream>(path, code);
  } else {
    code = file->make();
    if (!code)
      file->stream = std::make_unique<raw_fd_ostream>(file->fd, /*shouldClose=*/false);
  }
  if (!code)
    return file;
  *error = ("cannot open output file '" + path + "': " + code.message()).str();
  return nullptr;
}

// Not TempFile of LLVM, which replaces what is '%' in the names of folders, too.
std::error_code OutputFile::make() {
  // Names have at most 255 bytes, and this one is longer than that of the file.
  constexpr size_t longest = 200;
  const size_t begin = path.rfind('/') + 1; // 0 without a folder
  const std::string stem = path.substr(0, begin + std::min(path.size() - begin, longest)) + ".unfinished";
  while (true) {
    std::string name = stem + utohexstr(sys::Process::GetRandomNumber(), /*LowerCase=*/true, /*Width=*/8);
    // A signal that ends the process removes it.
    sys::RemoveFileOnSignal(name);
    const std::error_code code = sys::fs::openFileForReadWrite(name, fd, sys::fs::CD_CreateNew, sys::fs::OF_None, 0666);
    if (!code) {
      unfinished = std::move(name);
      return code;
    }
    sys::DontRemoveFileOnSignal(name);
    if (code != std::errc::file_exists)
      return code;
  }
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
