// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of single rows, and the functions of servers that update them.
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/loading/function_builder.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {

template <typename Message>
absl::Status FunctionBuilder::AddRows(const Message &message, bool push,
                                      InstructionProgram *out) {
  const auto bad = [&](auto... words) {
    return BadPlan(where_, absl::StrCat(words...));
  };
  if (program_->server >= 0) return bad("a server sends nothing to servers");
  RowsMessageProgram &rows = out->rows;
  rows.key = message.key();
  rows.ids = message.ids();
  rows.values = message.values();
  for (uint32_t b : {message.ids(), message.values()})
    if (absl::Status s = CheckRead(b); !s.ok()) return s;
  if (!push)
    if (absl::Status s = Write(message.values()); !s.ok()) return s;
  const TensorInfo &ids = out_.buffers[message.ids()].type;
  const TensorInfo &values = out_.buffers[message.values()].type;
  if ((ids.element != ops::Element::kI32 && ids.element != ops::Element::kI64) ||
      ids.shape.size() != 1)
    return bad("ids must match i32[n] or i64[n], got: ", ToString(ids));
  if (values.shape.empty() || values.shape[0] != ids.shape[0])
    return bad("values must have a row for each of the ", ids.shape[0],
               " ids, got: ", ToString(values));
  rows.id_element = ids.element;
  rows.count = size_t(ids.elements);
  if (message.rows() == 0 || message.rows() > kMaxPlanBytes)
    return bad("a table must have 1 to ", kMaxPlanBytes,
               " rows, got: ", message.rows());
  rows.table.rows = int64_t(message.rows());
  if (message.parts().empty() || message.parts(0).row_begin() != 0)
    return bad("the first part of the table must begin at row 0");
  std::set<std::pair<uint32_t, uint32_t>> blocks;
  for (int p = 0; p < message.parts_size(); ++p) {
    const plan::TablePart &part = message.parts(p);
    const int64_t end = p + 1 < message.parts_size()
                            ? message.parts(p + 1).row_begin()
                            : rows.table.rows;
    if (end <= part.row_begin() || end > rows.table.rows)
      return bad("parts of the table must ascend and lie in its ",
                 rows.table.rows, " rows, got: ", part.row_begin(), " to ", end,
                 " in part ", p);
    const std::vector<ServerProgram> &servers = program_->servers.servers;
    if (part.server() >= servers.size())
      return bad("there is no server ", part.server());
    if (part.block() >= servers[part.server()].blocks.size())
      return bad("server ", part.server(), " has no block ", part.block());
    const BlockProgram &block = servers[part.server()].blocks[part.block()];
    const std::string name =
        absl::StrCat("block ", part.block(), " \"", block.key, "\" of server ",
                     part.server());
    if (!blocks.emplace(part.server(), part.block()).second)
      return bad(name, " is there twice");
    if (!block.of_rows()) return bad(name, " has no single rows");
    if (block.key != message.key() &&
        !absl::StartsWith(block.key, absl::StrCat(message.key(), ".block")))
      return bad("key must match ", name, ", got: \"", message.key(), "\"");
    if (block.rows.gradient.rows != end - part.row_begin() ||
        block.rows.begin != part.row_begin())
      return bad(name, " must have rows ", part.row_begin(), " to ", end,
                 " of the table, got: ", block.rows.begin, " to ",
                 block.rows.begin + block.rows.gradient.rows);
    const TensorInfo &theirs = push ? block.gradient : block.value;
    TensorInfo wanted = theirs;
    wanted.shape[0] = values.shape[0];
    if (!(wanted == values))
      return bad("values must match ", ToString(wanted), " of ", name,
                 ", got: ", ToString(values));
    rows.table.element = values.element;
    rows.table.row_bytes =
        push ? block.rows.gradient.row_bytes : block.rows.value_bytes;
    rows.parts.push_back({part.server(), part.block()});
    rows.begins.push_back(part.row_begin());
  }
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddPushRows(const plan::PushRows &push,
                                          InstructionProgram *out) {
  out->kind = InstructionProgram::kPushRows;
  return AddRows(push, true, out);
}

absl::Status FunctionBuilder::AddPullRows(const plan::PullRows &pull,
                                          InstructionProgram *out) {
  out->kind = InstructionProgram::kPullRows;
  return AddRows(pull, false, out);
}

bool FunctionBuilder::UpdatesRows() const {
  if (program_->server < 0) return false;
  const plan::Server &server =
      plan_.parameter_servers().servers(program_->server);
  for (const plan::ServerBlock &block : server.blocks())
    if (block.row_chunk() != 0 &&
        &plan_.functions(int(block.function())) == &in_)
      return true;
  return false;
}

// Names and types have been checked with the block.
absl::Status FunctionBuilder::AddRowOutputs() {
  for (const plan::Output &o : in_.outputs()) {
    if (absl::Status s = CheckRead(o.buffer()); !s.ok()) return s;
    const BufferInfo &buffer = out_.buffers[o.buffer()];
    const bool made =
        buffer.kind == BufferInfo::kArena && writer_[o.buffer()] >= 0;
    if (!made && buffer.kind != BufferInfo::kBatch)
      return BadPlan(where_, absl::StrCat("nothing writes the new rows of \"",
                                          o.metric(), "\""));
    out_.row_outputs.push_back(o.buffer());
  }
  return absl::OkStatus();
}

}  // namespace commsched::runtime
