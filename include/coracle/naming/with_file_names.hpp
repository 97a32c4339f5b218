// with_file_names: targets whose servers a file lists.
#pragma once

#include "coracle/client/channel_options.hpp"

namespace coracle {

/// Adds the scheme "file": a channel to "file:///etc/movies.json" uses the servers that the file lists. The
/// text after "file:" is the path, which may be relative without "//". Link coracle::naming.
///
///     coracle::channel_options options;
///     coracle::with_file_names(options);
///     const coracle::channel channel(runtime, "file:///etc/movies.json", credentials, options);
///
/// The file is JSON: {"endpoints": ["10.0.0.1:50051", {"address": "10.0.0.2:50051", "weight": 3}],
/// "serviceConfig": {...}}. An address is one of net::address::parse(); a weight is from 0 to 4294967295,
/// by default 1; an endpoint may have "attributes", an object; serviceConfig is optional.
///
/// Each channel reads the file once per second, and follows what is written into it or put into its place. A
/// file that cannot be read, is not of that form or lists no server does not replace what was read before;
/// the log says so once. The rules of docs/guides/naming.md apply.
///
/// :authority, which TLS verifies, is channel_options::authority, or else "localhost".
void with_file_names(channel_options& to);

}  // namespace coracle
