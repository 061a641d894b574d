// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/fuzz/draw.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Pipelines.h"

#include <cstdlib>

namespace commsched::fuzz {
namespace {

constexpr const char *kPasses[] = {
#include "tests/fuzz/pass_names.inc" // written by CMakeLists.txt
};

struct Words {
  const char *option;
  std::vector<const char *> values;
};

// What options of texts take. An option that is not here takes anyWord.
const Words kWords[] = {
    {"mode", {"all-reduce", "parameter-server", "overlap", "in-line", "none", "auto"}},
    {"copies", {"none", "overlap", "in-line", "auto"}},
    {"reduction", {"mean", "sum"}},
    {"sync-mode", {"sync", "async", "half-async"}},
    {"placement", {"balanced", "round-robin", "hash"}},
    {"algorithm", {"auto", "ring", "halving-doubling", "recursive-doubling", "nccl"}},
    {"method", {"auto", "dense", "allgather", "hitopk", "gtopk", "oktopk"}},
    {"select", {"exact", "histogram", "sampled", "mstopk"}},
    {"squares", {"mean", "own"}},
    {"values", {"same", "f16", "bf16", "int8"}},
    {"rules", {".*=0.5", ".*=0.25:gtopk", "w=1:dense", "(=0.5", ".*=", "=", "a=nan"}},
    {"policy",
     {"solver", "priority", "fifo", "wfbp", "fixed-buckets", "p3", "bytescheduler", "mg-wfbp",
      "pace", "dear", "tictac", "latency-hiding"}},
};

const char *anyWord(Random &random) {
  static const char *const kAny[] = {"\"\"", "none", "auto", "/nonexistent", "0", "-1"};
  return random.of(kAny);
}

std::string wordFor(std::string name, Random &random) {
  if (name == "schedule" || name == "cut-as")
    name = "policy";
  else if (llvm::StringRef(name).starts_with("sparse-"))
    name = name.substr(7);
  for (const Words &words : kWords)
    if (name == words.option && random.below(12))
      return words.values[random.below(words.values.size())];
  return anyWord(random);
}

std::string valueFor(llvm::StringRef name, llvm::StringRef old, Random &random) {
  static const char *const kIntegers[] = {"0", "1", "2", "3", "4", "5", "7", "8", "16", "64",
                                          "1000", "65536", "1048576", "4294967296", "-1",
                                          "9223372036854775807", "-9223372036854775808"};
  static const char *const kNumbers[] = {"0", "1", "0.5", "0.25", "0.01", "0.9", "0.999", "2", "1e-300",
                                         "1e300", "-1", "nan", "inf", "4.9e-324"};
  if (old == "true" || old == "false")
    return old == "true" ? "false" : "true";
  static const char *const kEfforts[] = {"0", "1", "-1"};
  if (name == "effort") // more takes longer, as it should
    return random.of(kEfforts);
  int64_t integer;
  double number;
  if (!old.getAsInteger(10, integer)) // as numbers are printed, 0 and 1 may be of either kind
    return random.below(4) ? random.of(kIntegers) : random.of(kNumbers);
  if (!old.getAsDouble(number))
    return random.of(kNumbers);
  return wordFor(name.str(), random);
}

} // namespace

// "name{a=1 b=true}" or "{a=1 b=true}", as MLIR prints them.
static void parseOptions(llvm::StringRef text, std::vector<std::pair<std::string, std::string>> &options) {
  text = text.drop_until([](char c) { return c == '{'; });
  text.consume_front("{");
  text.consume_back("}");
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    // Files that a pass writes are no business of a fuzzer.
    if (name != "file")
      options.push_back({name.str(), value.str()});
  }
}

Drawer::Drawer() {
  auto add = [](std::vector<Entry> &entries, llvm::StringRef name, llvm::StringRef text) {
    std::vector<std::pair<std::string, std::string>> options;
    parseOptions(text, options);
    Entry entry{name.str(), {}};
    for (auto &[option, value] : options)
      entry.options.push_back({option, value});
    entries.push_back(std::move(entry));
  };
  for (const char *name : kPasses) {
    mlir::OpPassManager manager("builtin.module");
    std::string text;
    llvm::raw_string_ostream os(text);
    if (mlir::failed(mlir::parsePassPipeline(name, manager, os)) || manager.size() != 1) {
      llvm::errs() << "error: no such pass: " << name << "\n";
      std::exit(2);
    }
    manager.begin()->printAsTextualPipeline(os);
    add(passes, name, text);
  }
  auto addPipeline = [&](llvm::StringRef name, const mlir::detail::PassOptions &options) {
    std::string text;
    llvm::raw_string_ostream os(text);
    options.print(os);
    add(pipelines, name, text);
  };
  addPipeline("cs-all-reduce-pipeline", AllReducePipelineOptions());
  addPipeline("cs-parameter-server-pipeline", ParameterServerPipelineOptions());
}

std::string Drawer::one(const Entry &entry, Random &random, int changes) const {
  std::string text;
  for (const Option &option : entry.options)
    if (random.below(entry.options.size()) < size_t(changes))
      text += (text.empty() ? "" : " ") + option.name + "=" +
              valueFor(option.name, option.value, random);
  return text.empty() ? entry.name : entry.name + "{" + text + "}";
}

std::string Drawer::pipeline(Random &random) const {
  int changes = int(random.below(3));
  size_t way = random.below(8);
  if (way < 3)
    return one(passes[random.below(passes.size())], random, changes);
  if (way < 5)
    return one(pipelines[random.below(pipelines.size())], random, changes);
  static const char *const kBegin[] = {
      "insert-dist-comm", "insert-dist-comm,replicate-devices",
      "insert-dist-comm{mode=parameter-server servers=2 min-block-elements=2}",
      "insert-dist-comm,schedule-comm", "insert-dist-comm,schedule-comm,expand-collectives"};
  std::string text = random.of(kBegin);
  for (size_t more = random.below(3) + 1; more > 0; --more)
    text += "," + one(passes[random.below(passes.size())], random, changes);
  return text;
}

} // namespace commsched::fuzz
