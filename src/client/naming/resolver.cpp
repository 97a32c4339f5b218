#include "coracle/client/resolver.hpp"

#include "base/percent.hpp"

#include <algorithm>

namespace coracle::client {

const endpoint::more& endpoint::none() noexcept {
  static const auto& nothing = *new more;  // never destroyed: channels may live while the program exits
  return nothing;
}

endpoint::more& endpoint::change() {
  // No other endpoint shares it, so that none can begin to meanwhile.
  if (more_.use_count() == 1) return const_cast<more&>(*more_);
  auto changed = more_ ? std::make_shared<more>(*more_) : std::make_shared<more>();
  more& of = *changed;
  more_ = std::move(changed);
  return of;
}

task<> manual_resolver::run(const target&, resolution_sink& to) {
  watch<std::shared_ptr<const resolution>>::observer mine(now_);
  while (true) {
    const std::optional<std::shared_ptr<const resolution>> latest = co_await mine.changed();
    if (!latest) co_return;
    to.publish(**latest);
  }
}

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

status invalid_target(std::string_view text, std::string_view problem) {
  std::string message = "\"";
  message.append(text).append("\" ").append(problem);
  return status::invalid_argument(message);
}

}  // namespace

result<target> target::parse(std::string_view text, const std::vector<std::string_view>& known) {
  target found;
  found.text_ = text;
  const std::size_t colon = text.find(':');
  std::string scheme = lower(text.substr(0, colon));
  if (colon == std::string_view::npos || std::find(known.begin(), known.end(), scheme) == known.end()) {
    // naming.md: text without a known scheme is, as a whole, a name for the default scheme.
    found.scheme_ = "dns";
    found.endpoint_ = text;
    if (text.empty())
      return invalid_target(text, "is not a valid target: write host:port, dns:///host:port or unix:/path");
    if (text.find("//") != std::string_view::npos)
      return invalid_target(text,
                            "has an unknown scheme: write dns:///host:port, or register a resolver for it "
                            "(channel_options::add_resolver())");
    return found;
  }
  found.scheme_ = std::move(scheme);
  std::string_view rest = text.substr(colon + 1);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos)
      return invalid_target(
          text, "has no slash after its authority: write scheme:///name or scheme://authority/name");
    found.authority_ = rest.substr(0, slash);
    // The path of a file begins with the slash; a name does not.
    rest.remove_prefix(found.scheme_ == "unix" ? slash : slash + 1);
  }
  found.endpoint_ = base::percent_decode(rest);
  if (found.endpoint_.empty()) return invalid_target(text, "has no name after its scheme");
  return found;
}

}  // namespace coracle::client
