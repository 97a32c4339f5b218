// security_files: what credentials of one side read from files, and read again: contexts and CRLs.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/security/certificates_in_use.hpp"
#include "tls/reloading.hpp"
#include "tls/revocation_source.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tls {

// Context: client_context or server_context, which is made of these Options. Any thread may use it after
// load().
template <class Context, class Options>
class security_files {
 public:
  // files: those of the context.
  security_files(const Options& o, std::vector<std::string> files)
      : revocation_(o.revocation), contexts_([o] { return Context::make(o); }, std::move(files)) {}

  // Reads everything for the first time. Blocks, as reload() does.
  status load() {
    if (status s = contexts_.reload(); !s.ok()) return s;
    const auto trusted = contexts_.loaded()->trusted();
    auto made = revocation_source::make(revocation_, trusted.get());
    if (!made) return made.status();
    revocations_ = *std::move(made);
    return {};
  }
  status reload() {
    status of_certificates = contexts_.reload();
    status of_crls = revocations_ ? revocations_->reload() : status();
    return of_certificates.ok() ? of_crls : of_certificates;
  }
  [[nodiscard]] std::shared_ptr<const Context> context(loop& on) { return contexts_.get(on); }
  // Null: there are no CRLs.
  [[nodiscard]] std::shared_ptr<const revocation_lists> revoked(loop& on) {
    return revocations_ ? revocations_->current(on) : nullptr;
  }
  [[nodiscard]] security::certificates_in_use certificates(loop& on) { return contexts_.certificates(on); }

 private:
  const revocation_options revocation_;
  std::shared_ptr<revocation_source> revocations_;
  reloading<Context> contexts_;
};

}  // namespace coracle::tls
