// numbered_service: replies with numbered texts, and reports its observations to the ledger.
#pragma once

#include "sim/swarm/call_ledger.hpp"
#include "sim/swarm/certified.hpp"

#include "echo.coracle.hpp"

#include "coracle/server.hpp"

#include <cstdint>
#include <string>

namespace coracle::swarm {

// The metadata of a call are its parameters: x-call (its number), x-messages, x-bytes, x-pause-ms.
class numbered_service : public echo::rpc::Echo::service {
 public:
  // secure: null for plaintext.
  numbered_service(call_ledger& ledger, certified* secure) noexcept : ledger_(ledger), secure_(secure) {}

  reply<echo::Text> Say(server_context& context, const echo::Text& request) override;
  // Of a repaired world.
  reply<echo::Text> SayAtOnce(server_context& context, const echo::Text& request) override {
    if (secure_) secure_->look_at(context, true);
    return request;
  }
  reply<echo::Text> Collect(server_context& context, reader<echo::Text> texts) override;
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override;
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override;

  static std::uint64_t number_in(const server_context& context, const char* key);

 private:
  // A running handler.
  class presence {
   public:
    presence(call_ledger& l, const server_context& c, std::uint64_t id)
        : ledger_(l), context_(c), id_(id), refuses_(l.handler_began(id)) {}
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() { ledger_.handler_ended(id_, context_.cancelled()); }
    [[nodiscard]] bool refuses() const noexcept { return refuses_; }

   private:
    call_ledger& ledger_;
    const server_context& context_;
    const std::uint64_t id_;
    const bool refuses_;
  };
  // A slow handler.
  static task<> think(const server_context& context);
  // The number of the call.
  std::uint64_t begin(const server_context& context);

  call_ledger& ledger_;
  certified* const secure_;
};

}  // namespace coracle::swarm
