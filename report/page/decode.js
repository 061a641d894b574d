// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The events: columns of numbers in a compressed, base64-coded block.
// docs/report.md has the format.

CS.Reader = class {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  /// Seven bits a byte, the lowest first. Exact up to 2^53.
  number() {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("the events of this page are cut off");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  text(decoder) {
    const length = this.number();
    this.at += length;
    return decoder.decode(this.bytes.subarray(this.at - length, this.at));
  }
};

CS.inflate = async function (base64) {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old to decompress the events: it has no DecompressionStream");
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

CS.decodeTrack = function (reader, count) {
  const column = (type, read) => {
    const values = new type(count);
    for (let i = 0; i < count; ++i) values[i] = read(i, values);
    return values;
  };
  const track = {};
  const length = column(Float64Array, () => reader.number());
  track.begin = column(Float64Array, (i, values) => reader.signed() + (i ? values[i - 1] + length[i - 1] : 0));
  track.end = length.map((value, i) => track.begin[i] + value);
  track.name = column(Uint32Array, () => reader.number());
  track.detail = column(Uint32Array, () => reader.number());
  track.category = column(Uint8Array, () => reader.number());
  track.lane = column(Uint16Array, () => reader.number());
  track.step = column(Float64Array, (i, values) => reader.signed() + (i ? values[i - 1] : 0));
  const sizes = new Map();
  track.bytes = column(Float64Array, (i) => {
    const size = reader.signed() + (sizes.get(track.name[i]) || 0);
    sizes.set(track.name[i], size);
    return size;
  });
  track.queued = column(Float64Array, () => reader.number());
  return track;
};

/// Adds the events to the tracks of the summary, and returns the texts.
CS.decode = async function (base64, summary) {
  const reader = new CS.Reader(await CS.inflate(base64));
  const decoder = new TextDecoder();
  const strings = new Array(reader.number());
  for (let i = 0; i < strings.length; ++i) strings[i] = reader.text(decoder);
  for (const timeline of summary.timelines)
    for (const track of timeline.tracks) Object.assign(track, { title: track.name }, CS.decodeTrack(reader, track.events));
  return strings;
};
