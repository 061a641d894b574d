// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The servers of tests/chaos/servers_world.h.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/chaos/servers_world.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kTick = kSecond / 4;
constexpr Time kLinger = 2 * kSecond;  // of a server that has failed

}  // namespace

void ServersWorld::StartServer(int s) {
  ServerProcess &server = servers_[size_t(s)];
  const ServerProgram &program = job_.servers[size_t(s)];
  const int n = int(trainers_.size());
  const std::shared_ptr<const Checkpoint> checkpoint = server.checkpoint;
  const uint64_t incarnation = server.incarnation + 1;
  {
    ServerProcess next;
    next.incarnation = incarnation;
    next.checkpoint = checkpoint;
    next.cuts = std::move(server.cuts);
    next.whole_job = server.whole_job;
    server = std::move(next);
  }
  Note(absl::StrCat("server ", s, " starts", checkpoint ? " from its checkpoint" : ""));
  Server::Options options;
  options.trainers = n;
  options.cut_every = checkpoint_steps_;
  server.machine = std::make_unique<Server>(job_.mode, &program, options);
  server.values.resize(program.blocks.size());
  server.before = server.sums = server.values;
  if (checkpoint != nullptr) {
    const absl::Status status = server.machine->SetState(checkpoint->state, server.whole_job);
    if (!status.ok()) wrong_.push_back(std::string(status.message()));
    server.values = checkpoint->values;
    if (!server.whole_job) server.sums = checkpoint->sums;
  }
  server.trainers = std::make_unique<Trainers>(
      Trainers::Options{n, program.blocks.size(), checkpoint_steps_ != 0, kGrace,
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
      FailServer(s, absl::StrCat("trainer ", late.trainer, late.never_came ? " did not join" : " is lost"));
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
    Later(&server, 5 * kMillisecond, [=, this, &server] {
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
  if (checkpoint_steps_ == 0) return;
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
  const std::optional<uint64_t> step = machine.PassCut();
  if (step && *step % checkpoint_steps_ != 0 && !machine.Finished())
    wrong_.push_back(absl::StrCat("a checkpoint of step ", *step));
  const bool again = machine.WantsAnother();
  auto checkpoint = std::make_shared<Checkpoint>();
  *checkpoint = {machine.state(), server.values, server.sums};
  machine.Resume();
  // It is there when all of it is written.
  Later(&server, 100 * kMillisecond, [=, this, &server] {
    server.checkpoint = checkpoint;
    server.whole_job = false;
    Later(&server, kMillisecond, [=, this] {
      ServerProcess &server = servers_[size_t(s)];
      if (step) Keep(s, *step, checkpoint);
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
  });
  Work(s);
}

// Older ones are not needed when there is a newer one of all.
void ServersWorld::Keep(int s, uint64_t step, std::shared_ptr<const Checkpoint> checkpoint) {
  auto &cuts = servers_[size_t(s)].cuts;
  cuts[step] = std::move(checkpoint);
  if (const std::optional<uint64_t> whole = NewestWhole())
    cuts.erase(cuts.begin(), cuts.lower_bound(*whole));
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
        AnswerPull(
            s, pull,
            (*pulled == Server::Pulled::kNewest ? server.values : server.before)[packet.block]);
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

}  // namespace commsched::runtime::core
