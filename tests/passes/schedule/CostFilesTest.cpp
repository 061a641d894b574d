// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of costs, right and wrong, as the compiler and the simulator read them: both take the same, which is what a
// reference says that reads no file, or refuse it with the same line.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "ir/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/support/LeastTime.h"
#include "runtime/simulator/costs.h"
#include "tests/cases.h"
#include "tests/passes/schedule/CostTexts.h"
#include "tests/runtime/simulator_plans.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cost_texts;
using commsched::testing::CostPlan;

namespace {

using Numbers = std::vector<int64_t>;

// ---- the two readers --------------------------------------------------------------------------

struct Program {
  std::string module = "test";
  bool cuda = false;
  int64_t nodes = 2;
};

/// What a reader makes of a file, or the line with which it refuses it.
struct Read {
  std::string error;
  int64_t mbit = 0, latency = 0, overhead = 0, copyRate = 0, copyLatency = 0;
  Numbers ncclBytes = {}, ncclNs = {};
  Numbers fragments = {}; ///< ns
  std::string doubt = {}; ///< what is taken, with a warning
  bool operator==(const Read &) const = default;
};

class CostFilesTest : public ::testing::Test {
protected:
  Numbers least = {}; ///< ns that the compiler's bounds count, of what it read last
  CostFilesTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
  }
  ~CostFilesTest() override { std::remove(path.c_str()); }

  void write(const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

  Read byCompiler(const std::string &text, const Program &program, bool isProfile) {
    write(text);
    std::string nodes = std::to_string(program.nodes);
    auto module = parseSourceString<ModuleOp>(
        "!t = !cs.placed<tensor<4xf32>, device 0>\n"
        "module @test {\n"
        "cs.cluster @lab nodes = " +
            nodes + " devices = 1 device = <kind = " + (program.cuda ? "cuda" : "cpu") +
            ", gflops = 40, gb_per_s = 20, copy_mb_per_s = 77, copy_latency_ns = 88> "
            "intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 8000, latency_ns = 1000>\n"
            "func.func @step(%x: !t {cs.batch = \"x\"}) -> (!t {cs.metric = \"m\"}) attributes {cs.step} {\n"
            "  %a = cs.fragment \"a\" on 0 (%x) cost <flops = 1, bytes = 1, ns = 5> : (!t) -> !t\n"
            "  %b = cs.fragment \"b\" on 0 (%a) cost <flops = 1, bytes = 1, ns = 6> : (!t) -> !t\n"
            "  return %b : !t\n}\n}\n",
        &context);
    if (!module)
      return {"no module"};
    Read read;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      std::string &said = diagnostic.getSeverity() == DiagnosticSeverity::Warning ? read.doubt : read.error;
      EXPECT_EQ(said, "") << "a second one: " << diagnostic.str();
      said = diagnostic.str();
      return success();
    });
    ReadCostsOptions options;
    (isProfile ? options.profile : options.calibration).push_back(path);
    PassManager passes(&context);
    passes.addPass(createReadCosts(options));
    if (failed(passes.run(*module))) {
      std::string begin = "'" + path + "': ";
      EXPECT_EQ(read.error.substr(0, begin.size()), begin);
      EXPECT_EQ(read.error.find('\n'), std::string::npos);
      read.error = read.error.substr(std::min(read.error.size(), begin.size()));
      return read;
    }
    const std::string begin = "'" + path + "': ";
    if (!read.doubt.empty()) {
      EXPECT_EQ(read.doubt.substr(0, begin.size()), begin);
      read.doubt = read.doubt.substr(std::min(read.doubt.size(), begin.size()));
    }
    module->walk([&](cs::ClusterOp cluster) {
      cs::LinkAttr inter = cluster.getInter();
      read.mbit = inter.getMbitPerS();
      read.latency = inter.getLatencyNs();
      read.overhead = inter.getOverheadNs();
      read.copyRate = cluster.getDevice().getCopyMbPerS();
      read.copyLatency = cluster.getDevice().getCopyLatencyNs();
      if (auto nccl = cluster.getNccl()) {
        read.ncclBytes.assign(nccl->getBytes().asArrayRef().begin(), nccl->getBytes().asArrayRef().end());
        read.ncclNs.assign(nccl->getNs().asArrayRef().begin(), nccl->getNs().asArrayRef().end());
      }
    });
    least.clear();
    module->walk([&](cs::FragmentOp fragment) {
      const int64_t ns = fragment.getCostAttr().getNs();
      read.fragments.push_back(ns);
      least.push_back(leastNsOf(fragment, ns));
    });
    return read;
  }

  static Read bySimulator(const std::string &text, const Program &program, bool isProfile,
                          runtime::simulator::LinkCosts *link = nullptr) {
    CostPlan plan{int(program.nodes)};
    plan::Cluster &cluster = *plan.plan.proto().mutable_cluster();
    cluster.set_device_kind(program.cuda ? "cuda" : "cpu");
    cluster.set_device_copy_mb_per_s(77);
    cluster.set_device_copy_latency_ns(88);
    runtime::SimulationOptions options;
    (isProfile ? options.profile : options.calibration) = text;
    Read read;
    const auto refused = [&](const absl::Status &status) {
      const std::string begin = isProfile ? "profile " : "calibration ";
      EXPECT_EQ(std::string(status.message()).substr(0, begin.size()), begin) << status;
      read.error = std::string(status.message()).substr(begin.size());
      return read;
    };
    auto measured = runtime::simulator::ReadProfile(plan.plan.proto(), options);
    if (!measured.ok())
      return refused(measured.status());
    auto calibration = runtime::simulator::CalibrationOf(plan.plan.proto(), int(program.nodes), options);
    if (!calibration.ok())
      return refused(calibration.status());
    for (const std::string &doubt : runtime::simulator::DoubtsOf(*calibration, options)) {
      EXPECT_EQ(read.doubt, "") << "a second one: " << doubt;
      EXPECT_EQ(doubt.substr(0, 12), "calibration ");
      read.doubt = doubt.substr(12);
    }
    cluster = runtime::simulator::ClusterOf(cluster, *calibration);
    read.mbit = int64_t(cluster.inter_mbit_per_s());
    read.latency = int64_t(cluster.inter_latency_ns());
    read.overhead = int64_t(cluster.inter_overhead_ns());
    read.copyRate = int64_t(cluster.device_copy_mb_per_s());
    read.copyLatency = int64_t(cluster.device_copy_latency_ns());
    read.ncclBytes.assign(cluster.nccl().bytes().begin(), cluster.nccl().bytes().end());
    read.ncclNs.assign(cluster.nccl().ns().begin(), cluster.nccl().ns().end());
    for (auto [label, ns] : {std::pair("a", 5), std::pair("b", 6)}) {
      auto at = measured->find({"worker", -1, "step", label, 0});
      read.fragments.push_back(at == measured->end() ? ns : at->second);
    }
    if (link)
      *link = runtime::simulator::LinkCostsOf(plan.plan.proto().cluster(), *calibration, options);
    return read;
  }

  /// Both, of one file; what they say is the same. Whether it is right, where that is known.
  Read both(const std::string &text, const Program &program, bool isProfile, std::optional<bool> isRight) {
    Read compiler = byCompiler(text, program, isProfile), simulator = bySimulator(text, program, isProfile);
    // 0 would say that a fragment is not measured.
    if (simulator.error.empty())
      for (int64_t &ns : simulator.fragments)
        ns = std::max<int64_t>(1, ns);
    EXPECT_EQ(compiler.error, simulator.error) << text;
    EXPECT_TRUE(!compiler.error.empty() || compiler == simulator) << text;
    if (isRight) {
      EXPECT_EQ(compiler.error.empty(), *isRight) << compiler.error << "\n"
                                                  << text;
    }
    return compiler;
  }

  MLIRContext context;
  const std::string path = ::testing::TempDir() + "cost_files_test." + std::to_string(getpid()) + ".json";
};

/// As an error has a number that JSON keeps as a double.
std::string shown(int64_t number) {
  char plain[64], scientific[64];
  std::snprintf(plain, sizeof(plain), "%.0f", double(number));
  for (int digits = 0; digits < 18; ++digits) {
    std::snprintf(scientific, sizeof(scientific), "%.*e", digits, double(number));
    if (std::strtod(scientific, nullptr) == double(number))
      break;
  }
  return std::string(scientific).size() < std::string(plain).size() ? scientific : plain;
}

int64_t lowerMedian(Numbers values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// ---- calibrations -----------------------------------------------------------------------------

struct DrawnCalibration {
  Program program;
  struct Link {
    int64_t latency, overhead, rate, processor = 0;
  };
  std::vector<Link> ofRanks, ofServers;
  Numbers rounds, messages, busy;
  Numbers toHost, toDevice, copyLatencies;
  std::vector<std::pair<int64_t, int64_t>> nccl; ///< distinct sizes
  int64_t ncclRanks = 2;
  Object root;

  bool ofDevices() const { return !copyLatencies.empty() || !nccl.empty(); }
  bool isRight() const {
    return (!ofRanks.empty() || !ofServers.empty() || ofDevices()) && (!ofDevices() || program.cuda) &&
           (nccl.empty() || ncclRanks == program.nodes);
  }
};

DrawnCalibration drawCalibration(uint64_t seed) {
  std::mt19937_64 random(seed);
  DrawnCalibration d;
  auto upTo = [&](uint64_t most) { return int64_t(random() % (most + 1)); };
  d.program.nodes = 1 + upTo(4);
  d.program.cuda = upTo(1);
  std::vector<Object> links, exchanges, compute, copies, nccl;
  auto addLinks = [&](std::vector<DrawnCalibration::Link> &to, const char *from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const bool hasProcessor = upTo(2);
      to.push_back({upTo(90'000), upTo(3000), 1 + upTo(upTo(3) ? 4'000'000'000 : 900'000), hasProcessor ? upTo(9000) : 0});
      links.push_back({text("from", from + std::to_string(i)), unread(text("to", "rank 0")), number("latency_ns", to.back().latency), number("overhead_ns", to.back().overhead), number("bits_per_s", to.back().rate), unread(number("round_trip_ns", upTo(99)))});
      if (hasProcessor)
        links.back().push_back(number("processor_ns", to.back().processor));
    }
  };
  addLinks(d.ofRanks, "rank ", upTo(5) ? upTo(5) : 0);
  addLinks(d.ofServers, "server ", upTo(3) ? 0 : 1 + upTo(3));
  std::shuffle(links.begin(), links.end(), random);
  if (!d.ofRanks.empty() && upTo(3))
    for (int64_t i = 0; i <= upTo(5); ++i) {
      d.rounds.push_back(upTo(200'000));
      d.messages.push_back(upTo(9000));
      bool hasBusy = upTo(2);
      d.busy.push_back(hasBusy ? upTo(5000) : d.messages.back());
      exchanges.push_back({unread(number("rank", i)), number("round_ns", d.rounds.back()), number("message_ns", d.messages.back())});
      if (hasBusy)
        exchanges.back().push_back(number("busy_message_ns", d.busy.back()));
    }
  for (int64_t i = upTo(3); i > 0; --i)
    compute.push_back({unread(number("rank", i)), unread(number("quiet_ns", 7)), unread(number("communicating_ns", 8)), number("slowdown_percent", upTo(300))});
  bool devices = d.program.cuda ? upTo(3) != 0 : upTo(9) == 0;
  if (devices) {
    for (int64_t i = upTo(4); i > 0; --i) {
      bool toHost = upTo(1);
      (toHost ? d.toHost : d.toDevice).push_back(1 + upTo(upTo(3) ? 60'000'000'000 : 400'000));
      d.copyLatencies.push_back(upTo(9000));
      copies.push_back({unread(number("rank", 0)), text("direction", toHost ? "to_host" : "to_device"), number("latency_ns", d.copyLatencies.back()), unread(number("bytes_per_s", 9)), number("both_bytes_per_s", (toHost ? d.toHost : d.toDevice).back())});
    }
    // Times that rise: a fit changes nothing.
    int64_t bytes = 0, ns = upTo(9000);
    d.ncclRanks = d.program.nodes > 1 && upTo(5) ? d.program.nodes : 2 + upTo(6);
    for (int64_t i = d.program.nodes > 1 ? upTo(5) : 0; i > 0; --i) {
      d.nccl.emplace_back(bytes += 1 + upTo(70'000), ns += upTo(5000));
      nccl.push_back({number("ranks", d.ncclRanks), number("bytes", bytes), number("ns", ns)});
    }
    std::shuffle(nccl.begin(), nccl.end(), random);
  }
  d.root = {text("format", "commsched calibration"), number("version", 1), text("module", "test"), unread(text("transport", "grpc")), unread(number("ranks", 1 + upTo(9))), unread(number("servers", upTo(3))), list("links", links), list("exchanges", exchanges), list("compute", compute)};
  if (devices) {
    d.root.push_back(list("copies", copies));
    d.root.push_back(list("nccl", nccl));
  }
  std::shuffle(d.root.begin(), d.root.end(), random);
  return d;
}

template <typename T>
Numbers each(const std::vector<T> &all, int64_t T::*field) {
  Numbers values;
  for (const T &one : all)
    values.push_back(one.*field);
  return values;
}

/// What docs/costs.md says of a cluster; and what a rank needs for a message.
Read expected(const DrawnCalibration &d, int64_t *engine, int64_t *bare, int64_t *bareOverhead) {
  using Link = DrawnCalibration::Link;
  Read read{"", 8000, 1000, 0, 77, 88, {}, {}, {5, 6}};
  *engine = 0;
  *bare = 1000, *bareOverhead = 0;
  const auto &links = d.ofServers.empty() ? d.ofRanks : d.ofServers;
  if (!d.rounds.empty())
    *engine = std::max<int64_t>(0, lowerMedian(d.messages) - lowerMedian(each(d.ofRanks, &Link::overhead)));
  if (!links.empty()) {
    read.mbit = std::max<int64_t>(1, (lowerMedian(each(links, &Link::rate)) + 500'000) / 1'000'000);
    read.latency = *bare = lowerMedian(each(links, &Link::latency));
    read.overhead = *bareOverhead = lowerMedian(each(links, &Link::overhead));
    if (d.ofServers.empty() && !d.rounds.empty()) {
      int64_t round = lowerMedian(d.rounds);
      *bare = std::max(*bare, round - *bareOverhead - *engine);
      read.overhead = std::max(read.overhead, *std::max_element(d.busy.begin(), d.busy.end()));
      read.latency = std::max(read.latency, round - read.overhead);
    }
    if (!d.ofServers.empty())
      read.overhead = std::max(read.overhead, lowerMedian(each(links, &Link::processor)));
  }
  if (!d.copyLatencies.empty()) {
    int64_t rate = INT64_MAX;
    if (!d.toHost.empty())
      rate = std::min(rate, lowerMedian(d.toHost));
    if (!d.toDevice.empty())
      rate = std::min(rate, lowerMedian(d.toDevice));
    read.copyRate = std::max<int64_t>(1, (rate + 500'000) / 1'000'000);
    read.copyLatency = lowerMedian(d.copyLatencies);
  }
  for (auto [bytes, ns] : d.nccl) {
    read.ncclBytes.push_back(bytes);
    read.ncclNs.push_back(ns);
  }
  return read;
}

/// Whether a number of it is as no link has it.
bool isDoubted(const DrawnCalibration &d) {
  auto odd = [](const DrawnCalibration::Link &link) { return link.rate < 1'000'000; };
  auto slow = [](int64_t bytes) { return bytes < 125'000; };
  return llvm::any_of(d.ofRanks, odd) || llvm::any_of(d.ofServers, odd) || llvm::any_of(d.toHost, slow) || llvm::any_of(d.toDevice, slow);
}

// Whatever a number's magnitude: what links have is taken without a word, what none has with a warning that names the link, the
// number and its unit, and what cannot be is an error that does.
TEST_F(CostFilesTest, NumbersInAnotherUnitAreDoubted) {
  unsigned doubted = 0, real = 0, wrong = 0;
  for (Cases cases = casesOf(600); cases.first < cases.end && !HasFailure(); ++cases.first) {
    SCOPED_TRACE(cases.first);
    std::mt19937_64 random(cases.first);
    auto magnitude = [&](double least, double most) {
      return int64_t(std::pow(10, least + (most - least) * (double(random() >> 11) * 0x1p-53)));
    };
    // Between radios of 1 Mbit/s and 8 Tbit/s, in bits or as many bytes; and anything.
    const bool isReal = random() % 2;
    int64_t rate = isReal ? magnitude(6, 12.9031) * (random() % 2 ? 8 : 1) : magnitude(0, 15.8);
    int64_t latency = isReal ? magnitude(0, 9.7) : magnitude(0, 13.2);
    if (!isReal && random() % 10 == 0)
      rate = -rate;
    const int64_t from = int64_t(random() % 4);
    Object root = {text("format", "commsched calibration"), number("version", 1), text("module", "test"),
                   list("links", {{text("from", "rank " + std::to_string(from)), number("latency_ns", latency), number("overhead_ns", 1), number("bits_per_s", rate)}}),
                   list("exchanges", {}), list("compute", {})};
    const bool rateIsWrong = rate < 1 || rate > (int64_t{1} << 50), timeIsWrong = latency > 3'600'000'000'000;
    Read read = both(textOf(root), Program(), false, !rateIsWrong && !timeIsWrong);
    const std::string link = "link from rank " + std::to_string(from) + ": ";
    if (rateIsWrong || timeIsWrong) {
      ++wrong;
      // Of an object the latency is read first.
      EXPECT_EQ(read.error, link + (timeIsWrong ? "\"latency_ns\" must be a whole number of 0 to 3600000000000, got: " : "\"bits_per_s\" must be a whole number of 1 to 1125899906842624, got: ") +
                                (timeIsWrong ? shown(latency) : shown(rate)));
      continue;
    }
    std::string expected;
    if (rate < 1'000'000 || rate > 100'000'000'000'000)
      expected = link + "bits_per_s is in bit/s, of which links have 1000000 to 100000000000000, got: " + std::to_string(rate);
    if (latency > 10'000'000'000)
      expected = expected.empty() ? link + "latency_ns is in ns, of which links have at most 10000000000, got: " + std::to_string(latency)
                                  : expected + "; and 1 more such numbers";
    EXPECT_EQ(read.doubt, expected);
    doubted += !expected.empty();
    real += isReal;
    if (isReal) {
      EXPECT_EQ(read.doubt, "");
    }
  }
  const uint32_t tried = casesOf(600).count(); // few vary more
  EXPECT_GT(doubted, tried < 600 ? tried / 8 : 100u);
  EXPECT_GT(real, tried < 600 ? tried / 4 : 200u);
  EXPECT_GT(wrong, tried < 600 ? tried / 15 : 50u);
}

TEST_F(CostFilesTest, CalibrationsAreReadAlike) {
  unsigned taken = 0, refused = 0, servers = 0;
  for (Cases cases = casesOf(400); cases.first < cases.end && !HasFailure(); ++cases.first) {
    SCOPED_TRACE(cases.first);
    DrawnCalibration d = drawCalibration(cases.first);
    Read read = both(textOf(d.root), d.program, false, d.isRight());
    (read.error.empty() ? taken : refused) += 1;
    if (!read.error.empty())
      continue;
    int64_t engine, latency, overhead;
    const std::string doubt = std::exchange(read.doubt, "");
    EXPECT_EQ(!doubt.empty(), isDoubted(d)) << doubt;
    EXPECT_EQ(read, expected(d, &engine, &latency, &overhead));
    servers += !d.ofServers.empty() && !d.rounds.empty();
    runtime::simulator::LinkCosts link;
    bySimulator(textOf(d.root), d.program, false, &link);
    EXPECT_EQ(link.engine, engine);
    EXPECT_EQ(link.latency, latency);
    EXPECT_EQ(link.overhead, overhead);
    // A file of another program.
    Program other = d.program;
    Object root = d.root;
    for (Field &field : root)
      if (field.name == "module")
        field.value = "\"other\"";
    EXPECT_EQ(both(textOf(root), other, false, false).error,
              "is of another program: module must match \"test\", got: \"other\"");
  }
  EXPECT_GT(taken, casesOf(400).count() < 400 ? casesOf(400).count() / 5 : 100u);
  EXPECT_GT(refused, casesOf(400).count() < 400 ? casesOf(400).count() / 40 : 10u);
  EXPECT_GT(servers, 0u);
}

TEST_F(CostFilesTest, WhatIsWrongWithACalibrationIsOneLine) {
  unsigned wrong = 0, right = 0;
  for (Cases cases = casesOf(1500); cases.first < cases.end && !HasFailure(); ++cases.first) {
    SCOPED_TRACE(cases.first);
    DrawnCalibration d = drawCalibration(cases.first % 97);
    if (!d.isRight())
      continue;
    std::mt19937_64 random(cases.first);
    Object root = d.root;
    std::optional<bool> isRight = mutate(random, root);
    std::string text = textOf(root);
    if (random() % 10 == 0) {
      text.resize(1 + random() % (text.size() - 1)); // to have none is to have no calibration
      isRight = false;
    }
    Read read = both(text, d.program, false, isRight);
    (read.error.empty() ? right : wrong) += 1;
    int64_t engine, latency, overhead;
    if (isRight && *isRight) {
      read.doubt.clear(); // which CalibrationsAreReadAlike looks at
      EXPECT_EQ(read, expected(d, &engine, &latency, &overhead)) << text;
    }
  }
  EXPECT_GT(wrong, right);
  EXPECT_GT(right, 50u);
}

TEST_F(CostFilesTest, AnotherVersionAndDepthAreRefused) {
  Program program;
  for (const char *version : {"0", "2", "7"})
    EXPECT_EQ(both(std::string("{\"format\":\"commsched calibration\",\"version\":") + version + "}", program, false, false).error,
              std::string("version must be 1, got: ") + version);
  EXPECT_EQ(both("{\"format\":\"commsched profile\",\"version\":1}", program, false, false).error,
            "format must be \"commsched calibration\", got: \"commsched profile\"");
  for (const std::string &text : {std::string(" "), std::string("[]"), std::string("7"), std::string(100'000, '['),
                                  "{\"a\":" + std::string(100'000, '[')})
    EXPECT_EQ(both(text, program, false, false).error, "is no JSON object");
}

// ---- profiles ---------------------------------------------------------------------------------

TEST_F(CostFilesTest, ProfilesAreReadAlike) {
  unsigned wrong = 0, right = 0;
  for (Cases cases = casesOf(900); cases.first < cases.end && !HasFailure(); ++cases.first) {
    SCOPED_TRACE(cases.first);
    std::mt19937_64 random(cases.first);
    std::vector<Object> processes;
    Numbers times[2];
    int64_t leasts[2] = {INT64_MAX, INT64_MAX};
    const bool trainers = random() % 2;
    for (int64_t rank = 0; rank <= int64_t(random() % 4); ++rank) {
      std::vector<Object> fragments;
      for (int label = 0; label < 2; ++label) {
        auto ns = int64_t(random() % 5000);
        times[label].push_back(ns);
        auto quiet = int64_t(random() % 6);
        fragments.push_back({text("label", label ? "b" : "a"), number("device", 0), text("kind", random() % 2 ? "run" : "delay"), number("count", 1 + int64_t(random() % 500)), number("median_ns", ns), number("quiet_count", quiet)});
        const bool said = random() % 4;
        const auto own = said ? int64_t(random() % uint64_t(ns + 1)) : ns;
        leasts[label] = std::min(leasts[label], own);
        if (said)
          fragments.back().push_back(number("min_ns", own));
        if (quiet >= 3)
          fragments.back().push_back(number("quiet_median_ns", ns / 2));
      }
      if (random() % 2)
        fragments.push_back({text("label", "w"), number("device", 0), text("kind", "copy"), number("count", 5), number("median_ns", 9), number("quiet_count", 0)});
      processes.push_back({text("role", trainers ? "trainer" : "worker"), number("index", rank), list("functions", {{text("name", "step"), list("fragments", fragments)}})});
    }
    Object root = {text("format", "commsched profile"), number("version", 1), text("module", "test"), text("plan", "17"), unread(number("warm_up_steps", 3)), list("processes", processes)};
    std::optional<bool> isRight = true;
    if (cases.first % 3 != 0)
      isRight = mutate(random, root);
    Read read = both(textOf(root), Program(), true, std::nullopt);
    if (isRight) {
      EXPECT_EQ(read.error.empty(), *isRight) << read.error;
    }
    (read.error.empty() ? right : wrong) += 1;
    if (isRight && *isRight) {
      EXPECT_EQ(read.fragments, Numbers({std::max<int64_t>(1, lowerMedian(times[0])), std::max<int64_t>(1, lowerMedian(times[1]))}));
      // What bounds count: the least of all ranks, the median where a file does not say.
      EXPECT_EQ(least, Numbers({std::min(leasts[0], read.fragments[0]), std::min(leasts[1], read.fragments[1])}));
    }
  }
  EXPECT_GT(wrong, casesOf(900).count() < 900 ? casesOf(900).count() / 6 : 200u);
  EXPECT_GT(right, casesOf(900).count() < 900 ? casesOf(900).count() / 6 : 200u);
}

// ---- faults -----------------------------------------------------------------------------------

/// What another rule would make of the same files is something else in many of them.
TEST_F(CostFilesTest, TheReferenceTellsFaults) {
  unsigned upper = 0, faster = 0, mixed = 0, all = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    DrawnCalibration d = drawCalibration(seed);
    if (!d.isRight())
      continue;
    ++all;
    int64_t engine, latency, overhead;
    Read right = expected(d, &engine, &latency, &overhead);
    auto differs = [&](const DrawnCalibration &other) { return expected(other, &engine, &latency, &overhead) != right; };
    DrawnCalibration other = d;
    other.ofRanks.insert(other.ofRanks.end(), 1, {1 << 30, 1 << 30, 1 << 30}); // the median of one more
    upper += differs(other);
    other = d;
    (other.toHost.empty() ? other.toDevice : other.toHost).clear();
    faster += !other.copyLatencies.empty() && !(other.toHost.empty() && other.toDevice.empty()) && differs(other);
    other = d;
    other.ofServers.clear();
    mixed += !other.ofRanks.empty() && differs(other);
  }
  EXPECT_GT(upper, all / 4);
  EXPECT_GT(faster, all / 20);
  EXPECT_GT(mixed, all / 20);
}

} // namespace
