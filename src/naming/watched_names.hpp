// watched_names: the resolver of all sources in this room.
#pragma once

#include "coracle/client/channel_options.hpp"
#include "coracle/client/resolver.hpp"
#include "naming/server_list.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace coracle::naming {

// Makes the source of a target, or returns why the target is invalid.
using source_maker = std::function<result<std::unique_ptr<name_source>>(const client::target& of)>;

// The rules that all sources share (docs/guides/naming.md):
//
// - A source that fails is followed again after a pause, which grows. The channel keeps its servers.
// - A list without servers does not replace one that has some.
// - If more than half of the servers disappear from a list, at once or one by one within removal_pause, they
//   stay in use until removal_pause after they have left. A registry that has lost its data, leases that end
//   without those who kept them alive, or a selector with a typing error, then do not move all calls to the
//   few servers that are left before an operator or the next list can correct it.
// - Lists that follow each other quickly are collected for publish_pause.
// - One line of the log for each change of the list, for the first failure, and for its end.
class watched_names final : public client::resolver {
 public:
  static constexpr duration removal_pause = std::chrono::seconds(30);
  static constexpr duration publish_pause = std::chrono::milliseconds(100);
  // Between two attempts to follow a source: those of a channel that connects, but no longer than this.
  static constexpr duration retry_pause_max = std::chrono::seconds(30);
  // A source that has failed works again when its list differs, or it has been followed for this time since
  // it had a list. Until then its pauses grow, and the log is silent: one that lists and then cannot watch
  // has not recovered with each of its lists.
  static constexpr duration steady_time = std::chrono::seconds(10);

  watched_names(std::string authority, source_maker make)
      : authority_(std::move(authority)), make_(std::move(make)) {}
  task<> run(const client::target& of, client::resolution_sink& to) override;
  [[nodiscard]] std::string authority(const client::target&) const override { return authority_; }

 private:
  const std::string authority_;
  const source_maker make_;
};

// Adds the scheme to the options. `authority` returns that of a target.
void add_scheme(channel_options& to, std::string scheme, std::string (*authority)(const client::target&),
                source_maker make);

}  // namespace coracle::naming
