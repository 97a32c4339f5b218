// The module coracle.tls: the module coracle and TLS. Link coracle::tls_module. Made of the headers by scripts/module_interfaces.py.
module;

#include <coracle/tls/client_options.hpp>
#include <coracle/tls/key_pair.hpp>
#include <coracle/tls/limits.hpp>
#include <coracle/tls/peer_verifier.hpp>
#include <coracle/tls/revocation_options.hpp>
#include <coracle/tls/server_options.hpp>

export module coracle.tls;

export import coracle;

export namespace coracle::tls {
using coracle::tls::client_certificates;
using coracle::tls::client_options;
using coracle::tls::key_pair;
using coracle::tls::peer_certificate;
using coracle::tls::peer_verifier;
using coracle::tls::pem_source;
using coracle::tls::revocation_options;
using coracle::tls::server_options;
}  // namespace coracle::tls

export namespace coracle::tls::limits {
using coracle::tls::limits::certificates_bytes;
using coracle::tls::limits::close_notify_time;
using coracle::tls::limits::connection_memory_bytes;
using coracle::tls::limits::crl_bytes;
using coracle::tls::limits::crl_files;
using coracle::tls::limits::crl_interval;
using coracle::tls::limits::crl_interval_min;
using coracle::tls::limits::encrypted_bytes;
using coracle::tls::limits::file_check_interval;
using coracle::tls::limits::handshake_memory_bytes;
using coracle::tls::limits::handshake_time;
using coracle::tls::limits::session_hosts;
using coracle::tls::limits::sessions_per_host;
using coracle::tls::limits::spiffe_bundle_map_bytes;
using coracle::tls::limits::unread_answers_bytes;
}  // namespace coracle::tls::limits
