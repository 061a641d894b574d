// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Open MPI's own all-reduce, for bench/all_reduce.py:
//
//   mpirun -n N all_reduce_driver SECONDS BYTES...
//
// Rank 0 prints a line "BYTES MICROSECONDS" for each size: the mean time of an
// MPI_Allreduce of float32 sums in place, called in a loop for about SECONDS.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double Loop(float *values, size_t bytes, long calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < calls; ++i)
    MPI_Allreduce(MPI_IN_PLACE, values, (int)(bytes / sizeof(float)), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / (double)calls;
}

int main(int argc, char **argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  for (int i = 2; i < argc; ++i) {
    const size_t bytes = strtoul(argv[i], NULL, 10);
    float *values = malloc(bytes);
    if (values == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(values, 0, bytes);
    Loop(values, bytes, 1);
    double one = Loop(values, bytes, bytes < 1 << 20 ? 3 : 1);
    // The same number of calls on all ranks.
    MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    long calls = (long)(seconds / one);
    if (calls < 1) calls = 1;
    if (calls > 1000000) calls = 1000000;
    const double mean = Loop(values, bytes, calls);
    if (rank == 0) printf("%zu %.3f\n", bytes, mean * 1e6);
    fflush(stdout);
    free(values);
  }
  MPI_Finalize();
  return 0;
}
