// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/c_api/c_api.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/memory.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/c_api/c_api_error.h"
#include "runtime/c_api/c_api_session.h"
#include "runtime/session/rank_state.h"
#include "runtime/session/session.h"

namespace rt = commsched::runtime;
using commsched::CheckProcess;
using commsched::CheckSession;
using commsched::Counted;
using commsched::Finished;

namespace {

// Of this process. Their threads may hold locks when it is forked.
std::atomic<int> sessions{0};
bool forked = false;  // while there were sessions

void AfterFork() {
  forked = forked || sessions.load(std::memory_order_relaxed) != 0;
}

// Without allocating.
void SayMissing(const char *message) {
  for (const char *text : {"commsched: ", message, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

std::string &LastError() {
  thread_local std::string error;
  return error;
}

// Whether it can be used here, every call has ended, with its error, if it had one, and there are
// values.
absl::Status Settle(cs_session *session) {
  if (absl::Status s = CheckSession(session); !s.ok()) return s;
  session->session->Settle().IgnoreError();
  return session->session->lost();
}

absl::StatusOr<uint32_t> FindSlot(cs_session *session, const char *name) {
  const auto &slots = session->session->values();
  for (uint32_t i = 0; i < slots.size(); ++i)
    if (name != nullptr && slots[i].name == name) return i;
  return absl::NotFoundError(absl::StrCat("plan has no parameter or state \"",
                                          name != nullptr ? name : "", "\""));
}

// A copy, in which every rank's rows begin aligned only if their size allows:
// the fragments ask for no more than the alignment of the elements.
absl::Status CopyBatch(cs_session *session, const char *name, const void *data,
                       size_t bytes) {
  if (name == nullptr || (data == nullptr && bytes != 0))
    return absl::InvalidArgumentError("a batch needs a name and data");
  absl::StatusOr<rt::Memory> memory = rt::Memory::Allocate(bytes);
  if (!memory.ok()) return memory.status();
  if (bytes != 0) std::memcpy(memory->data(), data, bytes);
  auto owner = std::make_shared<rt::Memory>(*std::move(memory));
  session->batch->Set(name, absl::MakeConstSpan(owner->data(), bytes), owner);
  return absl::OkStatus();
}

}  // namespace

namespace commsched {

Counted::Counted() { ++sessions; }
Counted::~Counted() {
  if (!keep_) --sessions;
}
void Counted::Gone() { --sessions; }

absl::Status CheckProcess() {
  static const int registered = [] {
    rt::EndWhenOutOfMemory(SayMissing, rt::Abort::kLeave);
    return pthread_atfork(nullptr, nullptr, AfterFork);
  }();
  if (registered != 0)
    return absl::ResourceExhaustedError("no memory to watch for forks");
  if (!forked) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a process that was forked while a session ran cannot begin one: start it "
      "as a new process (spawn)");
}

int Finished(const absl::Status &status) {
  LastError() = status.ok() ? std::string() : std::string(status.message());
  return status.ok() ? 0 : 1;
}

void SetLastError(const absl::Status &status) { Finished(status); }

absl::Status CheckSession(const cs_session *session) {
  if (session == nullptr)
    return absl::FailedPreconditionError("there is no session: it is closed");
  if (session->process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a session cannot be used in a forked process, which does not have its "
      "threads");
}

absl::StatusOr<rt::ReplanOptions> ReplanOptionsOf(
    const cs_session_replanning &given, cs_session *session) {
  auto on_event = [session](const rt::ReplanEvent &event) {
    rt::MutexLock lock(&session->mu);
    session->replans.push_back(rt::ToJson(event));
  };
  if (given.tune != nullptr) {
    if (given.command != nullptr || given.every != 0 || given.when_off_percent > 0)
      return absl::InvalidArgumentError("plans to try go without a command, and steps or percent for it");
    rt::PlanTunerOptions tuned;
    if (given.tune[0] != '\0') tuned.plans = absl::StrSplit(given.tune, '\n');
    tuned.steps = given.window;
    auto options = rt::TunePlans(tuned);
    if (options.ok()) options->on_event = on_event;
    return options;
  }
  rt::PlanningCommandOptions command;
  if (given.command != nullptr) command.command = given.command;
  if (absl::Status s = rt::CheckPlanningCommand(command.command); !s.ok())
    return absl::Status(s.code(), absl::StrCat("the command ", s.message()));
  if (given.every == 0 && !(given.when_off_percent > 0))
    return absl::InvalidArgumentError(
        "re-planning needs a number of steps or of percent");
  if (given.deadline_seconds > 0)
    command.deadline = absl::Seconds(given.deadline_seconds);
  if (given.folder != nullptr) command.folder = given.folder;
  rt::ReplanOptions options;
  options.plan = rt::PlanByCommand(std::move(command));
  options.every = given.every;
  options.when_off_percent = given.when_off_percent;
  options.window = given.window != 0 ? given.window : rt::StepClock::DefaultWindow(given.every);
  options.on_event = on_event;
  return options;
}

}  // namespace commsched

extern "C" {

cs_session *cs_session_create(const void *plan, size_t plan_bytes) {
  return cs_session_create_replanning(plan, plan_bytes, nullptr);
}

cs_session *cs_session_create_replanning(
    const void *plan, size_t plan_bytes,
    const cs_session_replanning *replanning) {
  if (absl::Status s = CheckProcess(); !s.ok()) {
    Finished(s);
    return nullptr;
  }
  // Threads begin before the session is there.
  Counted counted;
  auto image =
      rt::PlanImage::Load({static_cast<const char *>(plan), plan_bytes});
  if (!image.ok()) {
    Finished(image.status());
    return nullptr;
  }
  auto session = std::make_unique<cs_session>();
  rt::SessionOptions options;
  if (replanning != nullptr) {
    auto replan = commsched::ReplanOptionsOf(*replanning, session.get());
    if (!replan.ok()) {
      Finished(replan.status());
      return nullptr;
    }
    options.replan = *std::move(replan);
  }
  options.trace = &session->trace;
  session->trace.Enable(false);
  auto made = rt::Session::InProcess(*image, options);
  Finished(made.status());
  if (!made.ok()) return nullptr;
  session->session = *std::move(made);
  counted.Keep();
  return session.release();
}

const char *cs_session_replans(cs_session *session) {
  if (absl::Status s = CheckSession(session); !s.ok()) {
    Finished(s);
    return "[]";
  }
  rt::MutexLock lock(&session->mu);
  session->replans_text =
      absl::StrCat("[", absl::StrJoin(session->replans, ","), "]");
  return session->replans_text.c_str();
}

void cs_session_destroy(cs_session *session) {
  if (session == nullptr || session->process != getpid()) return;
  if (!session->trace_path.empty()) {
    session->session->Drain().IgnoreError();
    Finished(session->trace.Write(session->trace_path));
  }
  if (session->stop != nullptr) session->stop->Detach();
  // Trainers of other ranks may hear from the servers here first.
  const absl::Status why = session->session->failure();
  session->session.reset();
  if (session->servers != nullptr && !why.ok()) session->servers->Stop(why);
  session->servers.reset();
  delete session;
  Counted::Gone();
}

int cs_session_set_slot(cs_session *session, const char *name, const void *data,
                        size_t bytes) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  absl::StatusOr<uint32_t> slot = FindSlot(session, name);
  if (!slot.ok()) return Finished(slot.status());
  const absl::Span<const std::byte> value(static_cast<const std::byte *>(data), bytes);
  absl::Status set = session->session->SetValue(*slot, value);
  if (set.ok() && session->servers != nullptr)
    set = session->servers->SetValue(session->session->values()[*slot], value);
  return Finished(set);
}

int cs_session_get_slot(cs_session *session, const char *name, void *data,
                        size_t bytes) {
  if (absl::Status s = Settle(session); !s.ok()) return Finished(s);
  absl::StatusOr<uint32_t> slot = FindSlot(session, name);
  if (!slot.ok()) return Finished(slot.status());
  return Finished(session->session->GetValue(
      *slot, {static_cast<std::byte *>(data), bytes}));
}

int cs_session_get_server_value(cs_session *session, const char *name, void *data, size_t bytes,
                                size_t *here) {
  if (absl::Status s = Settle(session); !s.ok()) return Finished(s);
  absl::StatusOr<uint32_t> slot = FindSlot(session, name);
  if (!slot.ok()) return Finished(slot.status());
  const rt::ValueInfo &value = session->session->values()[*slot];
  if (bytes != value.type.bytes)
    return Finished(absl::InvalidArgumentError(
        absl::StrCat("value of \"", value.name, "\" must have ", value.type.bytes, " bytes, got: ", bytes)));
  *here = 0;
  if (session->servers == nullptr) return Finished(absl::OkStatus());
  auto got = session->servers->GetValue(value, {static_cast<std::byte *>(data), bytes});
  if (got.ok()) *here = *got;
  return Finished(got.status());
}

int cs_session_steps(cs_session *session, uint64_t *steps) {
  if (absl::Status s = Settle(session); !s.ok()) return Finished(s);
  *steps = session->session->steps();
  return Finished(absl::OkStatus());
}

int cs_session_save_rank_state(cs_session *session, const char *path) {
  if (absl::Status s = Settle(session); !s.ok()) return Finished(s);
  return Finished(rt::SaveRankState(session->session.get(), path, 0));
}

int cs_session_load_rank_state(cs_session *session, const char *path,
                               int saved_ranks) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  if (saved_ranks < 1)
    return Finished(absl::InvalidArgumentError(
        absl::StrCat("ranks must be at least 1, got: ", saved_ranks)));
  return Finished(rt::LoadRankState(session->session.get(), path, 0, saved_ranks,
                                    /*complete=*/false));
}

int cs_session_set_batch(cs_session *session, const char *name,
                         const void *data, size_t bytes) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  return Finished(CopyBatch(session, name, data, bytes));
}

int cs_session_call(cs_session *session, const char *function,
                    uint64_t *number) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  absl::StatusOr<int> index =
      rt::FindFunction(session->session->program(), function);
  if (!index.ok()) return Finished(index.status());
  absl::StatusOr<uint64_t> call =
      session->session->Call(*index, session->batch.get());
  session->batch->Clear();
  if (call.ok()) {
    session->function = *index;
    const rt::FunctionProgram &called = session->session->program().functions[size_t(*index)];
    if (called.is_step) ++session->step_calls;
    if (session->servers != nullptr && !called.is_step) session->own_calls.insert(*call);
    if (session->relay != nullptr && session->session->program().rank != 0)
      session->relay->Expect(*call, called.outputs.size());
    if (number != nullptr) *number = *call;
  }
  return Finished(call.status());
}

int cs_session_wait(cs_session *session) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  return Finished(session->session->Drain());
}

int cs_session_finish(cs_session *session) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  absl::Status finished = session->session->Finish();
  if (finished.ok() && session->servers != nullptr) finished = session->servers->Finish();
  return Finished(finished);
}

int cs_session_metric_count(cs_session *session) {
  if (absl::Status s = CheckSession(session); !s.ok()) {
    Finished(s);
    return 0;
  }
  const auto &functions = session->session->program().functions;
  if (functions.empty()) return 0;
  return int(functions[size_t(session->function)].outputs.size());
}

const char *cs_session_metric_name(cs_session *session, int index) {
  if (index < 0 || index >= cs_session_metric_count(session)) return nullptr;
  const auto &functions = session->session->program().functions;
  return functions[size_t(session->function)].outputs[size_t(index)].metric.c_str();
}

int cs_session_metrics(cs_session *session, uint64_t call_index,
                       double *values) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  auto metrics = session->session->Metrics(call_index);
  const bool own = session->own_calls.erase(call_index) != 0;
  if (metrics.ok() && !metrics->empty() && !own && session->relay != nullptr &&
      session->session->program().rank != 0) {
    metrics = session->relay->Take(call_index, absl::Milliseconds(200));
    if (absl::IsDeadlineExceeded(metrics.status())) {
      Finished(metrics.status());
      // Rank 0 tells nothing any more if the steps have failed.
      if (absl::Status s = session->session->executor(0).status(); !s.ok()) return Finished(s);
      return 2;
    }
  }
  if (metrics.ok())
    std::memcpy(values, metrics->data(), metrics->size() * sizeof(double));
  return Finished(metrics.status());
}

int cs_session_set_trace(cs_session *session, const char *path) {
  if (absl::Status s = CheckSession(session); !s.ok()) return Finished(s);
  if (path == nullptr) {
    if (session->trace_path.empty())
      return Finished(absl::FailedPreconditionError("no trace was begun"));
    if (absl::Status s = session->session->Drain(); !s.ok()) return Finished(s);
    return Finished(session->trace.Write(session->trace_path));
  }
  session->trace_path = path;
  session->trace.Enable(true);
  return Finished(absl::OkStatus());
}

const char *cs_last_error(void) { return LastError().c_str(); }

}  // extern "C"
