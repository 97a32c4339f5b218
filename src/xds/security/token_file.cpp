#include "xds/security/token_file.hpp"

#include "base/printable.hpp"
#include "coracle/base/impl/base64.hpp"
#include "coracle/net/file.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/json_document.hpp"
#include "runtime/backend.hpp"
#include "xds/limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
  task<result<std::string>> finding = current();
  const result<std::string> token = co_await std::move(finding);
  if (!token) co_return token.status();
  metadata added;
  added.add("authorization", "Bearer " + *token);
  co_return added;
}

// What needs no reading; nothing: the file is to be read.
std::optional<result<std::string>> token_file::kept() {
  loop& here = *loop::current();
  const std::lock_guard lock(mutex_);
  const auto left =
      token_.token.empty() ? std::chrono::system_clock::duration::zero() : token_.expires - here.wall_now();
  if (left < replaced_before_end && here.now() >= next_attempt_) return std::nullopt;
  if (left > unused_before_end) return token_.token;
  return problem_;
}

// Calls that come while the file is being read read it as well: there are few calls to a control plane, and
// they do not wait for each other.
task<result<std::string>> token_file::current() {
  if (auto known = kept()) co_return *std::move(known);
  task<result<dated_token>> reading = read();
  result<dated_token> found = co_await std::move(reading);
  const status_code code = found.status().code();
  if (code == status_code::cancelled || code == status_code::deadline_exceeded) co_return found.status();
  loop& here = *loop::current();
  const std::lock_guard lock(mutex_);
  problem_ = found.status();
  if (found) {
    token_ = *std::move(found);
    pauses_.reset();
    co_return token_.token;  // one that expires soon is read again for the next call
  }
  // Another call that has failed meanwhile has begun the pause.
  if (here.now() >= next_attempt_)
    next_attempt_ = deadline_after(here.now(), pauses_.next(here.io().random()));
  if (!token_.token.empty() && token_.expires - here.wall_now() > unused_before_end) co_return token_.token;
  co_return problem_;
}

task<result<dated_token>> token_file::read() const {
  const auto named = [this](const status& s) {
    return status(s.code(),
                  "the file of the token, " + base::printable(path_) + ", " + std::string(s.message()));
  };
  const auto failed = [&](const status& s) {
    // Why the call ends, and nothing of the file.
    if (s.code() == status_code::cancelled || s.code() == status_code::deadline_exceeded) return s;
    return named(status::unavailable("cannot be read"));
  };
  task<result<net::file>> opening = net::file::open(path_);
  result<net::file> file = co_await std::move(opening);
  if (!file) co_return failed(file.status());
  std::string text(limits::token_bytes_max + 1, '\0');
  task<result<std::size_t>> reading =
      file->read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  const result<std::size_t> size = co_await std::move(reading);
  if (!size) co_return failed(size.status());
  text.resize(*size);
  if (text.size() > limits::token_bytes_max)
    co_return named(
        status::unauthenticated("has more than " + std::to_string(limits::token_bytes_max) + " bytes"));
  result<dated_token> found = read_token(text, loop::current()->wall_now());
  if (!found) co_return named(found.status());
  co_return found;
}

}  // namespace coracle::xds
