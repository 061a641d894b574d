// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans for CUDA devices: what the loader makes of them, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "runtime/loading/plan_loader.h"
#include "tests/runtime/plan_mutator.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using ::testing::HasSubstr;
using testing::LoadError;
using testing::PlanBuilder;
using FunctionBuilder = testing::FunctionBuilder;

constexpr int kNodes = 4;

void AddAddress(plan::Cuda::Address *address, plan::Cuda::Address::Base base, uint32_t index,
                uint64_t offset) {
  address->set_base(base);
  address->set_index(index);
  address->set_offset(offset);
}

plan::Launch *Launch(FunctionBuilder *f, const std::string &name, uint32_t fragment,
                     std::vector<uint32_t> inputs, std::vector<uint32_t> outputs,
                     std::vector<FunctionBuilder::Wait> waits) {
  plan::Launch *launch = f->Add(name, std::move(waits))->mutable_launch();
  launch->set_fragment(fragment);
  for (uint32_t b : inputs) launch->add_inputs(b);
  for (uint32_t b : outputs) launch->add_outputs(b);
  launch->set_bytes(4096);
  return launch;
}

void AddCopy(FunctionBuilder *f, const std::string &name, uint32_t source, uint32_t target,
             plan::CopyBuffer::Direction direction, std::vector<FunctionBuilder::Wait> waits) {
  plan::CopyBuffer *copy = f->Add(name, std::move(waits))->mutable_copy();
  copy->set_source(source);
  copy->set_target(target);
  copy->set_direction(direction);
}

// A step with a product and a kernel, a collective of NCCL of each kind, and one through the host.
// Buffers: 0 batch, 1 and 2 the slot, 3 gradient, 4 shard, 5 and 6 staging, 7 loss.
PlanBuilder CudaPlan() {
  PlanBuilder plan(kNodes);
  plan.proto().set_required_features(plan.proto().required_features() | uint64_t{1} << plan::FEATURE_CUDA |
                                     uint64_t{1} << plan::FEATURE_NCCL | uint64_t{1} << plan::FEATURE_DEVICES);
  plan.proto().mutable_cluster()->set_device_kind("cuda");
  plan.proto().mutable_cluster()->set_device_gb_per_s(2);
  plan::Kernel *kernel = plan.proto().add_kernels();
  kernel->set_kind("matmul");
  for (int i = 0; i < 3; ++i) {
    plan::KernelTensor *t = kernel->add_operands();
    t->set_element(plan::F32);
    for (int d = 0; d < 2; ++d) t->add_dims(8), t->add_strides(d == 0 ? 8 : 1);
  }
  plan::Cuda *cuda = plan.proto().mutable_cuda();
  cuda->set_ptx(".version 8.0\n.target sm_90\n.visible .entry nest_0(\n)\n{\nret;\n}\n.visible .entry nest_1(\n)\n{\nret;\n}\n");
  cuda->set_architecture("sm_90");
  for (int i = 0; i < 2; ++i) {
    plan::Cuda::Fragment *fragment = cuda->add_fragments();
    fragment->set_symbol(i == 0 ? "frag_0" : "frag_1");
    fragment->set_inputs(2);
    fragment->set_outputs(1);
    fragment->set_scratch_bytes(512);
    if (i == 0) {
      plan::Cuda::LibraryCall *call = fragment->add_steps()->mutable_library();
      AddAddress(call->add_operands(), plan::Cuda::Address::INPUT, 0, 0);
      AddAddress(call->add_operands(), plan::Cuda::Address::INPUT, 1, 0);
      AddAddress(call->add_operands(), plan::Cuda::Address::SCRATCH, 0, 256);
    }
    plan::Cuda::Launch *launch = fragment->add_steps()->mutable_launch();
    launch->set_kernel(i == 0 ? "nest_0" : "nest_1");
    for (uint32_t n : {7u, 1u, 1u}) launch->add_grid(n);
    for (uint32_t n : {256u, 1u, 1u}) launch->add_block(n);
    launch->set_shared_bytes(32);
    AddAddress(launch->add_arguments(), plan::Cuda::Address::SCRATCH, 0, 256);
    AddAddress(launch->add_arguments(), plan::Cuda::Address::INPUT, 1, 128);
    AddAddress(launch->add_arguments(), plan::Cuda::Address::OUTPUT, 0, i == 0 ? 252 : 0);
  }
  const std::vector<int64_t> shape = {8, 8};
  const uint32_t w = plan.Slot("w", plan::F32, shape);
  FunctionBuilder f = plan.Function("step");
  const uint32_t x = f.Batch("x", plan::F32, shape);
  const uint32_t now = f.Slot(false, w, plan::F32, shape), next = f.Slot(true, w, plan::F32, shape);
  const uint32_t g = f.Arena(plan::F32, shape), shard = f.Arena(plan::F32, {2, 8});
  const uint32_t staged = f.Arena(plan::F32, shape), loss = f.Arena(plan::F32, {});
  f.proto()->mutable_buffers(int(staged))->set_host(true);
  f.proto()->mutable_buffers(int(staged))->set_offset(0);
  f.proto()->set_host_arena_bytes(256);
  const uint32_t part = f.Part(staged, 0, plan::F32, {8, 8});
  f.proto()->mutable_buffers(int(part))->set_host(true);
  f.proto()->set_scratch_bytes(512);
  Launch(&f, "gradient", 0, {x, now}, {g}, {{6, 1}});
  const auto nccl = [&](const std::string &key, plan::Nccl::Kind kind, uint32_t number) {
    plan::Communicate *c = f.Add(key, {{number}})->mutable_communicate();
    c->set_key(key);
    c->set_buffer(g);
    c->mutable_nccl()->set_kind(kind);
    c->mutable_nccl()->set_reduction(plan::Nccl::MEAN);
    c->mutable_nccl()->set_number(number);
    return c;
  };
  nccl("w", plan::Nccl::ALL_REDUCE, 0);
  plan::Communicate *scatters = nccl("w.scattered", plan::Nccl::REDUCE_SCATTER, 1);
  scatters->set_has_output(true);
  scatters->set_output(shard);
  plan::Communicate *gathers = nccl("w.gathered", plan::Nccl::ALL_GATHER, 2);
  gathers->set_has_input(true);
  gathers->set_input(shard);
  gathers->set_input_is_shard(true);
  AddCopy(&f, "g.to_host", g, staged, plan::CopyBuffer::TO_HOST, {{3}});
  f.Communicate("g", part, testing::RingAllReduce(kNodes, plan::SUM, 0), {{4}});
  AddCopy(&f, "g.to_device", staged, g, plan::CopyBuffer::TO_DEVICE, {{5}});
  Launch(&f, "update", 1, {g, now}, {next}, {{6}});
  Launch(&f, "loss", 1, {g, now}, {loss}, {{6}});
  f.Output("loss", loss);
  return plan;
}

plan::Function *Step(plan::Plan &p) { return p.mutable_functions(0); }
plan::Instruction *At(plan::Plan &p, int i) { return Step(p)->mutable_instructions(i); }
plan::Cuda::Launch *Kernel(plan::Plan &p, int fragment) {
  plan::Cuda::Fragment *f = p.mutable_cuda()->mutable_fragments(fragment);
  return f->mutable_steps(f->steps_size() - 1)->mutable_launch();
}
plan::Cuda::LibraryCall *Library(plan::Plan &p) {
  return p.mutable_cuda()->mutable_fragments(0)->mutable_steps(0)->mutable_library();
}
plan::Nccl *Nccl(plan::Plan &p, int i) { return At(p, i)->mutable_communicate()->mutable_nccl(); }
void Without(plan::Plan &p, plan::Feature feature) {
  p.set_required_features(p.required_features() & ~(uint64_t{1} << feature));
}

TEST(PlanCudaTest, Converts) {
  auto image = runtime::PlanImage::Load(CudaPlan().Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  auto program = (*image)->ForRank(3);
  ASSERT_TRUE(program.ok()) << program.status();
  const plan::CudaModule &cuda = *(*program)->cuda;
  EXPECT_EQ(cuda.architecture, "sm_90");
  ASSERT_EQ(cuda.fragments.size(), 2u);
  ASSERT_EQ(cuda.fragments[0].steps.size(), 2u);
  const auto &launch = std::get<plan::CudaLaunch>(cuda.fragments[0].steps[1]);
  EXPECT_EQ(launch.kernel, "nest_0");
  EXPECT_EQ(launch.grid[0], 7u);
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.arguments[1],
            (plan::CudaAddress{plan::CudaAddress::Base::kInput, 1, 128}));
  const runtime::FunctionProgram &f = (*program)->functions[0];
  EXPECT_EQ(f.host_arena_bytes, 256u);
  EXPECT_TRUE(f.buffers[5].host);
  EXPECT_TRUE(f.buffers[7].host);
  EXPECT_FALSE(f.buffers[3].host);
  EXPECT_EQ(f.instructions[0].kind, runtime::InstructionProgram::kLaunch);
  EXPECT_EQ(f.instructions[0].launch.operands, (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_EQ(f.instructions[0].nanoseconds, 2048u);
  const runtime::CommunicateProgram &scatters = f.instructions[2].communicate;
  ASSERT_TRUE(scatters.nccl.has_value());
  EXPECT_EQ(scatters.nccl->kind, runtime::NcclProgram::kReduceScatter);
  EXPECT_EQ(scatters.nccl->number, 1u);
  EXPECT_EQ(scatters.output_bytes, 64u);
  EXPECT_TRUE(scatters.phases.empty());
  EXPECT_FALSE(f.instructions[5].communicate.nccl.has_value());
}

TEST(PlanCudaTest, NamesWhatIsWrong) {
  using Change = std::function<void(plan::Plan &)>;
  const std::vector<std::pair<Change, std::string>> wrong = {
      {[](auto &) {}, ""},
      {[](auto &p) { Without(p, plan::FEATURE_CUDA); }, "code for CUDA devices needs FEATURE_CUDA"},
      {[](auto &p) { Without(p, plan::FEATURE_NCCL); }, "a collective by NCCL needs FEATURE_NCCL"},
      {[](auto &p) { p.mutable_cuda()->set_architecture("90"); }, "must match sm_<number>, got: \"90\""},
      {[](auto &p) { Kernel(p, 0)->set_kernel("nest"); }, "CUDA fragment 0 \"frag_0\": step 1: the PTX has no kernel \"nest\""},
      {[](auto &p) { Kernel(p, 0)->set_grid(0, 0); }, "grid must be 1 to 2147483647 x 65535 x 65535, got: 0 x 1 x 1"},
      {[](auto &p) { Kernel(p, 0)->set_grid(1, 65536); }, "got: 7 x 65536 x 1"},
      {[](auto &p) { Kernel(p, 0)->add_grid(1); }, "got: 7 x 1 x 1 x 1"},
      {[](auto &p) { Kernel(p, 1)->set_block(2, 65); }, "block must be 1 to 1024 x 1024 x 64, got: 256 x 1 x 65"},
      {[](auto &p) { Kernel(p, 1)->set_block(1, 8); }, "threads of a block must be at most 1024, got: 2048"},
      {[](auto &p) { Kernel(p, 1)->set_shared_bytes(49153); }, "shared memory must be at most 49152 bytes, got: 49153"},
      {[](auto &p) { for (int i = 0; i < 510; ++i) *Kernel(p, 0)->add_arguments() = Kernel(p, 0)->arguments(0); }, "arguments must be at most 512, got: 513"},
      {[](auto &p) { Kernel(p, 0)->mutable_arguments(0)->set_offset(512); }, "outside of the 512 bytes of scratch: 512"},
      {[](auto &p) { Kernel(p, 0)->mutable_arguments(0)->set_index(1); }, "an address is of SCRATCH 1 of 1"},
      {[](auto &p) { Kernel(p, 0)->mutable_arguments(1)->set_index(2); }, "an address is of INPUT 2 of 2"},
      {[](auto &p) { Kernel(p, 0)->mutable_arguments(2)->set_index(1); }, "an address is of OUTPUT 1 of 1"},
      {[](auto &p) { Kernel(p, 0)->mutable_arguments(2)->set_offset(256); }, "CUDA fragment 0 uses 1 bytes at 256 of a buffer of 256"},
      {[](auto &p) { Library(p)->set_kernel(1); }, "there is no kernel 1"},
      {[](auto &p) { Library(p)->mutable_operands()->RemoveLast(); }, "operands of kernel 0 must be 3, got: 2"},
      {[](auto &p) { Library(p)->mutable_operands(0)->set_offset(4); }, "uses 256 bytes at 4 of a buffer of 256"},
      {[](auto &p) { Library(p)->mutable_operands(2)->set_offset(260); }, "uses 256 bytes at 260 of a buffer of 512"},
      {[](auto &p) { p.mutable_cuda()->mutable_fragments(0)->mutable_steps(0)->clear_kind(); }, "step 0: does nothing"},
      {[](auto &p) { p.mutable_cuda()->mutable_fragments(0)->set_scratch_bytes(~0ull); }, "its scratch is too large"},
      {[](auto &p) { Step(p)->set_scratch_bytes(511); }, "scratch of the function must be at least 512 bytes, got: 511"},
      {[](auto &p) { At(p, 0)->mutable_launch()->set_fragment(2); }, "there is no CUDA fragment 2"},
      {[](auto &p) { At(p, 0)->mutable_launch()->add_outputs(3); }, "must match the 2 and 1 of CUDA fragment 0, got: 2 and 2"},
      {[](auto &p) { At(p, 0)->mutable_launch()->set_inputs(0, 5); }, "instruction 0 \"gradient\" (test.mlir:1:1): buffer 5 must be in the memory of device 0, is in that of the host"},
      {[](auto &p) { At(p, 0)->mutable_launch()->mutable_host()->set_symbol("none"); }, "none"},
      {[](auto &p) { At(p, 0)->mutable_run()->set_symbol("sum"); }, "is code for the host, and its device is of kind cuda"},
      {[](auto &p) { At(p, 4)->mutable_copy()->set_target(3); }, "buffer 3 must be in the memory of the host"},
      {[](auto &p) { At(p, 4)->mutable_copy()->set_direction(plan::CopyBuffer::LOCAL); }, "buffer 5 must be in the memory of device 0"},
      {[](auto &p) { At(p, 6)->mutable_copy()->set_between_devices(true); }, "must be in the memory of a device"},
      {[](auto &p) { At(p, 5)->mutable_communicate()->set_buffer(3); }, "buffer 3 must be in the memory of the host, is in that of device 0"},
      {[](auto &p) { At(p, 1)->mutable_communicate()->set_buffer(5); }, "buffer 5 must be in the memory of device 0"},
      {[](auto &p) { Step(p)->mutable_buffers(5)->set_offset(4); }, "buffer 5: lies outside of the arena"},
      {[](auto &p) { Step(p)->mutable_buffers(3)->set_device(1); }, "there is no memory of device 1"},
      {[](auto &p) { Step(p)->mutable_buffers(0)->set_host(true); }, "can be in host memory"},
      {[](auto &p) { Step(p)->mutable_buffers(7)->set_host(false); }, "can be in host memory"},
      {[](auto &p) { Step(p)->set_host_arena_bytes(~0ull); }, "its host arena is too large"},
      {[](auto &p) { Nccl(p, 2)->set_number(0); }, "instructions 1 and 2 both have number 0 of NCCL"},
      {[](auto &p) { Nccl(p, 3)->set_number(3); }, "numbers of NCCL must be 0 to 2, got: 3 of instruction 3"},
      {[](auto &p) { Nccl(p, 1)->set_lane(1); }, "lane of NCCL must be 0, got: 1"},
      {[](auto &p) { Nccl(p, 1)->set_kind(plan::Nccl::REDUCE_SCATTER); }, "buffers do not match REDUCE_SCATTER"},
      {[](auto &p) { Nccl(p, 2)->set_kind(plan::Nccl::ALL_REDUCE); }, "buffers do not match ALL_REDUCE"},
      {[](auto &p) { Nccl(p, 1)->set_reduction(plan::Nccl::Reduction(9)); }, "unknown collective of NCCL"},
      {[](auto &p) { At(p, 1)->mutable_communicate()->add_part_bytes(256); }, "has no phases and no parts"},
      {[](auto &p) { *At(p, 1)->mutable_communicate()->add_phases() = At(p, 5)->communicate().phases(0); }, "has no phases and no parts"},
      {[](auto &p) { p.set_required_features(p.required_features() | uint64_t{1} << plan::FEATURE_GROUPS); p.add_groups()->add_ranks(0); At(p, 1)->mutable_communicate()->set_group(0); }, "must be of all ranks"},
      {[](auto &p) { Step(p)->mutable_buffers(3)->mutable_type()->set_element(plan::I32); }, "makes no mean of integers, got: i32"},
      {[](auto &p) { Step(p)->mutable_buffers(3)->mutable_type()->set_element(plan::I8); Step(p)->mutable_buffers(3)->mutable_type()->set_shape(1, 32); }, "no elements of one byte, got: i8"},
      {[](auto &p) { Step(p)->mutable_buffers(3)->mutable_type()->set_shape(1, 7); }, "of a buffer of 224"},
  };
  for (const auto &[change, message] : wrong) {
    PlanBuilder plan = CudaPlan();
    change(plan.proto());
    const std::string error = LoadError(plan.Bytes());
    if (message.empty())
      EXPECT_EQ(error, "");
    else
      EXPECT_THAT(error, HasSubstr(message));
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

// What is loaded, said again without the loader: all that a device would touch is there.
void ExpectSound(const runtime::Program &program, uint32_t seed) {
  for (const runtime::FunctionProgram &f : program.functions) {
    std::map<uint32_t, int> numbers;
    for (const runtime::InstructionProgram &i : f.instructions) {
      if (i.communicate.nccl.has_value()) ++numbers[i.communicate.nccl->number];
      if (i.kind == runtime::InstructionProgram::kCommunicate) {
        EXPECT_EQ(f.buffers[i.communicate.buffer].host, !i.communicate.nccl.has_value()) << "seed " << seed;
      }
      if (i.kind != runtime::InstructionProgram::kLaunch) continue;
      const plan::CudaFragment &fragment = program.cuda->fragments.at(i.launch.fragment);
      EXPECT_LE(fragment.scratch_bytes, f.scratch_bytes);
      ASSERT_EQ(i.launch.operands.size(), fragment.inputs + fragment.outputs);
      for (uint32_t b : i.launch.operands) EXPECT_FALSE(f.buffers.at(b).host) << "seed " << seed;
      const auto room = [&](const plan::CudaAddress &a) {
        if (a.base == plan::CudaAddress::Base::kScratch) return int64_t(fragment.scratch_bytes - a.offset);
        const uint32_t at = a.index + (a.base == plan::CudaAddress::Base::kOutput ? fragment.inputs : 0);
        return int64_t(f.buffers.at(i.launch.operands.at(at)).type.bytes) - int64_t(a.offset);
      };
      for (const auto &step : fragment.steps) {
        if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
          for (const plan::CudaAddress &a : launch->arguments) EXPECT_GE(room(a), 0) << "seed " << seed;
          EXPECT_LE(launch->block[0] * launch->block[1] * launch->block[2], 1024u);
          EXPECT_GT(launch->grid[0] * launch->block[0], 0u);
          continue;
        }
        const auto &call = std::get<plan::CudaLibraryCall>(step);
        const ops::KernelDesc &kernel = program.kernels.at(call.kernel);
        for (size_t o = 0; o < call.operands.size(); ++o) {
          const ops::KernelOperand &operand = kernel.operands.at(o);
          int64_t last = 0;
          for (size_t d = 0; d < operand.dims.size(); ++d) last += (operand.dims[d] - 1) * operand.strides[d];
          EXPECT_GE(room(call.operands[o]), (last + 1) * int64_t(ops::ElementBytes(operand.element)))
              << "seed " << seed;
        }
      }
    }
    for (const auto &[number, times] : numbers) {
      EXPECT_EQ(times, 1) << "seed " << seed;
      EXPECT_LT(number, numbers.size()) << "seed " << seed;
    }
  }
}

TEST(PlanCudaTest, MutatedPlansAreRefusedOrSound) {
  int refused = 0;
  constexpr uint32_t kCount = 1500;
  for (uint32_t seed = 0; seed < kCount; ++seed) {
    PlanBuilder plan = CudaPlan();
    testing::PlanMutator mutator(seed);
    // Half of the changes are within the code for devices.
    for (uint32_t i = 0; i <= seed % 3; ++i)
      mutator.Mutate((seed + i) % 2 == 0 ? static_cast<google::protobuf::Message *>(&plan.proto())
                                         : plan.proto().mutable_cuda());
    const std::string bytes = plan.Bytes();
    if (!LoadError(bytes).empty()) {
      ++refused;
      continue;
    }
    auto image = runtime::PlanImage::Load(bytes);
    ASSERT_TRUE(image.ok());
    if ((*image)->nodes() == 0) continue;
    auto program = (*image)->ForRank(0);
    ASSERT_TRUE(program.ok()) << program.status();
    if ((*program)->cuda != nullptr) ExpectSound(**program, seed);
  }
  EXPECT_GT(refused, int(kCount) / 3);
}

}  // namespace
}  // namespace commsched
