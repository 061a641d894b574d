// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/planning_command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/files.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {
namespace {

// Descriptor 3 leads to this process. When that is gone, so is the group. How the command has ended is said there too:
// who ignores SIGCHLD, or waits for all children, takes the status away.
constexpr char kShell[] =
    "(cat >/dev/null; kill -KILL 0) <&3 & watch=$!; "
    "(eval \"$1\") 3<&-; status=$?; kill $watch; echo $status >&3; exit $status";

std::string Quoted(const std::string &path) {
  return absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
}

// The last lines of what was written, as one.
std::string EndOf(std::string text) {
  constexpr size_t kMost = 500;
  text = std::string(absl::StripAsciiWhitespace(text));
  if (text.size() > kMost) text = "..." + text.substr(text.size() - kMost);
  return absl::StrReplaceAll(text, {{"\n", "; "}});
}

// Of the calling thread, and so of what it starts. It cannot be undone.
void TakeLittle() {
  setpriority(PRIO_PROCESS, 0, 19);  // of the thread, on Linux
  cpu_set_t allowed, one;
  CPU_ZERO(&allowed);
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int i = CPU_SETSIZE - 1; i >= 0; --i)
    if (CPU_ISSET(i, &allowed)) {
      CPU_SET(i, &one);
      sched_setaffinity(0, sizeof(one), &one);
      return;
    }
}

struct Files {
  std::string folder, profile, calibration, plan, log;
  bool temporary = false;
  ~Files() {
    if (!temporary) return;
    for (const std::string &file : {profile, calibration, plan, log})
      unlink(file.c_str());
    rmdir(folder.c_str());
  }
};

absl::Status MakeFiles(const std::string &folder, uint64_t attempt, Files *files) {
  files->folder = folder;
  if (folder.empty()) {
    const char *tmp = getenv("TMPDIR");
    std::string name =
        absl::StrCat(tmp != nullptr && *tmp != 0 ? tmp : "/tmp", "/cs-replan.XXXXXX");
    if (mkdtemp(name.data()) == nullptr)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", name));
    files->folder = name;
    files->temporary = true;
  } else if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", folder));
  }
  auto path = [&](const char *name, const char *end) {
    return absl::StrCat(files->folder, "/", name, ".", attempt, end);
  };
  files->profile = path("profile", ".json");
  files->calibration = path("calibration", ".json");
  files->plan = path("plan", "");
  files->log = path("log", ".txt");
  unlink(files->plan.c_str());
  return absl::OkStatus();
}

absl::StatusOr<pid_t> Start(const std::string &command, const std::string &log,
                            int end) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, end, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  std::string text = command, script = kShell;
  char shell[] = "sh", option[] = "-c", name[] = "replan";
  char *arguments[] = {shell, option, script.data(), name, text.data(), nullptr};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot start /bin/sh");
  return pid;
}

// As waitpid has it; nothing if the shell has not come so far.
std::optional<int> StatusSaid(int from) {
  char text[16] = {};
  int status = 0;
  if (recv(from, text, sizeof(text) - 1, MSG_DONTWAIT) <= 0 ||
      !absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &status))
    return std::nullopt;
  return W_EXITCODE(status, 0);
}

absl::Status Await(pid_t pid, int from, const PlanningCommandOptions &options,
                   const std::string &log, const std::atomic<bool> &stop) {
  const Clock::time_point end = After(options.deadline);
  int status = 0;
  pid_t waited;
  absl::Status ended;
  while ((waited = waitpid(pid, &status, WNOHANG)) == 0 || (waited < 0 && errno == EINTR)) {
    if (stop)
      ended = absl::CancelledError("the run is over");
    else if (Clock::now() > end)
      ended = absl::DeadlineExceededError(
          absl::StrCat("the command has not ended within ",
                       absl::FormatDuration(options.deadline)));
    if (!ended.ok()) {
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      return ended;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::optional<int> how = waited == pid ? status : StatusSaid(from);
  if (how == 0) return absl::OkStatus();
  const std::string said = EndOf(ReadWhole(log).value_or(""));
  return absl::InternalError(absl::StrCat(
      "the command ",
      !how                ? "has ended, and how is not known: its status was taken by other parts of this process"
      : WIFSIGNALED(*how) ? absl::StrCat("was ended by signal ", WTERMSIG(*how))
                          : absl::StrCat("failed with status ", WEXITSTATUS(*how)),
      said.empty() ? "" : ": ", said));
}

absl::StatusOr<std::string> Plan(const PlanningCommandOptions &options,
                                 const Measurements &measured,
                                 const std::atomic<bool> &stop) {
  Files files;
  if (absl::Status s = MakeFiles(options.folder, measured.attempt, &files); !s.ok())
    return s;
  if (absl::Status s = WriteFileAtomically(files.profile, {measured.profile}); !s.ok())
    return s;
  if (absl::Status s = WriteFileAtomically(files.calibration, {measured.calibration});
      !s.ok())
    return s;
  const std::string command = absl::StrReplaceAll(
      options.command, {{"{profile}", Quoted(files.profile)},
                        {"{calibration}", Quoted(files.calibration)},
                        {"{plan}", Quoted(files.plan)}});
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ErrnoToStatus(errno, "no sockets");
  absl::Status status;
  // What little it takes is a matter of the thread that starts it.
  std::thread starter([&] {
    TakeLittle();
    absl::StatusOr<pid_t> pid = Start(command, files.log, ends[0]);
    status = pid.ok() ? Await(*pid, ends[1], options, files.log, stop) : pid.status();
  });
  starter.join();
  close(ends[0]);
  close(ends[1]);
  if (!status.ok()) return status;
  absl::StatusOr<std::shared_ptr<const MappedFile>> plan =
      MappedFile::Open(files.plan);
  if (!plan.ok())
    return absl::Status(plan.status().code(),
                        absl::StrCat("the command has written no plan: ",
                                     plan.status().message()));
  return std::string((*plan)->bytes());
}

}  // namespace

absl::Status CheckPlanningCommand(const std::string &command) {
  if (command.find("{plan}") != command.npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must name the file to write as {plan}, got: ", command));
}

PlanFunction PlanByCommand(PlanningCommandOptions options) {
  return [options = std::move(options)](const Measurements &measured,
                                        const std::atomic<bool> &stop) {
    return Plan(options, measured, stop);
  };
}

}  // namespace commsched::runtime
