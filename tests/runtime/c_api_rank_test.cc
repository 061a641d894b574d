// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank of a job through the shared library, as another language uses it: four
// threads here are four ranks, connected as processes are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "runtime/c_api/c_api.h"

namespace commsched {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRanks = 4;
constexpr size_t kSize = 100;  // of the trainer's vectors
constexpr char kToken[] = "the token of the ranks here";

std::string TrainerPlan() {
  std::ifstream file(COMMSCHED_TRAINER_PLAN, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Folder() {
  std::string folder = ::testing::TempDir() + "/rank-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

cs_job_options Options(int rank, int size, const char *token) {
  cs_job_options options = {};
  options.struct_size = sizeof(options);
  options.rank = rank;
  options.size = size;
  options.membership = -1;
  options.token = token;
  options.deadline_seconds = 60;
  return options;
}

// What each of `size` ranks does once it has joined. Errors are given back by rank; empty: none.
std::vector<std::string> AsRanks(int size, const std::function<std::string(cs_job *)> &rank_does) {
  const std::string folder = Folder();
  std::string peers;
  for (int rank = 0; rank < size; ++rank)
    peers += (rank == 0 ? "unix:" : ",unix:") + folder + "/" + std::to_string(rank);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      cs_job_options options = Options(rank, size, kToken);
      options.peers = peers.c_str();
      cs_job *job = cs_job_join(&options);
      errors[size_t(rank)] = job == nullptr ? cs_last_error() : rank_does(job);
      cs_job_leave(job);
    });
  for (std::thread &thread : threads) thread.join();
  return errors;
}

std::string Metrics(cs_session *session, uint64_t call, double *value) {
  int result = 2;
  while (result == 2) result = cs_session_metrics(session, call, value);
  return result == 0 ? "" : cs_last_error();
}

struct Session {
  Session(cs_job *job, const std::string &plan) {
    cs_rank_options options = {};
    options.struct_size = sizeof(options);
    options.job = job;
    options.plan = plan.data();
    options.plan_bytes = plan.size();
    session = cs_session_create_rank(&options);
  }
  ~Session() { cs_session_destroy(session); }
  // One step with a row of what is given.
  std::string Step(float x, uint64_t *number) {
    std::vector<float> row(kSize, x);
    if (cs_session_set_batch(session, "x", row.data(), row.size() * 4) != 0 ||
        cs_session_call(session, nullptr, number) != 0)
      return cs_last_error();
    return "";
  }
  std::string Set() {
    std::vector<float> w(kSize, 1.0f);
    int n = int(kSize);
    if (cs_session_set_slot(session, "w", w.data(), w.size() * 4) != 0 ||
        cs_session_set_slot(session, "n", &n, 4) != 0)
      return cs_last_error();
    return "";
  }
  cs_session *session;
};

TEST(CApiRankTest, TrainsAsTheThreadsOfOneProcess) {
  const std::string plan = TrainerPlan();
  std::vector<float> expected(kSize);
  double loss = 0;
  {
    cs_session *session = cs_session_create(plan.data(), plan.size());
    ASSERT_NE(session, nullptr) << cs_last_error();
    std::vector<float> w(kSize, 1.0f), x;
    for (int rank = 0; rank < kRanks; ++rank) x.insert(x.end(), kSize, 1.0f + float(rank));
    int n = int(kSize);
    EXPECT_EQ(cs_session_set_slot(session, "w", w.data(), w.size() * 4), 0);
    EXPECT_EQ(cs_session_set_slot(session, "n", &n, 4), 0);
    for (int step = 0; step < 5; ++step) {
      EXPECT_EQ(cs_session_set_batch(session, "x", x.data(), x.size() * 4), 0);
      EXPECT_EQ(cs_session_call(session, nullptr, nullptr), 0) << cs_last_error();
    }
    EXPECT_EQ(cs_session_metrics(session, 4, &loss), 0);
    EXPECT_EQ(cs_session_get_slot(session, "w", expected.data(), expected.size() * 4), 0);
    cs_session_destroy(session);
  }
  const auto errors = AsRanks(kRanks, [&](cs_job *job) -> std::string {
    const int rank = cs_job_rank(job);
    EXPECT_EQ(cs_job_size(job), kRanks);
    EXPECT_STREQ(cs_job_transport(job), "grpc");
    // The others get it from rank 0.
    Session own(job, rank == 0 ? plan : "");
    if (own.session == nullptr) return cs_last_error();
    if (std::string error = own.Set(); !error.empty()) return error;
    uint64_t number = 0;
    for (int step = 0; step < 5; ++step) {
      int begin = 0;
      EXPECT_EQ(cs_session_begin_step(own.session, &begin), 0);
      EXPECT_EQ(begin, 1);
      if (std::string error = own.Step(1.0f + float(rank), &number); !error.empty()) return error;
    }
    double value = -1;
    if (std::string error = Metrics(own.session, number, &value); !error.empty()) return error;
    EXPECT_EQ(value, loss) << "rank " << rank;
    std::vector<float> w(kSize);
    EXPECT_EQ(cs_session_get_slot(own.session, "w", w.data(), w.size() * 4), 0) << cs_last_error();
    EXPECT_EQ(w, expected) << "rank " << rank;
    EXPECT_EQ(cs_session_finish(own.session), 0) << cs_last_error();
    return "";
  });
  for (const std::string &error : errors) EXPECT_EQ(error, "");
}

TEST(CApiRankTest, TellsEachOtherWhatBelongsToNoStep) {
  const auto errors = AsRanks(5, [](cs_job *job) -> std::string {
    const int rank = cs_job_rank(job);
    // Longer than a message that goes before it is asked for.
    const std::string all(rank == 0 ? (6 << 20) : 3, 'x');
    size_t bytes = 0;
    const void *got = cs_job_broadcast(job, "sends letters", all.data(), all.size(), &bytes);
    if (got == nullptr) return cs_last_error();
    EXPECT_EQ(bytes, size_t{6} << 20);
    EXPECT_EQ(static_cast<const char *>(got)[bytes - 1], 'x');
    const std::string own(static_cast<size_t>(rank), char('a' + rank));
    std::vector<uint64_t> sizes(5, 77);
    got = cs_job_gather(job, "gathers letters", own.data(), own.size(), sizes.data());
    if (got == nullptr) return cs_last_error();
    if (rank == 0) {
      EXPECT_EQ(sizes, std::vector<uint64_t>({0, 1, 2, 3, 4}));
      EXPECT_EQ(std::string(static_cast<const char *>(got), 10), "bccdddeeee");
    } else {
      EXPECT_EQ(sizes, std::vector<uint64_t>(5, 0));
    }
    return "";
  });
  for (const std::string &error : errors) EXPECT_EQ(error, "");
}

TEST(CApiRankTest, RanksThatDoDifferentThingsAllHearOfIt) {
  const auto errors = AsRanks(kRanks, [](cs_job *job) -> std::string {
    std::vector<uint64_t> sizes(kRanks);
    size_t bytes = 0;
    const void *got = cs_job_rank(job) == 2
                          ? cs_job_gather(job, "saves", "", 0, sizes.data())
                          : cs_job_broadcast(job, "restores", "", 0, &bytes);
    // Those that came through wait for the others here.
    if (got != nullptr) got = cs_job_gather(job, "ends", "", 0, sizes.data());
    if (got != nullptr) got = cs_job_broadcast(job, "ends too", "", 0, &bytes);
    return got == nullptr ? cs_last_error() : "nothing";
  });
  for (const std::string &error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("must do the same things"), HasSubstr("saves on rank 2"),
                             HasSubstr("restores on rank 0")));
}

TEST(CApiRankTest, WhoGivesUpTellsAllWhy) {
  const auto errors = AsRanks(kRanks, [](cs_job *job) -> std::string {
    if (cs_job_rank(job) == 3) {
      EXPECT_EQ(cs_job_abort(job, "rank 3: no such file"), 0);
      return "rank 3: no such file";
    }
    std::vector<uint64_t> sizes(kRanks);
    size_t bytes = 0;
    if (cs_job_gather(job, "ends", "", 0, sizes.data()) != nullptr &&
        cs_job_broadcast(job, "ends too", "", 0, &bytes) != nullptr)
      return "nothing";
    return cs_last_error();
  });
  for (const std::string &error : errors) EXPECT_THAT(error, HasSubstr("rank 3: no such file"));
}

TEST(CApiRankTest, AllStopAfterTheSameStep) {
  const std::string plan = TrainerPlan();
  std::vector<uint64_t> steps(kRanks);
  const auto errors = AsRanks(kRanks, [&](cs_job *job) -> std::string {
    const int rank = cs_job_rank(job);
    Session own(job, rank == 0 ? plan : "");
    if (own.session == nullptr) return cs_last_error();
    if (std::string error = own.Set(); !error.empty()) return error;
    for (uint64_t step = 0;; ++step) {
      int begin = 0;
      if (cs_session_begin_step(own.session, &begin) != 0) return cs_last_error();
      if (begin == 0) break;
      if (rank == 2 && step == 10) {
        EXPECT_EQ(cs_session_request_stop(own.session, 15), 0);
      }
      if (std::string error = own.Step(1, nullptr); !error.empty()) return error;
    }
    int reason = 0;
    EXPECT_EQ(cs_session_stop_reason(own.session, &reason), 0);
    EXPECT_EQ(reason, 15);
    if (cs_session_wait(own.session) != 0) return cs_last_error();
    EXPECT_EQ(cs_session_steps(own.session, &steps[size_t(rank)]), 0);
    return "";
  });
  for (const std::string &error : errors) EXPECT_EQ(error, "");
  EXPECT_GT(steps[0], 10u);
  for (uint64_t own : steps) EXPECT_EQ(own, steps[0]);
}

TEST(CApiRankTest, AnErrorOfOneRankIsThatOfAll) {
  const std::string plan = TrainerPlan();
  const auto errors = AsRanks(kRanks, [&](cs_job *job) -> std::string {
    const int rank = cs_job_rank(job);
    Session own(job, rank == 0 ? plan : "");
    if (own.session == nullptr) return cs_last_error();
    if (std::string error = own.Set(); !error.empty()) return error;
    if (rank == 1) {
      EXPECT_EQ(cs_session_cancel(own.session, "rank 1: a sample is broken"), 0);
      return "a sample is broken";
    }
    uint64_t number = 0;
    if (std::string error = own.Step(1, &number); !error.empty()) return error;
    double value = 0;
    return Metrics(own.session, number, &value);
  });
  for (const std::string &error : errors) EXPECT_THAT(error, HasSubstr("a sample is broken"));
}

TEST(CApiRankTest, APlanThatDoesNotFitIsRefusedByAll) {
  const std::string plan = TrainerPlan();
  auto errors = AsRanks(3, [&](cs_job *job) -> std::string {
    Session own(job, cs_job_rank(job) == 0 ? plan : "");
    return own.session == nullptr ? cs_last_error() : "";
  });
  for (const std::string &error : errors)
    EXPECT_EQ(error, "rank 0: plan is made for a cluster of 4 nodes, got: 3 ranks");
  errors = AsRanks(3, [&](cs_job *job) -> std::string {
    Session own(job, cs_job_rank(job) == 0 ? "no plan" : plan);
    return own.session == nullptr ? cs_last_error() : "";
  });
  for (const std::string &error : errors) EXPECT_THAT(error, HasSubstr("rank 0: "));
}

TEST(CApiRankTest, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [](const std::function<void(cs_job_options *)> &change) -> std::string {
    cs_job_options options = Options(0, 2, kToken);
    options.peers = "127.0.0.1:1,127.0.0.1:2";
    change(&options);
    cs_job *job = cs_job_join(&options);
    EXPECT_EQ(job, nullptr);
    return job == nullptr ? cs_last_error() : "";
  };
  EXPECT_THAT(refused([](auto *o) { o->rank = 2; }), HasSubstr("rank must be below size 2, got: 2"));
  EXPECT_THAT(refused([](auto *o) { o->transport = "mpi"; }), HasSubstr("transport mpi goes without addresses"));
  EXPECT_THAT(refused([](auto *o) { o->peers = "127.0.0.1:1"; }), HasSubstr("of 2 ranks, got: 1"));
  EXPECT_THAT(refused([](auto *o) { o->token = nullptr; }), HasSubstr("share a secret: token_file"));
  EXPECT_THAT(refused([](auto *o) { o->token = "short"; }), HasSubstr("at least 16"));
  EXPECT_THAT(refused([](auto *o) { o->tls_ca = "ca.pem"; }), HasSubstr("go together"));
  EXPECT_THAT(refused([](auto *o) { o->insecure = 1; }), HasSubstr("goes without a token"));
  EXPECT_THAT(refused([](auto *o) { o->struct_size = 0; }), HasSubstr("struct_size"));
  EXPECT_THAT(refused([](auto *o) { o->struct_size = 4096; }), HasSubstr("struct_size"));
  EXPECT_THAT(refused([](auto *o) {
                o->peers = "192.0.2.1:1,127.0.0.1:2";
              }),
              HasSubstr("192.0.2.1"));
  EXPECT_EQ(cs_session_create_rank(nullptr), nullptr);
  cs_job_leave(nullptr);
  // Of an older caller, which knows of fewer fields.
  cs_job_options alone = Options(0, 1, nullptr);
  alone.struct_size = offsetof(cs_job_options, peers);
  cs_job *job = cs_job_join(&alone);
  ASSERT_NE(job, nullptr) << cs_last_error();
  EXPECT_STREQ(cs_job_transport(job), "none");
  cs_job_leave(job);
}

TEST(CApiRankTest, APortThatIsTakenIsSaidByAll) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr *>(&address), size), 0);
  ASSERT_EQ(listen(taken, 16), 0);
  getsockname(taken, reinterpret_cast<sockaddr *>(&address), &size);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      cs_job_options options = Options(rank, 2, kToken);
      options.master = "127.0.0.1";
      options.port = ntohs(address.sin_port);
      options.deadline_seconds = 2;
      cs_job *job = cs_job_join(&options);
      if (job == nullptr) errors[size_t(rank)] = cs_last_error();
      cs_job_leave(job);
    });
  for (std::thread &thread : threads) thread.join();
  close(taken);
  EXPECT_THAT(errors[0], HasSubstr("cannot be listened on: Address already in use"));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 was not met"));
}

TEST(CApiRankTest, ThePartOfAJobTrainsWhileTheWholeIsThere) {
  const std::string plan = TrainerPlan();
  const auto errors = AsRanks(kRanks + 2, [&](cs_job *whole) -> std::string {
    const int rank = cs_job_rank(whole);
    cs_job *part = nullptr;
    if (cs_job_first(whole, kRanks, &part) != 0) return cs_last_error();
    EXPECT_EQ(part == nullptr, rank >= kRanks);
    if (part != nullptr) {
      EXPECT_EQ(cs_job_rank(part), rank);
      EXPECT_EQ(cs_job_size(part), kRanks);
      {
        Session own(part, rank == 0 ? plan : "");
        if (own.session == nullptr) return cs_last_error();
        EXPECT_EQ(cs_session_profile(own.session), nullptr);
        EXPECT_THAT(cs_last_error(), HasSubstr("measures no fragments"));
        if (std::string error = own.Set(); !error.empty()) return error;
        uint64_t number = 0;
        if (std::string error = own.Step(1, &number); !error.empty()) return error;
        double value = 0;
        if (std::string error = Metrics(own.session, number, &value); !error.empty()) return error;
      }
      cs_job_leave(part);
    }
    std::vector<uint64_t> sizes(kRanks + 2, 9);
    if (cs_job_gather(whole, "ends", "own", 3, sizes.data()) == nullptr) return cs_last_error();
    if (rank == 0) {
      EXPECT_EQ(sizes, std::vector<uint64_t>(kRanks + 2, 3));
    }
    for (int count : {0, kRanks + 3}) {
      EXPECT_NE(cs_job_first(whole, count, &part), 0);
      EXPECT_THAT(cs_last_error(), HasSubstr("must have 1 to 6 ranks"));
    }
    return "";
  });
  for (const std::string &error : errors) EXPECT_EQ(error, "");
}

TEST(CApiRankTest, ServersNeedARankBehindTheTrainers) {
  const auto errors = AsRanks(2, [](cs_job *job) -> std::string {
    for (int first : {0, cs_job_rank(job) + 1}) {
      EXPECT_EQ(cs_servers_create(job, first), nullptr);
      EXPECT_THAT(cs_last_error(), HasSubstr("first must be 1 to this rank"));
    }
    size_t here = 7;
    EXPECT_NE(cs_servers_get_value(nullptr, "w", nullptr, 0, &here), 0);
    EXPECT_EQ(here, 0u);
    EXPECT_NE(cs_servers_finish(nullptr), 0);
    cs_servers_destroy(nullptr);
    return "";
  });
  for (const std::string &error : errors) EXPECT_EQ(error, "");
}

TEST(CApiRankTest, LinksAreMeasuredTogether) {
  std::string text;
  const std::string plan = TrainerPlan();
  const auto errors = AsRanks(kRanks, [&](cs_job *job) -> std::string {
    const char *costs = cs_job_calibrate(job, plan.data(), cs_job_rank(job) == 0 ? plan.size() : 0);
    if (costs == nullptr) return cs_last_error();
    if (cs_job_rank(job) == 0)
      text = costs;
    else
      EXPECT_STREQ(costs, "");
    return "";
  });
  for (const std::string &error : errors) EXPECT_EQ(error, "");
  EXPECT_THAT(text, AllOf(HasSubstr("\"format\":\"commsched calibration\""), HasSubstr("\"module\":\"test\""),
                          HasSubstr("\"from\":\"rank 0\",\"to\":\"rank 1\""),
                          HasSubstr("\"from\":\"rank 3\",\"to\":\"rank 0\""), HasSubstr("slowdown_percent")));
  const auto alone = AsRanks(1, [&](cs_job *job) -> std::string {
    return cs_job_calibrate(job, plan.data(), plan.size()) == nullptr ? cs_last_error() : "";
  });
  EXPECT_THAT(alone[0], HasSubstr("no links"));
}

TEST(CApiRankTest, AFunctionOfARankNeedsOne) {
  const std::string plan = TrainerPlan();
  cs_session *session = cs_session_create(plan.data(), plan.size());
  ASSERT_NE(session, nullptr);
  int begin = 0;
  EXPECT_NE(cs_session_begin_step(session, &begin), 0);
  EXPECT_THAT(cs_last_error(), HasSubstr("of no rank of a job"));
  EXPECT_NE(cs_session_request_stop(session, 2), 0);
  EXPECT_NE(cs_session_cancel(session, "why"), 0);
  cs_session_destroy(session);
}

}  // namespace
}  // namespace commsched
