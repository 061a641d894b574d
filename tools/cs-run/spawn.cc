// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace commsched::run {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace(2);

struct Child {
  pid_t pid = -1;
  bool running = false;
};

// A folder for the ranks' sockets. Sockets of the file system, not loopback
// ports: a free port may be taken again before its rank listens on it.
class SocketFolder {
 public:
  ~SocketFolder() {
    for (const std::string &file : files_) unlink(file.c_str());
    if (!path_.empty()) rmdir(path_.c_str());
  }
  absl::StatusOr<std::vector<std::string>> Make(int count) {
    const char *base = std::getenv("TMPDIR");
    // The name of a socket has at most 107 bytes.
    std::string path = absl::StrCat(
        base != nullptr && *base != 0 && std::strlen(base) < 64 ? base : "/tmp",
        "/cs-run.XXXXXX");
    if (mkdtemp(path.data()) == nullptr)
      return absl::UnavailableError(
          absl::StrCat(path, ": cannot be made: ", std::strerror(errno)));
    path_ = path;
    std::vector<std::string> addresses;
    for (int i = 0; i < count; ++i) {
      files_.push_back(absl::StrCat(path_, "/", i));
      addresses.push_back("unix:" + files_.back());
    }
    return addresses;
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

[[noreturn]] void Exec(const std::vector<std::string> &arguments, bool quiet,
                       pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent went before that
  // The parent decides what a signal from the terminal means.
  signal(SIGINT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (quiet) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDOUT_FILENO);
  }
  std::vector<char *> argv;
  for (const std::string &a : arguments) argv.push_back(const_cast<char *>(a.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  std::fprintf(stderr, "cs-run: cannot start a process: %s\n", std::strerror(errno));
  _exit(127);
}

void KillAll(const std::vector<Child> &children, int signal_number) {
  for (const Child &child : children)
    if (child.running) kill(child.pid, signal_number);
}

}  // namespace

int Spawn(int nodes, const std::vector<std::string> &arguments) {
  // Signals are taken by sigtimedwait below.
  sigset_t signals;
  sigemptyset(&signals);
  for (int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, s);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  SocketFolder folder;
  absl::StatusOr<std::vector<std::string>> addresses = folder.Make(nodes);
  if (!addresses.ok()) {
    std::fprintf(stderr, "cs-run: %s\n",
                 std::string(addresses.status().message()).c_str());
    return 1;
  }
  std::vector<Child> children(static_cast<size_t>(nodes));
  std::fflush(nullptr);
  pid_t parent = getpid();
  int running = 0, exit_status = 0, killed_by = 0;
  for (int rank = 0; rank < nodes; ++rank) {
    std::vector<std::string> own = {"cs-run"};
    own.insert(own.end(), arguments.begin(), arguments.end());
    for (const std::string &a :
         {std::string("--spawned"), std::string("--rank"), absl::StrCat(rank),
          std::string("--peers"), absl::StrJoin(*addresses, ",")})
      own.push_back(a);
    pid_t pid = fork();
    if (pid == 0) Exec(own, rank != 0, parent);
    if (pid < 0) {
      std::fprintf(stderr, "cs-run: cannot start rank %d: %s\n", rank,
                   std::strerror(errno));
      exit_status = 1;
      break;
    }
    children[size_t(rank)] = {pid, true};
    ++running;
  }

  bool ending = exit_status != 0;
  Clock::time_point kill_at = Clock::now();
  while (running > 0) {
    timespec wait = {0, 50'000'000};
    int s = sigtimedwait(&signals, nullptr, &wait);
    if (s == SIGINT || s == SIGTERM || s == SIGHUP) {
      killed_by = s;
      exit_status = 128 + s;
      ending = true;
      kill_at = Clock::now();
      KillAll(children, SIGTERM);
    }
    for (int rank = 0; rank < nodes; ++rank) {
      Child &child = children[size_t(rank)];
      int status = 0;
      if (!child.running || waitpid(child.pid, &status, WNOHANG) != child.pid)
        continue;
      child.running = false;
      --running;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      if (exit_status == 0) exit_status = 1;
      // Ranks that are killed below die of what has been reported already.
      if (killed_by == 0 && !(ending && WIFSIGNALED(status) && Clock::now() >= kill_at)) {
        if (WIFSIGNALED(status))
          std::fprintf(stderr, "cs-run: rank %d was killed by signal %d (%s)\n",
                       rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
          std::fprintf(stderr, "cs-run: rank %d ended with status %d\n", rank,
                       WEXITSTATUS(status));
      }
      if (!ending) {
        ending = true;
        kill_at = Clock::now() + kGrace;
      }
    }
    if (ending && Clock::now() >= kill_at) {
      KillAll(children, Clock::now() >= kill_at + kGrace ? SIGKILL : SIGTERM);
    }
  }
  if (killed_by != 0)
    std::fprintf(stderr, "cs-run: ended by signal %d (%s)\n", killed_by,
                 strsignal(killed_by));
  return exit_status;
}

}  // namespace commsched::run
