#include "tls/spiffe_roots.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/impl/base64.hpp"
#include "coracle/tls/limits.hpp"
#include "tls/certificate_listing.hpp"
#include "tls/handshake_state.hpp"

#include <openssl/err.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

namespace coracle::tls {

namespace {

// Lower-case letters, digits, ".", "-" and "_".
bool is_trust_domain(std::string_view name) noexcept {
  constexpr std::size_t bytes_max = 255;
  return !name.empty() && name.size() <= bytes_max && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

bool is_path_segment(std::string_view segment) noexcept {
  return !segment.empty() && segment != "." && segment != ".." &&
         std::all_of(segment.begin(), segment.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '-' || c == '_';
         });
}

using json_sax = nlohmann::json_sax<nlohmann::json>;

}  // namespace

std::string_view trust_domain_of(std::string_view id) noexcept {
  constexpr std::size_t bytes_max = 2048;
  constexpr std::string_view scheme = "spiffe://";
  if (id.size() > bytes_max || !id.starts_with(scheme)) return {};
  id.remove_prefix(scheme.size());
  const std::string_view domain = id.substr(0, id.find('/'));
  if (!is_trust_domain(domain)) return {};
  for (std::string_view path = id.substr(domain.size()); !path.empty();) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    if (!is_path_segment(segment)) return {};
    path.remove_prefix(segment.size());
  }
  return domain;
}

// Takes the CAs out of the text as it is parsed, so that no document is built. Members that occur twice are
// refused: parsers differ in which of the two counts, and a domain must not trust the CAs of both.
class spiffe_roots::reader final : public json_sax {
 public:
  explicit reader(spiffe_roots& to) noexcept : to_(to) {}
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] bool has_domains() const noexcept { return has_domains_; }

  bool null() override { return is_permitted(type::other); }
  bool boolean(bool) override { return is_permitted(type::other); }
  bool number_integer(number_integer_t) override { return is_permitted(type::other); }  // a negative one
  bool number_unsigned(number_unsigned_t) override { return is_permitted(type::number); }
  bool number_float(number_float_t, const string_t&) override { return is_permitted(type::other); }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& value) override {
    if (!is_permitted(type::text)) return false;
    if (is_in_key() && path_.size() == 5 && path_[4].name == "use") {
      if (std::exchange(has_use_, true)) return refuse("has a key with \"use\" twice");
      use_ = std::move(value);
    } else if (is_in_key() && path_.size() == 6 && path_[4].name == "x5c") {
      certificates_.push_back(std::move(value));
    }
    return true;
  }
  bool key(string_t& name) override {
    path_.back().name = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override {
    if (!is_permitted(type::object)) return false;
    if (path_.size() == 1 && path_[0].name == "trust_domains" && std::exchange(has_domains_, true)) {
      problem_ = "is not valid: it has \"trust_domains\" twice";
      return false;
    }
    if (is_in_domain() && path_.size() == 2) {
      if (!is_trust_domain(domain())) return refuse("is not a trust domain");
      if (to_.by_domain_.contains(domain())) return refuse("occurs twice");
      has_keys_ = false;
    }
    if (is_in_key() && path_.size() == 4) {
      has_use_ = has_x5c_ = false;
      use_.clear();
      certificates_.clear();
    }
    return open(false);
  }
  bool end_object() override {
    path_.pop_back();
    if (is_in_key() && path_.size() == 4) return add_key();
    if (is_in_domain() && path_.size() == 2) {
      if (!has_keys_) return refuse("has no \"keys\"");
      authorities& all = to_.by_domain_[domain()];  // those of its keys, if it has any
      if (!all) all.reset(sk_X509_new_null());
      if (!all) return refuse("was not read: out of memory");
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (!is_permitted(type::list)) return false;
    if (is_in_domain() && path_.size() == 3 && path_[2].name == "keys" && std::exchange(has_keys_, true))
      return refuse("has \"keys\" twice");
    if (is_in_key() && path_.size() == 5 && path_[4].name == "x5c" && std::exchange(has_x5c_, true))
      return refuse("has a key with \"x5c\" twice");
    return open(true);
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    problem_ = "is not valid JSON";
    return false;
  }

 private:
  struct level {
    bool is_list = false;
    std::string name;  // of the member that is open
  };
  enum class type : std::uint8_t { other, object, list, text, number };

  // What the value that begins here must be; `other` where nothing is read.
  [[nodiscard]] type expected() const {
    if (path_.size() == 1) return path_[0].name == "trust_domains" ? type::object : type::other;
    if (!is_in_domain()) return type::other;
    const std::string& member = path_.back().name;
    if (path_.size() == 2) return type::object;
    if (path_.size() == 3 && member == "keys") return type::list;
    if (path_.size() == 3 && member == "spiffe_sequence") return type::number;
    if (!is_in_key()) return type::other;
    if (path_.size() == 4) return type::object;
    if (path_.size() == 5 && member == "x5c") return type::list;
    if (path_.size() == 5 && (member == "use" || member == "kty")) return type::text;
    return path_.size() == 6 && path_[4].name == "x5c" ? type::text : type::other;
  }
  [[nodiscard]] bool is_permitted(type t) {
    const type wanted = expected();
    if (wanted == type::other || wanted == t) return true;
    constexpr const char* names[] = {"", "an object", "a list", "a text", "a number"};
    const std::string rule = std::string(" must be ") + names[static_cast<std::size_t>(wanted)];
    if (path_.size() < 3) {
      problem_ = "is not valid: \"" + base::printable(path_.back().name) + "\"" + rule;
      return false;
    }
    std::size_t at = path_.size() - 1;
    while (path_[at].is_list) --at;  // which has no name
    return refuse("has a wrong type: " + std::string(at + 1 < path_.size() ? "each of " : "") + "\"" +
                  path_[at].name + "\"" + rule);
  }

  bool open(bool is_list) {
    constexpr std::size_t levels_max = 16;
    if (path_.size() == levels_max) {
      problem_ = "is nested deeper than " + std::to_string(levels_max) + " levels";
      return false;
    }
    path_.push_back({is_list, {}});
    return true;
  }
  [[nodiscard]] bool is_in_domain() const {
    return path_.size() >= 2 && path_[0].name == "trust_domains" && !path_[1].is_list;
  }
  [[nodiscard]] bool is_in_key() const {
    return is_in_domain() && path_.size() >= 4 && path_[2].name == "keys" && path_[3].is_list;
  }
  [[nodiscard]] const std::string& domain() const { return path_[1].name; }
  bool refuse(const std::string& why) {
    problem_ = "is not valid: \"" + base::printable(domain()) + "\" " + why;
    return false;
  }
  bool add_key() {
    if (use_ != "x509-svid") return true;
    if (certificates_.size() != 1)
      return refuse("has an x509-svid key with " + std::to_string(certificates_.size()) +
                    " certificates in \"x5c\" in place of one");
    std::string der;
    if (!base::base64_decode(certificates_.front(), der)) return refuse("has an \"x5c\" that is not base64");
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    openssl_ptr<X509> one(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
    ERR_clear_error();
    if (!one) return refuse("has an \"x5c\" that is not a certificate");
    X509_check_purpose(one.get(), -1, 0);  // reads the extensions now, see read_certificates()
    ERR_clear_error();
    authorities& all = to_.by_domain_[domain()];
    if (!all) all.reset(sk_X509_new_null());
    if (!all || sk_X509_push(all.get(), one.get()) == 0) return refuse("was not read: out of memory");
    static_cast<void>(one.release());
    return true;
  }

  spiffe_roots& to_;
  std::vector<level> path_;
  bool has_domains_ = false;
  bool has_keys_ = false;  // of the domain that is open
  bool has_use_ = false;  // the key that is open
  bool has_x5c_ = false;
  std::string use_;
  std::vector<std::string> certificates_;
  std::string problem_;
};

result<std::unique_ptr<const spiffe_roots>> spiffe_roots::parse(std::string_view text) {
  if (text.size() > limits::spiffe_bundle_map_bytes)
    return status::failed_precondition("has more than " + std::to_string(limits::spiffe_bundle_map_bytes) +
                                       " bytes");
  auto made = std::make_unique<spiffe_roots>();
  reader r(*made);
  if (!nlohmann::json::sax_parse(text, &r)) return status::failed_precondition(r.problem());
  if (!r.has_domains()) return status::failed_precondition("has no \"trust_domains\"");
  return std::unique_ptr<const spiffe_roots>(std::move(made));
}

result<std::unique_ptr<const spiffe_roots>> spiffe_roots::read(const std::string& file) {
  const auto invalid = [&file](std::string_view why) {
    return status::failed_precondition(("the SPIFFE bundle map file " + file + " ").append(why));
  };
  std::ifstream in(file, std::ios::binary);
  std::string text(limits::spiffe_bundle_map_bytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) return invalid("cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto parsed = parse(text);
  if (!parsed) return invalid(parsed.status().message());
  return parsed;
}

void spiffe_roots::verify_in(SSL_CTX& context) const {
  SSL_CTX_set_cert_verify_callback(&context, &spiffe_roots::verify, const_cast<spiffe_roots*>(this));
}

void spiffe_roots::list(security::certificates_in_use& to) const {
  for (const auto& [domain, all] : by_domain_)
    for (int i = 0; i < sk_X509_num(all.get()); ++i) list_trusted_ca(*sk_X509_value(all.get(), i), to);
}

// Null, and why. The certificate must have one URI, which is a SPIFFE id.
STACK_OF(X509) * spiffe_roots::roots_of(const X509& leaf, std::string& problem) const {
  const openssl_ptr<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&leaf, NID_subject_alt_name, nullptr, nullptr)));
  std::size_t uris = 0;
  std::string_view id;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME& each = *sk_GENERAL_NAME_value(names.get(), i);
    if (each.type != GEN_URI) continue;
    ++uris;
    const ASN1_IA5STRING* const text = each.d.uniformResourceIdentifier;
    id = {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
  }
  if (uris != 1) {
    problem = "it has " + std::to_string(uris) + " URIs among its subjectAltNames in place of one SPIFFE id";
    return nullptr;
  }
  const std::string_view domain = trust_domain_of(id);
  if (domain.empty()) {
    problem = "its URI is not a SPIFFE id: " + base::printable(id);
    return nullptr;
  }
  const auto found = by_domain_.find(domain);
  if (found != by_domain_.end()) return found->second.get();
  problem = "the SPIFFE bundle map does not have its trust domain, " + std::string(domain);
  return nullptr;
}

// Called by OpenSSL, through which no exception may pass.
int spiffe_roots::verify(X509_STORE_CTX* chain, void* self) noexcept {
  auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  handshake_state& state = handshake_state::of(ssl);
  STACK_OF(X509)* roots = nullptr;
  base::if_memory_allows([&] {
    std::string problem;
    roots = static_cast<const spiffe_roots*>(self)->roots_of(*X509_STORE_CTX_get0_cert(chain), problem);
    if (roots || !state.verify_error.empty()) return;
    state.verify_error = state.server ? "the client's certificate is not accepted: "
                                      : "the server's certificate is not accepted: ";
    state.verify_error.append(problem);
  });
  if (!roots) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  X509_STORE_CTX_set0_trusted_stack(chain, roots);
  state.domain_cas = roots;
  // A CA that is trusted explicitly need not be a root.
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(chain), X509_V_FLAG_PARTIAL_CHAIN);
  const int outcome = X509_verify_cert(chain);
  state.domain_cas = nullptr;
  return outcome;
}

}  // namespace coracle::tls
