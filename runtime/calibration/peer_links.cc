// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/calibration/peer_links.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"

namespace commsched::calibration {
namespace {

using runtime::Clock;
using runtime::MessageTag;
using runtime::Transport;

// Kinds of messages, as keys of their tags; a tag's step is the number of a
// request.
enum Kind : uint32_t {
  kRequest,
  kAnswer,
  kResult,
  kBarrier,
  kTraffic
};

constexpr size_t kMostMessages = 1 << 16;
constexpr size_t kMostBytes = size_t{1} << 28;
constexpr size_t kWindow = 4;
// Beyond the deadline, for what others measure meanwhile.
constexpr absl::Duration kTurn = absl::Seconds(60);

using Request = std::array<uint64_t, 2>;  // count and bytes; no count: the end
using Result = std::array<int64_t, 4>;

// Memory that late callbacks may still write to.
using Bytes = std::shared_ptr<std::vector<std::byte>>;

uint64_t RequestNumber(size_t link, uint64_t number) {
  return uint64_t(link) << 32 | number;
}

template <typename T>
Bytes BytesOf(const T &value) {
  auto bytes = std::make_shared<std::vector<std::byte>>(sizeof(T));
  std::memcpy(bytes->data(), value.data(), sizeof(T));
  return bytes;
}

// In `count` rounds from that of the tag on.
absl::Status SendAll(Transport *transport, int peer, MessageTag tag, const Bytes &bytes,
                     size_t size, size_t count, absl::Duration deadline) {
  auto sent = std::make_shared<Completions>();
  for (size_t i = 0; i < count; ++i, ++tag.round) {
    transport->Send(peer, tag, 0, absl::MakeConstSpan(bytes->data(), size),
                    [sent, bytes, i](absl::Status s) { sent->Add(i, std::move(s)); });
  }
  return sent->Take(count, deadline).status();
}

template <typename T>
absl::StatusOr<T> ReceiveOne(Transport *transport, int peer, MessageTag tag,
                             absl::Duration deadline) {
  auto got = std::make_shared<Completions>();
  auto bytes = std::make_shared<std::vector<std::byte>>(sizeof(T));
  transport->Recv(peer, tag, absl::MakeSpan(*bytes),
                  [got, bytes](absl::Status s) { got->Add(0, std::move(s)); });
  if (absl::Status s = got->Take(1, deadline).status(); !s.ok()) return s;
  T value;
  std::memcpy(value.data(), bytes->data(), sizeof(T));
  return value;
}

// The answers come over the link that is measured.
class PeerSource : public Source {
 public:
  PeerSource(Transport *transport, int peer, size_t link, absl::Duration deadline)
      : transport_(transport),
        peer_(peer),
        link_(link),
        deadline_(deadline),
        memory_(std::make_shared<std::vector<std::byte>>()) {}

  absl::StatusOr<std::vector<int64_t>> Ask(size_t count, size_t bytes) override {
    if (memory_->size() < count * bytes)
      memory_ = std::make_shared<std::vector<std::byte>>(count * bytes);
    auto got = std::make_shared<Completions>();
    const uint64_t number = RequestNumber(link_, next_++);
    for (size_t i = 0; i < count; ++i)
      transport_->Recv(peer_, {number, kAnswer, 0, uint32_t(i)},
                       absl::MakeSpan(memory_->data() + i * bytes, bytes),
                       [got, memory = memory_, i](absl::Status s) {
                         got->Add(i, std::move(s));
                       });
    const Clock::time_point begin = Clock::now();
    if (absl::Status s = SendAll(transport_, peer_, {number, kRequest, 0, 0},
                                 BytesOf(Request{count, bytes}), sizeof(Request), 1,
                                 deadline_);
        !s.ok())
      return s;
    auto over = got->Take(count, deadline_);
    if (!over.ok()) return over.status();
    std::vector<int64_t> at;
    for (const Completions::One &one : *over)
      at.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(one.at - begin)
                       .count());
    std::sort(at.begin(), at.end());
    return at;
  }

  absl::Status End() {
    return SendAll(transport_, peer_, {RequestNumber(link_, next_++), kRequest, 0, 0},
                   BytesOf(Request{0, 0}), sizeof(Request), 1, deadline_);
  }

 private:
  Transport *const transport_;
  const int peer_;
  const size_t link_;
  const absl::Duration deadline_;
  uint64_t next_ = 0;
  Bytes memory_;
};

// The other end of a PeerSource.
absl::Status Answer(Transport *transport, int peer, size_t link,
                    absl::Duration deadline) {
  auto memory = std::make_shared<std::vector<std::byte>>();
  for (uint64_t next = 0;; ++next) {
    const uint64_t number = RequestNumber(link, next);
    auto request = ReceiveOne<Request>(transport, peer, {number, kRequest, 0, 0}, deadline);
    if (!request.ok()) return request.status();
    const auto [count, bytes] = *request;
    if (count == 0) return absl::OkStatus();
    if (count > kMostMessages || bytes > kMostBytes)
      return absl::DataLossError(absl::StrCat("rank ", peer, " asks for ", count,
                                              " messages of ", bytes, " bytes"));
    if (memory->size() < bytes)
      memory = std::make_shared<std::vector<std::byte>>(bytes);
    if (absl::Status s = SendAll(transport, peer, {number, kAnswer, 0, 0}, memory, bytes,
                                 count, deadline);
        !s.ok())
      return s;
  }
}

// `value` of rank `from`, on all ranks: which waits for it.
absl::StatusOr<Result> Share(Transport *transport, int from, MessageTag tag,
                             const Result &value, absl::Duration deadline) {
  if (transport->rank() != from)
    return ReceiveOne<Result>(transport, from, tag, deadline);
  for (int peer = 0; peer < transport->nodes(); ++peer)
    if (peer != from)
      if (absl::Status s = SendAll(transport, peer, tag, BytesOf(value), sizeof(Result),
                                   1, deadline);
          !s.ok())
        return s;
  return value;
}

absl::Status Named(const PeerLink &link, const absl::Status &status) {
  return absl::Status(status.code(),
                      absl::StrCat("measuring the link from rank ", link.from,
                                   " to rank ", link.to, ": ", status.message()));
}

// Sends and receives `count` messages, kWindow at a time.
absl::Status Traffic(Transport *transport, size_t count, size_t bytes,
                     absl::Duration deadline) {
  const int rank = transport->rank(), nodes = transport->nodes();
  const int next = (rank + 1) % nodes, last = (rank + nodes - 1) % nodes;
  // Numbers of completions: what is sent is even, what is received odd.
  auto over = std::make_shared<Completions>();
  auto out = std::make_shared<std::vector<float>>(bytes / sizeof(float), 1.0f);
  std::vector<std::shared_ptr<std::vector<float>>> in;
  for (size_t i = 0; i < kWindow; ++i)
    in.push_back(std::make_shared<std::vector<float>>(bytes / sizeof(float)));
  const auto tag = [](size_t i) { return MessageTag{i, kTraffic, 0, 0}; };
  const auto send = [&](size_t i) {
    transport->Send(next, tag(i), 0,
                    absl::MakeConstSpan(reinterpret_cast<std::byte *>(out->data()), bytes),
                    [over, out, i](absl::Status s) { over->Add(2 * i, std::move(s)); });
  };
  const auto receive = [&](size_t i) {
    auto target = in[i % kWindow];
    transport->RecvStream(
        last, tag(i), bytes, sizeof(float),
        [target](size_t offset, absl::Span<const std::byte> part) {
          ops::CombineElements(ops::Element::kF32, ops::Combine::kSum, 0,
                               reinterpret_cast<std::byte *>(target->data()) + offset,
                               part.data(), part.size() / sizeof(float));
        },
        [over, i](absl::Status s) { over->Add(2 * i + 1, std::move(s)); });
  };
  for (size_t i = 0; i < std::min(kWindow, count); ++i) {
    receive(i);
    send(i);
  }
  for (size_t done = 0; done < 2 * count;) {
    auto some = over->Next(deadline);
    if (!some.ok()) return some.status();
    done += some->size();
    for (const Completions::One &one : *some) {
      const size_t i = one.number / 2 + kWindow;
      if (i < count) one.number % 2 == 0 ? send(i) : receive(i);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<PeerLink>> MeasurePeerLinks(Transport *transport,
                                                       absl::Duration deadline) {
  const int nodes = transport->nodes(), rank = transport->rank();
  std::vector<PeerLink> links;
  for (int from = 0; from < nodes; ++from) {
    const size_t number = links.size();
    PeerLink link{from, (from + 1) % nodes, {}};
    absl::Status status;
    Result result = {};
    if (rank == link.to) {
      PeerSource source(transport, link.from, number, deadline);
      auto cost = MeasureLink(&source);
      status = cost.status();
      if (status.ok()) {
        result = {cost->latency_ns, cost->overhead_ns, cost->bits_per_second,
                  cost->round_trip_ns};
        status = source.End();
      }
    } else if (rank == link.from) {
      status = Answer(transport, link.to, number, deadline);
    }
    if (!status.ok()) return Named(link, status);
    auto shared = Share(transport, link.to, {number, kResult, 0, 0}, result,
                        rank == link.from ? deadline : deadline + kTurn);
    if (!shared.ok()) return Named(link, shared.status());
    link.cost = {(*shared)[0], (*shared)[1], (*shared)[2], (*shared)[3]};
    links.push_back(link);
  }
  return links;
}

absl::StatusOr<std::vector<Exchange>> MeasurePeerExchanges(
    Transport *transport, const std::vector<PeerLink> &links,
    PeerExchanges *exchanges, absl::Duration deadline) {
  std::vector<int64_t> round_trips, rates;
  for (const PeerLink &link : links) {
    round_trips.push_back(link.cost.round_trip_ns);
    rates.push_back(link.cost.bits_per_second);
  }
  const auto named = [](const absl::Status &status) {
    return absl::Status(status.code(),
                        absl::StrCat("measuring collectives: ", status.message()));
  };
  auto own = exchanges->Measure(Median(round_trips), Median(rates));
  if (!own.ok()) return named(own.status());
  std::vector<Exchange> all;
  for (int from = 0; from < transport->nodes(); ++from) {
    auto shared = Share(transport, from, {0, kResult, 2, uint32_t(from)},
                        {own->round_ns, own->message_ns, own->busy_message_ns}, deadline + kTurn);
    if (!shared.ok()) return named(shared.status());
    all.push_back({(*shared)[0], (*shared)[1], (*shared)[2]});
  }
  return all;
}

absl::StatusOr<std::vector<Slowdown>> MeasurePeerSlowdown(
    Transport *transport, const std::vector<PeerLink> &links,
    absl::Duration deadline) {
  std::vector<int64_t> rates;
  for (const PeerLink &link : links) rates.push_back(link.cost.bits_per_second);
  const int64_t rate = Median(rates);  // on all ranks the same
  const size_t bytes = LargeMessage(rate);
  const auto count = size_t(
      std::clamp<int64_t>(rate / 8 / 2 / int64_t(bytes), 2 * kWindow, 256));
  uint64_t barriers = 0;
  const auto barrier = [&]() -> absl::Status {
    for (int from = 0; from < transport->nodes(); ++from)
      if (auto s = Share(transport, from, {barriers, kBarrier, uint32_t(from), 0}, {},
                         deadline + kTurn);
          !s.ok())
        return s.status();
    ++barriers;
    return absl::OkStatus();
  };
  const auto named = [](const absl::Status &status) {
    return absl::Status(status.code(),
                        absl::StrCat("measuring compute while communicating: ",
                                     status.message()));
  };
  if (absl::Status s = barrier(); !s.ok()) return named(s);
  auto own = MeasureSlowdown(
      barrier, [&] { return Traffic(transport, count, bytes, deadline); });
  if (!own.ok()) return named(own.status());
  std::vector<Slowdown> all;
  for (int from = 0; from < transport->nodes(); ++from) {
    auto shared = Share(transport, from, {0, kResult, 1, uint32_t(from)},
                        {own->quiet_ns, own->communicating_ns}, deadline + kTurn);
    if (!shared.ok()) return named(shared.status());
    all.push_back({(*shared)[0], (*shared)[1]});
  }
  return all;
}

}  // namespace commsched::calibration
