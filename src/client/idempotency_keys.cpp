#include "coracle/client/idempotency_keys.hpp"

#include "coracle/runtime/loop.hpp"
#include "rpc/hex_id.hpp"
#include "rpc/idempotency_key.hpp"
#include "rpc/method_list.hpp"
#include "runtime/backend.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace coracle {

namespace {

// 128 random bits, as a string of structured fields (RFC 9651 3.3.3).
std::string random_key() {
  std::array<std::uint8_t, 16> bits{};
  for (std::size_t i = 0; i < bits.size(); i += 8) {
    const std::uint64_t random = loop::current()->io().random();
    for (std::size_t j = 0; j < 8; ++j) bits[i + j] = static_cast<std::uint8_t>(random >> (8 * j));
  }
  std::string key = "\"";
  rpc::add_hex(key, bits);
  return key + '"';
}

class key_adder final : public client_interceptor {
 public:
  explicit key_adder(std::vector<std::string> methods) : methods_(std::move(methods)) {}

  task<status> intercept(client_context& call, next_call next) override {
    metadata& sent = call.options().metadata;
    if (next.has_reply() && methods_.contains(call.method()) && !sent.find(rpc::idempotency_key))
      sent.add(rpc::idempotency_key, random_key());
    co_return co_await next();
  }

 private:
  const rpc::method_list methods_;
};

}  // namespace

std::shared_ptr<client_interceptor> idempotency_keys(std::vector<std::string> methods) {
  return std::make_shared<key_adder>(std::move(methods));
}

}  // namespace coracle
