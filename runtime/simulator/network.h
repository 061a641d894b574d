// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transport and the links of a simulation. A channel is the connection of one
// rank to another: what is ready in it goes out by priority, in packets, of which
// one is given to the socket at a time; the socket takes the next when no more than
// `socket_bytes` are left in it and the queue of the link has the rest. Channels share the links at
// their two ends max-min fair, as TCP connections do in the long run.
//
// A link: a resource for each direction, with a rate and a token bucket, which lets
// `burst_bytes` through at once after a pause.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_NETWORK_H
#define COMMSCHED_RUNTIME_SIMULATOR_NETWORK_H

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/packet_queue.h"
#include "runtime/simulator/event_queue.h"

namespace commsched::runtime::simulator {

constexpr uint32_t kNone = ~uint32_t{0};

struct Message {
  enum Kind : uint8_t {
    kData,
    kGrant,
    kPush,
    kPullRequest,
    kPullReply
  };
  Kind kind = kData;
  int32_t priority = 0;
  uint32_t channel = 0;
  uint32_t next = kNone;       // of a packet's messages, or of the free ones
  uint32_t communication = 0;  // of the plan; of a server: the block
  uint32_t round = 0;          // over all phases and slices
  uint64_t call = 0;
  uint64_t number = 0;  // among those of one priority and call
  double bytes = 0;     // of a grant: of the message that it is for
  // How often there is such a message: in a class of ranks, parts may be empty.
  double share = 1;
  // Whom it concerns at the sender: a communication there.
  uint32_t sender = kNone;
  // Its receiver wants to know of every packet with a piece of it.
  bool tells = false;
};

// So many bytes of a message are there, from its front, and not all of it.
struct Progress {
  uint32_t channel = 0, communication = 0, round = 0;
  uint64_t call = 0;
  double bytes = 0;
  uint32_t next = kNone;  // of a packet, or of the free ones
};

struct NetworkOptions {
  // Of a packet, at most; 0: by the rate of the link, or what a connection with a server has of it (plan/packets.h).
  double chunk_bytes = 0;
  double socket_bytes = 0;
  double queue_ns = 0;  // of the link: what it holds is no longer with the socket
  // The rate of a channel is the least of its fair shares at its two ends: what
  // another one leaves of its share is not given to others. Same as max-min fair
  // where all are alike, and takes no longer the more channels there are.
  bool local_shares = false;
};

class Network {
 public:
  // Calls come from Settle and HandleChannel.
  class Host {
   public:
    virtual ~Host() = default;
    // The socket has taken all of it.
    virtual void Accepted(const Message &message) = 0;
  };

  Network(NetworkOptions options, EventQueue *events, Host *host)
      : options_(options), events_(events), host_(host) {}

  uint32_t AddResource(double bytes_per_ns, double burst_bytes);
  // `*_share`: how many such channels there are at that end. `sharing`: of a connection with a server, how many share its link;
  // 0: of one between ranks.
  uint32_t AddChannel(uint32_t up, uint32_t down, double up_share,
                      double down_share, Time latency, Time overhead, int to, int sharing = 0);

  uint32_t NewMessage();
  Message &message(uint32_t index) { return messages_[index]; }
  void FreeMessage(uint32_t index) {
    messages_[index].next = free_;
    free_ = index;
  }
  // Of Event::kProgress, which is handled once.
  Progress TakeProgress(uint32_t index) {
    const Progress progress = progress_[index];
    progress_[index].next = free_progress_;
    free_progress_ = index;
    return progress;
  }
  // Holds back what is less urgent on the channel, as Transport::Hold.
  void Hold(uint32_t channel, const std::optional<plan::Urgency> &least) {
    channels_[channel].ready.Hold(least);
    MarkDirty(channel);
  }
  // It may be sent now. Grants go before everything else.
  void Ready(uint32_t message);
  // Gives what is ready to sockets that take it. False if there was nothing to do.
  bool Settle(Time now);
  void HandleChannel(uint32_t channel, uint32_t version, Time now);

  // The rank at the far end.
  int to(uint32_t channel) const { return channels_[channel].to; }
  double resource_bytes(uint32_t resource) const { return resources_[resource].bytes; }
  double resource_rate(uint32_t resource) const { return resources_[resource].rate; }
  // Alone on its links, nanoseconds for the bytes.
  double TimeOf(uint32_t channel, double bytes) const;

 private:
  struct Resource {
    double rate = 0;    // bytes in a nanosecond
    double weight = 0;  // of the shares of its channels
    double burst = 0, tokens = 0, used = 0;
    Time tokens_at = 0;
    double bytes = 0;                // that were given to it
    std::vector<uint32_t> channels;  // with something on the wire
  };
  struct Packet {
    double end = 0;          // on the wire, counted from `Channel::served` = 0
    uint32_t first = kNone;  // of the messages that end in it, kNone: none
    uint32_t progress = kNone;
    Time extra = 0;  // latency beyond the channel's
  };
  struct Channel {
    uint32_t up = 0, down = 0;
    double up_share = 1, down_share = 1;
    Time latency = 0;
    double overhead_bytes = 0, packet_bytes = 0, enough_bytes = 0, ahead_bytes = 0;
    int to = 0;
    bool of_server = false;
    plan::PacketQueue<uint64_t, uint32_t, double> ready;  // by Message::number
    std::vector<uint32_t> controls;                       // grants, in order
    std::vector<Packet> packets;                          // on the wire, from `first_packet` on
    size_t first_packet = 0;
    double tail = 0, served = 0, rate = 0;
    Time updated = 0;
    bool writing = false, active = false, dirty = false;
    uint32_t written = kNone;  // messages of the packet that is being written
    uint32_t version = 0;
    Time scheduled = -1;  // when its event comes; -1: it has none
  };

  void MarkDirty(uint32_t channel);
  // The next packet to the socket; false if there is nothing to send.
  bool Write(uint32_t index, Time now);
  void Advance(Channel *channel, Time now);
  void FinishWriting(Channel *channel);
  // Adds to a list.
  void AddProgress(const Message &message, double bytes, uint32_t *list);
  void DeliverProgress(uint32_t list, Time at);
  void Schedule(uint32_t index, Time now);
  void Activate(uint32_t index, Time now);
  void Deactivate(uint32_t index, Time now);
  // New rates for all that the channel shares a link with, directly or not.
  void Share(uint32_t index, Time now);
  // Of those that use the resource, by local_shares.
  void ShareLocally(uint32_t resource, Time now);
  void SetRate(uint32_t index, double rate, Time now);
  double Tokens(Resource *resource, Time now);
  void Use(Resource *resource, double change, Time now);

  const NetworkOptions options_;
  EventQueue *const events_;
  Host *const host_;
  std::vector<Resource> resources_;
  std::vector<Channel> channels_;
  std::vector<Message> messages_;
  uint32_t free_ = kNone;
  std::vector<Progress> progress_;
  uint32_t free_progress_ = kNone;
  uint64_t next_number_ = 0;
  // Channels: those marked now, and those that Settle is at.
  std::array<std::vector<uint32_t>, 2> dirty_;
  int turn_ = 0;
  // Of Share, kept for their memory.
  std::vector<uint32_t> group_, group_resources_;
  std::vector<uint32_t> mark_, resource_mark_;
  std::vector<double> left_, weight_;
  std::vector<uint8_t> fixed_;
  uint32_t marks_ = 0;
};

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_NETWORK_H
