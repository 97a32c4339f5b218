// channelz_service: shows operators what servers, channels and connections are doing (grpc.channelz.v1).
#pragma once

#include "coracle/server/service.hpp"

#include <cstdint>
#include <memory>

namespace coracle {

class server;

// coracle::channelz_service channelz(server); server.add(channelz); then grpcdebug and its like can look. Shows that server
// and the channels of its runtime, of all loops. The figures are gathered when somebody asks, from each loop in turn, while
// calls go on: numbers of one answer may be a moment apart.
//
// It tells whoever can connect who else is connected: not for ports that strangers reach.
//
// Source: gRFC A14.
class channelz_service {
 public:
  // `of` must outlive it, but for calls.
  explicit channelz_service(server& of);
  channelz_service(const channelz_service&) = delete;
  channelz_service& operator=(const channelz_service&) = delete;
  ~channelz_service();

  // What is added to the server.
  operator service&() noexcept;

  // Entries in one answer, whatever max_results asks for.
  static constexpr std::int64_t page_max = 100;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
