// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/options.h"

namespace commsched::run {

const char *HelpText() {
  return R"(usage: cs-run PLAN [options]

Runs a plan: by default the whole cluster as threads of this process. Of an option
that is given twice the last one counts, but for --call, --what-if, --straggler and
--link, which add up.

training
  --batch FILE            batches: .npz or safetensors, one array per batch
                          argument, dimension 0 counts samples; others in it
                          are not read
  --steps N | --epochs N  how many more steps, or up to which epoch
                          (default: one epoch with --batch)
  --shuffle               another order of samples in every epoch
  --seed N                of the shuffling (default 0)
  --init FILE             initial parameters and state: .npz or safetensors;
                          what is not in it comes from @init, if the plan has one
  --resume FILE           goes on from a checkpoint
  --checkpoint FILE       writes a checkpoint at the end
  --checkpoint-every N    and after every N steps (default: none)
                          (with parameter servers as processes, of a folder: see
                          below)
  --save-params FILE      writes the parameters at the end (safetensors): rank 0, and
                          each rank started by hand that has the option
  --call NAME             calls a function before training; may be repeated
  --stop-on-nan           a NaN ends the run with an error; without, it is said once.
                          Checkpoints without one are kept

trust: docs/interpreter.md
  --check-against FILE    instead of training: runs the first --steps N steps, has
                          cs-opt interpret the step of this module (level 0) beside
                          them, and prints the largest difference of each tensor;
                          an error if one is outside of its bound
  --check-json FILE       writes the table as JSON

evaluation
  --eval NAME             function to call after training
  --eval-batch FILE       its batches (default: those of --batch)
  --eval-every N          and after every N steps (default: none)

where it runs
  --spawn [N]             all N processes of the plan on this machine, connected
                          by gRPC
  --rank R --peers A,B    one rank; peers are host:port of all ranks in order
  --listen-any            listens on the port of the own address on all networks;
                          needs TLS and a token
  mpirun, srun, ...       one rank in each process that a launcher starts:
                          rank, number and addresses come from its environment
                          (docs/transports.md)
  --transport NAME        in-process, grpc or mpi (default: mpi under a launcher of
                          MPI jobs, grpc under others, else in-process)
  --token-file FILE       the first line is a secret of 16 characters or more that
                          all processes of the job know and prove to each other
                          (docs/security.md); --spawn makes one
  --insecure              instead: whoever can connect may join; on loopback
                          addresses and socket files only
  --tls-ca FILE --tls-cert FILE --tls-key FILE
                          PEM files, of ranks, trainers and servers: TLS, in which
                          both sides show a certificate of this authority; needed
                          between machines
  --tls-server-name NAME  in the certificates of who is dialled, if not the host
  --congestion-control C  of gRPC's TCP connections between ranks, such as cubic
                          or bbr (default: the system's)
  --no-shared-memory      gRPC's ranks, trainers and servers talk over the network
                          also to those of their host, with which they share
                          memory otherwise
  --membership N          of a job that is begun again, larger each time: ranks that are
                          left of the time before are refused (default 0; under
                          torchrun TORCHELASTIC_RESTART_COUNT)
  --deadline SECONDS      for connecting, and for a step without progress
                          (default 30)
  --emulate               devices and copy engines take the time that the plan
                          says, fragments with code run, messages are sent;
                          batches and initial values that are not given are zero

simulation: docs/simulator.md
  --simulate              instead of running the plan, predicts the time of a
                          step, exposed communication and the use of each link;
                          with --steps N, of a run of N steps; --trace and
                          --metrics-json write what is predicted
  --what-if A=X,...       bandwidth, latency or compute (speed) times X;
                          workers=N, with algorithm=ring, halving-doubling,
                          recursive-doubling or auto (default: as the plan says)
  --straggler R=X         the compute of rank R takes X times as long
  --jitter X[/SEED]       compute takes between 1 - X and 1 + X times as long, drawn for
                          each rank and step
  --in-order              collectives go one at a time, in one order on all ranks,
                          as NCCL's on a stream do
  --link R=UP[/DOWN]      Mbit/s that rank R sends and receives; servers come
                          behind the trainers
  --link-latency-ns N, --link-overhead-ns N, --link-burst BYTES, --link-queue-ns N
                          of every link (default: as the plan or the calibration
                          says); what it lets through at once after a pause, and
                          what stands in its queue while it is busy (default 0)
  --engine-ns N           of a rank, for each round of a collective (default: as
                          the calibration says, else 0)
  --read-profile FILE, --read-calibration FILE
                          costs that --profile and --calibrate have measured
  --read-nccl-tests FILE  what collectives of NCCL take: output of all_reduce_perf of
                          NVIDIA's nccl-tests, of as many ranks
  --every-rank            simulates each rank, not one of each kind

parameter servers, for plans that have them
  --role trainer --rank R --servers C,D
                          one trainer; --servers are host:port of all servers.
                          Trainers do not talk to each other: --peers is for
                          --tune and --calibrate only
  --role server --index K --listen HOST:PORT
                          one server; only --init, --checkpoint,
                          --checkpoint-every, --resume, --resume-job, --trace,
                          --profile, --deadline, --emulate and what is of trust and
                          of shared memory of the other options
  --checkpoint FOLDER --checkpoint-every N
                          with --spawn, or of each server and trainer: each saves
                          its part, every N steps and at the end
  --resume FOLDER         with --spawn: the job goes on from the newest checkpoint
                          that is whole, or begins with --init if there is none;
                          of a server: comes back into a job that goes on
  --resume-job FOLDER     of each server and trainer: the whole job goes on, as
                          with --spawn --resume

re-planning, on all ranks (docs/replanning.md)
  --replan COMMAND        makes a new plan beside the run, which all ranks then
                          change to: for /bin/sh of rank 0; {profile} and
                          {calibration} become files with what was measured,
                          {plan} the one to write
  --replan-every N        after every N steps
  --replan-when-off P     when a step takes P percent more or less than at first
  --replan-window N       of what is measured, the last N steps (default 20, or
                          two fewer than N of --replan-every, but at least 4)
  --replan-deadline S     seconds for the command (default 600)
  --replan-folder DIR     keeps measurements, plans and events.json
  --tune PLAN,...         tries these plans of the same program on steps of the
                          run, and the plan that it begins with, and keeps the
                          fastest; files of rank 0. With --replan-folder
                          for events.json
  --tune-steps N          of a trial, besides two that warm up (default 5 to 40,
                          as many as it takes to know them to 0.25 percent,
                          or fewer that take 2 s)

reports
  --metrics-every N       prints metrics every N steps (default: so that there
                          are about twenty lines)
  --metrics-json FILE     writes metrics and times as JSON
  --trace FILE            writes a trace of all ranks for ui.perfetto.dev; with
                          --rank R, of that one, and .rankR before .json
  --report FILE.html      writes a page with the timeline of all ranks and why
                          compute waited; the trace lies beside it
                          (docs/report.md)
  --predicted FILE        a predicted trace, of cs-opt --report or --simulate: the
                          page shows it above what was measured
  --report-steps N        how many steps in a row the page shows, such as take
                          about as long as the median; 0: all (default 4)
  --measured FILE         instead of running: a page of a trace that was written
                          before; with --simulate below what that predicts
  --profile FILE          writes the times of fragments as JSON, for cs-opt
                          --read-costs; with --rank R, of that one, and .rankR
                          before .json
  --calibrate FILE        instead of training, measures the links of the cluster
                          and how much slower compute is while they are busy;
                          of CUDA devices copies, and NCCL: JSON, for cs-opt
                          --read-costs; of all ranks, by rank 0
  --arena-info            prints the memory that the plan needs, and ends: of rank
                          0, or as --rank R, or --role server --index K say
  --version               prints the version, and ends
)";
}

}  // namespace commsched::run
