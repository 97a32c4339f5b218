// channel_state: what the shards of a channel share, and how the channel reaches them.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/transport/connector.hpp"
#include "coracle/transport/credentials.hpp"
#include "rpc/call_attempt.hpp"
#include "runtime/resident.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace coracle::client {

class shard;

// Kept alive by the channel and by each shard.
class channel_state final : public calls::attempt_source {
 public:
  channel_state(runtime& on, std::shared_ptr<transport::connector> to, transport::channel_credentials c);

  void begin(calls::call_attempt& a) noexcept override;
  // The current loop's shard, made when there is none yet; null when the channel or runtime is ending.
  shard* here(loop& current);
  void forget(loop& where) noexcept;  // by the shard, on its loop
  void close() noexcept;              // any thread

  runtime& owner;
  const std::shared_ptr<transport::connector> connector;
  const transport::channel_credentials credentials;
  const std::string authority;
  calls::call_target target;

 private:
  std::vector<shard*> shards_;  // by loop; each entry is its loop's
  std::mutex mutex_;            // of what follows
  std::vector<std::shared_ptr<io::residence>> doors_;
  bool closed_ = false;
};

}  // namespace coracle::client
