// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/interpret_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/files.h"

extern char **environ;

namespace commsched::run {

absl::StatusOr<std::unique_ptr<Folder>> Folder::Make() {
  const char *given = getenv("TMPDIR");
  const std::string root = given != nullptr && *given != 0 ? given : "/tmp";
  std::string path = root + "/commsched-check-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return absl::UnavailableError(absl::StrCat(root, ": a folder cannot be made there: ", std::strerror(errno)));
  return std::unique_ptr<Folder>(new Folder(std::move(path)));
}

Folder::~Folder() {
  for (const std::string &file : files_) unlink(file.c_str());
  rmdir(path_.c_str());
}

std::string Folder::File(const std::string &name) {
  files_.push_back(absl::StrCat(path_, "/", name));
  return files_.back();
}

// cs-opt beside this program, or on the PATH.
static std::string CsOpt() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length > 0) {
    std::string beside(path, size_t(length));
    beside = beside.substr(0, beside.rfind('/') + 1) + "cs-opt";
    if (access(beside.c_str(), X_OK) == 0) return beside;
  }
  return "cs-opt";
}

absl::StatusOr<runtime::TensorFile> InterpretSteps(const std::string &module,
                                                   uint64_t steps, size_t workers,
                                                   bool sums, bool each,
                                                   const InterpretationFiles &files) {
  std::vector<std::string> words = {
      CsOpt(),
      module.front() == '-' ? "./" + module : module,  // a file, and no option
      absl::StrCat("--interpret=", steps),
      absl::StrCat("--interpret-values=", files.values),
      absl::StrCat("--interpret-batches=", files.batches),
      absl::StrCat("--interpret-output=", files.output),
      absl::StrCat("--interpret-workers=", workers)};
  if (sums) words.push_back("--interpret-reduction=sum");
  if (each) words.push_back("--interpret-each");
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files.errors.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                  arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return absl::UnavailableError(absl::StrCat("cannot run ", words[0], ": ",
                                               std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string why = std::string(absl::StripAsciiWhitespace(runtime::ReadWhole(files.errors).value_or("")));
    if (WIFSIGNALED(status))
      absl::StrAppend(&why, why.empty() ? "" : "; ", "cs-opt was killed by signal ", WTERMSIG(status), " (",
                      strsignal(WTERMSIG(status)), ")");
    return absl::InvalidArgumentError(absl::StrCat(module, " could not be interpreted: ", why));
  }
  return runtime::ReadSafetensors(files.output);
}

}  // namespace commsched::run
