// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/network.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "plan/packets.h"

namespace commsched::runtime::simulator {
namespace {

constexpr double kSlack = 1e-3;  // bytes
// Of a nanosecond: a hair above a whole one is rounding.
constexpr double kHair = 1e-6;

// Bytes that are as good as sent: on a link on which a hair is many bytes, no event comes for these.
double Slack(double rate) { return std::max(kSlack, 2 * kHair * rate); }

// Of the gRPC transport, on a link of so many bytes in a nanosecond; `sharing` as in AddChannel.
double PacketBytesAt(double rate, int sharing) {
  // Of a link that is hardly one, as long as can be counted.
  const Time took = Time(std::min(double(plan::kLargePacket) / rate, 1e18));
  return double(sharing != 0 ? plan::ServerPacketBytes(took, sharing) : plan::PacketBytes(took));
}

// Of what a Time holds; without SSE 4.1 std::ceil is a call.
Time Ceiling(double ns) {
  const Time whole = Time(ns);
  return whole + Time(double(whole) < ns);
}

}  // namespace

uint32_t Network::AddResource(double bytes_per_ns, double burst_bytes) {
  Resource resource;
  resource.rate = bytes_per_ns;
  resource.burst = resource.tokens = burst_bytes;
  resources_.push_back(std::move(resource));
  resource_mark_.push_back(0);
  return uint32_t(resources_.size() - 1);
}

uint32_t Network::AddChannel(uint32_t up, uint32_t down, double up_share,
                             double down_share, Time latency, Time overhead,
                             int to, int sharing) {
  Channel channel;
  channel.up = up;
  channel.down = down;
  channel.up_share = up_share;
  channel.down_share = down_share;
  channel.latency = latency;
  channel.to = to;
  const double rate = std::min(resources_[up].rate, resources_[down].rate);
  channel.overhead_bytes = double(overhead) * rate;
  channel.ahead_bytes = options_.socket_bytes + options_.queue_ns * rate;
  channel.packet_bytes = options_.chunk_bytes != 0 ? options_.chunk_bytes : PacketBytesAt(rate, sharing);
  channel.enough_bytes =
      sharing != 0 ? double(plan::EnoughOfServerPacket(int64_t(channel.packet_bytes)))
                   : double(plan::EnoughOfPacket(uint64_t(channel.packet_bytes)));
  channel.of_server = sharing != 0;
  channels_.push_back(std::move(channel));
  mark_.push_back(0);
  return uint32_t(channels_.size() - 1);
}

double Network::TimeOf(uint32_t index, double bytes) const {
  const Channel &channel = channels_[index];
  return bytes / std::min(resources_[channel.up].rate / channel.up_share,
                          resources_[channel.down].rate / channel.down_share);
}

uint32_t Network::NewMessage() {
  if (free_ == kNone) {
    messages_.emplace_back();
    return uint32_t(messages_.size() - 1);
  }
  const uint32_t index = free_;
  free_ = messages_[index].next;
  std::construct_at(&messages_[index]);  // in its place: a copy waits for its parts
  return index;
}

void Network::Ready(uint32_t index) {
  Message &message = messages_[index];
  Channel &channel = channels_[message.channel];
  if (message.kind == Message::kGrant) {
    channel.controls.push_back(index);
  } else {
    channel.ready.Push({message.priority, message.call}, message.number, message.bytes, index,
                       /*whole=*/message.kind == Message::kPush);
  }
  MarkDirty(message.channel);
}

void Network::MarkDirty(uint32_t index) {
  if (channels_[index].dirty) return;
  channels_[index].dirty = true;
  dirty_[turn_].push_back(index);
}

bool Network::Settle(Time now) {
  if (dirty_[turn_].empty()) return false;
  // Sockets that take something tell the host, which may have more to send.
  std::vector<uint32_t> &settling = dirty_[turn_];
  turn_ = 1 - turn_;
  for (uint32_t index : settling) channels_[index].dirty = false;
  for (uint32_t index : settling) {
    while (!channels_[index].writing && Write(index, now)) {
    }
    Channel &channel = channels_[index];
    if (channel.active && channel.first_packet == channel.packets.size())
      Deactivate(index, now);
    else
      Schedule(index, now);
  }
  settling.clear();
  return true;
}

bool Network::Write(uint32_t index, Time now) {
  Channel &channel = channels_[index];
  if (channel.controls.empty() && channel.ready.idle()) return false;
  if (channel.active) Advance(&channel, now);
  double bytes = 0;
  Time extra = 0;
  uint32_t first = kNone, last = kNone, progress = kNone;
  const auto append = [&](uint32_t m) {
    (first == kNone ? first : messages_[last].next) = m;
    last = m;
    messages_[m].next = kNone;
  };
  size_t frames = 0;
  for (uint32_t m : channel.controls) append(m), ++frames;
  channel.controls.clear();
  const double payload = channel.ready.Take(
      channel.packet_bytes, plan::kPacketFrames - std::min(frames, plan::kPacketFrames),
      [&](uint32_t m, double offset, double size, bool last_piece) {
        const Message &message = messages_[m];
        bytes += size;
        if (offset == 0) {
          bytes += channel.overhead_bytes * message.share;
          if (message.share < 1) {
            // It is there as late as if it were not empty.
            const double whole = message.bytes / message.share + channel.overhead_bytes;
            extra = std::max(extra,
                             Ceiling(TimeOf(index, whole * (1 - message.share))));
          }
        }
        if (last_piece)
          append(m);
        else if (message.tells)
          AddProgress(message, offset + size, &progress);
      },
      channel.enough_bytes, /*before=*/channel.of_server && frames > 0);
  resources_[channel.up].bytes += payload * channel.up_share;
  resources_[channel.down].bytes += payload * channel.down_share;
  if (!channel.active) {
    channel.tail = channel.served = 0;
    channel.packets.clear();
    channel.first_packet = 0;
    Resource &up = resources_[channel.up], &down = resources_[channel.down];
    if (up.burst > 0 || down.burst > 0) {
      const double at_once =
          std::min({bytes, Tokens(&up, now) / channel.up_share,
                    Tokens(&down, now) / channel.down_share});
      up.tokens -= at_once * channel.up_share;
      down.tokens -= at_once * channel.down_share;
      bytes -= at_once;
    }
  }
  channel.tail += bytes;
  if (!channel.active && bytes <= 0) {
    // Nothing is on the wire: only grants, or what the bucket lets through.
    DeliverProgress(progress, now + channel.latency + extra);
    if (first != kNone) {
      events_->Add(now + channel.latency + extra, Event::kDelivery, first);
      channel.written = first;
      FinishWriting(&channel);
    }
    return true;
  }
  Packet &packet = channel.packets.emplace_back();
  packet.end = channel.tail;
  packet.first = first;
  packet.progress = progress;
  packet.extra = extra;
  channel.writing = true;
  channel.written = first;
  if (!channel.active) Activate(index, now);
  if (channels_[index].tail - channels_[index].served <= channels_[index].ahead_bytes)
    FinishWriting(&channels_[index]);
  return true;
}

void Network::AddProgress(const Message &message, double bytes, uint32_t *list) {
  uint32_t index = free_progress_;
  if (index == kNone) {
    index = uint32_t(progress_.size());
    progress_.emplace_back();
  } else {
    free_progress_ = progress_[index].next;
  }
  progress_[index] = {message.channel, message.communication, message.round,
                      message.call, bytes, *list};
  *list = index;
}

void Network::DeliverProgress(uint32_t list, Time at) {
  for (uint32_t p = list; p != kNone; p = progress_[p].next)
    events_->Add(at, Event::kProgress, p);
}

// The socket has taken the packet.
void Network::FinishWriting(Channel *channel) {
  channel->writing = false;
  const uint32_t index = uint32_t(channel - channels_.data());
  uint32_t m = channel->written;
  channel->written = kNone;
  // The host may add channels and messages.
  while (m != kNone) {
    const uint32_t next = messages_[m].next;
    const Message message = messages_[m];
    if (message.kind != Message::kGrant) host_->Accepted(message);
    m = next;
  }
  MarkDirty(index);
}

void Network::Advance(Channel *channel, Time now) {
  if (now == channel->updated) return;
  channel->served = std::min(
      channel->tail, channel->served + channel->rate * double(now - channel->updated));
  channel->updated = now;
}

void Network::HandleChannel(uint32_t index, uint32_t version, Time now) {
  if (channels_[index].version != version) return;
  channels_[index].scheduled = -1;
  if (!channels_[index].active) return;
  Advance(&channels_[index], now);
  for (;;) {
    Channel &channel = channels_[index];
    if (channel.first_packet == channel.packets.size()) break;
    const Packet packet = channel.packets[channel.first_packet];
    if (packet.end > channel.served + Slack(channel.rate)) break;
    ++channel.first_packet;
    if (channel.writing && channel.first_packet == channel.packets.size()) {
      channel.served = std::max(channel.served, packet.end);
      FinishWriting(&channel);
    }
    DeliverProgress(packet.progress, now + channels_[index].latency + packet.extra);
    if (packet.first != kNone)
      events_->Add(now + channels_[index].latency + packet.extra, Event::kDelivery,
                   packet.first);
  }
  Channel &channel = channels_[index];
  if (channel.writing && channel.tail - channel.served <= channel.ahead_bytes + Slack(channel.rate))
    FinishWriting(&channel);
  if (channels_[index].first_packet > 64 &&
      channels_[index].first_packet * 2 > channels_[index].packets.size()) {
    Channel &c = channels_[index];
    c.packets.erase(c.packets.begin(), c.packets.begin() + long(c.first_packet));
    c.first_packet = 0;
  }
  MarkDirty(index);
}

// When the next packet is through, or the socket takes another one.
void Network::Schedule(uint32_t index, Time now) {
  Channel &channel = channels_[index];
  if (!channel.active || channel.first_packet == channel.packets.size()) return;
  Advance(&channel, now);
  double left = channel.packets[channel.first_packet].end - channel.served;
  if (channel.writing)
    left = std::min(left, channel.tail - channel.ahead_bytes - channel.served);
  const double wait = std::max(0.0, left) / channel.rate;
  const Time at = now + Ceiling(wait - kHair);
  // An event that comes too early only finds nothing to do.
  if (channel.scheduled >= now && channel.scheduled <= at) return;
  channel.scheduled = at;
  events_->Add(at, Event::kChannel, index, ++channel.version);
}

double Network::Tokens(Resource *resource, Time now) {
  resource->tokens =
      std::min(resource->burst, resource->tokens + (resource->rate - resource->used) *
                                                       double(now - resource->tokens_at));
  resource->tokens_at = now;
  return resource->tokens;
}

void Network::Use(Resource *resource, double change, Time now) {
  if (resource->burst > 0) Tokens(resource, now);
  resource->used = std::max(0.0, resource->used + change);
}

void Network::Activate(uint32_t index, Time now) {
  Channel &channel = channels_[index];
  channel.active = true;
  channel.updated = now;
  channel.rate = 0;
  Resource &up = resources_[channel.up], &down = resources_[channel.down];
  up.channels.push_back(index);
  down.channels.push_back(index);
  up.weight += channel.up_share;
  down.weight += channel.down_share;
  if (up.channels.size() == 1 && down.channels.size() == 1) {
    SetRate(index, std::min(up.rate / channel.up_share, down.rate / channel.down_share),
            now);
    return;
  }
  if (options_.local_shares) {
    ShareLocally(channel.up, now);
    ShareLocally(channel.down, now);
    return;
  }
  Share(index, now);
}

void Network::Deactivate(uint32_t index, Time now) {
  Channel &channel = channels_[index];
  channel.active = false;
  channel.scheduled = -1;
  ++channel.version;
  uint32_t neighbour = kNone, other = kNone;
  for (uint32_t r : {channel.up, channel.down}) {
    std::vector<uint32_t> &list = resources_[r].channels;
    *std::find(list.begin(), list.end(), index) = list.back();
    list.pop_back();
    resources_[r].weight =
        list.empty() ? 0
                     : resources_[r].weight -
                           (r == channel.up ? channel.up_share : channel.down_share);
    if (!list.empty()) (r == channel.up ? neighbour : other) = list.front();
  }
  Use(&resources_[channel.up], -channel.rate * channel.up_share, now);
  Use(&resources_[channel.down], -channel.rate * channel.down_share, now);
  channel.rate = 0;
  if (options_.local_shares) {
    if (neighbour != kNone) ShareLocally(channel.up, now);
    if (other != kNone) ShareLocally(channel.down, now);
    return;
  }
  if (neighbour != kNone) Share(neighbour, now);
  // Unless that has reached it.
  if (other != kNone && (neighbour == kNone || mark_[other] != marks_))
    Share(other, now);
}

void Network::SetRate(uint32_t index, double rate, Time now) {
  Channel &channel = channels_[index];
  if (rate == channel.rate) return;
  Advance(&channel, now);
  Use(&resources_[channel.up], (rate - channel.rate) * channel.up_share, now);
  Use(&resources_[channel.down], (rate - channel.rate) * channel.down_share, now);
  channel.rate = rate;
}

void Network::ShareLocally(uint32_t resource, Time now) {
  const auto fair = [&](uint32_t r) { return resources_[r].rate / resources_[r].weight; };
  const double own = fair(resource);
  for (uint32_t c : resources_[resource].channels) {
    const Channel &channel = channels_[c];
    const double rate =
        std::min(own, fair(channel.up == resource ? channel.down : channel.up));
    if (rate == channel.rate) continue;
    SetRate(c, rate, now);
    Schedule(c, now);
  }
}

void Network::Share(uint32_t index, Time now) {
  ++marks_;
  group_.assign(1, index);
  group_resources_.clear();
  mark_[index] = marks_;
  for (size_t i = 0; i < group_.size(); ++i)
    for (uint32_t r : {channels_[group_[i]].up, channels_[group_[i]].down}) {
      if (resource_mark_[r] == marks_) continue;
      resource_mark_[r] = marks_;
      group_resources_.push_back(r);
      for (uint32_t c : resources_[r].channels)
        if (mark_[c] != marks_) {
          mark_[c] = marks_;
          group_.push_back(c);
        }
    }
  // Progressive filling: the resource with the least for each channel decides the
  // rate of its channels, then the next one with what is left.
  left_.resize(resources_.size());
  weight_.resize(resources_.size());
  fixed_.resize(channels_.size());
  for (uint32_t r : group_resources_) {
    left_[r] = resources_[r].rate;
    weight_[r] = resources_[r].weight;
  }
  for (uint32_t c : group_) fixed_[c] = 0;
  size_t open = group_.size();
  while (open > 0) {
    double least = 0;
    uint32_t tight = kNone;
    for (uint32_t r : group_resources_) {
      if (weight_[r] <= 1e-9) continue;
      const double fair = left_[r] / weight_[r];
      if (tight == kNone || fair < least) least = fair, tight = r;
    }
    for (uint32_t c : resources_[tight].channels) {
      if (fixed_[c]) continue;
      fixed_[c] = 1;
      --open;
      const Channel &channel = channels_[c];
      left_[channel.up] = std::max(0.0, left_[channel.up] - least * channel.up_share);
      weight_[channel.up] -= channel.up_share;
      left_[channel.down] = std::max(0.0, left_[channel.down] - least * channel.down_share);
      weight_[channel.down] -= channel.down_share;
      if (least != channel.rate) {
        SetRate(c, least, now);
        Schedule(c, now);
      }
    }
    weight_[tight] = 0;
  }
}

}  // namespace commsched::runtime::simulator
