// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MPI as a table: a program that is linked with it has one (mpi/linked.cc), and a library
// that must also load where there is no MPI gets one from its plug-in (mpi/loaded.cc).
// mpi.h is there for types and constants that are no symbols of the library.
#ifndef COMMSCHED_MPI_FUNCTIONS_H
#define COMMSCHED_MPI_FUNCTIONS_H

#include <mpi.h>

#include <cstddef>

#include "absl/status/statusor.h"

namespace commsched::transport::mpi {

struct Functions {
  size_t bytes;  // of this struct: table and its user are of the same build
  MPI_Comm world, self, no_comm;
  MPI_Datatype byte;
  MPI_Request no_request;
  MPI_Info no_info;
  MPI_Errhandler errors_return;

  decltype(&MPI_Cancel) Cancel;
  decltype(&MPI_Comm_dup) Comm_dup;
  decltype(&MPI_Comm_free) Comm_free;
  decltype(&MPI_Comm_get_attr) Comm_get_attr;
  decltype(&MPI_Comm_idup) Comm_idup;
  decltype(&MPI_Comm_rank) Comm_rank;
  decltype(&MPI_Comm_set_errhandler) Comm_set_errhandler;
  decltype(&MPI_Comm_size) Comm_size;
  decltype(&MPI_Comm_split_type) Comm_split_type;
  decltype(&MPI_Error_string) Error_string;
  decltype(&MPI_Finalize) Finalize;
  decltype(&MPI_Finalized) Finalized;
  decltype(&MPI_Get_count) Get_count;
  decltype(&MPI_Ibarrier) Ibarrier;
  decltype(&MPI_Improbe) Improbe;
  decltype(&MPI_Imrecv) Imrecv;
  decltype(&MPI_Init_thread) Init_thread;
  decltype(&MPI_Initialized) Initialized;
  decltype(&MPI_Irecv) Irecv;
  decltype(&MPI_Isend) Isend;
  decltype(&MPI_Query_thread) Query_thread;
  decltype(&MPI_Request_get_status) Request_get_status;
  decltype(&MPI_Test) Test;
  decltype(&MPI_Testsome) Testsome;
  decltype(&MPI_Wait) Wait;
};

// kUnavailable, with the loader's words, if there is no MPI here. In linked.cc or loaded.cc.
absl::StatusOr<const Functions *> FindMpi();

// After BeginMpi.
const Functions &Mpi();

}  // namespace commsched::transport::mpi

// What the plug-in has.
extern "C" const commsched::transport::mpi::Functions *commsched_mpi_functions();

#endif  // COMMSCHED_MPI_FUNCTIONS_H
