#include "base/printable.hpp"
#include "coracle/server/server_context.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/filters/known_filters.hpp"

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace coracle {

task<status> xds_filter::before_call(xds_client_call& /*call*/) const { co_return status(); }
task<status> xds_filter::before_handler(server_context& /*call*/) const { co_return status(); }

}  // namespace coracle

namespace coracle::xds {

namespace {

class applied_by_program final : public filter {
 public:
  explicit applied_by_program(std::shared_ptr<const xds_filter> of) noexcept : of_(std::move(of)) {}
  void begin_call(filtered_call& call) const override { call.ask(of_); }
  [[nodiscard]] bool waits_on_servers() const noexcept override { return true; }
  [[nodiscard]] task<status> admit_call(server_context& call) const override {
    return of_->before_handler(call);
  }

 private:
  const std::shared_ptr<const xds_filter> of_;
};

class type_of_program final : public filter_type {
 public:
  explicit type_of_program(std::shared_ptr<const xds_filter_type> of) noexcept
      : filter_type(side::both), of_(std::move(of)) {}

  [[nodiscard]] bool has_type(std::string_view type) const noexcept override { return type == of_->type(); }
  [[nodiscard]] bool has_override(std::string_view type) const noexcept override {
    return type == of_->override_type();
  }
  [[nodiscard]] std::shared_ptr<const filter> read(const filter_source& from, matcher_reader&,
                                                   const field_path& at) const override {
    return applied(from, at, [this](const xds_filter_config& c) { return of_->read(c); });
  }
  [[nodiscard]] std::shared_ptr<const filter> read_override(const filter_source& from, matcher_reader&,
                                                            const field_path& at) const override {
    return applied(from, at, [this](const xds_filter_config& c) { return of_->read_override(c); });
  }

 private:
  template <class Read>
  [[nodiscard]] static std::shared_ptr<const filter> applied(const filter_source& from, const field_path& at,
                                                             Read read) {
    result<std::shared_ptr<const xds_filter>> made = std::shared_ptr<const xds_filter>();
    try {
      made = read(xds_filter_config{from.type, from.content, from.is_json});
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      made = status::invalid_argument(std::string("its reader threw an exception: ") + e.what());
    } catch (...) {
      made = status::invalid_argument("its reader threw an exception");
    }
    if (!made) at.refuse("is not valid: " + base::printable(made.status().message()));
    if (!*made) return nullptr;
    return std::make_shared<const applied_by_program>(*std::move(made));
  }

  const std::shared_ptr<const xds_filter_type> of_;
};

}  // namespace

std::shared_ptr<const filter_type> filter_of_program(std::shared_ptr<const xds_filter_type> of) {
  return std::make_shared<const type_of_program>(std::move(of));
}

}  // namespace coracle::xds
