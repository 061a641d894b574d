// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/functions.h"

__attribute__((visibility("default"))) const commsched::transport::mpi::Functions *
commsched_mpi_functions() {
  static const commsched::transport::mpi::Functions table = {
      .bytes = sizeof(table),
      .world = MPI_COMM_WORLD,
      .self = MPI_COMM_SELF,
      .no_comm = MPI_COMM_NULL,
      .byte = MPI_BYTE,
      .no_request = MPI_REQUEST_NULL,
      .no_info = MPI_INFO_NULL,
      .errors_return = MPI_ERRORS_RETURN,
      .Cancel = MPI_Cancel,
      .Comm_dup = MPI_Comm_dup,
      .Comm_free = MPI_Comm_free,
      .Comm_get_attr = MPI_Comm_get_attr,
      .Comm_idup = MPI_Comm_idup,
      .Comm_rank = MPI_Comm_rank,
      .Comm_set_errhandler = MPI_Comm_set_errhandler,
      .Comm_size = MPI_Comm_size,
      .Comm_split_type = MPI_Comm_split_type,
      .Error_string = MPI_Error_string,
      .Finalize = MPI_Finalize,
      .Finalized = MPI_Finalized,
      .Get_count = MPI_Get_count,
      .Ibarrier = MPI_Ibarrier,
      .Improbe = MPI_Improbe,
      .Imrecv = MPI_Imrecv,
      .Init_thread = MPI_Init_thread,
      .Initialized = MPI_Initialized,
      .Irecv = MPI_Irecv,
      .Isend = MPI_Isend,
      .Query_thread = MPI_Query_thread,
      .Request_get_status = MPI_Request_get_status,
      .Test = MPI_Test,
      .Testsome = MPI_Testsome,
      .Wait = MPI_Wait,
  };
  return &table;
}
