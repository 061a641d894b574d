// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The MPI transport: this program starts four workers of itself with mpirun.
// COMMSCHED_MPIRUN names mpirun and its options. With --alone, the ranks share no
// memory, as if each were on a host of its own.
#include <mpi.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mpi/ranks.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/remote.h"

extern char **environ;

namespace commsched::conformance {
namespace {

constexpr int kWorkers = 4;
bool alone = false;

int Work(const std::string &path) {
  auto world = transport::BeginMpi();
  if (!world.ok()) {
    std::fprintf(stderr, "worker: %s\n", world.status().ToString().c_str());
    return 1;
  }
  transport::mpi::Communicators cluster = {MPI_COMM_NULL, MPI_COMM_NULL};
  WorkerSide side;
  side.new_cluster = [&](int nodes) {
    runtime::MutexLock lock(&transport::MpiMutex());
    const int color = world->rank < nodes ? 1 : 2;
    int code = MPI_Comm_split(MPI_COMM_WORLD, color, world->rank, &cluster.notes);
    if (code == MPI_SUCCESS) code = MPI_Comm_dup(cluster.notes, &cluster.parts);
    return transport::FromMpi(code, "new cluster");
  };
  side.connect = [&](TransportOptions options) {
    // Small parts and little eagerness, so that more is cut up.
    return transport::mpi::ConnectMpiOver(
        cluster, 0, std::move(options),
        {.eager_bytes = 2000,
         .ring_eager_bytes = 3000,
         .share = !alone,
         .part_bytes = 64 << 10});
  };
  const int status = RunWorker(path, world->rank, side);
  transport::EndMpi(absl::Seconds(10));
  return status;
}

class Workers : public ::testing::Environment {
 public:
  void SetUp() override {
    char self[PATH_MAX] = {};
    ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    const char *mpirun = std::getenv("COMMSCHED_MPIRUN");
    std::vector<std::string> words = absl::StrSplit(
        mpirun != nullptr ? mpirun : "mpirun --oversubscribe", ' ', absl::SkipEmpty());
    auto started = RemoteWorkers::Start(kWorkers, [&](const std::string &path) {
      for (const std::string &word :
           {std::string("-n"), absl::StrCat(kWorkers), std::string(self),
            absl::StrCat("--worker=", path)})
        words.push_back(word);
      if (alone) words.push_back("--alone");
      std::vector<char *> argv;
      for (std::string &word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ASSERT_EQ(posix_spawnp(&pid_, argv[0], nullptr, nullptr, argv.data(), environ), 0)
          << words[0];
    });
    ASSERT_TRUE(started.ok()) << started.status();
    workers = std::move(*started);
  }
  void TearDown() override {
    workers.reset();
    if (pid_ <= 0) return;
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0) << "mpirun has failed";
  }
  static std::unique_ptr<RemoteWorkers> workers;

 private:
  pid_t pid_ = -1;
};
std::unique_ptr<RemoteWorkers> Workers::workers;

Kind Mpi() {
  Kind kind = {"mpi", [](int nodes) -> Kind::Connect {
                 absl::Status made = Workers::workers->NewCluster(nodes);
                 return [made](TransportOptions options)
                            -> absl::StatusOr<std::unique_ptr<Transport>> {
                   if (!made.ok()) return made;
                   return Workers::workers->Connect(std::move(options));
                 };
               }};
  // Those that go in parts.
  if (alone) kind.holds_from = 100'000;
  return kind;
}

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceTest, ::testing::Values(Mpi()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace commsched::conformance

int main(int argc, char **argv) {
  using commsched::conformance::Work;
  for (int i = 1; i < argc; ++i)
    commsched::conformance::alone |= std::string(argv[i]) == "--alone";
  for (int i = 1; i < argc; ++i)
    if (const std::string word = argv[i]; word.rfind("--worker=", 0) == 0)
      return Work(word.substr(9));
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new commsched::conformance::Workers);
  return RUN_ALL_TESTS();
}
