// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/security.h"

#include <sys/stat.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/base/address.h"
#include "runtime/base/files.h"

namespace commsched::transport {
namespace {

struct Pem {
  std::string ca, certificate, key;
};

absl::StatusOr<std::string> ReadFile(const std::string &path,
                                     const char *what) {
  absl::StatusOr<std::string> text = runtime::ReadWhole(path);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", what, " file '", path, "': ", text.status().message()));
}

absl::StatusOr<std::string> ReadPem(const std::string &path, const char *what) {
  if (path.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "TLS needs a file for each of authority, certificate and key; there is "
        "none for the ",
        what));
  absl::StatusOr<std::string> text = ReadFile(path, what);
  if (text.ok() && !absl::StrContains(*text, "-----BEGIN "))
    return absl::InvalidArgumentError(
        absl::StrCat(what, " file '", path, "' must be in PEM format"));
  return text;
}

absl::StatusOr<Pem> ReadPems(const SecurityOptions &options) {
  absl::StatusOr<std::string> ca = ReadPem(options.ca_file, "authority");
  if (!ca.ok()) return ca.status();
  absl::StatusOr<std::string> certificate =
      ReadPem(options.certificate_file, "certificate");
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = ReadPem(options.key_file, "key");
  if (!key.ok()) return key.status();
  return Pem{*std::move(ca), *std::move(certificate), *std::move(key)};
}

bool IsProtected(const SecurityOptions &options) {
  return options.tls() && !options.token.empty();
}

absl::Status Unprotected(const std::string &address, absl::string_view whose,
                         const SecurityOptions &options) {
  return absl::InvalidArgumentError(absl::StrCat(
      "address of ", whose, " must be a loopback address or a socket file without ",
      options.tls() ? "" : "TLS certificates",
      !options.tls() && options.token.empty() ? " and " : "",
      options.token.empty() ? "a job token" : "", ", got: ", address));
}

bool NoFile(const SecurityOptions &options) {
  return options.ca_file.empty() && options.certificate_file.empty() &&
         options.key_file.empty();
}

}  // namespace

absl::StatusOr<std::string> ReadTokenFile(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "token file '", path, "' must not be readable by all users (chmod 600)"));
  absl::StatusOr<std::string> text = ReadFile(path, "token");
  if (!text.ok()) return text;
  std::string token(
      absl::StripAsciiWhitespace(text->substr(0, text->find('\n'))));
  if (token.size() < kLeastTokenBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("first line of token file '", path, "' must have at least ",
                     kLeastTokenBytes, " characters, got: ", token.size()));
  return token;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(
    const SecurityOptions &options) {
  if (NoFile(options)) return grpc::InsecureServerCredentials();
  absl::StatusOr<Pem> pem = ReadPems(options);
  if (!pem.ok()) return pem.status();
  grpc::SslServerCredentialsOptions ssl(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = pem->ca;
  ssl.pem_key_cert_pairs.push_back({pem->key, pem->certificate});
  return grpc::SslServerCredentials(ssl);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentials(
    const SecurityOptions &options) {
  if (NoFile(options)) return grpc::InsecureChannelCredentials();
  absl::StatusOr<Pem> pem = ReadPems(options);
  if (!pem.ok()) return pem.status();
  return grpc::SslCredentials({pem->ca, pem->key, pem->certificate});
}

absl::StatusOr<std::string> ServerAddress(const std::string &address,
                                          absl::string_view whose,
                                          const SecurityOptions &options, bool any) {
  if (absl::Status status = CheckAddress(address); !status.ok()) return status;
  if (!IsProtected(options)) {
    absl::StatusOr<bool> local = IsLocal(address);
    if (!local.ok()) return local.status();
    if (!*local || any) return Unprotected(address, whose, options);
  }
  return any ? AnyAddress(address) : address;
}

absl::Status CheckDialled(const std::string &address, absl::string_view whose,
                          const SecurityOptions &options) {
  if (absl::Status status = CheckAddress(address); !status.ok()) return status;
  if (IsProtected(options)) return absl::OkStatus();
  absl::StatusOr<bool> local = IsLocal(address);
  if (!local.ok()) return local.status();
  return *local ? absl::OkStatus() : Unprotected(address, whose, options);
}

}  // namespace commsched::transport
