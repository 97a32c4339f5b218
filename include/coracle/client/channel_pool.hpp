// channel_pool: one channel for all who ask for the same target in the same way.
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

// For programs whose parts each make the channel that they need: a thousand get() of the same target give the same
// connections. Any thread may call everything, resolvers and their makers too. A channel that nobody holds any more
// stays, and its connections with it, until it has rested (channel_options::idle_timeout() after its last use and its
// last get()); then a later get() or size() drops it.
class channel_pool {
 public:
  // `on` must outlive the pool and every channel that it gave.
  explicit channel_pool(runtime& on) noexcept : on_(on) {}
  channel_pool(const channel_pool&) = delete;
  channel_pool& operator=(const channel_pool&) = delete;

  // The same channel for the same text, credentials that share their security (or both plaintext), and equal
  // options.
  [[nodiscard]] std::shared_ptr<channel> get(std::string_view target, const channel_credentials& credentials,
                                             const channel_options& options = {});
  // `security`: tls::client_options. Equal ones share what the first of them have built, for all targets, while a
  // channel of theirs is in the pool; files are read again as they change. Options with a key_pair::passphrase() equal
  // none, not even themselves: build() them once, and pass the result each time.
  template <security::builder_of<security::client_security> Options>
    requires std::equality_comparable<Options>
  [[nodiscard]] std::shared_ptr<channel> get(std::string_view target, const Options& security,
                                             const channel_options& options = {}) {
    const origin from{security, &same_options<Options>};
    const auto earlier = built_from(from);
    return get({std::string(target),
                earlier ? *earlier : channel_credentials(security),
                options,
                from,
                nullptr,
                {}});
  }
  // The channels that are held by somebody or have not rested yet.
  [[nodiscard]] std::size_t size();

 private:
  // What credentials were built from. `same` is null: they came as they are.
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
    std::shared_ptr<channel> made;
    time_point given{};  // last
    [[nodiscard]] bool proves_as(const entry& other) const;
  };
  template <class Options>
  static bool same_options(const std::any& a, const std::any& b) {
    const auto* const x = std::any_cast<Options>(&a);
    const auto* const y = std::any_cast<Options>(&b);
    return x && y && *x == *y;
  }
  std::shared_ptr<channel> get(entry wanted);
  std::shared_ptr<channel> find_or_add(const entry& wanted);
  std::optional<channel_credentials> built_from(const origin& o);
  void drop_unused();

  runtime& on_;
  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace coracle
