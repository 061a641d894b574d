// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSPROBLEMOPS_TD
#define COMMSCHED_IR_CSPROBLEMOPS_TD

// The scheduling problem of a step, and schedules for it, as text. Generated apart
// from the other ops: include "ir/CsProblemOps.h".

include "ir/CsDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Cs_ProblemPart<string mnemonic, string parent, list<Trait> traits = []>
    : Op<Cs_Dialect, mnemonic, !listconcat([HasParent<parent>], traits)>;

/// Its result is what other parts of the problem name it by; it has no value.
class Cs_ProblemNode<string mnemonic, list<Trait> traits = []>
    : Cs_ProblemPart<mnemonic, "ProblemOp", !listconcat(
        [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>], traits)>;

def Cs_ProblemOp : Op<Cs_Dialect, "problem", !listconcat([
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">],
    GraphRegionNoTerminator.traits)> {
  let summary = "a training step of one node as a scheduling problem";
  let description = [{
    Compute on streams, links, and communications with their producers and
    consumers; the step is repeated for ever. docs/scheduling.md has the model.
    Times are in nanoseconds, sizes in bytes.

    The order of the parts means something: compute is in program order, and
    links, compute and communications are counted in the order in which they are
    written. Names may be used before they are defined. `memory_limit`: bytes that
    an order of compute may hold more than the program order does.

    Two layers; each one's gradient is pushed and pulled, and needed by its
    forward pass in the next step:
    ```mlir
    cs.problem @two_layers {
      %up = cs.problem.link "up" bytes_per_second 1000000000
      %down = cs.problem.link "down" bytes_per_second 1000000000
      %f0 = cs.problem.compute "f0" ns 2
      %f1 = cs.problem.compute "f1" ns 2 after (%f0)
      %b1 = cs.problem.compute "b1" ns 2 after (%f1)
      %w1 = cs.problem.communication "w1" bytes 6 from (%b1) to (next %f1) through (%up, %down)
      %b0 = cs.problem.compute "b0" ns 2 after (%b1)
      %w0 = cs.problem.communication "w0" bytes 3 from (%b0) to (next %f0) through (%up, %down)
    }
    ```
    `--solve-problem` adds a `cs.solution`.
  }];
  let arguments = (ins OptionalAttr<SymbolNameAttr>:$sym_name,
                       DefaultValuedAttr<I64Attr, "1">:$streams,
                       OptionalAttr<I64Attr>:$memory_limit);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    ($sym_name^)? (`streams` $streams^)? (`memory_limit` $memory_limit^)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    static bool isOptionalSymbol() { return true; }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Cs_ProblemLinkOp : Cs_ProblemNode<"problem.link"> {
  let summary = "sends one byte after the other, in one direction";
  let description = [{
    A half-duplex medium is one link for both directions. Bandwidth positive.
  }];
  let arguments = (ins StrAttr:$label, I64Attr:$bytes_per_second);
  let results = (outs NoneType:$link);
  let assemblyFormat = "$label `bytes_per_second` $bytes_per_second attr-dict";
  let hasVerifier = 1;
}

def Cs_ProblemComputeOp : Cs_ProblemNode<"problem.compute"> {
  let summary = "compute that cannot be interrupted, on a stream that runs one at a time";
  let description = [{
    `after`: what must be done, of the same step and before it in program order.
    `extra_bytes`: memory that it holds from its start until all that comes after
    it runs. `shared_ns`: what it loses of `ns` to other work of its processor, which in another
    schedule other compute of its stream may lose. `deferred`: a run may do it at any moment between
    what it waits for and what waits for it, and bounds of an order hold wherever it is.
    ```mlir
    %b0 = cs.problem.compute "b0" ns 2000 shared_ns 100 after (%b1) stream 1 extra_bytes 4096
    %w0 = cs.problem.compute "update.w0" ns 30 deferred
    ```
  }];
  let arguments = (ins StrAttr:$label, I64Attr:$ns,
                       DefaultValuedAttr<I64Attr, "0">:$shared_ns, Variadic<NoneType>:$after,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$extra_bytes, UnitAttr:$deferred);
  let results = (outs NoneType:$done);
  let assemblyFormat = [{
    $label `ns` $ns (`shared_ns` $shared_ns^)? (`after` ` ` `(` $after^ `)`)? (`stream` $stream^)?
    (`extra_bytes` $extra_bytes^)? (`deferred` $deferred^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Cs_ProblemCommunicationOp
    : Cs_ProblemNode<"problem.communication", [AttrSizedOperandSegments]> {
  let summary = "the communication of one tensor";
  let description = [{
    Can start when all compute that it comes `from` is done; what it goes `to`
    waits for it, in the same step or, after `next`, in the next one. It passes
    the links that it goes `through` one after the other. On each, a message that
    carries it occupies the link for `overhead_ns` and its part of `bytes` (those
    of the tensor, if not said), and is there `latency_ns` later, after its part of
    `update_ns`: what a server does with all of the tensor. What is `avoidable` of overhead or latency, a
    message may not cost in a run, as where a busy link hides it: bounds do not count it. Neither do they count
    `cs.avoidable_bytes` and `cs.avoidable_update_ns`, arrays with what a run may not have of the bytes and the update
    of each link, nor `cs.avoidable_ns` of the time of a cs.problem.compute.

    Communications of one `kind` may share messages; they have links, overheads,
    latencies and the connection in common. `indivisible`: only sent as a whole. `tail`: so many bytes of
    the last link's come last, and in them the tensors that share a message are complete one
    after the other; without, all are at the end of the message.

    `connection`: which of several that share the links, as of a trainer to its servers (0: none). Of
    messages of a step that are as urgent as each other, a link sends those of all connections at one pace.
    ```mlir
    %w0 = cs.problem.communication "w0" bytes 4096 from (%b0) to (%clip, next %f0)
        through (%up bytes 3072 overhead_ns 5 avoidable 4 latency_ns 20 update_ns 7, %down) kind 1 indivisible connection 2
    ```
  }];
  let arguments = (ins StrAttr:$label, I64Attr:$bytes, Variadic<NoneType>:$producers,
                       Variadic<NoneType>:$consumers, Variadic<NoneType>:$links,
                       DenseBoolArrayAttr:$next_step, DenseI64ArrayAttr:$stage_bytes,
                       DenseI64ArrayAttr:$overhead_ns, DenseI64ArrayAttr:$latency_ns,
                       DenseI64ArrayAttr:$avoidable_overhead_ns,
                       DenseI64ArrayAttr:$avoidable_latency_ns,
                       DenseI64ArrayAttr:$update_ns,
                       DefaultValuedAttr<I64Attr, "0">:$kind, UnitAttr:$indivisible,
                       DefaultValuedAttr<I64Attr, "0">:$tail,
                       DefaultValuedAttr<I64Attr, "0">:$connection);
  let results = (outs NoneType:$arrived);
  let assemblyFormat = [{
    $label `bytes` $bytes `from` ` ` `(` $producers `)`
    `` custom<Consumers>($consumers, $next_step)
    `through` custom<Stages>(ref($bytes), $links, $stage_bytes, $overhead_ns, $latency_ns,
                             $avoidable_overhead_ns, $avoidable_latency_ns, $update_ns)
    (`kind` $kind^)? (`indivisible` $indivisible^)? (`tail` $tail^)?
    (`connection` $connection^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Cs_SolutionOp : Cs_ProblemPart<"solution", "ProblemOp", GraphRegionNoTerminator.traits> {
  let summary = "a schedule for the problem that it is in";
  let description = [{
    `period_ns`: the time per step of the schedule, in the long run; `bound_ns`:
    what no schedule with this order of compute can be below;
    `any_order_bound_ns`: what none at all can be below. All three may be left out;
    `--verify-solution` compares them with the evaluator and the bound, so a
    record from another machine or version can be trusted.

    `barrier`: a step begins when all communication of the step before is done.
    Streams without `cs.solution.order` run in program order, links without
    `cs.solution.credit` take messages without limit.
    ```mlir
    cs.solution "solver" period_ns 18 bound_ns 17 any_order_bound_ns 15 {
      cs.solution.order stream 0 (%f0, %f1, %b1, %b0)
      cs.solution.credit %up bytes 3
      cs.solution.message (%w0[0, 3]) priorities [4, 4]
      cs.solution.message (%w1[0, 2], %w2[3, 6]) priorities [5, 5]
    }
    ```
  }];
  let arguments = (ins StrAttr:$policy, OptionalAttr<F64Attr>:$period_ns,
                       OptionalAttr<F64Attr>:$bound_ns,
                       OptionalAttr<F64Attr>:$any_order_bound_ns, UnitAttr:$barrier);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $policy `` custom<Times>($period_ns, $bound_ns, $any_order_bound_ns)
    (`barrier` $barrier^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Cs_SolutionOrderOp : Cs_ProblemPart<"solution.order", "SolutionOp"> {
  let summary = "the order in which a stream runs its compute in every step";
  let arguments = (ins I64Attr:$stream, Variadic<NoneType>:$order);
  let assemblyFormat = "`stream` $stream ` ` `(` $order `)` attr-dict";
  let hasVerifier = 1;
}

def Cs_SolutionCreditOp : Cs_ProblemPart<"solution.credit", "SolutionOp"> {
  let summary = "how many bytes are given to a link and not complete, at most";
  let description = "One message always goes.";
  let arguments = (ins NoneType:$link, I64Attr:$bytes);
  let assemblyFormat = "$link `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def Cs_SolutionMessageOp : Cs_ProblemPart<"solution.message", "SolutionOp"> {
  let summary = "what is sent at once: bytes [begin, end) of each tensor";
  let description = [{
    `priorities`: one for each link that the message passes; smaller is more urgent.
    `exclusive`: while the message goes through its rounds, what is less urgent waits, for so
    many nanoseconds at most, a second or less, since it began or its last round was over.
    Of messages of several steps, each step counts as many as the problem has
    compute ops.
  }];
  let arguments = (ins Variadic<NoneType>:$communications, DenseI64ArrayAttr:$ranges,
                       DenseI64ArrayAttr:$priorities,
                       OptionalAttr<I64Attr>:$exclusive);
  let assemblyFormat = [{
    ` ` `(` custom<Pieces>($communications, $ranges) `)` `priorities` $priorities (`exclusive` $exclusive^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // COMMSCHED_IR_CSPROBLEMOPS_TD
