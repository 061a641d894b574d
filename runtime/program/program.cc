// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/plan_order.h"

namespace commsched::runtime {

bool operator==(const TensorInfo &a, const TensorInfo &b) {
  return a.element == b.element && a.shape == b.shape;
}

std::string ToString(const TensorInfo &type) {
  return absl::StrCat(ops::ElementName(type.element), "[",
                      absl::StrJoin(type.shape, ","), "]");
}

int64_t PartBegin(int64_t n, int64_t chunks, int64_t c) {
  return int64_t(static_cast<__int128>(c) * n / chunks);
}

int64_t ChunkBegin(absl::Span<const int64_t> parts, int64_t chunks, int64_t c) {
  int64_t sum = 0;
  for (int64_t n : parts) sum += PartBegin(n, chunks, c);
  return sum;
}

std::vector<Segment> SegmentsOf(const CommunicateProgram &c, uint32_t chunks, uint32_t chunk,
                                uint32_t count, uint32_t slice) {
  const size_t unit = ops::ElementBytes(c.element);
  std::vector<Segment> segments;
  size_t begin = 0, bytes = 0;
  for (uint32_t part = 0; part < c.parts.size(); ++part) {
    const auto elements = int64_t(c.parts[part].bytes / unit);
    const size_t first = size_t(PartBegin(elements, chunks, chunk)) * unit;
    const size_t last = size_t(PartBegin(elements, chunks, chunk + count)) * unit;
    if (first < last) segments.push_back({part, begin + first, last - first});
    begin += c.parts[part].bytes;
    bytes += last - first;
  }
  if (c.slices == 1) return segments;
  const auto elements = int64_t(bytes / unit);
  const size_t from = size_t(PartBegin(elements, c.slices, slice)) * unit;
  const size_t to = size_t(PartBegin(elements, c.slices, slice + 1)) * unit;
  std::vector<Segment> own;
  size_t at = 0;
  for (const Segment &segment : segments) {
    const size_t first = std::max(from, at), last = std::min(to, at + segment.bytes);
    if (first < last)
      own.push_back({segment.part, segment.begin + first - at, last - first});
    at += segment.bytes;
  }
  return own;
}

std::vector<PartEnd<size_t>> PartEndsOf(const CommunicateProgram &c, uint32_t slice) {
  std::vector<Landing<size_t>> landings;
  for (const PhaseProgram &phase : c.phases) {
    const bool scaled = phase.combine == ops::Combine::kReplace && phase.scale != 0;
    for (const Round &round : phase.rounds) {
      Landing<size_t> &landing = landings.emplace_back();
      landing.at_end = scaled && &round == &phase.rounds.back();
      if (round.recv_peer < 0) continue;
      size_t at = 0;
      for (const Segment &segment :
           SegmentsOf(c, phase.chunks, round.recv_chunk, round.recv_chunks, slice))
        landing.ends.emplace_back(segment.part, at += segment.bytes);
    }
  }
  return PartEnds(c.parts.size(), landings);
}

Round SliceOf(const Round &round, size_t unit, uint32_t slice, uint32_t slices) {
  if (slices == 1) return round;
  Round part = round;
  auto cut = [&](size_t *begin, size_t *bytes) {
    const int64_t elements = int64_t(*bytes / unit);
    const size_t first = size_t(PartBegin(elements, slices, slice)) * unit;
    const size_t last = size_t(PartBegin(elements, slices, slice + 1)) * unit;
    *begin += first;
    *bytes = last - first;
  };
  cut(&part.send_begin, &part.send_bytes);
  cut(&part.recv_begin, &part.recv_bytes);
  return part;
}

PhaseProgram MeetingOf(int rank, int ranks) {
  PhaseProgram meeting;
  for (int64_t distance = 1; distance < ranks; distance *= 2) {
    Round &round = meeting.rounds.emplace_back();
    round.send_peer = int((rank + distance) % ranks);
    round.recv_peer = int((rank + ranks - distance) % ranks);
    round.send_begin = 0;
    round.recv_begin = round.send_bytes = round.recv_bytes = 1;
  }
  return meeting;
}

std::set<int> PartnersOf(const FunctionProgram &function) {
  std::set<int> partners;
  const auto add = [&](const PhaseProgram &phase) {
    for (const Round &round : phase.rounds) {
      partners.insert(round.send_peer);
      partners.insert(round.recv_peer);
    }
  };
  for (const InstructionProgram &instruction : function.instructions) {
    const CommunicateProgram &c = instruction.communicate;
    std::for_each(c.phases.begin(), c.phases.end(), add);
    if (c.nccl.has_value()) add(c.nccl->meeting);
  }
  partners.erase(-1);
  return partners;
}

std::set<int> PartnersOf(const Program &program) {
  std::set<int> partners;
  for (const FunctionProgram &function : program.functions)
    partners.merge(PartnersOf(function));
  return partners;
}

namespace {

// As runtime/cuda enqueues them. Nothing if it does not: of what it refuses, no order is known.
void AssignLanes(FunctionProgram *f) {
  absl::StatusOr<PlanOrder> order = OrderInstructions(*f);
  if (!order.ok()) return;
  f->turns.resize(f->instructions.size());
  std::map<PlanLane, DeviceLane> lanes;
  for (uint32_t turn = 0; turn < order->order.size(); ++turn) {
    const uint32_t i = order->order[turn];
    f->turns[i] = turn;
    const PlanLane lane = order->lanes[i];
    if (lane == PlanLane::kCompute || lane == PlanLane::kNccl || lane == PlanLane::kHost) continue;
    lanes[lane].stream = f->instructions[i].stream;
    lanes[lane].instructions.push_back(i);
  }
  for (auto &[kind, lane] : lanes) f->lanes.push_back(std::move(lane));
}

}  // namespace

void AssignStreams(Program *program) {
  std::map<std::pair<StreamInfo::Kind, uint32_t>, uint32_t> streams;
  streams[{StreamInfo::kCompute, 0}] = 0;
  for (const FunctionProgram &f : program->functions)
    for (const InstructionProgram &i : f.instructions)
      if (i.on_stream()) streams[{i.runs_on.kind, i.runs_on.device}] = 0;
  const bool one_device =
      std::all_of(streams.begin(), streams.end(), [](const auto &stream) { return stream.first.second == 0; });
  program->streams.clear();
  for (auto &[key, index] : streams) {
    index = uint32_t(program->streams.size());
    program->streams.push_back({key.first, key.second});
  }
  for (FunctionProgram &f : program->functions) {
    f.in_order.assign(streams.size(), {});
    for (size_t i = 0; i < f.instructions.size(); ++i) {
      InstructionProgram &instruction = f.instructions[i];
      if (!instruction.on_stream()) continue;
      instruction.stream =
          streams[{instruction.runs_on.kind, instruction.runs_on.device}];
      if (!instruction.deferred &&
          instruction.runs_on.kind == StreamInfo::kCompute)
        f.in_order[instruction.stream].push_back(uint32_t(i));
    }
    f.lanes.clear();
    f.turns.clear();
    if (program->cuda != nullptr && program->server < 0 && one_device) AssignLanes(&f);
  }
}

}  // namespace commsched::runtime
