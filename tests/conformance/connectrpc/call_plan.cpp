#include "call_plan.hpp"

#include "header_fields.hpp"

#include <coracle/tls/client_options.hpp>

namespace conformance {

namespace {

coracle::encoding encoding_of(pb::Compression wanted) {
  switch (wanted) {
    case pb::COMPRESSION_GZIP: return coracle::encoding::gzip;
    case pb::COMPRESSION_BR: return coracle::encoding::brotli;
    case pb::COMPRESSION_ZSTD: return coracle::encoding::zstd;
    case pb::COMPRESSION_DEFLATE: return coracle::encoding::deflate;
    case pb::COMPRESSION_SNAPPY: return coracle::encoding::snappy;
    default: return coracle::encoding::identity;
  }
}

}  // namespace

coracle::call_options options_for(const pb::ClientCompatRequest& request) {
  coracle::call_options options;
  if (request.has_timeout_ms()) options.timeout = std::chrono::milliseconds(request.timeout_ms());
  if (request.message_receive_limit() > 0) options.max_receive_bytes = request.message_receive_limit();
  // Small messages, too: their compression is what the case tests.
  options.compression = coracle::compression(encoding_of(request.compression())).min_bytes(0);
  if (request.codec() == pb::CODEC_JSON) options.codec = &coracle::json_codec();
  for_each_field(request.request_headers(), [&](const std::string& name, const std::string& value) {
    options.add_metadata(name, value);
  });
  return options;
}

coracle::channel_options channel_options_for(const pb::ClientCompatRequest& request) {
  coracle::channel_options options;
  switch (request.protocol()) {
    case pb::PROTOCOL_GRPC_WEB: options.protocol = coracle::call_protocol::grpc_web; break;
    case pb::PROTOCOL_CONNECT: options.protocol = coracle::call_protocol::connect; break;
    default: break;
  }
  if (request.http_version() == pb::HTTP_VERSION_1) options.http_version = coracle::http_version::http1;
  options.connect_get = request.use_get_http_method();
  return options;
}

coracle::channel_credentials credentials_for(const pb::ClientCompatRequest& request) {
  if (request.server_tls_cert().empty()) return coracle::insecure();
  coracle::tls::client_options tls;
  tls.cas.push_back(coracle::tls::pem_source::text(request.server_tls_cert()));
  const auto& own = request.client_tls_creds();
  if (request.has_client_tls_creds()) tls.certificate = coracle::tls::key_pair::pem(own.cert(), own.key());
  return tls;
}

cancel_plan cancel_plan_for(const pb::ClientCompatRequest& request) {
  cancel_plan plan;
  if (!request.has_cancel()) return plan;
  switch (request.cancel().cancel_timing_case()) {
    case pb::ClientCompatRequest::Cancel::kBeforeCloseSend: plan.before_close = true; break;
    case pb::ClientCompatRequest::Cancel::kAfterNumResponses:
      plan.after_replies = static_cast<int>(request.cancel().after_num_responses());
      break;
    case pb::ClientCompatRequest::Cancel::kAfterCloseSendMs:
    case pb::ClientCompatRequest::Cancel::CANCEL_TIMING_NOT_SET:
      plan.after_close = std::chrono::milliseconds(request.cancel().after_close_send_ms());
  }
  return plan;
}

}  // namespace conformance
