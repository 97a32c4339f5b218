#include "net/dns/dns_question.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/net/resolver.hpp"
#include "net/dns/dns_channel.hpp"
#include "net/host_name.hpp"
#include "net/raw_address.hpp"

#include <ares.h>
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace coracle::net {

dns_question::dns_question(dns_channel& to, std::string host, std::uint16_t port, dns_kind kind)
    : coro::stop_callback([](coro::stop_callback& c) noexcept {
        auto& self = static_cast<dns_question&>(c);
        // with_timeout() stops its task at the deadline that it also set: that is not a cancellation.
        const bool late = self.channel_.owner_loop().now() >= self.deadline_;
        self.fail(late ? name_timed_out(self.host_) : name_cancelled(self.host_));
      }),
      channel_(to),
      host_(std::move(host)),
      port_(port),
      kind_(kind) {
  run = [](coro::runnable& w) noexcept { static_cast<dns_question&>(w).waiter_.resume(); };
  fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<dns_question&>(t);
    self.fail(name_timed_out(self.host_));
  };
}

bool dns_question::start(std::coroutine_handle<> h, const coro::environment& e) noexcept {
  deadline_ = e.deadline;
  if (e.stop.stop_requested()) answer_.emplace(name_cancelled(host_));
  else if (deadline_ <= channel_.owner_loop().now()) answer_.emplace(name_timed_out(host_));
  else channel_.ask(*this);
  if (answer_) return false;  // c-ares answered without a query, for instance from /etc/hosts
  waiter_ = h;
  e.stop.subscribe(*this);
  if (deadline_ != never) channel_.owner_loop().arm(*this, deadline_);
  return true;
}

void dns_question::answered(int ares_status, const ares_addrinfo* found) noexcept {
  record_ = nullptr;
  result<dns_answer> answer = no_memory_for_name(host_);
  base::if_memory_allows([&] {
    result<std::vector<address>> all = ares_answer(ares_status, found, host_, port_);
    if (!all.ok()) {
      answer = all.status();
    } else {
      answer = dns_answer();
      answer->addresses = *std::move(all);
    }
  });
  end(std::move(answer));
}

void dns_question::answered(int ares_status, std::span<const unsigned char> message) noexcept {
  record_ = nullptr;
  result<dns_answer> answer = no_memory_for_name(host_);
  base::if_memory_allows([&] { answer = ares_records(ares_status, message, host_, kind_); });
  end(std::move(answer));
}

void dns_question::fail(status reason) noexcept {
  if (answer_) return;
  if (record_) std::exchange(record_, nullptr)->question = nullptr;
  queue_.unlink();
  end(std::move(reason));
}

void dns_question::end(result<dns_answer> answer) noexcept {
  answer_.emplace(std::move(answer));
  if (!waiter_) return;  // still inside start(), which checks answer_
  coro::stop_callback::unlink();
  if (holder) channel_.owner_loop().disarm(*this);
  channel_.owner_loop().post(*this);
}

namespace {

address address_of(const ares_addrinfo_node& node, std::uint16_t port) {
  runtime_internal::raw_address raw;
  raw.size = static_cast<std::uint32_t>(std::min<std::size_t>(node.ai_addrlen, sizeof raw.bytes));
  std::memcpy(raw.bytes, node.ai_addr, raw.size);
  return from_raw(raw).with_port(port);
}

std::vector<address> addresses_of(const ares_addrinfo& found, std::uint16_t port) {
  std::vector<address> all;
  for (const ares_addrinfo_node* n = found.nodes; n && all.size() < resolver::answers_max; n = n->ai_next) {
    address one = address_of(*n, port);
    // /etc/hosts may list an address several times.
    if (one.is_ip() && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  }
  return all;
}

status failure_text(int ares_status, std::string_view host) {
  std::string text(host);
  text.append(": ").append(ares_strerror(ares_status));
  switch (ares_status) {
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return no_such_name(host);
    case ARES_SUCCESS:
    case ARES_ENODATA: return no_address(host);
    case ARES_EBADNAME: return status::invalid_argument(text);
    case ARES_ENOMEM:
    case ARES_EFILE: return status::resource_exhausted(text);
    case ARES_ECANCELLED:
    case ARES_EDESTRUCTION: return name_cancelled(host);
    case ARES_EBADRESP:
      return status::unavailable(std::string(host) + ": the name server sent an invalid response");
    // Versions of c-ares differ in which of these they return when all servers have failed.
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ENOTIMP:
    case ARES_EFORMERR:
    case ARES_ETIMEOUT: return no_name_server(host);
    default: return status::unavailable(text);
  }
}

}  // namespace

result<std::vector<address>> ares_answer(int ares_status, const ares_addrinfo* found, std::string_view host,
                                         std::uint16_t port) {
  if (ares_status != ARES_SUCCESS || !found) return failure_text(ares_status, host);
  std::vector<address> all = addresses_of(*found, port);
  if (all.empty()) return no_address(host);
  return all;
}

namespace {

status no_record(std::string_view name) {
  return status::not_found(std::string(name) + ": the name has no record of this kind");
}

template <class Reply>
struct reply_list {
  ~reply_list() {
    if (first) ares_free_data(first);
  }
  Reply* first = nullptr;
};

// Newer versions of c-ares have other functions for this, which those of Debian 12 lack.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int read_texts(std::span<const unsigned char> message, std::vector<std::string>& to) {
  reply_list<ares_txt_ext> found;
  const int outcome =
      ares_parse_txt_reply_ext(message.data(), static_cast<int>(message.size()), &found.first);
  for (const ares_txt_ext* t = found.first; t; t = t->next) {
    if (t->record_start) {
      if (to.size() == resolver::answers_max) break;
      to.emplace_back();
    }
    if (!to.empty()) to.back().append(reinterpret_cast<const char*>(t->txt), t->length);
  }
  return outcome;
}

int read_services(std::span<const unsigned char> message, std::vector<service_record>& to) {
  reply_list<ares_srv_reply> found;
  const int outcome = ares_parse_srv_reply(message.data(), static_cast<int>(message.size()), &found.first);
  for (const ares_srv_reply* s = found.first; s && to.size() < resolver::answers_max; s = s->next) {
    std::string host = s->host ? s->host : "";
    if (host.ends_with('.')) host.pop_back();
    to.push_back({std::move(host), s->port, s->priority, s->weight});
  }
  return outcome;
}

#pragma GCC diagnostic pop

}  // namespace

result<dns_answer> ares_records(int ares_status, std::span<const unsigned char> message,
                                std::string_view name, dns_kind kind) {
  dns_answer found;
  const bool answered = ares_status == ARES_SUCCESS;
  if (answered)
    ares_status =
        kind == dns_kind::texts ? read_texts(message, found.texts) : read_services(message, found.services);
  if (ares_status == ARES_ENODATA) return no_record(name);
  // Versions of c-ares differ in what they say about a response that cannot be read.
  if (answered && ares_status != ARES_SUCCESS && ares_status != ARES_ENOMEM) ares_status = ARES_EBADRESP;
  if (ares_status != ARES_SUCCESS) return failure_text(ares_status, name);
  if (found.texts.empty() && found.services.empty()) return no_record(name);
  return found;
}

}  // namespace coracle::net
