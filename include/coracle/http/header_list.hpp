// header_list: an ordered list of header fields that owns its bytes.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle::http {

/// One field of a header_list. Borrowed: valid until the list is changed, moved from or destroyed.
struct header_view {
  std::string_view name;   ///< in lower case
  std::string_view value;  ///< without surrounding whitespace

  friend bool operator==(const header_view&, const header_view&) = default;
};

/// An ordered list of header fields, which may contain a name more than once. The object is a pointer to one
/// growing block of memory, null until the first field is added: most calls carry no metadata, and an empty
/// list costs them next to nothing. A list that is cleared and refilled allocates nothing once it has held
/// its largest content. The list does not validate: its caller decides what is valid
/// (http/header_validator.hpp) and converts names to lower case. For one thread at a time.
///
/// The bytes of one list must total less than 4 GiB; otherwise add() throws std::length_error.
class header_list {
 public:
  class iterator;
  /// The iterator is constant: fields are changed by add() and clear() only.
  using const_iterator = iterator;
  /// What the iterator returns.
  using value_type = header_view;

  /// An empty list, which allocates nothing.
  header_list() noexcept = default;
  header_list(const header_list& other);
  header_list(header_list&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  header_list& operator=(const header_list& other);
  header_list& operator=(header_list&& other) noexcept {
    if (this != &other) free(std::exchange(block_, std::exchange(other.block_, nullptr)));
    return *this;
  }
  ~header_list() { free(block_); }

  /// Appends a field and copies its bytes. The arguments may be views into the list itself.
  void add(std::string_view name, std::string_view value);

  /// Reserves memory for this number of fields and bytes of names and values.
  void reserve(std::size_t fields, std::size_t bytes);
  /// Removes all fields and keeps the memory for the next use.
  void clear() noexcept;
  /// Removes all fields, and frees the memory if it is more than `keep_bytes`.
  void release(std::size_t keep_bytes = 0) noexcept;

  /// Returns the number of fields.
  [[nodiscard]] std::size_t size() const noexcept { return block_ ? block_->count : 0; }
  /// Returns whether there is no field.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Returns a view of the field at `index`, which must be less than size().
  [[nodiscard]] header_view operator[](std::size_t index) const noexcept;
  /// @{
  /// Iterates over the fields in the order of add(); valid until the list changes.
  [[nodiscard]] iterator begin() const noexcept;
  [[nodiscard]] iterator end() const noexcept;
  /// @}

  /// Returns the value of the first field with that name; nothing if there is none. The comparison is
  /// case-sensitive. The result borrows from the list.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  /// The same for the last field with that name.
  [[nodiscard]] std::optional<std::string_view> find_last(std::string_view name) const noexcept;
  /// Returns whether there is a field with that name.
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
  /// Returns the number of fields with that name.
  [[nodiscard]] std::size_t count(std::string_view name) const noexcept;

  /// Returns the size that SETTINGS_MAX_HEADER_LIST_SIZE limits: the bytes of names and values, and 32 bytes
  /// per field (RFC 9113 6.5.2, RFC 7541 4.1).
  [[nodiscard]] std::size_t list_size_bytes() const noexcept {
    return block_ ? block_->used + block_->count * field_overhead_bytes : 0;
  }
  /// Returns the number of bytes allocated on the heap, for quotas.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return block_ ? sizeof(block) + block_->capacity : 0;
  }

  /// The bytes that list_size_bytes() adds per field (RFC 9113 6.5.2).
  static constexpr std::size_t field_overhead_bytes = 32;

  /// Returns whether both have the same fields in the same order.
  friend bool operator==(const header_list& a, const header_list& b) noexcept;

 private:
  struct place {
    std::uint32_t offset;
    std::uint32_t name_bytes;
    std::uint32_t value_bytes;
  };
  // Precedes its memory, in which names and values grow from the front and their places from the back.
  struct block {
    std::size_t capacity;  // in bytes; a multiple of a place's alignment
    std::uint32_t used;  // bytes of names and values
    std::uint32_t count;  // number of places

    [[nodiscard]] char* text() noexcept { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] place* place_of(std::size_t index) noexcept {
      return reinterpret_cast<place*>(text() + capacity) - (index + 1);
    }
    [[nodiscard]] std::size_t left() const noexcept { return capacity - used - count * sizeof(place); }
  };

  static block* allocate(std::size_t capacity);
  static void free(block* b) noexcept {
    if (b) [[unlikely]]
      ::operator delete(b);
  }
  [[nodiscard]] block* larger(std::size_t needed_bytes) const;
  void add_with_growth(std::string_view name, std::string_view value);
  void push(std::string_view name, std::string_view value) noexcept;

  block* block_ = nullptr;
};

/// Iterates over a header_list and returns header_view by value; valid until the list changes. The returned
/// value is const, so that `for (auto& [name, value] : list)` compiles: the reference extends its lifetime.
class header_list::iterator {
 public:
  /// @cond  What the standard library requires of an iterator.
  using iterator_category = std::random_access_iterator_tag;
  using value_type = header_view;
  using reference = const header_view;
  using difference_type = std::ptrdiff_t;
  struct pointer {
    header_view view;
    const header_view* operator->() const noexcept { return &view; }
  };
  /// @endcond

  /// Makes an iterator of no list.
  iterator() noexcept = default;
  /// @cond
  iterator(const header_list* list, std::size_t index) noexcept : list_(list), index_(index) {}
  /// @endcond

  /// @{
  /// Returns the field, or the one that is `n` fields behind it.
  const header_view operator*() const noexcept { return (*list_)[index_]; }
  pointer operator->() const noexcept { return {**this}; }
  const header_view operator[](difference_type n) const noexcept { return *(*this + n); }
  /// @}

  /// @{
  /// Moves, measures and compares as a random-access iterator does.
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
  /// @}

 private:
  const header_list* list_ = nullptr;
  std::size_t index_ = 0;
};

// Inline: every call adds and reads fields.

inline header_list::iterator header_list::begin() const noexcept { return {this, 0}; }
inline header_list::iterator header_list::end() const noexcept { return {this, size()}; }

inline header_view header_list::operator[](std::size_t index) const noexcept {
  const place& p = *block_->place_of(index);
  const char* name = block_->text() + p.offset;
  return {{name, p.name_bytes}, {name + p.name_bytes, p.value_bytes}};
}

// The caller has checked that there is room.
inline void header_list::push(std::string_view name, std::string_view value) noexcept {
  block& b = *block_;
  char* to = b.text() + b.used;
  *b.place_of(b.count++) = {b.used, static_cast<std::uint32_t>(name.size()),
                            static_cast<std::uint32_t>(value.size())};
  if (!name.empty()) std::memcpy(to, name.data(), name.size());
  if (!value.empty()) std::memcpy(to + name.size(), value.data(), value.size());
  b.used += static_cast<std::uint32_t>(name.size() + value.size());
}

inline void header_list::add(std::string_view name, std::string_view value) {
  if (!block_ || block_->left() < name.size() + value.size() + sizeof(place))
    return add_with_growth(name, value);
  push(name, value);
}

}  // namespace coracle::http
