// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/ScheduleRemarks.h"

#include "passes/schedule/Apply.h"
#include "passes/schedule/solver/Order.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace commsched;
using schedule::Message;
using schedule::Piece;

static void emit(Location loc, func::FuncOp func, StringRef name, StringRef text) {
  remark::passed(loc, remark::RemarkOpts::name(name)
                          .category("schedule-comm")
                          .function(func.getName()))
      << remark::detail::Remark::Arg("Remark", text);
}

static void print(raw_ostream &os, const Need &need) {
  if (need.when == Need::Report)
    os << "no compute waits for it";
  else
    os << "first needed by \"" << cs::FragmentOp(need.fragment).getLabel() << "\" of "
       << (need.when == Need::ThisStep ? "this step" : "the next step");
  if (!need.carried.empty())
    os << ", through \"" << need.carried << "\"";
}

void commsched::remarkPriority(Operation *communication, func::FuncOp func,
                               const Need &need, int64_t priority) {
  if (!func.getContext()->getRemarkEngine())
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "\""
     << cast<cs::CommunicationOpInterface>(communication).getCommunicationKey()
     << "\": priority " << priority << ": ";
  print(os, need);
  emit(communication->getLoc(), func, "priority", text);
}

void commsched::remarkFallback(func::FuncOp func, StringRef why) {
  if (func.getContext()->getRemarkEngine())
    emit(func.getLoc(), func, "schedule",
         ("\"" + func.getName() + "\": priorities only: " + why).str());
}

namespace {

class Remarks {
public:
  Remarks(const StepProblem &step, const StepCommunications &communications,
          const schedule::Solution &solution)
      : step(step), communications(communications), solution(solution),
        ranks(ranksOf(step, solution.schedule)),
        keys(keysOf(step, solution.schedule)),
        piecesOf(step.problem.communications.size()) {
    for (auto [i, message] : llvm::enumerate(solution.schedule.messages))
      for (const Piece &piece : message.pieces)
        piecesOf[piece.communication].emplace_back(piece.begin, i);
    for (auto &pieces : piecesOf)
      llvm::sort(pieces);
  }

  void ofStep(StringRef policy, StringRef boundAssumes);
  void ofTensor(unsigned index);

private:
  const schedule::Communication &tensor(unsigned index) const {
    return step.problem.communications[index];
  }
  const schedule::Link &slowestLink(unsigned index) const;
  void shape(raw_ostream &os, unsigned index);
  void priority(raw_ostream &os, unsigned index);

  const StepProblem &step;
  const StepCommunications &communications;
  const schedule::Solution &solution;
  std::vector<std::vector<int64_t>> ranks;
  std::vector<std::string> keys;
  std::vector<std::vector<std::pair<int64_t, unsigned>>> piecesOf; // begin, message
};

void Remarks::ofStep(StringRef policy, StringRef boundAssumes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double period = solution.evaluation.period;
  os << "\"" << step.problem.name << "\": " << policy;
  if (solution.schedule.name != policy)
    os << " (" << solution.schedule.name << ")";
  os << llvm::format(": %.0f ns per step, %.4f of the bound of %.0f ns", period,
                     period / std::max(solution.bound.period, 1.0),
                     solution.bound.period);
  if (!solution.bound.why.empty())
    os << " (" << solution.bound.why << ")";
  os << llvm::format("; in any order of compute at least %.0f ns",
                     solution.anyOrderBound.period);
  os << "; " << solution.schedule.messages.size() << " messages for "
     << step.problem.communications.size() << " tensors";
  if (const auto alone = llvm::count_if(solution.schedule.messages, [](const Message &message) { return message.exclusive > 0; }))
    os << ", " << alone << " of them exclusive";
  if (solution.baselines.size() > 1) {
    os << "; others:";
    for (const auto &[name, period] : solution.baselines)
      os << " " << name << " " << llvm::format("%.0f", period);
  }
  func::FuncOp func = communications.function();
  emit(func.getLoc(), func, "schedule", text);
  emit(func.getLoc(), func, "bound",
       ("\"" + step.problem.name + "\": the bound assumes " + boundAssumes).str());
}

const schedule::Link &Remarks::slowestLink(unsigned index) const {
  llvm::SmallVector<double> busy(step.problem.links.size());
  unsigned slowest = tensor(index).stages.front().link;
  for (const schedule::Stage &stage : tensor(index).stages) {
    const schedule::Link &link = step.problem.links[stage.link];
    busy[stage.link] += static_cast<double>(
        schedule::transferTime(link, stage.bytes) + stage.overhead);
    if (busy[stage.link] > busy[slowest])
      slowest = stage.link;
  }
  return step.problem.links[slowest];
}

/// Blocks of a server that the message is made of; 0: it is a tensor.
static size_t blocksIn(const StepProblem::Part &part) {
  auto send = dyn_cast<cs::SendOp>(part.op);
  auto pack = send ? send.getValue().getDefiningOp<cs::PackOp>() : cs::PackOp();
  return pack ? pack.getPieces().size() : 0;
}

/// In which messages, and what speaks for that.
void Remarks::shape(raw_ostream &os, unsigned index) {
  const auto &pieces = piecesOf[index];
  llvm::SmallVector<unsigned> shared;
  int64_t most = 0;
  for (auto [begin, message] : pieces) {
    const Message &own = solution.schedule.messages[message];
    if (own.pieces.size() > 1)
      shared.push_back(message);
    for (const Piece &piece : own.pieces)
      if (piece.communication == index)
        most = std::max(most, piece.end - piece.begin);
  }
  schedule::LinkCost cost = schedule::linkCost(step.problem, tensor(index));
  double perByte = cost.transfer / static_cast<double>(tensor(index).bytes);
  if (pieces.size() > 1)
    os << pieces.size() << " pieces";
  else if (size_t blocks = blocksIn(step.parts[index]))
    os << blocks << " blocks in one message";
  else if (shared.empty())
    os << "alone";
  else
    os << "whole";
  if (!shared.empty()) {
    os << (pieces.size() > 1 ? ", of which in" : " in");
    for (auto [i, message] : llvm::enumerate(shared))
      os << (i ? ", \"" : " \"") << keys[message] << "\"";
  }
  // The link that it takes longest on, as linkCost() has it.
  const schedule::Link &link = slowestLink(index);
  os << llvm::format(" (%lld bytes take %.0f ns, and a message %.0f ns more, on \"",
                     static_cast<long long>(tensor(index).bytes), cost.transfer,
                     cost.overhead)
     << link.name << "\" of " << link.bytesPerSecond / 125'000 << " Mbit/s";
  if (pieces.size() > 1)
    os << llvm::format("; what is more urgent waits for %.0f ns at most",
                       cost.overhead + perByte * static_cast<double>(most));
  os << ")";
}

void Remarks::priority(raw_ostream &os, unsigned index) {
  int64_t first = INT64_MAX, last = INT64_MAX;
  for (auto [begin, message] : piecesOf[index]) {
    first = std::min(first, ranks[message].front());
    last = std::min(last, ranks[message].back());
  }
  os << "priority " << first;
  if (last != first)
    os << (step.parts[index].pull ? ", back " : ", gather ") << last;
}

void Remarks::ofTensor(unsigned index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Operation *op = step.parts[index].op;
  os << "\"" << tensor(index).name << "\": ";
  shape(os, index);
  os << ": ";
  priority(os, index);
  os << ": ";
  print(os, communications.needOf(op));
  os << llvm::format("; compute waits %.0f ns per step for it",
                     solution.evaluation.exposed[index]);
  emit(op->getLoc(), communications.function(), "tensor", text);
}

} // namespace

void commsched::remarkSchedule(const StepProblem &step,
                               const StepCommunications &communications,
                               const schedule::Solution &solution,
                               StringRef policy, StringRef boundAssumes) {
  if (!communications.function().getContext()->getRemarkEngine())
    return;
  Remarks remarks(step, communications, solution);
  remarks.ofStep(policy, boundAssumes);
  for (unsigned i = 0; i < step.problem.communications.size(); ++i)
    remarks.ofTensor(i);
}
