#include "tools/doctor/probe.hpp"

#include <netinet/in.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace coracle::tools::doctor {

namespace {

socklen_t socket_address(const net::address& of, ::sockaddr_storage& to) {
  if (of.kind() == net::address::family::ipv4) {
    auto& v4 = reinterpret_cast<::sockaddr_in&>(to);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(of.port());
    std::memcpy(&v4.sin_addr, of.ip_bytes().data(), sizeof v4.sin_addr);
    return sizeof v4;
  }
  if (of.kind() == net::address::family::ipv6) {
    auto& v6 = reinterpret_cast<::sockaddr_in6&>(to);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(of.port());
    v6.sin6_scope_id = of.scope();
    std::memcpy(&v6.sin6_addr, of.ip_bytes().data(), sizeof v6.sin6_addr);
    return sizeof v6;
  }
  auto& path = reinterpret_cast<::sockaddr_un&>(to);
  path.sun_family = AF_UNIX;
  const bool is_abstract = of.kind() != net::address::family::path;
  const std::size_t bytes = std::min(of.name().size(), sizeof path.sun_path - 1);
  std::memcpy(path.sun_path + (is_abstract ? 1 : 0), of.name().data(), bytes);
  return static_cast<socklen_t>(offsetof(::sockaddr_un, sun_path) + bytes + 1);
}

std::string error_of(int error) {
  return error == EAGAIN || error == EINPROGRESS ? "no answer within 3 s" : std::strerror(error);
}

// A ring of io_uring that the thread has closed interrupts system calls, without a handler that would do so.
template <class F>
auto uninterrupted(F call) {
  while (true) {
    errno = 0;
    const auto result = call();
    if (result > 0 || errno != EINTR) return result;
  }
}

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : "the server closed the connection";
}

}  // namespace

probe::probe(const net::address& to) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the server may have closed
  ::sockaddr_storage address{};
  const socklen_t size = socket_address(to, address);
  socket_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const ::timeval time{.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
                       .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const ::sockaddr*>(&address), size) < 0)
    error_ = error_of(errno);
}

probe::~probe() {
  if (socket_ >= 0) ::close(socket_);
}

handshake probe::secure(const endpoint& with, const std::string& name, std::string_view protocol) {
  handshake found;
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_default_verify_paths(context);
  if (!with.ca().empty() && SSL_CTX_load_verify_locations(context, with.ca().c_str(), nullptr) != 1)
    throw failure("cannot read the certificates of " + with.ca() + ": " + openssl_error());
  if (!with.certificate().empty() &&
      (SSL_CTX_use_certificate_chain_file(context, with.certificate().c_str()) != 1 ||
       SSL_CTX_use_PrivateKey_file(context, with.key().c_str(), SSL_FILETYPE_PEM) != 1))
    throw failure("cannot use " + with.certificate() + " and " + with.key() + ": " + openssl_error());
  // Every chain is accepted here, to look at it: what is sent over the connection is not secret.
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  ssl_.reset(SSL_new(context));
  std::string offered(1, static_cast<char>(protocol.size()));
  offered.append(protocol);
  SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(offered.data()),
                      static_cast<unsigned>(offered.size()));
  if (!net::address::parse(name + ":1").ok()) SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
  SSL_set_fd(ssl_.get(), socket_);
  ERR_clear_error();
  const int result = uninterrupted([&] { return SSL_connect(ssl_.get()); });
  if (result != 1) {
    const int error = errno;
    const bool is_timeout = SSL_get_error(ssl_.get(), result) == SSL_ERROR_SYSCALL && error == EAGAIN;
    found.error = error_ = is_timeout ? error_of(error) : openssl_error();
    ssl_.reset();
    return found;
  }
  found.done = true;
  found.version = SSL_get_version(ssl_.get());
  const unsigned char* selected = nullptr;
  unsigned bytes = 0;
  SSL_get0_alpn_selected(ssl_.get(), &selected, &bytes);
  found.protocol.assign(reinterpret_cast<const char*>(selected), bytes);
  if (const long v = SSL_get_verify_result(ssl_.get()); v != X509_V_OK)
    found.unverified = X509_verify_cert_error_string(v);
  if (const STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(ssl_.get()))
    for (int i = 0; i < sk_X509_num(chain); ++i) {
      X509* const one = sk_X509_value(chain, i);
      X509_up_ref(one);
      found.chain.emplace_back(one);
    }
  return found;
}

bool probe::send(std::string_view bytes) {
  const auto size = static_cast<int>(bytes.size());
  if (ssl_) {
    if (SSL_write(ssl_.get(), bytes.data(), size) == size) return true;
    error_ = openssl_error();
    return false;
  }
  if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == size) return true;
  error_ = error_of(errno);
  return false;
}

std::string probe::receive() {
  std::string bytes(received_bytes_max, '\0');
  const auto n = uninterrupted([&]() -> ssize_t {
    if (ssl_) return SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    return ::recv(socket_, bytes.data(), bytes.size(), 0);
  });
  if (n <= 0) {
    const int error = errno;
    if (n == 0 && !ssl_) error_ = "the server closed the connection";
    else error_ = error == EAGAIN ? error_of(error) : ssl_ ? openssl_error() : error_of(error);
  }
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

}  // namespace coracle::tools::doctor
