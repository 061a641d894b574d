// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A level-2 module as a plan.

#include "passes/plan/PlanBuilder.h"
#include "passes/plan/PlanInput.h"
#include "passes/plan/PlanServers.h"
#include "passes/support/LinkCosts.h"

#include "ir/CsServerFunctions.h"
#include "plan/plan_file.h"
#include "plan/version.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace commsched::planexport {

// Folders are left out: they say nothing about the program.
static std::string describe(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return llvm::sys::path::filename(file.getFilename().getValue()).str() + ":" +
           std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string child = describe(name.getChildLoc());
    std::string own = name.getName().str();
    return child.empty() ? own : own + " (" + child + ")";
  }
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string text = describe(part); !text.empty())
        return text;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return describe(call.getCallee());
  return "";
}

unsigned PlanContext::location(Location loc) {
  // Of a file whose name is none, a text that is.
  std::string text = llvm::json::fixUTF8(describe(loc));
  auto [it, fresh] = locations.try_emplace(text, plan.locations_size());
  if (fresh)
    plan.add_locations(text);
  return it->second;
}

plan::AffineExpr toPlan(AffineExpr expr) {
  plan::AffineExpr result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.set_op(plan::AffineExpr::CONSTANT);
    result.set_constant(constant.getValue());
    return result;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    result.set_op(dim.getPosition() == 0 ? plan::AffineExpr::RANK
                                         : plan::AffineExpr::ROUND);
    return result;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    result.set_op(plan::AffineExpr::ADD);
    break;
  case AffineExprKind::Mul:
    result.set_op(plan::AffineExpr::MUL);
    break;
  case AffineExprKind::Mod:
    result.set_op(plan::AffineExpr::MOD);
    break;
  case AffineExprKind::FloorDiv:
    result.set_op(plan::AffineExpr::FLOORDIV);
    break;
  default:
    result.set_op(plan::AffineExpr::CEILDIV);
    break;
  }
  *result.mutable_lhs() = toPlan(binary.getLHS());
  *result.mutable_rhs() = toPlan(binary.getRHS());
  return result;
}

void addConditions(IntegerSet set, plan::Side &result) {
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    // What always holds is no condition.
    auto constant = dyn_cast<AffineConstantExpr>(set.getConstraint(i));
    if (constant && (set.isEq(i) ? constant.getValue() == 0 : constant.getValue() >= 0))
      continue;
    plan::Constraint *condition = result.add_condition();
    *condition->mutable_expr() = toPlan(set.getConstraint(i));
    condition->set_equality(set.isEq(i));
  }
}

static void buildSide(cs::SideAttr side, plan::Side &result) {
  *result.mutable_begin() = toPlan(side.getParts().getResult(0));
  *result.mutable_count() = toPlan(side.getParts().getResult(1));
  *result.mutable_peer() = toPlan(side.getPeer().getResult(0));
  addConditions(side.getWhen(), result);
}

LogicalResult buildPhase(cs::ExchangeOp exchange, plan::Phase &phase) {
  phase.set_chunks(exchange.getChunks());
  phase.set_rounds(exchange.getRounds());
  switch (exchange.getCombine()) {
  case cs::Combine::replace:
    phase.set_combine(plan::REPLACE);
    break;
  case cs::Combine::sum:
    phase.set_combine(plan::SUM);
    break;
  case cs::Combine::max:
    phase.set_combine(plan::MAX);
    break;
  case cs::Combine::min:
    phase.set_combine(plan::MIN);
    break;
  }
  if (auto scale = exchange.getScale())
    phase.set_scale(scale->convertToDouble());
  if (auto priority = exchange.getPriority())
    phase.set_priority(static_cast<int32_t>(*priority));
  buildSide(exchange.getSend(), *phase.mutable_send());
  buildSide(exchange.getRecv(), *phase.mutable_recv());
  return success();
}

LogicalResult exportPlan(ModuleOp module, const CodeOptions &options,
                         plan::Plan &plan, PlanStatistics &statistics) {
  if (failed(checkModule(module)))
    return failure();
  FragmentCompiler compiler(module.getContext(), options);
  PlanContext context{plan, compiler, nullptr};
  for (auto cluster : module.getOps<cs::ClusterOp>()) {
    if (context.cluster)
      return cluster.emitError("a plan is for one cluster, got another");
    context.cluster = cluster;
  }
  if (!context.cluster)
    return module.emitError("module has no cs.cluster; run --cs-all-reduce-pipeline");
  for (func::FuncOp function : functionsOf(module))
    if (failed(checkFunction(function, context.cluster)))
      return failure();

  // What has only costs has no memory that would be told apart.
  std::unique_ptr<DeviceCompiler> device;
  bool computes = false;
  for (auto function : module.getOps<func::FuncOp>())
    if (!cs::getServerIndex(function))
      function.walk([&](cs::FragmentOp op) { computes |= op.hasBody(); });
  if (computes && context.cluster.getDevice().getKind() == cs::DeviceKind::cuda) {
    if (!options.deviceCompiler)
      return context.cluster.emitError("this program does not compile for devices of kind cuda");
    device = options.deviceCompiler(module.getContext(), options.printStage);
    context.device = device.get();
  }

  plan.set_schema_version(plan::kSchemaVersion);
  plan.set_producer(std::string("cs-translate ") + kVersion);
  if (std::optional<StringRef> name = module.getSymName())
    plan.set_module_name(name->str());
  cs::ClusterOp cluster = context.cluster;
  plan::Cluster *out = plan.mutable_cluster();
  out->set_name(cluster.getSymName().str());
  out->set_nodes(cluster.getNodes());
  out->set_devices(cluster.getDevices());
  out->set_inter_mbit_per_s(cluster.getInter().getMbitPerS());
  out->set_inter_latency_ns(cluster.getInter().getLatencyNs());
  out->set_inter_overhead_ns(overheadOf(cluster.getInter())); // what schedules have counted
  out->set_intra_mbit_per_s(cluster.getIntra().getMbitPerS());
  out->set_intra_latency_ns(cluster.getIntra().getLatencyNs());
  out->set_device_kind(stringifyDeviceKind(cluster.getDevice().getKind()).str());
  out->set_device_gflops(cluster.getDevice().getGflops());
  out->set_device_gb_per_s(cluster.getDevice().getGbPerS());
  out->set_device_copy_mb_per_s(cluster.getDevice().getCopyMbPerS());
  out->set_device_copy_latency_ns(cluster.getDevice().getCopyLatencyNs());
  if (std::optional<cs::NcclCostsAttr> nccl = cluster.getNccl()) {
    out->mutable_nccl()->set_machine_ranks(nccl->getMachineRanks());
    if (DenseI64ArrayAttr bytes = nccl->getBytes())
      for (auto [of, ns] : llvm::zip_equal(bytes.asArrayRef(), nccl->getNs().asArrayRef())) {
        out->mutable_nccl()->add_bytes(of);
        out->mutable_nccl()->add_ns(ns);
      }
  }

  // The step first, then the others in the order of the module.
  FailureOr<std::vector<ServerProgram>> servers = findServers(module, context);
  if (failed(servers))
    return failure();
  context.initOnServers = !servers->empty();
  SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : functionsOf(module))
    if (!cs::getServerIndex(function))
      functions.push_back(function);
  auto isStep = [](func::FuncOp f) { return f->hasAttr(cs::CsDialect::kStepAttr); };
  llvm::stable_sort(functions, [&](func::FuncOp a, func::FuncOp b) {
    return isStep(a) > isStep(b);
  });
  if (functions.empty())
    return module.emitError("module has no function");
  if (failed(findRoles(functions, context)))
    return failure();
  if (!context.roles.empty() && !servers->empty())
    return context.roles.front().function.emitError(
        "has parameter servers: all trainers must run one step");
  for (const PlanContext::Role &role : context.roles) {
    plan::Role *made = plan.add_roles();
    made->set_name(func::FuncOp(role.function).getName().str());
    made->set_count(static_cast<uint32_t>(role.count));
  }
  plan::Role *role = nullptr; // of all nodes
  if (context.roles.empty()) {
    role = plan.add_roles();
    role->set_name(servers->empty() ? "worker" : "trainer");
    role->set_count(cluster.getNodes());
  }
  for (auto [i, function] : llvm::enumerate(functions)) {
    for (auto [r, own] : llvm::enumerate(context.roles))
      if (own.function == function || !isStep(function))
        plan.mutable_roles(static_cast<int>(r))->add_functions(i);
    if (role)
      role->add_functions(i);
    if (failed(buildFunction(function, context)))
      return failure();
  }
  if (failed(context.joinEnds()))
    return failure();
  if (!servers->empty()) {
    for (int slot = 0; slot < plan.slots_size(); ++slot)
      role->add_slots(slot);
    auto attribute = functions.front()->getAttrOfType<cs::ServersAttr>(
        cs::CsDialect::kServersAttr);
    if (failed(buildServers(attribute, *servers, context)))
      return failure();
  }

  uint64_t features = 0;
  if (llvm::any_of(plan.slots(), [](const plan::Slot &slot) { return slot.per_rank(); }))
    features |= uint64_t{1} << plan::FEATURE_SPARSE;
  auto need = [&](plan::Feature feature) { features |= uint64_t{1} << feature; };
  if (compiler.size() > 0) {
    CompiledFragments code;
    if (failed(compiler.compile(code)))
      return failure();
    plan::CodeObject *object = plan.add_objects();
    object->set_target("x86_64-unknown-linux-gnu;" + options.targetCpu);
    object->set_elf(std::move(code.elf));
    for (const plan::Kernel &kernel : code.kernels)
      *plan.add_kernels() = kernel;
    for (auto [function, instruction, index] : context.runs) {
      plan::Function *f = plan.mutable_functions(function);
      f->mutable_instructions(instruction)->mutable_run()->set_symbol(code.symbols[index]);
      f->set_scratch_bytes(std::max(f->scratch_bytes(), code.scratchBytes[index]));
    }
    for (auto [function, instruction, index] : context.onHost) {
      plan::Function *f = plan.mutable_functions(function);
      f->mutable_instructions(instruction)->mutable_launch()->mutable_host()->set_symbol(code.symbols[index]);
      f->set_scratch_bytes(std::max(f->scratch_bytes(), code.scratchBytes[index]));
    }
    need(options.targetCpu == "x86-64-v4" ? plan::FEATURE_X86_64_V4
                                          : plan::FEATURE_X86_64_V3);
    statistics.codeBytes = code.codeBytes;
    statistics.checkSeconds = code.checkSeconds;
    statistics.nests = code.nests;
  }
  if (context.device) {
    FailureOr<DeviceCompiler::Result> code = context.device->compile(plan);
    if (failed(code))
      return failure();
    for (auto [function, instruction, index] : context.launches) {
      plan::Function *f = plan.mutable_functions(function);
      f->mutable_instructions(instruction)->mutable_launch()->set_fragment(index);
      f->set_scratch_bytes(std::max(f->scratch_bytes(), plan.cuda().fragments(index).scratch_bytes()));
    }
    need(plan::FEATURE_CUDA);
    statistics.codeBytes += code->codeBytes;
    statistics.checkSeconds += code->checkSeconds;
    statistics.nests += code->nests;
  }
  for (const plan::Kernel &kernel : plan.kernels())
    need(StringRef(kernel.kind()).starts_with("matmul") ||
                 StringRef(kernel.kind()).starts_with("convolution")
             ? plan::FEATURE_ONEDNN
             : plan::FEATURE_SPARSE);
  statistics.kernels = plan.kernels_size();
  if (context.usesNccl)
    need(plan::FEATURE_NCCL);
  if (context.communicates)
    need(plan::FEATURE_EXCHANGE);
  if (context.betweenRanks)
    need(plan::FEATURE_POINT_TO_POINT);
  if (context.costOnly)
    need(plan::FEATURE_COST_ONLY);
  if (context.usesDevices)
    need(plan::FEATURE_DEVICES);
  if (context.usesServers || plan.has_parameter_servers())
    need(plan::FEATURE_PARAMETER_SERVER);
  if (context.usesRows)
    need(plan::FEATURE_ROW_SPARSE);
  if (context.usesLists)
    need(plan::FEATURE_SPARSE_SERVERS);
  if (context.usesFused)
    need(plan::FEATURE_FUSED_BLOCKS);
  if (context.usesWorkerIndex)
    need(plan::FEATURE_WORKER_INDEX);
  if (plan.groups_size() > 0)
    need(plan::FEATURE_GROUPS);
  if (!context.roles.empty())
    need(plan::FEATURE_ROLES);
  if (context.usesParts)
    need(plan::FEATURE_PARTS);
  if (context.usesExclusive)
    need(plan::FEATURE_EXCLUSIVE);
  plan.set_required_features(features);

  statistics.checkSeconds += context.checkSeconds;
  statistics.functions = compiler.size() + (context.device ? context.device->size() : 0);
  statistics.fragments = context.runs.size() + context.launches.size();
  for (const plan::Function &function : plan.functions()) {
    statistics.arenaBytes = std::max(statistics.arenaBytes, function.arena_bytes());
    statistics.scratchBytes = std::max(statistics.scratchBytes, function.scratch_bytes());
  }
  return success();
}

} // namespace commsched::planexport
