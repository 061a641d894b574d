// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/plan_rows.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

// A block under inspection.
class RowBlockReader {
 public:
  RowBlockReader(const plan::Plan &plan, const plan::Role &role,
                 const plan::ServerBlock &block, const std::string &where,
                 std::set<uint32_t> *taken, BlockProgram *out)
      : plan_(plan),
        block_(block),
        own_(plan.slots(int(block.slot()))),
        function_(plan.functions(int(block.function()))),
        where_(where),
        taken_(taken),
        out_(out) {
    for (uint32_t s : role.slots()) names_.emplace(plan.slots(int(s)).name(), s);
  }

  absl::Status Read();

 private:
  template <typename... Words>
  absl::Status Bad(const Words &...words) const {
    return BadPlan(where_, absl::StrCat(words...));
  }
  // Index in out->rows.slots of the slot of this name, whose rows a buffer of this
  // type has.
  absl::StatusOr<size_t> Slot(const std::string &name,
                              const plan::TensorType &type, const char *what);
  absl::Status ReadGradient(const plan::Buffer &buffer);
  absl::Status ReadOutputs();

  const plan::Plan &plan_;
  const plan::ServerBlock &block_;
  const plan::Slot &own_;
  const plan::Function &function_;
  const std::string &where_;
  std::set<uint32_t> *const taken_;
  BlockProgram *const out_;
  int64_t rows_ = 0;
  std::map<std::string, uint32_t> names_;  // slots of the role
  std::map<uint32_t, size_t> known_;       // slots of the block
};

absl::StatusOr<size_t> RowBlockReader::Slot(const std::string &name,
                                            const plan::TensorType &type,
                                            const char *what) {
  auto found = names_.find(name);
  if (found == names_.end())
    return Bad(what, " \"", name, "\" must have the name of a slot of the server");
  const plan::Slot &slot = plan_.slots(int(found->second));
  absl::StatusOr<TensorInfo> held = ConvertType(slot.type(), where_);
  if (!held.ok()) return held.status();
  if (held->shape.empty() || held->shape[0] != rows_ || held->bytes == 0 ||
      slot.row_begin() != own_.row_begin() || slot.device() != 0)
    return Bad("slot \"", name, "\" must have rows ", own_.row_begin(), " to ",
               own_.row_begin() + rows_, ", got: ", ToString(*held),
               " from row ", slot.row_begin());
  absl::StatusOr<TensorInfo> buffer = ConvertType(type, where_);
  if (!buffer.ok()) return buffer.status();
  TensorInfo wanted = *held;
  wanted.shape[0] = block_.row_chunk();
  if (!(*buffer == wanted))
    return Bad(what, " \"", name, "\" must match ", ToString(wanted),
               ", got: ", ToString(*buffer));
  std::vector<RowBlockProgram::Slot> &slots = out_->rows.slots;
  auto [at, fresh] = known_.emplace(found->second, slots.size());
  if (!fresh) return at->second;
  if (!taken_->insert(found->second).second)
    return Bad("slot \"", name, "\" must be of one block");
  slots.push_back({found->second, held->bytes / size_t(rows_), name, -1, -1});
  return at->second;
}

absl::Status RowBlockReader::ReadGradient(const plan::Buffer &buffer) {
  absl::StatusOr<TensorInfo> type = ConvertType(buffer.type(), where_);
  if (!type.ok()) return type.status();
  if (!ops::IsFloat(type->element))
    return Bad("a gradient must be of floating point, got: ", ToString(*type));
  if (type->shape.empty() || type->shape[0] != int64_t(block_.row_chunk()) ||
      type->bytes == 0)
    return Bad("the gradient must be of ", block_.row_chunk(),
               " rows, got: ", ToString(*type));
  out_->rows.gradient = {type->element, type->bytes / block_.row_chunk(), rows_};
  out_->gradient = *std::move(type);
  return absl::OkStatus();
}

absl::Status RowBlockReader::ReadOutputs() {
  for (int o = 0; o < function_.outputs_size(); ++o) {
    const plan::Output &output = function_.outputs(o);
    if (output.buffer() >= uint32_t(function_.buffers_size()))
      return Bad("function @", function_.name(), ": there is no buffer ",
                 output.buffer());
    auto slot =
        Slot(output.metric(), function_.buffers(int(output.buffer())).type(),
             "output");
    if (!slot.ok()) return slot.status();
    if (out_->rows.slots[*slot].output >= 0)
      return Bad("output \"", output.metric(), "\" is there twice");
    out_->rows.slots[*slot].output = o;
  }
  auto own = known_.find(block_.slot());
  if (own == known_.end() || out_->rows.slots[own->second].output < 0)
    return Bad("function @", function_.name(), " must have the output \"",
               own_.name(), "\"");
  return absl::OkStatus();
}

absl::Status RowBlockReader::Read() {
  if (((plan_.required_features() >> plan::FEATURE_ROW_SPARSE) & 1) == 0)
    return Bad("has single rows, which the plan's required features do not say");
  absl::StatusOr<TensorInfo> value = ConvertType(own_.type(), where_);
  if (!value.ok()) return value.status();
  if (value->shape.empty() || value->bytes == 0)
    return Bad("must have rows, got: ", ToString(*value));
  rows_ = value->shape[0];
  out_->value = *value;
  out_->rows.chunk = block_.row_chunk();
  out_->rows.begin = own_.row_begin();
  out_->rows.value_bytes = value->bytes / size_t(rows_);
  for (const plan::Buffer &buffer : function_.buffers()) {
    if (buffer.kind() == plan::Buffer::SLOT_NEXT)
      return Bad("function @", function_.name(),
                 " must write single rows only, and no slot");
    if (buffer.kind() != plan::Buffer::BATCH) continue;
    if (buffer.batch() == block_.key()) {
      if (absl::Status s = ReadGradient(buffer); !s.ok()) return s;
    } else if (auto slot = Slot(buffer.batch(), buffer.type(), "batch argument");
               !slot.ok()) {
      return slot.status();
    }
  }
  if (out_->rows.gradient.row_bytes == 0)
    return Bad("function @", function_.name(), " must have the batch argument \"",
               block_.key(), "\"");
  return ReadOutputs();
}

}  // namespace

absl::Status ReadRowBlock(const plan::Plan &plan, const plan::Role &role,
                          const plan::ServerBlock &block,
                          const std::string &where, std::set<uint32_t> *slots,
                          BlockProgram *out) {
  return RowBlockReader(plan, role, block, where, slots, out).Read();
}

absl::Status CheckRowSlots(const plan::Plan &plan, const plan::Role &role,
                           const std::set<uint32_t> &slots,
                           const std::string &where) {
  for (uint32_t f : role.functions())
    for (const plan::Buffer &buffer : plan.functions(int(f)).buffers())
      if ((buffer.kind() == plan::Buffer::SLOT_CURRENT ||
           buffer.kind() == plan::Buffer::SLOT_NEXT) &&
          slots.count(buffer.slot()) != 0)
        return BadPlan(
            where, absl::StrCat("function @", plan.functions(int(f)).name(),
                                " must not have slot ", buffer.slot(),
                                ", of which a block updates single rows"));
  return absl::OkStatus();
}

void ResolveRowBlock(const FunctionProgram &function, RowBlockProgram *block) {
  for (size_t b = 0; b < function.batches.size(); ++b) {
    auto slot = std::find_if(
        block->slots.begin(), block->slots.end(),
        [&](const auto &s) { return s.name == function.batches[b].name; });
    (slot == block->slots.end() ? block->gradient_batch : slot->batch) = int(b);
  }
}

}  // namespace commsched::runtime
