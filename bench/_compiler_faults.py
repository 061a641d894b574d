# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults to build into the compiler one at a time, as replacements of source text.

Each is a mistake that somebody could make: a condition left out, an off-by-one, the wrong operand. `old` stands
exactly once in the file.
"""
from _mutants import Fault

PLAN = "passes/plan/"

LISTS, UPDATES = "ops/sparse/list_message.cc", "runtime/servers/parameter_server_updates.cc"
SERVER_LISTS = ("nodes=3 devices=1 link=1000:50000 intra=80000 reduction=mean pipeline=cs-parameter-server-pipeline"
                "{reduction=mean servers=2 min-block-elements=4 density=0.25 min-elements=1 sparse-method=auto}")
SERVER_CODES = SERVER_LISTS.replace("sparse-method=auto", "sparse-method=auto values=int8")
PARTS = ("nodes=3 devices=1 link=1000:50000 intra=80000 reduction=mean pipeline=cs-all-reduce-pipeline"
         "{reduction=mean schedule=pace algorithm=ring parts=true}")
FUSED = ("nodes=2 devices=1 link=1000:50000 intra=80000 reduction=mean pipeline=cs-parameter-server-pipeline"
         "{reduction=mean schedule=fixed-buckets servers=2 min-block-elements=4}")
STAGED = ("nodes=2 devices=1 link=1000:50000 intra=80000 reduction=mean pipeline=cs-all-reduce-pipeline"
          "{reduction=mean schedule=pace copies=overlap staging-bytes=1024}")
BY_HAND = "nodes=2 devices=2 link=1000:50000 intra=80000 reduction=sum pipeline="
LOWER = "schedule-comm,expand-collectives,verify-distributed"

FAULTS = [
    # Fusion.
    Fault("a producer that adds to its initial value is repeated", PLAN + "FuseFragment.cpp",
          "  if (domain > computed &&\n", "  if (false &&\n"),
    Fault("an initial value other than zero is left out of a product", PLAN + "FuseFragment.cpp",
          "if (fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat())) {", "if (fill) {"),
    # Bufferisation.
    Fault("results are stored behind the back of the analysis, and share their fills", PLAN + "BufferizeFragment.cpp",
          "  separateDestinations(function);\n  insertResults(function);\n", ""),
    Fault("carried values change places without a copy", PLAN + "PinLoops.cpp",
          "} else if (mayBeCarried(value, body)) {", "} else if (false) {"),
    Fault("what a loop carries is overwritten while it is still read", PLAN + "PinLoops.cpp",
          "    if (!isReadAfter(*operand))\n", "    if (true)\n"),
    # Memory of temporaries.
    Fault("a temporary's life ends where it begins", PLAN + "Scratch.cpp",
          "last = std::max(last, index);", "last = std::max(last, first);"),
    Fault("operand and result of one operation share memory", PLAN + "Scratch.cpp",
          "if (other->last < interval->first || interval->last < other->first)",
          "if (other->last <= interval->first || interval->last <= other->first)"),
    Fault("temporaries have a byte for an element", PLAN + "Scratch.cpp",
          "std::max<uint64_t>(1, type.getNumElements() * elementBytes(type.getElementType()));",
          "std::max<uint64_t>(1, type.getNumElements());"),
    # Code.
    Fault("booleans are inverted when they are loaded", PLAN + "LowerToLLVM.cpp",
          "LLVM::ICmpPredicate::ne, byte, zero", "LLVM::ICmpPredicate::eq, byte, zero"),
    Fault("a number is clamped to its upper bound", PLAN + "SpecialValues.cpp",
          "Value above = arith::MaximumFOp::create(", "Value above = arith::MinimumFOp::create("),
    Fault("hyperbolic functions are differences of exponentials near zero", PLAN + "LowerToLLVM.cpp",
          '{"rsqrt"}', '{"rsqrt", "sinh", "asinh"}'),
    Fault("fragments of one type are taken for one", PLAN + "FragmentCompiler.cpp",
          "known.try_emplace(wholeText(function), count);",
          "known.try_emplace(wholeText(&function.getBody().front().back()), count);"),
    Fault("copies with strides are copied as one run", PLAN + "OutlineNests.cpp",
          "    AffineMap map =\n        AffineMap::getMultiDimIdentityMap(source.getRank(), op->getContext());\n",
          "    if (source.getNumElements() > 4) {\n      op.erase();\n      continue;\n    }\n"
          "    AffineMap map =\n        AffineMap::getMultiDimIdentityMap(source.getRank(), op->getContext());\n"),
    # Kernels.
    Fault("a product whose operands are swapped keeps its row for its column", PLAN + "MatmulKernel.cpp",
          "      std::swap(a, b);\n      std::swap(m, n);\n", "      std::swap(a, b);\n"),
    Fault("a product adds to its result twice, once behind a copy", PLAN + "MatmulKernel.cpp",
          "    accumulate = false;\n    replace(2, packed, loops);", "    replace(2, packed, loops);"),
    Fault("a padded convolution forgets where its input lies in the padding", PLAN + "ConvolutionKernel.cpp",
          "        read(padding->inner, padding->offsets);\n", "        read(padding->inner);\n"),
    # Plans.
    Fault("a buffer is written while the step before still reads it", PLAN + "PlanDependences.cpp",
          "previous(own.readers);", "previous;"),
    Fault("a step does not wait for the parameters of the one before", PLAN + "PlanDependences.cpp",
          "      add(reader, {last}, 1);\n", ""),
    Fault("memory of messages is used for temporaries as well", PLAN + "PlanDependences.cpp",
          "if (!accesses[i].stream || device[b] != where)", "if (device[b] != where)"),
    Fault("a communication sums in place in what is still needed", PLAN + "PlanStarts.cpp",
          "         value.hasOneUse() &&\n", ""),
    Fault("a tensor that is used elsewhere too is laid into its message", "passes/layout/MessageLayout.cpp",
          "    if (!pack)\n      return std::nullopt;\n    int64_t begin", "    if (!pack)\n      continue;\n    int64_t begin"),
    Fault("tensors lie in their messages one element too far", "passes/layout/MessageLayout.cpp",
          "places[value] = {unsigned(areaOf[root]), offset - least[root]};",
          "places[value] = {unsigned(areaOf[root]), std::max<int64_t>(0, offset - least[root] - 1)};"),
    # Distribution, scheduling and exchanges.
    Fault("state is summed where it is to be averaged", "passes/insert/Outline.cpp",
          "    return cs::AllReduceOp::create(builder, planned.loc, planned.key,\n"
          "                                   cs::Reduction::mean, value, FlatSymbolRefAttr());",
          "    return cs::AllReduceOp::create(builder, planned.loc, planned.key,\n"
          "                                   cs::Reduction::sum, value, FlatSymbolRefAttr());"),
    Fault("a ring forgets to divide", "passes/lower/ExchangeAlgorithms.cpp",
          "    phases.push_back({ranks, ranks - 1, combine, mean,\n", "    phases.push_back({ranks, ranks - 1, combine, false,\n"),
    Fault("a tree divides in every round", "passes/lower/ExchangeAlgorithms.cpp",
          "whole(combine, mean && 2 * d >= ranks, parent(d)", "whole(combine, mean, parent(d)"),
    Fault("ranks beyond a power of two are left out", "passes/lower/ExchangeAlgorithms.cpp",
          "      whole(combine, false, r - core(), beyondCore(), r + core(), standIns());",
          "      whole(Combine::replace, false, r - core(), beyondCore(), r + core(), standIns());"),
    Fault("tensors are taken from the beginning of the message that they share", "passes/schedule/Starts.cpp",
          "      offset += piece.end - piece.begin;\n", ""),
    Fault("a message has the first elements of a tensor of which it is a part", "passes/schedule/Starts.cpp",
          "    bounds.append({piece.begin, piece.end});\n", "    bounds.append({0, piece.end - piece.begin});\n"),
    # Lists that trainers send to servers.
    Fault("a list's indices begin one word too early", LISTS, "words - type.entries;", "words - type.entries - 1;", SERVER_LISTS),
    Fault("the codes of a list are added without their scale", LISTS, "if (HasScale(type)) std::memcpy(&scale",
          "if (HasScale(type)) scale = 1; else std::memcpy(&scale", SERVER_CODES),
    Fault("a list is taken for the gradient where there is one trainer", UPDATES, "addition.last && !block->program->of_lists()) {",
          "addition.last) {", SERVER_LISTS.replace("nodes=3", "nodes=1")),
    Fault("the mean of lists is divided twice", UPDATES, "parts > 1 && !program.of_lists();", "parts > 1;", SERVER_LISTS),
    Fault("lists are added to those of the step before", UPDATES, "    if (parts == 1 && bytes != 0) std::memset(sum, 0, bytes);\n", "",
          SERVER_LISTS),
    # Tensors of a message that are used one by one.
    Fault("parts lie at the front of their message", "runtime/program/program.cc", "{part, begin + first, last - first}",
          "{part, first, last - first}", PARTS),
    Fault("a message in parts is cut as a whole", "runtime/loading/function_instructions.cc",
          "EvaluatePhase(phase, type, rank_, *group, *peers, parts);", "EvaluatePhase(phase, type, rank_, *group, *peers, {});", PARTS),
    Fault("what waits for a part waits for the first one", "runtime/loading/function_parts.cc",
          "const PartWait wait{d.instruction(), d.part()};", "const PartWait wait{d.instruction(), 0};", PARTS),
    # Blocks that share messages with servers.
    Fault("what shares a message is taken from its front", "passes/schedule/FuseBlocks.cpp", "      at = end;\n", "", FUSED),
    Fault("blocks share what they push in another order than what they pull", "passes/schedule/FuseBlocks.cpp",
          "takeTogether<cs::CollectOp>(collects, fused.key,", "std::reverse(collects.begin(), collects.end());\n  takeTogether<cs::CollectOp>(collects, fused.key,",
          FUSED),
    Fault("slots of one message are at its front", "runtime/loading/plan_servers.cc",
          "slot.begin = size_t(elements) * ops::ElementBytes(own->element);", "slot.begin = 0;", FUSED),
    Fault("a server hands out its last tensor first", "runtime/servers/parameter_server_files.cc",
          "all->insert(all->end(),", "all->insert(all->begin(),", FUSED),
    Fault("blocks of one number are one on all servers", "runtime/session/session_servers.cc",
          "shared->try_emplace({part.server, b},", "shared->try_emplace({0, b},", FUSED),
    # Staging.
    Fault("what is received is used on the host", "passes/place/Overlapper.cpp",
          "createStart(builder, start.getLoc(), unique(key + \".to_device\"),\n                    await.getResult(), result, priority);",
          "createStart(builder, start.getLoc(), unique(key + \".to_device\"),\n                    input ? input : await.getResult(), result, priority);",
          STAGED),
    # Passes by hand.
    Fault("what a node has alone is counted for each of its devices", "passes/place/ReplicateDevices.cpp",
          "        origins.isOfNode(op.getOperand(0)))\n", "        false)\n",
          BY_HAND + "insert-dist-comm{reduction=sum},spread-sums{force=true min-elements=1},replicate-devices," + LOWER),
    Fault("a step whose gradients have been spread stays one for one device", "passes/place/ReplicateDevices.cpp",
          "if (!isMade && isSpread && failed(checkIsReplicated(func, *cluster)))", "if (false)",
          BY_HAND + "insert-dist-comm{reduction=sum},assign-devices,replicate-devices," + LOWER),
    Fault("a pass of level 1 takes a step of level 0 for none", "passes/place/Devices.cpp",
          "    if (!isPlaced && func->hasAttr(cs::CsDialect::kStepAttr) &&\n", "    if (false &&\n",
          BY_HAND + "replicate-devices,insert-dist-comm{reduction=sum}," + LOWER),
]
