#include "protocol/grpc/status_message.hpp"

#include "base/percent.hpp"

namespace coracle::protocol::grpc {

void encode_message(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool edge_blank = c == ' ' && (i == 0 || i + 1 == text.size());
    if (c >= 0x20 && c <= 0x7e && c != '%' && !edge_blank) out.push_back(c);
    else base::percent_escape(c, out);
  }
}

}  // namespace coracle::protocol::grpc
