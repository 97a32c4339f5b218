// add_files(): serves the files of a folder over plain HTTP.
#pragma once

#include "coracle/base/status.hpp"

#include <string>
#include <string_view>
#include <type_traits>

namespace coracle {

class server;

/// The options of add_files(). A value type: set the members that differ from the defaults.
class static_file_options {
 public:
  /// All defaults.
  static_file_options() noexcept {}
  /// The value of Cache-Control. Default: "no-cache", clients ask each time whether a file has changed, which
  /// costs 304 if it has not. For files whose names change with their contents:
  /// "public, max-age=31536000, immutable".
  std::string cache_control = "no-cache";
};
static_assert(!std::is_aggregate_v<static_file_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Serves the files below `folder` for GET and HEAD of the paths below `path`: "/static/app.js" is the file
/// "app.js" of add_files(server, "/static", "web"). Call it before the first listen().
///
///   if (const coracle::status s = coracle::add_files(server, "/", "web"); !s.ok()) return fail(s);
///
/// - Calls are served as without the files: a POST request of a call's content-type reaches no file.
/// - A path that ends with '/' is the file index.html there; a folder without the '/' is redirected to it.
/// - Nothing outside of the folder is served: ".." and symbolic links that leave it get 404, as do names that
///   begin with a dot, and everything that is no regular file. Where the kernel has no openat2() (before
///   Linux 5.6, or in some containers), no symbolic link is followed.
/// - ETag and Last-Modified, conditional requests, and ranges (RFC 9110 13, 14): a request for several ranges
///   gets the whole file.
/// - A file of text is sent compressed to clients that accept it: from a file beside it, "app.js.br",
///   "app.js.zst" or "app.js.gz", if that is not older; else by gzip, if the file has 1 KiB to 1 MiB.
/// - The content-type follows from the end of the name, and browsers do not guess another one
///   (X-Content-Type-Options).
///
/// Threads of the blocking pool read the files, large ones in pieces. A file that changes while it is sent
/// may be sent in parts of both versions; replace files by renaming.
///
/// Returns NOT_FOUND or PERMISSION_DENIED if the folder cannot be opened, and RESOURCE_EXHAUSTED if the
/// process has no descriptors left. Throws usage_error as server::add_http() does.
[[nodiscard]] status add_files(server& to, std::string_view path, const std::string& folder,
                               const static_file_options& options = {});

}  // namespace coracle
