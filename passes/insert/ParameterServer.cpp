// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/ParameterServer.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include "passes/insert/Carrier.h"
#include "passes/insert/Outline.h"
#include "passes/insert/RowSparse.h"
#include "passes/insert/RowTables.h"
#include "passes/insert/ServerFunctions.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;
using cs::CsDialect;

namespace {

/// Splits and sends each gradient where it is made; receives and joins the new
/// values at the end. Metrics and state are sent where they are made and come
/// back as their means, or stay the trainer's own.
class ServerExchange : public GradientExchange {
public:
  ServerExchange(const UpdateAnalysis &analysis, const ServerPlan &plan) {
    const DependenceAnalysis &dependences = analysis.getDependences();
    for (const SharedMean &mean : plan.means)
      means.try_emplace(mean.key, mean);
    for (const ServedUnit &served : plan.units)
      for (const ParameterBlock &block : served.blocks) {
        auto gradient = cast<cs::GradientOp>(
            dependences.getGraph()[dependences.getGradients()[block.gradient]]);
        blocks[gradient.getParam()].push_back(block);
      }
  }

  Value begin(OpBuilder &builder, const PlannedCommunication &planned,
              Value value) override {
    if (planned.kind != PlannedCommunication::Gradient) {
      auto mean = means.find(planned.key);
      if (mean == means.end())
        return value;
      cs::SendOp::create(builder, planned.loc, mean->second.key, value,
                         serverRank(builder),
                         roleOf(builder, mean->second.server),
                         IntegerSetAttr());
      return nullptr;
    }
    ArrayRef<ParameterBlock> own = blocks.find(planned.key)->second;
    ValueRange parts = value;
    if (own.size() > 1) {
      SmallVector<Type> types;
      for (const ParameterBlock &block : own)
        types.push_back(typeOf(block, planned));
      parts = cs::SplitOp::create(builder, planned.loc, types, value)
                  .getBlocks();
    }
    for (auto [block, part] : llvm::zip(own, parts)) {
      auto send = cs::SendOp::create(builder, planned.loc, block.key, part,
                                     serverRank(builder), roleOf(builder, block.server),
                                     IntegerSetAttr());
      for (StringRef name : {cs::kDensityAttr, cs::kSparseMethodAttr})
        if (Attribute sparse = planned.gradient->getAttr(name))
          send->setAttr(name, sparse);
    }
    return nullptr;
  }

  void sendRows(OpBuilder &builder, const PlannedCommunication &planned,
                Value ids, Value values) override {
    auto [servers, offsets] = partsOf(builder, planned);
    cs::SendRowsOp::create(builder, planned.loc, planned.key, ids, values,
                           servers, offsets);
  }

  Value fetchRows(OpBuilder &builder, const PlannedCommunication &planned,
                  Value ids) override {
    auto [servers, offsets] = partsOf(builder, planned);
    auto type = cast<RankedTensorType>(planned.rows.getResult().getType());
    return cs::FetchRowsOp::create(builder, planned.loc, placeOnDevice(type),
                                   planned.key, ids, servers, offsets);
  }

  Value end(OpBuilder &builder, const PlannedCommunication &planned) override {
    if (planned.kind != PlannedCommunication::Gradient) {
      auto mean = means.find(planned.key);
      if (mean == means.end())
        return nullptr;
      return cs::RecvOp::create(builder, planned.loc,
                                placeOnDevice(mean->second.type),
                                mean->second.newKey(), serverRank(builder),
                                roleOf(builder, mean->second.server),
                                IntegerSetAttr());
    }
    ArrayRef<ParameterBlock> own = blocks.find(planned.key)->second;
    SmallVector<Value> parts;
    for (const ParameterBlock &block : own)
      parts.push_back(cs::RecvOp::create(
          builder, planned.loc, typeOf(block, planned), block.newKey(),
          serverRank(builder), roleOf(builder, block.server),
          IntegerSetAttr()));
    if (parts.size() == 1)
      return parts[0];
    return cs::ConcatOp::create(builder, planned.loc, parts);
  }

  void describe(raw_ostream &os, const PlannedCommunication &planned) override {
    if (planned.kind != PlannedCommunication::Gradient) {
      auto mean = means.find(planned.key);
      if (mean == means.end())
        os << "stays the trainer's own";
      else
        os << "averaged over the trainers on server " << mean->second.server;
      return;
    }
    ArrayRef<ParameterBlock> own = blocks.find(planned.key)->second;
    os << "sent to ";
    llvm::interleaveComma(own, os, [&](const ParameterBlock &block) {
      os << "server " << block.server;
    });
  }

private:
  // A server is a role of one process.
  static AffineMap serverRank(Builder &builder) {
    return AffineMap::get(/*dimCount=*/1, /*symbolCount=*/0,
                          builder.getAffineConstantExpr(0));
  }
  static FlatSymbolRefAttr roleOf(Builder &builder, int64_t server) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  "server." + std::to_string(server));
  }
  /// Where the rows of a table are.
  std::pair<ArrayAttr, DenseI64ArrayAttr>
  partsOf(Builder &builder, const PlannedCommunication &planned) const {
    SmallVector<Attribute> servers;
    SmallVector<int64_t> offsets = {0};
    for (const ParameterBlock &block : blocks.find(planned.key)->second) {
      servers.push_back(roleOf(builder, block.server));
      offsets.push_back(block.end);
    }
    return {builder.getArrayAttr(servers),
            builder.getDenseI64ArrayAttr(offsets)};
  }
  Type typeOf(const ParameterBlock &block,
              const PlannedCommunication &planned) const {
    auto type = cast<RankedTensorType>(planned.operand.getType());
    if (type.getRank() > 0)
      type = withRows(type, block.end - block.begin);
    return placeOnDevice(type);
  }

  llvm::StringMap<std::vector<ParameterBlock>> blocks; // by parameter
  llvm::StringMap<SharedMean> means;                   // by key
};

/// Functions that trainers run besides the step get what trainers have. One
/// that only makes values (@init) is for all.
LogicalResult checkOthers(const Program &program,
                          const UpdateAnalysis &analysis,
                          const ProgramFunction &step) {
  llvm::StringSet<> onServers;
  for (auto [i, role] : llvm::enumerate(step.arguments))
    if (analysis.isOnServersOnly(i))
      onServers.insert(role.name.getValue());
  for (const ProgramFunction &function : program.functions) {
    if (function.isStep)
      continue;
    for (const ArgumentRole &role : function.arguments)
      if (role.isCarried() && onServers.contains(role.name.getValue()))
        return function.func.emitOpError()
               << "reads state " << role.name
               << ", which with mode=parameter-server only servers have";
  }
  return success();
}

/// Of a table only the rows are sent.
bool isTablesGradient(const ProgramFunction &step, Operation *op) {
  auto gradient = dyn_cast<cs::GradientOp>(op);
  if (!gradient)
    return false;
  for (auto [i, role] : llvm::enumerate(step.arguments))
    if (role.kind == ArgumentRole::Param && role.name == gradient.getParam())
      return isTable(step, i);
  return false;
}

/// Takes out of the step what servers do.
void reduceToTrainer(ProgramFunction &step, const UpdateAnalysis &analysis) {
  const DependenceAnalysis &dependences = analysis.getDependences();
  const DataFlowGraph &graph = dependences.getGraph();
  func::FuncOp func = step.func;
  Operation *ret = func.front().getTerminator();
  for (const UpdateUnit &unit : analysis.getUnits())
    for (auto [gradient, parameter] :
         llvm::zip(unit.gradients, unit.parameters)) {
      Value given = graph[dependences.getGradients()[gradient]]->getResult(0);
      if (isTable(step, parameter))
        given = func.getArgument(parameter); // until it is dropped
      ret->setOperand(analysis.resultOf(parameter), given);
    }
  llvm::BitVector lostArguments(step.arguments.size()),
      lostResults(step.results.size());
  for (unsigned i = 0; i < step.arguments.size(); ++i)
    if (analysis.isOnServersOnly(i)) {
      lostArguments.set(i);
      if (analysis.resultOf(i) != UpdateAnalysis::kNone)
        lostResults.set(analysis.resultOf(i));
    }
  ret->eraseOperands(lostResults);
  std::vector<Operation *> ops;
  for (Operation &op : func.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && !isTablesGradient(step, op))
      op->erase();
  auto function = cast<FunctionOpInterface>(func.getOperation());
  (void)function.eraseResults(lostResults);
  (void)function.eraseArguments(lostArguments);
  auto keep = [](auto &roles, const llvm::BitVector &lost) {
    unsigned kept = 0;
    for (unsigned i = 0, e = roles.size(); i < e; ++i)
      if (!lost.test(i))
        roles[kept++] = roles[i];
    roles.truncate(kept);
  };
  keep(step.arguments, lostArguments);
  keep(step.results, lostResults);
}

} // namespace

FailureOr<std::unique_ptr<GradientExchange>>
commsched::splitStep(Program &program, const ServerOptions &options) {
  auto step = llvm::find_if(program.functions,
                            [](const ProgramFunction &f) { return f.isStep; });
  if (step == program.functions.end())
    return std::unique_ptr<GradientExchange>();
  FailureOr<DependenceAnalysis> dependences = DependenceAnalysis::run(*step);
  if (failed(dependences))
    return failure();
  FailureOr<std::vector<PlannedCommunication>> communications =
      planCommunications(*dependences);
  if (failed(communications))
    return failure();
  FailureOr<UpdateAnalysis> analysis = UpdateAnalysis::run(*dependences);
  if (failed(analysis) || failed(checkOthers(program, *analysis, *step)) ||
      failed(checkTables(*analysis)))
    return failure();
  FailureOr<ServerPlan> plan =
      planServers(*analysis, options, *communications);
  if (failed(plan) || failed(addServerFunctions(*analysis, *plan, options)))
    return failure();
  auto exchange = std::make_unique<ServerExchange>(*analysis, *plan);
  reduceToTrainer(*step, *analysis);
  if (failed(checkTrainersTables(*step)))
    return failure();
  step->func->setAttr(CsDialect::kServersAttr,
                      cs::ServersAttr::get(step->func.getContext(),
                                           options.servers, options.syncMode,
                                           options.merge));
  return std::unique_ptr<GradientExchange>(std::move(exchange));
}
