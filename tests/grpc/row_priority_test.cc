// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order rows are handed back that wait for a link: by the priority that the plan says of pulls of their block,
// which the trainer says and the server goes by. Against a sort.
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "grpc/servers/parameter_connection.h"
#include "grpc/servers/parameter_hub.h"
#include "grpc/servers/parameter_protocol.h"
#include "grpc/servers/parameter_service.grpc.pb.h"
#include "runtime/base/sync.h"
#include "tests/cases.h"
#include "tests/conformance/conformance.h"
#include "tests/grpc/admitted.h"
#include "tests/grpc/parameter_test_util.h"

namespace commsched::transport::row_priority_test {
namespace {

constexpr size_t kChunk = size_t{64} << 10;

// A pull of rows, or of a whole block: what has the order.
struct Asked {
  uint32_t block = 0;
  uint64_t version = 0;
  bool rows = true;
  auto operator<=>(const Asked &) const = default;
};
// Each block once or, of rows, twice; mixed.
std::vector<Asked> DrawAsked(std::mt19937_64 &random, const std::vector<bool> &of_rows) {
  std::vector<Asked> asked;
  for (uint32_t block = 0; block < of_rows.size(); ++block)
    for (uint64_t version = 0; version <= random() % 2; ++version) asked.push_back({block, version, of_rows[block]});
  std::shuffle(asked.begin(), asked.end(), random);
  return asked;
}
// The more urgent first, of those alike the earlier version, then the smaller block.
std::vector<Asked> Sorted(std::vector<Asked> asked, const std::vector<int32_t> &priorities) {
  std::sort(asked.begin(), asked.end(), [&](const Asked &a, const Asked &b) {
    return std::tuple(priorities[a.block], a.version, a.block) < std::tuple(priorities[b.block], b.version, b.block);
  });
  return asked;
}
std::vector<int32_t> DrawPriorities(std::mt19937_64 &random, size_t blocks) {
  std::vector<int32_t> priorities(blocks);
  for (int32_t &priority : priorities) priority = int32_t(random() % 7) - 2;
  return priorities;
}

// ---- the server's side ---------------------------------------------------------------------------

// Hears what the test says, and keeps what is written until the test has read it.
class Pipe final : public Stream {
 public:
  void set_handler(StreamHandler *handler) override { handler_ = handler; }
  void Read() override {}
  bool Write(grpc::ByteBuffer &&packet) override {
    PacketReader reader(packet, size_t{1} << 20);
    parameter::Header header;
    while (reader.Next(&header).value_or(false)) {
      const parameter::Data *data = DataOf(header);
      if (data != nullptr && data->offset() == 0)
        sent.push_back({data->block(), data->step(), header.has_rows()});
    }
    busy = true;
    return true;
  }
  void End(absl::Status) override {}
  void Cancel() override {
    if (handler_ != nullptr) std::exchange(handler_, nullptr)->OnClosed(absl::OkStatus());
  }
  std::string peer() override { return "test"; }

  void Hears(const parameter::Header &header, absl::Span<const std::byte> payload = {}) {
    PacketWriter writer;
    writer.AddCopy(header, payload);
    handler_->OnRead(writer.Finish());
  }
  void WriteAll() {
    while (busy) {
      busy = false;
      handler_->OnWritten(true);
    }
  }
  std::vector<Asked> sent;
  bool busy = false;

 private:
  StreamHandler *handler_ = nullptr;
};

// What it is asked for it hands back when it is told to, in that order.
class SlowServer final : public runtime::ParameterServer {
 public:
  explicit SlowServer(size_t blocks) : blocks_(blocks) {}
  void Answer() {
    for (PullDone &done : std::exchange(waiting_, {})) {
      auto bytes = std::make_shared<std::vector<std::byte>>(24);
      done(runtime::SharedBytes{absl::MakeConstSpan(*bytes), bytes});
    }
  }

  void Pull(int, uint32_t, uint64_t, PullDone done) override { waiting_.push_back(std::move(done)); }
  void PullRows(int, uint32_t, uint64_t, std::vector<int64_t>, PullDone done) override {
    waiting_.push_back(std::move(done));
  }
  absl::Status SetWhole(const std::string &, absl::Span<const std::byte>) override { return absl::OkStatus(); }
  absl::Status GetSlot(uint32_t, absl::Span<std::byte>) override { return absl::OkStatus(); }
  absl::StatusOr<uint64_t> Join(int) override { return 0; }
  Taken taken(int) override { return {std::vector<uint64_t>(blocks_, 0), false}; }
  void Push(int, uint32_t, uint64_t, runtime::SharedBytes, PushDone done) override { done(absl::OkStatus()); }
  absl::Status Finish(int, uint64_t) override { return absl::OkStatus(); }
  void Lost(int, const absl::Status &) override {}
  void Cancel(const absl::Status &) override {}
  absl::Status Wait() override { return absl::OkStatus(); }
  absl::Status Save(const std::string &, bool) override { return absl::OkStatus(); }
  uint64_t cut() override { return 0; }
  absl::Status Restore(const std::string &, bool) override { return absl::OkStatus(); }

 private:
  const size_t blocks_;
  std::vector<PullDone> waiting_;
};

parameter::Header HeaderOf(const Asked &asked, uint64_t request, int32_t priority, size_t bytes) {
  parameter::Header header;
  if (!asked.rows) {
    header.mutable_pull()->set_block(asked.block);
    header.mutable_pull()->set_version(asked.version);
    header.mutable_pull()->set_priority(priority);
    return header;
  }
  parameter::Data *data = header.mutable_pull_rows();
  data->set_block(asked.block);
  data->set_step(asked.version);
  data->set_request(request);
  data->set_total(bytes);
  data->set_priority(priority);
  return header;
}

// What a server hands back of `asked`, all of which has been asked for before it begins. `told`: whether it hears of
// the priorities.
std::vector<Asked> HandedBack(const std::vector<Asked> &asked, const std::vector<bool> &of_rows,
                              const std::vector<int32_t> &priorities, bool told) {
  SlowServer server(of_rows.size());
  ParameterServiceOptions options;
  options.plan_digest = kTestDigest;
  options.shared_memory = false;
  options.chunk_bytes = kChunk;
  for (bool rows : of_rows) {
    options.block_bytes.push_back(24);
    options.block_rows.push_back(rows ? runtime::RowLayout{ops::Element::kF32, 8, 9} : runtime::RowLayout{});
  }
  auto hub = std::make_shared<ParameterHub>(&server, options);
  auto pipe = std::make_shared<Pipe>();
  std::make_shared<ParameterConnection>(hub)->Begin(pipe, {});
  parameter::Header header;
  parameter::Join *join = header.mutable_join();
  join->set_protocol_version(kParameterProtocol);
  join->set_plan_digest(kTestDigest);
  join->set_trainers(1);
  join->set_servers(1);
  join->set_session(1);
  pipe->Hears(header);  // its welcome is being written from now on
  const std::vector<int64_t> ids = {1, 4};
  uint64_t request = 0;
  for (const Asked &each : asked)
    pipe->Hears(HeaderOf(each, ++request, told ? priorities[each.block] : 0, ids.size() * 8),
                each.rows ? absl::MakeConstSpan(reinterpret_cast<const std::byte *>(ids.data()), ids.size() * 8)
                          : absl::Span<const std::byte>());
  server.Answer();
  EXPECT_TRUE(pipe->busy);
  EXPECT_EQ(pipe->sent.size(), 0u);
  pipe->WriteAll();
  hub->gate().Close();
  hub->Shutdown();
  return pipe->sent;
}

TEST(RowPriority, AServerHandsRowsBackByPriority) {
  size_t faults = 0, cases = 0;
  for (Cases seeds = casesOf(60); seeds.first < seeds.end; ++seeds.first, ++cases) {
    SCOPED_TRACE(seeds.first);
    std::mt19937_64 random(seeds.first);
    std::vector<bool> of_rows(2 + random() % 6);
    for (size_t b = 0; b < of_rows.size(); ++b) of_rows[b] = random() % 4 != 0;
    const std::vector<int32_t> priorities = DrawPriorities(random, of_rows.size());
    const std::vector<Asked> asked = DrawAsked(random, of_rows), sorted = Sorted(asked, priorities);
    EXPECT_EQ(HandedBack(asked, of_rows, priorities, true), sorted);
    // Of a trainer that does not say them.
    faults += HandedBack(asked, of_rows, priorities, false) != sorted;
  }
  EXPECT_GT(faults, cases / 2);
}

// ---- the trainer's side --------------------------------------------------------------------------

using Packets = grpc::ServerReaderWriter<parameter::Packet, parameter::Packet>;

// In the place of a server: keeps what trainers ask for, from when it is told to read, and hands rows back.
class Listener final : public parameter::ParameterService::Service {
 public:
  explicit Listener(uint32_t blocks) : blocks_(blocks) {}

  grpc::Status Attach(grpc::ServerContext *, Packets *stream) override {
    parameter::Packet packet;
    if (!Admit(*stream)) return {grpc::StatusCode::UNAUTHENTICATED, "no proof"};
    parameter::Packet welcome;
    auto *said = welcome.add_frames()->mutable_header()->mutable_welcome();
    said->set_protocol_version(kParameterProtocol);
    said->set_blocks(blocks_);
    for (uint32_t block = 0; block < blocks_; ++block) said->add_taken(0);
    stream->Write(welcome);
    reads_.WaitForNotification();
    while (stream->Read(&packet)) {
      parameter::Packet answer;
      for (const parameter::Frame &frame : packet.frames()) {
        if (!frame.header().has_pull_rows()) continue;
        const parameter::Data &data = frame.header().pull_rows();
        runtime::MutexLock lock(&mu_);
        if (data.offset() == 0) heard_.push_back({{data.block(), data.step(), true}, data.priority()});
        if (data.offset() + frame.payload().size() < data.total()) continue;
        parameter::Data *rows = answer.add_frames()->mutable_header()->mutable_rows();
        *rows = data;
        rows->set_offset(0);
        rows->set_total(8);
        answer.mutable_frames(answer.frames_size() - 1)->set_payload(std::string(8, '\0'));
      }
      if (answer.frames_size() > 0) stream->Write(answer);
    }
    return grpc::Status::OK;
  }

  void Read() { reads_.Notify(); }
  // With the priority that was said of each.
  std::vector<std::pair<Asked, int32_t>> heard() {
    runtime::MutexLock lock(&mu_);
    return heard_;
  }

 private:
  // As admission.proto has it.
  static bool Admit(Packets &stream) {
    parameter::Packet packet;
    if (!stream.Read(&packet)) return false;
    const std::string theirs = Carried<parameter::Packet, Admission>(packet).nonce();
    Admission own;
    own.set_version(kAdmissionVersion);
    own.set_nonce(NewNonce());
    const std::string nonce = own.nonce();
    stream.Write(Carried<Admission, parameter::Packet>(own));
    if (!stream.Read(&packet)) return false;
    own.Clear();
    own.set_proof(Proof(kTestToken, "accepts", theirs, nonce));
    stream.Write(Carried<Admission, parameter::Packet>(own));
    return stream.Read(&packet);  // with its join
  }

  const uint32_t blocks_;
  absl::Notification reads_;
  runtime::Mutex mu_;
  std::vector<std::pair<Asked, int32_t>> heard_ ABSL_GUARDED_BY(mu_);
};

// What a server hears of `asked`, behind ids of many more rows; with the priorities that it hears of. `order` is the trainer's, and `later`, if it is there, its order from then on.
std::vector<std::pair<Asked, int32_t>> AskedFor(const std::vector<Asked> &asked, size_t blocks,
                                                const runtime::ServerOrder &order,
                                                const std::optional<runtime::ServerOrder> &later) {
  Listener listener{uint32_t(blocks + 1)};
  const auto addresses = conformance::LoopbackAddresses(1);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(addresses[0], grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&listener);
  auto server = builder.BuildAndStart();
  ParameterClientOptions options = ClientOptions(addresses, 0, 1);
  options.shared_memory = false;
  options.chunk_bytes = kChunk;
  options.order = order;
  auto client = ConnectParameterServers(options);
  EXPECT_TRUE(client.ok()) << client.status();
  if (!client.ok()) {
    listener.Read();
    server->Shutdown(std::chrono::system_clock::now());
    return {};
  }
  if (later) (*client)->SetOrder(*later);
  std::vector<int64_t> many(size_t{1} << 17);  // a MiB
  for (size_t i = 0; i < many.size(); ++i) many[i] = int64_t(i);
  const std::vector<int64_t> one = {3};
  std::vector<std::byte> buffer(8 * (asked.size() + 1));
  std::vector<absl::Notification> done(asked.size() + 1);
  const auto pull = [&](size_t k, uint32_t block, uint64_t version, const std::vector<int64_t> &ids) {
    (*client)->PullRows(0, block, version, ids, absl::MakeSpan(buffer).subspan(8 * k, 8), [&, k](absl::Status status) {
      EXPECT_TRUE(status.ok()) << status;
      done[k].Notify();
    });
  };
  pull(asked.size(), uint32_t(blocks), 0, many);
  for (size_t k = 0; k < asked.size(); ++k) pull(k, asked[k].block, asked[k].version, one);
  listener.Read();
  for (absl::Notification &each : done) each.WaitForNotification();
  (*client)->Abort(absl::CancelledError("done"));
  (*client)->Close();
  server->Shutdown(std::chrono::system_clock::now());
  auto heard = listener.heard();
  std::erase_if(heard, [&](const auto &each) { return each.first.block == blocks; });
  return heard;
}

TEST(RowPriority, ATrainerSaysThePriority) {
  size_t faults = 0, cases = 0;
  for (Cases seeds = casesOf(8); seeds.first < seeds.end; ++seeds.first, ++cases) {
    SCOPED_TRACE(seeds.first);
    std::mt19937_64 random(seeds.first);
    const size_t blocks = 3 + random() % 6;
    const std::vector<int32_t> priorities = DrawPriorities(random, blocks);
    const std::vector<Asked> asked = DrawAsked(random, std::vector<bool>(blocks, true));
    std::vector<Asked> sorted = asked;
    std::sort(sorted.begin(), sorted.end());
    // What is on its way is the last of all.
    runtime::ServerOrder own, other;
    own.pulls = {priorities};
    own.pulls[0].push_back(100);
    other.pulls = {DrawPriorities(random, blocks)};
    own.pushes = other.pushes = {DrawPriorities(random, blocks)};
    other.pulls[0].push_back(100);
    const bool changes = random() % 2 != 0;
    std::vector<Asked> heard;
    for (const auto &[each, priority] : AskedFor(asked, blocks, changes ? other : own, changes ? std::optional(own) : std::nullopt)) {
      heard.push_back(each);
      EXPECT_EQ(priority, priorities[each.block]) << each.block;
    }
    // In which order depends on when the network took them: FrameStreamTest has that.
    std::sort(heard.begin(), heard.end());
    EXPECT_EQ(heard, sorted);
    // Of a trainer that goes by what it pushes.
    runtime::ServerOrder wrong = own;
    wrong.pulls[0] = own.pushes[0];
    bool tells = false;
    for (const auto &[each, priority] : AskedFor(asked, blocks, wrong, std::nullopt)) tells |= priority != priorities[each.block];
    faults += tells;
  }
  EXPECT_GT(faults, cases / 2);
}

}  // namespace
}  // namespace commsched::transport::row_priority_test
