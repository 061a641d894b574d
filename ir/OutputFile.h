// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tools and passes write. Unlike llvm::ToolOutputFile, it keeps the old file until the new one
// is whole, and a full disk is an error of the caller's, not the end of the process.

#ifndef COMMSCHED_IR_OUTPUTFILE_H
#define COMMSCHED_IR_OUTPUTFILE_H

#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>
#include <system_error>

namespace commsched {

/// A new file that is read and written, named `stem` and what no other file is. With `onSignal`, a signal that ends the
/// process removes it, until llvm::sys::DontRemoveFileOnSignal.
std::error_code createUniqueFile(const std::string &stem, llvm::StringRef ending, unsigned mode, bool onSignal, int &fd,
                                 std::string &name);

class OutputFile {
public:
  /// "-": standard output. Null if it cannot be opened, and `error` says why.
  static std::unique_ptr<OutputFile> open(llvm::StringRef path, std::string *error);
  /// Without keep(), nothing is left of it, and an old file stays as it was.
  ~OutputFile();

  llvm::raw_ostream &os() { return *stream; }
  /// Once, at the end: gives the file its name. Why that failed, or part of it was not written;
  /// empty if all is there.
  std::string keep();

private:
  explicit OutputFile(llvm::StringRef path) : path(path) {}
  std::error_code make();
  std::string flush();

  std::string path;
  /// Its name until it is whole; of devices and pipes, which are written to, empty.
  std::string unfinished;
  int fd = -1;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

} // namespace commsched

#endif // COMMSCHED_IR_OUTPUTFILE_H
