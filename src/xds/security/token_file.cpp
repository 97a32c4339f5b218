#include "xds/security/token_file.hpp"

#include "base/printable.hpp"
#include "coracle/base/impl/base64.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/json_document.hpp"
#include "runtime/backend.hpp"
#include "xds/limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <utility>

namespace coracle::xds {

namespace {

using wall_time = std::chrono::system_clock::time_point;

// A token is not sent in the last seconds of its life, because clocks differ; before that there is time to
// read the next one.
constexpr std::chrono::seconds unused_before_end{30};
constexpr std::chrono::seconds replaced_before_end{90};

// The second of the three parts, which are in base64url.
std::optional<std::string> claims_of(std::string_view token) {
  const auto first = token.find('.');
  if (first == token.npos) return std::nullopt;
  const auto second = token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
  std::string claims(token.substr(first + 1, second - first - 1));
  std::ranges::replace(claims, '-', '+');
  std::ranges::replace(claims, '_', '/');
  std::string decoded;
  if (!base::base64_decode(claims, decoded)) return std::nullopt;
  return decoded;
}

bool is_of_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.';
}

}  // namespace

result<dated_token> read_token(std::string_view text, wall_time now) {
  constexpr std::string_view space = " \t\r\n";
  constexpr double seconds_max = 9'000'000'000;  // in the year 2255: what system_clock holds
  const auto begin = text.find_first_not_of(space);
  const std::string_view token =
      begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(space) - begin + 1);
  if (token.empty()) return status::unauthenticated("has no token");
  const auto claims = claims_of(token);
  if (!claims || !std::ranges::all_of(token, is_of_token))
    return status::unauthenticated("has no JWT: three parts in base64url, with points between them");
  const rpc::json_document document(*claims);
  const auto& whole = document.whole();
  const auto exp = whole.is_object() ? whole.find("exp") : whole.end();
  if (!whole.is_object() || exp == whole.end() || !exp->is_number() || exp->get<double>() <= 0)
    return status::unauthenticated("has a token without a time at which it expires (exp)");
  const wall_time expires(
      std::chrono::seconds(static_cast<std::int64_t>(std::min(exp->get<double>(), seconds_max))));
  if (expires <= now) return status::unauthenticated("has a token that has expired");
  return dated_token{std::string(token), expires};
}

task<result<metadata>> token_file::metadata_for(credentials_request) {
  auto token = current();
  if (!token) co_return token.status();
  metadata added;
  added.add("authorization", "Bearer " + *token);
  co_return added;
}

result<std::string> token_file::current() {
  loop& here = *loop::current();
  const wall_time now = here.wall_now();
  const std::lock_guard lock(mutex_);
  const auto left = token_.token.empty() ? std::chrono::system_clock::duration::zero() : token_.expires - now;
  if (left < replaced_before_end && now >= next_attempt_) {
    auto found = read(now);
    problem_ = found.status();
    if (found) {
      token_ = *std::move(found);
      pauses_.reset();
      return token_.token;  // one that expires soon is read again for the next call
    }
    next_attempt_ = now + std::chrono::duration_cast<wall_time::duration>(pauses_.next(here.io().random()));
  }
  if (left > unused_before_end) return token_.token;
  return problem_;
}

result<dated_token> token_file::read(wall_time now) const {
  const auto named = [this](const status& s) {
    return status(s.code(),
                  "the file of the token, " + base::printable(path_) + ", " + std::string(s.message()));
  };
  std::ifstream file(path_, std::ios::binary);
  std::string text(limits::token_bytes_max + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return named(status::unavailable("cannot be read"));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > limits::token_bytes_max)
    return named(
        status::unauthenticated("has more than " + std::to_string(limits::token_bytes_max) + " bytes"));
  auto found = read_token(text, now);
  if (!found) return named(found.status());
  return found;
}

}  // namespace coracle::xds
