// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/control.h"

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/sync.h"
#include "runtime/core/stop_agreement.h"

namespace commsched::launch {
namespace {

using runtime::MessageTag;
using runtime::core::StopAgreement;

// Of the tags; their step is the number of the call.
constexpr uint32_t kControlKey = 0xffd00000u;
enum Part : uint32_t {
  kHead,
  kBody
};
constexpr size_t kMostBytes = size_t{1} << 40;

struct Head {
  std::array<char, 32> what = {};
  uint64_t bytes = 0;
};

absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

// What one operation of the transport has come to.
class Outcome {
 public:
  void Set(absl::Status status) {
    runtime::MutexLock lock(&mu_);
    status_ = std::move(status);
    done_ = true;
    changed_.SignalAll();
  }
  absl::Status Wait() {
    runtime::MutexLock lock(&mu_);
    while (!done_) changed_.Wait(&mu_);
    return status_;
  }

 private:
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

template <typename Begin>
absl::Status Completed(const Begin &begin) {
  auto outcome = std::make_shared<Outcome>();
  begin([outcome](absl::Status status) { outcome->Set(std::move(status)); });
  return outcome->Wait();
}

// A value or an error, as bytes.
std::string Packed(const absl::StatusOr<std::string> &value) {
  if (value.ok()) return absl::StrCat("+", *value);
  return absl::StrCat("-", std::string(1, char(value.status().code())), value.status().message());
}

absl::StatusOr<std::string> Unpacked(absl::string_view text) {
  if (text.size() >= 1 && text[0] == '+') return std::string(text.substr(1));
  if (text.size() >= 2 && text[0] == '-')
    return absl::Status(absl::StatusCode(text[1]), text.substr(2));
  return absl::DataLossError("a rank says what no rank of this version says");
}

}  // namespace

int ParentOf(int rank) {
  // The only neighbour with a lower number.
  return *StopAgreement::Neighbours(rank, rank + 1).begin();
}

std::vector<int> ChildrenOf(int rank, int size) {
  std::vector<int> children;
  for (int peer : StopAgreement::Neighbours(rank, size))
    if (peer > rank) children.push_back(peer);
  return children;
}

struct Control::State {
  runtime::Mutex mu;
  absl::Status failure ABSL_GUARDED_BY(mu);
  runtime::Transport *transport ABSL_GUARDED_BY(mu) = nullptr;

  // The first failure is that of the job; the others are to hear of it.
  void Fail(const absl::Status &why) {
    runtime::MutexLock lock(&mu);
    if (!failure.ok()) return;
    failure = why;
    if (transport != nullptr) transport->Abort(why);
  }
};

Control::Control(int rank, int size)
    : rank_(rank), size_(size), state_(std::make_shared<State>()) {}

Control::~Control() {
  {
    runtime::MutexLock lock(&state_->mu);
    state_->transport = nullptr;
  }
  if (transport_ != nullptr) transport_->Close();
}

bool Control::failed() const {
  runtime::MutexLock lock(&state_->mu);
  return !state_->failure.ok();
}

absl::StatusOr<std::unique_ptr<Control>> Control::Connect(
    runtime::TransportOptions options, const runtime::ConnectFunction &connect) {
  std::unique_ptr<Control> control(new Control(options.rank, options.nodes));
  if (options.nodes == 1) return control;
  options.partners = StopAgreement::Neighbours(options.rank, options.nodes);
  options.plan_digest = kControlKey;
  options.on_peer_failure = [state = control->state_](int, const absl::Status &why) {
    // Who has closed in good order is missed by who still wants something of it, only.
    if (why.code() != absl::StatusCode::kFailedPrecondition) state->Fail(why);
  };
  auto connected = connect(std::move(options));
  if (!connected.ok()) return connected.status();
  control->transport_ = *std::move(connected);
  runtime::MutexLock lock(&control->state_->mu);
  control->state_->transport = control->transport_.get();
  if (!control->state_->failure.ok()) control->transport_->Abort(control->state_->failure);
  return control;
}

void Control::Abort(const absl::Status &why) { state_->Fail(why); }

// What the job has failed with counts, rather than what follows from it.
absl::Status Control::Failed(const absl::Status &status) {
  runtime::MutexLock lock(&state_->mu);
  return state_->failure.ok() ? status : state_->failure;
}

absl::Status Control::SendFrame(int peer, absl::string_view what, absl::string_view bytes) {
  Head head;
  std::memcpy(head.what.data(), what.data(), std::min(what.size(), head.what.size() - 1));
  head.bytes = bytes.size();
  MessageTag tag{calls_, kControlKey, kHead, 0};
  absl::Status status = Completed([&](auto done) {
    transport_->Send(peer, tag, 0, {reinterpret_cast<const std::byte *>(&head), sizeof(head)},
                     std::move(done));
  });
  if (!status.ok() || bytes.empty()) return status;
  tag.phase = kBody;
  return Completed(
      [&](auto done) { transport_->Send(peer, tag, 0, BytesOf(bytes), std::move(done)); });
}

absl::StatusOr<std::string> Control::ReceiveFrame(int peer, absl::string_view what) {
  Head head;
  MessageTag tag{calls_, kControlKey, kHead, 0};
  absl::Status status = Completed([&](auto done) {
    transport_->Recv(peer, tag, {reinterpret_cast<std::byte *>(&head), sizeof(head)},
                     std::move(done));
  });
  if (!status.ok()) return status;
  head.what.back() = 0;
  const absl::string_view theirs(head.what.data());
  if (theirs != what.substr(0, head.what.size() - 1) || head.bytes > kMostBytes) {
    Abort(absl::InvalidArgumentError(
        absl::StrCat("ranks must do the same things in the same order, got: ", theirs,
                     " on rank ", peer, ", ", what, " on rank ", rank_)));
    return absl::CancelledError("ranks do different things");
  }
  std::string bytes(head.bytes, 0);
  if (bytes.empty()) return bytes;
  tag.phase = kBody;
  status = Completed([&](auto done) {
    transport_->Recv(peer, tag, {reinterpret_cast<std::byte *>(bytes.data()), bytes.size()},
                     std::move(done));
  });
  if (!status.ok()) return status;
  return bytes;
}

absl::StatusOr<std::string> Control::Broadcast(absl::string_view what, absl::string_view bytes) {
  if (absl::Status s = Failed(absl::OkStatus()); !s.ok()) return s;
  ++calls_;
  std::string all(rank_ == 0 ? bytes : "");
  // That all want it: of ranks that do different things, one hears of it here.
  for (int child : ChildrenOf(rank_, size_))
    if (auto wanted = ReceiveFrame(child, what); !wanted.ok()) return Failed(wanted.status());
  if (rank_ != 0) {
    if (absl::Status s = SendFrame(ParentOf(rank_), what, ""); !s.ok()) return Failed(s);
    auto received = ReceiveFrame(ParentOf(rank_), what);
    if (!received.ok()) return Failed(received.status());
    all = *std::move(received);
  }
  for (int child : ChildrenOf(rank_, size_))
    if (absl::Status s = SendFrame(child, what, all); !s.ok()) return Failed(s);
  return all;
}

absl::StatusOr<std::vector<std::string>> Control::Gather(absl::string_view what,
                                                         absl::string_view bytes) {
  if (absl::Status s = Failed(absl::OkStatus()); !s.ok()) return s;
  ++calls_;
  // Of this rank and all below it: rank, size and bytes of each.
  std::string all;
  const auto add = [&all](uint64_t number) {
    all.append(reinterpret_cast<const char *>(&number), sizeof(number));
  };
  add(uint64_t(rank_));
  add(bytes.size());
  absl::StrAppend(&all, bytes);
  for (int child : ChildrenOf(rank_, size_)) {
    auto received = ReceiveFrame(child, what);
    if (!received.ok()) return Failed(received.status());
    all += *received;
  }
  if (rank_ != 0) {
    if (absl::Status s = SendFrame(ParentOf(rank_), what, all); !s.ok()) return Failed(s);
    return std::vector<std::string>();
  }
  std::vector<std::string> parts(static_cast<size_t>(size_));
  for (absl::string_view rest = all; !rest.empty();) {
    uint64_t words[2];
    if (rest.size() < sizeof(words)) return absl::DataLossError("a rank says too little");
    std::memcpy(words, rest.data(), sizeof(words));
    rest.remove_prefix(sizeof(words));
    if (words[0] >= parts.size() || words[1] > rest.size())
      return absl::DataLossError("a rank says too little");
    parts[words[0]] = std::string(rest.substr(0, words[1]));
    rest.remove_prefix(words[1]);
  }
  return parts;
}

absl::StatusOr<std::string> Control::Combine(
    absl::string_view what, const absl::StatusOr<std::string> &own,
    const std::function<absl::StatusOr<std::string>(const std::vector<std::string> &)> &merge) {
  auto parts = Gather(what, Packed(own));
  if (!parts.ok()) return parts.status();
  absl::StatusOr<std::string> merged = std::string();
  std::vector<std::string> values;
  for (size_t rank = 0; rank < parts->size() && merged.ok(); ++rank) {
    auto value = Unpacked((*parts)[rank]);
    if (value.ok())
      values.push_back(*std::move(value));
    else
      merged = absl::Status(value.status().code(),
                            absl::StrCat("rank ", rank, ": ", value.status().message()));
  }
  if (merged.ok() && rank_ == 0) merged = merge(values);
  auto result = Broadcast(what, Packed(merged));
  if (!result.ok()) return result.status();
  return Unpacked(*result);
}

}  // namespace commsched::launch
