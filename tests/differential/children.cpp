// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/children.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace commsched::differential {

namespace {
// A child takes so many, so that what it allocates does not add up.
constexpr uint64_t kBatch = 64;
constexpr int kProcessorSeconds = 60; // of one program
constexpr double kSeconds = 600;      // if it waits for something
constexpr double kLook = 1;           // between two looks at the children, at most
constexpr rlim_t kMemory = rlim_t(12) << 30;

void writeAll(int fd, const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      _exit(2);
    at += size_t(n);
  }
}

std::string encode(uint64_t index, const Report &report) {
  std::string message = report.message;
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::ostringstream os;
  os << "done " << index << " " << int(report.outcome) << " " << report.elements << " " << report.undetermined << " "
     << report.reference << " " << report.lowering << " " << report.code << " " << report.run << " " << message << "\n";
  return os.str();
}
} // namespace

struct Children::Child {
  pid_t pid = -1;
  int fd = -1;
  uint64_t next = 0, last = 0; // `next` is being run
  // For how long it has done nothing, at the last look. While all of this is stopped
  // nobody looks, and no child can do anything.
  double idle = 0, looked = 0;
  std::string buffer;
  bool ended = false;
};

Children::Child Children::start(uint64_t from, uint64_t to,
                                const std::function<Job(uint64_t)> &job) {
  int ends[2];
  if (pipe(ends)) {
    std::perror("pipe");
    std::exit(2);
  }
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid < 0) {
    std::perror("fork");
    std::exit(2);
  }
  if (pid == 0) {
    close(ends[0]);
    for (int number : {SIGINT, SIGTERM})
      signal(number, SIG_DFL);
    rlimit memory{kMemory, kMemory}, none{0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &none);
    // What an assertion or the C++ library prints before it ends the process.
    int null = open("/dev/null", O_WRONLY);
    if (!std::getenv("COMMSCHED_DIFFERENTIAL_STDERR"))
      dup2(null, 2);
    for (uint64_t i = from; i < to; ++i) {
      itimerval limit{{0, 0}, {kProcessorSeconds, 0}};
      setitimer(ITIMER_PROF, &limit, nullptr);
      Job work = job(i);
      writeAll(ends[1], encode(i, trial.run(work.text, work.mode, work.seed)));
    }
    _exit(0);
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  Child child;
  child.pid = pid;
  child.fd = ends[0];
  child.next = from;
  child.last = to;
  child.looked = now();
  return child;
}

bool Children::read(Child &child, std::vector<Done> &results) {
  char bytes[4096];
  bool ended = false;
  for (;;) {
    ssize_t n = ::read(child.fd, bytes, sizeof(bytes));
    if (n > 0) {
      child.buffer.append(bytes, size_t(n));
      continue;
    }
    if (n < 0 && errno == EINTR)
      continue;
    ended = n == 0;
    break;
  }
  for (size_t end; (end = child.buffer.find('\n')) != std::string::npos;) {
    std::istringstream line(child.buffer.substr(0, end));
    child.buffer.erase(0, end + 1);
    Done done;
    std::string word;
    int outcome = 0;
    Report &r = done.report;
    line >> word >> done.index >> outcome >> r.elements >> r.undetermined >> r.reference >>
        r.lowering >> r.code >> r.run;
    std::getline(line >> std::ws, r.message);
    r.outcome = Outcome(outcome);
    results.push_back(done);
    child.next = done.index + 1;
    child.idle = 0;
  }
  const double time = now();
  child.idle += std::min(time - child.looked, 2 * kLook);
  child.looked = time;
  bool late = child.idle > kSeconds;
  if (!ended && !late)
    return true;
  if (late)
    kill(child.pid, SIGKILL);
  int status = 0;
  waitpid(child.pid, &status, 0);
  close(child.fd);
  child.ended = true;
  if (child.next < child.last) {
    Done done;
    done.index = child.next++;
    done.crashed = true;
    done.report.outcome = Outcome::failed;
    done.report.message = late                                                 ? "hangs"
                          : WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? "takes too long"
                          : WIFSIGNALED(status)                                ? std::string("crashes: ") + strsignal(WTERMSIG(status))
                                                                               : "exits with " + std::to_string(WEXITSTATUS(status));
    results.push_back(done);
  }
  return false;
}

void Children::run(uint64_t first, uint64_t last, const std::function<Job(uint64_t)> &job,
                   const std::function<bool(const Done &)> &done) {
  std::vector<Child> running;
  bool goesOn = true;
  auto startMore = [&] {
    while (goesOn && first < last && int(running.size()) < jobs) {
      uint64_t to = std::min(first + kBatch, last);
      running.push_back(start(first, to, job));
      first = to;
    }
  };
  startMore();
  while (!running.empty()) {
    std::vector<pollfd> polled;
    for (Child &child : running)
      polled.push_back({child.fd, POLLIN, 0});
    poll(polled.data(), polled.size(), int(kLook * 1000));
    for (size_t i = 0; i < running.size(); ++i) {
      std::vector<Done> results;
      bool alive = read(running[i], results);
      for (const Done &result : results)
        goesOn = done(result) && goesOn;
      if (!goesOn && alive) {
        kill(running[i].pid, SIGKILL);
        waitpid(running[i].pid, nullptr, 0);
        close(running[i].fd);
        running[i].ended = true;
      } else if (!alive && goesOn && running[i].next < running[i].last) {
        // What is left behind a crash.
        running[i] = start(running[i].next, running[i].last, job);
      }
    }
    running.erase(
        std::remove_if(running.begin(), running.end(), [](const Child &c) { return c.ended; }),
        running.end());
    startMore();
  }
}

Done Children::run(const Job &job) {
  Done result;
  run(0, 1, [&](uint64_t) { return job; }, [&](const Done &done) {
    result = done;
    return true; });
  return result;
}

} // namespace commsched::differential
