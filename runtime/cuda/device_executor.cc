// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/device_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "runtime/base/status_util.h"
#include "runtime/execute/merging_client.h"

namespace commsched::runtime::cuda {
namespace {

// Between two looks at what is under way on the device; the first ones come at once.
constexpr std::chrono::microseconds kShortestPause(20), kLongestPause(200);

}  // namespace

DeviceExecutor::DeviceExecutor(std::shared_ptr<const Program> program,
                               DeviceExecutorOptions options)
    : program_(std::move(program)), options_(std::move(options)), driver_(*options_.driver) {
  if (options_.servers != nullptr)
    options_.servers = MergeGradients(std::move(options_.servers), program_->servers);
  ResetStats();
}

absl::StatusOr<std::unique_ptr<DeviceExecutor>> DeviceExecutor::Create(
    std::shared_ptr<const Program> program, DeviceExecutorOptions options) {
  std::unique_ptr<DeviceExecutor> executor(
      new DeviceExecutor(std::move(program), std::move(options)));
  executor->thread_ = std::thread([raw = executor.get()] { raw->Run(); });
  MutexLock lock(&executor->mu_);
  while (!executor->prepared_) executor->changed_.Wait(&executor->mu_);
  if (!executor->status_.ok()) return Unshared(executor->status_);
  return executor;
}

DeviceExecutor::~DeviceExecutor() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    work_.SignalAll();
  }
  thread_.join();
}

absl::Status DeviceExecutor::Check(DriverResult result, const char *what) const {
  return ToStatus(driver_, result, what);
}

absl::Status DeviceExecutor::Named(absl::string_view what, const absl::Status &status) const {
  if (status.ok() || absl::StartsWith(status.message(), "rank ")) return status;
  return absl::Status(status.code(),
                      absl::StrCat("rank ", program_->rank, " of ", program_->nodes, ": ", what,
                                   what.empty() ? "" : ": ", status.message()));
}

void DeviceExecutor::Fail(const absl::Status &why) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return;
  status_ = Unshared(why);
  changed_.SignalAll();
  work_.SignalAll();
}

void DeviceExecutor::CommunicationDone(void *cookie, uint32_t) {
  // Of the function whose calls are under way: all of a moment are of one.
  const auto number = reinterpret_cast<uintptr_t>(cookie) - 1;
  MutexLock lock(&mu_);
  const size_t ops = functions_[size_t(active_)].graph.work.size();
  ended_.push_back({uint32_t(number % ops), number / ops});
  work_.SignalAll();
}

void DeviceExecutor::Run() {
  const absl::Status prepared = Named("", Prepare());
  {
    MutexLock lock(&mu_);
    if (status_.ok()) status_ = Unshared(prepared);
    prepared_ = true;
    changed_.SignalAll();
  }
  if (prepared.ok()) Loop();
  TearDown();
  MutexLock lock(&mu_);
  gone_ = true;
  changed_.SignalAll();
}

void DeviceExecutor::Loop() {
  std::chrono::microseconds pause(0);
  while (true) {
    bool moved = Admit();
    if (active_ >= 0) moved |= MoveHost();
    if (nccl_ != nullptr) {
      if (absl::Status s = nccl_->status(); !s.ok()) Fail(s);
    }
    if (moved) {
      moved_ = Clock::now();
      pause = std::chrono::microseconds(0);
    } else if (absl::Status s = CheckStall(); !s.ok()) {
      Fail(s);
    }
    MutexLock lock(&mu_);
    if (stop_ || !status_.ok()) return;
    if (moved || !ended_.empty() || enqueued_) continue;
    if (open_ == 0 && (!queue_.empty() || !tasks_.empty())) continue;
    if (open_ == 0) {
      work_.Wait(&mu_);
      continue;
    }
    // The device wakes nobody.
    pause = std::min(std::max(2 * pause, kShortestPause), kLongestPause);
    work_.WaitUntil(&mu_, Clock::now() + pause);
  }
}

bool DeviceExecutor::Admit() {
  bool moved = false;
  {
    MutexLock lock(&mu_);
    if (!status_.ok() || stop_ || (enqueuing_ && !enqueued_)) return false;
    moved = enqueued_;
    enqueuing_ = enqueued_ = false;
  }
  if (moved) entering_->function->lanes->Enqueued(entering_->next = entering_->upto);
  if (entering_.has_value() && entering_->next == entering_->end) entering_.reset();
  if (!entering_.has_value() && !BeginCall()) return moved;
  return !entering_.has_value() || EnqueuePortion() || moved;
}

bool DeviceExecutor::BeginCall() {
  Admission admission;
  {
    MutexLock lock(&mu_);
    if (open_ == 0 && !tasks_.empty()) {
      Task *task = tasks_.front();
      tasks_.pop_front();
      mu_.Unlock();
      absl::Status result = Named("", task->run());
      mu_.Lock();
      task->result = std::move(result);
      task->done = true;
      changed_.SignalAll();
      return true;
    }
    if (queue_.empty()) return false;
    const int next = queue_.front().function;
    if (next != active_ && open_ != 0) return false;
    if (!functions_[size_t(next)].lanes->MayEnqueue()) return false;
    in_flight_.push_back(std::move(queue_.front()));
    in_flight_.back().begin = Clock::now();
    if (options_.servers != nullptr)
      in_flight_.back().steps_before = options_.servers->first_step() + begun_steps_;
    if (program_->functions[size_t(next)].is_step) ++begun_steps_;
    in_flight_.back().timed = Timed();
    queue_.pop_front();
    ++open_;
    changed_.SignalAll();
    if (active_ >= 0 && next != active_) {
      admission.before = &functions_[size_t(active_)];
      fence_ = true;
    }
    active_ = next;
  }
  OfFunction &function = functions_[size_t(active_)];
  const FunctionProgram &program = program_->functions[size_t(active_)];
  const auto half = uint32_t(function.begun++ % 2);
  admission.function = &function;
  admission.number = in_flight_.back().number;
  admission.timed = in_flight_.back().timed;
  admission.next = half == 0 ? 0 : function.graph.end(0);
  admission.end = function.graph.end(half);
  const auto expect = [&](uint32_t slot, uint32_t copy) {
    const SlotPlaces::Of &places = slots_.slots[slot];
    if (current_[slot] == copy || places.copies[0] == places.copies[1]) return;
    const DevicePtr begin = function.memory[kSlotMemory];
    admission.moves.push_back({begin + places.copies[current_[slot]], begin + places.copies[copy],
                               program_->slots[slot].type.bytes});
    current_[slot] = copy;
  };
  for (uint32_t slot : program.written_slots) expect(slot, half);
  for (uint32_t slot : program.read_slots) {
    const std::vector<uint32_t> &written = program.written_slots;
    if (std::find(written.begin(), written.end(), slot) == written.end()) expect(slot, 0);
  }
  for (uint32_t slot : program.written_slots) current_[slot] = 1 - half;
  admission.fence = std::exchange(fence_, false);
  if (admission.timed) {
    if (absl::Status s = times_->Start(admission.number); !s.ok()) {
      Fail(Named(absl::StrCat("step ", admission.number), s));
      return false;
    }
  }
  entering_ = std::move(admission);
  return true;
}

std::string DeviceExecutor::NameOf(const OfFunction &function, uint32_t op, uint64_t call) const {
  return absl::StrCat("\"", function.graph.graph.ops[op].name, "\" of step ", call);
}

DeviceExecutor::Call &DeviceExecutor::CallOf(const OpOfRound &op) {
  const OfFunction &function = functions_[size_t(active_)];
  const uint64_t number = 2 * op.round + function.graph.work[op.op].call;
  return in_flight_[number - (function.begun - in_flight_.size())];
}

DeviceProbe::HostOp DeviceExecutor::Describe(const OpOfRound &op) {
  OfFunction &function = functions_[size_t(active_)];
  const FunctionProgram &program = program_->functions[size_t(active_)];
  const DeviceOp &work = function.graph.work[op.op];
  DeviceProbe::HostOp result;
  result.function = active_;
  result.op = op;
  result.name = NameOf(function, op.op, CallOf(op).number);
  result.graph = &function.graph.graph;
  result.plan = &function.plan;
  result.issuer = function.issuer.get();
  const auto bytes = [&](int64_t buffer) {
    return program.buffers[size_t(buffer)].type.bytes;
  };
  const bool message = work.kind == DeviceOp::kMessage;
  if (message && program.instructions[work.instruction].of_server()) {
    const InstructionProgram &i = program.instructions[work.instruction];
    const uint32_t moved = i.of_rows() ? i.rows.values : i.message.buffer;
    (i.pushes() ? result.reads : result.writes)
        .push_back({HostAt(function, work.places[0]), bytes(moved)});
    if (i.of_rows())
      result.reads.push_back({HostAt(function, work.places[1]), bytes(i.rows.ids)});
  } else if (message) {
    const CommunicateProgram &c = program.instructions[work.instruction].communicate;
    result.writes.push_back({HostAt(function, work.places[0]), bytes(c.buffer)});
    if (c.input >= 0) result.reads.push_back({HostAt(function, work.places[1]), bytes(c.input)});
    if (c.output >= 0)
      result.writes.push_back({HostAt(function, work.places[2]), bytes(c.output)});
  } else if (work.kind == DeviceOp::kFillBatch) {
    result.writes.push_back({HostAt(function, work.places[0]), work.bytes});
  } else {
    for (size_t i = 0; i < work.places.size(); ++i)
      result.reads.push_back(
          {HostAt(function, work.places[i]), bytes(program.outputs[i].buffer)});
  }
  return result;
}

bool DeviceExecutor::MoveHost() {
  OfFunction &function = functions_[size_t(active_)];
  std::vector<OpOfRound> ended;
  {
    MutexLock lock(&mu_);
    // Its ops are not there before all are enqueued.
    if (!status_.ok()) return false;
    ended.swap(ended_);
  }
  bool moved = !ended.empty();
  for (const OpOfRound &op : ended) EndHostOp(op);
  const std::vector<OpOfRound> ready = function.lanes->TakeReady();
  // What has ended on the device has been done, or there is an error now.
  if (nccl_ != nullptr && !ready.empty()) {
    if (absl::Status s = nccl_->status(); !s.ok()) {
      Fail(s);
      return true;
    }
  }
  for (const OpOfRound &op : ready) {
    moved = true;
    BeginHostOp(op);
  }
  for (const OpOfRound &op : function.lanes->Awaited()) {
    absl::StatusOr<bool> there = function.issuer->HasEnded(op);
    if (!there.ok()) {
      const uint64_t first = function.begun - in_flight_.size();
      const uint64_t step = 2 * op.round + function.graph.work[op.op].call;
      Fail(Named(step >= first ? NameOf(function, op.op, in_flight_[step - first].number) : "",
                 there.status()));
      return true;
    }
    if (!*there) continue;
    function.lanes->Ended(op);
    moved = true;
  }
  if (moved) on_device_ = true;
  return moved;
}

void DeviceExecutor::BeginHostOp(const OpOfRound &op) {
  OfFunction &function = functions_[size_t(active_)];
  const FunctionProgram &program = program_->functions[size_t(active_)];
  const DeviceOp &work = function.graph.work[op.op];
  if (options_.probe != nullptr) {
    DeviceProbe::HostOp described = Describe(op);
    options_.probe->HostBegins(described);
    messages_[op] = std::move(described);
  }
  if (work.kind == DeviceOp::kFillBatch) {
    std::memcpy(HostAt(function, work.places[0]), CallOf(op).batches.data[work.batch], work.bytes);
    EndHostOp(op);
    return;
  }
  if (work.kind == DeviceOp::kEndOfCall) {
    EndCall(op);
    return;
  }
  const InstructionProgram &instruction = program.instructions[work.instruction];
  ProgressEngine::Request request;
  request.instruction = &instruction;
  request.index = work.instruction;
  request.call = CallOf(op).number;
  if (options_.transport == nullptr || !options_.transport->overtakes())
    request.credit = program.credit_bytes;
  request.cookie =
      reinterpret_cast<void *>(op.round * function.graph.work.size() + op.op + 1);
  request.buffer = HostAt(function, work.places[0]);
  if (instruction.of_server()) {
    request.step = ServerStep(program, instruction, CallOf(op).steps_before);
    if (instruction.of_rows()) request.input = HostAt(function, work.places[1]);
    engine_->Start(request);
    return;
  }
  const CommunicateProgram &c = instruction.communicate;
  if (c.input >= 0) request.input = HostAt(function, work.places[1]);
  if (c.output >= 0) request.output = HostAt(function, work.places[2]);
  if (options_.profile != nullptr) communications_.Begin(op, Clock::now());
  engine_->Start(request);
}

void DeviceExecutor::EndHostOp(const OpOfRound &op) {
  OfFunction &function = functions_[size_t(active_)];
  if (options_.probe != nullptr) {
    auto described = messages_.extract(op);
    options_.probe->HostEnds(described.mapped());
  }
  if (options_.profile != nullptr && function.graph.work[op.op].kind == DeviceOp::kMessage)
    communications_.End(op, Clock::now());
  function.issuer->HostEnded(op);
  function.lanes->Ended(op);
}

void DeviceExecutor::EndCall(const OpOfRound &op) {
  OfFunction &function = functions_[size_t(active_)];
  const FunctionProgram &program = program_->functions[size_t(active_)];
  const DeviceOp &work = function.graph.work[op.op];
  std::vector<double> metrics;
  for (size_t i = 0; i < work.places.size(); ++i)
    metrics.push_back(ops::ReadElement(program.buffers[program.outputs[i].buffer].type.element,
                                       HostAt(function, work.places[i])));
  EndHostOp(op);
  if (in_flight_.front().timed) {
    if (absl::Status s = RecordTimes(); !s.ok()) {
      Fail(Named(absl::StrCat("step ", in_flight_.front().number), s));
      return;
    }
  }
  const Clock::time_point begin = in_flight_.front().begin, now = Clock::now();
  in_flight_.pop_front();
  MutexLock lock(&mu_);
  if (options_.on_completed) options_.on_completed(completed_, metrics);
  results_.push_back(std::move(metrics));
  if (results_.size() > kKeptMetrics) results_.pop_front();
  ++completed_;
  if (options_.completed != nullptr) options_.completed->Set(options_.number, completed_);
  FunctionStats &stats = stats_[size_t(active_)];
  stats.Completed(std::chrono::nanoseconds(now - std::max(begin, last_end_)).count());
  last_end_ = now;
  --open_;
  changed_.SignalAll();
}

absl::Status DeviceExecutor::CheckStall() {
  if (in_flight_.empty()) return absl::OkStatus();
  const Clock::duration idle = Clock::now() - moved_;
  const auto deadline = absl::ToChronoNanoseconds(std::min(options_.deadline, absl::Hours(1000)));
  // A message that waits is not held up by the device any more, then; who knows that best says it.
  if (idle > deadline) on_device_ = false;
  if (idle < 4 * deadline) return absl::OkStatus();
  const OfFunction &function = functions_[size_t(active_)];
  const uint64_t first = function.begun - in_flight_.size();
  std::string what = absl::StrCat("step ", in_flight_.front().number);
  for (const OpOfRound &op : function.lanes->Awaited()) {
    const uint64_t step = 2 * op.round + function.graph.work[op.op].call;
    if (step < first) continue;
    what = NameOf(function, op.op, in_flight_[step - first].number);
    break;
  }
  return Named(what, absl::DeadlineExceededError(
                         absl::StrCat("has not ended, and nothing else has, for ",
                                      absl::FormatDuration(absl::FromChrono(4 * deadline)))));
}

}  // namespace commsched::runtime::cuda
