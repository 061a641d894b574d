cs.cluster @sixteen nodes = 16 devices = 1 device = <kind = cuda, gflops = 82000, gb_per_s = 1000>
    intra = <mbit_per_s = 80000, latency_ns = 5000>
    inter = <mbit_per_s = 10000, latency_ns = 20000, overhead_ns = 10000>
