// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/drawn_plan.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plan/plan_file.h"
#include "tests/runtime/plan_builder.h"

namespace commsched::runtime::cuda {
namespace {

constexpr uint64_t kWord = kDrawnWord;

// Bytes that an instruction uses, in the terms of the plan: of the arena, of the host's arena, of a
// slot's value before or behind the step.
struct Used {
  enum Memory {
    kArena,
    kHost,
    kCurrent,
    kNext
  } memory = kArena;
  uint32_t slot = 0;
  uint64_t begin = 0, end = 0;
};

class PlanDrawer {
 public:
  PlanDrawer(std::mt19937_64 &random, const DrawnPlanOptions &options)
      : random_(random), options_(options), builder_(1 + int(random() % uint64_t(options.most_ranks))) {
    ranks_ = int(builder_.proto().cluster().nodes());
    plan::Plan &plan = builder_.proto();
    plan.clear_objects();
    plan.mutable_cluster()->set_device_kind("cuda");
    plan.mutable_cuda()->set_architecture("sm_90");
  }

  DrawnPlan Make() {
    for (uint64_t left = 2 + Draw(3); left-- > 0;) {
      slot_words_.push_back(int64_t(1 + Draw(5)) * ranks_);
      builder_.Slot(absl::StrCat("s", slot_words_.size() - 1), plan::I32, {slot_words_.back()});
    }
    MakeFunction("step", true);
    if (Draw(2) == 0) MakeFunction("eval", false);
    plan::Plan &plan = builder_.proto();
    result_.functions = plan.functions_size();
    result_.slots = uint32_t(plan.slots_size());
    if (result_.servers) MakeServers();
    uint64_t features = uint64_t{1} << plan::FEATURE_CUDA;
    if (result_.messages) features |= uint64_t{1} << plan::FEATURE_EXCHANGE;
    if (result_.nccl) features |= uint64_t{1} << plan::FEATURE_NCCL;
    if (copies_) features |= uint64_t{1} << plan::FEATURE_DEVICES;
    if (result_.servers) features |= uint64_t{1} << plan::FEATURE_PARAMETER_SERVER;
    plan.set_required_features(features);
    plan.mutable_cuda()->set_ptx(ptx_);
    result_.proto = plan;
    result_.bytes = builder_.Bytes();
    for (const auto &[name, kernel] : result_.kernels) {
      result_.fakes[name] = {name, kernel.bytes.size(), [kernel](const FakeLaunch &launch) {
                               FakeWork work;
                               for (size_t i = 0; i < launch.pointers.size(); ++i) {
                                 const auto at = reinterpret_cast<uintptr_t>(launch.pointers[i]);
                                 (i < kernel.reads ? work.reads : work.writes)
                                     .push_back({at, at + kernel.bytes[i]});
                               }
                               work.body = [kernel, pointers = launch.pointers] {
                                 MixWords(kernel, pointers);
                               };
                               return work;
                             }};
    }
    return std::move(result_);
  }

 private:
  // A value of the function under construction.
  struct Value {
    uint32_t buffer = 0;
    int64_t words = 0;
    bool free_later = true;  // in the arena
  };

  uint64_t Draw(uint64_t below) { return random_() % below; }

  // One of the two arenas: places that are used again.
  uint64_t Place(bool host, int64_t words) {
    const uint64_t bytes = uint64_t(words) * kWord;
    plan::Function *f = function_->proto();
    // Somewhere where nothing lives, or behind the end.
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (const Value &value : live_) {
      const plan::Buffer &b = f->buffers(int(value.buffer));
      if (b.kind() == plan::Buffer::ARENA && b.host() == host)
        taken.emplace_back(b.offset(), b.offset() + uint64_t(value.words) * kWord);
    }
    const uint64_t size = host ? f->host_arena_bytes() : f->arena_bytes();
    for (int tries = 0; tries < 4 && size >= bytes; ++tries) {
      const uint64_t at = Draw((size - bytes) / kWord + 1) * kWord;
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const auto &other) {
        return at < other.second && other.first < at + bytes;
      });
      if (free) return at;
    }
    if (host)
      f->set_host_arena_bytes(size + bytes);
    else
      f->set_arena_bytes(size + bytes);
    return size;
  }
  uint32_t Buffer(int64_t words, bool host = false, plan::ElementType element = plan::I32) {
    plan::Buffer buffer;
    buffer.set_kind(plan::Buffer::ARENA);
    buffer.set_offset(Place(host, words));
    buffer.set_host(host);
    buffer.mutable_type()->set_element(element);
    buffer.mutable_type()->add_shape(words);
    *function_->proto()->add_buffers() = buffer;
    const auto index = uint32_t(function_->proto()->buffers_size() - 1);
    live_.push_back({index, words});
    return index;
  }
  void Release(uint32_t buffer) {
    std::erase_if(live_, [buffer](const Value &v) { return v.buffer == buffer; });
  }

  Used UsedOf(uint32_t buffer) const {
    const plan::Buffer &b = function_->proto()->buffers(int(buffer));
    uint64_t bytes = kWord;
    for (int64_t d : b.type().shape()) bytes *= uint64_t(d);
    if (b.kind() == plan::Buffer::SLOT_CURRENT) return {Used::kCurrent, b.slot(), 0, bytes};
    if (b.kind() == plan::Buffer::SLOT_NEXT) return {Used::kNext, b.slot(), 0, bytes};
    if (b.kind() == plan::Buffer::BATCH) return {Used::kCurrent, UINT32_MAX, 0, 0};
    return {b.host() ? Used::kHost : Used::kArena, 0, b.offset(), b.offset() + bytes};
  }
  // `later`: whether b is of the next step.
  static bool Overlap(const Used &a, const Used &b, bool later) {
    Used::Memory of = a.memory;
    // What is next now is current then; and what is current now is written then.
    if (later && of == Used::kNext)
      of = Used::kCurrent;
    else if (later && of == Used::kCurrent)
      of = Used::kNext;
    return of == b.memory && a.slot == b.slot && a.begin < b.end && b.begin < a.end;
  }
  struct Uses {
    std::vector<Used> reads, writes;
  };
  static bool Conflict(const Uses &a, const Uses &b, bool later) {
    const auto any = [later](const std::vector<Used> &x, const std::vector<Used> &y) {
      for (const Used &i : x) {
        for (const Used &j : y) {
          if (Overlap(i, j, later)) return true;
        }
      }
      return false;
    };
    return any(a.writes, b.reads) || any(a.writes, b.writes) || any(a.reads, b.writes);
  }

  plan::Instruction *Add(const std::string &name, const std::vector<uint32_t> &reads,
                         const std::vector<uint32_t> &writes) {
    Uses uses;
    for (uint32_t b : reads) uses.reads.push_back(UsedOf(b));
    for (uint32_t b : writes) uses.writes.push_back(UsedOf(b));
    plan::Instruction *instruction = function_->Add(name, {});
    for (uint32_t other = 0; other < uses_.size(); ++other) {
      // And some that nothing asks for.
      if (Conflict(uses_[other], uses, false) || Draw(20) == 0) Depend(instruction, other, 0);
    }
    uses_.push_back(std::move(uses));
    return instruction;
  }
  static void Depend(plan::Instruction *instruction, uint32_t on, uint32_t distance) {
    for (const plan::Dependence &d : instruction->dependences()) {
      if (d.instruction() == on && d.distance() == distance) return;
    }
    plan::Dependence *d = instruction->add_dependences();
    d->set_instruction(on);
    d->set_distance(distance);
  }

  // Some values that can be read.
  std::vector<Value> Some(size_t most) {
    std::vector<Value> some;
    for (uint64_t left = 1 + Draw(most); left-- > 0;) {
      const Value value = values_[Draw(values_.size())];
      const bool known = std::any_of(some.begin(), some.end(),
                                     [&](const Value &v) { return v.buffer == value.buffer; });
      if (!known) some.push_back(value);
    }
    return some;
  }

  std::string Kernel(const std::vector<int64_t> &reads, const std::vector<int64_t> &writes) {
    DrawnKernel kernel;
    for (int64_t words : reads) kernel.bytes.push_back(uint64_t(words) * kWord);
    for (int64_t words : writes) kernel.bytes.push_back(uint64_t(words) * kWord);
    kernel.reads = reads.size();
    kernel.number = uint32_t(result_.kernels.size());
    const std::string name = absl::StrCat("mix_", kernel.number);
    absl::StrAppend(&ptx_, ".visible .entry ", name, "()\n");
    result_.kernels[name] = std::move(kernel);
    return name;
  }

  // Mixes some values into buffers that are there.
  void Launch(const std::vector<Value> &inputs, const std::vector<Value> &outputs, bool in_order = false) {
    plan::Cuda *cuda = builder_.proto().mutable_cuda();
    plan::Cuda::Fragment *fragment = cuda->add_fragments();
    const auto index = uint32_t(cuda->fragments_size() - 1);
    fragment->set_symbol(absl::StrCat("frag_", index));
    fragment->set_inputs(uint32_t(inputs.size()));
    fragment->set_outputs(uint32_t(outputs.size()));
    const auto launch = [&](const std::string &kernel) {
      plan::Cuda::Launch *made = fragment->add_steps()->mutable_launch();
      made->set_kernel(kernel);
      for (int i = 0; i < 3; ++i) made->add_grid(1), made->add_block(1);
      return made;
    };
    const auto address = [](plan::Cuda::Launch *of, plan::Cuda::Address::Base base, size_t index) {
      plan::Cuda::Address *made = of->add_arguments();
      made->set_base(base);
      made->set_index(uint32_t(index));
    };
    std::vector<int64_t> reads, writes;
    for (const Value &v : inputs) reads.push_back(v.words);
    for (const Value &v : outputs) writes.push_back(v.words);
    const int64_t scratch = int64_t(Draw(3));
    if (scratch != 0) {
      fragment->set_scratch_bytes(uint64_t(scratch) * kWord);
      function_->proto()->set_scratch_bytes(
          std::max(function_->proto()->scratch_bytes(), fragment->scratch_bytes()));
      plan::Cuda::Launch *first = launch(Kernel(reads, {scratch}));
      for (size_t i = 0; i < reads.size(); ++i) address(first, plan::Cuda::Address::INPUT, i);
      address(first, plan::Cuda::Address::SCRATCH, 0);
      plan::Cuda::Launch *second = launch(Kernel({scratch}, writes));
      address(second, plan::Cuda::Address::SCRATCH, 0);
      for (size_t i = 0; i < writes.size(); ++i) address(second, plan::Cuda::Address::OUTPUT, i);
    } else {
      plan::Cuda::Launch *only = launch(Kernel(reads, writes));
      for (size_t i = 0; i < reads.size(); ++i) address(only, plan::Cuda::Address::INPUT, i);
      for (size_t i = 0; i < writes.size(); ++i) address(only, plan::Cuda::Address::OUTPUT, i);
    }
    std::vector<uint32_t> in, out;
    for (const Value &v : inputs) in.push_back(v.buffer);
    for (const Value &v : outputs) out.push_back(v.buffer);
    plan::Instruction *instruction = Add(absl::StrCat("mix ", uses_.size()), in, out);
    instruction->set_deferred(!in_order && Draw(3) == 0);
    plan::Launch *made = instruction->mutable_launch();
    made->set_fragment(index);
    for (uint32_t b : in) made->add_inputs(b);
    for (uint32_t b : out) made->add_outputs(b);
  }

  void Mix() {
    const std::vector<Value> inputs = Some(3);
    std::vector<Value> outputs;
    for (uint64_t left = 1 + Draw(2); left-- > 0;) {
      const int64_t words = int64_t(1 + Draw(4)) * ranks_;
      outputs.push_back({Buffer(words), words});
    }
    Launch(inputs, outputs);
    values_.insert(values_.end(), outputs.begin(), outputs.end());
  }

  uint32_t Copy(const std::string &name, uint32_t from, uint32_t to,
                plan::CopyBuffer::Direction direction) {
    plan::Instruction *instruction = Add(name, {from}, {to});
    plan::CopyBuffer *copy = instruction->mutable_copy();
    copy->set_source(from);
    copy->set_target(to);
    copy->set_direction(direction);
    copy->set_in_line(direction != plan::CopyBuffer::LOCAL && Draw(8) == 0);
    copies_ |= direction != plan::CopyBuffer::LOCAL;
    return to;
  }

  void Message() {
    const Value value = values_[Draw(values_.size())];
    const std::string key = absl::StrCat("key ", keys_++);
    const uint32_t host = Buffer(value.words, true);
    Copy(key + ".to_host", value.buffer, host, plan::CopyBuffer::TO_HOST);
    uint32_t working = host;
    const bool input = Draw(3) == 0;
    if (input) working = Buffer(value.words, true);
    plan::Instruction *instruction =
        Add(key, input ? std::vector<uint32_t>{host} : std::vector<uint32_t>{}, {working});
    plan::Communicate *c = instruction->mutable_communicate();
    c->set_key(key);
    c->set_source_op("all_reduce");
    c->set_buffer(working);
    if (input) {
      c->set_has_input(true);
      c->set_input(host);
    }
    const plan::Combine combine = Draw(2) == 0 ? plan::SUM : plan::MAX;
    const auto phases = Draw(2) == 0 ? testing::RingAllReduce(ranks_, combine, 0)
                                     : testing::HalvingAllReduce(ranks_, combine, 0);
    if (ranks_ > 1)
      for (const plan::Phase &phase : phases) *c->add_phases() = phase;
    const uint32_t back = Buffer(value.words);
    Copy(key + ".to_device", working, back, plan::CopyBuffer::TO_DEVICE);
    Release(host);
    Release(working);
    values_.push_back({back, value.words});
    result_.messages = true;
    combines_.emplace(key, combine);
  }

  void Collective() {
    const Value value = values_[Draw(values_.size())];
    const std::string key = absl::StrCat("nccl ", keys_++);
    const auto kind = plan::Nccl::Kind(Draw(3));
    const auto reduction = Draw(2) == 0 ? plan::Nccl::SUM : plan::Nccl::MAX;
    plan::Communicate c;
    c.set_key(key);
    c.set_source_op("all_reduce");
    std::vector<uint32_t> reads, writes;
    if (kind == plan::Nccl::ALL_REDUCE) {
      const uint32_t to = Buffer(value.words);
      c.set_buffer(to);
      c.set_has_input(true);
      c.set_input(value.buffer);
      reads = {value.buffer};
      writes = {to};
      values_.push_back({to, value.words});
    } else if (kind == plan::Nccl::REDUCE_SCATTER) {
      // All values are of a number of words that the ranks divide; the buffer is one that it may
      // write.
      if (!IsArena(value.buffer)) return;
      const uint32_t to = Buffer(value.words / ranks_);
      c.set_buffer(value.buffer);
      c.set_has_output(true);
      c.set_output(to);
      reads = {value.buffer};
      writes = {to};
      shards_.push_back({to, value.words / ranks_});
    } else {
      if (shards_.empty()) return;
      const Value shard = shards_[Draw(shards_.size())];
      const uint32_t to = Buffer(shard.words * ranks_);
      c.set_buffer(to);
      c.set_has_input(true);
      c.set_input(shard.buffer);
      c.set_input_is_shard(true);
      reads = {shard.buffer};
      writes = {to};
      values_.push_back({to, shard.words * ranks_});
    }
    c.mutable_nccl()->set_kind(kind);
    c.mutable_nccl()->set_reduction(reduction);
    c.mutable_nccl()->set_number(numbers_++);
    *Add(key, reads, writes)->mutable_communicate() = c;
    result_.nccl = true;
  }
  // A value of its own goes to a server. Its place in staging memory may be used again then.
  void Push() {
    Block block;
    block.words = int64_t(1 + Draw(4)) * ranks_;
    block.key = absl::StrCat("block ", keys_++);
    block.server = uint32_t(Draw(2));
    if (server_blocks_.size() <= block.server) block.server = uint32_t(server_blocks_.size());
    if (server_blocks_.size() == block.server) server_blocks_.push_back(0);
    block.number = server_blocks_[block.server]++;
    const uint32_t value = Buffer(block.words, false, plan::F32);
    Launch(Some(3), {{value, block.words}});
    block.staging = Buffer(block.words, true, plan::F32);
    Copy(block.key + ".to_host", value, block.staging, plan::CopyBuffer::TO_HOST);
    Release(value);
    block.pushed = uint32_t(uses_.size());
    plan::Push *push = Add(block.key, {block.staging}, {})->mutable_push();
    push->set_key(block.key);
    push->set_server(block.server);
    push->set_block(block.number);
    push->set_buffer(block.staging);
    block.stays = Draw(3) == 0;
    if (!block.stays) Release(block.staging);
    blocks_.push_back(block);
    unpulled_.push_back(blocks_.size() - 1);
    result_.servers = true;
  }

  // What a server has of a block is mixed into a value, or into `to`. `pushed`: in this function.
  void Pull(size_t which, bool pushed, std::optional<Value> to = std::nullopt) {
    const Block block = blocks_[which];
    const bool same = pushed && block.stays;
    const uint32_t staging = same ? block.staging : Buffer(block.words, true, plan::F32);
    const auto pulled = uint32_t(uses_.size());
    plan::Instruction *instruction = Add(block.key + ".new", {}, {staging});
    plan::Pull *pull = instruction->mutable_pull();
    pull->set_key(block.key + ".new");
    pull->set_server(block.server);
    pull->set_block(block.number);
    pull->set_buffer(staging);
    if (pushed) {
      Depend(instruction, block.pushed, 0);
      Depend(function_->proto()->mutable_instructions(int(block.pushed)), pulled, 1);
    }
    const uint32_t back = Buffer(block.words, false, plan::F32);
    Copy(block.key + ".to_device", staging, back, plan::CopyBuffer::TO_DEVICE);
    Release(staging);
    if (to.has_value()) {
      Launch({{back, block.words}}, {*to});
      return Release(back);
    }
    const int64_t words = int64_t(1 + Draw(4)) * ranks_;
    const Value mixed = {Buffer(words), words};
    Launch({{back, block.words}}, {mixed});
    Release(back);
    values_.push_back(mixed);
  }
  void PullOne() {
    if (unpulled_.empty()) return;
    const size_t at = Draw(unpulled_.size());
    Pull(unpulled_[at], true);
    unpulled_.erase(unpulled_.begin() + ptrdiff_t(at));
  }

  // A block's function copies the sum into its slot.
  void MakeServers() {
    plan::Plan &plan = builder_.proto();
    plan::Role *trainer = plan.add_roles();
    trainer->set_name("trainer");
    trainer->set_count(uint32_t(ranks_));
    for (int f = 0; f < result_.functions; ++f) trainer->add_functions(uint32_t(f));
    for (uint32_t s = 0; s < result_.slots; ++s) trainer->add_slots(s);
    plan::ParameterServers *servers = plan.mutable_parameter_servers();
    servers->set_mode(plan::ParameterServers::SYNC);
    servers->set_merge(1);
    for (uint32_t k = 0; k < server_blocks_.size(); ++k) {
      plan::Role *role = plan.add_roles();
      role->set_name(absl::StrCat("server.", k));
      role->set_count(1);
      plan::Server *server = servers->add_servers();
      server->set_role(uint32_t(plan.roles_size() - 1));
      for (const Block &block : blocks_) {
        if (block.server != k) continue;
        const uint32_t slot = builder_.Slot(absl::StrCat("server.", k, "/#", block.key), plan::F32,
                                            {block.words}, false);
        plan.mutable_slots(int(slot))->set_internal(true);
        role->add_slots(slot);
        role->add_functions(uint32_t(plan.functions_size()));
        plan::ServerBlock *made = server->add_blocks();
        made->set_key(block.key);
        made->set_pull_key(block.key + ".new");
        made->set_function(uint32_t(plan.functions_size()));
        made->set_slot(slot);
        testing::FunctionBuilder f = builder_.Function(absl::StrCat("server.", k, "/", block.key));
        const uint32_t sum = f.Batch(block.key, plan::F32, {block.words});
        f.Copy(sum, f.Slot(true, slot, plan::F32, {block.words}));
      }
    }
  }

  bool IsArena(uint32_t buffer) const {
    return function_->proto()->buffers(int(buffer)).kind() == plan::Buffer::ARENA;
  }

  // The memory of some values may be used again.
  void Forget() {
    if (values_.size() < 3) return;
    const size_t at = Draw(values_.size());
    if (!IsArena(values_[at].buffer)) return;
    Release(values_[at].buffer);
    values_.erase(values_.begin() + ptrdiff_t(at));
  }

  void MakeFunction(const std::string &name, bool is_step) {
    testing::FunctionBuilder function = builder_.Function(name);
    function_ = &function;
    values_.clear();
    shards_.clear();
    live_.clear();
    uses_.clear();
    numbers_ = 0;
    for (uint32_t slot = 0; slot < slot_words_.size(); ++slot) {
      if (slot == 0 || Draw(4) != 0)
        values_.push_back({function.Slot(false, slot, plan::I32, {slot_words_[slot]}),
                           slot_words_[slot], false});
    }
    for (uint64_t b = Draw(3); b-- > 0;) {
      const int64_t words = int64_t(1 + Draw(4)) * ranks_;
      values_.push_back(
          {function.Batch(absl::StrCat("b", b), plan::I32, {words}), words, false});
    }
    for (size_t slot = 0, slots = values_.size(); slot < slots && is_step && options_.servers; ++slot) {
      if (values_[slot].free_later) continue;
      const int64_t words = int64_t(1 + Draw(4)) * ranks_;
      const Value forward = {Buffer(words), words};
      Launch({values_[slot]}, {forward}, /*in_order=*/true);
      values_.push_back(forward);
    }
    for (uint64_t left = 2 + Draw(12); left-- > 0;) {
      const uint64_t which = Draw(6);
      if (which < 2)
        Mix();
      else if (which == 2 && options_.messages)
        Message();
      else if (which == 3 && options_.nccl)
        Collective();
      else if (which == 4)
        Forget();
      else if (which == 5 && Draw(2) == 0) {
        const Value from = values_[Draw(values_.size())];
        const Value to = {Buffer(from.words), from.words};
        Copy("copy", from.buffer, to.buffer, plan::CopyBuffer::LOCAL);
        values_.push_back(to);
      }
      if (!options_.servers) continue;
      if (is_step && Draw(3) == 0)
        Push();
      else if (is_step && Draw(2) == 0)
        PullOne();
      else if (!is_step && !blocks_.empty() && Draw(4) == 0)
        Pull(Draw(blocks_.size()), false);
    }
    while (!unpulled_.empty()) PullOne();
    // As layers are: the last ones first, and needed last in the next step.
    std::set<uint32_t> pulled;
    for (auto slot = uint32_t(slot_words_.size()); slot-- > 0 && is_step && options_.servers;) {
      if (Draw(2) == 0) continue;
      Push();
      const uint32_t next = function.Slot(true, slot, plan::I32, {slot_words_[slot]});
      Pull(unpulled_.back(), true, Value{next, slot_words_[slot], false});
      unpulled_.pop_back();
      pulled.insert(slot);
    }
    for (uint32_t slot = 0; slot < slot_words_.size(); ++slot) {
      if (pulled.count(slot) != 0 || Draw(is_step ? 4 : 2) == 0) continue;
      const uint32_t next = function.Slot(true, slot, plan::I32, {slot_words_[slot]});
      Launch(Some(2), {{next, slot_words_[slot], false}});
    }
    for (uint64_t left = Draw(3); left-- > 0;) {
      const uint32_t metric = Buffer(1);
      Launch(Some(2), {{metric, 1}});
      function.Output(absl::StrCat("m", left), metric);
      // Its memory is kept: it is read when the instruction has completed.
    }
    // Order from one step to the next.
    for (uint32_t i = 0; i < uses_.size(); ++i) {
      for (uint32_t j = 0; j < uses_.size(); ++j) {
        if (Conflict(uses_[j], uses_[i], true) || Draw(100) == 0)
          Depend(function.proto()->mutable_instructions(int(i)), j, 1);
      }
    }
    function_ = nullptr;
  }

  std::mt19937_64 &random_;
  const DrawnPlanOptions options_;
  testing::PlanBuilder builder_;
  int ranks_ = 1;
  DrawnPlan result_;
  std::string ptx_;
  std::vector<int64_t> slot_words_;
  testing::FunctionBuilder *function_ = nullptr;
  std::vector<Value> values_, shards_, live_;
  std::vector<Uses> uses_;  // of each instruction
  struct Block {
    std::string key;
    uint32_t server = 0, number = 0;
    int64_t words = 0;
    // Of the step: where it is sent from, whether that place is kept for what comes back, and the
    // instruction.
    uint32_t staging = 0;
    bool stays = false;
    uint32_t pushed = 0;
  };
  std::vector<Block> blocks_;
  std::vector<size_t> unpulled_;         // of the step under construction
  std::vector<uint32_t> server_blocks_;  // how many of each server
  uint32_t keys_ = 0, numbers_ = 0;
  bool copies_ = false;
  std::map<std::string, plan::Combine> combines_;
};

}  // namespace

DrawnPlan DrawPlan(std::mt19937_64 &random, const DrawnPlanOptions &options) {
  return PlanDrawer(random, options).Make();
}

}  // namespace commsched::runtime::cuda
