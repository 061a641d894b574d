// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-fuzz: no text may crash or hang the parser, the verifiers or a pipeline.
//
//   cs-fuzz --runs N [--seed S] [--first I] [--save DIR] FILE...
//       mutants I .. I+N-1 of the FILEs (each split at "// -----")
//   cs-fuzz --cases N [--save DIR] FILE...
//       N of them, or as many and from the seed as tests/cases.h says
//   cs-fuzz --replay FILE...
//       the FILEs as they are
//
// Every input is parsed, printed, parsed again and run through all pipelines,
// in child processes that take a batch each. A child that ends by a signal,
// runs out of memory or spends too long on one input, and a failure without a
// diagnostic, are findings: named on stderr, saved to DIR, exit status 1.
// Known defects of MLIR itself (watch.cpp) are counted apart.

#include "tests/cases.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/watch.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {
using namespace commsched::fuzz;

constexpr uint64_t kBatch = 400;
constexpr int kCpuSecondsPerInput = 60;  // freed memory is kept, which makes a search slow
constexpr double kSecondsPerInput = 300; // if it waits for something
constexpr rlim_t kMemory = rlim_t(8) << 30;

// MLIR's parser, when it gives up on an op whose region defined a value that was
// used before, removes the use after the value. Nothing of ours is involved.
constexpr const char *kParserWrites =
    "the parser writes to freed memory on giving up";

// What a child tells its parent while it runs.
struct Shared {
  volatile uint64_t index;
  volatile uint64_t stats[kOutcomes];
  char finding[500];
  char pipeline[2000];  // which runs
  char functions[8000]; // on the stack of a crash
};

struct Options {
  uint64_t runs = 0, seed = 1, first = 0;
  bool replay = false;
  std::string save;
  std::vector<std::string> files;
};

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "error: cannot read '%s'\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> splitInputs(const std::string &text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = text.find("// -----", begin);
    size_t stop = end == std::string::npos ? text.size() : end;
    if (stop > begin)
      parts.push_back(text.substr(begin, stop - begin));
    if (end == std::string::npos)
      break;
    begin = end + 8;
  }
  return parts;
}

// Runs inputs [from, to) in this process, which is a child.
[[noreturn]] void child(uint64_t from, uint64_t to, Checker &checker,
                        Shared *shared,
                        const std::function<std::string(uint64_t)> &input) {
  rlimit limit{kMemory, kMemory};
  setrlimit(RLIMIT_AS, &limit);
  rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  watchCrashes(shared->functions, sizeof(shared->functions));
  for (uint64_t i = from; i < to; ++i) {
    shared->index = i;
    std::string finding;
    std::string text = input(i);
    itimerval limit{{0, 0}, {kCpuSecondsPerInput, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    beginQuarantine();
    shared->pipeline[0] = 0;
    Outcome outcome = checker.check(text, finding, [shared](const std::string &pipeline) {
      std::strncpy(shared->pipeline, pipeline.c_str(), sizeof(shared->pipeline) - 1);
    });
    if (!endQuarantine())
      finding = outcome == kRefused ? kParserWrites : "writes to freed memory";
    shared->stats[outcome] = shared->stats[outcome] + 1;
    if (!finding.empty()) {
      std::strncpy(shared->finding, finding.c_str(),
                   sizeof(shared->finding) - 1);
      _exit(3);
    }
  }
  _exit(0);
}

std::string drawn(const Shared &shared) {
  return shared.pipeline[0] ? std::string("\n  in: ") + shared.pipeline : "";
}

// Runs inputs [from, to) in a child. Returns the first index not done; if that
// input was a finding, says why in `why`.
uint64_t batch(uint64_t from, uint64_t to, Checker &checker, Shared *shared,
               const std::function<std::string(uint64_t)> &input,
               std::string &why) {
  shared->index = from;
  shared->finding[0] = shared->pipeline[0] = shared->functions[0] = 0;
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid < 0) {
    std::perror("fork");
    std::exit(2);
  }
  if (pid == 0)
    child(from, to, checker, shared, input);
  using Clock = std::chrono::steady_clock;
  uint64_t seen = from;
  Clock::time_point since = Clock::now();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (shared->index != seen) {
      seen = shared->index;
      since = Clock::now();
    } else if (std::chrono::duration<double>(Clock::now() - since).count() >
               kSecondsPerInput) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      why = "hangs" + drawn(*shared);
      return shared->index;
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return to;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
    why = shared->finding;
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    why = "takes more than " + std::to_string(kCpuSecondsPerInput) + " s" + drawn(*shared);
  else if (WIFSIGNALED(status))
    why = std::string("crashes: ") + strsignal(WTERMSIG(status)) + drawn(*shared);
  else
    why = "exits with " + std::to_string(WEXITSTATUS(status));
  return shared->index;
}

// How many of the inputs before `index`, at most `most`, must run in the same
// process for the input to fail; tries 0, 1, 2, 4, ...
uint64_t inputsBefore(uint64_t index, uint64_t most, Checker &checker,
                      Shared *shared,
                      const std::function<std::string(uint64_t)> &input) {
  for (uint64_t before = 0; before < most; before = before ? 2 * before : 1) {
    std::string why;
    batch(index - before, index + 1, checker, shared, input, why);
    if (!why.empty())
      return before;
  }
  return most;
}

uint64_t number(const char *text) {
  char *end = nullptr;
  uint64_t value = std::strtoull(text, &end, 10);
  if (!*text || *end) {
    std::fprintf(stderr, "error: not a number: '%s'\n", text);
    std::exit(2);
  }
  return value;
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    bool hasNext = i + 1 < argc;
    if (arg == "--runs" && hasNext)
      options.runs = number(argv[++i]);
    else if (arg == "--cases" && hasNext) {
      const commsched::Cases cases = commsched::casesOf(uint32_t(number(argv[++i])));
      options.runs = cases.count(), options.seed = cases.first;
    } else if (arg == "--seed" && hasNext)
      options.seed = number(argv[++i]);
    else if (arg == "--first" && hasNext)
      options.first = number(argv[++i]);
    else if (arg == "--save" && hasNext)
      options.save = argv[++i];
    else if (arg == "--replay")
      options.replay = true;
    else if (arg.rfind("--", 0) == 0) {
      std::fprintf(stderr, "error: unknown or incomplete argument '%s'\n",
                   arg.c_str());
      std::exit(2);
    } else
      options.files.push_back(arg);
  }
  if (options.files.empty() && !options.replay) {
    std::fprintf(stderr, "error: no input files\n");
    std::exit(2);
  }
  return options;
}

} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  std::vector<std::string> texts;
  for (const std::string &file : options.files) {
    std::string text = readFile(file);
    if (options.replay)
      texts.push_back(text);
    else // data of megabytes would only be mutated in its constants
      for (std::string &part : splitInputs(text))
        if (part.size() < 60000)
          texts.push_back(std::move(part));
  }
  if (options.replay)
    options.first = 0, options.runs = texts.size();
  else if (texts.empty()) {
    std::fprintf(stderr, "error: no input is small enough\n");
    return 2;
  }
  Mutator mutator(texts, options.seed);
  auto input = [&](uint64_t i) {
    return options.replay ? texts[i] : mutator.mutant(i);
  };

  auto *shared = static_cast<Shared *>(mmap(nullptr, sizeof(Shared),
                                            PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    return 2;
  }
  std::memset(shared, 0, sizeof(Shared));
  Checker checker;
  std::map<std::string, uint64_t> knownDefects;
  uint64_t findings = 0, last = options.first + options.runs;
  for (uint64_t i = options.first; i < last;) {
    std::string why;
    uint64_t from = i;
    i = batch(i, std::min(i + kBatch, last), checker, shared, input,
              why);
    if (why.empty())
      continue;
    const char *known = knownDefect(shared->functions);
    if (why == kParserWrites)
      known = kParserWrites;
    if (known) {
      ++knownDefects[known];
      ++i;
      continue;
    }
    ++findings;
    std::string name = options.replay
                           ? options.files[i]
                           : "seed-" + std::to_string(options.seed) + "-" +
                                 std::to_string(i) + ".mlir";
    std::fprintf(stderr, "finding: %s: %s\n", name.c_str(), why.c_str());
    std::fputs(readable(shared->functions, 12).c_str(), stderr);
    if (uint64_t before = inputsBefore(i, i - from, checker, shared, input))
      std::fprintf(stderr, "  only after %llu inputs before it\n",
                   (unsigned long long)before);
    if (!options.save.empty() && !options.replay)
      std::ofstream(options.save + "/" + name, std::ios::binary) << input(i);
    ++i;
  }
  std::printf("%llu inputs of %zu texts: ", (unsigned long long)options.runs,
              texts.size());
  for (int i = 0; i < kOutcomes; ++i)
    std::printf("%llu %s, ", (unsigned long long)shared->stats[i],
                outcomeName(Outcome(i)));
  std::printf("%llu findings\n", (unsigned long long)findings);
  for (const auto &[what, count] : knownDefects)
    std::printf("known defect of MLIR, %llu times: %s\n",
                (unsigned long long)count, what.c_str());
  return findings != 0;
}
