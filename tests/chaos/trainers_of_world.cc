// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trainers of tests/chaos/servers_world.h.
#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/chaos/servers_world.h"

namespace commsched::runtime::core {

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
  const uint64_t steps = steps_[size_t(t)];
  std::vector<std::function<void()>> can;
  bool done = true, finished = true, all_final = true;
  for (size_t s = 0; s < servers_.size(); ++s) {
    TrainerLink &link = *trainer.links[s];
    finished &= link.finished();
    for (uint32_t b = 0; b < trainer.blocks[s].size(); ++b) {
      TrainerBlock &block = trainer.blocks[s][b];
      done &= block.pushed >= steps && block.pulled >= steps;
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
        if (auto message = trainer.links[s]->Finish(std::max(steps, trainer.links[s]->first_step())))
          Put(t, int(s), *message);
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
      const bool first = !link.welcomed();
      auto send = link.Join({packet.step, packet.next, checkpoint_steps_ != 0});
      for (TrainerBlock &block : trainer.blocks[size_t(s)])
        if (first) block.pushed = block.pulled = link.first_step();
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
    const Values wanted = ExpectedOf(version, [this](uint64_t s) { return Makers(s); });
    if (value != wanted) wrong(wanted);
    return;
  }
  // Every push that it must have, once; those of a trainer in their order.
  const bool all = version == Server::kFinal;
  std::vector<uint64_t> next(steps_.size(), 0);
  for (const std::string &push : value) {
    if (push == "|") continue;
    const std::vector<std::string> parts = absl::StrSplit(push, ':');
    if (std::stoull(parts[1]) != next[std::stoull(parts[0])]++) return wrong({"each once"});
  }
  for (size_t r = 0; r < next.size(); ++r)
    if (all ? next[r] != steps_[r] : int(r) == t && next[r] < version)
      return wrong({absl::StrCat("all of trainer ", r)});
}

}  // namespace commsched::runtime::core
