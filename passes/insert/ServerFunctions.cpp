// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/ServerFunctions.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

#include "passes/insert/Carrier.h"
#include "passes/insert/Program.h"
#include "passes/insert/RowSparse.h"
#include "passes/insert/RowTables.h"
#include "passes/insert/UpdateFragment.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;
using cs::CsDialect;

namespace {

/// What a server runs together: one block, or a unit of whole parameters.
struct Piece {
  const ServedUnit *served;
  llvm::SmallVector<const ParameterBlock *> blocks;
  Rows rows;
  int64_t chunk = 0;                        // of a table: rows of `fragment`, whichever they are
  std::unique_ptr<UpdateFragment> fragment; // null if nothing is computed
  llvm::SetVector<Value> made;              // its results
};

/// An argument or result of the function.
struct Carried {
  unsigned argument; // of the step
  Rows rows;
  auto operator<=>(const Carried &) const = default;
};

class ServerBuilder {
public:
  ServerBuilder(const UpdateAnalysis &analysis, const ServerPlan &plan,
                const ServerOptions &options, int64_t server)
      : analysis(analysis), graph(analysis.getDependences().getGraph()),
        step(analysis.getDependences().getFunction()), plan(plan),
        options(options), server(server) {
    for (const ServedUnit &served : plan.units)
      addPieces(served);
  }

  /// Reads the step only.
  LogicalResult prepare() {
    for (Piece &piece : pieces)
      if (failed(preparePiece(piece)))
        return failure();
    return prepareSchedule();
  }
  func::FuncOp build(OpBuilder &builder);

private:
  void addPieces(const ServedUnit &served);
  LogicalResult preparePiece(Piece &piece);
  LogicalResult prepareSchedule();
  void addArgument(Carried carried) {
    if (numbers.try_emplace(carried, arguments.size()).second)
      arguments.push_back(carried);
  }
  Value returned(unsigned argument) const {
    return step.func.front().getTerminator()->getOperand(
        analysis.resultOf(argument));
  }
  bool isMade(Value value) const {
    return value.getDefiningOp() &&
           !isa<cs::GradientOp>(value.getDefiningOp());
  }
  RankedTensorType typeOf(Carried carried) const;
  Value resolve(PartOfValue part,
                const llvm::DenseMap<Value, Value> &own) const;
  /// How gradients of the trainers combine; null if they do not.
  cs::ReductionAttr reduction(Builder &builder) const {
    return options.syncMode == cs::SyncMode::sync
               ? cs::ReductionAttr::get(builder.getContext(), options.reduction)
               : cs::ReductionAttr();
  }
  void emitRows(OpBuilder &builder, Piece &piece);
  void emitPiece(OpBuilder &builder, Piece &piece);
  void emitMean(OpBuilder &builder, const SharedMean &mean);
  void describe(func::FuncOp func) const;

  const UpdateAnalysis &analysis;
  const DataFlowGraph &graph;
  const ProgramFunction &step;
  const ServerPlan &plan;
  const ServerOptions &options;
  int64_t server;
  std::vector<Piece> pieces;
  std::vector<Carried> arguments;
  std::map<Carried, unsigned> numbers; // of arguments
  std::unique_ptr<UpdateFragment> schedule;
  llvm::SetVector<Value> scheduled;     // its results
  llvm::SetVector<unsigned> replicated; // arguments that it updates
  // While building.
  Block *body = nullptr;
  llvm::DenseMap<Value, Value> placedSchedule;
  std::vector<std::pair<Carried, Value>> results;
};

void ServerBuilder::addPieces(const ServedUnit &served) {
  if (!served.isSliced()) {
    if (served.blocks[0].server != server)
      return;
    Piece &piece = pieces.emplace_back();
    piece.served = &served;
    for (const ParameterBlock &block : served.blocks)
      piece.blocks.push_back(&block);
    return;
  }
  for (const ParameterBlock &block : served.blocks) {
    if (block.server != server)
      continue;
    Piece &piece = pieces.emplace_back();
    piece.served = &served;
    piece.blocks.push_back(&block);
    piece.rows = {block.begin, block.end};
  }
}

LogicalResult ServerBuilder::preparePiece(Piece &piece) {
  for (unsigned argument : piece.served->unit->owned) {
    addArgument({argument, piece.rows});
    if (isMade(returned(argument)))
      piece.made.insert(returned(argument));
  }
  unsigned parameter = piece.served->unit->parameters[0];
  if (isTable(step, parameter)) {
    RankedTensorType block = typeOf({parameter, piece.rows});
    piece.chunk = chunkOf(block, block.getDimSize(0));
  }
  if (piece.made.empty())
    return success();
  int unit = piece.served->unit - analysis.getUnits().data();
  piece.fragment = std::make_unique<UpdateFragment>(
      analysis, unit, piece.chunk ? Rows{0, piece.chunk} : piece.rows);
  if (failed(piece.fragment->build(piece.made.getArrayRef())))
    return failure();
  for (const PartOfValue &input : piece.fragment->getInputs()) {
    Ref ref = graph.refOf(input.value);
    if (graph.isArgument(ref) && !analysis.isFromSchedule(ref))
      addArgument({unsigned(graph.argumentOf(ref)),
                   piece.chunk && !input.rows.isAll() ? piece.rows
                                                      : input.rows});
    else if (!input.value.getDefiningOp<cs::GradientOp>())
      scheduled.insert(input.value);
  }
  return success();
}

LogicalResult ServerBuilder::prepareSchedule() {
  // State that is read is carried on, which may read more.
  while (!scheduled.empty()) {
    schedule = std::make_unique<UpdateFragment>(analysis,
                                                UpdateAnalysis::kNone, Rows());
    if (failed(schedule->build(scheduled.getArrayRef())))
      return failure();
    bool changed = false;
    for (const PartOfValue &input : schedule->getInputs()) {
      Ref ref = graph.refOf(input.value);
      while (graph.isArgument(ref)) {
        unsigned argument = graph.argumentOf(ref);
        addArgument({argument, Rows()});
        if (!analysis.isFromSchedule(ref) || !replicated.insert(argument))
          break;
        changed = true;
        if (isMade(returned(argument)))
          scheduled.insert(returned(argument));
        ref = graph.refOf(returned(argument));
      }
    }
    if (!changed)
      break;
  }
  return success();
}

RankedTensorType ServerBuilder::typeOf(Carried carried) const {
  auto type = cast<RankedTensorType>(
      step.func.getArgumentTypes()[carried.argument]);
  return carried.rows.isAll()
             ? type
             : withRows(type, carried.rows.end - carried.rows.begin);
}

/// The placed value: of the function's arguments, of the schedule, or one of
/// `own`.
Value ServerBuilder::resolve(PartOfValue part,
                             const llvm::DenseMap<Value, Value> &own) const {
  if (Value value = own.lookup(part.value))
    return value;
  if (Value value = placedSchedule.lookup(part.value))
    return value;
  unsigned argument = cast<BlockArgument>(part.value).getArgNumber();
  return body->getArgument(numbers.at({argument, part.rows}));
}

/// A block of a table.
void ServerBuilder::emitRows(OpBuilder &builder, Piece &piece) {
  const ParameterBlock &block = *piece.blocks[0];
  int gradient = analysis.getDependences().getGradients()[block.gradient];
  RowUpdate update{block.key,
                   reduction(builder),
                   step.func.getName(),
                   graph[gradient]->getLoc(),
                   piece.chunk,
                   graph[gradient]->getResult(0),
                   {},
                   {},
                   {}};
  auto addRows = [&](unsigned argument, Value result) {
    Value value = step.func.getArgument(argument);
    if (llvm::is_contained(update.arguments, value))
      return;
    update.arguments.push_back(value);
    update.results.push_back(result);
    update.rows.push_back(
        body->getArgument(numbers.at({argument, piece.rows})));
  };
  ArrayRef<unsigned> owned = piece.served->unit->owned;
  for (unsigned argument : owned)
    addRows(argument, returned(argument));
  if (piece.fragment)
    for (const PartOfValue &input : piece.fragment->getInputs())
      if (auto argument = dyn_cast<BlockArgument>(input.value);
          argument && !input.rows.isAll())
        addRows(argument.getArgNumber(), argument);
  const llvm::DenseMap<Value, Value> none;
  cs::UpdateRowsOp op = createUpdateRows(
      builder, update, piece.fragment.get(), piece.made.getArrayRef(),
      [&](const PartOfValue &input) { return resolve(input, none); });
  cs::PublishOp::create(builder, update.loc, block.newKey(), op.getResult(0),
                        step.func.getName());
  for (auto [argument, result] : llvm::zip(owned, op.getResults()))
    results.push_back({{argument, piece.rows}, result});
}

void ServerBuilder::emitPiece(OpBuilder &builder, Piece &piece) {
  if (piece.chunk)
    return emitRows(builder, piece);
  StringRef trainers = step.func.getName();
  llvm::DenseMap<Value, Value> own;
  for (const ParameterBlock *block : piece.blocks) {
    int op = analysis.getDependences().getGradients()[block->gradient];
    auto type = placeOnDevice(typeOf({block->parameter, piece.rows}));
    own[graph[op]->getResult(0)] =
        cs::CollectOp::create(builder, graph[op]->getLoc(), type, block->key,
                              reduction(builder), trainers);
  }
  if (piece.fragment) {
    llvm::SmallVector<Value> operands;
    for (const PartOfValue &input : piece.fragment->getInputs())
      operands.push_back(resolve(input, own));
    cs::FragmentOp fragment = piece.fragment->create(
        builder, "update." + piece.blocks[0]->key, operands);
    for (auto [value, result] : llvm::zip(piece.made, fragment.getOutputs()))
      own[value] = result;
  }
  for (const ParameterBlock *block : piece.blocks) {
    int op = analysis.getDependences().getGradients()[block->gradient];
    cs::PublishOp::create(
        builder, graph[op]->getLoc(), block->newKey(),
        resolve({returned(block->parameter), piece.rows}, own), trainers);
  }
  for (unsigned argument : piece.served->unit->owned)
    results.push_back({{argument, piece.rows},
                       resolve({returned(argument), piece.rows}, own)});
}

/// Nothing depends on it but what the trainers get.
void ServerBuilder::emitMean(OpBuilder &builder, const SharedMean &mean) {
  StringRef trainers = step.func.getName();
  Value value = cs::CollectOp::create(
      builder, mean.loc, placeOnDevice(mean.type), mean.key,
      cs::ReductionAttr::get(builder.getContext(), cs::Reduction::mean),
      trainers);
  cs::PublishOp::create(builder, mean.loc, mean.newKey(), value, trainers);
}

/// Says what arguments and results are.
void ServerBuilder::describe(func::FuncOp func) const {
  Builder builder(func.getContext());
  auto describeOne = [&](const Carried &carried, StringRef attribute) {
    SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(
        attribute, step.arguments[carried.argument].name)};
    if (!carried.rows.isAll())
      attributes.push_back(builder.getNamedAttr(
          CsDialect::kRowsAttr,
          builder.getDenseI64ArrayAttr(
              {carried.rows.begin, carried.rows.end})));
    return builder.getDictionaryAttr(attributes);
  };
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  for (const Carried &carried : arguments)
    argumentAttributes.push_back(describeOne(
        carried,
        step.arguments[carried.argument].kind == ArgumentRole::Param
            ? CsDialect::kParamAttr
            : CsDialect::kStateAttr));
  for (const auto &[carried, value] : results)
    resultAttributes.push_back(describeOne(carried, CsDialect::kUpdatesAttr));
  auto function = cast<FunctionOpInterface>(func.getOperation());
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
}

func::FuncOp ServerBuilder::build(OpBuilder &builder) {
  MLIRContext *context = step.func.getContext();
  Location loc = step.func.getLoc();
  llvm::SmallVector<Type> types;
  for (const Carried &carried : arguments)
    types.push_back(placeOnDevice(typeOf(carried)));
  auto func = func::FuncOp::create(builder, loc,
                                   "server." + std::to_string(server),
                                   FunctionType::get(context, types, {}));
  func->setAttr(CsDialect::kServerAttr,
                builder.getI64IntegerAttr(server));
  body = func.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  if (schedule) {
    llvm::SmallVector<Value> operands;
    const llvm::DenseMap<Value, Value> none;
    for (const PartOfValue &input : schedule->getInputs())
      operands.push_back(resolve(input, none));
    cs::FragmentOp fragment = schedule->create(inside, "schedule", operands);
    for (auto [value, result] : llvm::zip(scheduled, fragment.getOutputs()))
      placedSchedule[value] = result;
  }
  for (Piece &piece : pieces)
    emitPiece(inside, piece);
  for (const SharedMean &mean : plan.means)
    if (mean.server == server)
      emitMean(inside, mean);
  for (unsigned argument : replicated) {
    Value value = returned(argument);
    results.push_back(
        {{argument, Rows()},
         isMade(value) ? placedSchedule.lookup(value)
                       : body->getArgument(numbers.at(
                             {cast<BlockArgument>(value).getArgNumber(),
                              Rows()}))});
  }
  llvm::SmallVector<Value> values;
  llvm::SmallVector<Type> resultTypes;
  for (const auto &[carried, value] : results) {
    values.push_back(value);
    resultTypes.push_back(value.getType());
  }
  func::ReturnOp::create(inside, loc, values);
  func.setFunctionType(FunctionType::get(context, types, resultTypes));
  describe(func);
  return func;
}

} // namespace

LogicalResult commsched::addServerFunctions(const UpdateAnalysis &analysis,
                                            const ServerPlan &plan,
                                            const ServerOptions &options) {
  func::FuncOp step = analysis.getDependences().getFunction().func;
  auto module = step->getParentOfType<ModuleOp>();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(step);
  const SymbolTable before(module);
  for (int64_t server = 0; server < options.servers; ++server) {
    std::string name = "server." + std::to_string(server);
    if (Operation *taken = before.lookup(name))
      return taken->emitOpError(
          "has the name of a parameter server: rename it");
    ServerBuilder one(analysis, plan, options, server);
    if (failed(one.prepare()))
      return failure();
    one.build(builder);
  }
  return success();
}
