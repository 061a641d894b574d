// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/passes/schedule/Exhaustive.h"

#include <functional>
#include <map>

namespace commsched::schedule {

namespace {

/// Steps are counted from the first one that is not complete: 0 and 1 can run.
struct State {
  struct Stream {
    int step = 0;
    unsigned done = 0; ///< ops of this step, as bits
    int op = -1;       ///< that runs
    int left = 0;      ///< its slots
    auto operator<=>(const Stream &) const = default;
  };
  /// Bytes of a tensor by where they are: by stage, how many can be sent, and how
  /// many arrive there in so many slots.
  struct Tensor {
    std::vector<int> waiting;
    std::vector<std::vector<int>> flying;
    int arrived = 0;
    auto operator<=>(const Tensor &) const = default;
  };
  std::vector<Stream> streams;
  std::vector<Tensor> tensors[2];
  auto operator<=>(const State &) const = default;
};

class Search {
public:
  Search(const Problem &problem, bool anyOrder)
      : problem(problem), anyOrder(anyOrder), opsOf(problem.streams) {
    for (unsigned i = 0; i < problem.ops.size(); ++i) {
      opsOf[problem.ops[i].stream] |= 1u << i;
      if (!problem.ops[i].deferred)
        inOrder |= 1u << i;
    }
    for (const Communication &communication : problem.communications) {
      State::Tensor tensor;
      tensor.waiting.resize(communication.stages.size());
      for (const Stage &stage : communication.stages)
        tensor.flying.emplace_back(stage.latency);
      none.push_back(tensor);
    }
  }

  ExhaustiveResult run(unsigned steps, size_t maxStates) {
    ExhaustiveResult result;
    State first;
    first.streams.resize(problem.streams);
    first.tensors[0] = first.tensors[1] = none;
    std::map<State, int> now{{first, 0}};
    for (Time slot = 0; result.starts.size() < steps; ++slot) {
      next.clear();
      for (const auto &[state, complete] : now) {
        if (next.size() > maxStates)
          break;
        base = complete;
        chooseOps(state, 0, [&](const State &chosen) {
          size_t started = base + startedSteps(chosen);
          if (result.starts.size() < started)
            result.starts.resize(started, slot);
          chooseBytes(chosen);
        });
      }
      now.swap(next);
      if (now.size() > maxStates) {
        result.finished = false;
        break;
      }
    }
    return result;
  }

private:
  bool isDone(const State &state, int step, unsigned op) const {
    const State::Stream &stream = state.streams[problem.ops[op].stream];
    return stream.step > step || (stream.step == step && stream.done >> op & 1);
  }
  bool hasArrived(const State &state, int step, unsigned communication) const {
    return step < 0 || state.tensors[step][communication].arrived ==
                           problem.communications[communication].bytes;
  }

  bool canStart(const State &state, unsigned op) const {
    const State::Stream &stream = state.streams[problem.ops[op].stream];
    if (stream.op >= 0 || stream.step > 1 || stream.done >> op & 1)
      return false;
    if (!anyOrder && !problem.ops[op].deferred &&
        (opsOf[problem.ops[op].stream] & inOrder & ~stream.done & ((1u << op) - 1)))
      return false; // one before it in the program is not done
    for (unsigned before : problem.ops[op].after)
      if (!isDone(state, stream.step, before))
        return false;
    for (unsigned i = 0; i < problem.communications.size(); ++i)
      for (const Consumer &consumer : problem.communications[i].consumers)
        if (consumer.op == op &&
            !hasArrived(state, stream.step - static_cast<int>(consumer.distance), i))
          return false;
    return true;
  }

  int startedSteps(const State &state) const {
    int started = 0;
    for (const State::Stream &stream : state.streams)
      started = std::max(started, stream.step + ((stream.done & inOrder) != 0 ||
                                                 (stream.op >= 0 && inOrder >> stream.op & 1)));
    return started;
  }

  void chooseOps(const State &state, unsigned stream,
                 const std::function<void(const State &)> &chosen) {
    if (stream == problem.streams) {
      chosen(state);
      return;
    }
    chooseOps(state, stream + 1, chosen);
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      if (problem.ops[op].stream == stream && canStart(state, op)) {
        State with = state;
        with.streams[stream].op = static_cast<int>(op);
        with.streams[stream].left = static_cast<int>(problem.ops[op].duration);
        chooseOps(with, stream + 1, chosen);
      }
  }

  struct Sent {
    int step;
    unsigned communication, stage;
  };

  void chooseBytes(const State &state, unsigned link = 0) {
    if (link == problem.links.size()) {
      advance(state);
      return;
    }
    chooseBytes(state, link + 1);
    for (int step = 0; step < 2; ++step)
      for (unsigned i = 0; i < problem.communications.size(); ++i)
        for (unsigned stage = 0; stage < none[i].waiting.size(); ++stage)
          if (problem.communications[i].stages[stage].link == link &&
              state.tensors[step][i].waiting[stage]) {
            sent.push_back({step, i, stage});
            State with = state;
            --with.tensors[step][i].waiting[stage];
            chooseBytes(with, link + 1);
            sent.pop_back();
          }
  }

  static void reach(State::Tensor &tensor, unsigned stage, int count) {
    if (stage + 1 < tensor.waiting.size())
      tensor.waiting[stage + 1] += count;
    else
      tensor.arrived += count;
  }

  /// To the end of the slot.
  void advance(State state) {
    for (std::vector<State::Tensor> &step : state.tensors)
      for (State::Tensor &tensor : step)
        for (unsigned stage = 0; stage < tensor.flying.size(); ++stage) {
          std::vector<int> &flying = tensor.flying[stage];
          if (flying.empty())
            continue;
          reach(tensor, stage, flying.front());
          flying.erase(flying.begin());
          flying.push_back(0);
        }
    for (const Sent &byte : sent) {
      State::Tensor &tensor = state.tensors[byte.step][byte.communication];
      if (tensor.flying[byte.stage].empty())
        reach(tensor, byte.stage, 1);
      else
        ++tensor.flying[byte.stage].back();
    }
    for (unsigned i = 0; i < state.streams.size(); ++i) {
      State::Stream &stream = state.streams[i];
      if (stream.op < 0 || --stream.left > 0)
        continue;
      int step = stream.step;
      unsigned op = static_cast<unsigned>(stream.op);
      stream.op = -1;
      stream.done |= 1u << op;
      if (stream.done == opsOf[i]) {
        stream.done = 0;
        ++stream.step;
      }
      for (unsigned j = 0; j < problem.communications.size(); ++j)
        release(state, step, j, op);
    }
    int complete = base;
    while (isComplete(state)) {
      ++complete;
      for (State::Stream &stream : state.streams)
        --stream.step;
      state.tensors[0] = state.tensors[1];
      state.tensors[1] = none;
    }
    auto [at, isNew] = next.emplace(std::move(state), complete);
    at->second = std::max(at->second, complete);
  }

  void release(State &state, int step, unsigned communication, unsigned op) const {
    bool produces = false;
    for (unsigned producer : problem.communications[communication].producers) {
      produces |= producer == op;
      if (!isDone(state, step, producer))
        return;
    }
    if (produces)
      state.tensors[step][communication].waiting[0] =
          static_cast<int>(problem.communications[communication].bytes);
  }

  bool isComplete(const State &state) const {
    for (unsigned i = 0; i < state.streams.size(); ++i)
      if (opsOf[i] && state.streams[i].step < 1)
        return false;
    for (unsigned i = 0; i < problem.communications.size(); ++i)
      if (!hasArrived(state, 0, i))
        return false;
    return true;
  }

  const Problem &problem;
  bool anyOrder;
  std::vector<unsigned> opsOf;
  unsigned inOrder = 0; ///< what is not deferred, as bits ///< by stream, as bits
  std::vector<State::Tensor> none;
  int base = 0; ///< complete steps
  std::vector<Sent> sent;
  std::map<State, int> next; ///< with as many complete steps as possible
};

} // namespace

ExhaustiveResult exhaustive(const Problem &problem, unsigned steps, bool anyOrder,
                            size_t maxStates) {
  return Search(problem, anyOrder).run(steps, maxStates);
}

} // namespace commsched::schedule
