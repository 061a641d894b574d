// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/PlanServers.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include "passes/insert/Carrier.h"
#include "passes/insert/Outline.h"
#include "passes/insert/Program.h"
#include "passes/insert/Remarks.h"
#include "passes/insert/RowTables.h"
#include "passes/insert/RowUpdates.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;

namespace {

class ServerPlanner {
public:
  ServerPlanner(const UpdateAnalysis &analysis, const ServerOptions &options)
      : analysis(analysis), graph(analysis.getDependences().getGraph()),
        function(analysis.getDependences().getFunction()), options(options) {}

  FailureOr<ServerPlan> run(ArrayRef<PlannedCommunication> communications) {
    for (const UpdateUnit &unit : analysis.getUnits())
      if (failed(cut(unit)))
        return failure();
    if (options.syncMode == cs::SyncMode::sync)
      findMeans(communications);
    place();
    if (failed(checkKeys(communications)))
      return failure();
    tell();
    return ServerPlan{std::move(result), std::move(means)};
  }

private:
  RankedTensorType typeOf(unsigned argument) const {
    return cast<RankedTensorType>(function.func.getArgumentTypes()[argument]);
  }
  StringRef nameOf(unsigned argument) const {
    return function.arguments[argument].name.getValue();
  }
  Location locOf(int gradient) const {
    return graph[analysis.getDependences().getGradients()[gradient]]->getLoc();
  }
  /// Writes the names of a unit's parameters.
  void writeNames(raw_ostream &os, const UpdateUnit &unit) const {
    os << (unit.parameters.size() > 1 ? "parameters " : "parameter ");
    llvm::interleaveComma(unit.parameters, os, [&](unsigned argument) {
      os << '"' << nameOf(argument) << '"';
    });
  }
  LogicalResult cut(const UpdateUnit &unit);
  void findMeans(ArrayRef<PlannedCommunication> communications);
  bool actsByRows(const UpdateUnit &unit) const;
  LogicalResult checkKeys(ArrayRef<PlannedCommunication> communications);
  void place();
  void tell() const;
  int64_t bytesOf(const ParameterBlock &block) const {
    RankedTensorType type = typeOf(block.parameter);
    if (type.getRank() > 0)
      type = withRows(type, block.end - block.begin);
    return tensorBytes(type);
  }

  const UpdateAnalysis &analysis;
  const DataFlowGraph &graph;
  const ProgramFunction &function;
  const ServerOptions &options;
  std::vector<ServedUnit> result;
  std::vector<SharedMean> means;
};

/// Whether the unit, of one parameter, can be applied block by block; says why
/// not.
bool ServerPlanner::actsByRows(const UpdateUnit &unit) const {
  std::optional<NotByRows> why = whyNotByRows(analysis, unit);
  if (!why)
    return true;
  remarkAt(why->loc, function.func.getName(), "whole", [&](raw_ostream &os) {
    os << "parameter \"" << nameOf(unit.parameters[0])
       << "\" stays whole: " << why->reason;
  });
  return false;
}

LogicalResult ServerPlanner::cut(const UpdateUnit &unit) {
  ServedUnit &served = result.emplace_back();
  served.unit = &unit;
  if (unit.gradients.size() > 1) {
    Location loc =
        unit.joinedAt ? unit.joinedAt->getLoc() : function.func.getLoc();
    if (options.syncMode != cs::SyncMode::sync) {
      std::string names;
      llvm::raw_string_ostream os(names);
      writeNames(os, unit);
      return emitError(loc) << "joins the updates of " << names
                            << ", whose gradients arrive one by one with "
                               "sync-mode="
                            << cs::stringifySyncMode(options.syncMode);
    }
    for (auto [gradient, parameter] :
         llvm::zip(unit.gradients, unit.parameters))
      served.blocks.push_back(
          {parameter, gradient, nameOf(parameter).str(), 0,
           typeOf(parameter).getRank() ? typeOf(parameter).getDimSize(0) : 1});
    return success();
  }
  unsigned parameter = unit.parameters[0];
  int gradient = unit.gradients[0];
  std::string name = nameOf(parameter).str();
  RankedTensorType type = typeOf(parameter);
  std::vector<int64_t> rows =
      sliceRows(type.getShape(), options.servers, options.minBlockElements,
                options.maxBlockElements);
  int64_t all = type.getRank() ? type.getDimSize(0) : 1;
  if (rows.size() > 1 && (!options.slice || !actsByRows(unit)))
    rows = {all};
  if (rows.size() == 1) {
    served.blocks.push_back({parameter, gradient, name, 0, all});
    return success();
  }
  int64_t begin = 0;
  for (auto [i, count] : llvm::enumerate(rows)) {
    served.blocks.push_back({parameter, gradient,
                             name + ".block" + std::to_string(i), begin,
                             begin + count});
    begin += count;
  }
  return success();
}

void ServerPlanner::findMeans(ArrayRef<PlannedCommunication> communications) {
  for (const PlannedCommunication &planned : communications)
    // What cannot travel is refused where the trainers' step is made.
    if (RankedTensorType type = carrierOf(planned.operand.getType());
        type && planned.isResult())
      means.push_back({planned.key, type, planned.loc});
}

LogicalResult
ServerPlanner::checkKeys(ArrayRef<PlannedCommunication> communications) {
  llvm::StringMap<Location> keys;
  auto add = [&](const std::string &key, Location loc) -> LogicalResult {
    if (keys.try_emplace(key, loc).second)
      return success();
    return emitError(loc) << "message key \"" << key
                          << "\" is needed twice: rename the parameter";
  };
  for (const PlannedCommunication &planned : communications)
    if (planned.isResult() && failed(add(planned.key, planned.loc)))
      return failure();
  for (const SharedMean &mean : means)
    if (failed(add(mean.newKey(), mean.loc)))
      return failure();
  for (const ServedUnit &served : result)
    for (const ParameterBlock &block : served.blocks)
      if (failed(add(block.key, locOf(block.gradient))) ||
          failed(add(block.newKey(), locOf(block.gradient))))
        return failure();
  return success();
}

void ServerPlanner::place() {
  std::vector<PlacedUnit> placed;
  std::vector<std::vector<ParameterBlock *>> members;
  for (ServedUnit &served : result) {
    if (served.isSliced()) {
      for (ParameterBlock &block : served.blocks) {
        placed.push_back({block.key, bytesOf(block)});
        members.push_back({&block});
      }
      continue;
    }
    placed.push_back({served.blocks[0].key, 0});
    members.emplace_back();
    for (ParameterBlock &block : served.blocks) {
      if (llvm::AddOverflow(placed.back().bytes, bytesOf(block),
                            placed.back().bytes))
        placed.back().bytes = std::numeric_limits<int64_t>::max();
      members.back().push_back(&block);
    }
  }
  for (const SharedMean &mean : means)
    placed.push_back({mean.key, tensorBytes(mean.type)});
  std::vector<int64_t> servers =
      placeUnits(placed, options.servers, options.placement);
  for (auto [blocks, server] : llvm::zip_first(members, servers))
    for (ParameterBlock *block : blocks)
      block->server = server;
  for (auto [mean, server] :
       llvm::zip_equal(means, ArrayRef(servers).drop_front(members.size())))
    mean.server = server;
}

void ServerPlanner::tell() const {
  StringRef name = function.func.getName();
  struct Total {
    int64_t blocks = 0, bytes = 0;
  };
  std::vector<Total> totals(options.servers);
  for (const ServedUnit &served : result) {
    for (const ParameterBlock &block : served.blocks) {
      ++totals[block.server].blocks;
      totals[block.server].bytes += bytesOf(block);
    }
    if (served.unit->gradients.size() > 1) {
      Operation *at = served.unit->joinedAt;
      remarkAt(at ? at->getLoc() : function.func.getLoc(), name, "whole",
               [&](raw_ostream &os) {
                 writeNames(os, *served.unit);
                 os << " stay whole, together on server "
                    << served.blocks[0].server
                    << ": their updates are joined here";
               });
      continue;
    }
    remarkAt(locOf(served.blocks[0].gradient), name, "blocks",
             [&](raw_ostream &os) {
               writeNames(os, *served.unit);
               os << ": " << served.blocks.size()
                  << (served.isSliced() ? " blocks" : " block")
                  << " of rows ";
               llvm::interleaveComma(
                   served.blocks, os, [&](const ParameterBlock &block) {
                     os << block.begin << " to " << block.end << " on server "
                        << block.server;
                   });
             });
  }
  for (int gradient : analysis.getUnusedGradients())
    remarkAt(locOf(gradient), name, "unused", [&](raw_ostream &os) {
      os << "gradient updates nothing: not sent";
    });
  for (auto [i, role] : llvm::enumerate(function.arguments)) {
    if (analysis.isOnServersOnly(i))
      remarkAt(function.func.getLoc(), name, "state", [&](raw_ostream &os) {
        os << "state " << role.name << " is on the servers only";
      });
    else if (role.kind == ArgumentRole::State && analysis.isReplicated(i))
      remarkAt(function.func.getLoc(), name, "state", [&](raw_ostream &os) {
        os << "state " << role.name
           << ": trainers and servers each keep a copy";
      });
  }
  for (auto [i, total] : llvm::enumerate(totals))
    remarkAt(function.func.getLoc(), name, "server", [&](raw_ostream &os) {
      os << "server " << i << ": " << total.blocks << " blocks of "
         << total.bytes << " bytes";
    });
}

} // namespace

FailureOr<ServerPlan>
commsched::planServers(const UpdateAnalysis &analysis,
                       const ServerOptions &options,
                       ArrayRef<PlannedCommunication> communications) {
  return ServerPlanner(analysis, options).run(communications);
}
