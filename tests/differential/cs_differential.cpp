// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-differential: a compiled step computes what the reference interpreter says.
//
//   cs-differential --runs N [--seed S] [--first I] [--save DIR] [--jobs J]
//                   [--seconds T] [--stop-after F] [--shrink SECONDS] [--mode TEXT] [--by-hand]
//       random programs I .. I+N-1, each in a random mode, or in the mode TEXT; by hand
//       the passes of its pipeline are run one by one, in a random way
//   cs-differential --replay FILE...
//       the FILEs, each in the modes of its lines "// mode: TEXT"
//   cs-differential --print I [--seed S] [--by-hand]
//       the program and its mode
//
// Programs run in child processes. Findings are named on stderr, saved to DIR with
// their mode, shrunk (findings-*.small.mlir) and make the exit status 1. The last
// line of the output is one JSON object.

#include "tests/differential/by_hand.h"
#include "tests/differential/children.h"
#include "tests/differential/generate.h"
#include "tests/differential/random.h"
#include "tests/differential/shrink.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/stat.h>

namespace {
using namespace commsched::differential;

struct Options {
  uint64_t runs = 0, seed = 1, first = 0, print = 0, stopAfter = 0;
  bool replay = false, prints = false, byHand = false;
  int jobs = 2;
  double seconds = 0, shrink = 30;
  std::string save, mode;
  std::vector<std::string> files;
};

struct Totals {
  uint64_t programs = 0, crashed = 0, outcomes[kOutcomes] = {}, elements = 0, undetermined = 0;
  double reference = 0, lowering = 0, code = 0, run = 0;
  std::map<std::string, uint64_t> refusals, invalid;
};

[[noreturn]] void usage(const std::string &what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(2);
}

uint64_t number(const std::string &text) {
  char *end = nullptr;
  uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end)
    usage("not a number: '" + text + "'");
  return value;
}

Options parse(int argc, char **argv) {
  Options options;
  std::map<std::string, std::function<void(const std::string &)>> known = {
      {"--runs", [&](auto &v) { options.runs = number(v); }},
      {"--seed", [&](auto &v) { options.seed = number(v); }},
      {"--first", [&](auto &v) { options.first = number(v); }},
      {"--jobs", [&](auto &v) { options.jobs = int(number(v)); }},
      {"--seconds", [&](auto &v) { options.seconds = double(number(v)); }},
      {"--shrink", [&](auto &v) { options.shrink = double(number(v)); }},
      {"--stop-after", [&](auto &v) { options.stopAfter = number(v); }},
      {"--save", [&](auto &v) { options.save = v; }},
      {"--mode", [&](auto &v) { options.mode = v; }},
      {"--print", [&](auto &v) { options.print = number(v), options.prints = true; }},
  };
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    auto option = known.find(arg);
    if (arg == "--replay")
      options.replay = true;
    else if (arg == "--by-hand")
      options.byHand = true;
    else if (option != known.end() && i + 1 < argc)
      option->second(argv[++i]);
    else if (arg.rfind("--", 0) == 0)
      usage("unknown or incomplete argument '" + arg + "'");
    else
      options.files.push_back(arg);
  }
  if (options.jobs < 1)
    usage("--jobs must be at least 1");
  if (options.replay == options.files.empty())
    usage("files belong to --replay, which needs some");
  return options;
}

Job jobOf(uint64_t index, const Options &options) {
  uint64_t seed = mix(options.seed, index);
  Job job;
  job.mode = modeOf(mix(seed, 1));
  if (!options.mode.empty() && !Mode::parse(options.mode, job.mode))
    usage("not a mode: '" + options.mode + "'");
  if (options.byHand)
    job.mode.pipeline = byHand(job.mode.pipeline, mix(seed, 4));
  job.text = generate(mix(seed, 2), job.mode.servers());
  // What a trainer keeps goes on between the steps that it merges.
  if (job.text.find("cs.state") != std::string::npos || job.text.find("cs.worker_index") != std::string::npos)
    job.mode.mergeNothing();
  job.seed = mix(seed, 3);
  return job;
}

std::string textOf(const Job &job, const std::string &why) {
  return "// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.\n"
         "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n//\n"
         "// " +
         why + "\n// values: " + std::to_string(job.seed) + "\n// mode: " + job.mode.text() + "\n" + job.text;
}

// One job for each mode that a file names.
std::vector<Job> jobsOf(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    usage("cannot read '" + file + "'");
  std::vector<Mode> modes;
  Job job;
  for (std::string line; std::getline(in, line);) {
    Mode mode;
    if (line.rfind("// values: ", 0) == 0)
      job.seed = number(line.substr(11));
    else if (line.rfind("// mode: ", 0) == 0 && Mode::parse(line.substr(9), mode))
      modes.push_back(mode);
    job.text += line + "\n";
  }
  if (modes.empty())
    usage("no line '// mode: ' in '" + file + "'");
  std::vector<Job> jobs;
  for (const Mode &mode : modes) {
    jobs.push_back(job);
    jobs.back().mode = mode;
  }
  return jobs;
}

// A message without what differs from program to program.
std::string reasonOf(const std::string &message) {
  std::string reason;
  bool quoted = false, word = false; // "..." and '...'
  for (size_t i = 0; i < message.size(); ++i) {
    char c = message[i];
    quoted ^= c == '"';
    word ^= c == '\'';
    if (message.compare(i, 7, "tensor<") == 0 || message.compare(i, 7, "memref<") == 0) {
      reason += message.substr(i, 6);
      while (i < message.size() && message[i] != '>')
        ++i;
    } else if (!quoted && (word || !(c >= '0' && c <= '9'))) {
      reason += c;
    }
  }
  return reason;
}

std::string json(const std::map<std::string, uint64_t> &counts) {
  std::string text = "{";
  for (const auto &[name, count] : counts) {
    text += (text.size() > 1 ? ", \"" : "\"");
    for (char c : name)
      if (c == '"' || c == '\\')
        text += std::string("\\") + c;
      else if (c >= ' ')
        text += c;
    text += "\": " + std::to_string(count);
  }
  return text + "}";
}

std::string kindOf(const Done &done) { return done.crashed ? "crashed" : nameOf(done.report.outcome); }

bool isFinding(const Done &done) {
  Outcome outcome = done.report.outcome;
  return done.crashed || outcome == Outcome::wrong || outcome == Outcome::failed;
}

// Counts it, and says so where it is a finding.
bool count(const Done &done, const std::string &name, const Job &job, Totals &totals) {
  const Report &r = done.report;
  ++totals.programs;
  if (done.crashed)
    ++totals.crashed;
  else
    ++totals.outcomes[int(r.outcome)];
  totals.elements += r.elements;
  totals.undetermined += r.undetermined;
  totals.reference += r.reference;
  totals.lowering += r.lowering;
  totals.code += r.code;
  totals.run += r.run;
  if (r.outcome == Outcome::refused)
    ++totals.refusals[reasonOf(r.message)];
  if (r.outcome == Outcome::invalid)
    ++totals.invalid[reasonOf(r.message)];
  if (!isFinding(done))
    return false;
  std::fprintf(stderr, "finding: %s: %s: %s\n  mode: %s\n", name.c_str(), kindOf(done).c_str(), r.message.c_str(),
               job.mode.text().c_str());
  return true;
}

// Smaller, with the same kind of finding.
std::string smaller(Children &children, const Job &job, const Done &found, double seconds) {
  std::string reason = reasonOf(found.report.message);
  return shrink(job.text, seconds, [&](const std::string &text) {
    Job other = job;
    other.text = text;
    Done done = children.run(other);
    if (done.crashed != found.crashed || done.report.outcome != found.report.outcome)
      return false;
    return found.report.outcome == Outcome::wrong || reasonOf(done.report.message) == reason;
  });
}

void save(const Options &options, const std::string &name, const std::string &text) {
  if (options.save.empty())
    return;
  mkdir(options.save.c_str(), 0777);
  std::ofstream(options.save + "/" + name, std::ios::binary) << text;
}

} // namespace

namespace {
volatile std::sig_atomic_t interrupted = 0;
} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  Trial trial; // which registers passes
  if (options.prints) {
    std::fputs(textOf(jobOf(options.print, options), "seed " + std::to_string(options.seed)).c_str(), stdout);
    return 0;
  }
  std::vector<Job> replayed;
  std::vector<std::string> names;
  for (const std::string &file : options.files)
    for (Job &job : jobsOf(file)) {
      replayed.push_back(std::move(job));
      names.push_back(file);
    }
  auto jobAt = [&](uint64_t index) {
    return options.replay ? replayed[index] : jobOf(index, options);
  };
  uint64_t first = options.replay ? 0 : options.first;
  uint64_t last = options.replay ? replayed.size() : first + options.runs;

  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Children children(trial, options.jobs);
  Totals totals;
  std::vector<Done> findings;
  std::map<std::string, std::string> firsts; // by reason, of what is refused or invalid
  std::vector<Done> refused;
  // What was tried until then is summed up.
  for (int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int) { interrupted = 1; });
  children.run(first, last, jobAt, [&](const Done &done) {
    std::string name = options.replay ? names[done.index]
                                      : "seed-" + std::to_string(options.seed) + "-" + std::to_string(done.index);
    Job job = jobAt(done.index);
    if (count(done, name, job, totals)) {
      findings.push_back(done);
      if (!options.replay)
        save(options, name + "." + kindOf(done) + ".mlir", textOf(job, done.report.message));
    } else if (done.report.outcome == Outcome::refused || done.report.outcome == Outcome::invalid) {
      if (firsts.try_emplace(reasonOf(done.report.message), name).second)
        refused.push_back(done);
    }
    return !interrupted && !(options.stopAfter && findings.size() >= options.stopAfter) &&
           !(options.seconds > 0 && seconds() > options.seconds);
  });
  double took = seconds();
  if (!options.replay && !options.save.empty() && options.shrink > 0)
    for (const std::vector<Done> &list : {findings, refused})
      for (size_t i = 0; i < std::min<size_t>(list.size(), 10); ++i) {
        Job job = jobAt(list[i].index);
        job.text = smaller(children, job, list[i], options.shrink);
        std::string message = children.run(job).report.message;
        save(options, "seed-" + std::to_string(options.seed) + "-" + std::to_string(list[i].index) + "." + kindOf(list[i]) + ".small.mlir",
             textOf(job, message));
      }

  for (const auto &[reason, n] : totals.refusals)
    std::printf("refused %llu, first %s: %s\n", (unsigned long long)n, firsts[reason].c_str(), reason.c_str());
  for (const auto &[reason, n] : totals.invalid)
    std::printf("invalid %llu, first %s: %s\n", (unsigned long long)n, firsts[reason].c_str(), reason.c_str());
  std::printf("seconds of processors' waiting or work: reference %.1f, passes %.1f, code %.1f, run %.1f\n", totals.reference,
              totals.lowering, totals.code, totals.run);
  std::printf(
      "{\"benchmark\": \"differential\", \"seed\": %llu, \"programs\": %llu, \"wrong\": %llu, \"refused\": %llu, \"crashed\": %llu, "
      "\"invalid\": %llu, \"elements\": %llu, \"undetermined_percent\": %.2f, \"seconds\": %.1f, \"refusals\": %s, \"not_interpreted\": %s}\n",
      (unsigned long long)options.seed, (unsigned long long)totals.programs,
      (unsigned long long)totals.outcomes[int(Outcome::wrong)],
      (unsigned long long)totals.outcomes[int(Outcome::refused)],
      (unsigned long long)(totals.crashed + totals.outcomes[int(Outcome::failed)]),
      (unsigned long long)totals.outcomes[int(Outcome::invalid)],
      (unsigned long long)totals.elements,
      totals.elements ? 100.0 * double(totals.undetermined) / double(totals.elements) : 0.0, took,
      json(totals.refusals).c_str(), json(totals.invalid).c_str());
  bool replayFails = options.replay && (totals.outcomes[int(Outcome::invalid)] ||
                                        totals.outcomes[int(Outcome::refused)]);
  return !findings.empty() || replayFails;
}
