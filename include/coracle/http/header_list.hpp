// An ordered list of header fields that owns its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace coracle::http {

// One field of a header_list, borrowed: valid until the list is changed, moved from or destroyed.
struct header_view {
  std::string_view name;
  std::string_view value;

  friend bool operator==(const header_view&, const header_view&) = default;
};

// Header fields in order of arrival, repeated names included. All names and values lie in one growing
// buffer, so a list that is cleared and filled again allocates nothing once it has seen its largest
// content. The list keeps what it is given: whoever adds decides what is valid (http/header_validator.hpp)
// and lower-cases names. One thread at a time; add() may be given views into the list itself.
// All bytes of one list together must stay below 4 GiB, else add() throws std::length_error.
class header_list {
 public:
  class iterator;
  using const_iterator = iterator;
  using value_type = header_view;

  header_list() noexcept = default;
  header_list(const header_list& other);
  header_list(header_list&& other) noexcept;
  header_list& operator=(const header_list& other);
  header_list& operator=(header_list&& other) noexcept;
  ~header_list() = default;

  void add(std::string_view name, std::string_view value);

  // Makes room for so many fields and bytes of names and values.
  void reserve(std::size_t fields, std::size_t bytes);
  // Empties the list and keeps its memory for the next use.
  void clear() noexcept;
  // Empties the list and frees its memory if it holds more than `keep_bytes` of it.
  void release(std::size_t keep_bytes = 0) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  [[nodiscard]] bool empty() const noexcept { return fields_.empty(); }
  [[nodiscard]] header_view operator[](std::size_t index) const noexcept;
  [[nodiscard]] iterator begin() const noexcept;
  [[nodiscard]] iterator end() const noexcept;

  // Names are compared byte by byte. find() gives the first field's value, find_last() the last one's.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::string_view> find_last(std::string_view name) const noexcept;
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
  [[nodiscard]] std::size_t count(std::string_view name) const noexcept;

  // The size that SETTINGS_MAX_HEADER_LIST_SIZE limits: names, values and 32 bytes a field
  // (RFC 9113 6.5.2, as RFC 7541 4.1 counts).
  [[nodiscard]] std::size_t list_size_bytes() const noexcept {
    return used_ + fields_.size() * field_overhead_bytes;
  }
  // Memory held on the heap, for quotas.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return capacity_ + fields_.capacity() * sizeof(place);
  }

  static constexpr std::size_t field_overhead_bytes = 32;

  friend bool operator==(const header_list& a, const header_list& b) noexcept;

 private:
  struct place {
    std::uint32_t offset;
    std::uint32_t name_bytes;
    std::uint32_t value_bytes;
  };

  void add_with_growth(std::string_view name, std::string_view value);
  void push(std::string_view name, std::string_view value);
  void move_to_larger(std::size_t wanted_bytes, std::unique_ptr<char[]>& old);

  std::unique_ptr<char[]> bytes_;
  std::size_t used_ = 0;
  std::size_t capacity_ = 0;
  std::vector<place> fields_;
};

// Gives header_view by value; valid as long as the list is not changed. The value is const, so that also
// `for (auto& [name, value] : list)` compiles: the reference prolongs its life.
class header_list::iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = header_view;
  using reference = const header_view;
  using difference_type = std::ptrdiff_t;
  struct pointer {
    header_view view;
    const header_view* operator->() const noexcept { return &view; }
  };

  iterator() noexcept = default;
  iterator(const header_list* list, std::size_t index) noexcept : list_(list), index_(index) {}

  const header_view operator*() const noexcept { return (*list_)[index_]; }
  pointer operator->() const noexcept { return {**this}; }
  const header_view operator[](difference_type n) const noexcept { return *(*this + n); }

  iterator& operator++() noexcept { return *this += 1; }
  iterator& operator--() noexcept { return *this += -1; }
  iterator operator++(int) noexcept {
    iterator old = *this;
    ++*this;
    return old;
  }
  iterator operator--(int) noexcept {
    iterator old = *this;
    --*this;
    return old;
  }
  iterator& operator+=(difference_type n) noexcept {
    index_ += static_cast<std::size_t>(n);
    return *this;
  }
  iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  friend iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
  friend iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
  friend iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
  friend difference_type operator-(const iterator& a, const iterator& b) noexcept {
    return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
  }
  friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.index_ == b.index_; }
  friend auto operator<=>(const iterator& a, const iterator& b) noexcept { return a.index_ <=> b.index_; }

 private:
  const header_list* list_ = nullptr;
  std::size_t index_ = 0;
};

// Inline: adding and reading fields is on the path of every call.

inline header_list::iterator header_list::begin() const noexcept { return {this, 0}; }
inline header_list::iterator header_list::end() const noexcept { return {this, fields_.size()}; }

inline header_view header_list::operator[](std::size_t index) const noexcept {
  const place& p = fields_[index];
  const char* name = bytes_.get() + p.offset;
  return {{name, p.name_bytes}, {name + p.name_bytes, p.value_bytes}};
}

inline void header_list::push(std::string_view name, std::string_view value) {
  char* to = bytes_.get() + used_;
  fields_.push_back({static_cast<std::uint32_t>(used_), static_cast<std::uint32_t>(name.size()),
                     static_cast<std::uint32_t>(value.size())});
  if (!name.empty()) std::memcpy(to, name.data(), name.size());
  if (!value.empty()) std::memcpy(to + name.size(), value.data(), value.size());
  used_ += name.size() + value.size();
}

inline void header_list::add(std::string_view name, std::string_view value) {
  if (capacity_ - used_ < name.size() + value.size()) return add_with_growth(name, value);
  push(name, value);
}

}  // namespace coracle::http
