// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tables that trainers fetch from servers and send to them.

#include "passes/plan/FunctionBuilder.h"

#include "ir/CsServerFunctions.h"

using namespace mlir;

namespace commsched::planexport {

LogicalResult FunctionBuilder::addRows(cs::StartOp op, Operation *message) {
  auto send = dyn_cast<cs::SendRowsOp>(message);
  auto fetch = dyn_cast<cs::FetchRowsOp>(message);
  ArrayAttr servers = send ? send.getServers() : fetch.getServers();
  ArrayRef<int64_t> offsets = send ? send.getOffsets() : fetch.getOffsets();
  context.usesServers = context.usesRows = true;
  auto bufferOf = [&](Value inside) {
    return buffers.lookup(op.getInputs()[cast<BlockArgument>(inside).getArgNumber()]);
  };
  RankedTensorType type = op.getFuture().getType().getValue().getTensor();
  unsigned ids = bufferOf(send ? send.getIds() : fetch.getIds());
  unsigned values = send ? bufferOf(send.getValues())
                         : addBuffer(plan::Buffer::ARENA, type, op.getKey(), placedOf(op.getFuture()));
  plan::Instruction &instruction = addInstruction(op, op.getKey());
  instruction.set_priority(static_cast<int32_t>(op.getPriority()));
  instruction.set_device(op.getFuture().getType().getValue().getDevice());
  Access &access = accesses.back();
  for (Value after : op.getAfter())
    access.after.push_back(started.lookup(after));
  started[op.getFuture()] = out.instructions_size() - 1;
  buffers[op.getFuture()] = values;
  access.reads.push_back(ids);
  (send ? access.reads : access.writes).push_back(values);
  auto fill = [&](auto *what) -> LogicalResult {
    what->set_key(op.getKey().str());
    what->set_rows(offsets.back());
    what->set_ids(ids);
    what->set_values(values);
    for (auto [b, symbol] : llvm::enumerate(servers)) {
      auto function = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
          message, cast<FlatSymbolRefAttr>(symbol));
      std::optional<int64_t> server =
          function ? cs::getServerIndex(function) : std::nullopt;
      std::string key = cs::getBlockKey(op.getKey(), b, servers.size());
      auto block = server ? context.pushes.find({unsigned(*server), key})
                          : context.pushes.end();
      if (block == context.pushes.end())
        return message->emitOpError()
               << "\"" << key << "\" is not updated by " << symbol
               << "; run --verify-distributed";
      plan::TablePart *part = what->add_parts();
      part->set_server(block->first.first);
      part->set_block(block->second);
      part->set_row_begin(offsets[b]);
    }
    return success();
  };
  return send ? fill(instruction.mutable_push_rows())
              : fill(instruction.mutable_pull_rows());
}

} // namespace commsched::planexport
