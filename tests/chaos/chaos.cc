// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/chaos/chaos.h"

#include <random>

#include "tests/chaos/ranks_world.h"
#include "tests/chaos/servers_world.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kLimit = 300 * kSecond;

void AddFault(const JobCase &job, Time most, std::mt19937_64 &random, ServersWorld *world) {
  const Time at = Time(random() % uint64_t(most));
  const int trainer = int(random() % job.steps.size());
  const int server = int(random() % job.servers.size());
  const Time length = Time(random() % uint64_t(random() % 8 == 0 ? 60 * kSecond : 3 * kSecond));
  switch (random() % 8) {
    case 0:
      return random() % 4 == 0 ? world->KillTrainer(at, trainer)
                               : world->StopTrainer(at, trainer, length);
    case 1:
      return world->StopServer(at, server, length);
    case 2:
    case 3:
    case 4:
      return world->RestartServer(at, server, length);
    default:
      return world->BreakConnection(at, trainer, server);
  }
}

ChaosRun RunServers(std::mt19937_64 &random) {
  const JobCase job = RandomJob(random);
  ServersWorld world(job, random());
  const size_t kills = random() % 4 == 0 ? 1 + random() % 2 : 0;
  const Time most = (kills == 0 ? 3 : 6) * kSecond;
  for (size_t faults = random() % 5; faults != 0; --faults) AddFault(job, most, random, &world);
  for (size_t k = 0; k < kills; ++k)
    world.KillJob(kSecond + Time(random() % uint64_t(4 * kSecond)),
                  Time(random() % uint64_t(3 * kSecond)));
  world.Run(kLimit);
  return {world.Wrong(), world.failed(), world.trace(), 0};
}

// Half of them of an earlier membership, whatever else they say.
Greeting Stranger(Greeting greeting, std::mt19937_64 &random) {
  const bool earlier = random() % 2 == 0;
  if (earlier) greeting.epoch -= 1 + random() % 3;
  switch (random() % (earlier ? 5 : 6)) {
    case 0:
      greeting.nodes += random() % 2 == 0 ? 1 : -1;
      break;
    case 1:
      greeting.plan_digest ^= 1 + random() % 3;
      break;
    case 2:
      greeting.to = greeting.rank;
      break;
    case 3:
      greeting.rank = random() % 2 == 0 ? greeting.to : greeting.nodes;
      break;
    case 4:
      if (!earlier) ++greeting.epoch;
      break;
    case 5:
      ++greeting.protocol;
  }
  return greeting;
}

ChaosRun RunRanks(std::mt19937_64 &random) {
  const RanksCase ranks = RandomRanks(random);
  RanksWorld world(ranks, random());
  for (size_t changes = ranks.plans.size() == 1 ? 0 : 1 + random() % 3; changes != 0; --changes)
    world.ChangePlan(Time(random() % uint64_t(3 * kSecond)), random() % ranks.plans.size(),
                     random() % 4 == 0 ? int(random() % size_t(ranks.nodes())) : -1);
  for (size_t faults = random() % 2 * (random() % 4); faults != 0; --faults) {
    const Time at = Time(random() % uint64_t(2 * kSecond));
    const int rank = int(random() % size_t(ranks.nodes()));
    const int peer = (rank + 1 + int(random() % size_t(ranks.nodes() - 1))) % ranks.nodes();
    switch (random() % 5) {
      case 0:
        world.HangRank(at, rank);
        break;
      case 1:
        world.KillRank(at, rank);
        break;
      case 2:
        world.BreakConnection(at, rank, peer);
        break;
      default:
        world.StopRank(at, rank,
                       Time(random() % uint64_t(random() % 3 == 0 ? 60 * kSecond : 6 * kSecond)));
    }
  }
  for (size_t calls = random() % 4 == 0 ? 1 + random() % 2 : 0; calls != 0; --calls) {
    const int rank = int(random() % size_t(ranks.nodes() - 1));
    const int caller = rank + 1 + int(random() % size_t(ranks.nodes() - 1 - rank));
    world.CallRank(Time(random() % uint64_t(3 * kSecond)), rank,
                   Stranger(world.GreetingOf(caller, rank), random));
  }
  world.Run(kLimit);
  return {world.Wrong(), world.failed(), world.trace(), world.changes(), world.early_parts()};
}

}  // namespace

ChaosRun RunChaos(uint64_t seed) {
  std::mt19937_64 random(seed);
  return seed % 2 == 0 ? RunServers(random) : RunRanks(random);
}

}  // namespace commsched::runtime::core
