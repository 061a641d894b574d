// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/options.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "plan/limits.h"
#include "tools/cs-run/check_reference.h"
#include "tools/cs-run/security.h"
#include "tools/cs-run/simulate.h"
#include "report/Document.h"
#include "tools/cs-run/replan.h"

namespace commsched::run {
namespace {

using Setter = std::function<absl::Status(const std::string &)>;

Setter Text(std::string *target) {
  return [target](const std::string &value) {
    *target = value;
    return absl::OkStatus();
  };
}

absl::StatusOr<uint64_t> Number(const std::string &value, uint64_t least) {
  uint64_t number;
  if (!absl::SimpleAtoi(value, &number) || number < least ||
      number > (uint64_t{1} << 62))
    return absl::InvalidArgumentError(
        absl::StrCat("must be a number of at least ", least, ", got: ", value));
  return number;
}

template <typename T>
Setter Count(T *target, uint64_t least) {
  return [target, least](const std::string &value) {
    absl::StatusOr<uint64_t> number = Number(value, least);
    if (number.ok()) *target = *number;
    return number.status();
  };
}

Setter Small(int *target, uint64_t least) {
  return [target, least](const std::string &value) -> absl::Status {
    absl::StatusOr<uint64_t> number = Number(value, least);
    if (number.ok() && *number > kMaxNodes)
      return absl::InvalidArgumentError(
          absl::StrCat("must be at most ", kMaxNodes, ", got: ", value));
    if (number.ok()) *target = int(*number);
    return number.status();
  };
}

// What belongs to one way of running only.
absl::Status CheckRole(const Options &o) {
  auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (!o.role.empty() && o.role != "trainer" && o.role != "server")
    return bad(absl::StrCat("--role must be trainer or server, got: ", o.role));
  if (o.is_server()) {
    if (o.index < 0 || o.listen.empty())
      return bad("--role server needs --index and --listen");
    if (o.rank >= 0 || !o.peers.empty() || o.has_servers())
      return bad("--role server goes without --rank, --peers and --servers");
    if (!o.batch.empty() || o.steps || o.epochs || !o.calls.empty() ||
        !o.eval.empty() || !o.save_params.empty() || !o.metrics_json.empty() ||
        !o.calibrate.empty() || o.stop_on_nan)
      return bad("--role server goes without what trainers do: only --init, "
                 "--checkpoint, --checkpoint-every, --resume, --trace and --profile");
    if (!o.checkpoint.empty() && o.checkpoint_every == 0)
      return bad("--role server needs --checkpoint-every with --checkpoint");
  } else if (o.index >= 0 || !o.listen.empty()) {
    return bad("--index and --listen need --role server");
  }
  if (o.role == "trainer" && o.rank < 0 && o.spawn == 0)
    return bad("--role trainer needs --rank");
  if (o.has_servers() && o.rank < 0)
    return bad("--servers needs --rank");
  if (o.has_servers() && !o.spawned && !o.resume.empty())
    return bad("--resume is for a server that comes back; where the whole job begins "
               "again, --resume-job is for all");
  if (!o.resume_job.empty() && !o.is_server() && !o.has_servers())
    return bad("--resume-job needs --role server or --servers; else it is --resume");
  if (!o.resume_job.empty() && !o.resume.empty())
    return bad("--resume-job and --resume exclude each other");
  return absl::OkStatus();
}

absl::Status Check(const Options &o) {
  const auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (o.plan.empty()) return bad("no plan is given; see cs-run --help");
  if (!o.transport.empty() && o.transport != "in-process" &&
      o.transport != "grpc" && o.transport != "mpi")
    return bad(absl::StrCat("--transport must be in-process, grpc or mpi, got: ",
                            o.transport));
  bool several = o.spawn != 0 || o.rank >= 0 || !o.peers.empty() || !o.role.empty();
  if ((o.transport == "in-process" || o.transport == "mpi") && several)
    return bad(absl::StrCat("--transport ", o.transport,
                            " goes without --spawn, --role, --rank and --peers"));
  if (o.spawn != 0 &&
      (o.rank >= 0 || !o.peers.empty() || !o.role.empty() || o.has_servers()))
    return bad("--spawn goes without --role, --rank, --peers and --servers");
  if (o.rank >= 0 ? o.peers.empty() && !o.has_servers() : !o.peers.empty())
    return bad("--rank and --peers go together");
  if (o.rank >= 0 && !o.peers.empty() && size_t(o.rank) >= o.peers.size())
    return bad(absl::StrCat("--rank must be below the number of peers ",
                            o.peers.size(), ", got: ", o.rank));
  if (o.steps && o.epochs) return bad("--steps and --epochs exclude each other");
  if (o.epochs && o.batch.empty()) return bad("--epochs needs --batch");
  if (!o.resume.empty() && !o.init.empty() && !o.is_server() && o.spawn == 0 && !o.spawned)
    return bad("--resume and --init exclude each other");
  if (o.eval.empty() && (!o.eval_batch.empty() || o.eval_every != 0))
    return bad("--eval-batch and --eval-every need --eval");
  if (o.checkpoint_every != 0 && o.checkpoint.empty())
    return bad("--checkpoint-every needs --checkpoint");
  return CheckRole(o);
}

// The page of a run. A trace that it is made of is written beside it.
absl::Status CheckPage(Options *o) {
  if (o->spawned) o->page.clear();  // the parent writes it
  if (o->page.empty()) {
    if (!o->spawned && (!o->predicted.empty() || !o->measured.empty()))
      return absl::InvalidArgumentError("--predicted and --measured need --report");
    return absl::OkStatus();
  }
  if (o->is_server())
    return absl::InvalidArgumentError("--role server goes without --report");
  if (!o->calibrate.empty() || o->arena_info)
    return absl::InvalidArgumentError(
        "--report goes without --calibrate and --arena-info");
  if (o->simulate && !o->predicted.empty())
    return absl::InvalidArgumentError("--simulate makes the prediction: goes without "
                                      "--predicted");
  if (!o->measured.empty() && !o->simulate &&
      (o->spawn != 0 || !o->batch.empty() || o->steps || o->epochs ||
       !o->trace.empty() || o->rank >= 0))
    return absl::InvalidArgumentError(
        "--measured is of a run that has been: goes without what trains and traces");
  if (o->trace.empty()) o->trace = report::tracePathBeside(o->page);
  return absl::OkStatus();
}

// Instead of training.
absl::Status CheckCalibrate(const Options &o) {
  if (o.calibrate.empty()) return absl::OkStatus();
  if (!o.batch.empty() || o.steps || o.epochs || !o.calls.empty() ||
      !o.eval.empty() || !o.save_params.empty() || !o.metrics_json.empty() ||
      !o.checkpoint.empty() || !o.trace.empty() || !o.profile.empty() || o.arena_info)
    return absl::InvalidArgumentError(
        "--calibrate goes without what training needs and writes: only where it "
        "runs, --init, --resume and --emulate");
  return absl::OkStatus();
}

bool IsNumber(const std::string &text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

absl::StatusOr<Options> ParseOptions(
    const std::vector<std::string> &arguments) {
  Options o;
  std::map<std::string, Setter> setters = {
      {"--batch", Text(&o.batch)},
      {"--init", Text(&o.init)},
      {"--resume", Text(&o.resume)},
      {"--resume-job", Text(&o.resume_job)},
      {"--steps", Count(&o.steps, 0)},
      {"--epochs", Count(&o.epochs, 1)},
      {"--call",
       [&](const std::string &v) {
         o.calls.push_back(v);
         return absl::OkStatus();
       }},
      {"--eval", Text(&o.eval)},
      {"--eval-batch", Text(&o.eval_batch)},
      {"--eval-every", Count(&o.eval_every, 1)},
      {"--trace", Text(&o.trace)},
      {"--profile", Text(&o.profile)},
      {"--calibrate", Text(&o.calibrate)},
      {"--report", Text(&o.page)},
      {"--predicted", Text(&o.predicted)},
      {"--measured", Text(&o.measured)},
      {"--report-steps", Count(&o.report_steps, 0)},
      {"--checkpoint", Text(&o.checkpoint)},
      {"--checkpoint-every", Count(&o.checkpoint_every, 1)},
      {"--save-params", Text(&o.save_params)},
      {"--metrics-every", Count(&o.metrics_every, 1)},
      {"--metrics-json", Text(&o.metrics_json)},
      {"--transport", Text(&o.transport)},
      {"--congestion-control", Text(&o.congestion)},
      {"--spawn", Small(&o.spawn, 1)},
      {"--role", Text(&o.role)},
      {"--index", Small(&o.index, 0)},
      {"--listen", Text(&o.listen)},
      {"--servers",
       [&](const std::string &v) {
         o.servers = absl::StrSplit(v, ',');
         return absl::OkStatus();
       }},
      {"--tls-ca", Text(&o.tls_ca)},
      {"--tls-cert", Text(&o.tls_cert)},
      {"--tls-key", Text(&o.tls_key)},
      {"--tls-server-name", Text(&o.tls_server_name)},
      {"--token-file", Text(&o.token_file)},
      {"--rank", Small(&o.rank, 0)},
      {"--peers",
       [&](const std::string &v) {
         o.peers = absl::StrSplit(v, ',');
         return absl::OkStatus();
       }},
      {"--seed", Count(&o.seed, 0)},
      {"--replan", Text(&o.replan)},
      {"--replan-every", Count(&o.replan_every, 1)},
      {"--replan-window", Count(&o.replan_window, 1)},
      {"--replan-folder", Text(&o.replan_folder)},
      {"--replan-when-off",
       [&](const std::string &v) -> absl::Status {
         if (!absl::SimpleAtod(v, &o.replan_when_off) || !(o.replan_when_off > 0) ||
             o.replan_when_off > 1e6)
           return absl::InvalidArgumentError(
               absl::StrCat("must be a positive number of percent, got: ", v));
         return absl::OkStatus();
       }},
      {"--replan-deadline",
       [&](const std::string &v) -> absl::Status {
         double seconds;
         if (!absl::SimpleAtod(v, &seconds) || !(seconds > 0) || seconds > 1e7)
           return absl::InvalidArgumentError(
               absl::StrCat("must be a positive number of seconds, got: ", v));
         o.replan_deadline = absl::Seconds(seconds);
         return absl::OkStatus();
       }},
      {"--token-fd",
       [&](const std::string &v) -> absl::Status {
         int fd = -1;
         if (absl::Status s = Small(&fd, 0)(v); !s.ok()) return s;
         auto token = TakeTokenFile(fd);
         if (token.ok()) o.token = *std::move(token);
         return token.status();
       }},
      {"--trace-origin", Count(&o.trace_origin, 1)},
      {"--stop-file", Small(&o.stop_file, 0)},
      {"--spawned",
       [&](const std::string &v) {
         o.spawned = true;
         return Small(&o.report, 0)(v);
       }},
      {"--deadline",
       [&](const std::string &v) -> absl::Status {
         double seconds;
         if (!absl::SimpleAtod(v, &seconds) || !(seconds > 0) || seconds > 1e7)
           return absl::InvalidArgumentError(
               absl::StrCat("must be a positive number of seconds, got: ", v));
         o.deadline = absl::Seconds(seconds);
         return absl::OkStatus();
       }},
  };
  setters.merge(SimulationSetters(&o));
  setters.merge(CheckReferenceSetters(&o));
  std::map<std::string, bool *> switches = {{"--shuffle", &o.shuffle},
                                            {"--simulate", &o.simulate},
                                            {"--every-rank", &o.simulation.every_rank},
                                            {"--arena-info", &o.arena_info},
                                            {"--emulate", &o.emulate},
                                            {"--insecure", &o.insecure},
                                            {"--stop-on-nan", &o.stop_on_nan},
                                            {"--listen-any", &o.listen_any},
                                            {"--version", &o.version},
                                            {"--help", &o.help},
                                            {"-h", &o.help}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i], value;
    if (!absl::StartsWith(name, "-") || name == "-") {
      if (!o.plan.empty())
        return absl::InvalidArgumentError(
            absl::StrCat("only one plan can be run, got: ", o.plan, " and ", name));
      o.plan = name;
      continue;
    }
    bool has_value = false;
    if (size_t equals = name.find('='); equals != name.npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    }
    if (auto it = switches.find(name); it != switches.end()) {
      if (has_value)
        return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      *it->second = true;
      continue;
    }
    auto it = setters.find(name);
    if (it == setters.end())
      return absl::InvalidArgumentError(
          absl::StrCat("unknown option ", name, "; see cs-run --help"));
    if (name == "--spawn" && !has_value &&
        (i + 1 == arguments.size() || !IsNumber(arguments[i + 1]))) {
      o.spawn = kSpawnAll;
      continue;
    }
    if (!has_value) {
      if (i + 1 == arguments.size())
        return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
      value = arguments[++i];
    }
    if (absl::Status s = it->second(value); !s.ok())
      return absl::InvalidArgumentError(absl::StrCat(name, " ", s.message()));
  }
  if (!o.help && !o.version) {
    if (absl::Status s = Check(o); !s.ok()) return s;
    if (absl::Status s = CheckSecurity(o); !s.ok()) return s;
    if (absl::Status s = CheckCalibrate(o); !s.ok()) return s;
    if (absl::Status s = CheckPage(&o); !s.ok()) return s;
    if (absl::Status s = CheckSimulate(o); !s.ok()) return s;
    if (absl::Status s = CheckReplan(o); !s.ok()) return s;
    if (absl::Status s = CheckCheckReference(o); !s.ok()) return s;
  }
  return o;
}

std::vector<std::string> WithoutSpawn(const std::vector<std::string> &arguments) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--spawn") {
      if (i + 1 < arguments.size() && IsNumber(arguments[i + 1])) ++i;
    } else if (!absl::StartsWith(arguments[i], "--spawn=")) {
      rest.push_back(arguments[i]);
    }
  }
  return rest;
}

const char *HelpText() {
  return R"(usage: cs-run PLAN [options]

Runs a plan: by default the whole cluster as threads of this process.

training
  --batch FILE            batches: .npz or safetensors, one array per batch
                          argument, dimension 0 counts samples
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
  --every-rank            simulates each rank, not one of each kind

parameter servers, for plans that have them
  --role trainer --rank R --servers C,D
                          one trainer; --servers are host:port of all servers.
                          Trainers do not talk to each other: --peers is not
                          needed, and not used
  --role server --index K --listen HOST:PORT
                          one server; only --init, --checkpoint,
                          --checkpoint-every, --resume, --trace, --profile and
                          --deadline of the other options
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
  --replan-window N       of what is measured, the last N steps (default 20)
  --replan-deadline S     seconds for the command (default 600)
  --replan-folder DIR     keeps measurements, plans and events.json

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
                          and how much slower compute is while they are busy:
                          JSON, for cs-opt --read-costs; of all ranks, by rank 0
  --arena-info            prints the memory that the plan needs, and ends
  --version               prints the version, and ends
)";
}

}  // namespace commsched::run
