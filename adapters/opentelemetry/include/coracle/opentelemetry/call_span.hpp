// call_span: a span of a call or an attempt (gRFC A72), while it lasts.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/opentelemetry/metadata_carrier.hpp"
#include "coracle/opentelemetry/trace_contexts.hpp"
#include "coracle/rpc/call_traffic.hpp"

#include <opentelemetry/context/context.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/tracer.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

namespace coracle::opentelemetry_internal {

// "package.Service/Method", as labels have it.
[[nodiscard]] inline std::string_view name_of_method(std::string_view path) noexcept {
  return path.starts_with('/') ? path.substr(1) : path;
}

class call_span {
 public:
  using context = ::opentelemetry::context::Context;

  // prefix: "Sent.", "Attempt." or "Recv.". Without a span in `parent`, the current one of the thread is the
  // parent. Throws std::bad_alloc.
  call_span(::opentelemetry::trace::Tracer& by, std::string_view prefix, std::string_view method,
            ::opentelemetry::trace::SpanKind kind, const context& parent) {
    std::string name(prefix);
    name.append(name_of_method(method));
    std::replace(name.begin(), name.end(), '/', '.');
    ::opentelemetry::trace::StartSpanOptions options;
    options.kind = kind;
    if (parent.HasKey(::opentelemetry::trace::kSpanKey)) options.parent = parent;
    span_ = by.StartSpan(name, {}, options);
    context from = parent;
    in_ = ::opentelemetry::trace::SetSpan(from, span_);
  }

  // What is below the span, and what propagators send.
  [[nodiscard]] const context& in() const noexcept { return in_; }
  [[nodiscard]] ::opentelemetry::trace::Span& span() const noexcept { return *span_; }

  void message_sent(message_size m) noexcept {
    add_message("Outbound message", "message-size", sent_, m.bytes);
    if (m.wire_bytes != m.bytes)
      add_message("Outbound message compressed", "message-size-compressed", sent_, m.wire_bytes);
    ++sent_;
  }
  void message_received(message_size m) noexcept {
    if (m.wire_bytes != m.bytes)
      add_message("Inbound compressed message", "message-size-compressed", received_, m.wire_bytes);
    add_message("Inbound message", "message-size", received_, m.bytes);
    ++received_;
  }
  void end(const status& outcome) noexcept {
    using ::opentelemetry::trace::StatusCode;
    if (outcome.ok()) {
      span_->SetStatus(StatusCode::kOk);
    } else {
      try {
        std::string said(name_of(outcome.code()));
        said.append(", ").append(outcome.message());
        span_->SetStatus(StatusCode::kError, said);
      } catch (const std::bad_alloc&) {
        span_->SetStatus(StatusCode::kError);
      }
    }
    span_->End();
  }

 private:
  void add_message(const char* event, const char* size_key, std::int64_t number,
                   std::uint64_t bytes) noexcept {
    if (!span_->IsRecording()) return;
    span_->AddEvent(event, {{"sequence-number", number}, {size_key, static_cast<std::int64_t>(bytes)}});
  }

  ::opentelemetry::nostd::shared_ptr<::opentelemetry::trace::Span> span_;
  context in_;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
};

}  // namespace coracle::opentelemetry_internal
