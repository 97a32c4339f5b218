#include "tools/load/http_url.hpp"

#include "tools/failure.hpp"

namespace coracle::tools::load {

http_url::http_url(std::string_view text) : secure_(text.starts_with("https://")) {
  const std::string_view whole = text;
  const auto refuse = [&](const char* why) {
    return usage_failure("--rest is http://host:port/path?query or https://host:port/path?query, " +
                         std::string(why) + ", not '" + std::string(whole) + "'");
  };
  if (!secure_ && !text.starts_with("http://")) throw refuse("with a scheme");
  const std::size_t mark = text.find('?');
  if (mark != text.npos) query_ = text.substr(mark + 1);
  if (text.find('#') != text.npos || text.substr(0, mark).find_first_of("@{}*") != text.npos)
    throw refuse("without a fragment, a user or a template");
  text = text.substr(0, mark);
  const std::size_t host = text.find("//") + 2;
  const std::size_t slash = text.find('/', host);
  origin_ = text.substr(0, slash);
  path_ = slash == text.npos ? "/" : text.substr(slash);
  if (origin_.size() == host) throw refuse("with a host");
}

}  // namespace coracle::tools::load
