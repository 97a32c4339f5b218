// engine: sans-I/O TLS for one connection: encrypted bytes in and out, plaintext bytes out and in.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "tls/handshake_state.hpp"
#include "tls/openssl_ptr.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::tls {

// A memory BIO that reads bytes in place and writes into an output_buffer: compared with OpenSSL's own it
// saves one copy in each direction and needs no memory of its own. It must stay in place while its BIO
// exists.
class record_bio {
 public:
  bytes_view in;
  base::output_buffer out;

  // Returns null if memory is exhausted. The SSL to which the BIO is passed owns it.
  [[nodiscard]] BIO* make();
};

// Must not be moved: OpenSSL holds pointers into it.
class engine {
 public:
  enum class step : std::uint8_t {
    more,    // more input is required
    done,    // handshake: it is complete; read: `into` is full
    ended,   // the peer sends no more data (close_notify)
    failed,  // see failure()
  };

  // connection: if it is null (memory was exhausted), every step fails. present: the time for which
  // certificates are verified.
  engine(openssl_ptr<SSL> connection, bool server, std::chrono::system_clock::time_point present);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  // Of a server's certificate.
  struct name_rules {
    bool verify = true;  // else the name is for SNI alone, and may be empty
    bool accept_common_name = false;
    bool verify_authority = true;  // of calls, see covers()
  };
  // Client, before the handshake: sets the expected name of the server, and the cache of its sessions.
  void expect_server(std::string_view host, session_cache& sessions, name_rules rules);
  void expect_server(std::string_view host, session_cache& sessions) { expect_server(host, sessions, {}); }

  // Client, after the handshake: whether the server's certificate has this name as well, by the same rules;
  // true if they verify no names of calls.
  [[nodiscard]] bool covers(std::string_view host) const noexcept;

  // Before the handshake, and before expect_server(): the CRLs by which the peer is verified; may be null.
  void check_revocation(std::shared_ptr<const revocation_lists> by);

  // Before the handshake: the user's verifier, which may be empty.
  void verify_by(peer_verifier v) noexcept { state_.verifier = std::move(v); }

  // feed() borrows the bytes until keep_unread(), which copies those that were not read.
  void feed(bytes_view bytes);
  void keep_unread();

  step handshake();
  // Reads as many plaintext bytes as available into `into` and sets `got`.
  step read(mutable_bytes into, std::size_t& got);
  // Encrypts `plain`. Call it after the handshake. Returns false if it failed.
  bool write(bytes_view plain);
  void write_close_notify() noexcept;
  // The encrypted bytes to send.
  [[nodiscard]] base::output_buffer& output() noexcept { return records_.out; }

  // The memory of the input and output buffers, excluding OpenSSL's own.
  [[nodiscard]] std::size_t buffers_bytes() const noexcept {
    return records_.out.capacity() + kept_.capacity();
  }

  [[nodiscard]] bool server() const noexcept { return state_.server; }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  // The name of a handshake's failure (gRFC A118). error: as of name_of_failure().
  [[nodiscard]] std::string_view name_of_failure(std::int64_t error) const noexcept;
  [[nodiscard]] SSL& connection() noexcept { return *ssl_; }
  [[nodiscard]] const SSL& connection() const noexcept { return *ssl_; }

 private:
  step advance_handshake();
  bool verified() noexcept;
  step failed(bool shaking_hands) noexcept;
  [[nodiscard]] bool session_expired(X509* certificate) const noexcept;

  record_bio records_;
  name_rules rules_;
  handshake_state state_;
  base::output_buffer kept_;
  std::string failure_;
  unsigned long failure_code_ = 0;  // the entry of OpenSSL's error queue that explains it; 0: none
  std::time_t present_;
  openssl_ptr<SSL> ssl_;  // points to the members above
};

}  // namespace coracle::tls
