// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/chaos/servers_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kMillisecond = 1'000'000;
constexpr Time kTick = kSecond / 4;
constexpr Time kLinger = 2 * kSecond;     // of a server that has failed
constexpr Time kDetection = 2 * kSecond;  // of a broken connection, at most

}  // namespace

JobCase RandomJob(std::mt19937_64 &random) {
  JobCase job;
  job.mode = ServersProgram::Mode(random() % 3);
  for (size_t n = 1 + random() % 3; n != 0; --n)
    job.servers.push_back(RandomServer(job.mode, random));
  for (size_t n = 1 + random() % 4; n != 0; --n) job.steps.push_back(random() % 7);
  if (random() % 3 != 0) job.checkpoint_steps = 1 + random() % 4;
  return job;
}

ServersWorld::ServersWorld(const JobCase &job, uint64_t seed) : job_(job), random_(seed) {
  for (size_t s = 0; s < job_.servers.size(); ++s) {
    servers_.emplace_back();
    servers_.back().alive = false;
    At(Random(kSecond), nullptr, [this, s] { StartServer(int(s)); });
  }
  for (size_t t = 0; t < job_.steps.size(); ++t) {
    TrainerProcess &trainer = trainers_.emplace_back();
    trainer.connections.resize(servers_.size());
    for (const ServerProgram &server : job_.servers)
      trainer.blocks.emplace_back(server.blocks.size());
    At(Random(kSecond), &trainer, [this, t] {
      for (size_t s = 0; s < servers_.size(); ++s)
        trainers_[t].links.push_back(
            std::make_unique<TrainerLink>(int(t), kDeadline, now_));
      for (size_t s = 0; s < servers_.size(); ++s) Tick(int(t), int(s));
    });
  }
}

void ServersWorld::Note(const std::string &what) {
  trace_.push_back(absl::StrCat(now_ / kMillisecond, " ms: ", what));
}

void ServersWorld::At(Time time, Process *process, std::function<void()> then) {
  const uint64_t incarnation = process == nullptr ? 0 : process->incarnation;
  events_.push({time, next_event_++, [=, this, then = std::move(then)] {
                  if (process == nullptr) return then();
                  if (!process->alive || process->incarnation != incarnation) return;
                  if (process->stopped_until > now_)
                    return At(process->stopped_until, process, then);
                  then();
                }});
}

void ServersWorld::Later(Process *process, Time most, std::function<void()> then) {
  At(now_ + Random(most), process, std::move(then));
}

void ServersWorld::Run(Time limit) {
  while (!events_.empty() && events_.top().time <= limit) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    event.then();
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
    if (trainer.ended) return;
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
    At(now_ + after, nullptr, [=, this] { StartServer(s); });
  });
}

void ServersWorld::StopTrainer(Time at, int t, Time length) {
  Away(length);
  At(at, nullptr, [=, this] {
    Note(absl::StrCat("trainer ", t, " is stopped"));
    trainers_[size_t(t)].stopped_until = now_ + length;
  });
}

void ServersWorld::StopServer(Time at, int s, Time length) {
  Disturbed(length);
  At(at, nullptr, [=, this] {
    Note(absl::StrCat("server ", s, " is stopped"));
    servers_[size_t(s)].stopped_until = now_ + length;
  });
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

// --- Trainers -----------------------------------------------------------------

void ServersWorld::Tick(int t, int s) {
  TrainerProcess &trainer = trainers_[size_t(t)];
  if (trainer.ended) return;
  TrainerLink &link = *trainer.links[size_t(s)];
  Time next = 0;
  switch (link.Tick(now_, &next)) {
    case TrainerLink::Due::kLate:
      return EndTrainer(t, absl::StrCat("server ", s, " is not there"));
    case TrainerLink::Due::kDial: {
      if (!servers_[size_t(s)].alive) {
        Later(&trainer, 50 * kMillisecond, [=, this] {
          trainers_[size_t(t)].links[size_t(s)]->Gone(now_);
          Tick(t, s);
        });
        break;
      }
      const uint64_t name = next_connection_++;
      connections_[name] = {t, s, servers_[size_t(s)].incarnation};
      trainer.connections[size_t(s)] = name;
      Send(name, 0, {Packet::kJoin});
      break;
    }
    case TrainerLink::Due::kNothing:
      break;
  }
  if (next != std::numeric_limits<Time>::max()) At(next, &trainer, [=, this] { Tick(t, s); });
}

void ServersWorld::Put(int t, int s, const TrainerLink::Message &message) {
  Packet packet;
  packet.step = message.step;
  packet.block = message.block;
  switch (message.kind) {
    case TrainerLink::Message::kPush:
      packet.kind = Packet::kPush;
      packet.text = Text(message.payload);
      break;
    case TrainerLink::Message::kPullRows:
      packet.rows = true;
      packet.request = message.request;
      [[fallthrough]];
    case TrainerLink::Message::kPull:
      packet.kind = Packet::kPull;
      break;
    case TrainerLink::Message::kFinish:
      packet.kind = Packet::kFinish;
      break;
  }
  Send(trainers_[size_t(t)].connections[size_t(s)], 0, std::move(packet));
}

// One thing that the trainer can do now, and later the next.
void ServersWorld::Act(int t) {
  TrainerProcess &trainer = trainers_[size_t(t)];
  if (trainer.acting || trainer.ended) return;
  for (const auto &link : trainer.links)
    if (!link->welcomed()) return;
  const uint64_t steps = job_.steps[size_t(t)];
  std::vector<std::function<void()>> can;
  bool done = true, finished = true, all_final = true;
  for (size_t s = 0; s < servers_.size(); ++s) {
    TrainerLink &link = *trainer.links[s];
    finished &= link.finished();
    for (uint32_t b = 0; b < trainer.blocks[s].size(); ++b) {
      TrainerBlock &block = trainer.blocks[s][b];
      done &= block.pushed == steps && block.pulled == steps;
      all_final &= block.final;
      if (block.pushed < steps && block.pulled >= block.pushed)
        can.push_back([=, this, &block, &link] {
          auto message = link.Push(b, block.pushed, Payload(absl::StrCat(t, ":", block.pushed)));
          ++block.pushed;
          if (!message.ok())
            wrong_.push_back(std::string(message.status().message()));
          else if (message->has_value())
            Put(t, int(s), **message);
        });
      if (block.pulled < block.pushed && !block.asks)
        can.push_back([=, this, &block, &link] {
          block.asks = true;
          std::optional<TrainerLink::Message> message;
          if (job_.servers[s].blocks[b].of_rows()) {
            std::tie(block.request, message) = link.PullRows(b, block.pushed);
          } else if (auto pull = link.Pull(b, block.pushed); pull.ok()) {
            message = *std::move(pull);
          } else {
            wrong_.push_back(std::string(pull.status().message()));
          }
          if (message) Put(t, int(s), *message);
        });
      if (trainer.finishing && finished && !block.final && !block.asks && link.finished())
        can.push_back([=, this, &block, &link] {
          block.asks = true;
          auto pull = link.Pull(b, Server::kFinal);
          if (pull.ok() && pull->has_value()) Put(t, int(s), **pull);
        });
    }
  }
  if (done && !trainer.finishing)
    can.push_back([=, this, &trainer] {
      trainer.finishing = true;
      for (size_t s = 0; s < servers_.size(); ++s)
        if (auto message = trainer.links[s]->Finish(steps)) Put(t, int(s), *message);
    });
  if (finished && trainer.finishing && all_final) return EndTrainer(t, "");
  if (can.empty()) return;
  trainer.acting = true;
  Later(&trainer, 10 * kMillisecond, [this, t, then = can[random_() % can.size()]] {
    trainers_[size_t(t)].acting = false;
    if (trainers_[size_t(t)].ended) return;
    then();
    Act(t);
  });
}

void ServersWorld::TrainerHears(int t, int s, const Packet &packet) {
  TrainerProcess &trainer = trainers_[size_t(t)];
  if (trainer.ended) return;
  TrainerLink &link = *trainer.links[size_t(s)];
  absl::Status status;
  switch (packet.kind) {
    case Packet::kWelcome: {
      auto send = link.Join({packet.step, packet.next, job_.checkpoint_steps != 0});
      status = send.status();
      for (size_t i = 0; status.ok() && i < send->size(); ++i) Put(t, s, (*send)[i]);
      break;
    }
    case Packet::kTaken:
      status = link.Taken(packet.block, packet.step);
      break;
    case Packet::kSafe:
      status = link.Safe(packet.next);
      break;
    case Packet::kFinished:
      link.Finished();
      break;
    case Packet::kValue: {
      TrainerBlock &block = trainer.blocks[size_t(s)][packet.block];
      if (packet.rows)
        link.PulledRows(packet.request);
      else
        link.Pulled(packet.block, packet.step);
      CheckValue(t, s, packet.block, packet.step, packet.value);
      block.asks = false;
      if (packet.step == Server::kFinal)
        block.final = true;
      else
        block.pulled = packet.step;
      break;
    }
    case Packet::kAbort:
      return EndTrainer(t, absl::StrCat("server ", s, ": ", packet.text));
    default:
      wrong_.push_back("a trainer got what no server says");
  }
  if (!status.ok()) return EndTrainer(t, absl::StrCat("server ", s, ": ", status.message()));
  Act(t);
}

void ServersWorld::EndTrainer(int t, const std::string &error) {
  TrainerProcess &trainer = trainers_[size_t(t)];
  if (trainer.ended) return;
  Note(absl::StrCat("trainer ", t, " ends: ", error.empty() ? "all is well" : error));
  trainer.ended = true;
  trainer.error = error;
  for (size_t s = 0; s < trainer.links.size(); ++s) {
    const bool joined = trainer.links[s]->joined();
    trainer.links[s]->Leave();
    const uint64_t name = trainer.connections[s];
    if (name == 0) continue;
    Packet last{error.empty() ? Packet::kGoodbye : Packet::kAbort};
    last.text = error;
    if (joined) Send(name, 0, std::move(last));
    // The server ends the connection; but not for ever.
    At(now_ + kSecond, &trainer, [this, name] { Close(name, 0); });
  }
}

void ServersWorld::CheckValue(int t, int s, uint32_t b, uint64_t version,
                              const Values &value) {
  const auto wrong = [&](const Values &wanted) {
    wrong_.push_back(absl::StrCat("trainer ", t, " got version ", int64_t(version),
                                  " of block ", b, " of server ", s, " as ",
                                  absl::StrJoin(value, " "), ", not ",
                                  absl::StrJoin(wanted, " ")));
  };
  if (job_.mode == ServersProgram::kSync) {
    const Values wanted = ExpectedOf(job_.steps, version);
    if (value != wanted) wrong(wanted);
    return;
  }
  // Every push that it must have, once; those of a trainer in their order.
  const bool all = version == Server::kFinal;
  std::vector<uint64_t> next(job_.steps.size(), 0);
  for (const std::string &push : value) {
    if (push == "|") continue;
    const std::vector<std::string> parts = absl::StrSplit(push, ':');
    if (std::stoull(parts[1]) != next[std::stoull(parts[0])]++) return wrong({"each once"});
  }
  for (size_t r = 0; r < next.size(); ++r)
    if (all ? next[r] != job_.steps[r] : int(r) == t && next[r] < version)
      return wrong({absl::StrCat("all of trainer ", r)});
}

// --- Servers ------------------------------------------------------------------

void ServersWorld::StartServer(int s) {
  ServerProcess &server = servers_[size_t(s)];
  const ServerProgram &program = job_.servers[size_t(s)];
  const int n = int(trainers_.size());
  std::unique_ptr<Checkpoint> checkpoint = std::move(server.checkpoint);
  const uint64_t incarnation = server.incarnation + 1;
  server = ServerProcess();
  server.incarnation = incarnation;
  Note(absl::StrCat("server ", s, " starts", checkpoint ? " from its checkpoint" : ""));
  Server::Options options;
  options.trainers = n;
  options.cut_every = job_.checkpoint_steps;
  server.machine = std::make_unique<Server>(job_.mode, &program, options);
  server.values.resize(program.blocks.size());
  server.before = server.sums = server.values;
  if (checkpoint != nullptr) {
    const absl::Status status = server.machine->SetState(checkpoint->state, false);
    if (!status.ok()) wrong_.push_back(std::string(status.message()));
    server.values = checkpoint->values;
    server.sums = checkpoint->sums;
    server.checkpoint = std::move(checkpoint);
  }
  server.trainers = std::make_unique<Trainers>(
      Trainers::Options{n, program.blocks.size(), job_.checkpoint_steps != 0, kGrace,
                        kDeadline, kTick},
      server.machine->cut(), now_);
  for (int t = 0; t < n; ++t)
    server.trainers->Restore(t, server.machine->taken(t), server.machine->finished(t));
  server.progressed = now_;
  Watch(s, incarnation);
  Work(s);
}

void ServersWorld::Watch(int s, uint64_t incarnation) {
  ServerProcess &server = servers_[size_t(s)];
  if (server.ended || server.incarnation != incarnation) return;
  const Trainers::Late late = server.trainers->CheckTimes(now_);
  if (late.trainer >= 0 && !server.failed && !server.machine->Finished()) {
    server.trainers->Lost(late.trainer);
    if (!server.machine->finished(late.trainer))
      FailServer(s, absl::StrCat("trainer ", late.trainer, late.never_came
                                                               ? " did not join"
                                                               : " is lost"));
  }
  if (server.machine->progress() != server.progress) {
    server.progress = server.machine->progress();
    server.progressed = now_;
  }
  if (server.machine->waiting() && now_ - server.progressed >= kDeadline)
    FailServer(s, absl::StrCat("no progress: ", server.machine->Missing()));
  Work(s);
  At(now_ + kTick, &server, [=, this] { Watch(s, incarnation); });
}

// Begins what can begin, and says what can be said.
void ServersWorld::Work(int s) {
  ServerProcess &server = servers_[size_t(s)];
  if (server.ended) return;
  Server &machine = *server.machine;
  if (server.failed) {
    if (server.trainers->IsOver(true) || now_ - server.failed_at > kLinger) EndServer(s);
    return;
  }
  for (uint32_t b = 0; b < server.values.size(); ++b) {
    Server::Addition addition;
    if (!machine.NextAddition(b, &addition)) continue;
    server.adding.insert(b);
    Later(&server, 5 * kMillisecond, [=, this, &server] {
      server.adding.erase(b);
      if (addition.close) {
        server.machine->Closed(b, Payload(absl::StrJoin(server.sums[b], ",")));
        server.sums[b].clear();
      } else {
        server.sums[b].push_back(Text(addition.payload));
        server.machine->Added(b);
      }
      Work(s);
    });
  }
  while (machine.Next() != nullptr) {
  }
  if (machine.running() != nullptr && !server.completing) {
    server.completing = true;
    Later(&server, 10 * kMillisecond, [=, this, &server] {
      server.completing = false;
      std::vector<Server::Answer> answers;
      const Server::Work work = server.machine->Complete(&answers);
      if (work.block >= 0) {
        Apply(s, work);
        for (const Server::Work &other : work.others) Apply(s, other);
      }
      for (const Server::Answer &answer : answers) {
        if (!answer.status.ok()) wrong_.push_back(std::string(answer.status.message()));
        AnswerPull(s, answer.pull, server.values[answer.block]);
      }
      Work(s);
    });
  }
  std::vector<Server::Answer> answers;
  machine.TakeFinal(&answers);
  for (const Server::Answer &answer : answers)
    AnswerPull(s, answer.pull, server.values[answer.block]);
  Save(s);
  if (machine.Finished() && server.saving == ServerProcess::kIdle &&
      server.trainers->IsOver(false))
    EndServer(s);
}

void ServersWorld::Save(int s) {
  ServerProcess &server = servers_[size_t(s)];
  Server &machine = *server.machine;
  if (job_.checkpoint_steps == 0) return;
  if (server.saving == ServerProcess::kIdle &&
      server.trainers->WantsSave(machine.Finished(), &server.reached)) {
    server.trainers->BeginSave();
    server.saving = ServerProcess::kWaits;
  }
  if (server.saving == ServerProcess::kWaits && machine.MayPause(server.reached)) {
    machine.Pause();
    server.saving = ServerProcess::kPauses;
  }
  if (server.saving != ServerProcess::kPauses || !machine.Still()) return;
  server.saving = ServerProcess::kWrites;
  if (job_.mode == ServersProgram::kSync)
    for (const Values &value : server.values)
      if (std::count(value.begin(), value.end(), "|") !=
          std::count(server.values[0].begin(), server.values[0].end(), "|"))
        wrong_.push_back("a checkpoint between two blocks");
  machine.PassCut();
  const bool again = machine.WantsAnother();
  auto checkpoint = std::make_shared<Checkpoint>();
  *checkpoint = {machine.state(), server.values, server.sums};
  machine.Resume();
  // It is there when all of it is written.
  Later(&server, 100 * kMillisecond, [=, this, &server] {
    server.checkpoint = std::make_unique<Checkpoint>(*checkpoint);
    if (again) {
      server.saving = ServerProcess::kWaits;
    } else {
      server.saving = ServerProcess::kIdle;
      Trainers::Sayings sayings;
      server.trainers->EndSave(server.machine->cut(), &sayings);
      Say(s, sayings);
    }
    Work(s);
  });
  Work(s);
}

void ServersWorld::Apply(int s, const Server::Work &work) {
  ServerProcess &server = servers_[size_t(s)];
  Values &value = server.values[size_t(work.block)];
  server.before[size_t(work.block)] = value;
  for (absl::string_view part : absl::StrSplit(Text(work.gradient), ','))
    value.emplace_back(part);
  value.push_back("|");
}

void ServersWorld::AnswerPull(int s, uint64_t pull, const Values &value) {
  const Asked asked = servers_[size_t(s)].pulls.extract(pull).mapped();
  Packet packet = asked.packet;
  packet.kind = Packet::kValue;
  packet.value = value;
  Send(asked.connection, 1, std::move(packet));
}

void ServersWorld::Say(int s, const Trainers::Sayings &sayings) {
  for (const Trainers::Saying &saying : sayings) {
    Packet packet;
    packet.block = saying.block;
    packet.step = saying.step;
    packet.next = saying.next;
    switch (saying.kind) {
      case Trainers::Saying::kTaken:
        packet.kind = Packet::kTaken;
        break;
      case Trainers::Saying::kSafe:
        packet.kind = Packet::kSafe;
        break;
      case Trainers::Saying::kFinished:
        packet.kind = Packet::kFinished;
        break;
      case Trainers::Saying::kEnd:
      case Trainers::Saying::kDrop:
        Later(&servers_[size_t(s)], kMillisecond, [this, name = saying.to] { Close(name, 1); });
        continue;
    }
    Send(saying.to, 1, std::move(packet));
  }
}

void ServersWorld::ServerHears(int s, uint64_t name, const Packet &packet) {
  ServerProcess &server = servers_[size_t(s)];
  Connection &connection = connections_.at(name);
  if (server.ended || connection.incarnation != server.incarnation) return;
  const int t = connection.trainer;
  Trainers::Sayings sayings;
  if (server.failed) {
    if (packet.kind != Packet::kJoin) return;
    server.trainers->Tell(t, name);
    Packet abort{Packet::kAbort};
    abort.text = server.error;
    Send(name, 1, std::move(abort));
    return Close(name, 1);
  }
  absl::Status status;
  switch (packet.kind) {
    case Packet::kJoin: {
      status = server.trainers->MayJoin(t, uint64_t(t) + 1, 1);
      absl::StatusOr<uint64_t> steps = server.machine->Join(t);
      if (!status.ok() || !steps.ok()) break;
      server.trainers->Join(t, uint64_t(t) + 1, 1, name, &sayings);
      Packet welcome{Packet::kWelcome};
      welcome.step = *steps;
      welcome.next = server.trainers->taken(t);
      Send(name, 1, std::move(welcome));
      break;
    }
    case Packet::kPush:
      server.trainers->PushBegins(t);
      status = server.machine->Push(t, packet.block, packet.step, Payload(packet.text));
      server.trainers->Taken(t, packet.block, packet.step, status.ok(), &sayings);
      break;
    case Packet::kPull: {
      const uint64_t pull = next_pull_++;
      auto pulled = server.machine->Pull(t, packet.block, packet.step, pull);
      status = pulled.status();
      if (!status.ok()) break;
      server.pulls[pull] = {name, packet};
      if (*pulled != Server::Pulled::kWaits)
        AnswerPull(s, pull, (*pulled == Server::Pulled::kNewest ? server.values
                                                                : server.before)[packet.block]);
      break;
    }
    case Packet::kFinish:
      if (!server.trainers->finished(t)) status = server.machine->Finish(t, packet.step);
      server.trainers->Finish(t, &sayings);
      break;
    case Packet::kGoodbye:
      // Also if it has finished with this server before it was started again without
      // a checkpoint.
      if (absl::Status left = server.trainers->Goodbye(t, &sayings); !left.ok())
        FailServer(s, absl::StrCat("trainer ", t, ": ", left.message()));
      break;
    case Packet::kAbort:
      server.trainers->Lost(t);
      if (!server.machine->finished(t))
        FailServer(s, absl::StrCat("trainer ", t, " gave up: ", packet.text));
      return;
    default:
      wrong_.push_back("a server got what no trainer says");
  }
  if (!status.ok()) wrong_.push_back(std::string(status.message()));
  Say(s, sayings);
  Work(s);
}

void ServersWorld::FailServer(int s, const std::string &why) {
  ServerProcess &server = servers_[size_t(s)];
  if (server.failed || server.ended) return;
  Note(absl::StrCat("server ", s, " fails: ", why));
  server.failed = true;
  server.failed_at = now_;
  server.error = why;
  server.machine->Clear();
  server.pulls.clear();
  for (Trainers::Connection name : server.trainers->Fail()) {
    Packet abort{Packet::kAbort};
    abort.text = why;
    Send(name, 1, std::move(abort));
    Later(&server, kMillisecond, [this, name] { Close(name, 1); });
  }
}

void ServersWorld::EndServer(int s) {
  ServerProcess &server = servers_[size_t(s)];
  Note(absl::StrCat("server ", s, " ends"));
  server.ended = true;
  for (auto &[name, connection] : connections_)
    if (connection.server == s && connection.incarnation == server.incarnation &&
        !connection.closed[1]) {
      if (!connection.broken) Send(name, 1, {Packet::kClose});
      connection.closed[1] = true;
    }
  server.alive = false;
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
