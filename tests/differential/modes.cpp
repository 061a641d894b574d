// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/modes.h"

#include "tests/differential/random.h"

#include <cinttypes>
#include <cstdio>
#include <functional>
#include <sstream>

namespace commsched::differential {

bool Mode::servers() const {
  return pipeline.rfind("cs-parameter-server", 0) == 0 || pipeline.find("mode=parameter-server") != std::string::npos;
}

bool Mode::sparse() const {
  for (size_t at = 0; (at = pipeline.find("density=", at)) != std::string::npos; at += 8)
    if (pipeline[at + 8] != '1')
      return true;
  return false;
}

int64_t Mode::merge() const {
  size_t at = pipeline.find("merge=");
  return at == std::string::npos ? 1 : std::atoi(pipeline.c_str() + at + 6);
}

void Mode::mergeNothing() {
  if (size_t at = pipeline.find("merge="); at != std::string::npos)
    pipeline.replace(at, pipeline.find_first_of(" }", at) - at, "merge=1");
}

std::string Mode::cluster() const {
  return "cs.cluster @lab nodes = " + std::to_string(nodes) + " devices = " + std::to_string(devices) +
         " device = <kind = cpu, gflops = 40, gb_per_s = 20>\n"
         "    intra = <mbit_per_s = " +
         std::to_string(intraMbitPerSecond) + ", latency_ns = 5000> inter = <mbit_per_s = " + std::to_string(mbitPerSecond) + ", latency_ns = " + std::to_string(latencyNs) + ">\n";
}

std::string Mode::text() const {
  return "nodes=" + std::to_string(nodes) + " devices=" + std::to_string(devices) +
         " link=" + std::to_string(mbitPerSecond) + ":" + std::to_string(latencyNs) + " intra=" + std::to_string(intraMbitPerSecond) +
         " reduction=" + (sum ? "sum" : "mean") + " pipeline=" + pipeline;
}

bool Mode::parse(const std::string &text, Mode &mode) {
  size_t at = text.find("pipeline=");
  if (at == std::string::npos)
    return false;
  mode = {};
  mode.pipeline = text.substr(at + 9);
  mode.pipeline.erase(mode.pipeline.find_last_not_of(" \n\r") + 1);
  std::istringstream words(text.substr(0, at));
  for (std::string word; words >> word;)
    if (word.rfind("nodes=", 0) == 0)
      mode.nodes = std::atoi(word.c_str() + 6);
    else if (word.rfind("devices=", 0) == 0)
      mode.devices = std::atoi(word.c_str() + 8);
    else if (word.rfind("link=", 0) == 0)
      std::sscanf(word.c_str(), "link=%" SCNd64 ":%" SCNd64, &mode.mbitPerSecond, &mode.latencyNs);
    else if (word.rfind("intra=", 0) == 0)
      mode.intraMbitPerSecond = std::atoll(word.c_str() + 6);
    else
      mode.sum = mode.sum || word == "reduction=sum";
  return mode.nodes > 0 && mode.devices > 0 && mode.mbitPerSecond > 0 && mode.latencyNs >= 0 &&
         mode.intraMbitPerSecond > 0;
}

namespace {
using Add = std::function<void(const std::string &)>;

// With parameter servers trainers send lists, which the servers add up; else lists are
// exchanged in one of several ways.
void addSparse(Random &rng, const Mode &mode, bool servers, const Add &add) {
  add("density=" + std::string(rng.pick({"0.02", "0.1", "0.25", "0.5"})));
  add("min-elements=" + std::to_string(rng.pick({1, 1, 4, 16})));
  std::string method = rng.pick({"auto", "allgather", "hitopk", "gtopk", "oktopk"});
  if (servers)
    method = rng.oneIn(6) ? "dense" : "auto";
  if (method == "gtopk" && (mode.nodes & (mode.nodes - 1)) != 0) // powers of two only
    method = "oktopk";
  add("sparse-method=" + method);
  if (rng.oneIn(2))
    add("select=" + std::string(rng.pick({"histogram", "sampled", "mstopk", "mstopk mstopk-samples=2 mstopk-seed=3"})));
  bool rounded = rng.oneIn(4) && method != "gtopk" && method != "oktopk"; // where sums travel
  if (rounded)
    add("values=" + std::string(rng.pick({"f16", "bf16", "int8"})));
  if (rng.oneIn(5)) {
    add("feedback=false");
  } else {
    if (rng.oneIn(3))
      add("momentum-correction=0.5 mask=" + std::string(rng.oneIn(2) ? "true" : "false"));
    else if (rng.oneIn(5) && !servers)
      add("second-moment=0.9 epsilon=0.01");
    if (rng.oneIn(4))
      add("exact-every=2");
    if (rng.oneIn(4) && mode.devices == 1)
      add("unsent-rate=0.5");
  }
  if (rng.oneIn(3))
    if (int bytes = rng.pick({0, 64, 4096}); bytes == 0 || !servers) // of which each gets its own message
      add("sparse-fuse-bytes=" + std::to_string(bytes));
  if (rng.oneIn(6))
    add("clip=1");
  if (!rng.oneIn(6))
    return;
  if (servers)
    add("sparse-rules=" + std::string(rng.pick({"p0=1", "p*=0.3", "p1=0.5:dense"})));
  else
    add("sparse-rules=" + std::string(rng.pick({"p0=1", rounded ? "p*=0.3:hitopk" : "p*=0.3:oktopk", "p1=0.5:allgather"})));
}

// With one trainer, so that there is one order.
void addAsynchronous(Random &rng, const Add &add) {
  if (rng.oneIn(2))
    add("sync-mode=async");
  else
    add("sync-mode=half-async merge=" + std::to_string(rng.pick({1, 2})));
}
} // namespace

Mode modeOf(uint64_t seed) {
  Random rng(seed);
  Mode mode;
  mode.nodes = rng.oneIn(12) ? rng.between(5, 8) : rng.between(1, 4);
  mode.devices = rng.oneIn(5) ? rng.oneIn(4) && mode.nodes < 3 ? rng.between(3, 4) : 2 : 1;
  if (rng.oneIn(2)) {
    mode.mbitPerSecond = rng.pick({1, 100, 100000});
    mode.latencyNs = rng.pick({0, 1000, 1000000});
  }
  bool servers = rng.oneIn(3);
  bool asynchronous = servers && rng.oneIn(4);
  mode.sum = !asynchronous && rng.oneIn(5);
  bool sparse = !asynchronous && (servers || mode.nodes > 1) && rng.oneIn(servers ? 3 : 5);
  if (asynchronous)
    mode.nodes = 1;
  std::string options;
  auto add = [&](const std::string &option) { options += (options.empty() ? "" : " ") + option; };
  add("reduction=" + std::string(mode.sum ? "sum" : "mean"));
  std::string policy;
  if (!rng.oneIn(3)) {
    policy = rng.pick({"solver", "priority", "fifo", "wfbp", "fixed-buckets", "p3", "bytescheduler",
                       "mg-wfbp", "pace", "dear", "tictac", "latency-hiding"});
    add("schedule=" + policy);
    if (policy == "fixed-buckets" && rng.oneIn(2)) // those that it has by itself are larger than any program here
      add("bucket-bytes=" + std::to_string(rng.pick({1, 64, 1024})) + " first-bucket-bytes=" + std::to_string(rng.pick({1, 256})));
  }
  if (rng.oneIn(3))
    if (std::string algorithm = rng.pick({"ring", "halving-doubling"}); !servers)
      add("algorithm=" + algorithm);
  if (mode.devices > 1) {
    add("assign-devices=" + std::string(rng.oneIn(2) ? "true" : "false"));
    if (servers && !sparse && rng.oneIn(3))
      add("by-block=true");
  }
  if (rng.oneIn(4)) {
    bool inLine = rng.oneIn(2);
    add("copies=" + std::string(inLine ? "in-line" : "overlap"));
    if (!inLine && rng.oneIn(2))
      add("staging-bytes=" + std::to_string(rng.pick({256, 1024, 4096, 1048576})));
  }
  if (servers) {
    add("servers=" + std::to_string(rng.between(1, 3)));
    if (rng.oneIn(6)) {
      add("slice=false");
    } else {
      int least = rng.pick({1, 4, 16, 8192});
      add("min-block-elements=" + std::to_string(least));
      if (rng.oneIn(4))
        add("max-block-elements=" + std::to_string(least * rng.pick({1, 4})));
    }
    if (rng.oneIn(3))
      add("placement=" + std::string(rng.pick({"round-robin", "hash"})));
    if (asynchronous)
      addAsynchronous(rng, add);
    if (rng.oneIn(6))
      add("fuse-blocks=false");
    if (sparse)
      addSparse(rng, mode, servers, add);
    mode.pipeline = "cs-parameter-server-pipeline{" + options + "}";
  } else {
    if (rng.oneIn(5))
      add("spread-sums=true");
    if (rng.oneIn(5))
      add("combine=false");
    if (sparse)
      addSparse(rng, mode, servers, add);
    // So slow that every gradient with rows enough is in shards; else these are too small.
    if (mode.devices > 1 && rng.oneIn(2))
      mode.intraMbitPerSecond = 1;
    if (mode.devices > 1 && rng.oneIn(6))
      add("hierarchical=false");
    if (policy != "priority" && rng.oneIn(3))
      add("parts=true");
    mode.pipeline = "cs-all-reduce-pipeline{" + options + "}";
  }
  return mode;
}

} // namespace commsched::differential
