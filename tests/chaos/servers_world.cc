// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/chaos/servers_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {

JobCase RandomJob(std::mt19937_64 &random) {
  JobCase job;
  job.mode = ServersProgram::Mode(random() % 3);
  for (size_t n = 1 + random() % 3; n != 0; --n)
    job.servers.push_back(RandomServer(job.mode, random));
  for (size_t n = 1 + random() % 4; n != 0; --n) job.steps.push_back(random() % 7);
  if (random() % 3 != 0) job.checkpoint_steps = 1 + random() % 4;
  return job;
}

ServersWorld::ServersWorld(const JobCase &job, uint64_t seed)
    : World(seed),
      job_(job),
      trainers_(job.steps.size()),
      servers_(job.servers.size()),
      steps_(job.steps),
      checkpoint_steps_(job.checkpoint_steps) {
  Begin();
}

void ServersWorld::Begin() {
  for (size_t s = 0; s < job_.servers.size(); ++s) {
    servers_[s].alive = servers_[s].ended = false;
    At(now_ + Random(kSecond), nullptr, [this, s, life = lives_] {
      if (life == lives_) StartServer(int(s));
    });
  }
  for (size_t t = 0; t < job_.steps.size(); ++t) {
    TrainerProcess &trainer = trainers_[t];
    const uint64_t incarnation = trainer.incarnation + 1;
    trainer = TrainerProcess();
    trainer.incarnation = incarnation;
    trainer.connections.resize(servers_.size());
    for (const ServerProgram &server : job_.servers)
      trainer.blocks.emplace_back(server.blocks.size());
    At(now_ + Random(kSecond), &trainer, [this, t] {
      for (size_t s = 0; s < servers_.size(); ++s)
        trainers_[t].links.push_back(
            std::make_unique<TrainerLink>(int(t), kDeadline, now_));
      for (size_t s = 0; s < servers_.size(); ++s) Tick(int(t), int(s));
    });
  }
}

// --- Faults -------------------------------------------------------------------

void ServersWorld::Disturbed(Time length) {
  disturbed_ += length;
  may_fail_ |= disturbed_ > kDeadline / 2;
}

// Connections of trainers may be away for so long.
void ServersWorld::Away(Time length) {
  away_ += length;
  may_fail_ |= away_ > kGrace - kSecond;
  Disturbed(length);
}

void ServersWorld::BreakConnection(Time at, int trainer, int server) {
  Away(kDetection);
  At(at, nullptr, [=, this] { Break(trainers_[size_t(trainer)].connections[size_t(server)]); });
}

void ServersWorld::KillTrainer(Time at, int t) {
  may_fail_ = true;
  At(at, nullptr, [=, this] {
    TrainerProcess &trainer = trainers_[size_t(t)];
    if (trainer.ended || !trainer.alive) return;
    Note(absl::StrCat("trainer ", t, " is killed"));
    trainer.alive = false;
    for (uint64_t connection : trainer.connections) Break(connection);
  });
}

void ServersWorld::RestartServer(Time at, int s, Time after) {
  may_fail_ |= job_.checkpoint_steps == 0;
  Disturbed(after + kDetection);
  At(at, nullptr, [=, this] {
    ServerProcess &server = servers_[size_t(s)];
    if (!server.alive || server.ended) return;
    Note(absl::StrCat("server ", s, " is killed"));
    server.alive = false;
    ++server.incarnation;
    for (auto &[name, connection] : connections_)
      if (connection.server == s) Break(name);
    At(now_ + after, nullptr, [=, this, life = lives_] {
      if (life == lives_) StartServer(s);
    });
  });
}

void ServersWorld::KillJob(Time at, Time after) {
  At(at, nullptr, [=, this] {
    const auto has_ended = [](const Process &process) { return process.ended; };
    if (std::all_of(trainers_.begin(), trainers_.end(), has_ended) &&
        std::all_of(servers_.begin(), servers_.end(), has_ended))
      return;
    Note("all are killed");
    const uint64_t life = ++lives_;
    for (TrainerProcess &trainer : trainers_) trainer.alive = false;
    for (ServerProcess &server : servers_) {
      server.alive = false;
      ++server.incarnation;
    }
    At(now_ + after, nullptr, [=, this] {
      if (life != lives_) return;
      const std::optional<uint64_t> step = NewestWhole();
      Note(step ? absl::StrCat("all begin again after step ", *step) : "all begin again");
      // What is of other steps must not be taken for this life's later.
      for (ServerProcess &server : servers_) {
        server.checkpoint = step ? server.cuts[*step] : nullptr;
        server.whole_job = true;
        std::erase_if(server.cuts, [&](const auto &cut) { return !step || cut.first != *step; });
      }
      GoOn(step);
      Begin();
    });
  });
}

void ServersWorld::GoOn(std::optional<uint64_t> step) {
  std::vector<std::vector<int>> before;
  for (uint64_t s = 0; s < step.value_or(0); ++s) before.push_back(Makers(s));
  before_ = std::move(before);
  if (checkpoint_steps_ != 0) checkpoint_steps_ = 1 + random_() % 4;
  for (uint64_t &steps : steps_) steps += random_() % 4 == 0 ? random_() % 3 : 0;
}

std::vector<int> ServersWorld::Makers(uint64_t step) const {
  return step < before_.size() ? before_[step] : MakersOf(steps_, step);
}

std::optional<uint64_t> ServersWorld::NewestWhole() const {
  std::optional<uint64_t> newest;
  for (const auto &[step, first] : servers_[0].cuts)
    if (std::all_of(servers_.begin(), servers_.end(), [&, step = step](const ServerProcess &server) {
          return server.cuts.count(step) != 0;
        }))
      newest = step;
  return newest;
}

void ServersWorld::StopTrainer(Time at, int t, Time length) {
  Away(length);
  Stop(at, &trainers_[size_t(t)], absl::StrCat("trainer ", t), length);
}

void ServersWorld::StopServer(Time at, int s, Time length) {
  Disturbed(length);
  Stop(at, &servers_[size_t(s)], absl::StrCat("server ", s), length);
}

// --- Connections --------------------------------------------------------------

void ServersWorld::Send(uint64_t name, int from, Packet packet) {
  Connection &connection = connections_.at(name);
  if (connection.closed[from]) return;
  const int to = 1 - from;
  // In order, and now and then slow.
  const Time most = random_() % 16 == 0 ? kSecond / 2 : 20 * kMillisecond;
  connection.arrives[to] = std::max(connection.arrives[to] + 1, now_ + Random(most));
  Process *receiver = to == 0 ? static_cast<Process *>(&trainers_[size_t(connection.trainer)])
                              : &servers_[size_t(connection.server)];
  At(connection.arrives[to], receiver, [this, name, to, packet = std::move(packet)] {
    const Connection &c = connections_.at(name);
    if (!c.broken && !c.closed[to]) Deliver(name, to, packet);
  });
}

void ServersWorld::Deliver(uint64_t name, int to, const Packet &packet) {
  const Connection &connection = connections_.at(name);
  if (packet.kind == Packet::kClose) return Close(name, to);
  if (to == 1) return ServerHears(connection.server, name, packet);
  if (trainers_[size_t(connection.trainer)].connections[size_t(connection.server)] == name)
    TrainerHears(connection.trainer, connection.server, packet);
}

// What is on its way is lost; both ends find out, each at its time.
void ServersWorld::Break(uint64_t name) {
  auto it = connections_.find(name);
  if (it == connections_.end() || it->second.broken) return;
  it->second.broken = true;
  Note(absl::StrCat("connection of trainer ", it->second.trainer, " and server ",
                    it->second.server, " breaks"));
  Later(&trainers_[size_t(it->second.trainer)], kDetection, [this, name] { Close(name, 0); });
  Later(&servers_[size_t(it->second.server)], kDetection, [this, name] { Close(name, 1); });
}

void ServersWorld::Close(uint64_t name, int end) {
  Connection &connection = connections_.at(name);
  if (connection.closed[end]) return;
  if (!connection.broken) Send(name, end, {Packet::kClose});
  connection.closed[end] = true;
  const int t = connection.trainer, s = connection.server;
  if (end == 1) {
    servers_[size_t(s)].trainers->Closed(name, now_);
    return Work(s);
  }
  TrainerProcess &trainer = trainers_[size_t(t)];
  if (trainer.connections[size_t(s)] != name) return;
  trainer.connections[size_t(s)] = 0;
  trainer.links[size_t(s)]->Gone(now_);
  Tick(t, s);
}

// --- What came of it ----------------------------------------------------------

bool ServersWorld::failed() const {
  for (const TrainerProcess &trainer : trainers_)
    if (!trainer.error.empty() || !trainer.ended) return true;
  for (const ServerProcess &server : servers_)
    if (!server.error.empty() || !server.ended) return true;
  return false;
}

std::string ServersWorld::Wrong() const {
  if (!wrong_.empty()) return wrong_.front();
  for (size_t t = 0; t < trainers_.size(); ++t)
    if (trainers_[t].alive && !trainers_[t].ended)
      return absl::StrCat("trainer ", t, " hangs");
  for (size_t s = 0; s < servers_.size(); ++s)
    if (!servers_[s].ended) return absl::StrCat("server ", s, " hangs");
  if (!may_fail_ && failed()) return "the job failed for no reason";
  return "";
}

}  // namespace commsched::runtime::core
