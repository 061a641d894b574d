// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/profile/Profile.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "plan/limits.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::profile;

namespace {

int64_t elementsOf(const Parameter &parameter) {
  int64_t n = 1;
  for (int64_t dim : parameter.shape)
    n *= dim;
  return n;
}

class ProgramBuilder {
public:
  ProgramBuilder(MLIRContext *context, Location loc, const Profile &profile,
                 const ProgramOptions &options)
      : builder(context), loc(loc), profile(profile), options(options),
        used(profile.size()), trained(profile.size()), values(profile.size()),
        gradients(profile.size()), weights(profile.size()),
        marked(profile.size()), backwardNs(profile.size()) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult findTrained();
  LogicalResult addArguments(func::FuncOp step);
  void addForward();
  void addLoss();
  void addBackward();
  void addUpdates();

  RankedTensorType typeOf(int64_t bytes, std::optional<int64_t> rows = {});
  RankedTensorType typeOf(const Parameter &parameter) {
    return RankedTensorType::get(parameter.shape, builder.getF32Type());
  }
  cs::CostAttr measured(int64_t ns) {
    return cs::CostAttr::get(builder.getContext(), 0, 0, ns);
  }
  cs::ProfiledOp add(Location at, const Twine &label, bool elementwise,
                     ArrayRef<Value> inputs, ArrayRef<Type> types,
                     cs::CostAttr cost) {
    return cs::ProfiledOp::create(builder, at, types,
                                  builder.getStringAttr(label), elementwise,
                                  inputs, cost);
  }
  /// Numbers of the values of a layer that are used.
  std::vector<unsigned> numbersOf(const Use &use) const {
    if (use.value)
      return {*use.value};
    std::vector<unsigned> all(values[use.layer].size());
    for (unsigned i = 0; i < all.size(); ++i)
      all[i] = i;
    return all;
  }

  OpBuilder builder;
  Location loc;
  const Profile &profile;
  const ProgramOptions &options;
  func::FuncOp step;
  Value anyBatch;                        ///< if the profile has no input
  std::vector<DictionaryAttr> arguments; ///< of the step, by number
  // By layer.
  std::vector<bool> used, trained;
  std::vector<std::vector<Value>> values;
  std::vector<std::vector<std::vector<Value>>> gradients; ///< by value
  std::vector<std::vector<Value>> weights, marked;
  std::vector<int64_t> backwardNs;
  int64_t lossNs = 0;
};

/// Finds layers that have a parameter, or use one that does. Others have no
/// backward op; if they have time all the same, the op before it has it.
LogicalResult ProgramBuilder::findTrained() {
  bool any = false;
  for (auto [i, layer] : llvm::enumerate(profile)) {
    trained[i] = !layer.parameters.empty();
    for (const Use &use : layer.uses) {
      used[use.layer] = true;
      trained[i] = trained[i] || trained[use.layer];
    }
    any |= trained[i];
  }
  if (!any)
    return emitError(loc, "profile has no parameter, so there is nothing to train");
  for (auto [i, layer] : llvm::enumerate(profile))
    backwardNs[i] = layer.isInput ? 0 : layer.backwardNs;
  std::vector<std::optional<unsigned>> firstUser(profile.size());
  for (size_t i = profile.size(); i-- > 0;)
    for (const Use &use : profile[i].uses)
      firstUser[use.layer] = i;
  for (size_t i = 0; i < profile.size(); ++i)
    if (!trained[i])
      (firstUser[i] ? backwardNs[*firstUser[i]] : lossNs) += backwardNs[i];
  return success();
}

RankedTensorType ProgramBuilder::typeOf(int64_t bytes,
                                        std::optional<int64_t> rows) {
  SmallVector<int64_t, 2> shape;
  if (rows)
    shape.push_back(*rows);
  int64_t row = bytes / rows.value_or(1);
  bool isWhole = row * rows.value_or(1) == bytes;
  if (!options.activations || bytes == 0 || !isWhole) {
    // Inputs have a dimension of samples even where their size does not divide.
    shape.push_back(options.activations && bytes != 0 ? row + 1 : 1);
    return RankedTensorType::get(shape, builder.getI8Type());
  }
  bool isFloat = row % 4 == 0;
  shape.push_back(isFloat ? row / 4 : row);
  return RankedTensorType::get(shape, isFloat ? Type(builder.getF32Type())
                                              : builder.getI8Type());
}

LogicalResult ProgramBuilder::addArguments(func::FuncOp step) {
  Block &block = step.front();
  auto addArgument = [&](RankedTensorType type, StringRef attr, StringRef name,
                         Location at) {
    // All at once at the end: inserted one by one they take time in the square.
    arguments.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(attr, builder.getStringAttr(name))));
    return block.addArgument(type, at);
  };
  for (auto [i, layer] : llvm::enumerate(profile))
    for (const Parameter &parameter : layer.parameters)
      weights[i].push_back(addArgument(typeOf(parameter),
                                       cs::CsDialect::kParamAttr,
                                       parameter.name, layer.loc));
  bool anyInput = false;
  for (auto [i, layer] : llvm::enumerate(profile)) {
    if (!layer.isInput)
      continue;
    anyInput = true;
    int64_t bytes = 0;
    for (int64_t part : layer.activationBytes)
      bytes += part;
    // One of several values, and of samples that may be rounded up.
    RankedTensorType type = typeOf(bytes, options.batch);
    int64_t most = int64_t{kMaxTensorBytes} / (type.getElementTypeBitWidth() / 8);
    if (bytes > int64_t{kMaxTensorBytes} || type.getNumElements() > most)
      return emitError(layer.loc) << "input must have at most 2^46 bytes, as a tensor has, got: " << bytes;
    values[i].push_back(addArgument(type,
                                    cs::CsDialect::kBatchAttr, layer.name,
                                    layer.loc));
  }
  if (!anyInput)
    anyBatch = addArgument(typeOf(0, options.batch), cs::CsDialect::kBatchAttr,
                           "batch", loc);
  return success();
}

void ProgramBuilder::addForward() {
  for (auto [i, layer] : llvm::enumerate(profile)) {
    if (!layer.isInput) {
      std::vector<Value> inputs;
      for (const Use &use : layer.uses)
        for (unsigned number : numbersOf(use))
          inputs.push_back(values[use.layer][number]);
      if (inputs.empty() && anyBatch)
        inputs.push_back(anyBatch);
      llvm::append_range(inputs, weights[i]);
      std::vector<Type> types;
      for (int64_t bytes : layer.activationBytes)
        types.push_back(typeOf(bytes));
      if (types.empty())
        types.push_back(typeOf(0));
      auto op = add(layer.loc, "forward." + layer.name, false, inputs, types,
                    measured(layer.forwardNs));
      values[i].assign(op.getOutputs().begin(), op.getOutputs().end());
    }
    gradients[i].resize(values[i].size());
  }
}

/// Ends the forward pass, begins the backward pass; free but for
/// what layers without parameters leave to it.
void ProgramBuilder::addLoss() {
  std::vector<Value> inputs;
  std::vector<Type> types;
  for (size_t i = 0; i < profile.size(); ++i)
    if (!used[i])
      for (Value value : values[i]) {
        inputs.push_back(value);
        if (trained[i])
          types.push_back(value.getType());
      }
  auto op = add(loc, "loss", false, inputs, types, measured(lossNs));
  unsigned next = 0;
  for (size_t i = 0; i < profile.size(); ++i)
    if (!used[i] && trained[i])
      for (std::vector<Value> &gradient : gradients[i])
        gradient.push_back(op.getResult(next++));
}

void ProgramBuilder::addBackward() {
  for (size_t i = profile.size(); i-- > 0;) {
    const Layer &layer = profile[i];
    if (!trained[i])
      continue;
    std::vector<Value> inputs;
    for (const std::vector<Value> &gradient : gradients[i])
      llvm::append_range(inputs, gradient);
    llvm::append_range(inputs, values[i]);
    std::vector<Type> types;
    for (const Use &use : layer.uses)
      for (unsigned number : numbersOf(use)) {
        Value value = values[use.layer][number];
        inputs.push_back(value);
        if (trained[use.layer])
          types.push_back(value.getType());
      }
    for (Value weight : weights[i]) {
      inputs.push_back(weight);
      types.push_back(weight.getType());
    }
    auto op = add(layer.loc, "backward." + layer.name, false, inputs, types,
                  measured(backwardNs[i]));
    unsigned next = 0;
    for (const Use &use : layer.uses)
      if (trained[use.layer])
        for (unsigned number : numbersOf(use))
          gradients[use.layer][number].push_back(op.getResult(next++));
    // As frameworks make them: the last parameter first.
    marked[i].resize(weights[i].size());
    for (size_t p = weights[i].size(); p-- > 0;)
      marked[i][p] = cs::GradientOp::create(builder, layer.loc,
                                            op.getResult(next + p),
                                            layer.parameters[p].name);
  }
}

void ProgramBuilder::addUpdates() {
  std::vector<Value> results;
  std::vector<Type> types;
  std::vector<DictionaryAttr> attrs;
  for (auto [i, layer] : llvm::enumerate(profile))
    for (auto [p, parameter] : llvm::enumerate(layer.parameters)) {
      // w - rate * g: two operations, two values read and one written.
      int64_t n = elementsOf(parameter);
      auto cost = layer.updateNs != 0
                      ? measured(layer.updateNs)
                      : cs::CostAttr::get(builder.getContext(), 2 * n, 12 * n, 0);
      auto op = add(layer.loc, "update." + parameter.name, true,
                    {weights[i][p], marked[i][p]}, {typeOf(parameter)}, cost);
      results.push_back(op.getResult(0));
      types.push_back(typeOf(parameter));
      attrs.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(cs::CsDialect::kUpdatesAttr,
                               builder.getStringAttr(parameter.name))));
    }
  func::ReturnOp::create(builder, loc, results);
  step.setFunctionType(
      builder.getFunctionType(step.front().getArgumentTypes(), types));
  step.setAllArgAttrs(arguments);
  step.setAllResultAttrs(attrs);
}

OwningOpRef<ModuleOp> ProgramBuilder::run() {
  if (failed(findTrained()))
    return nullptr;
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  step = func::FuncOp::create(builder, loc, "step",
                              builder.getFunctionType({}, {}));
  step->setAttr(cs::CsDialect::kStepAttr, builder.getUnitAttr());
  builder.setInsertionPointToStart(step.addEntryBlock());
  if (failed(addArguments(step)))
    return nullptr;
  addForward();
  addLoss();
  addBackward();
  addUpdates();
  return module;
}

} // namespace

OwningOpRef<ModuleOp>
commsched::profile::buildProgram(MLIRContext *context, Location loc,
                                 const Profile &profile,
                                 const ProgramOptions &options) {
  context->loadDialect<cs::CsDialect, func::FuncDialect>();
  return ProgramBuilder(context, loc, profile, options).run();
}
