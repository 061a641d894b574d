// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job with parameter servers as its machines alone: trainers (core::TrainerLink) and
// servers (core::Server, core::Trainers) on a virtual clock, over connections that
// delay, that break in the middle of what is on its way, and that are made again;
// processes that are killed, stopped, and, of servers, started again from their last
// checkpoint; and jobs of which every process is killed, that go on from the newest step
// of which all servers have one. What a random seed does can be done again.
#ifndef COMMSCHED_TESTS_CHAOS_SERVERS_WORLD_H
#define COMMSCHED_TESTS_CHAOS_SERVERS_WORLD_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/server.h"
#include "runtime/core/trainer_link.h"
#include "runtime/core/trainers.h"
#include "tests/chaos/server_cases.h"
#include "tests/chaos/world.h"

namespace commsched::runtime::core {

struct JobCase {
  ServersProgram::Mode mode = ServersProgram::kSync;
  std::vector<ServerProgram> servers;
  std::vector<uint64_t> steps;  // by trainer
  uint64_t checkpoint_steps = 0;
};
JobCase RandomJob(std::mt19937_64 &random);

class ServersWorld : public World {
 public:
  static constexpr Time kDeadline = 30 * kSecond, kGrace = 10 * kSecond;

  ServersWorld(const JobCase &job, uint64_t seed);

  // Faults, at a time.
  void BreakConnection(Time at, int trainer, int server);
  void KillTrainer(Time at, int trainer);
  void RestartServer(Time at, int server, Time after);  // without a checkpoint: for good
  // All of its processes are killed, and it begins again later.
  void KillJob(Time at, Time after);
  void StopTrainer(Time at, int trainer, Time length);
  void StopServer(Time at, int server, Time length);

  // What is wrong with what happened, so far as no fault explains it: empty if nothing.
  // After Run. Every process that lives must have ended; without a fault that ends the
  // job, well and with the right values.
  std::string Wrong() const;
  bool failed() const;

 private:
  struct Packet {
    enum Kind {
      kJoin,
      kWelcome,
      kPush,
      kTaken,
      kSafe,
      kPull,
      kValue,
      kFinish,
      kFinished,
      kGoodbye,
      kAbort,
      kClose
    };
    Packet(Kind kind = kJoin) : kind(kind) {}
    Kind kind;
    uint64_t step = 0;  // or version, or steps
    uint32_t block = 0;
    uint64_t request = 0;
    bool rows = false;
    std::vector<uint64_t> next;
    std::string text;  // payload, or why
    Values value;
  };
  struct Connection {
    int trainer = 0, server = 0;
    uint64_t incarnation = 0;         // of the server
    bool broken = false;              // what is on its way is lost
    bool closed[2] = {false, false};  // at the trainer's, the server's end
    Time arrives[2] = {0, 0};         // the last one that is on its way to it
  };
  struct TrainerBlock {
    uint64_t pushed = 0, pulled = 0;
    bool asks = false, final = false;
    uint64_t request = 0;
  };
  struct TrainerProcess : Process {
    std::vector<std::unique_ptr<TrainerLink>> links;  // by server
    std::vector<uint64_t> connections;                // likewise; 0: none
    std::vector<std::vector<TrainerBlock>> blocks;
    bool finishing = false, closing = false;
    bool acting = false;
  };
  struct Checkpoint {
    Server::State state;
    std::vector<Values> values, sums;
  };
  struct Asked {
    uint64_t connection = 0;
    Packet packet;
  };
  struct ServerProcess : Process {
    std::unique_ptr<Server> machine;
    std::unique_ptr<Trainers> trainers;
    std::vector<Values> values, before, sums;
    std::map<uint64_t, Asked> pulls;
    enum {
      kIdle,
      kWaits,
      kPauses,
      kWrites
    } saving = kIdle;
    bool reached = false, completing = false, failed = false;
    uint64_t progress = 0;
    Time progressed = 0, failed_at = 0;
    // On the disk: the newest, and by step those of which the job can begin again.
    std::shared_ptr<const Checkpoint> checkpoint;
    std::map<uint64_t, std::shared_ptr<const Checkpoint>> cuts;
    bool whole_job = false;  // `checkpoint` is what the job has begun again with
  };

  void Disturbed(Time length);  // for so long there may be no progress
  void Away(Time length);
  void Begin();  // all processes, each at its time
  std::optional<uint64_t> NewestWhole() const;
  void GoOn(std::optional<uint64_t> step);  // in another life
  std::vector<int> Makers(uint64_t step) const;

  // Connections. `end` 0: the trainer's, 1: the server's.
  void Send(uint64_t connection, int from, Packet packet);
  void Deliver(uint64_t connection, int to, const Packet &packet);
  void Break(uint64_t connection);
  void Close(uint64_t connection, int end);

  // Trainers.
  void Tick(int trainer, int server);
  void Act(int trainer);
  void Put(int trainer, int server, const TrainerLink::Message &message);
  void TrainerHears(int trainer, int server, const Packet &packet);
  void EndTrainer(int trainer, const std::string &error);

  // Servers.
  void StartServer(int server);
  void Keep(int server, uint64_t step, std::shared_ptr<const Checkpoint> checkpoint);
  void Work(int server);
  void Save(int server);
  void ServerHears(int server, uint64_t connection, const Packet &packet);
  void Say(int server, const Trainers::Sayings &sayings);
  void AnswerPull(int server, uint64_t pull, const Values &value);
  void Apply(int server, const Server::Work &work);
  void FailServer(int server, const std::string &why);
  void Watch(int server, uint64_t incarnation);
  void EndServer(int server);
  void CheckValue(int trainer, int server, uint32_t block, uint64_t version,
                  const Values &value);

  const JobCase &job_;
  std::deque<TrainerProcess> trainers_;
  std::deque<ServerProcess> servers_;
  std::map<uint64_t, Connection> connections_;
  uint64_t next_connection_ = 1, next_pull_ = 1;
  uint64_t lives_ = 1;  // of the job
  // Of this life; every one may have others, but no fewer steps.
  std::vector<uint64_t> steps_;  // by trainer
  uint64_t checkpoint_steps_;
  std::vector<std::vector<int>> before_;  // synchronous: who made the steps before it
  Time disturbed_ = 0, away_ = 0;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_TESTS_CHAOS_SERVERS_WORLD_H
