// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/session.h"

#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/execute/memory_needs.h"
#include "runtime/replanning/replacement.h"
#include "runtime/servers/in_process_parameter_client.h"
#include "runtime/session/make_rank.h"
#include "runtime/transport/in_process_transport.h"

namespace commsched::runtime {
namespace {

absl::Status OfRank(int rank, int nodes, const absl::Status &status) {
  if (status.ok()) return status;
  // Executors of devices name it themselves.
  absl::string_view text = status.message();
  absl::ConsumePrefix(&text, absl::StrCat("rank ", rank, " of ", nodes, ": "));
  return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", text));
}

// An error that tells of another rank's, not of one of its own.
bool IsEcho(const absl::Status &status) {
  return status.code() == absl::StatusCode::kAborted ||
         status.code() == absl::StatusCode::kCancelled;
}

absl::Status NoReplanning() {
  return absl::UnimplementedError(
      "ranks of the plan run different steps: it cannot be planned again");
}

}  // namespace

bool RanksCommunicate(const PlanImage &image) {
  for (const plan::Function &f : image.plan().functions())
    for (const plan::Instruction &i : f.instructions())
      if (i.has_communicate()) return image.nodes() > 1;
  return false;
}

absl::StatusOr<std::unique_ptr<Session>> Session::InProcess(
    std::shared_ptr<const PlanImage> image, SessionOptions options) {
  int nodes = image->nodes();
  auto cuda = CheckRun(*image, options, nodes);
  if (!cuda.ok()) return cuda.status();
  if (options.replan && !image->workers().empty()) return NoReplanning();
  std::unique_ptr<Session> session(new Session);
  session->image_ = image;
  session->digest_ = image->digest();
  session->job_ = image->digest() ^ options.run_digest;
  session->cuda_ = *std::move(cuda);
  // A plan that does not load would leave the other ranks waiting for it. What is emulated is not all touched, and devices are asked by executors.
  const bool counts = !options.emulate && session->cuda_ == nullptr;
  if (absl::Status s = CheckMemory(*image, counts ? AvailableMemory() : std::numeric_limits<uint64_t>::max()); !s.ok()) return s;
  auto connect_servers = [servers = &session->servers_](int rank) {
    return MakeInProcessParameterClient(servers, rank);
  };
  if (options.replan) {
    if (absl::Status s = CheckReplaceable(*image); !s.ok()) return s;
    if (absl::Status s = session->MakeServers(options); !s.ok()) return s;
    std::vector<int> ranks;
    for (int r = 0; r < nodes; ++r) ranks.push_back(r);
    auto hub = MakeInProcessHub(nodes);
    return Replanning(
        std::move(session), ranks,
        [hub](TransportOptions o) { return ConnectInProcess(hub, std::move(o)); }, connect_servers, options);
  }
  session->executors_.resize(size_t(nodes));
  session->completed_ = std::make_shared<CompletedCalls>(size_t(nodes));
  auto hub = MakeInProcessHub(nodes);
  ConnectFunction connect;
  if (RanksCommunicate(*image))
    connect = [hub](TransportOptions o) {
      return ConnectInProcess(hub, std::move(o));
    };
  if (absl::Status s = session->MakeServers(options); !s.ok()) return s;
  session->of_trainers_.assign(image->values().size(), false);
  std::vector<absl::Status> statuses(size_t(nodes), absl::OkStatus());
  std::vector<std::thread> threads;
  for (int r = 0; r < nodes; ++r)
    threads.emplace_back([&, r] {
      auto made = MakeRank(*image,
                           {r, size_t(r), connect, connect_servers, session->completed_,
                            session->cuda_.get()},
                           options);
      if (made.ok())
        session->executors_[size_t(r)] = *std::move(made);
      else
        statuses[size_t(r)] = OfRank(r, nodes, made.status());
    });
  for (std::thread &thread : threads) thread.join();
  absl::Status first;
  for (const absl::Status &status : statuses)
    if (!status.ok() && (first.ok() || IsEcho(first))) first = status;
  if (first.ok()) return session;
  // The ranks that were made must not report the ones that were not.
  for (auto &executor : session->executors_)
    if (executor != nullptr) executor->Cancel(first);
  return first;
}

absl::StatusOr<std::unique_ptr<Session>> Session::OneRank(
    std::shared_ptr<const PlanImage> image, int rank,
    const ConnectFunction &connect, SessionOptions options,
    const ConnectServersFunction &connect_servers) {
  auto cuda = CheckRun(*image, options, 1);
  if (!cuda.ok()) return cuda.status();
  if (options.replan && !image->workers().empty()) return NoReplanning();
  std::unique_ptr<Session> session(new Session);
  session->image_ = image;
  session->digest_ = image->digest();
  session->job_ = image->digest() ^ options.run_digest;
  session->cuda_ = *std::move(cuda);
  if (options.replan) return Replanning(std::move(session), {rank}, connect, connect_servers, options);
  session->completed_ = std::make_shared<CompletedCalls>(1);
  const bool connected = RanksCommunicate(*image) || options.always_connected;
  auto made = MakeRank(*image,
                       {rank, 0, connected ? connect : nullptr, connect_servers,
                        session->completed_, session->cuda_.get()},
                       options);
  if (!made.ok()) return OfRank(rank, image->nodes(), made.status());
  session->executors_.push_back(*std::move(made));
  session->of_trainers_.assign(session->image_->values().size(), false);
  return session;
}

absl::Status Session::MakeServers(const SessionOptions &options) {
  for (int k = 0; k < int(image_->servers().servers.size()); ++k) {
    ParameterServerOptions server;
    server.server = k;
    server.trainers = image_->nodes();
    server.deadline = options.deadline;
    server.trace = options.trace;
    server.emulate = options.emulate;
    server.profile = options.profile;
    auto made = ParameterServer::Create(image_, std::move(server));
    if (!made.ok()) return made.status();
    servers_.push_back(*std::move(made));
  }
  return absl::OkStatus();
}

Session::~Session() {
  replanner_.reset();
  // Together: a rank that closes waits for what its peers still take.
  std::vector<std::thread> threads;
  for (auto &executor : executors_)
    if (executor != nullptr)
      threads.emplace_back([&executor] { executor.reset(); });
  for (std::thread &thread : threads) thread.join();
}

absl::Status Session::Root(const absl::Status &status) {
  if (status.ok()) return status;
  const absl::Status found = failure();
  return found.ok() ? status : found;
}

absl::Status Session::failure() {
  absl::Status found;
  for (auto &executor : executors_) {
    absl::Status own = executor->status();
    if (!own.ok() && (found.ok() || (IsEcho(found) && !IsEcho(own))))
      found = OfRank(executor->program().rank, executor->program().nodes, own);
    if (!own.ok() && !IsEcho(own)) break;
  }
  return found;
}

absl::Status Session::SetSlot(uint32_t slot, absl::Span<const std::byte> value) {
  const std::vector<SlotInfo> &slots = program().slots;
  if (slot >= slots.size())
    return absl::NotFoundError(absl::StrCat("there is no slot ", slot));
  for (uint32_t v = 0; has_servers() && v < values().size(); ++v)
    for (uint32_t s : values()[v].trainer)
      if (s == slot) return SetValue(v, value);
  for (uint32_t i = slot; i < slots.size(); ++i) {
    if (i != slot && slots[i].name != slots[slot].name) continue;
    for (auto &executor : executors_) {
      if (!executor->program().slots[i].held) continue;
      if (absl::Status s = executor->SetSlot(i, value); !s.ok()) return Root(s);
    }
    if (slots[slot].repeated) break;
  }
  return absl::OkStatus();
}

absl::Status Session::GetSlot(uint32_t slot, absl::Span<std::byte> value) {
  // Where rank 0 need not have it.
  const bool elsewhere = has_servers() || !image_->workers().empty();
  for (uint32_t v = 0; elsewhere && v < values().size(); ++v)
    for (uint32_t s : values()[v].trainer)
      if (s == slot) return GetValue(v, value);
  return Root(executors_[0]->GetSlot(slot, value));
}

RankExecutor *Session::HolderOf(const ValueInfo &value) const {
  for (const auto &executor : executors_)
    if (value.role < 0 || executor->program().role == value.role) return executor.get();
  return nullptr;
}

absl::StatusOr<uint64_t> Session::Call(int function, BatchSource *batches,
                                       int share) {
  if (has_servers())
    if (absl::Status s = PrepareServers(program().functions[size_t(function)]);
        !s.ok())
      return s;
  if (replanner_ != nullptr)
    if (absl::Status s = ChangePlan(function); !s.ok()) return s;
  std::vector<BatchRows> rows;
  for (auto &executor : executors_) {
    // Those that run another step have another function of this number.
    const FunctionProgram &f = executor->program().functions[size_t(function)];
    BatchRows mine;
    if (!f.batches.empty()) {
      if (batches == nullptr)
        return absl::InvalidArgumentError(
            absl::StrCat("function @", f.name, " needs batch \"",
                         f.batches[0].name, "\", which is not set"));
      absl::StatusOr<BatchRows> got =
          batches->Rows(f, share < 0 ? executor->program().worker : share,
                        executor->program().workers);
      if (!got.ok()) return got.status();
      mine = *std::move(got);
    }
    mine.rank = share;
    rows.push_back(std::move(mine));
  }
  uint64_t number = 0;
  for (size_t i = 0; i < executors_.size(); ++i) {
    absl::StatusOr<uint64_t> call =
        executors_[i]->Enqueue(function, std::move(rows[i]));
    if (!call.ok()) return Root(call.status());
    number = *call;
  }
  ++calls_;
  if (program().functions[size_t(function)].is_step) CountStep(number);
  if (const FunctionProgram &f = program().functions[size_t(function)];
      has_servers() && !f.is_step) {
    // The metrics of the oldest are no longer kept.
    if (to_average_.size() >= RankExecutor::kKeptMetrics) to_average_.erase(to_average_.begin());
    to_average_.insert(number);
    for (uint32_t slot : f.written_slots)
      for (size_t v = 0; v < values().size(); ++v)
        for (uint32_t s : values()[v].trainer)
          if (s == slot) of_trainers_[v] = true;
  }
  return number;
}

absl::StatusOr<std::vector<double>> Session::Metrics(uint64_t call) {
  absl::StatusOr<std::vector<double>> values = executors_[0]->Metrics(call);
  if (!values.ok()) return Root(values.status());
  const bool average = to_average_.count(call) != 0;
  for (size_t i = 1; i < executors_.size(); ++i) {
    absl::StatusOr<std::vector<double>> other = executors_[i]->Metrics(call);
    if (!other.ok()) return Root(other.status());
    for (size_t m = 0; average && m < values->size(); ++m)
      (*values)[m] += (*other)[m];
  }
  if (!average) return values;
  for (double &value : *values) value /= double(executors_.size());
  return values;
}

absl::Status Session::Drain() {
  absl::Status first;
  for (auto &executor : executors_)
    if (absl::Status s = executor->Drain(); !s.ok() && first.ok()) first = s;
  return Root(first);
}

void Session::Cancel(const absl::Status &why) {
  MutexLock lock(&cancel_mu_);
  if (cancelled_.ok()) cancelled_ = why;
  for (auto &executor : executors_)
    if (executor != nullptr) executor->Cancel(why);
}

}  // namespace commsched::runtime
