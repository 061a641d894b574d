// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "launch/job_folder.h"
#include "launch/peers.h"
#include "runtime/base/memory_limits.h"
#include "runtime/measure/profile.h"
#include "runtime/session/stop_point.h"
#include "tools/cs-run/causes.h"
#include "tools/cs-run/child_report.h"
#include "tools/cs-run/merge_trace.h"
#include "tools/cs-run/security.h"
#include "tools/cs-run/signals.h"

namespace commsched::run {
namespace {

// Nanoseconds that ranks get once another has failed: to see that by
// themselves, and, when they have, to write their trace.
constexpr int64_t kGrace = 2'000'000'000;
constexpr int64_t kGraceToWrite = 30'000'000'000;

struct Child {
  pid_t pid = -1;
  bool running = false;
  int report = -1;             // file
  std::string trace, profile;  // files; empty: none
  Outcome outcome;
};

[[noreturn]] void Exec(const std::vector<std::string> &arguments, bool quiet,
                       const std::vector<int> &inherited, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent went before that
  // The parent decides what a signal to the whole group means.
  for (int s : {SIGINT, SIGHUP}) signal(s, SIG_IGN);
  sigset_t handled;  // by Signals, as soon as there are some
  sigemptyset(&handled);
  for (int s : {SIGTERM, kEndSignal}) sigaddset(&handled, s);
  sigprocmask(SIG_SETMASK, &handled, nullptr);
  if (quiet) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDOUT_FILENO);
  }
  for (int fd : inherited) fcntl(fd, F_SETFD, 0);  // stays open
  std::vector<char *> argv;
  for (const std::string &a : arguments) argv.push_back(const_cast<char *>(a.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  std::fprintf(stderr, "cs-run: cannot start a process: %s\n", std::strerror(errno));
  _exit(127);
}

void Complain(absl::string_view what) {
  std::fprintf(stderr, "cs-run: %s\n", std::string(what).c_str());
}

// Tells it to end: politely once, then not.
void End(Child &child) {
  if (!child.running) return;
  const int64_t now = Now();
  int64_t &told = child.outcome.ended_by_us;
  if (told == Outcome::kNever) {
    told = now;
    kill(child.pid, kEndSignal);
  } else if (now - told >= (HasReport(child.report) ? kGraceToWrite : kGrace)) {
    kill(child.pid, SIGKILL);
  }
}

// Where each process writes its trace or profile: in a folder beside the one that
// they become. Rather now than after the training, if that cannot be written.
absl::StatusOr<launch::JobFolder> PlaceParts(const std::string &path, std::string Child::*part,
                                             std::vector<Child> &children) {
  const size_t slash = path.rfind('/');
  const std::string beside = slash == path.npos ? "."
                             : slash == 0       ? "/"
                                                : path.substr(0, slash);
  if (access(beside.c_str(), W_OK | X_OK) != 0)
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
  auto folder = launch::JobFolder::Make(beside);
  if (!folder.ok()) return folder.status();
  for (size_t rank = 0; rank < children.size(); ++rank)
    children[rank].*part = absl::StrCat(folder->path(), "/", rank);
  return folder;
}

absl::Status CollectTraces(const std::string &path,
                           const std::vector<Child> &children, int servers) {
  std::vector<std::string> files;
  for (const Child &child : children) files.push_back(child.trace);
  absl::StatusOr<bool> written = MergeTraces(files, path, servers);
  if (written.ok() && *written) std::printf("trace: %s\n", path.c_str());
  return written.status();
}

// Of those that have one: servers that run no fragment in a step do not.
absl::Status CollectProfiles(const std::string &path,
                             const std::vector<Child> &children, bool failed) {
  std::vector<std::string> files;
  for (const Child &child : children)
    if (!failed && access(child.profile.c_str(), F_OK) == 0)
      files.push_back(child.profile);
  if (failed || files.empty()) return absl::OkStatus();
  absl::Status status = runtime::MergeProfiles(files, path);
  if (status.ok()) std::printf("profile: %s\n", path.c_str());
  return status;
}

// A process of each rank and of each server, and what becomes of them.
class Cluster {
 public:
  Cluster(const Options &options, const std::vector<std::string> &arguments, int ranks, int servers,
          bool connected)
      : options_(options),
        arguments_(arguments),
        ranks_(ranks),
        servers_(servers),
        connected_(connected),
        children_(size_t(ranks + servers)) {}
  ~Cluster() {
    for (const Child &child : children_)
      if (child.report >= 0) close(child.report);
    if (token_ >= 0) close(token_);
    if (stop_file_ >= 0) close(stop_file_);
  }

  std::string ResultOfRank0() const { return children_[0].report < 0 ? "" : ReadResult(children_[0].report); }

  int Run() {
    // Signals are taken by sigtimedwait below.
    sigset_t signals;
    sigemptyset(&signals);
    for (int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, s);
    // As nohup has it: blocked, it would come all the same.
    struct sigaction hangup;
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN)
      sigdelset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    absl::Status status = Prepare();
    stop_file_ = runtime::SharedStop::MakeFile();
    if (stop_file_ >= 0) stop_ = runtime::SharedStop::Open(stop_file_);
    if (status.ok() && stop_ == nullptr)
      status = absl::UnavailableError(
          absl::StrCat("no memory to share: ", std::strerror(errno)));
    if (!status.ok()) return Complain(status.message()), 1;
    std::fflush(nullptr);
    if (!Start()) return EndAll(), 1;
    Watch(signals);
    // One that was told alone has told the others.
    if (killed_by_ == 0 && !failed_ && stop_->reason() != 0) {
      killed_by_ = stop_->reason();
      exit_status_ = 128 + killed_by_;
    }
    absl::Status traced;
    if (!options_.trace.empty()) traced = CollectTraces(options_.trace, children_, servers_);
    if (!traced.ok() && exit_status_ == 0) exit_status_ = 1;
    if (!options_.profile.empty())
      if (absl::Status s = CollectProfiles(options_.profile, children_, failed_);
          !s.ok()) {
        Complain(s.message());
        exit_status_ = 1;
      }
    std::fflush(stdout);
    std::vector<Outcome> outcomes;
    for (Child &child : children_) outcomes.push_back(child.outcome);
    const std::vector<std::string> causes = Causes(outcomes, addresses_, servers_);
    // What a process could not write of it has been said.
    if (!traced.ok() && std::none_of(causes.begin(), causes.end(), [&](const std::string &line) {
          return absl::StrContains(line, options_.trace);
        }))
      Complain(traced.message());
    for (const std::string &line : causes) Complain(line);
    if (killed_by_ != 0) Complain(EndedBy(killed_by_));
    return exit_status_;
  }

 private:
  absl::Status Prepare();
  std::vector<std::string> ArgumentsOfRank(int rank) const;
  std::vector<std::string> ArgumentsOfServer(int server) const;
  void AwaitServers();
  bool Start();
  void EndAll();
  void Watch(const sigset_t &signals);
  void Reap(Child &child);

  const Options &options_;
  const std::vector<std::string> &arguments_;
  const int ranks_, servers_;
  const bool connected_;  // ranks are, with each other
  launch::JobFolder sockets_, traces_, profiles_;
  std::vector<std::string> addresses_;  // of ranks, then of servers
  int token_ = -1;                      // file
  std::vector<Child> children_;         // as addresses_
  int running_ = 0, exit_status_ = 0, killed_by_ = 0;
  SignalCount signals_;
  bool failed_ = false;                                                   // a process has
  uint64_t memory_kills_ = runtime::ReadMemoryGroup().kills.value_or(0);  // that are known
  int stop_file_ = -1;
  std::unique_ptr<runtime::SharedStop> stop_;
};

absl::Status Cluster::Prepare() {
  // Sockets of the file system, not loopback ports: a free port may be taken again
  // before its rank listens on it.
  auto sockets = launch::JobFolder::Make(launch::JobFolder::Base());
  if (!sockets.ok()) return sockets.status();
  sockets_ = *std::move(sockets);
  addresses_ = sockets_.Addresses(ranks_ + servers_);
  std::string token = launch::NewToken();
  if (!options_.token_file.empty()) {
    auto given = Security(options_);
    if (!given.ok()) return given.status();
    token = given->token;
  }
  // Neither an argument nor a variable nor a file, which others might see.
  token_ = MakeTokenFile(token);
  if (token_ < 0)
    return absl::UnavailableError(
        absl::StrCat("no memory for the token of the job: ", std::strerror(errno)));
  for (auto [path, part, folder] :
       {std::tuple(&options_.trace, &Child::trace, &traces_),
        std::tuple(&options_.profile, &Child::profile, &profiles_)}) {
    if (path->empty()) continue;
    auto made = PlaceParts(*path, part, children_);
    if (!made.ok()) return made.status();
    *folder = *std::move(made);
  }
  return absl::OkStatus();
}

std::vector<std::string> Cluster::ArgumentsOfRank(int rank) const {
  std::vector<std::string> own = {"cs-run"};
  own.insert(own.end(), arguments_.begin(), arguments_.end());
  const auto servers = addresses_.begin() + ranks_;
  own.insert(own.end(), {"--rank", absl::StrCat(rank)});
  if (connected_ || servers_ == 0)
    own.insert(own.end(),
               {"--peers", absl::StrJoin(addresses_.begin(), servers, ",")});
  if (servers_ > 0)
    own.insert(own.end(), {"--servers", absl::StrJoin(servers, addresses_.end(), ",")});
  return own;
}

std::vector<std::string> Cluster::ArgumentsOfServer(int server) const {
  std::vector<std::string> own = {"cs-run", options_.plan, "--role", "server"};
  auto add = [&own](const std::string &name, const std::string &value) {
    if (!value.empty()) own.insert(own.end(), {name, value});
  };
  add("--index", absl::StrCat(server));
  add("--listen", addresses_[size_t(ranks_ + server)]);
  add("--tls-ca", options_.tls_ca);
  add("--tls-cert", options_.tls_cert);
  add("--tls-key", options_.tls_key);
  add("--init", options_.init);
  add("--resume-job", options_.resume_job);
  add("--checkpoint", options_.checkpoint);
  if (options_.checkpoint_every != 0)
    add("--checkpoint-every", absl::StrCat(options_.checkpoint_every));
  add("--deadline", absl::StrCat(absl::ToDoubleSeconds(options_.deadline)));
  if (options_.emulate) own.push_back("--emulate");
  if (options_.no_shared_memory) own.push_back("--no-shared-memory");
  return own;
}

void Cluster::AwaitServers() {
  const int64_t end = Now() + absl::ToInt64Nanoseconds(
                                  std::min(options_.deadline, absl::Seconds(10)));
  for (int i = ranks_; i < ranks_ + servers_; ++i) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = addresses_[size_t(i)].substr(5);  // "unix:"
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    while (Now() < end && !HasReport(children_[size_t(i)].report)) {
      int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      bool listens = fd >= 0 && connect(fd, reinterpret_cast<sockaddr *>(&address),
                                        sizeof(address)) == 0;
      if (fd >= 0) close(fd);
      if (listens) break;
      usleep(5000);
    }
  }
}

bool Cluster::Start() {
  const pid_t parent = getpid();
  const std::string origin = absl::StrCat(Now());
  // Servers first: what dials a socket that is not there yet waits longer.
  for (int n = 0; n < ranks_ + servers_; ++n) {
    if (n == servers_) AwaitServers();
    const int i = n < servers_ ? ranks_ + n : n - servers_;
    Child &child = children_[size_t(i)];
    child.report = MakeReportFile();
    std::vector<std::string> own =
        i < ranks_ ? ArgumentsOfRank(i) : ArgumentsOfServer(i - ranks_);
    own.insert(own.end(), {"--spawned", absl::StrCat(child.report), "--token-fd",
                           absl::StrCat(token_), "--stop-file", absl::StrCat(stop_file_)});
    if (!child.trace.empty())
      for (const std::string &a : {std::string("--trace"), child.trace,
                                   std::string("--trace-origin"), origin})
        own.push_back(a);
    if (!child.profile.empty()) own.insert(own.end(), {"--profile", child.profile});
    child.pid = child.report < 0 ? -1 : fork();
    if (child.pid == 0) Exec(own, i != 0, {child.report, token_, stop_file_}, parent);
    if (child.pid < 0) {
      Complain(absl::StrCat(i < ranks_ ? "cannot start rank " : "cannot start server ",
                            i < ranks_ ? i : i - ranks_, ": ", std::strerror(errno)));
      return false;
    }
    child.running = true;
    ++running_;
  }
  return true;
}

// What they would say is only that others were not started.
void Cluster::EndAll() {
  for (const Child &child : children_)
    if (child.running) kill(child.pid, SIGKILL);
  for (const Child &child : children_)
    if (child.running) waitpid(child.pid, nullptr, 0);
}

void Cluster::Reap(Child &child) {
  int status = 0;
  if (!child.running || waitpid(child.pid, &status, WNOHANG) != child.pid) return;
  child.running = false;
  --running_;
  Outcome &outcome = child.outcome;
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (outcome.signal == SIGKILL && outcome.ended_by_us == Outcome::kNever &&
      runtime::ReadMemoryGroup().kills.value_or(0) > memory_kills_) {
    outcome.out_of_memory = true;
    ++memory_kills_;
  }
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  outcome.report = ReadReport(child.report, &outcome.reported);
  // What cannot be written is the file that was asked for.
  for (const auto &[part, whole] : {std::pair(child.trace, options_.trace), std::pair(child.profile, options_.profile)})
    if (!part.empty() && !outcome.report.ok())
      outcome.report = absl::Status(outcome.report.code(),
                                    absl::StrReplaceAll(outcome.report.message(), {{part, whole}}));
  failed_ |= status != 0;
  if (status != 0 && exit_status_ == 0) exit_status_ = 1;
}

void Cluster::Watch(const sigset_t &signals) {
  int64_t failed = Outcome::kNever;  // when it was noticed
  while (running_ > 0) {
    timespec wait = {0, 50'000'000};
    int s = sigtimedwait(&signals, nullptr, &wait);
    for (Child &child : children_) Reap(child);
    if (s == SIGINT || s == SIGTERM || s == SIGHUP) {
      const SignalCount::Which which = signals_.Next();
      if (which == SignalCount::kSame) continue;
      if (which == SignalCount::kFirst) stop_->Request(s);
      if (which == SignalCount::kSecond)  // no patience left
        for (const Child &child : children_)
          if (child.running) kill(child.pid, SIGKILL);
      killed_by_ = s;
      exit_status_ = 128 + s;
    }
    const int64_t now = Now();
    if (failed_ && failed == Outcome::kNever) failed = now;
    if (failed == Outcome::kNever) continue;
    for (Child &child : children_) {
      // What it writes is whole without the one that has failed.
      if (NeedsNobody(child.report)) continue;
      const int64_t grace = HasReport(child.report) ? kGraceToWrite : kGrace;
      if (now - failed >= grace) End(child);
    }
  }
}

}  // namespace

int Spawn(const Options &options, const std::vector<std::string> &arguments,
          int ranks, int servers, bool connected, std::string *at_end) {
  Cluster cluster(options, arguments, ranks, servers, connected);
  const int ended = cluster.Run();
  *at_end = cluster.ResultOfRank0();
  return ended;
}

}  // namespace commsched::run
