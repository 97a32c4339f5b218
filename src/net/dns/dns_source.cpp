#include "net/dns/dns_source.hpp"

#include "coracle/base/impl/assert.hpp"
#include "net/dns/dns_channel.hpp"
#include "net/dns/dns_question.hpp"

#include <utility>

namespace coracle::net {

dns_source::dns_source(loop& on, dns_settings settings) : on_(on), settings_(std::move(settings)) {}

dns_source::~dns_source() {
  CORACLE_ASSERT(inside_ == 0, "a resolver was destroyed while a task waits for it");
}

task<result<std::vector<address>>> dns_source::resolve_name(std::string host, std::uint16_t port) {
  result<dns_answer> answer = co_await ask(std::move(host), port, dns_kind::addresses);
  if (!answer.ok()) co_return answer.status();
  co_return std::move(answer->addresses);
}

task<result<dns_answer>> dns_source::records(std::string name, dns_kind kind) {
  result<dns_answer> answer = co_await ask(std::move(name), 0, kind);
  co_return answer;
}

task<result<dns_answer>> dns_source::ask(std::string name, std::uint16_t port, dns_kind kind) {
  CORACLE_ASSERT(on_.is_current(), "a resolver was used on a loop other than its owner loop");
  if (!open_) {
    result<std::unique_ptr<dns_channel>> made = dns_channel::open(on_, settings_);
    if (!made) co_return made.status();
    open_ = *std::move(made);
  }
  ++inside_;
  ++waiting_;
  dns_question question(*open_, std::move(name), port, kind);
  result<dns_answer> answer = co_await question;
  if (--waiting_ == 0) {
    const std::unique_ptr<dns_channel> last = std::move(open_);  // later calls open another channel
    co_await last->close();
  }
  --inside_;
  co_return answer;
}

}  // namespace coracle::net
