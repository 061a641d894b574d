// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSATTRIBUTES_TD
#define COMMSCHED_IR_CSATTRIBUTES_TD

include "ir/CsDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Cs_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Cs_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Cs_DeviceKind : I32Enum<"DeviceKind", "kind of compute device", [
    I32EnumCase<"cpu", 0>, I32EnumCase<"cuda", 1>]> {
  let cppNamespace = "::commsched::cs";
}

def Cs_MemoryKind : I32Enum<"MemoryKind", "memory in which a placed value lives", [
    I32EnumCase<"device", 0>, I32EnumCase<"host", 1>]> {
  let cppNamespace = "::commsched::cs";
}

def Cs_Reduction : I32Enum<"Reduction", "how values of several ranks combine", [
    I32EnumCase<"sum", 0>, I32EnumCase<"mean", 1>, I32EnumCase<"max", 2>,
    I32EnumCase<"min", 3>]> {
  let cppNamespace = "::commsched::cs";
}
def Cs_ReductionAttr : EnumAttr<Cs_Dialect, Cs_Reduction, "reduction">;

def Cs_Combine : I32Enum<"Combine", "what a received part does to the own one", [
    I32EnumCase<"replace", 0>, I32EnumCase<"sum", 1>, I32EnumCase<"max", 2>,
    I32EnumCase<"min", 3>]> {
  let cppNamespace = "::commsched::cs";
}
def Cs_CombineAttr : EnumAttr<Cs_Dialect, Cs_Combine, "combine">;

def Cs_DeviceAttr : Cs_Attr<"Device", "device"> {
  let summary = "peak rates of a compute device";
  let description = [{
    `gflops`: 1e9 floating-point operations per second; `gb_per_s`: 1e9 bytes
    per second of its memory. Both positive. `copy_mb_per_s`: 1e6 bytes per second
    of each of its copy engines; without it they are as fast as the memory.
    `copy_latency_ns`: that a copy to or from the host takes its engine beside its bytes, not negative.
  }];
  let parameters = (ins EnumParameter<Cs_DeviceKind>:$kind, "int64_t":$gflops,
                        "int64_t":$gb_per_s,
                        DefaultValuedParameter<"int64_t", "0">:$copy_mb_per_s,
                        DefaultValuedParameter<"int64_t", "0">:$copy_latency_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cs_LinkAttr : Cs_Attr<"Link", "link"> {
  let summary = "speed and latency of a link";
  let description = [{
    A message of n bytes takes `latency_ns` + `overhead_ns` + 8000 n / `mbit_per_s`
    nanoseconds; the link is busy for all of it but the latency. Bandwidth positive and
    at most 10^13, the others not negative and at most an hour. Where `overhead_ns` is 0, nothing
    is known of it: passes and plans have 20 us.
  }];
  let parameters = (ins "int64_t":$mbit_per_s, "int64_t":$latency_ns,
                        DefaultValuedParameter<"int64_t", "0">:$overhead_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cs_NcclCostsAttr : Cs_Attr<"NcclCosts", "nccl_costs"> {
  let summary = "what collectives of NCCL take on a cluster";
  let description = [{
    `machine_ranks`: so many nodes of the cluster, one behind the other, are on one machine,
    linked by `intra`; positive. With that, times are those of NCCL's own model
    (docs/cuda.md).

    `ranks`, `bytes` and `ns`: measured instead, by nccl-tests; all three or none. An
    all-reduce of `bytes[i]` bytes by `ranks` ranks takes `ns[i]` nanoseconds. Bytes
    ascend and are positive, times do not fall; between two of them a line counts.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "1">:$machine_ranks,
                        DefaultValuedParameter<"int64_t", "0">:$ranks,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$bytes,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cs_CostAttr : Cs_Attr<"Cost", "cost"> {
  let summary = "what a fragment costs";
  let description = [{
    Floating-point operations, bytes read and written, and nanoseconds (0:
    not measured; estimated from the others and the device's rates).
  }];
  let parameters = (ins "int64_t":$flops, "int64_t":$bytes, "int64_t":$ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Nanoseconds on `device`: as measured, else what its rates allow.
    int64_t nanosecondsOn(DeviceAttr device) const;
  }];
  let genVerifyDecl = 1;
}

def Cs_SideAttr : Cs_Attr<"Side", "side"> {
  let summary = "what one side of an exchange does, for every rank and round";
  let description = [{
    `parts` maps (rank, round) to (first part, number of parts); `peer` maps
    (rank, round) to the other rank; the side acts only where (rank, round) lies
    in `when` (an integer set over two dimensions; everywhere if absent). In text
    every constraint of the set is a map whose value must be `zero` or `nonnegative`:
    `<parts affine_map<(r, s) -> (0, 4)> to affine_map<(r, s) -> (r - 4)> when nonnegative affine_map<(r, s) -> (r - 4)>>`.
  }];
  let parameters = (ins "::mlir::AffineMap":$parts, "::mlir::AffineMap":$peer,
                        "::mlir::IntegerSet":$when);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Cs_SyncMode : I32Enum<"SyncMode", "when parameter servers apply gradients", [
    I32EnumCase<"sync", 0>, I32EnumCase<"async", 1>, I32EnumCase<"half_async", 2>]> {
  let cppNamespace = "::commsched::cs";
}

def Cs_ServersAttr : Cs_Attr<"Servers", "servers"> {
  let summary = "the parameter servers of a training step";
  let description = [{
    `count` servers, the functions `@server.0` and so on. A trainer sends every
    `merge` steps: 1, or more in half-asynchronous mode. Both positive.
  }];
  let parameters = (ins "int64_t":$count, EnumParameter<Cs_SyncMode>:$sync_mode,
                        "int64_t":$merge);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cs_ScheduleAttr : Cs_Attr<"Schedule", "schedule"> {
  let summary = "how a step's communication was scheduled, and how far from the best";
  let description = [{
    `policy`: what decided. `period_ns`: predicted time per step; no schedule with
    the same order of fragments takes less than `bound_ns`, none at all less than
    `any_order_bound_ns` (0: not computed). `credit`: bytes that are given to a
    link and not complete at most, of those that a message does not overtake; 0 is no limit. None is negative.
  }];
  let parameters = (ins StringRefParameter<>:$policy, "int64_t":$period_ns,
                        "int64_t":$bound_ns, "int64_t":$any_order_bound_ns,
                        DefaultValuedParameter<"int64_t", "0">:$credit);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cs_NcclAttr : Cs_Attr<"Nccl", "nccl"> {
  let summary = "when NCCL takes a collective";
  let description = [{
    On a `cs.start` with a `cs.all_reduce` in it, as `cs.nccl`: the collective is a call of the
    communicator `lane`, in device memory. A communicator takes the calls of a step in the order of
    their numbers, 0, 1, 2, ..., which are the same on all ranks. Neither is negative.
  }];
  let parameters = (ins "int64_t":$lane, "int64_t":$number);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cs_CoordinatesAttr : Cs_Attr<"Coordinates", "coordinates", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "what the numbers of a message of sparse gradients are";
  let description = [{
    The encoding of a `tensor<lists x words x i32>`: each row is a list of k elements
    of `dense`. It has the bits of their values, in as many words as they fill (of
    an odd number of 16-bit values the last half is zero), then their indices
    (row-major; -1 is padding), and, of `counted` lists, one number more. k follows
    from the length of a row.

    Values may travel in fewer bits than `dense` has: `f16` and `bf16` in place of f32,
    and `i8`, integers of -127 to 127, in place of any; these have one word behind
    them, the scale of the list, whose bits are those of a f32.

    ```mlir
    tensor<4x156xi32, #cs.coordinates<tensor<784x10xf32>>>          // 4 lists of 78
    tensor<4x157xi32, #cs.coordinates<tensor<784x10xf32>, counted>> // and 4 counts
    tensor<4x117xi32, #cs.coordinates<tensor<784x10xf16>>>          // two values a word
    tensor<4x117xi32, #cs.coordinates<tensor<784x10xf32>, f16>>     // rounded
    tensor<4x99xi32, #cs.coordinates<tensor<784x10xf32>, i8>>       // four a word, a scale
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$dense, "::mlir::Type":$values,
                        "bool":$counted);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The encoding of `type`, else null.
    static CoordinatesAttr of(::mlir::Type type);
    /// Words of the values of a list, of so many bytes (1: with the scale behind them),
    /// and of all of a row.
    static int64_t wordsOfValues(int64_t entries, int64_t valueBytes);
    static int64_t wordsOfRow(int64_t entries, int64_t valueBytes, bool counted);
    int64_t valueBytes() const;
    /// Whether values travel in fewer bits than the tensor has.
    bool isQuantized() const;
    bool hasScales() const { return valueBytes() == 1; }
    /// k of rows of this length; 0 if there is none.
    int64_t entriesOfRow(int64_t words) const;
    /// The type of lists of `entries` elements.
    ::mlir::RankedTensorType typeOf(int64_t lists, int64_t entries) const;
  }];
}

#endif // COMMSCHED_IR_CSATTRIBUTES_TD
