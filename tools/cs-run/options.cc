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
#include "report/Document.h"
#include "tools/cs-run/check_reference.h"
#include "tools/cs-run/replan.h"
#include "tools/cs-run/security.h"
#include "tools/cs-run/simulate.h"
#include "tools/cs-run/ways.h"

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
    return bad(
        "--resume is for a server that comes back; where the whole job begins "
        "again, --resume-job is for all");
  if (!o.resume_job.empty() && !o.is_server() && !o.has_servers())
    return bad("--resume-job needs --role server or --servers; else it is --resume");
  if (!o.resume_job.empty() && !o.resume.empty())
    return bad("--resume-job and --resume exclude each other");
  return absl::OkStatus();
}

// What --arena-info prints is of rank 0, or of another process that is named.
absl::Status CheckArenaInfo(const Options &o) {
  const auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (o.role == "trainer" && o.rank < 0) return bad("--role trainer needs --rank");
  if (!o.role.empty() && o.role != "trainer" && o.role != "server")
    return bad(absl::StrCat("--role must be trainer or server, got: ", o.role));
  if (o.is_server() ? o.index < 0 || o.rank >= 0 : o.index >= 0)
    return bad("--role server needs --index, and goes without --rank");
  return absl::OkStatus();
}

absl::Status Check(const Options &o) {
  const auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (o.plan.empty()) return bad("no plan is given; see cs-run --help");
  if (WayOf(o) == kArenaInfo) return CheckArenaInfo(o);
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
  if (!o.resume.empty() && !o.init.empty() && o.spawn == 0 && !o.spawned)
    return bad("--resume and --init exclude each other");
  for (const auto &[name, addresses] :
       {std::pair("--peers", &o.peers), std::pair("--servers", &o.servers)})
    for (size_t i = 0; i < addresses->size(); ++i)
      if ((*addresses)[i].empty())
        return bad(absl::StrCat(name, " must have an address for each process, got an empty one"));
      else if (std::count(addresses->begin(), addresses->end(), (*addresses)[i]) > 1)
        return bad(absl::StrCat(name, " must have an address for each process, got twice: ",
                                (*addresses)[i]));
  return CheckRole(o);
}

// The page of a run. A trace that it is made of is written beside it.
absl::Status CheckPage(Options *o) {
  if (o->spawned) o->page.clear();  // the parent writes it
  if (o->page.empty()) return absl::OkStatus();
  if (o->simulate && !o->predicted.empty())
    return absl::InvalidArgumentError(
        "--simulate makes the prediction: goes without "
        "--predicted");
  if (o->trace.empty()) o->trace = report::tracePathBeside(o->page);
  return absl::OkStatus();
}

bool IsNumber(const std::string &text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

int CudaDeviceOf(const Options &options) {
  return std::max(0, !options.spawned    ? options.local_rank
                     : options.rank >= 0 ? options.rank
                                         : options.index);
}

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
      {"--membership", Small(&o.membership, 0)},
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
      {"--tune",
       [&](const std::string &v) {
         o.tune = absl::StrSplit(v, ',');
         return absl::OkStatus();
       }},
      {"--tune-steps", Count(&o.tune_steps, 1)},
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
                                            {"--in-order", &o.simulation.in_order},
                                            {"--arena-info", &o.arena_info},
                                            {"--emulate", &o.emulate},
                                            {"--insecure", &o.insecure},
                                            {"--stop-on-nan", &o.stop_on_nan},
                                            {"--listen-any", &o.listen_any},
                                            {"--no-shared-memory", &o.no_shared_memory},
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
      o.given.push_back(name);
      continue;
    }
    auto it = setters.find(name);
    if (it == setters.end())
      return absl::InvalidArgumentError(
          absl::StrCat("unknown option ", name, "; see cs-run --help"));
    if (name == "--spawn" && !has_value &&
        (i + 1 == arguments.size() || !IsNumber(arguments[i + 1]))) {
      o.spawn = kSpawnAll;
      o.given.push_back(name);
      continue;
    }
    if (!has_value) {
      if (i + 1 == arguments.size())
        return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
      value = arguments[++i];
      // Forgotten values would take an option with them.
      if (absl::StartsWith(value, "--"))
        return absl::InvalidArgumentError(absl::StrCat(
            name, " needs a value, got: ", value, "; a value that begins so is written ", name, "=", value));
    }
    // Such as of a variable that is not set: nothing would come of the option.
    if (value.empty())
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value, got an empty one"));
    if (absl::Status s = it->second(value); !s.ok())
      return absl::InvalidArgumentError(absl::StrCat(name, " ", s.message()));
    o.given.push_back(name);
  }
  if (!o.help && !o.version) {
    if (absl::Status s = Check(o); !s.ok()) return s;
    if (absl::Status s = CheckSecurity(o); !s.ok()) return s;
    if (absl::Status s = CheckPage(&o); !s.ok()) return s;
    if (absl::Status s = CheckSimulate(o); !s.ok()) return s;
    if (absl::Status s = CheckReplan(o); !s.ok()) return s;
    if (absl::Status s = CheckCheckReference(o); !s.ok()) return s;
    if (absl::Status s = CheckWay(o); !s.ok()) return s;
    if (absl::Status s = CheckSecret(o); !s.ok()) return s;
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

}  // namespace commsched::run
