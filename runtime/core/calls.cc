// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {

Calls::Calls(const std::vector<StreamInfo> &streams, bool keep_times)
    : streams_(streams.size()), keep_times_(keep_times) {
  for (size_t s = 0; s < streams.size(); ++s)
    streams_[s].compute = streams[s].kind == StreamInfo::kCompute;
}

bool Calls::MayBegin(const FunctionProgram &program) const {
  if (count_ == 0) return true;
  return count_ < kMost && program.is_step && in_flight_[count_ - 1]->program == &program;
}

void Calls::Begin(Call *call, Time now, Actions *actions) {
  const FunctionProgram &f = *call->program;
  const size_t n = f.instructions.size();
  call->done.assign(n, 0);
  call->released.assign(f.parts, 0);
  call->waiting.resize(n);
  if (keep_times_) call->met.assign(n, now);
  call->position.assign(streams_.size(), 0);
  call->lane_position.assign(f.lanes.size(), 0);
  call->remaining = uint32_t(n);
  const Call *previous = count_ == 0 ? nullptr : in_flight_[count_ - 1];
  for (size_t i = 0; i < n; ++i) {
    const InstructionProgram &instruction = f.instructions[i];
    uint32_t waiting =
        uint32_t(instruction.waits_same.size() + instruction.part_waits_same.size());
    if (previous != nullptr) {
      for (uint32_t d : instruction.waits_last)
        if (!previous->done[d]) ++waiting;
      for (const PartWait &d : instruction.part_waits_last)
        if (!previous->released[f.instructions[d.instruction].communicate.first_part + d.part])
          ++waiting;
    }
    call->waiting[i] = waiting;
  }
  in_flight_[count_++] = call;
  for (uint32_t i = 0; i < n; ++i)
    if (call->waiting[i] == 0) Ready(call, i, actions);
}

void Calls::Ready(Call *call, uint32_t index, Actions *actions) {
  const InstructionProgram &instruction = call->program->instructions[index];
  if (!instruction.on_stream()) {
    actions->begin.emplace_back(call, index);
    return;
  }
  Stream &stream = streams_[instruction.stream];
  if (call->program->lanes.empty() && (!stream.compute || instruction.deferred))
    stream.ready.insert(PlaceOf(*call, index));
  actions->wake.push_back(instruction.stream);
}

Calls::Place Calls::PlaceOf(const Call &call, uint32_t index) const {
  const FunctionProgram &f = *call.program;
  const InstructionProgram &instruction = f.instructions[index];
  const bool on_lane = !f.lanes.empty();
  const uint32_t last = on_lane ? f.turns[index] : index;
  if (streams_[instruction.stream].compute) return {0, std::min(0, instruction.priority), call.number, last};
  return {call.number, on_lane ? 0 : instruction.priority, call.number, last};
}

std::optional<Calls::Head> Calls::NextOfLanes(uint32_t stream) const {
  std::optional<Head> next;
  // Calls in flight are of one function.
  const size_t lanes = count_ == 0 ? 0 : in_flight_[0]->program->lanes.size();
  for (uint32_t l = 0; l < lanes; ++l) {
    const DeviceLane &lane = in_flight_[0]->program->lanes[l];
    if (lane.stream != stream) continue;
    for (size_t c = 0; c < count_; ++c) {
      const uint32_t position = in_flight_[c]->lane_position[l];
      if (position == lane.instructions.size()) continue;
      const uint32_t head = lane.instructions[position];
      if (in_flight_[c]->waiting[head] == 0) {
        const Place place = PlaceOf(*in_flight_[c], head);
        if (!next || place < next->place) next = Head{place, in_flight_[c], l};
      }
      break;  // what is behind the head waits with it
    }
  }
  return next;
}

void Calls::Met(Call *call, uint32_t index, Time now, Actions *actions) {
  if (keep_times_) call->met[index] = std::max(call->met[index], now);
  if (--call->waiting[index] == 0) Ready(call, index, actions);
}

void Calls::Wake(Call *call, const std::vector<uint32_t> &same,
                 const std::vector<uint32_t> &next, Time now, Actions *actions) {
  for (uint32_t i : same) Met(call, i, now, actions);
  // The call after this one, if it has begun, counts on this instruction.
  for (size_t c = 0; c + 1 < count_; ++c)
    if (in_flight_[c] == call)
      for (uint32_t i : next) Met(in_flight_[c + 1], i, now, actions);
}

void Calls::Release(Call *call, uint32_t index, uint32_t number, Time now, Actions *actions) {
  const CommunicateProgram &c = call->program->instructions[index].communicate;
  uint8_t &released = call->released[c.first_part + number];
  if (released) return;
  released = 1;
  Wake(call, c.parts[number].wakes_same, c.parts[number].wakes_next, now, actions);
}

bool Calls::Complete(Call *call, uint32_t index, Time now, Actions *actions) {
  const InstructionProgram &instruction = call->program->instructions[index];
  for (uint32_t part = 0; part < instruction.communicate.parts.size(); ++part)
    Release(call, index, part, now, actions);
  call->done[index] = 1;
  Wake(call, instruction.wakes_same, instruction.wakes_next, now, actions);
  --call->remaining;
  return in_flight_[0]->remaining == 0;
}

Call *Calls::Retire() {
  if (count_ == 0 || in_flight_[0]->remaining != 0) return nullptr;
  Call *call = in_flight_[0];
  std::move(in_flight_.begin() + 1, in_flight_.begin() + long(count_), in_flight_.begin());
  in_flight_[--count_] = nullptr;
  return call;
}

bool Calls::Next(uint32_t index, Call **call, uint32_t *instruction) {
  Stream &stream = streams_[index];
  const std::optional<Head> of_lanes = NextOfLanes(index);
  const bool urgent =
      stream.compute && ((!stream.ready.empty() && std::get<1>(*stream.ready.begin()) < 0) ||
                         (of_lanes && std::get<1>(of_lanes->place) < 0));
  for (size_t c = 0; c < count_ && !urgent; ++c) {
    Call *candidate = in_flight_[c];
    const std::vector<uint32_t> &list = candidate->program->in_order[index];
    uint32_t &position = candidate->position[index];
    if (position == list.size()) continue;
    const uint32_t head = list[position];
    if (candidate->waiting[head] != 0) break;  // what is behind the head waits with it
    ++position;
    *call = candidate;
    *instruction = head;
    return true;
  }
  if (of_lanes) {
    uint32_t &position = of_lanes->call->lane_position[of_lanes->lane];
    *call = of_lanes->call;
    *instruction = (*call)->program->lanes[of_lanes->lane].instructions[position++];
    return true;
  }
  if (stream.ready.empty()) return false;
  const auto [first, priority, number, ready] = *stream.ready.begin();
  stream.ready.erase(stream.ready.begin());
  for (size_t c = 0; c < count_; ++c)
    if (in_flight_[c]->number == number) *call = in_flight_[c];
  *instruction = ready;
  return true;
}

std::string Calls::WaitName(uint32_t stream) const {
  for (size_t c = 0; c < count_; ++c) {
    const Call &call = *in_flight_[c];
    const FunctionProgram &f = *call.program;
    const std::vector<uint32_t> &list = f.in_order[stream];
    const uint32_t position = call.position[stream];
    if (position == list.size()) continue;
    std::string name;
    const auto add = [&](const Call &of, const std::vector<uint32_t> &dependences,
                         const std::vector<PartWait> &parts) {
      const auto append = [&](uint32_t d) {
        absl::StrAppend(&name, name.empty() ? "wait for " : ", ", f.instructions[d].name);
      };
      for (uint32_t d : dependences)
        if (!of.done[d]) append(d);
      for (const PartWait &d : parts)
        if (!of.released[f.instructions[d.instruction].communicate.first_part + d.part])
          append(d.instruction);
    };
    const InstructionProgram &head = f.instructions[list[position]];
    add(call, head.waits_same, head.part_waits_same);
    if (c > 0) add(*in_flight_[c - 1], head.waits_last, head.part_waits_last);
    return name.empty() ? "wait" : name;
  }
  return "wait";
}

}  // namespace commsched::runtime::core
