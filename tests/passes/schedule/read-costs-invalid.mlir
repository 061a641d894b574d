// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Files of costs that do not fit: one error, which names the file.

// RUN: split-file %s %t

// RUN: not cs-opt --read-costs=profile=%t/none.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}none.json': No such file
// MISSING-NOT: error

// RUN: echo '{"a": [}' > %t/broken.json
// RUN: not cs-opt --read-costs=profile=%t/broken.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: '{{.*}}broken.json': is no JSON object

// RUN: not cs-opt --read-costs=profile=%t/c.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: '{{.*}}c.json': format must be "commsched profile", got: "commsched calibration"
// RUN: not cs-opt --read-costs=calibration=%t/p.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=FORMAT2
// FORMAT2: error: '{{.*}}p.json': format must be "commsched calibration", got: "commsched profile"

// RUN: sed 's/"version":1/"version":2/' %t/p.json > %t/version.json
// RUN: not cs-opt --read-costs=profile=%t/version.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: '{{.*}}version.json': version must be 1, got: 2

// RUN: sed 's/"module":"m"/"module":"other"/' %t/p.json > %t/module.json
// RUN: not cs-opt --read-costs=profile=%t/module.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=MODULE
// MODULE: error: '{{.*}}module.json': is of another program: module must match "m", got: "other"
// RUN: not cs-opt --read-costs=profile=%t/p.json,%t/module.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=MODULES
// MODULES: error: '{{.*}}module.json': module must match that of the other files, "m", got: "other"

// RUN: sed -e 's/"plan":"17"/"plan":"18"/' -e 's/"index":0/"index":1/' %t/p.json > %t/plan.json
// RUN: not cs-opt --read-costs=profile=%t/p.json,%t/plan.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: error: '{{.*}}plan.json': plan must match that of the other files, "17", got: "18"

// RUN: not cs-opt --read-costs=profile=%t/p.json,%t/p.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: '{{.*}}p.json': rank 0 is in '{{.*}}p.json' already

// RUN: sed 's/"label":"a"/"label":"z"/' %t/p.json > %t/label.json
// RUN: not cs-opt --read-costs=profile=%t/label.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=LABEL
// LABEL: error: '{{.*}}label.json': rank 0: the module has no fragment "z" on device 0 in @step
// LABEL-NOT: error

// RUN: sed 's/"device":0/"device":1/' %t/p.json > %t/device.json
// RUN: not cs-opt --read-costs=profile=%t/device.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: '{{.*}}device.json': rank 0: the module has no fragment "a" on device 1 in @step

// RUN: sed 's/devices = 1/devices = 2/' %t/m.mlir > %t/devices.mlir
// RUN: not cs-opt --read-costs=profile=%t/label.json %t/devices.mlir 2>&1 | FileCheck %s --check-prefix=LINKS
// LINKS: error: '{{.*}}label.json': rank 0: the module has no fragment "z" on device 0 in @step, whose fragments depend on what links cost: profile a plan that was made with the same calibration

// RUN: sed 's/"label":"b"/"label":"a"/' %t/p.json > %t/same.json
// RUN: not cs-opt --read-costs=profile=%t/same.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: error: '{{.*}}same.json': rank 0: "a" is there twice

// RUN: sed -e 's/"index":0/"index":1/' -e '/"label":"b"/d' %t/p.json > %t/fewer.json
// RUN: not cs-opt --read-costs=profile=%t/p.json,%t/fewer.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: not cs-opt --read-costs=profile=%t/fewer.json,%t/p.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=FEWER
// FEWER: error: '{{.*}}fewer.json': rank 1 has no fragment "b", which rank 0 in '{{.*}}p.json' has

// RUN: sed 's/"median_ns":20/"median_ns":"20 ns"/' %t/p.json > %t/number.json
// RUN: not cs-opt --read-costs=profile=%t/number.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: '{{.*}}number.json': rank 0: "b": "median_ns" must be a whole number of 0 to 3600000000000, got: "20 ns"

// RUN: sed 's/"role":"worker"/"role":"server"/' %t/p.json > %t/server.json
// RUN: not cs-opt --read-costs=profile=%t/server.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=SERVER
// SERVER: error: '{{.*}}server.json': the module has no server 0

// RUN: sed 's/"kind":"run"/"kind":"walk"/' %t/p.json > %t/kind.json
// RUN: not cs-opt --read-costs=profile=%t/kind.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: '{{.*}}kind.json': rank 0: "b": "kind" must be run, delay or copy, got: walk

// RUN: sed 's/"processes"/"process"/' %t/p.json > %t/list.json
// RUN: not cs-opt --read-costs=profile=%t/list.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: '{{.*}}list.json': file: "processes" must be a list

// RUN: sed 's/"bits_per_s":8/"bits_per_s":0/' %t/c.json > %t/rate.json
// RUN: not cs-opt --read-costs=calibration=%t/rate.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=RATE
// RATE: error: '{{.*}}rate.json': link from rank 0: "bits_per_s" must be a whole number of 1 to 1125899906842624, got: 0

// In megabits, most likely: taken, with one warning, however often a pipeline reads the file.
// RUN: cs-opt --read-costs=calibration=%t/c.json --read-costs=calibration=%t/c.json %t/m.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNIT
// UNIT: warning: '{{.*}}c.json': link from rank 0: bits_per_s is in bit/s, of which links have 1000000 to 100000000000000, got: 8
// UNIT-NOT: warning
// RUN: sed 's/"bits_per_s":8/"bits_per_s":1000000/' %t/c.json > %t/radio.json
// RUN: cs-opt --read-costs=calibration=%t/radio.json %t/m.mlir -o /dev/null 2>&1 | count 0

// RUN: sed 's/{"from.*}//' %t/c.json > %t/empty.json
// RUN: not cs-opt --read-costs=calibration=%t/empty.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: '{{.*}}empty.json': has no link

// RUN: not cs-opt --read-costs=calibration=%t/d.json %t/m.mlir 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: '{{.*}}d.json': is of CUDA devices: devices of the cluster must be of kind cuda, got: cpu
// RUN: sed 's/kind = cpu/kind = cuda/' %t/m.mlir > %t/cuda.mlir
// RUN: sed 's/nodes = 2/nodes = 3/' %t/cuda.mlir > %t/three.mlir
// RUN: not cs-opt --read-costs=calibration=%t/d.json %t/three.mlir 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: error: '{{.*}}d.json': ranks must match the nodes of the cluster, 3, got: 2
// RUN: sed 's/to_host/sideways/' %t/d.json > %t/direction.json
// RUN: not cs-opt --read-costs=calibration=%t/direction.json %t/cuda.mlir 2>&1 | FileCheck %s --check-prefix=DIRECTION
// DIRECTION: error: '{{.*}}direction.json': copy: "direction" must be to_host or to_device, got: sideways
// RUN: sed 's/"both_bytes_per_s":7/"both_bytes_per_s":0/' %t/d.json > %t/both.json
// RUN: not cs-opt --read-costs=calibration=%t/both.json %t/cuda.mlir 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: '{{.*}}both.json': copy: "both_bytes_per_s" must be a whole number of 1 to
// RUN: sed 's/"ranks":2,"bytes":9/"ranks":4,"bytes":9/' %t/d.json > %t/others.json
// RUN: not cs-opt --read-costs=calibration=%t/others.json %t/cuda.mlir 2>&1 | FileCheck %s --check-prefix=OTHERS
// OTHERS: error: '{{.*}}others.json': nccl: ranks must match those of other entries, 2, got: 4

// RUN: grep -v cs.cluster %t/m.mlir > %t/no-cluster.mlir
// RUN: not cs-opt --read-costs=calibration=%t/c.json %t/no-cluster.mlir 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: error: has no cs.cluster to take the costs of links: run --insert-dist-comm first

// RUN: sed 's/"b" on 0/"a" on 0/' %t/m.mlir > %t/double.mlir
// RUN: not cs-opt --read-costs=profile=%t/p.json %t/double.mlir 2>&1 | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: error: 'cs.fragment' op has the label of another one: costs cannot be told apart
// DOUBLE: note: which is here

//--- m.mlir
!t = !cs.placed<tensor<4xf32>, device 0>
module @m {
  cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20> intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
  func.func @step(%x: !t {cs.batch = "x"}) -> (!t {cs.metric = "m"}) attributes {cs.step} {
    %a = cs.fragment "a" on 0 (%x) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !t
    %b = cs.fragment "b" on 0 (%a) cost <flops = 1, bytes = 1, ns = 0> : (!t) -> !t
    return %b : !t
  }
}
//--- p.json
{"format":"commsched profile","version":1,"module":"m","plan":"17","warm_up_steps":3,
"processes":[
{"role":"worker","index":0,"functions":[
 {"name":"step","fragments":[
  {"label":"b","device":0,"kind":"run","count":20,"median_ns":20,"min_ns":8,"max_ns":40,"quiet_count":0},
  {"label":"a","device":0,"kind":"run","count":20,"median_ns":10,"min_ns":8,"max_ns":40,"quiet_count":0}]}]}
]}
//--- d.json
{"format":"commsched calibration","version":1,"module":"m","transport":"none","ranks":2,"servers":0,
"links":[],"exchanges":[],"compute":[],
"copies":[
 {"rank":0,"direction":"to_host","latency_ns":1,"bytes_per_s":9,"both_bytes_per_s":7}],
"nccl":[{"ranks":2,"bytes":4,"ns":1},
 {"ranks":2,"bytes":9,"ns":2}]}
//--- c.json
{"format":"commsched calibration","version":1,"module":"m","transport":"grpc","ranks":2,"servers":0,
"links":[
 {"from":"rank 0","to":"rank 1","latency_ns":6,"overhead_ns":3,"bits_per_s":8,"round_trip_ns":9}
],
"exchanges":[],
"compute":[]}
