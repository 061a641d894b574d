// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/plan_builder.h"

#include <fstream>
#include <iterator>

#include "plan/plan_file.h"

namespace commsched::testing {
namespace {

using plan::AffineExpr;

AffineExpr Binary(AffineExpr::Op op, const AffineExpr &a, const AffineExpr &b) {
  AffineExpr e;
  e.set_op(op);
  *e.mutable_lhs() = a;
  *e.mutable_rhs() = b;
  return e;
}

plan::Phase MakePhase(uint32_t chunks, uint32_t rounds, plan::Combine combine,
                      double scale, const plan::Side &send,
                      const plan::Side &recv) {
  plan::Phase phase;
  phase.set_chunks(chunks);
  phase.set_rounds(rounds);
  phase.set_combine(combine);
  phase.set_scale(scale);
  *phase.mutable_send() = send;
  *phase.mutable_recv() = recv;
  return phase;
}

size_t Bytes(plan::ElementType element, const std::vector<int64_t> &shape) {
  size_t bytes = element == plan::F64 || element == plan::I64    ? 8
                 : element == plan::F32 || element == plan::I32  ? 4
                 : element == plan::F16 || element == plan::BF16 ? 2
                                                                 : 1;
  for (int64_t d : shape) bytes *= size_t(d);
  return bytes;
}

}  // namespace

AffineExpr Constant(int64_t value) {
  AffineExpr e;
  e.set_op(AffineExpr::CONSTANT);
  e.set_constant(value);
  return e;
}
AffineExpr Rank() {
  AffineExpr e;
  e.set_op(AffineExpr::RANK);
  return e;
}
AffineExpr RoundNumber() {
  AffineExpr e;
  e.set_op(AffineExpr::ROUND);
  return e;
}
AffineExpr operator+(const AffineExpr &a, const AffineExpr &b) {
  return Binary(AffineExpr::ADD, a, b);
}
AffineExpr operator*(const AffineExpr &a, int64_t b) {
  return Binary(AffineExpr::MUL, a, Constant(b));
}
AffineExpr operator%(const AffineExpr &a, int64_t b) {
  return Binary(AffineExpr::MOD, a, Constant(b));
}
AffineExpr operator/(const AffineExpr &a, int64_t b) {
  return Binary(AffineExpr::FLOORDIV, a, Constant(b));
}

plan::Side MakeSide(const AffineExpr &begin, const AffineExpr &count,
                    const AffineExpr &peer,
                    const std::vector<AffineExpr> &not_negative) {
  plan::Side side;
  *side.mutable_begin() = begin;
  *side.mutable_count() = count;
  *side.mutable_peer() = peer;
  for (const AffineExpr &e : not_negative)
    *side.add_condition()->mutable_expr() = e;
  return side;
}

std::vector<plan::Phase> RingAllReduce(int nodes, plan::Combine combine,
                                       double scale) {
  if (nodes == 1) return {};
  int64_t n = nodes;
  AffineExpr r = Rank(), s = RoundNumber(), one = Constant(1);
  AffineExpr next = (r + one) % n, last = (r + Constant(n - 1)) % n;
  return {MakePhase(uint32_t(n), uint32_t(n - 1), combine, scale,
                    MakeSide((r + s * -1) % n, one, next),
                    MakeSide((r + s * -1 + Constant(-1)) % n, one, last)),
          MakePhase(uint32_t(n), uint32_t(n - 1), plan::REPLACE, 0,
                    MakeSide((r + s * -1 + one) % n, one, next),
                    MakeSide((r + s * -1) % n, one, last))};
}

std::vector<plan::Phase> HalvingAllReduce(int nodes, plan::Combine combine,
                                          double scale) {
  int64_t n = nodes, p = 1;
  while (p * 2 <= n) p *= 2;
  AffineExpr r = Rank(), all = Constant(p), zero = Constant(0);
  std::vector<plan::Phase> phases;
  AffineExpr is_extra = r + Constant(-p), has_extra = r * -1 + Constant(n - p - 1);
  if (n > p)
    phases.push_back(
        MakePhase(uint32_t(p), 1, combine, 0,
                  MakeSide(zero, all, r + Constant(-p), {is_extra}),
                  MakeSide(zero, all, r + Constant(p), {has_extra})));
  AffineExpr inside = r * -1 + Constant(p - 1);
  for (int64_t d = p / 2; d >= 1; d /= 2) {
    AffineExpr base = r / (2 * d) * (2 * d), half = r % (2 * d) / d;
    AffineExpr peer = r + half * (-2 * d) + Constant(d);
    phases.push_back(MakePhase(
        uint32_t(p), 1, combine, d == 1 ? scale : 0,
        MakeSide(base + half * -d + Constant(d), Constant(d), peer, {inside}),
        MakeSide(base + half * d, Constant(d), peer, {inside})));
  }
  for (int64_t d = 1; d < p; d *= 2) {
    AffineExpr half = r % (2 * d) / d;
    AffineExpr peer = r + half * (-2 * d) + Constant(d);
    phases.push_back(
        MakePhase(uint32_t(p), 1, plan::REPLACE, 0,
                  MakeSide(r / d * d, Constant(d), peer, {inside}),
                  MakeSide(peer / d * d, Constant(d), peer, {inside})));
  }
  if (n > p)
    phases.push_back(
        MakePhase(uint32_t(p), 1, plan::REPLACE, 0,
                  MakeSide(zero, all, r + Constant(p), {has_extra}),
                  MakeSide(zero, all, r + Constant(-p), {is_extra})));
  return phases;
}

std::vector<plan::Phase> DoublingAllReduce(int nodes, plan::Combine combine) {
  std::vector<plan::Phase> phases;
  AffineExpr r = Rank(), zero = Constant(0), one = Constant(1);
  for (int64_t d = 1; d < nodes; d *= 2) {
    AffineExpr peer = r + r % (2 * d) / d * (-2 * d) + Constant(d);
    plan::Side side = MakeSide(zero, one, peer);
    phases.push_back(MakePhase(1, 1, combine, 0, side, side));
  }
  return phases;
}

uint32_t FunctionBuilder::AddBuffer(plan::Buffer buffer,
                                    plan::ElementType element,
                                    std::vector<int64_t> shape) {
  buffer.mutable_type()->set_element(element);
  for (int64_t d : shape) buffer.mutable_type()->add_shape(d);
  *function_->add_buffers() = buffer;
  return uint32_t(function_->buffers_size() - 1);
}

uint32_t FunctionBuilder::Arena(plan::ElementType element,
                                std::vector<int64_t> shape) {
  plan::Buffer buffer;
  buffer.set_kind(plan::Buffer::ARENA);
  buffer.set_offset(function_->arena_bytes());
  function_->set_arena_bytes(function_->arena_bytes() +
                             (Bytes(element, shape) + 63) / 64 * 64);
  return AddBuffer(buffer, element, shape);
}

uint32_t FunctionBuilder::Slot(bool next, uint32_t slot,
                               plan::ElementType element,
                               std::vector<int64_t> shape) {
  plan::Buffer buffer;
  buffer.set_kind(next ? plan::Buffer::SLOT_NEXT : plan::Buffer::SLOT_CURRENT);
  buffer.set_slot(slot);
  return AddBuffer(buffer, element, shape);
}

uint32_t FunctionBuilder::Batch(const std::string &name,
                                plan::ElementType element,
                                std::vector<int64_t> shape) {
  plan::Buffer buffer;
  buffer.set_kind(plan::Buffer::BATCH);
  buffer.set_batch(name);
  return AddBuffer(buffer, element, shape);
}

plan::Instruction *FunctionBuilder::Add(const std::string &name,
                                        std::vector<Wait> waits) {
  plan::Instruction *instruction = function_->add_instructions();
  instruction->set_name(name);
  for (const Wait &wait : waits) {
    plan::Dependence *d = instruction->add_dependences();
    d->set_instruction(wait.instruction);
    d->set_distance(wait.distance);
  }
  return instruction;
}

uint32_t FunctionBuilder::Run(const std::string &symbol,
                              std::vector<uint32_t> inputs,
                              std::vector<uint32_t> outputs,
                              std::vector<Wait> waits, bool deferred) {
  plan::Instruction *instruction = Add(symbol, waits);
  instruction->set_deferred(deferred);
  instruction->mutable_run()->set_symbol(symbol);
  for (uint32_t b : inputs) instruction->mutable_run()->add_inputs(b);
  for (uint32_t b : outputs) instruction->mutable_run()->add_outputs(b);
  return uint32_t(function_->instructions_size() - 1);
}

uint32_t FunctionBuilder::Copy(uint32_t source, uint32_t target,
                               std::vector<Wait> waits, bool deferred) {
  plan::Instruction *instruction = Add("copy", waits);
  instruction->set_deferred(deferred);
  instruction->mutable_copy()->set_source(source);
  instruction->mutable_copy()->set_target(target);
  return uint32_t(function_->instructions_size() - 1);
}

uint32_t FunctionBuilder::Delay(uint64_t nanoseconds, std::vector<Wait> waits) {
  Add("delay", waits)->mutable_delay()->set_nanoseconds(nanoseconds);
  return uint32_t(function_->instructions_size() - 1);
}

uint32_t FunctionBuilder::Communicate(const std::string &key, uint32_t buffer,
                                      const std::vector<plan::Phase> &phases,
                                      std::vector<Wait> waits) {
  plan::Communicate *c = Add(key, waits)->mutable_communicate();
  c->set_key(key);
  c->set_source_op("all_reduce");
  c->set_buffer(buffer);
  for (const plan::Phase &phase : phases) *c->add_phases() = phase;
  return uint32_t(function_->instructions_size() - 1);
}

uint32_t FunctionBuilder::Part(uint32_t parent, uint64_t offset,
                               plan::ElementType element,
                               std::vector<int64_t> shape) {
  plan::Buffer buffer;
  buffer.set_kind(plan::Buffer::PART);
  buffer.set_parent(parent);
  buffer.set_offset(offset);
  return AddBuffer(buffer, element, shape);
}

uint32_t FunctionBuilder::Push(const std::string &key, uint32_t server,
                               uint32_t block, uint32_t buffer,
                               std::vector<Wait> waits) {
  plan::Push *push = Add(key, waits)->mutable_push();
  push->set_key(key);
  push->set_server(server);
  push->set_block(block);
  push->set_buffer(buffer);
  return uint32_t(function_->instructions_size() - 1);
}

uint32_t FunctionBuilder::Pull(const std::string &key, uint32_t server,
                               uint32_t block, uint32_t buffer,
                               std::vector<Wait> waits) {
  plan::Pull *pull = Add(key, waits)->mutable_pull();
  pull->set_key(key);
  pull->set_server(server);
  pull->set_block(block);
  pull->set_buffer(buffer);
  return uint32_t(function_->instructions_size() - 1);
}

namespace {

template <typename Message>
void Fill(Message *message, const std::string &key,
          const FunctionBuilder::Parts &parts, uint64_t rows, uint32_t ids,
          uint32_t values) {
  message->set_key(key);
  message->set_rows(rows);
  message->set_ids(ids);
  message->set_values(values);
  for (const auto &[server, block, begin] : parts) {
    plan::TablePart *part = message->add_parts();
    part->set_server(server);
    part->set_block(block);
    part->set_row_begin(begin);
  }
}

}  // namespace

uint32_t FunctionBuilder::PushRows(const std::string &key, const Parts &parts,
                                   uint64_t rows, uint32_t ids, uint32_t values,
                                   std::vector<Wait> waits) {
  Fill(Add(key, waits)->mutable_push_rows(), key, parts, rows, ids, values);
  return uint32_t(function_->instructions_size() - 1);
}

uint32_t FunctionBuilder::PullRows(const std::string &key, const Parts &parts,
                                   uint64_t rows, uint32_t ids, uint32_t values,
                                   std::vector<Wait> waits) {
  Fill(Add(key, waits)->mutable_pull_rows(), key, parts, rows, ids, values);
  return uint32_t(function_->instructions_size() - 1);
}

void FunctionBuilder::Output(const std::string &metric, uint32_t buffer) {
  plan::Output *output = function_->add_outputs();
  output->set_metric(metric);
  output->set_buffer(buffer);
}

PlanBuilder::PlanBuilder(int nodes) {
  plan_.set_schema_version(1);
  plan_.set_producer("plan_builder");
  plan_.set_module_name("test");
  plan_.mutable_cluster()->set_nodes(uint32_t(nodes));
  plan_.mutable_cluster()->set_devices(1);
  plan_.add_locations("test.mlir:1:1");
  plan::CodeObject *object = plan_.add_objects();
  object->set_target("x86_64-unknown-linux-gnu;x86-64");
  std::ifstream file(COMMSCHED_TEST_FRAGMENTS, std::ios::binary);
  object->set_elf(std::string(std::istreambuf_iterator<char>(file), {}));
}

uint32_t PlanBuilder::Slot(const std::string &name, plan::ElementType element,
                           std::vector<int64_t> shape, bool param) {
  plan::Slot *slot = plan_.add_slots();
  slot->set_name(name);
  slot->set_kind(param ? plan::Slot::PARAM : plan::Slot::STATE);
  slot->mutable_type()->set_element(element);
  for (int64_t d : shape) slot->mutable_type()->add_shape(d);
  return uint32_t(plan_.slots_size() - 1);
}

FunctionBuilder PlanBuilder::Function(const std::string &name) {
  plan::Function *function = plan_.add_functions();
  function->set_name(name);
  function->set_is_step(plan_.functions_size() == 1);
  return FunctionBuilder(function);
}

std::string PlanBuilder::Bytes() const { return plan::Serialize(plan_); }

}  // namespace commsched::testing
