// channel_pool: shares one channel between all users that request the same target with the same options.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/security/credentials.hpp"

#include <any>
#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {

/// Shares channels between parts of a program that each make the channel they need: a thousand calls of get()
/// with the same target use the same connections.
///
/// All functions may be called from any thread, and so may the resolvers and their makers. A channel without
/// handles outside the pool stays in the pool, with its connections, until it is idle
/// (channel_options::idle_timeout after its last use and its last get()). A later get() or size() then
/// removes it. A channel that was closed is removed at once, so that the next get() makes a new one.
class channel_pool {
 public:
  /// `on` must outlive the pool, but not the channels from it.
  explicit channel_pool(runtime& on) noexcept : on_(on) {}
  channel_pool(const channel_pool&) = delete;
  channel_pool& operator=(const channel_pool&) = delete;

  /// Returns the channel for this target, or makes it. A channel is shared if the target text is the same,
  /// the options are equal, and the credentials share their security object or are both plaintext.
  [[nodiscard]] channel get(std::string_view target, const channel_credentials& credentials,
                            const channel_options& options = {});
  /// Like get() above, with credentials made from `security` (tls::client_options).
  ///
  /// While a channel with equal security options is in the pool, all channels with those options, for all
  /// targets, share the security object built from them, which reloads its files when they change. Options
  /// with a key_pair::passphrase() are not equal to any others, not even to themselves: call build() once,
  /// and pass the result each time. Options with a verifier are equal only to copies of themselves.
  template <security::builder_of<security::client_security> Options>
    requires std::equality_comparable<Options>
  [[nodiscard]] channel get(std::string_view target, const Options& security,
                            const channel_options& options = {}) {
    const origin from{security, &same_options<Options>};
    const auto earlier = built_from(from);
    return get(
        {std::string(target), earlier ? *earlier : channel_credentials(security), options, from, {}, {}});
  }
  /// Returns the number of channels that are in use, or not yet idle.
  [[nodiscard]] std::size_t size();

 private:
  // The options that credentials were built from. A null `same` means that the user passed the credentials
  // themselves.
  struct origin {
    std::any options;
    bool (*same)(const std::any& a, const std::any& b) = nullptr;
    [[nodiscard]] bool equals(const origin& o) const { return same && o.same && same(options, o.options); }
  };
  struct entry {
    std::string target;
    channel_credentials credentials;
    channel_options options;
    origin from;
    std::optional<channel> made;
    time_point given{};  // by the last get()
    [[nodiscard]] bool has_same_credentials(const entry& other) const;
  };
  template <class Options>
  static bool same_options(const std::any& a, const std::any& b) {
    const auto* const x = std::any_cast<Options>(&a);
    const auto* const y = std::any_cast<Options>(&b);
    return x && y && *x == *y;
  }
  channel get(entry request);
  std::optional<channel> find_or_add(const entry& request);
  std::optional<channel_credentials> built_from(const origin& o);
  void drop_unused();

  runtime& on_;
  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace coracle
