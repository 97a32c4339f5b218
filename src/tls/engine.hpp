// engine: one connection's TLS without I/O: encrypted bytes go in and out, plain ones out and in.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "tls/handshake_notes.hpp"
#include "tls/owned.hpp"

#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <string>

namespace coracle::tls {

// A memory BIO that reads bytes where they lie and writes into an output_buffer: one copy less each way than
// OpenSSL's own, and no memory of its own. Must stay in place while its BIO lives.
class record_bio {
 public:
  bytes_view in;
  base::output_buffer out;

  // Null when memory is out. Belongs to the SSL that it is given to.
  [[nodiscard]] BIO* make();
};

// Stays in place once made: OpenSSL points into it.
class engine {
 public:
  enum class step : std::uint8_t {
    more,    // needs more input
    done,    // handshake: it is over; read: the room is full
    ended,   // the peer has said that it sends no more (close_notify)
    failed,  // see failure()
  };

  // connection: null when memory was out: every step fails. Certificates are judged by `present`.
  engine(owned<SSL> connection, bool server, std::chrono::system_clock::time_point present);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  // Client, before the handshake: who the server has to be, and where sessions are found and kept.
  void expect_server(std::string_view host, session_cache& sessions);

  // The bytes are borrowed until keep_rest(), which copies what was not read.
  void feed(bytes_view bytes);
  void keep_rest();

  step handshake();
  // Plain bytes into `into`, as many as there are; `got` is set.
  step read(mutable_bytes into, std::size_t& got);
  // After the handshake. False: failed.
  bool write(bytes_view plain);
  void write_close_notify() noexcept;
  // Encrypted, on their way out.
  [[nodiscard]] base::output_buffer& output() noexcept { return records_.out; }

  // The memory of what is kept here on its way in and out, OpenSSL's own apart.
  [[nodiscard]] std::size_t buffers_bytes() const noexcept {
    return records_.out.capacity() + kept_.capacity();
  }

  [[nodiscard]] bool server() const noexcept { return notes_.server; }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] SSL& connection() noexcept { return *ssl_; }

 private:
  step failed(bool shaking_hands) noexcept;
  [[nodiscard]] bool outlived(X509* certificate) const noexcept;

  record_bio records_;
  handshake_notes notes_;
  base::output_buffer kept_;
  std::string failure_;
  std::time_t present_;
  owned<SSL> ssl_;  // points to what is above
};

}  // namespace coracle::tls
