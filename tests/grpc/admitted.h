// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process of the job, or a stranger, through code that protoc generates: what
// admission.proto says, as packets of the protocol behind it, whose fields it has not.
#ifndef COMMSCHED_TESTS_GRPC_ADMITTED_H
#define COMMSCHED_TESTS_GRPC_ADMITTED_H

#include <string>

#include "grpc/base/admission.h"
#include "grpc/base/admission.pb.h"

namespace commsched::transport {

template <typename Packet, typename To>
To Carried(const Packet &message) {
  To packet;
  packet.ParseFromString(message.SerializeAsString());
  return packet;
}

// Proves `token` on the stream of a call, which then has got `first`. False if the
// other side ends it before.
template <typename Packet, typename Stream>
bool ProveToken(Stream &stream, const std::string &token, const Packet &first) {
  Admission own;
  own.set_version(kAdmissionVersion);
  own.set_nonce(NewNonce());
  const std::string nonce = own.nonce();
  stream.Write(Carried<Admission, Packet>(own));
  Packet answer;
  if (!stream.Read(&answer)) return false;
  const std::string theirs = Carried<Packet, Admission>(answer).nonce();
  own.Clear();
  own.set_proof(Proof(token, "dials", nonce, theirs));
  stream.Write(Carried<Admission, Packet>(own));
  if (!stream.Read(&answer) ||
      Carried<Packet, Admission>(answer).proof() !=
          Proof(token, "accepts", nonce, theirs))
    return false;
  own.set_first(first.SerializeAsString());
  own.set_proof(Proof(token, "first", nonce, theirs, own.first()));
  return stream.Write(Carried<Admission, Packet>(own));
}

}  // namespace commsched::transport

#endif  // COMMSCHED_TESTS_GRPC_ADMITTED_H
