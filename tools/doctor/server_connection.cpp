// What a server does on a connection before any call: TLS, the first frames, PINGs, HTTP/1.1.
#include "tools/doctor/frames.hpp"
#include "tools/doctor/probe.hpp"
#include "tools/doctor/server.hpp"

#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace coracle::tools::doctor {

namespace {

constexpr int days_of_a_problem = 7;
constexpr int days_of_a_note = 30;
// A modest rate: as many as a client with keepalive sends in a minute or two, and the server may object to.
constexpr int pings = 5;
constexpr std::chrono::milliseconds between_pings(200);

std::string name_text(X509_NAME* name) {
  char text[256];
  const int n = X509_NAME_get_text_by_NID(name, NID_commonName, text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : "(no name)";
}

// The names of a certificate: DNS names and IP addresses.
std::string names_in(X509* of) {
  std::string all;
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(of, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && all.size() < 200; ++i) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(names, i);
    std::string text;
    if (one->type == GEN_DNS) {
      const ASN1_IA5STRING* const dns = one->d.dNSName;
      text.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(dns)),
                  static_cast<std::size_t>(ASN1_STRING_length(dns)));
    } else if (one->type == GEN_IPADD) {
      const int bytes = ASN1_STRING_length(one->d.iPAddress);
      const unsigned char* const ip = ASN1_STRING_get0_data(one->d.iPAddress);
      std::array<std::uint8_t, 16> wide{};
      std::copy_n(ip, std::min(bytes, 16), wide.begin());
      const auto address =
          bytes == 4 ? net::address::ipv4({ip[0], ip[1], ip[2], ip[3]}, 0) : net::address::ipv6(wide, 0);
      text = address.to_string();
      text = text.substr(0, text.rfind(':'));
    } else {
      continue;
    }
    all.append(all.empty() ? "" : ", ").append(text);
  }
  GENERAL_NAMES_free(names);
  return all.empty() ? "no names" : all;
}

bool is_for(X509* certificate, const std::string& host) {
  return X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
}

void check_expiry(findings& to, X509* certificate) {
  int days = 0;
  int seconds = 0;
  ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate));
  const bool expired = days < 0 || seconds < 0;
  const std::string count =
      std::to_string(expired ? -days : days) + (days == 1 || days == -1 ? " day" : " days");
  const std::string found = expired ? "expired " + count + " ago" : "valid for " + count;
  const std::string advice =
      "renew the certificate; a server of this library reads new files without a restart (coracle certs, "
      "docs/guides/certificates.md)";
  int early_days = 0;
  int early_seconds = 0;
  ASN1_TIME_diff(&early_days, &early_seconds, nullptr, X509_get0_notBefore(certificate));
  if (early_days > 0 || early_seconds > 0)
    return to.problem("certificate: time", "not valid yet", "compare the clocks of the two machines");
  if (expired || days < days_of_a_problem) to.problem("certificate: time", found, advice);
  else to.mention(days < days_of_a_note, "certificate: time", found, advice);
}

void check_certificate(findings& to, const endpoint& where, const handshake& found, const std::string& host) {
  if (found.chain.empty())
    return to.problem("certificate", "none", "the server uses anonymous TLS, which clients refuse");
  X509* const own = found.chain.front().get();
  const std::string wanted = where.server_name().empty() ? host : where.server_name();
  to.check(!is_for(own, wanted), "certificate: name",
           (is_for(own, wanted) ? "is for " : "is not for ") + wanted + ": it has " + names_in(own),
           "connect by one of its names, or issue one with this name; --server-name sets the name to expect");
  const std::string chain = std::to_string(found.chain.size()) +
                            (found.chain.size() == 1 ? " certificate" : " certificates") + ", issued by " +
                            name_text(X509_get_issuer_name(own));
  if (found.unverified.empty()) to.ok("certificate: chain", chain);
  else
    to.problem(
        "certificate: chain", chain + ": " + found.unverified,
        where.ca().empty()
            ? "--ca FILE sets the CA to trust; a server must send its intermediate certificates, too"
            : "the CA of --ca has not signed it, or the server does not send its intermediate certificates");
  check_expiry(to, own);
}

// Returns whether TLS works well enough for HTTP/2.
bool check_tls(findings& to, const endpoint& where, const server_name& server, probe& connection) {
  const handshake found =
      connection.secure(where, where.server_name().empty() ? server.host : where.server_name(), "h2");
  if (!found.done) {
    const bool is_plaintext = found.error.find("wrong version number") != found.error.npos ||
                              found.error.find("packet length too long") != found.error.npos;
    to.problem("TLS", is_plaintext ? "the server does not speak TLS" : "the handshake failed: " + found.error,
               is_plaintext ? "--plaintext checks it without TLS; do not send secrets to it"
                            : "look at the server's log: it may require another version, a server name or a "
                              "client certificate");
    return false;
  }
  to.ok("TLS", found.version);
  to.check(found.protocol != "h2", "ALPN",
           found.protocol.empty() ? "the server selects no protocol" : "the server selects " + found.protocol,
           "gRPC needs h2 (RFC 9113 3.3): enable HTTP/2 in the server, or in the proxy before it");
  check_certificate(to, where, found, server.host);
  return found.protocol == "h2";
}

// What begins a connection that is not HTTP/2.
void report_other_protocol(findings& to, const std::string& first, const probe& connection) {
  if (first.starts_with("HTTP/1."))
    return to.problem("HTTP/2", "the server speaks HTTP/1.1 only",
                      "enable HTTP/2, or use a protocol for it: coracle call --protocol");
  if (!first.empty() && (first[0] == 0x15 || first[0] == 0x16))
    return to.problem("HTTP/2", "the server speaks TLS", "remove --plaintext");
  const std::string& error = connection.error();
  const bool is_refusal =
      error.find("certificate required") != error.npos || error.find("bad certificate") != error.npos;
  to.problem("HTTP/2",
             "no SETTINGS from the server: " + (error.empty() ? "what it sends is not HTTP/2" : error),
             is_refusal ? "--cert FILE and --key FILE set the client certificate"
                        : "is it a gRPC server, and does it require TLS (remove --plaintext)?");
}

std::string settings_text(const frame& of) {
  std::string text = "SETTINGS arrived";
  for (std::size_t at = 0; at + 6 <= of.payload.size(); at += 6) {
    const auto id = static_cast<std::uint8_t>(of.payload[at + 1]);
    const std::uint32_t value = of.number_at(at + 2);
    if (id == 3) text += ", at most " + std::to_string(value) + " calls at a time";
    if (id == 6) text += ", headers up to " + std::to_string(value) + " bytes";
  }
  return text;
}

void check_pings(findings& to, probe& connection, frame_reader& frames) {
  int answered = 0;
  for (int i = 0; i < pings; ++i) {
    if (!connection.send(frame_bytes(frame_type::ping, 0, "doctor" + std::to_string(10 + i)))) break;
    while (const auto one = frames.next()) {
      if (one->is(frame_type::goaway)) {
        const std::string reason = one->payload.size() > 8 ? one->payload.substr(8, 100) : "";
        return to.note("PINGs",
                       "after " + std::to_string(i + 1) + " PINGs within a second: GOAWAY " +
                           std::to_string(one->number_at(4)) + " " + reason,
                       "the server limits keepalive: let clients wait for 5 minutes or more "
                       "(keepalive_options::time), or lower its limit");
      }
      if (!one->is(frame_type::ping) || !one->is_ack()) continue;
      ++answered;
      break;
    }
    if (answered <= i) break;
    std::this_thread::sleep_for(between_pings);
  }
  to.mention(answered < pings, "PINGs",
             std::to_string(answered) + " of " + std::to_string(pings) + " answered, " +
                 std::to_string(between_pings.count()) + " ms apart",
             "clients that use keepalive close a connection whose PINGs are not answered");
}

bool check_http2(findings& to, probe& connection) {
  frame_reader frames(connection);
  connection.send(client_preface);
  const auto first = frames.next();
  if (!first || !first->is(frame_type::settings) || first->is_ack()) {
    report_other_protocol(to, frames.rest(), connection);
    return false;
  }
  to.ok("HTTP/2", settings_text(*first));
  connection.send(frame_bytes(frame_type::settings, 1, ""));
  check_pings(to, connection, frames);
  return true;
}

// Servers need not speak it: some proxies and load balancers ask by it.
void check_http1(findings& to, const endpoint& where, const server_name& server) {
  probe connection(*server.reached);
  if (!where.plaintext()) {
    const handshake found =
        connection.secure(where, where.server_name().empty() ? server.host : where.server_name(), "http/1.1");
    if (!found.done || found.protocol != "http/1.1") return to.ok("HTTP/1.1", "not offered");
  }
  connection.send("GET / HTTP/1.1\r\nhost: " + server.host + "\r\nconnection: close\r\n\r\n");
  const std::string answer = connection.receive();
  to.ok("HTTP/1.1", answer.starts_with("HTTP/1.")
                        ? "answers " + answer.substr(0, std::min(answer.find('\r'), std::size_t(60)))
                        : "not spoken");
}

}  // namespace

bool check_connection(findings& to, const endpoint& where, const server_name& server) {
  probe connection(*server.reached);
  if (!connection.error().empty()) {
    to.problem("connect", connection.error(), "the second connection failed: does the server limit them?");
    return false;
  }
  const bool secured = where.plaintext() || check_tls(to, where, server, connection);
  const bool works = secured && check_http2(to, connection);
  if (works) check_http1(to, where, server);
  return works;
}

}  // namespace coracle::tools::doctor
