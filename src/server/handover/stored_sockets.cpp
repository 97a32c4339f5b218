#include "server/handover/stored_sockets.hpp"

#include "net/inherited_sockets.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace coracle::server_internal {

namespace {

constexpr std::string_view for_any_port = "|any";

// The manager takes printable ASCII without ':', which separates the names in LISTEN_FDNAMES.
std::string encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool printable = byte > ' ' && byte < 0x7F;
    if (c == ':') {
      out += ',';
    } else if (printable && c != ',' && c != '|' && c != '%') {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

std::string prefix_of(std::string_view path) { return std::string(net::stored_prefix) + encoded(path) + "|"; }

bool is_every_host(const net::address& a) {
  const std::string host = a.with_port(0).to_string();
  return host == "0.0.0.0:0" || host == "[::]:0";
}

// A UNIX socket whose file was removed is reached by no client.
bool is_reachable(const net::address& local) {
  std::error_code ignored;
  return local.kind() != net::address::family::path || std::filesystem::exists(local.name(), ignored);
}

}  // namespace

std::string stored_name(std::string_view path, const net::address& local, bool any_port) {
  std::string name = prefix_of(path) + encoded(local.to_string());
  if (any_port) name += for_any_port;
  return name;
}

stored_sockets& stored_sockets::of_process() {
  static stored_sockets one;
  return one;
}

stored_sockets::stored_sockets() {
  std::vector<net::inherited_socket> left = net::stored_inheritance();
  sockets_.reserve(left.size());
  for (net::inherited_socket& s : left)
    sockets_.push_back({runtime_internal::kernel::owned_descriptor(s.descriptor), std::move(s.name), {}});
}

result<opened_socket> stored_sockets::take(loop& on, const net::address& wanted, std::string_view path,
                                           bool only_ipv6) {
  const std::lock_guard held(mutex_);
  const bool any_port = wanted.is_ip() && wanted.port() == 0;
  for (stored_socket& s : sockets_) {
    if (!s.claim.expired()) continue;
    const net::address local = local_address_of(on, s.descriptor.get());
    if (any_port ? !local.is_ip() || local.with_port(0) != wanted || s.name != stored_name(path, local, true)
                 : local != wanted || !is_reachable(local))
      continue;
    if (!runtime_internal::kernel::serves_ipv4_as(s.descriptor.get(), only_ipv6)) continue;
    result<std::unique_ptr<net::acceptor>> adopted = net::acceptor::adopt(on, s.descriptor.get());
    if (!adopted) continue;  // such as a socket that does not listen any more: another one is made
    // A process that ended before it knew that the manager has the socket may have closed its queue.
    on.io().open_queue((*adopted)->descriptor());
    opened_socket one;
    one.acceptor = *std::move(adopted);
    one.stored_as = std::make_shared<const std::string>(s.name);
    s.claim = one.stored_as;
    return one;
  }
  return opened_socket();
}

std::vector<std::string> stored_sockets::end_at_port(loop& on, const net::address& wanted) {
  std::vector<std::string> names;
  const std::lock_guard held(mutex_);
  for (const stored_socket& s : sockets_) {
    if (!s.claim.expired() || !wanted.is_ip() || wanted.port() == 0) continue;
    const net::address local = local_address_of(on, s.descriptor.get());
    if (!local.is_ip() || local.port() != wanted.port()) continue;
    if (local == wanted || is_every_host(local) || is_every_host(wanted)) names.push_back(s.name);
  }
  std::erase_if(sockets_, [&names](const stored_socket& s) {
    if (std::find(names.begin(), names.end(), s.name) == names.end()) return false;
    runtime_internal::kernel::end_listening(s.descriptor.get());
    return true;
  });
  return names;
}

std::shared_ptr<const std::string> stored_sockets::add(std::string name, int descriptor) {
  auto claim = std::make_shared<const std::string>(std::move(name));
  const std::lock_guard held(mutex_);
  const auto known = std::find_if(sockets_.begin(), sockets_.end(),
                                  [&](const stored_socket& s) { return s.name == *claim; });
  if (known != sockets_.end()) {
    known->claim = claim;
  } else {
    std::string text = *claim;
    sockets_.reserve(sockets_.size() + 1);
    sockets_.push_back({runtime_internal::kernel::duplicate(descriptor), std::move(text), claim});
  }
  if (reserved_ != 0) --reserved_;
  return claim;
}

std::vector<std::string> stored_sockets::unused(std::string_view path) {
  const std::string prefix = prefix_of(path);
  std::vector<std::string> names;
  const std::lock_guard held(mutex_);
  for (const stored_socket& s : sockets_)
    if (s.claim.expired() && s.name.starts_with(prefix)) names.push_back(s.name);
  return names;
}

std::optional<std::size_t> stored_sockets::lacks_room(std::size_t more, std::size_t most) noexcept {
  const std::lock_guard held(mutex_);
  const std::size_t wanted = sockets_.size() + reserved_ + more;
  if (wanted > most) return wanted;
  reserved_ += more;
  return std::nullopt;
}

void stored_sockets::give_up_room(std::size_t reserved) noexcept {
  const std::lock_guard held(mutex_);
  reserved_ -= std::min(reserved, reserved_);
}

bool stored_sockets::remove_unused(std::string_view name) noexcept {
  const std::lock_guard held(mutex_);
  return std::erase_if(sockets_,
                       [&](const stored_socket& s) { return s.name == name && s.claim.expired(); }) != 0;
}

void stored_sockets::remove(std::string_view name) noexcept {
  const std::lock_guard held(mutex_);
  std::erase_if(sockets_, [&](const stored_socket& s) { return s.name == name; });
}

}  // namespace coracle::server_internal
