// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cs-run measures, with real processes: the form of its files and what must
// hold between their numbers, but not how fast this machine is.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/data/tensor_file.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched::costs_of_cs_run {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using ::testing::AllOf;
using testing::BytesOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadAll;
using Fields = google::protobuf::Map<std::string, Value>;

Struct ParseFile(const std::string &path) {
  Struct json;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(ReadAll(path), &json).ok())
      << path << ": " << ReadAll(path);
  return json;
}

std::vector<Fields> List(const Fields &fields, const std::string &name) {
  std::vector<Fields> list;
  EXPECT_TRUE(fields.contains(name)) << name;
  for (const Value &value : fields.at(name).list_value().values())
    list.push_back(value.struct_value().fields());
  return list;
}

double Number(const Fields &fields, const std::string &name) {
  return fields.contains(name) ? fields.at(name).number_value() : -1;
}

class Process {
 public:
  explicit Process(const std::vector<std::string> &arguments, const std::string &log)
      : log_(log) {
    std::vector<std::string> all = {COMMSCHED_CS_RUN};
    all.insert(all.end(), arguments.begin(), arguments.end());
    pid_ = fork();
    if (pid_ != 0) return;
    int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::vector<char *> argv;
    for (const std::string &a : all) argv.push_back(const_cast<char *>(a.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  // Exit status, or 128 + the signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void Signal(int s) { kill(pid_, s); }
  std::string log() const { return ReadAll(log_); }

 private:
  std::string log_;
  pid_t pid_;
};

class CostsTest : public ::testing::Test {
 protected:
  std::string Write(const testing::PlanBuilder &plan) {
    const std::string path = folder_ / "test.plan";
    std::ofstream(path, std::ios::binary) << plan.Bytes();
    return path;
  }
  int Run(const std::vector<std::string> &arguments) {
    Process process(arguments, folder_ / "log");
    const int status = process.Wait();
    log_ = process.log();
    return status;
  }
  // For ServerPlan.
  std::string Init() {
    auto type = [](std::vector<int64_t> shape, int64_t n) {
      return runtime::TensorInfo{ops::Element::kF32, shape, n, size_t(n) * 4};
    };
    const runtime::TensorInfo count{ops::Element::kI32, {}, 1, 4};
    const std::vector<float> w(testing::kWeights, 0.5f), b(testing::kBias, 0.25f);
    const std::vector<int> none = {0}, n_w = {testing::kWeights}, n_3 = {3 * testing::kColumns},
                           n_2 = {2 * testing::kColumns}, n_b = {testing::kBias};
    const std::string path = folder_ / "init";
    EXPECT_TRUE(runtime::WriteSafetensors(
                    path,
                    {{"w", type({testing::kRows, testing::kColumns}, testing::kWeights), BytesOf(w)},
                     {"w.momentum", type({testing::kRows, testing::kColumns}, testing::kWeights), BytesOf(w)},
                     {"b", type({testing::kBias}, testing::kBias), BytesOf(b)},
                     {"count", count, BytesOf(none)},
                     {"n.w", count, BytesOf(n_w)},
                     {"n.3", count, BytesOf(n_3)},
                     {"n.2", count, BytesOf(n_2)},
                     {"n.b", count, BytesOf(n_b)}},
                    {})
                    .ok());
    return path;
  }
  std::string Batch() {
    auto type = [](int64_t rows, int64_t n) {
      return runtime::TensorInfo{ops::Element::kF32, {rows, n}, rows * n, size_t(rows * n) * 4};
    };
    const std::vector<float> x(2 * 8 * testing::kWeights, 1.0f), y(2 * 8 * testing::kBias, 2.0f);
    const std::string path = folder_ / "batch";
    EXPECT_TRUE(runtime::WriteSafetensors(path,
                                          {{"x", type(16, testing::kWeights), BytesOf(x)},
                                           {"y", type(16, testing::kBias), BytesOf(y)}},
                                          {})
                    .ok());
    return path;
  }
  std::set<std::string> Files() {
    std::set<std::string> names;
    DIR *opened = opendir((folder_ / "").c_str());
    while (dirent *entry = readdir(opened))
      if (entry->d_name[0] != '.') names.insert(entry->d_name);
    closedir(opened);
    return names;
  }
  // Checks a calibration's form, and gives the names of its links.
  std::set<std::string> Links(const std::string &transport, int ranks, int computing) {
    const Struct json = ParseFile(file_);
    const Fields &fields = json.fields();
    EXPECT_EQ(fields.at("format").string_value(), "commsched calibration");
    EXPECT_EQ(Number(fields, "version"), 1);
    EXPECT_EQ(fields.at("transport").string_value(), transport);
    EXPECT_EQ(Number(fields, "ranks"), ranks);
    std::set<std::string> names;
    for (const Fields &link : List(fields, "links")) {
      names.insert(absl::StrCat(link.at("from").string_value(), " to ",
                                link.at("to").string_value()));
      const double latency = Number(link, "latency_ns"), overhead = Number(link, "overhead_ns"),
                   round_trip = Number(link, "round_trip_ns");
      EXPECT_GE(latency, 0);
      EXPECT_GE(overhead, 0);
      EXPECT_GT(round_trip, 0);
      EXPECT_LE(latency, round_trip / 2 + 1);
      EXPECT_GT(Number(link, "bits_per_s"), 0);
    }
    const auto exchanges = List(fields, "exchanges");
    EXPECT_EQ(int(exchanges.size()), names.count("rank 0 to rank 1") != 0 ? ranks : 0);
    for (const Fields &of : exchanges) {
      EXPECT_GT(Number(of, "round_ns"), 0);
      EXPECT_GE(Number(of, "message_ns"), 0);
      EXPECT_GE(Number(of, "busy_message_ns"), 0);
    }
    const auto compute = List(fields, "compute");
    EXPECT_EQ(int(compute.size()), computing);
    for (const Fields &of : compute) {
      const double quiet = Number(of, "quiet_ns"), busy = Number(of, "communicating_ns");
      EXPECT_GT(quiet, 0);
      EXPECT_GT(busy, 0);
      EXPECT_NEAR(Number(of, "slowdown_percent"), std::max(0.0, 100 * (busy / quiet - 1)),
                  0.6);
    }
    return names;
  }

  testing::TemporaryFolder folder_;
  std::string file_ = folder_ / "out.json", log_;
};

using Names = std::set<std::string>;

TEST_F(CostsTest, CalibratesThreadsAndProcesses) {
  ASSERT_EQ(Run({Write(testing::Trainer(3)), "--calibrate", file_}), 0) << log_;
  EXPECT_THAT(log_, AllOf(HasSubstr("Mbit/s"), HasSubstr("calibration: ")));
  EXPECT_EQ(Links("in-process", 3, 3),
            Names({"rank 0 to rank 1", "rank 1 to rank 2", "rank 2 to rank 0"}));
  ASSERT_EQ(Run({Write(testing::Trainer(2)), "--calibrate", file_, "--spawn"}), 0) << log_;
  EXPECT_EQ(Links("grpc", 2, 2), Names({"rank 0 to rank 1", "rank 1 to rank 0"}));
  EXPECT_EQ(Files(), Names({"log", "out.json", "test.plan"}));
}

TEST_F(CostsTest, CalibratesRanksByHandAndRankZeroWrites) {
  const std::string plan = Write(testing::Trainer(2));
  const std::string peers =
      absl::StrCat("unix:", folder_ / "0", ",unix:", folder_ / "1");
  Process other({plan, "--rank", "1", "--peers", peers, "--insecure", "--calibrate", folder_ / "b.json"},
                folder_ / "log1");
  ASSERT_EQ(Run({plan, "--rank", "0", "--peers", peers, "--insecure", "--calibrate", file_}), 0) << log_;
  EXPECT_EQ(other.Wait(), 0) << other.log();
  EXPECT_EQ(Links("grpc", 2, 2), Names({"rank 0 to rank 1", "rank 1 to rank 0"}));
  EXPECT_EQ(Files().count("b.json"), 0u);
}

TEST_F(CostsTest, CalibratesLinksToServers) {
  const std::string plan = Write(testing::ServerPlan({.trainers = 2}));
  ASSERT_EQ(Run({plan, "--calibrate", file_}), 0) << log_;
  const Names links = {"server 0 to rank 0", "server 1 to rank 0"};
  EXPECT_EQ(Links("in-process", 2, 1), links);
  ASSERT_EQ(Run({plan, "--calibrate", file_, "--spawn", "--init", Init()}), 0) << log_;
  EXPECT_EQ(Links("grpc", 2, 1), links);
  const std::string half =
      Write(testing::ServerPlan({.mode = plan::ParameterServers::HALF_ASYNC, .merge = 2}));
  ASSERT_EQ(Run({half, "--calibrate", file_, "--spawn", "--init", Init()}), 0) << log_;
  EXPECT_EQ(Links("grpc", 2, 1), links);
}

TEST_F(CostsTest, APeerThatDoesNotComeIsOneError) {
  const std::string plan = Write(testing::Trainer(2));
  const std::string peers =
      absl::StrCat("unix:", folder_ / "0", ",unix:", folder_ / "1");
  EXPECT_EQ(Run({plan, "--rank", "0", "--peers", peers, "--insecure", "--calibrate", file_, "--deadline", "1"}),
            1);
  EXPECT_EQ(std::count(log_.begin(), log_.end(), '\n'), 1) << log_;
  EXPECT_THAT(log_, AllOf(HasSubstr("rank 0"), HasSubstr("1")));
  EXPECT_EQ(Files().count("out.json"), 0u);
}

TEST_F(CostsTest, APeerThatStopsAnsweringIsOneError) {
  const std::string plan = Write(testing::Trainer(2));
  const std::string peers =
      absl::StrCat("unix:", folder_ / "0", ",unix:", folder_ / "1");
  std::vector<std::string> common = {plan, "--peers", peers, "--insecure", "--calibrate",
                                     file_, "--deadline", "2"};
  auto own = [&](const char *rank) {
    std::vector<std::string> all = common;
    all.insert(all.end(), {"--rank", rank});
    return all;
  };
  Process other(own("1"), folder_ / "log1");
  Process first(own("0"), folder_ / "log");
  // Somewhere in the middle, if the machine is not very slow.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  other.Signal(SIGSTOP);
  EXPECT_EQ(first.Wait(), 1) << first.log();
  EXPECT_EQ(ReadAll(folder_ / "log").find("cs-run: rank 0: "), 0u) << first.log();
  EXPECT_THAT(first.log(), HasSubstr("1"));
  EXPECT_EQ(Files().count("out.json"), 0u);
}

TEST_F(CostsTest, RefusesToCalibrateWhatHasNoLinkOrTrains) {
  const std::string plan = Write(testing::Trainer(1));
  EXPECT_EQ(Run({plan, "--calibrate", file_}), 1);
  EXPECT_THAT(log_, HasSubstr("the plan is for one rank without parameter servers"));
  EXPECT_EQ(Run({plan, "--calibrate", file_, "--steps", "5"}), 2);
  EXPECT_THAT(log_, HasSubstr("--calibrate goes without"));
  EXPECT_EQ(Run({plan, "--calibrate", file_, "--profile", "x"}), 2);
}

TEST_F(CostsTest, ProfilesTrainersAndServersIntoOneFile) {
  const std::string plan = Write(testing::ServerPlan({.trainers = 2}));
  for (const char *how : {"", "--spawn"}) {
    std::vector<std::string> arguments = {plan, "--batch", Batch(), "--init", Init(),
                                          "--steps", "8", "--profile", file_};
    if (*how != 0) arguments.push_back(how);
    ASSERT_EQ(Run(arguments), 0) << log_;
    EXPECT_THAT(log_, HasSubstr("profile: "));
    const Struct json = ParseFile(file_);
    EXPECT_EQ(Number(json.fields(), "version"), 1);
    EXPECT_EQ(Number(json.fields(), "warm_up_steps"), 3);
    std::map<std::string, Names> functions;
    for (const Fields &process : List(json.fields(), "processes")) {
      const std::string name = absl::StrCat(process.at("role").string_value(), " ",
                                            Number(process, "index"));
      for (const Fields &function : List(process, "functions")) {
        functions[name].insert(function.at("name").string_value());
        for (const Fields &fragment : List(function, "fragments")) {
          EXPECT_EQ(Number(fragment, "count"), 5);
          EXPECT_GE(Number(fragment, "median_ns"), Number(fragment, "min_ns"));
          EXPECT_LE(Number(fragment, "median_ns"), Number(fragment, "max_ns"));
        }
      }
    }
    EXPECT_EQ(functions["trainer 0"], Names({"step"}));
    EXPECT_EQ(functions["trainer 1"], Names({"step"}));
    EXPECT_EQ(functions["server 0"].size(), 2u);  // a schedule and a block
    EXPECT_EQ(functions["server 1"].size(), 3u);
    EXPECT_EQ(functions.size(), 4u);
  }
  const Names files = Files();
  EXPECT_EQ(std::count_if(files.begin(), files.end(),
                          [](const std::string &name) {
                            return name.find(".part") != name.npos;
                          }),
            0);
}

TEST_F(CostsTest, ProfilesEachRankByHandIntoItsFile) {
  const std::string plan = Write(testing::Trainer(2));
  const std::string peers =
      absl::StrCat("unix:", folder_ / "0", ",unix:", folder_ / "1");
  std::vector<std::string> common = {plan, "--peers", peers, "--insecure", "--emulate", "--steps", "6",
                                     "--profile", file_};
  std::vector<std::string> first = common, second = common;
  first.insert(first.end(), {"--rank", "0"});
  second.insert(second.end(), {"--rank", "1"});
  Process other(second, folder_ / "log1");
  ASSERT_EQ(Run(first), 0) << log_;
  ASSERT_EQ(other.Wait(), 0) << other.log();
  for (auto [file, rank] : {std::pair("out.json", 0), std::pair("out.rank1.json", 1)}) {
    const Struct json = ParseFile(folder_ / file);
    const auto processes = List(json.fields(), "processes");
    ASSERT_EQ(processes.size(), 1u);
    EXPECT_EQ(processes[0].at("role").string_value(), "worker");
    EXPECT_EQ(Number(processes[0], "index"), rank);
  }
}

TEST_F(CostsTest, WithoutEnoughStepsThereIsNoProfile) {
  const std::string plan = Write(testing::Trainer(2));
  for (const char *how : {"--emulate", "--spawn"}) {
    EXPECT_EQ(Run({plan, how, "--emulate", "--steps", "3", "--profile", file_}), 1);
    EXPECT_THAT(log_, HasSubstr("--profile leaves out the first 3 steps and needs at "
                                "least one more, got: 3"));
    EXPECT_THAT(log_, Not(HasSubstr("profile: ")));
    EXPECT_EQ(Files(), Names({"log", "test.plan"}));
  }
}

}  // namespace
}  // namespace commsched::costs_of_cs_run
