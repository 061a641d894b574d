

// Only half of an all-reduce.
cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @half(%v: !cs.placed<tensor<8xf32>, device 0>) {
  // expected-exchanges+1 {{'cs.start' op in "w": the exchanges do not compu[te all_reduce: on rank 0, part 0 of 4 misses the contribution of rank 1}}
  %f = cs.start "w" (%v) : (!cs.placed<tensor<8xf32>, device 0>) -> !cs.future<!cs.placed<tensor<8xf32>, device 0>> attributes {cs.collective = "all_reduce", cs.reduction = "sum"} {
  ^bb0(%x: !cs.placed<tensor<8xf32>, device 0>):
    %p0 = cs.exchange %x chunks 4 rounds 0x7F800000 sum send <parts affine_map<(r, s) -> ((r - s) mod 4, 1)> to affine_map<(r, s) -> ((r + 1) mod 4)>> recv <parts affine_map<(r, s) -> ((r - s - 1) mod 4, 1)> to affine_map<(r, s) -> ((r - 1) mod 4)>> : !cs.placed<tensor<8xf32>, device 0>
    cs.return %p0 : !cs.placed<tensor<8xf32>, device 0>
  }
  %a = cs.await %f : !cs.future<!cs.placed<tensor<8xf32>, device 0>>
  return
}

