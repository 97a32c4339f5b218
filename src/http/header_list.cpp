#include "coracle/http/header_list.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace coracle::http {

namespace {
constexpr std::size_t first_capacity_bytes = 256;  // a usual gRPC request: 150 to 250 bytes
constexpr std::size_t most_bytes = std::numeric_limits<std::uint32_t>::max();
}  // namespace

header_list::header_list(const header_list& other) : fields_(other.fields_) {
  if (other.used_ == 0) return;
  bytes_ = std::make_unique_for_overwrite<char[]>(other.used_);
  std::memcpy(bytes_.get(), other.bytes_.get(), other.used_);
  used_ = capacity_ = other.used_;
}

header_list::header_list(header_list&& other) noexcept
    : bytes_(std::move(other.bytes_)),
      used_(std::exchange(other.used_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      fields_(std::move(other.fields_)) {
  other.fields_.clear();
}

header_list& header_list::operator=(const header_list& other) {
  if (this != &other) {
    clear();
    reserve(other.size(), other.used_);
    if (other.used_ != 0) std::memcpy(bytes_.get(), other.bytes_.get(), other.used_);
    used_ = other.used_;
    fields_ = other.fields_;
  }
  return *this;
}

header_list& header_list::operator=(header_list&& other) noexcept {
  if (this != &other) {
    bytes_ = std::move(other.bytes_);
    used_ = std::exchange(other.used_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    fields_ = std::move(other.fields_);
    other.fields_.clear();
  }
  return *this;
}

// Hands the old buffer to the caller, who may still be reading from it.
void header_list::move_to_larger(std::size_t wanted_bytes, std::unique_ptr<char[]>& old) {
  const std::size_t capacity = std::max({wanted_bytes, capacity_ * 2, first_capacity_bytes});
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  if (used_ != 0) std::memcpy(larger.get(), bytes_.get(), used_);
  old = std::exchange(bytes_, std::move(larger));
  capacity_ = capacity;
}

void header_list::add_with_growth(std::string_view name, std::string_view value) {
  if (name.size() > most_bytes || value.size() > most_bytes ||
      used_ + name.size() + value.size() > most_bytes)
    throw std::length_error("header_list: more than 4 GiB of fields");
  std::unique_ptr<char[]> old;
  move_to_larger(used_ + name.size() + value.size(), old);
  push(name, value);
}

void header_list::reserve(std::size_t fields, std::size_t bytes) {
  fields_.reserve(fields);
  if (bytes <= capacity_) return;
  if (bytes > most_bytes) throw std::length_error("header_list: more than 4 GiB of fields");
  std::unique_ptr<char[]> old;
  move_to_larger(bytes, old);
}

void header_list::clear() noexcept {
  fields_.clear();
  used_ = 0;
}

void header_list::release(std::size_t keep_bytes) noexcept {
  clear();
  if (capacity_bytes() <= keep_bytes) return;
  bytes_.reset();
  capacity_ = 0;
  std::vector<place>().swap(fields_);
}

std::optional<std::string_view> header_list::find(std::string_view name) const noexcept {
  for (const header_view field : *this)
    if (field.name == name) return field.value;
  return std::nullopt;
}

std::optional<std::string_view> header_list::find_last(std::string_view name) const noexcept {
  for (std::size_t i = size(); i-- > 0;)
    if (const header_view field = (*this)[i]; field.name == name) return field.value;
  return std::nullopt;
}

std::size_t header_list::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(begin(), end(), [name](const header_view& field) { return field.name == name; }));
}

bool operator==(const header_list& a, const header_list& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace coracle::http
