// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Apply.h"

#include "passes/schedule/Credits.h"
#include "passes/schedule/StepCosts.h"
#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Chains.h"
#include "passes/schedule/solver/Order.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <tuple>
#include <utility>

using namespace mlir;
using namespace commsched;
using schedule::Message;
using schedule::Piece;

/// The same bytes in the same order, in messages of at most `most` bytes where that is a
/// unit or more.
static void divide(const StepProblem &step, const std::vector<int64_t> &units,
                   Message message, int64_t most, std::vector<Message> &messages) {
  Message current{{}, message.priorities};
  int64_t filled = 0;
  auto flush = [&] {
    if (!current.pieces.empty())
      messages.push_back({std::exchange(current.pieces, {}), message.priorities});
    filled = 0;
  };
  for (Piece piece : message.pieces) {
    int64_t unit = units[piece.communication];
    bool divisible = step.problem.communications[piece.communication].divisible;
    if (most && filled + piece.end - piece.begin > most)
      flush();
    while (most >= unit && divisible && piece.end - piece.begin > most) {
      int64_t cut = (piece.begin + most) / unit * unit;
      messages.push_back({{{piece.communication, piece.begin, cut}}, message.priorities});
      piece.begin = cut;
    }
    current.pieces.push_back(piece);
    filled += piece.end - piece.begin;
  }
  flush();
}

/// In the order in which they are started, by which those of equal priority are served.
static void sortByStart(const StepProblem &step, const StepCommunications &communications,
                        std::vector<Message> &messages) {
  auto key = [&](const Message &message) {
    std::pair<unsigned, int64_t> last; // place, and where in the tensor
    for (const Piece &piece : message.pieces)
      last = std::max(last, std::pair(communications.placeOf(
                                          step.parts[piece.communication].op),
                                      piece.begin));
    return std::tuple(last.first, message.priorities.front(), last.second);
  };
  llvm::stable_sort(messages, [&](const Message &a, const Message &b) {
    return key(a) < key(b);
  });
}

/// Of blocks whose servers would have more parts than their programs may: cuts keep more
/// bytes together. False if there are none.
static bool coarsenUnits(const StepProblem &step, ArrayRef<Message> messages,
                         std::vector<int64_t> &units) {
  auto serverOf = [](const StepProblem::Part &part) {
    return cs::FragmentOp(part.block->update)->getParentOp();
  };
  llvm::DenseMap<Operation *, int64_t> parts; // by function
  for (const Message &message : messages) {
    const StepProblem::Part &part = step.partOf(message);
    if (part.block)
      ++parts[serverOf(part)];
  }
  bool any = false;
  for (auto [part, unit] : llvm::zip_equal(step.parts, units))
    if (part.block && part.block->divisible && parts.lookup(serverOf(part)) > ServerBlocks::kPartsOfServer) {
      unit = part.block->coarseUnit;
      any = true;
    }
  return any;
}

/// Those of the stages between nodes.
static llvm::ArrayRef<int64_t> prioritiesOf(const StepProblem &step, const Message &message) {
  const StepProblem::Part &part = step.partOf(message);
  return llvm::ArrayRef(message.priorities)
      .slice(part.firstStage, part.lastStage - part.firstStage + 1);
}

void commsched::makeApplicable(const StepProblem &step,
                               const StepCommunications &communications,
                               int64_t most, schedule::Schedule &schedule) {
  std::vector<int64_t> units;
  std::vector<unsigned> users; // by communication: place of the first
  for (const StepProblem::Part &part : step.parts) {
    units.push_back(part.unit);
    Operation *result = part.pull ? part.pull : part.op;
    users.push_back(communications.placeOf(communications.firstUserOf(result)));
  }
  std::vector<Message> chains =
      schedule::chainMessages(step.problem, schedule.messages, units);
  if (coarsenUnits(step, chains, units))
    chains = schedule::chainMessages(step.problem, schedule.messages, units);
  std::vector<Message> messages;
  for (Message &message : chains) {
    unsigned start = 0, used = UINT_MAX;
    for (const Piece &piece : message.pieces) {
      start = std::max(
          start, communications.placeOf(step.parts[piece.communication].op));
      used = std::min(used, users[piece.communication]);
    }
    if (start < used) {
      divide(step, units, std::move(message), most, messages);
      continue;
    }
    for (const Piece &piece : message.pieces)
      divide(step, units, {{piece}, message.priorities}, most, messages);
  }
  for (Message &message : messages) {
    // Policies that have a rule for the last stage do not know of copies behind it.
    message.priorities =
        prioritiesByStage(step.partOf(message), message.priorities.size(),
                          prioritiesOf(step, message).front(), message.priorities.back());
    int64_t bytes = 0;
    for (const Piece &piece : message.pieces)
      bytes += piece.end - piece.begin;
    if (step.hasOnePriority(step.partOf(message), bytes))
      message.priorities.assign(message.priorities.size(), message.priorities.front());
  }
  sortByStart(step, communications, messages);
  schedule.messages = std::move(messages);
  setCredit(step, creditOf(step, schedule), schedule);
  schedule::arrangePieces(step.problem, schedule);
}

std::vector<std::vector<int64_t>>
commsched::ranksOf(const StepProblem &step, const schedule::Schedule &schedule) {
  schedule::View view(step.problem, schedule.order);
  // Of equal priority a connection to a server sends blocks in their order, not as they come.
  bool firstCome = llvm::none_of(step.parts, [](const StepProblem::Part &part) { return part.pull; });
  std::vector<int64_t> values;
  for (const Message &message : schedule.messages) {
    Message released = message;
    schedule::prioritizeByRelease(view, released);
    llvm::ArrayRef<int64_t> own = prioritiesOf(step, message);
    firstCome &= prioritiesOf(step, released) == own;
    // Of what is released in one instant the runtime takes what was started first.
    firstCome &= values.empty() || values.back() <= own.front();
    values.insert(values.end(), own.begin(), own.end());
  }
  llvm::sort(values);
  values.erase(llvm::unique(values), values.end());
  std::vector<std::vector<int64_t>> ranks;
  for (const Message &message : schedule.messages) {
    std::vector<int64_t> &own = ranks.emplace_back();
    for (int64_t priority : prioritiesOf(step, message))
      own.push_back(firstCome ? 0 : llvm::lower_bound(values, priority) - values.begin());
  }
  return ranks;
}

std::vector<int64_t> commsched::prioritiesByStage(const StepProblem::Part &part,
                                                  size_t stages, int64_t first,
                                                  int64_t last) {
  std::vector<int64_t> priorities(stages, first);
  std::fill(priorities.begin() + part.lastStage, priorities.end(), last);
  return priorities;
}

schedule::Schedule commsched::asWritten(const StepProblem &step,
                                        schedule::Schedule schedule) {
  std::vector<std::vector<int64_t>> ranks = ranksOf(step, schedule);
  for (auto [message, own] : llvm::zip_equal(schedule.messages, ranks))
    message.priorities = prioritiesByStage(
        step.partOf(message), message.priorities.size(), own.front(), own.back());
  return schedule;
}

static bool isWhole(const StepProblem &step, const Piece &piece) {
  return piece.begin == 0 &&
         piece.end == step.problem.communications[piece.communication].bytes;
}

static bool isWhole(const StepProblem &step, const Message &message) {
  return message.pieces.size() == 1 && isWhole(step, message.pieces.front());
}

namespace {

/// Where the pieces of each communication begin.
class Begins {
public:
  Begins(const StepProblem &step, const schedule::Schedule &schedule)
      : step(step), begins(step.problem.communications.size()) {
    for (const Message &message : schedule.messages)
      for (const Piece &piece : message.pieces)
        begins[piece.communication].push_back(piece.begin);
    for (std::vector<int64_t> &own : begins)
      llvm::sort(own);
  }

  std::string keyOf(const Piece &piece) const {
    const std::vector<int64_t> &own = begins[piece.communication];
    std::string key = step.problem.communications[piece.communication].name;
    if (own.size() > 1)
      key += ".part" +
             std::to_string(llvm::lower_bound(own, piece.begin) - own.begin());
    return key;
  }

private:
  const StepProblem &step;
  std::vector<std::vector<int64_t>> begins;
};

/// Keys that are given to nothing else.
class FreeKeys {
public:
  explicit FreeKeys(const StepProblem &step) {
    for (const schedule::Communication &tensor : step.problem.communications)
      taken.insert(tensor.name);
    for (const StepProblem::Part &part : step.parts)
      if (part.pull)
        taken.insert(
            cast<cs::CommunicationOpInterface>(part.pull).getCommunicationKey());
  }

  void take(const std::string &key) {
    taken.insert(key);
    taken.insert(key + ".new");
  }
  /// `comesBack`: as "<key>.new" too.
  std::string next(std::string key, bool comesBack) {
    while (!taken.insert(key).second ||
           (comesBack && !taken.insert(key + ".new").second))
      key += "'"; // a tensor is called like this
    return key;
  }

private:
  llvm::StringSet<> taken;
};

} // namespace

std::vector<std::string> commsched::keysOf(const StepProblem &step,
                                           const schedule::Schedule &schedule) {
  Begins begins(step, schedule);
  FreeKeys free(step);
  std::vector<std::string> keys;
  for (const Message &message : schedule.messages) {
    const Piece &first = message.pieces.front();
    std::string key = begins.keyOf(first);
    if (!isWhole(step, message)) {
      if (message.pieces.size() > 1)
        key += "+" + std::to_string(message.pieces.size() - 1);
      key = free.next(key, step.parts[first.communication].block);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

BlockChanges commsched::changesOf(const StepProblem &step,
                                  const schedule::Schedule &schedule,
                                  const std::vector<std::string> &keys) {
  Begins begins(step, schedule);
  FreeKeys free(step);
  for (const std::string &key : keys)
    free.take(key);
  llvm::MapVector<const ServerBlock *, std::vector<BlockPart>> parts;
  BlockChanges changes;
  for (auto [message, key] : llvm::zip_equal(schedule.messages, keys)) {
    if (!step.partOf(message).block)
      continue;
    std::vector<std::string> pieces;
    for (const Piece &piece : message.pieces) {
      const ServerBlock *block = step.parts[piece.communication].block;
      std::string own = message.pieces.size() == 1 ? key : begins.keyOf(piece);
      if (!isWhole(step, piece)) {
        if (message.pieces.size() > 1)
          own = free.next(own, /*comesBack=*/true);
        parts[block].push_back(
            {own, piece.begin / block->rowBytes, piece.end / block->rowBytes});
      }
      pieces.push_back(std::move(own));
    }
    if (pieces.size() > 1)
      changes.together.push_back({key, std::move(pieces)});
  }
  for (auto &[block, own] : parts)
    changes.cuts.push_back({block, std::move(own)});
  return changes;
}

schedule::Schedule commsched::inParts(const StepProblem &step,
                                      schedule::Schedule schedule,
                                      const std::vector<std::string> &keys,
                                      StepProblem &parts) {
  llvm::StringMap<unsigned> numbers;
  for (auto [i, communication] : llvm::enumerate(parts.problem.communications))
    numbers[communication.name] = i;
  for (auto [message, key] : llvm::zip_equal(schedule.messages, keys)) {
    if (!step.partOf(message).block || isWhole(step, message)) {
      for (Piece &piece : message.pieces)
        piece.communication =
            numbers.lookup(step.problem.communications[piece.communication].name);
      continue;
    }
    unsigned number = numbers.lookup(key);
    schedule::Communication &own = parts.problem.communications[number];
    for (auto [i, stage] : llvm::enumerate(own.stages)) {
      stage.update = 0;
      for (const Piece &piece : message.pieces) {
        const schedule::Communication &block =
            step.problem.communications[piece.communication];
        stage.update += schedule::updateShare(block.stages[i].update,
                                              piece.end - piece.begin, block.bytes);
      }
    }
    message.pieces = {{number, 0, own.bytes}};
  }
  return schedule;
}

std::vector<StartRequest> commsched::requestsOf(const StepProblem &step,
                                                const schedule::Schedule &schedule,
                                                bool parts) {
  std::vector<std::vector<int64_t>> ranks = ranksOf(step, schedule);
  std::vector<std::string> keys = keysOf(step, schedule);
  std::vector<StartRequest> requests;
  for (auto [i, message] : llvm::enumerate(schedule.messages)) {
    StartRequest request;
    request.key = keys[i];
    request.whole = isWhole(step, message);
    request.priority = ranks[i].front();
    request.byPart = parts;
    request.exclusive = message.exclusive;
    for (const Piece &piece : message.pieces) {
      Operation *op = step.parts[piece.communication].op;
      int64_t width = 1;
      if (isa<cs::AllReduceOp>(op)) {
        width = StepCosts::widthOf(op->getOperand(0));
        if (ranks[i].back() != ranks[i].front())
          request.gatherPriority = ranks[i].back();
      }
      request.pieces.push_back({op, piece.begin / width, piece.end / width});
    }
    const StepProblem::Part &part = step.partOf(message);
    requests.push_back(std::move(request));
    if (!part.pull)
      continue;
    StartRequest pull;
    pull.pieces.push_back({part.pull, 0, 0});
    pull.priority = ranks[i].back();
    requests.push_back(std::move(pull));
  }
  return requests;
}
