#include "coracle/server/authorization_policy.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/net/file.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server.hpp"
#include "server/authorization/policy_document.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace coracle {

result<authorization_policy> authorization_policy::parse(std::string_view json) {
  auto rules = server_internal::parse_policy(json);
  if (!rules) return rules.status();
  return authorization_policy(std::make_shared<const server_internal::policy_rules>(*std::move(rules)));
}

const std::string& authorization_policy::name() const noexcept { return rules_->name; }

status authorization_policy::decide(const server_context& call) const {
  const auto facts = server_internal::call_facts::of(call);
  if ((!rules_->denied || rules_->denied->decide(facts).authorized) &&
      rules_->allowed.decide(facts).authorized)
    return {};
  return status::permission_denied("authz: unauthorized RPC request rejected");
}

namespace server_internal {

namespace {

class by_policy final : public server_interceptor {
 public:
  explicit by_policy(authorization_policy policy) : policy_(std::move(policy)) {}
  task<status> intercept(server_context& context, next_handler next) override {
    status allowed = policy_.decide(context);
    if (!allowed.ok()) co_return allowed;
    co_return co_await next();
  }

 private:
  const authorization_policy policy_;
};

status reason_with_path(const std::string& path, const status& reason) {
  return status(reason.code(),
                std::string(reason.message()) + " (in the file " + base::printable(path) + ")");
}

// Calls of all loops use it while loop 0 follows the file.
class by_file final : public server_interceptor {
 public:
  by_file(std::string path, authorization_file_options options, std::string text, authorization_policy policy)
      : path_(std::move(path)),
        options_(std::move(options)),
        text_(std::move(text)),
        policy_(std::move(policy)) {}

  task<status> intercept(server_context& context, next_handler next) override {
    status allowed = policy().decide(context);
    if (!allowed.ok()) co_return allowed;
    co_return co_await next();
  }

  // On loop 0, until the server drains.
  static task<> follow(std::shared_ptr<by_file> self, std::weak_ptr<server_state> server) {
    const auto ended = std::make_shared<coro::stop_source>();
    if (!tell_at_drain(server, ended)) co_return;
    const duration pause = std::max(self->options_.interval, authorization_file_options::interval_min);
    while (!ended->stop_requested()) {
      const status woken = co_await stop_on(ended->token(), sleep_for(pause));
      if (!woken.ok()) co_return;
      bool enough = true;
      try {
        const result<std::string> text = co_await net::read_file(self->path_, policy_bytes_max);
        if (text.status().code() == status_code::cancelled) co_return;  // the runtime stops
        self->offer(text);
      } catch (const std::bad_alloc&) {
        enough = false;
      }
      if (!enough)
        base::if_memory_allows(
            [&] { self->complain(status::resource_exhausted("the process is out of memory")); });
    }
  }

 private:
  // False if there is no server any more.
  static bool tell_at_drain(const std::weak_ptr<server_state>& server,
                            const std::shared_ptr<coro::stop_source>& ended) {
    const auto alive = server.lock();
    shard* const here = alive ? alive->shard_of(*loop::current()) : nullptr;
    if (!here) return false;
    here->when_draining([of = std::weak_ptr(ended)] {
      if (const auto waiting = of.lock()) waiting->request_stop();
    });
    return true;
  }

  [[nodiscard]] authorization_policy policy() const {
    const std::lock_guard held(mutex_);
    return policy_;
  }

  void offer(const result<std::string>& text) {
    if (!text) return complain(text.status());
    if (*text == text_) return complain({});
    auto policy = authorization_policy::parse(*text);
    if (!policy) return complain(reason_with_path(path_, policy.status()));
    text_ = *text;
    {
      const std::lock_guard held(mutex_);
      policy_ = *policy;
    }
    complaint_ = {};
    loop::current()->log().in(log_room::server).info("the authorization policy was read again: ", path_);
    if (options_.on_update) options_.on_update(*policy);
  }

  // OK: the file is the one in use.
  void complain(status reason) {
    if (!reason.ok() && reason != complaint_)
      loop::current()
          ->log()
          .in(log_room::server)
          .error("the authorization policy was not read again, and the previous one stays in use: ",
                 reason.message());
    complaint_ = std::move(reason);
  }

  const std::string path_;
  const authorization_file_options options_;
  std::string text_;  // of the policy in use
  status complaint_;  // about the file, since it was last read with success
  mutable std::mutex mutex_;
  authorization_policy policy_;
};

result<std::string> read_now(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(policy_bytes_max + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return status::not_found("cannot read the authorization policy");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

}  // namespace server_internal

std::shared_ptr<server_interceptor> authorize_by(authorization_policy policy) {
  return std::make_shared<server_internal::by_policy>(std::move(policy));
}

status authorize_by_file(server& to, std::string path, authorization_file_options options) {
  result<std::string> text = server_internal::read_now(path);
  if (!text) return server_internal::reason_with_path(path, text.status());
  auto policy = authorization_policy::parse(*text);
  if (!policy) return server_internal::reason_with_path(path, policy.status());
  auto made = std::make_shared<server_internal::by_file>(std::move(path), std::move(options),
                                                         *std::move(text), *std::move(policy));
  to.add_interceptor(made);
  to.owner().spawn_on(to.owner().at(0), server_internal::by_file::follow(std::move(made), to.state()));
  return {};
}

}  // namespace coracle
