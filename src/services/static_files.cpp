#include "coracle/services/static_files.hpp"

#include "compress/coder.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/server/server.hpp"
#include "http/date.hpp"
#include "net/confined_folder.hpp"
#include "protocol/connect/encodings.hpp"
#include "protocol/web/byte_range.hpp"
#include "protocol/web/conditions.hpp"
#include "protocol/web/uri.hpp"
#include "services/content_types.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace coracle {

namespace {

using net::confined_file;
using net::confined_folder;
using std::chrono::sys_seconds;
namespace web = protocol::web;

// Larger files are sent in pieces of this size, each of which a thread of the pool reads.
constexpr std::size_t piece_bytes = 64u << 10;
// Files of this size are compressed for each request. Below, it saves nothing; larger ones should have a
// compressed file beside them.
constexpr std::uint64_t compressed_bytes_min = 1u << 10;
constexpr std::uint64_t compressed_bytes_max = 1u << 20;
constexpr std::string_view index_name = "index.html";

// The route of one folder. Requests share it.
struct file_route {
  std::shared_ptr<const confined_folder> folder;
  std::size_t skipped_segments;  // of a request's path
  std::string cache_control;
};

struct file_part {
  confined_file file;
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

// The response, and what its body is sent from if that is not complete.
struct prepared_response {
  http_response response;
  std::optional<file_part> part{};
};

// Returns the path below the folder that the request names; nothing if it names what is never served.
std::optional<std::string> path_below(std::string_view path, std::size_t skipped_segments) {
  for (; skipped_segments > 0; --skipped_segments) {
    const std::size_t slash = path.find('/', 1);
    path.remove_prefix(std::min(slash, path.size()));
  }
  if (path.empty()) return std::string();
  path.remove_prefix(1);
  std::string below;
  while (true) {
    const std::size_t slash = path.find('/');
    std::string name;
    if (!web::decode(path.substr(0, slash), web::uri_part::path, name)) return std::nullopt;
    const bool last = slash == std::string_view::npos;
    if (name.empty() && last) return below.append(index_name);
    // Names that begin with a dot include "." and "..".
    if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      return std::nullopt;
    below.append(name);
    if (last) return below;
    below.append("/");
    path.remove_prefix(slash + 1);
  }
}

http_response not_found() { return http_response::text("no such page\n", 404); }

std::string etag_of(const confined_file& f, std::string_view suffix = {}) {
  char digits[40];
  char* end = std::to_chars(digits, digits + 20, f.modified_ns, 16).ptr;
  *end++ = '-';
  end = std::to_chars(end, digits + sizeof digits, f.size_bytes, 16).ptr;
  return "\"" + std::string(digits, end) + std::string(suffix) + "\"";
}

// The representation of a file that is sent: the file, a compressed file beside it, or the file compressed.
struct representation {
  confined_file file;
  std::string etag;
  encoding coding = encoding::identity;
  bool compress = false;
};

representation choose(const confined_folder& folder, const std::string& path, confined_file file,
                      const http_request& r) {
  const encoding_set accepted =
      protocol::connect::parse_accept_encoding(r.header("accept-encoding").value_or(std::string_view()));
  constexpr std::pair<encoding, std::string_view> siblings[] = {
      {encoding::brotli, ".br"}, {encoding::zstd, ".zst"}, {encoding::gzip, ".gz"}};
  for (const auto& [coding, end] : siblings) {
    if (!accepted.has(coding)) continue;
    auto sibling = folder.find(path + std::string(end));
    if (sibling && !sibling->is_folder && sibling->modified_ns >= file.modified_ns) {
      std::string etag = etag_of(*sibling, end);
      return {*std::move(sibling), std::move(etag), coding};
    }
  }
  if (accepted.has(encoding::gzip) && file.size_bytes >= compressed_bytes_min &&
      file.size_bytes <= compressed_bytes_max && !r.header("range"))
    // Weak: another version of the library may compress otherwise.
    return {file, "W/" + etag_of(file, "-gzip"), encoding::gzip, true};
  return {file, etag_of(file)};
}

web::request_conditions conditions_of(const http_request& r) {
  return {r.header("if-match"), r.header("if-none-match"), r.header("if-modified-since"),
          r.header("if-unmodified-since"), r.header("if-range")};
}

std::string compressed(const confined_file& file) {
  const std::string text = file.read(0, static_cast<std::size_t>(file.size_bytes));
  base::output_buffer out;
  const auto coder = compress::make_coder(encoding::gzip);
  if (!coder->compress(as_bytes(text), compression::level_default, out)) throw std::bad_alloc();
  return std::string(as_text(out.pending()));
}

// Runs on a thread of the pool.
prepared_response prepare(std::shared_ptr<const file_route> route, http_request r, sys_seconds now) {
  const auto path = path_below(r.path(), route->skipped_segments);
  if (!path) return {not_found()};
  auto found = route->folder->find(*path);
  if (!found) {
    if (found.status().code() == status_code::not_found) return {not_found()};
    return {http_response::text("the server has no resources left to open the file\n", 503)};
  }
  if (found->is_folder) {
    // Relative links of the page need the '/'.
    std::string location(r.path());
    location.append("/");
    if (!r.query().empty()) location.append("?").append(r.query());
    return {std::move(http_response(301).header("location", location))};
  }
  const services::content_type type = services::content_type_of(*path);
  representation chosen =
      type.compressible ? choose(*route->folder, *path, *found, r) : representation{*found, etag_of(*found)};
  const confined_file& file = chosen.file;
  const auto modified = std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(file.modified_ns)));
  const web::validators validators{chosen.etag, std::min(modified, now)};  // RFC 9110 8.8.2.1

  prepared_response p{http_response()};
  http_response& response = p.response;
  response.header("etag", chosen.etag).header("last-modified", http::format_date(validators.modified));
  response.header("cache-control", route->cache_control);
  if (type.compressible) response.header("vary", "accept-encoding");
  const web::request_conditions conditions = conditions_of(r);
  switch (web::evaluate(conditions, validators, now)) {
    case web::condition_outcome::proceed: break;
    case web::condition_outcome::not_modified: response.status = 304; return p;
    case web::condition_outcome::failed: return {http_response::text("the file has another version\n", 412)};
  }
  response.header("content-type", type.value).header("x-content-type-options", "nosniff");
  if (chosen.coding != encoding::identity) response.header("content-encoding", name_of(chosen.coding));
  if (chosen.compress) {
    response.body = compressed(file);
    return p;
  }
  response.header("accept-ranges", "bytes");
  file_part part{file, 0, file.size_bytes};
  const bool get = r.method() == "GET";  // RFC 9110 14.2
  if (const auto wanted = r.header("range");
      wanted && get && web::permits_range(conditions, validators, now)) {
    const web::range_request range = web::parse_range(*wanted, file.size_bytes);
    const std::string size = std::to_string(file.size_bytes);
    if (range.type == web::range_request::kind::unsatisfiable)
      return {std::move(http_response::text("the file has no such bytes\n", 416)
                            .header("content-range", "bytes */" + size))};
    if (range.type == web::range_request::kind::part) {
      part = {file, range.range.first, range.range.length};
      response.status = 206;
      response.header("content-range", "bytes " + std::to_string(part.first) + "-" +
                                           std::to_string(part.first + part.length - 1) + "/" + size);
    }
  }
  response.content_length = part.length;
  if (get && part.length <= piece_bytes) {
    response.body = file.read(part.first, static_cast<std::size_t>(part.length));
    response.content_length.reset();
  } else {
    p.part = std::move(part);
  }
  return p;
}

std::string read_piece(confined_file file, std::uint64_t offset, std::size_t bytes) {
  return file.read(offset, bytes);
}

async_generator<std::string> pieces_of(file_part part) {
  while (part.length > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(part.length, piece_bytes));
    std::string piece = co_await offload(&read_piece, part.file, part.first, wanted);
    if (piece.empty()) break;  // the file was cut meanwhile
    part.first += piece.size();
    part.length -= piece.size();
    co_yield std::move(piece);
  }
}

task<http_response> serve_file(std::shared_ptr<const file_route> route, http_request r) {
  const auto now = std::chrono::floor<std::chrono::seconds>(loop::current()->wall_now());
  prepared_response p = co_await offload(&prepare, std::move(route), std::move(r), now);
  if (p.part) p.response.pieces.emplace(pieces_of(*std::move(p.part)));
  co_return std::move(p.response);
}

}  // namespace

status add_files(server& to, std::string_view path, const std::string& folder,
                 const static_file_options& options) {
  CORACLE_REQUIRE(path.starts_with('/') && path.find_first_of("{*?") == std::string_view::npos,
                  "add_files() requires a path such as \"/\" or \"/static\", without variables");
  while (path.ends_with('/')) path.remove_suffix(1);
  auto opened = confined_folder::open(folder);
  if (!opened) return opened.status();
  auto route = std::make_shared<file_route>();
  route->folder = *std::move(opened);
  route->skipped_segments = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  route->cache_control = options.cache_control;
  to.add_http("GET", std::string(path) + "/{file=**}",
              [route = std::shared_ptr<const file_route>(std::move(route))](http_request r) {
                return serve_file(route, std::move(r));
              });
  return {};
}

}  // namespace coracle
