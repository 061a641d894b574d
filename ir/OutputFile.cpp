// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/OutputFile.h"

#include "llvm/Support/Error.h"

using namespace llvm;
using namespace commsched;

std::unique_ptr<OutputFile> OutputFile::open(StringRef path, std::string *error) {
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  std::error_code code;
  // The file that a link leads to is replaced, not the link.
  SmallString<128> real;
  const bool there = path != "-" && !sys::fs::real_path(path, real);
  if (there)
    file->path = real.str().str();
  if (path == "-" || (there && !sys::fs::is_regular_file(real))) {
    file->stream = std::make_unique<raw_fd_ostream>(path, code);
  } else if (auto made = sys::fs::TempFile::create(file->path + ".unfinished%%%%%%%%")) {
    file->unfinished = std::move(*made);
    file->stream = std::make_unique<raw_fd_ostream>(file->unfinished->FD, /*shouldClose=*/false);
  } else {
    code = errorToErrorCode(made.takeError());
  }
  if (!code)
    return file;
  *error = ("cannot open output file '" + path + "': " + code.message()).str();
  return nullptr;
}

std::string OutputFile::flush() {
  stream->flush();
  std::string why = stream->has_error() ? stream->error().message() : "";
  stream->clear_error(); // which would end the process with the stream
  return why;
}

std::string OutputFile::keep() {
  std::string why = flush();
  if (!why.empty() || !unfinished)
    return why;
  Error error = unfinished->keep(path);
  unfinished.reset();
  return error ? toString(std::move(error)) : "";
}

OutputFile::~OutputFile() {
  if (!stream)
    return;
  flush();
  if (unfinished)
    consumeError(unfinished->discard());
}
