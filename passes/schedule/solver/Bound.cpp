// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Deferred.h"
#include "passes/schedule/solver/MessageCosts.h"
#include "passes/schedule/solver/Relaxation.h"

#include <algorithm>
#include <map>

namespace commsched::schedule {

namespace {

void raise(Bound &bound, double period, std::string why) {
  if (bound.why.empty() || period > bound.period)
    bound = {period, std::move(why)};
}

std::string nameOf(const std::string &name, const char *what, size_t index) {
  return name.empty() ? std::string(what) + " " + std::to_string(index) : name;
}

/// What no schedule can do without: of messages what is not avoidable, of ops the least that they
/// take alone.
Problem least(Problem problem) {
  for (Op &op : problem.ops) {
    op.duration = std::max<Time>(0, op.duration - op.shared - op.avoidable);
    op.shared = op.avoidable = 0;
  }
  for (Communication &communication : problem.communications)
    for (Stage &stage : communication.stages) {
      stage.overhead -= stage.avoidableOverhead;
      stage.latency -= stage.avoidableLatency;
      stage.bytes -= stage.avoidableBytes;
      stage.avoidableOverhead = stage.avoidableLatency = stage.avoidableBytes = 0;
    }
  return problem;
}

/// What must be done in every step on a stream or link, whatever the order.
Bound boundOfTotals(const Problem &problem) {
  Bound bound;
  std::vector<Time> compute(problem.streams);
  for (const Op &op : problem.ops)
    compute[op.stream] += op.duration - op.avoidable;
  for (size_t i = 0; i < compute.size(); ++i)
    raise(bound, static_cast<double>(compute[i]),
          problem.streams == 1 ? "compute" : "compute of stream " + std::to_string(i));
  // Messages are of one kind and one step: each kind sends one at least.
  std::vector<__int128> bytes(problem.links.size());
  std::vector<Time> overhead(problem.links.size());
  std::map<unsigned, bool> kinds;
  for (const Communication &communication : problem.communications) {
    bool first = kinds.emplace(communication.kind, true).second;
    for (const Stage &stage : communication.stages) {
      bytes[stage.link] += stage.bytes - stage.avoidableBytes;
      if (first)
        overhead[stage.link] += stage.overhead - stage.avoidableOverhead;
    }
  }
  for (size_t i = 0; i < bytes.size(); ++i)
    raise(bound,
          static_cast<double>(bytes[i]) * 1e9 /
                  static_cast<double>(problem.links[i].bytesPerSecond) +
              static_cast<double>(overhead[i]),
          "link " + nameOf(problem.links[i].name, "", i));
  return bound;
}

/// Where nodes do not wait for each other, and send in one of `steps` steps.
Bound boundOfNodesApart(const Problem &given, int64_t steps) {
  Problem problem = least(given);
  for (Communication &communication : problem.communications)
    for (Stage &stage : communication.stages) {
      stage.bytes /= steps;
      stage.overhead /= steps;
    }
  return boundOfTotals(problem);
}

/// Longest chains of ops and communications through many steps, without any wait
/// for a stream or link. Wherever such a chain passes the same op twice, it has
/// found a cycle: the steps between take at least the time between.
class LongestChains {
public:
  explicit LongestChains(const Problem &problem) : problem(problem) {
    into.resize(problem.ops.size());
    for (unsigned i = 0; i < problem.communications.size(); ++i) {
      least.push_back(leastTime(problem, problem.communications[i]));
      for (const Consumer &consumer : problem.communications[i].consumers)
        into[consumer.op].push_back({i, consumer.distance});
    }
  }

  Bound bound() {
    constexpr unsigned kSteps = 12;
    for (unsigned step = 0; step < kSteps; ++step)
      run(step);
    Bound best;
    const std::vector<double> &last = ends.back();
    follow(kSteps - 1,
           static_cast<unsigned>(std::max_element(last.begin(), last.end()) - last.begin()),
           best);
    return best;
  }

private:
  struct Parent {
    unsigned step = ~0u, op = 0, communication = ~0u;
  };

  /// From the end of its producers until it has arrived, at least.
  static double leastTime(const Problem &problem, const Communication &communication) {
    const std::vector<Stage> &stages = communication.stages;
    double costs = 0, longest = 0, all = 0;
    auto transfer = [&](const Stage &stage) {
      return static_cast<double>(stage.bytes) * 1e9 /
             static_cast<double>(problem.links[stage.link].bytesPerSecond);
    };
    for (const Stage &stage : stages) {
      costs += static_cast<double>(stage.overhead) + static_cast<double>(stage.latency);
      longest = std::max(longest, transfer(stage));
      all += transfer(stage);
    }
    double least = costs + (communication.divisible ? longest : all);
    double before = 0;
    for (size_t i = 0; i < stages.size(); ++i) {
      // The link needs time for all of its stages, and what comes before the first
      // and after the last of them.
      double after = 0, work = 0;
      for (size_t j = i; j < stages.size(); ++j) {
        after += static_cast<double>(stages[j].overhead + stages[j].latency);
        if (stages[j].link == stages[i].link) {
          work += static_cast<double>(stages[j].overhead) + transfer(stages[j]);
          after = static_cast<double>(stages[j].latency);
        }
      }
      least = std::max(least, before + work + after);
      // Two links in turn.
      if (i + 1 < stages.size() && stages[i].link != stages[i + 1].link) {
        const Stage &a = stages[i], &b = stages[i + 1];
        auto shorter = static_cast<Time>(std::min(transfer(a), transfer(b)));
        Time end = leastEndOfTwo({{0, shorter, communication.divisible ? 0 : shorter}},
                                 std::min(a.overhead, b.overhead));
        least = std::max(least, static_cast<double>(end) + costs -
                                    static_cast<double>(a.overhead + b.overhead));
      }
      before += static_cast<double>(stages[i].overhead + stages[i].latency);
    }
    return least;
  }

  void run(unsigned step) {
    ends.emplace_back(problem.ops.size());
    parents.emplace_back(problem.ops.size());
    for (unsigned i = 0; i < problem.ops.size(); ++i) {
      double start = 0;
      Parent parent;
      auto wait = [&](double time, Parent from) {
        if (parent.step == ~0u || time > start) {
          start = time;
          parent = from;
        }
      };
      for (unsigned before : problem.ops[i].after)
        wait(ends[step][before], {step, before, ~0u});
      for (const Consumer &in : into[i]) { // .op is the communication here
        if (in.distance > step)
          continue;
        for (unsigned producer : problem.communications[in.op].producers)
          wait(ends[step - in.distance][producer] + least[in.op],
               {step - in.distance, producer, in.op});
      }
      ends[step][i] = std::max(start, 0.0) + static_cast<double>(problem.ops[i].duration);
      parents[step][i] = parent;
    }
  }

  void follow(unsigned step, unsigned op, Bound &best) {
    // By op: where the chain passed it last (in the latest step).
    std::map<unsigned, unsigned> passed;
    unsigned communication = ~0u;
    while (true) {
      auto [at, isNew] = passed.emplace(op, step);
      if (!isNew) {
        double period = (ends[at->second][op] - ends[step][op]) / (at->second - step);
        raise(best, period,
              "the chain through " +
                  (communication == ~0u
                       ? nameOf(problem.ops[op].name, "op", op)
                       : nameOf(problem.communications[communication].name,
                                "communication", communication)));
        at->second = step;
      }
      const Parent &parent = parents[step][op];
      if (parent.step == ~0u)
        return;
      if (parent.communication != ~0u)
        communication = parent.communication;
      step = parent.step;
      op = parent.op;
    }
  }

  const Problem &problem;
  std::vector<std::vector<Consumer>> into;
  std::vector<double> least;
  std::vector<std::vector<double>> ends;
  std::vector<std::vector<Parent>> parents;
};

} // namespace

Problem asGiven(Problem problem) {
  problem.stepsApart.reset();
  for (Op &op : problem.ops) {
    op.shared = op.avoidable = 0;
    op.deferred = false;
  }
  for (Communication &communication : problem.communications)
    for (Stage &stage : communication.stages)
      stage.avoidableOverhead = stage.avoidableLatency = stage.avoidableBytes = stage.avoidableUpdate = 0;
  return problem;
}

Bound boundOfOrder(const Problem &given,
                   const std::vector<std::vector<unsigned>> &order) {
  if (given.stepsApart)
    return boundOfAnyOrder(given);
  Problem problem = withLeastUpdates(given);
  Bound bound = boundOfAnyOrder(problem);
  const OrderedProblem fixed = withoutDeferred(least(problem), order);
  Relaxation relaxation = relax(fixed.problem, fixed.order, 256);
  std::string why = "order";
  if (relaxation.critical)
    why += ": waits for " +
           nameOf(problem.communications[*relaxation.critical].name,
                  "communication", *relaxation.critical);
  raise(bound, relaxation.period, why);
  return bound;
}

Bound boundOfAnyOrder(const Problem &given) {
  if (given.stepsApart)
    return boundOfNodesApart(given, *given.stepsApart);
  Problem problem = withLeastUpdates(given);
  Bound bound = boundOfTotals(problem);
  const Problem alone = least(problem);
  Bound chain = LongestChains(alone).bound();
  if (!chain.why.empty())
    raise(bound, chain.period, chain.why);
  return bound;
}

} // namespace commsched::schedule
